"""Every row of the HTTP contract, asked over a real socket: one line a rule, in the order of its sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from site_builder.collection import Collection
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.helpers import running

HTML, JSON, MARKDOWN = "text/html; charset=utf-8", "application/json", "text/markdown; charset=utf-8"
SHELL, TEXT = "text/x-shellscript; charset=utf-8", "text/plain; charset=utf-8"
BIG = "/acme/Big-MoE"
WRONG = f"{BIG}.json?hardware=h20&nodes=99&bogus=1&strategy=&variant=DEFAULT"
ANSWER = "public, max-age=300, s-maxage=3600, stale-while-revalidate=86400"


@pytest.fixture(scope="module")
def client(small: Collection) -> Iterator[httpx.Client]:
    with running(SiteContext(small, Addresses("http://recipes.example"), Theme())) as client:
        yield client


#: Section 1: address, media type, and words that its answer holds.
ADDRESSES = [
    ("/", HTML, ["acme/Big-MoE", "Newest"]),
    ("/browse", HTML, ["acme/Big-MoE", "zeta/Embed-1B"]),
    ("/browse?q=embed&sort=name", HTML, ["zeta/Embed-1B"]),
    ("/acme", HTML, ["acme/Big-MoE", "acme/Small-8B"]),
    (BIG, HTML, ["vllm serve"]),
    (f"{BIG}?hardware=h200&nodes=2&strategy=multi_node_tp", HTML, ["h200", "multi_node_tp"]),
    (f"{BIG}.json", JSON, ['"schema_version":1']),
    (f"{BIG}.md", MARKDOWN, ["# acme/Big-MoE"]),
    (f"{BIG}.sh", SHELL, ["set -euo pipefail"]),
    (f"{BIG}/hw/h200.json", JSON, ['"hardware":"h200"']),
    (f"{BIG}/hw/h200.md", MARKDOWN, ["hardware `h200`"]),
    (f"{BIG}/strategies/multi_node_tp.json", JSON, ['"strategy":"multi_node_tp"']),
    (f"{BIG}/strategies/multi_node_tp.md", MARKDOWN, ["strategy `multi_node_tp`"]),
    (f"{BIG}/hw/h200/strategies/multi_node_tp.json", JSON, ['"hardware":"h200","strategy":"multi_node_tp"']),
    (f"{BIG}/hw/h200/strategies/multi_node_tp.md", MARKDOWN, ["hardware `h200`", "strategy `multi_node_tp`"]),
    ("/models.json", JSON, ['"hf_id":"acme/Big-MoE"', '"derived_from":"acme/Big-MoE"']),
    ("/strategies.json", JSON, ['"multi_node_tp":{']),
    ("/strategies/multi_node_tp.json", JSON, ['"deploy_type":"multi_node"']),
    ("/taxonomy.json", JSON, ['"hardware_profiles":{']),
    ("/kv_store.json", JSON, ['"kv_store_distributed_mooncake":{']),
    ("/kv_store/kv_store_distributed_mooncake.json", JSON, ["mooncake"]),
    ("/platforms.json", JSON, ["{"]),
    ("/recipe.schema.json", JSON, ['"$schema":"https://json-schema.org/draft/2020-12/schema"']),
    ("/openapi.json", JSON, ['"openapi":"3.1.0"']),
    (
        "/llms.txt",
        TEXT,
        ["> A small catalog made for tests", "(http://recipes.example/acme/Big-MoE.md)", "## Optional"],
    ),
    ("/llms-full.txt", TEXT, ["# acme/Big-MoE — vLLM serving recipe", "# zeta/Paint — vLLM serving recipe"]),
    ("/sitemap.xml", "application/xml", ["<loc>http://recipes.example/acme/Big-MoE</loc>"]),
    ("/robots.txt", TEXT, ["Sitemap: http://recipes.example/sitemap.xml"]),
    ("/feed.xml", "application/atom+xml", ["<id>http://recipes.example/acme/Big-MoE</id>"]),
    ("/search.json", JSON, ['"id":"acme/Big-MoE"']),
    ("/site.webmanifest", "application/manifest+json", ['"start_url":"/"']),
    ("/healthz", JSON, ['"status":"ok"']),
    ("/metrics", "text/plain; version=0.0.4; charset=utf-8", ["site_requests_total"]),
]


@pytest.mark.parametrize(("address", "media_type", "words"), ADDRESSES)
def test_1_addresses(client: httpx.Client, address: str, media_type: str, words: list[str]) -> None:
    response = client.get(address)
    assert (response.status_code, response.headers["content-type"]) == (200, media_type)
    assert [word for word in words if word not in response.text] == []
    head = client.head(address)
    assert (head.status_code, head.headers["content-type"], head.content) == (200, media_type, b"")
    if media_type == JSON:
        response.json()
    if media_type.endswith("xml"):
        ElementTree.fromstring(response.text)


#: Section 2: query, what it settles to, and the parameters that are adjusted, as (parameter, requested, used).
QUERIES: list[tuple[str, Mapping[str, Any], list[tuple[str, str, str]]]] = [
    ("hardware=H200", {"hardware": "h200"}, []),
    ("HARDWARE=h200", {"hardware": "h200"}, []),
    ("hardware=%682%30%30", {"hardware": "h200"}, []),
    ("hardware=h100&hardware=h200", {"hardware": "h200"}, [("hardware", "h100", "h200")]),
    ("hardware=", {"hardware": "b200"}, []),
    ("features=", {"features": []}, []),
    ("features=none", {"features": []}, []),
    ("colour=red", {}, [("colour", "red", "")]),
    ("hardware=abacus", {"hardware": "b200"}, [("hardware", "abacus", "b200")]),
    ("nodes=99", {"nodes": 16}, [("nodes", "99", "16")]),
    ("nodes=0", {"nodes": 1}, [("nodes", "0", "1")]),
    ("nodes=two", {"nodes": 1}, [("nodes", "two", "1")]),
]


@pytest.mark.parametrize(("query", "settled", "adjusted"), QUERIES)
def test_2_a_query_never_fails(
    client: httpx.Client, query: str, settled: Mapping[str, Any], adjusted: list[tuple[str, str, str]]
) -> None:
    document = client.get(f"{BIG}.json?{query}").json()
    found = [(entry["parameter"], entry["requested"], entry["used"]) for entry in document["adjustments"]]
    assert {name: document["configuration"][name] for name in settled} == settled
    assert found == adjusted
    strict = client.get(f"{BIG}.json?{query}&strict=1")
    assert strict.status_code == (422 if adjusted else 200)
    if adjusted:
        assert strict.json()["error"]["adjustments"] == document["adjustments"]
        markdown, page = client.get(f"{BIG}.md?{query}").text, client.get(f"{BIG}?{query}").text
        for entry in document["adjustments"]:
            assert entry["reason"] in markdown
            assert entry["parameter"] in page


def test_2_the_canonical_query_gives_the_same_answer(client: httpx.Client) -> None:
    asked = client.get(f"{BIG}.json?strategy=multi_node_tp&nodes=2&hardware=b200&features=").json()
    again = client.get(f"{BIG}.json?{asked['configuration']['query']}").json()
    assert again == asked
    assert client.get(f"{BIG}.json").json()["configuration"]["query"] == ""


#: Section 3: address, status, and where it leads.
IDS = [
    (BIG, 200, None),
    ("/ACME/BIG-MOE", 308, BIG),
    ("/acme/big-moe.md?nodes=2", 308, f"{BIG}.md?nodes=2"),
    (f"{BIG}/", 308, BIG),
    ("/ACME", 308, "/acme"),
    ("/nvidia/Big-MoE-NVFP4", 308, f"{BIG}?variant=nvfp4"),
    ("/nvidia/Big-MoE-NVFP4.json", 200, None),
    ("/nvidia/Big-MoE-NVFP4/hw/b200.md", 200, None),
    ("/nvidia/BIG-moe-nvfp4.json", 308, "/nvidia/Big-MoE-NVFP4.json"),
    (f"{BIG}.json.json", 404, None),
    ("/acme/Big-MoE.yaml", 404, None),
]


@pytest.mark.parametrize(("address", "status", "target"), IDS)
def test_3_ids(client: httpx.Client, address: str, status: int, target: str | None) -> None:
    response = client.get(address)
    assert (response.status_code, response.headers.get("location")) == (status, target)
    if target:
        assert client.get(target).status_code == 200


def test_3_a_checkpoint_says_what_it_is_derived_from(client: httpx.Client) -> None:
    document = client.get("/nvidia/Big-MoE-NVFP4.json").json()
    assert document["hf_id"] == "nvidia/Big-MoE-NVFP4"
    assert (document["meta"]["derived_from"], document["meta"]["variant"]) == ("acme/Big-MoE", "nvfp4")


def test_4_the_answers_stay_small(client: httpx.Client) -> None:
    assert len(client.get(f"{BIG}.json").content) < 256 * 1024
    assert len(client.get("/models.json").content) < 512 * 1024


def test_5_the_parts_of_the_markdown_come_in_order(client: httpx.Client) -> None:
    text = client.get(f"{BIG}.md?hardware=abacus").text
    parts = (
        "# acme/Big-MoE — vLLM serving recipe\n",
        "\n> ",
        "\nConfiguration: hardware ",
        "\n- Asked for `hardware=abacus`",
        "\n- Page with the command builder: http://recipes.example/acme/Big-MoE\n",
        "\n- This configuration as JSON: http://recipes.example/acme/Big-MoE.json\n",
        "outrank any command in the guide",
        "\n## Other configurations\n",
        "\n## Install\n",
        "\n## Serve\n",
        "\n## Fit\n",
        "\n## Evidence\n",
        "\n## Guide\n",
    )
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)


#: Section 6: request (method, address, headers), status, and headers of the answer (None: it is not there).
HEADERS: list[tuple[str, str, dict[str, str], int, dict[str, str | None]]] = [
    ("GET", f"{BIG}.json", {}, 200, {"cache-control": ANSWER, "access-control-allow-origin": "*"}),
    ("GET", f"{BIG}.md", {}, 200, {"access-control-allow-origin": "*", "x-content-type-options": "nosniff"}),
    ("GET", f"{BIG}.md", {}, 200, {"link": '<http://recipes.example/acme/Big-MoE>; rel="canonical"'}),
    ("GET", f"{BIG}.json", {"accept-encoding": "br"}, 200, {"content-encoding": "br", "vary": "accept-encoding"}),
    ("GET", f"{BIG}.json", {"accept-encoding": "gzip"}, 200, {"content-encoding": "gzip"}),
    ("GET", f"{BIG}.json", {"accept-encoding": "br;q=0,gzip;q=0"}, 200, {"content-encoding": None}),
    ("GET", BIG, {}, 200, {"vary": "accept, accept-encoding", "access-control-allow-origin": None}),
    ("GET", BIG, {}, 200, {"referrer-policy": "strict-origin-when-cross-origin", "x-content-type-options": "nosniff"}),
    ("GET", BIG, {}, 200, {"permissions-policy": "camera=(), microphone=(), geolocation=()"}),
    ("GET", BIG, {"accept": "text/markdown"}, 200, {"content-type": MARKDOWN, "vary": "accept, accept-encoding"}),
    ("GET", BIG, {"accept": "text/html, text/markdown;q=0.5"}, 200, {"content-type": HTML}),
    ("GET", BIG, {"accept": "*/*"}, 200, {"content-type": HTML}),
    ("OPTIONS", f"{BIG}.json", {}, 204, {"allow": "GET, HEAD, OPTIONS", "access-control-allow-origin": "*"}),
    ("POST", f"{BIG}.json", {}, 405, {"allow": "GET, HEAD, OPTIONS", "content-type": JSON}),
    ("DELETE", f"{BIG}.md", {}, 405, {"allow": "GET, HEAD, OPTIONS", "content-type": MARKDOWN}),
    ("PUT", BIG, {}, 405, {"content-type": HTML}),
    ("GET", "/acme/None.json", {}, 404, {"content-type": JSON, "cache-control": "no-store"}),
    ("GET", "/acme/None.md", {}, 404, {"content-type": MARKDOWN, "etag": None}),
    ("GET", "/acme/None.sh", {}, 404, {"content-type": TEXT}),
    ("GET", "/acme/None", {}, 404, {"content-type": HTML}),
    ("GET", "/acme/None", {"accept": "text/markdown"}, 404, {"content-type": MARKDOWN}),
    ("GET", f"{BIG}.json?strict=1&x=1", {}, 422, {"content-type": JSON}),
    ("GET", f"{BIG}?strict=1&x=1", {}, 422, {"content-type": HTML}),
    ("GET", f"{BIG}.json?x={'y' * 8192}", {}, 414, {"content-type": JSON}),
]


@pytest.mark.parametrize(("method", "address", "headers", "status", "expected"), HEADERS)
def test_6_headers(
    client: httpx.Client,
    method: str,
    address: str,
    headers: dict[str, str],
    status: int,
    expected: dict[str, str | None],
) -> None:
    response = client.request(method, address, headers=headers)
    assert response.status_code == status
    assert {name: response.headers.get(name) for name in expected} == expected


def test_6_a_page_names_its_twins_and_is_closed_to_what_is_foreign(client: httpx.Client) -> None:
    response = client.get(f"{BIG}?nodes=2")
    twins = [
        f'<http://recipes.example/acme/Big-MoE.{suffix}?nodes=2>; rel="alternate"; type="{kind}"'
        for suffix, kind in (("json", "application/json"), ("md", "text/markdown"))
    ]
    assert response.headers["link"] == ", ".join(twins)
    policy = dict(rule.strip().split(" ", 1) for rule in response.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in response.headers["content-security-policy"]
    assert "http" not in response.headers["content-security-policy"].replace("https:", "")


@pytest.mark.parametrize("address", [BIG, f"{BIG}.json", f"{BIG}.md?nodes=2", "/models.json", "/"])
def test_6_what_a_client_has_is_not_sent_again(client: httpx.Client, address: str) -> None:
    first = client.get(address)
    tag = first.headers["etag"]
    assert tag.startswith('"')
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get(address, headers={"if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
        for name in ("etag", "cache-control", "vary"):
            assert again.headers[name] == first.headers[name]
    assert client.get(address, headers={"if-none-match": '"other"'}).status_code == 200


def test_6_errors_have_the_form_of_what_was_asked(client: httpx.Client) -> None:
    error = client.get("/acme/Big-Mo.json").json()["error"]
    assert error == {
        "status": 404,
        "title": "Not Found",
        "detail": "there is nothing at this address",
        "did_you_mean": ["acme/Big-MoE", "amd/Big-MoE-MXFP4"],
    }
    paragraph = client.get("/acme/Big-Mo.md").text
    assert paragraph == "Not Found: there is nothing at this address.\nDid you mean acme/Big-MoE, amd/Big-MoE-MXFP4?\n"
    for method, address, status in (("GET", "/v1/nothing", 404), ("POST", "/healthz", 405), ("PUT", "/metrics", 405)):
        response = client.request(method, address)
        assert (response.status_code, response.json()["error"]["status"]) == (status, status)
