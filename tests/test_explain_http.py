"""``POST /v1/explain`` over a real socket: forms of the body, and every refusal."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from site_builder.collection import Collection
from site_builder.explain import LONGEST
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import answer
from tests.helpers import running

TEXT = {"content-type": "text/plain; charset=utf-8"}


@pytest.fixture(scope="module")
def client(small: Collection) -> Iterator[httpx.Client]:
    with running(SiteContext(small, Addresses("https://example.org"), Theme())) as client:
        yield client


def test_a_command_is_explained_as_text_and_as_json(client: httpx.Client, small: Collection) -> None:
    command = f"{answer(small, 'acme/Small-8B', 'hardware=b200').processes[0].text} --seed 7"
    text = client.post("/v1/explain", content=command, headers=TEXT)
    assert (text.status_code, text.headers["content-type"]) == (200, "application/json")
    assert text.headers["access-control-allow-origin"] == "*"
    assert text.headers["cache-control"] == "no-store"
    found = text.json()
    assert (found["recipe"], found["exact"]) == ("acme/Small-8B", False)
    assert found["url"].startswith("https://example.org/acme/Small-8B")
    assert [entry["extra"] for entry in found["differences"]] == [[{"flag": "--seed", "value": "7"}]]
    assert client.post("/v1/explain", json={"command": command}).json() == found


def test_the_recipe_can_be_named(client: httpx.Client) -> None:
    command = "vllm serve /models/mine --port 8000"
    assert client.post("/v1/explain", content=command, headers=TEXT).status_code == 404
    by_query = client.post("/v1/explain?recipe=ACME/small-8b", content=command, headers=TEXT).json()
    by_body = client.post("/v1/explain", json={"command": command, "recipe": "acme/Small-8B"}).json()
    assert by_query == by_body
    assert by_query["commands"][0]["facts"][0]["value"] == "/models/mine"


@pytest.mark.parametrize(
    ("body", "kind", "status", "detail"),
    [
        (b"vllm serve 'x", "text/plain", 400, "line 1: the quote ' is not closed; close it, or take it away"),
        (b"vllm serve \xff", "text/plain", 400, "byte 11 of the body is not UTF-8"),
        (b"ls -l", "text/plain", 400, "there is no server command in this text; paste a vllm serve or docker run command"),
        (b"{", "application/json", 400, 'the body is an object {"command": "vllm serve …", "recipe": "org/repo, if you like"}'),
        (b'{"command": 1}', "application/json", 400, 'the body is an object {"command": "vllm serve …", "recipe": "org/repo, if you like"}'),
        (b'{"command": "x", "recipe": null}', "application/json", 400, 'the body is an object {"command": "vllm serve …", "recipe": "org/repo, if you like"}'),
        (b"[" * 60000, "application/json", 400, 'the body is an object {"command": "vllm serve …", "recipe": "org/repo, if you like"}'),
        (b"a=b", "application/x-www-form-urlencoded", 415, "the body is application/x-www-form-urlencoded; send the command as text/plain, or as application/json"),
        (b"x" * (LONGEST + 1), "text/plain", 413, "the body is longer than 65536 bytes; send the command alone"),
    ],
)  # fmt: skip
def test_what_is_refused(client: httpx.Client, body: bytes, kind: str, status: int, detail: str) -> None:
    answer = client.post("/v1/explain", content=body, headers={"content-type": kind})
    error = answer.json()["error"]
    assert (answer.status_code, error["status"], error["detail"]) == (status, status, detail)
    assert set(error) == {"status", "title", "detail", "did_you_mean"}
    assert answer.headers["access-control-allow-origin"] == "*"


def test_an_unknown_model_suggests_known_ones(client: httpx.Client) -> None:
    answer = client.post("/v1/explain", content="vllm serve acme/Smal-8B", headers=TEXT)
    assert answer.status_code == 404
    assert answer.json()["error"]["did_you_mean"][0] == "acme/Small-8B"


def test_a_page_of_another_site_may_ask(client: httpx.Client) -> None:
    answer = client.options(
        "/v1/explain", headers={"origin": "https://other.org", "access-control-request-method": "POST"}
    )
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "POST, OPTIONS"
    assert answer.headers["access-control-allow-headers"] == "content-type"


def test_reading_it_is_not_allowed(client: httpx.Client) -> None:
    answer = client.get("/v1/explain")
    assert (answer.status_code, {*answer.headers["allow"].split(", ")}) == (405, {"POST", "OPTIONS"})
