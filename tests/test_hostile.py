"""Requests that mean no good: the server answers them or hangs up, and goes on answering others."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from site_builder.collection import Collection
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.helpers import running


@pytest.fixture(scope="module")
def client(small: Collection) -> Iterator[httpx.Client]:
    with running(SiteContext(small, Addresses(), Theme())) as client:
        yield client


def raw(client: httpx.Client, request: bytes, wait: float = 5) -> bytes:
    """What the server says to bytes as they are, until it hangs up or has nothing more to say."""
    said = b""
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=wait) as connection:
        connection.sendall(request)
        try:
            while part := connection.recv(65536):
                said += part
        except (TimeoutError, ConnectionResetError):
            pass
    return said


def asked(client: httpx.Client, target: bytes, *headers: bytes) -> bytes:
    lines = [b"GET " + target + b" HTTP/1.1", b"host: x", b"connection: close", *headers]
    return raw(client, b"\r\n".join(lines) + b"\r\n\r\n")


def still_answers(client: httpx.Client) -> bool:
    return client.get("/acme/Big-MoE.json?hardware=h200").json()["configuration"]["hardware"] == "h200"


@pytest.mark.parametrize(
    "target",
    [
        b"/../../etc/passwd",
        b"/..%2f..%2f..%2fetc%2fpasswd",
        b"/%2e%2e/%2e%2e/etc/passwd",
        b"/assets/../../pyproject.toml",
        b"/assets/..%5c..%5cpyproject.toml",
        b"/acme/..%2f..%2f..%2fetc%2fpasswd.json",
        b"/acme/Big-MoE.yaml",
        b"/content/models/acme/Big-MoE.yaml",
        b"//etc/passwd",
        b"/acme/%00.json",
        b"/acme/Big-MoE/hw/..%2f..%2fx.json",
        b"/\xff\xfe/\xff.json",
        b"/acme/" + b"x" * 7000,
        b"/" + b"a/" * 3000,
        b"/%",
        b"/%zz/%1.md",
        "/ácmé/Bíg.json".encode(),
    ],
)
def test_no_address_leads_out_of_the_site(client: httpx.Client, target: bytes) -> None:
    said = asked(client, target)
    status = said.split(b" ", 2)[1] if said else b""
    assert status in (b"400", b"404", b"308")
    assert b"root:" not in said
    assert b"model_id" not in said
    assert b"Traceback" not in said
    assert still_answers(client)


@pytest.mark.parametrize(
    "target",
    [
        b"/acme/big-moe?x=%0d%0aset-cookie:%20a=b",
        b"/acme/big-moe?x=\xe2\x80\xa8%0aevil:1",
        b"/nvidia/Big-MoE-NVFP4?hardware=%0d%0alocation:%20//evil",
        b"//evil.example/acme/",
        b"/acme%0d%0aevil:%201/x/",
    ],
)
def test_no_query_writes_a_header(client: httpx.Client, target: bytes) -> None:
    head = asked(client, target).split(b"\r\n\r\n", 1)[0]
    names = [line.split(b":", 1)[0].lower() for line in head.split(b"\r\n")[1:]]
    assert names
    assert {b"set-cookie", b"evil"} & set(names) == set()
    assert names.count(b"location") <= 1
    location = next((line for line in head.split(b"\r\n") if line.lower().startswith(b"location:")), b"location: /")
    assert not location.split(b":", 1)[1].strip().startswith(b"//")
    assert still_answers(client)


@pytest.mark.parametrize(
    "query",
    [
        "hardware=" + "h" * 8000,
        "&".join(f"p{number}=1" for number in range(1200)),
        "features=" + ",".join(["tool_calling"] * 400),
        "%" * 3000,
        "hardware=%ff%fe%00",
        "nodes=" + "9" * 5000,
        "nodes=-1&prefill_rank=1e9&kv_instance=٣",
        "a=" + "%F0%9F%A4%96" * 600,
        "&&&===&=&=;;",
    ],
)
def test_no_query_is_too_strange(client: httpx.Client, query: str) -> None:
    for form in ("", ".json", ".md", ".sh"):
        response = client.get(f"/acme/Big-MoE{form}?{query}")
        assert response.status_code in (200, 414)
        response.content.decode("utf-8")
    assert still_answers(client)


def test_a_query_over_the_limit_is_refused_in_the_form_asked_for(client: httpx.Client) -> None:
    response = client.get("/acme/Big-MoE.json?x=" + "y" * 8192)
    assert (response.status_code, response.json()["error"]["title"]) == (414, "URI Too Long")
    assert asked(client, b"/acme/Big-MoE.json?x=" + b"y" * 200_000).split(b" ")[1] in (b"400", b"414", b"431")
    assert still_answers(client)


@pytest.mark.parametrize(
    "headers",
    [
        [b"accept-encoding: " + b"br;q=" * 2000],
        [b"accept-encoding: \xff\xff, br;q=nan, gzip;q=-1"],
        [b"accept: " + b"text/markdown," * 2000],
        [b"if-none-match: " + b'W/"x",' * 4000],
        [b"range: bytes=0-0,1-1,-1"] * 50,
        [b"host: evil.example"],
        [b"x-forwarded-host: evil.example", b"x-forwarded-prefix: //evil.example"],
        [b"content-length: 10000000000"],
        [b"transfer-encoding: chunked"],
    ],
)
def test_no_header_is_too_strange(client: httpx.Client, headers: list[bytes]) -> None:
    said = asked(client, b"/acme/Big-MoE", *headers)
    assert said.split(b" ")[1] in (b"200", b"400", b"431")
    assert b"evil.example" not in said
    assert still_answers(client)


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\r\n" * 2000 + b"\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 20000 + b"\r\n",
    ],
)
def test_what_is_no_request_is_refused(client: httpx.Client, request_: bytes) -> None:
    said = raw(client, request_, wait=2)
    assert b"Traceback" not in said
    assert still_answers(client)


def test_a_body_that_is_too_large_is_not_read_into_memory(client: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(400):
            yield b"x" * 65536

    try:
        status = client.post("/acme/Big-MoE.json", content=endless(), timeout=20).status_code
    except httpx.TransportError:
        status = 0
    assert status in (0, 405)
    assert still_answers(client)


@pytest.mark.parametrize(
    "call",
    [
        b"",
        b"{",
        b"[]",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_recipe","arguments":{"recipe":7}}}',
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 100_000}).encode(),
        b"[" * 50_000,
        b"\xff" * 1000,
    ],
)
def test_no_call_of_an_agent_is_too_strange(client: httpx.Client, call: bytes) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    response = client.post("/mcp", content=call, headers=headers)
    assert response.status_code < 500
    assert "Traceback" not in response.text
    assert still_answers(client)


def test_clients_that_are_slow_keep_nobody_waiting(client: httpx.Client) -> None:
    place = (client.base_url.host, client.base_url.port or 0)
    slow = [socket.create_connection(place) for _ in range(200)]
    try:
        for connection in slow:
            connection.sendall(b"GET /acme/Big-MoE.json HTTP/1.1\r\nhost: x\r\nx-slow: ")
        started = time.monotonic()
        assert still_answers(client)
        assert time.monotonic() - started < 5
    finally:
        for connection in slow:
            connection.close()


def test_clients_that_do_not_read_keep_nobody_waiting(client: httpx.Client) -> None:
    place = (client.base_url.host, client.base_url.port or 0)
    deaf = [socket.create_connection(place) for _ in range(50)]
    try:
        for connection in deaf:
            connection.sendall(b"GET /acme/Big-MoE HTTP/1.1\r\nhost: x\r\n\r\n" * 50)
        assert still_answers(client)
    finally:
        for connection in deaf:
            connection.close()


def test_a_thousand_at_once_are_all_answered(client: httpx.Client) -> None:
    """All connections are open before the first request is sent."""
    place = (client.base_url.host, client.base_url.port or 0)
    gate = threading.Barrier(8)

    def batch(start: int) -> list[bytes]:
        connections = [socket.create_connection(place, timeout=60) for _ in range(125)]
        gate.wait()
        answers = []
        for number, connection in enumerate(connections, start):
            query = b"nodes=%d&x=%d" % (number % 16 + 1, number)
            connection.sendall(
                b"GET /acme/Big-MoE.json?" + query + b" HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
            )
        for connection in connections:
            said = b""
            while part := connection.recv(65536):
                said += part
            answers.append(said)
            connection.close()
        return answers

    with ThreadPoolExecutor(8) as pool:
        answers = [answer for batch_ in pool.map(batch, range(0, 1000, 125)) for answer in batch_]
    assert len(answers) == 1000
    assert {answer.split(b" ", 2)[1] for answer in answers} == {b"200"}
    for answer in answers:
        json.loads(answer.split(b"\r\n\r\n", 1)[1])
    assert still_answers(client)
