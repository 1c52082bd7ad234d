"""The edge worker says what the server says, byte for byte: in Chromium, under node, and in workerd."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from site_builder.assets import ROOT
from site_builder.build import build, sheets_of
from site_builder.cli import main
from site_builder.collection import Collection
from site_builder.render import as_json, as_markdown
from site_builder.render.as_html import Theme
from site_builder.running import listen
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import answer
from tests.helpers import running
from tests.test_twins import random_query

BIG = "/acme/Big-MoE"
#: The headers of the worker. Those of the connection are the host's.
HEADERS = (
    "allow",
    "access-control-allow-origin",
    "access-control-allow-methods",
    "cache-control",
    "content-type",
    "etag",
    "link",
    "location",
    "vary",
    "x-content-type-options",
)
REQUESTS: list[tuple[str, dict[str, str], str]] = [
    *(
        (f"{place}{query}", {}, "GET")
        for place in (
            f"{BIG}.json",
            f"{BIG}.md",
            "/acme/Small-8B.json",
            "/zeta/Embed-1B.md",
            "/nvidia/Big-MoE-NVFP4.json",
        )
        for query in ("", "?hardware=h200", "?nodes=2&strategy=multi_node_tp", "?bogus=1&hardware=&features=")
    ),
    *((f"{BIG}/hw/{name}.{form}", {}, "GET") for name in ("h200", "H200", "nope") for form in ("json", "md")),
    (f"{BIG}/strategies/multi_node_tp.json", {}, "GET"),
    (f"{BIG}/strategies/nope.md", {}, "GET"),
    (f"{BIG}/hw/h200/strategies/multi_node_tp.json?variant=bogus&hardware=b200", {}, "GET"),
    (f"{BIG}.json?hardware=b200&hardware=h200&process=worker-7", {}, "GET"),
    (f"{BIG}.json?variant=%C3%A9%00%22%3Cb%3E", {}, "GET"),
    (f"{BIG}.json?context=1000000&concurrency=0&variant=fp4", {}, "GET"),
    (f"{BIG}.md?context=x&concurrency=12&hardware=h20", {}, "GET"),
    ("/acme/Small-8B.md?context=5000&concurrency=999999999", {}, "GET"),
    ("/ACME/big-moe.json?nodes=2", {}, "GET"),
    ("/acme/big-moe/hw/h200.md", {}, "GET"),
    ("/NVIDIA/big-moe-nvfp4.json", {}, "GET"),
    (f"{BIG}.json?hardware=nope&strict=1", {}, "GET"),
    (f"{BIG}.md?hardware=nope&strict=yes", {}, "GET"),
    (f"{BIG}.json?hardware=h200&strict=1", {}, "GET"),
    (f"{BIG}?hardware=h200", {"accept": "text/markdown"}, "GET"),
    (f"{BIG}.json?q={'x' * 9000}", {}, "GET"),
    (f"{BIG}.md?q={'x' * 9000}", {}, "GET"),
    (f"{BIG}.json", {}, "HEAD"),
    (f"{BIG}.json", {}, "OPTIONS"),
    (f"{BIG}.json", {}, "POST"),
]


def _site(collection: Collection) -> SiteContext:
    return SiteContext(collection, Addresses("https://example.org"), Theme())


def _files(site: SiteContext) -> dict[str, str]:
    return {name: content.decode() for name, content in sheets_of(site)}


def _kept(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers if name.lower() in HEADERS}


@pytest.mark.browser
def test_the_worker_says_what_the_server_says(browser: Any, files_address: str, small: Collection) -> None:
    site = _site(small)
    chance = random.Random(4)
    asked = [*REQUESTS]
    for plan in small.plans.values():
        asked += [(f"/{plan['id']}.{form}?{random_query(plan, chance)}", {}, "GET") for form in ("json", "md") * 10]
    page = browser.new_page()
    try:
        page.goto(f"{files_address}/static/")
        found = page.evaluate(
            """async ([address, files, asked]) => {
                const { default: worker } = await import(`${address}/deploy/edge/worker.js`);
                const { answered } = await import(`${address}/tests/edge/runner.js`);
                return answered(worker, files, asked);
            }""",
            [files_address, _files(site), asked],
        )
    finally:
        page.close()
    with running(site) as client:
        for (address, headers, method), (status, told, body) in zip(asked, found, strict=True):
            ours = client.request(method, address, headers={"accept-encoding": "identity", **headers})
            assert (status, body) == (ours.status_code, ours.text), (method, address)
            assert _kept(told.items()) == _kept(ours.headers.items()), (method, address)


@pytest.mark.corpus
def test_node_says_what_the_server_says_of_the_corpus(corpus_collection: Collection) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    site = _site(corpus_collection)
    chance = random.Random(8)
    asked = [(plan["id"], random_query(plan, chance)) for plan in corpus_collection.plans.values() for _ in range(2)]
    formats = {"json": as_json.render, "md": as_markdown.render}
    requests = [[f"/{name}.{form}?{query}"] for name, query in asked for form in formats]
    given = json.dumps({"files": _files(site), "requests": requests})
    done = subprocess.run(
        [node, str(ROOT / "tests" / "edge" / "run.mjs")],
        input=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    wanted = [
        render(answer(corpus_collection, name, query), site.addresses)
        for name, query in asked
        for render in formats.values()
    ]
    told = [body for _, _, body in json.loads(done.stdout)]
    assert [request for request, one, other in zip(requests, told, wanted, strict=True) if one != other] == []


def _workerd(folder: Path) -> str:
    """The program, from the path or else from npm; skips where there is neither."""
    found, npm = shutil.which("workerd"), shutil.which("npm")
    if found is None and npm is not None:
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), "workerd"]
        if subprocess.run(command, capture_output=True, timeout=240, check=False).returncode == 0:
            found = str(folder / "node_modules" / ".bin" / "workerd")
    if found is None:
        pytest.skip("workerd is not here, and npm cannot install it")
    return found


@pytest.mark.ci
def test_workerd_serves_a_built_site(small: Collection, tmp_path: Path) -> None:
    """The configuration in deploy/edge, on a port and a folder of its own."""
    workerd, site = _workerd(tmp_path / "npm"), _site(small)
    build(site, tmp_path / "dist", edge=True)
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    command = [workerd, "serve", "workerd.capnp", f"--directory-path=files={tmp_path / 'dist'}"]
    server = subprocess.Popen(
        [*command, f"--socket-addr=http=127.0.0.1:{port}"], cwd=ROOT / "deploy" / "edge", stderr=subprocess.DEVNULL
    )
    try:
        with running(site) as ours, httpx.Client(base_url=f"http://127.0.0.1:{port}") as theirs:
            for _ in range(100):
                try:
                    theirs.get("/models.json")
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            for address, headers, method in REQUESTS:
                sent = {"accept-encoding": "identity", **headers}
                one, other = theirs.request(method, address, headers=sent), ours.request(method, address, headers=sent)
                assert (one.status_code, one.text) == (other.status_code, other.text), (method, address)
            for address in ("/", BIG, "/models.json", "/llms.txt", f"{BIG}.sh"):
                assert theirs.get(address).text == ours.get(address).text, address
            assert theirs.get("/nowhere").status_code == 404
            assert theirs.get(f"{BIG}.sh?hardware=h200").status_code == 501
    finally:
        server.terminate()
        server.wait()


def test_every_module_of_the_worker_is_in_its_configuration() -> None:
    """workerd reads the modules that its configuration names, and no others."""
    folder = ROOT / "deploy" / "edge"
    named = {
        (folder / name).resolve() for name in re.findall(r'embed "([^"]+)"', (folder / "workerd.capnp").read_text())
    }
    seen: set[Path] = set()
    left = [(folder / "workerd.js").resolve()]
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            left += [(path.parent / name).resolve() for name in re.findall(r'from "(\.[^"]+)"', path.read_text())]
    assert named == seen


def test_edge_and_prepare_do_not_go_together(tmp_path: Path) -> None:
    from click.testing import CliRunner

    result = CliRunner().invoke(main, ["build", "--edge", "--prepare", "all", "--out", str(tmp_path / "dist")])
    assert result.exit_code == 2
    assert "leave it out" in result.output
    assert not (tmp_path / "dist").exists()
