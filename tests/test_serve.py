"""The server: addresses, headers and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import httpx
import pytest

from site_builder.collection import Collection
from site_builder.render.as_html import Theme
from site_builder.serve import ANSWER_CACHE
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.helpers import running


@pytest.fixture(scope="module")
def client(small: Collection) -> Iterator[httpx.Client]:
    with running(SiteContext(small, Addresses(), Theme())) as client:
        yield client


@pytest.mark.parametrize(
    ("address", "media_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/acme/Big-MoE", "text/html; charset=utf-8"),
        ("/acme/Big-MoE.json", "application/json"),
        ("/acme/Big-MoE.md", "text/markdown; charset=utf-8"),
        ("/acme/Big-MoE.sh", "text/x-shellscript; charset=utf-8"),
        ("/acme/Big-MoE/hw/h200.json", "application/json"),
        ("/acme/Big-MoE/hw/h200.md", "text/markdown; charset=utf-8"),
        ("/acme/Big-MoE/strategies/multi_node_tp.json", "application/json"),
        ("/acme/Big-MoE/hw/gb200/strategies/multi_node_tp_dp.md", "text/markdown; charset=utf-8"),
        ("/models.json", "application/json"),
        ("/taxonomy.json", "application/json"),
        ("/strategies.json", "application/json"),
        ("/strategies/pd_cluster.json", "application/json"),
        ("/kv_store.json", "application/json"),
        ("/kv_store/kv_store_distributed_mooncake.json", "application/json"),
        ("/platforms.json", "application/json"),
        ("/recipe.schema.json", "application/json"),
        ("/healthz", "application/json"),
    ],
)
def test_every_address_answers(client: httpx.Client, address: str, media_type: str) -> None:
    response = client.get(address)
    assert (response.status_code, response.headers["content-type"]) == (200, media_type)
    head = client.head(address)
    assert (head.status_code, head.headers["content-type"]) == (200, media_type)


def test_an_answer_may_be_cached_and_asked_for_again(client: httpx.Client) -> None:
    first = client.get("/acme/Big-MoE.json")
    assert first.headers["cache-control"] == ANSWER_CACHE
    assert first.headers["access-control-allow-origin"] == "*"
    again = client.get("/acme/Big-MoE.json", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_each_encoding_has_its_own_tag(client: httpx.Client) -> None:
    tags, lengths = {}, {}
    for accepted in ("br, gzip", "gzip", "identity", "br;q=0, gzip;q=0.5", "br;q=0, *;q=0"):
        response = client.get("/acme/Big-MoE.json", headers={"accept-encoding": accepted})
        tags[accepted] = response.headers["etag"]
        lengths[accepted] = int(response.headers["content-length"])
        assert response.headers["vary"] == "accept-encoding"
        assert response.json()["hf_id"] == "acme/Big-MoE"
    assert tags["br, gzip"].endswith('-br"')
    assert tags["gzip"] == tags["br;q=0, gzip;q=0.5"]
    assert tags["identity"] == tags["br;q=0, *;q=0"]
    assert lengths["br, gzip"] < lengths["gzip"] < lengths["identity"]
    known = f'W/"other", {tags["gzip"]}'
    again = client.get("/acme/Big-MoE.json", headers={"accept-encoding": "gzip", "if-none-match": known})
    assert again.status_code == 304


def test_the_order_of_parameters_changes_no_byte(client: httpx.Client) -> None:
    one = client.get("/acme/Big-MoE.json?hardware=h200&nodes=2&x=1&a=2")
    other = client.get("/acme/Big-MoE.json?a=2&x=1&nodes=2&HARDWARE=H200")
    assert one.content == other.content


def test_a_page_allows_nothing_foreign(client: httpx.Client) -> None:
    response = client.get("/acme/Big-MoE")
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert (
        re.findall(r"<(?:link rel=\"(?:stylesheet|icon)\"|script|img)[^>]*(?:src|href)=\"https?://", response.text)
        == []
    )
    assert response.text.count("<script>") == 1


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("/ACME/big-moe", "/acme/Big-MoE"),
        ("/acme/big-moe.json?hardware=h200", "/acme/Big-MoE.json?hardware=h200"),
        ("/acme/Big-MoE/", "/acme/Big-MoE"),
        ("/nvidia/Big-MoE-NVFP4", "/acme/Big-MoE?variant=nvfp4"),
        ("/nvidia/big-moe-nvfp4?hardware=b200", "/acme/Big-MoE?hardware=b200&variant=nvfp4"),
        ("/nvidia/big-moe-nvfp4.json", "/nvidia/Big-MoE-NVFP4.json"),
        ("/acme/big-moe/hw/h200.md", "/acme/Big-MoE/hw/h200.md"),
    ],
)
def test_another_spelling_is_sent_to_the_canonical_one(client: httpx.Client, address: str, target: str) -> None:
    response = client.get(address)
    assert (response.status_code, response.headers["location"]) == (308, target)


def test_the_checkpoint_of_a_variant_answers_machines_directly(client: httpx.Client) -> None:
    document = client.get("/nvidia/Big-MoE-NVFP4.json").json()
    assert (document["hf_id"], document["configuration"]["variant"]) == ("nvidia/Big-MoE-NVFP4", "nvfp4")


def test_a_strategy_in_the_path_brings_its_nodes(client: httpx.Client) -> None:
    document = client.get("/acme/Big-MoE/hw/h200/strategies/multi_node_dep.json").json()
    command = document["recommended_command"]
    assert (command["strategy"], command["node_count"], document["adjustments"]) == ("multi_node_dep", 4, [])


def test_strict_refuses_what_would_be_adjusted(client: httpx.Client) -> None:
    response = client.get("/acme/Big-MoE.json?hardware=bogus&strict=1")
    assert response.status_code == 422
    assert response.json()["error"]["adjustments"][0]["parameter"] == "hardware"
    assert client.get("/acme/Big-MoE.json?hardware=h200&strict=1").status_code == 200


def test_an_unknown_recipe_suggests_the_closest(client: httpx.Client) -> None:
    response = client.get("/acme/Big-Mo.json")
    assert response.status_code == 404
    assert response.json()["error"]["did_you_mean"][0] == "acme/Big-MoE"
    assert "acme/Big-MoE" in client.get("/acme/Big-Mo.md").text
    page = client.get("/acme/Big-Mo")
    assert (page.status_code, 'href="/acme/Big-MoE"' in page.text) == (404, True)


@pytest.mark.parametrize(
    "address", ["/a/b/c/d", "/strategies/none.json", "/assets/none.css", "/..%2f..%2fetc/passwd", "/acm"]
)
def test_what_is_not_there_is_not_found(client: httpx.Client, address: str) -> None:
    assert client.get(address).status_code == 404


def test_a_query_that_is_too_long_is_refused(client: httpx.Client) -> None:
    assert client.get("/acme/Big-MoE.json?x=" + "y" * 9000).status_code == 414


def test_only_reading_is_allowed(client: httpx.Client) -> None:
    response = client.post("/acme/Big-MoE.json")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert client.options("/acme/Big-MoE.json").status_code == 204


def test_assets_never_change_under_their_address(client: httpx.Client) -> None:
    page = client.get("/").text
    address = page.split('rel="stylesheet" href="')[1].split('"')[0]
    response = client.get(address)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert response.headers["cache-control"].endswith("immutable")


def test_what_a_query_says_is_shown_as_text(client: httpx.Client) -> None:
    page = client.get("/acme/Big-MoE?hardware=<script>alert(1)</script>").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_models_json_lists_recipes_and_their_checkpoints(client: httpx.Client) -> None:
    entries = {entry["hf_id"]: entry for entry in client.get("/models.json").json()}
    assert list(entries) == [
        "acme/Big-MoE", "nvidia/Big-MoE-NVFP4", "amd/Big-MoE-MXFP4", "acme/Small-8B", "zeta/Embed-1B", "zeta/Paint",
    ]  # fmt: skip
    assert entries["nvidia/Big-MoE-NVFP4"]["derived_from"] == "acme/Big-MoE"
    assert client.get(entries["nvidia/Big-MoE-NVFP4"]["json"]).json()["configuration"]["variant"] == "nvfp4"


def test_alternatives_lead_to_answers(client: httpx.Client) -> None:
    command = client.get("/acme/Big-MoE.json").json()["recommended_command"]
    for strategy, address in command["alternatives"].items():
        assert client.get(address).json()["recommended_command"]["strategy"] == strategy
    for hardware, address in command["by_hardware"].items():
        assert client.get(address).json()["recommended_command"]["hardware"] == hardware


def test_the_site_under_a_path(small: Collection) -> None:
    context = SiteContext(small, Addresses("https://example.org/recipes"), Theme())
    with running(context) as client:
        assert 'href="/recipes/acme/Big-MoE"' in client.get("/recipes/").text
        document = client.get("/recipes/acme/Big-MoE.json").json()
    assert document["links"]["json"] == "https://example.org/recipes/acme/Big-MoE.json"
    assert json.dumps(document).count("https://example.org/recipes/") > 10
