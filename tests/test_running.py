"""Running the server: its options, workers, signals and logs, as a process of its own."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from site_builder.cli import main
from site_builder.errors import SiteError
from site_builder.running import listen, with_path
from tests.conftest import ROOT
from tests.helpers import SMALL, content_copy, recipe_text


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """A server process: a client of it, and what it said after it was stopped."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=10)
        self.said = ""

    def health(self) -> dict[str, object]:
        return dict(self.client.get("/healthz").json())


@contextlib.contextmanager
def served(content: Path, *options: str) -> Iterator[Served]:
    port = free_port()
    command = [sys.executable, "build.py", "serve", "--content", str(content), "--port", str(port), *options]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = Served(process, port)
        try:
            assert f"serving 4 recipes at http://127.0.0.1:{port}/" in process.stderr.readline()
            assert until(lambda: found.client.get("/healthz").status_code == 200)
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=15)
            found.said = process.stderr.read()
            found.client.close()


def until(condition: Callable[[], bool], seconds: float = 15) -> bool:
    """Whether a condition comes true in time; a server that does not listen yet counts as not yet."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(httpx.TransportError):
            if condition():
                return True
        time.sleep(0.05)
    return False


def test_a_change_is_taken_up_and_a_broken_one_keeps_the_last_good_site(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    with served(content, "--reload") as server:
        (content / "models" / "acme" / "Later.yaml").write_text(recipe_text())
        assert until(lambda: server.health()["recipes"] == 5)
        (content / "taxonomy.yaml").write_text("hardware_profiles: [\n")
        assert until(lambda: "taxonomy.yaml" in str(server.health()["reload_error"]))
        assert server.health()["recipes"] == 5
        assert server.client.get("/acme/Later.json").status_code == 200
    assert "reloaded: 5 recipes" in server.said
    assert "the change cannot be used, the last good site stays:" in server.said
    assert "Traceback" not in server.said
    assert server.process.returncode in (0, -signal.SIGTERM)


def test_several_workers_share_counts_and_each_reads_anew_on_a_hang_up(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    with served(content, "--workers", "2", "--access-log", "json") as server:
        for _ in range(20):
            with httpx.Client(base_url=server.client.base_url) as once:
                assert once.get("/acme/Big-MoE.json?hardware=h200").status_code == 200
        assert 'site_requests_total{kind="json",status="200"} 20.0' in server.client.get("/metrics").text
        (content / "models" / "acme" / "Later.yaml").write_text(recipe_text())
        server.process.send_signal(signal.SIGHUP)
        answers = []

        def all_know_it() -> bool:
            """Every request is a new connection, so that both workers are asked."""
            with httpx.Client(base_url=server.client.base_url) as once:
                answers.append(once.get("/acme/Later.json").status_code)
            return len(answers) > 20 and set(answers[-20:]) == {200}

        assert until(all_know_it)
    lines = [json.loads(line) for line in server.said.splitlines() if line.startswith("{")]
    asked = [line for line in lines if line["target"] == "/acme/Big-MoE.json?hardware=h200"]
    assert {(line["method"], line["status"], line["client"]) for line in asked} == {("GET", 200, "127.0.0.1")}
    assert len(asked) == 20
    assert "Traceback" not in server.said


def test_a_built_folder_is_served_with_the_headers_of_the_site(tmp_path: Path) -> None:
    content, out = content_copy(tmp_path), tmp_path / "dist"
    assert run("build", "--content", str(content), "--out", str(out)).exit_code == 0
    with served(content, "--built", str(out), "--access-log", "text") as server:
        page = server.client.get("/acme/Big-MoE")
        assert page.content == (out / "acme" / "Big-MoE" / "index.html").read_bytes()
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        assert page.headers["vary"] == "accept, accept-encoding"
        assert 'rel="alternate"' in page.headers["link"]
        assert server.client.get("/").content == (out / "index.html").read_bytes()
        markdown = server.client.get("/acme/Big-MoE.md")
        assert markdown.content == (out / "acme" / "Big-MoE.md").read_bytes()
        assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
        asked = server.client.get("/acme/Big-MoE.json?hardware=h200").json()
        assert asked["configuration"]["hardware"] == "h200"
        assert server.client.get("/.site-builder").status_code == 404
        assert server.client.get("/acme/Big-MoE", headers={"accept": "text/markdown"}).text.startswith("# acme/Big-MoE")
    assert '"GET /acme/Big-MoE.json?hardware=h200" 200' in server.said


def test_a_proxy_may_publish_the_site_under_a_path(tmp_path: Path) -> None:
    with served(SMALL, "--root-path", "/recipes", "--access-log", "off") as server:
        for address in ("/recipes/acme/Big-MoE", "/acme/Big-MoE"):
            assert 'src="/recipes/assets/' in server.client.get(address).text
        assert server.client.get("/recipes/healthz").json()["status"] == "ok"
        assert server.client.get("/recipes/ACME/big-moe").headers["location"] == "/recipes/acme/Big-MoE"
    assert server.said == ""


def test_an_open_request_is_answered_before_the_server_stops(tmp_path: Path) -> None:
    with served(SMALL) as server, socket.create_connection(("127.0.0.1", server.client.base_url.port or 0)) as slow:
        slow.sendall(b"POST /v1/none HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n")
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        slow.sendall(b"done")
        assert slow.recv(4096).startswith(b"HTTP/1.1 404")
        assert server.process.wait(timeout=15) in (0, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("base", "root_path", "whole"),
    [
        ("", "", ""),
        ("", "/recipes/", "/recipes"),
        ("https://e.org", "recipes", "https://e.org/recipes"),
        ("https://e.org/recipes", "/recipes", "https://e.org/recipes"),
        ("https://e.org/recipes", "", "https://e.org/recipes"),
    ],
)
def test_the_base_under_a_path(base: str, root_path: str, whole: str) -> None:
    assert with_path(base, root_path) == whole


def test_two_paths_contradict_each_other() -> None:
    with pytest.raises(SiteError, match="has the path /a, and --root-path says /b; give one of them"):
        with_path("https://e.org/a", "/b")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_answer_leaves_at_once(host: str) -> None:
    """Head and body are two small packets: without this the second one waits for the client."""
    listener = listen(host, 0)
    assert listener.proto == socket.IPPROTO_TCP
    listener.close()


def test_a_port_that_is_taken_is_a_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run("serve", "--content", str(SMALL), "--port", str(port))
    assert result.exit_code == 1
    assert f"error: cannot listen on 127.0.0.1:{port}" in result.stderr
    assert "choose another port with --port" in result.stderr


def test_a_folder_that_no_build_wrote_is_not_served(tmp_path: Path) -> None:
    result = run("serve", "--content", str(SMALL), "--port", "0", "--built", str(tmp_path))
    assert result.exit_code == 1
    assert f"{tmp_path} is not a built site; write one with: python build.py build --out" in result.stderr
