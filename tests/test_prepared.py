"""Answers ready to send: encodings, tags, and how many of them are kept."""

from __future__ import annotations

import gzip
from collections.abc import MutableMapping
from typing import Any

import brotli
import pytest

from site_builder.prepared import (
    ANSWER_OVERHEAD,
    Answers,
    Prepared,
    best_encoding,
    has_it,
    prefers_markdown,
    send_prepared,
)
from tests.helpers import awaited


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        (b"", ""),
        (b"gzip, deflate, br", "br"),
        (b"gzip", "gzip"),
        (b"GZIP;Q=0.8", "gzip"),
        (b"br;q=0.2, gzip;q=0.9", "gzip"),
        (b"br;q=0, gzip", "gzip"),
        (b"br;q=0, *;q=0", ""),
        (b"*", "br"),
        (b"*;q=0.5, br;q=0", "gzip"),
        (b"identity", ""),
        (b"br;q=many, gzip;q=0.1", "gzip"),
        (b"\xff\xfe;q=1", ""),
    ],
)
def test_the_encoding_that_a_client_likes_best(accepted: bytes, encoding: str) -> None:
    assert best_encoding(accepted) == encoding


@pytest.mark.parametrize(
    ("accept", "markdown"),
    [
        (b"", False),
        (b"text/markdown", True),
        (b"text/html, text/markdown;q=0.9", False),
        (b"text/html;q=0.9, text/markdown;q=0.9", True),
        (b"text/markdown;q=0", False),
        (b"text/markdown;q=high", False),
        (b"text/markdown;q=0.5, */*;q=0.6", False),
        (b"text/*, text/markdown", True),
        (b"*/*", False),
        (b"Text/Markdown; charset=utf-8; q=1", True),
    ],
)
def test_markdown_is_for_who_likes_it_at_least_as_much(accept: bytes, markdown: bool) -> None:
    assert prefers_markdown(accept) is markdown


@pytest.mark.parametrize(
    ("known", "has"),
    [(b'"a"', True), (b'W/"a"', True), (b'"b", W/"a"', True), (b"*", True), (b'"b"', False), (b"a", False)],
)
def test_a_client_has_what_its_tags_name(known: bytes, has: bool) -> None:
    assert has_it(known, '"a"') is has


def sent(prepared: Prepared, *request: Any) -> tuple[int, dict[str, str], bytes]:
    messages: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    awaited(send_prepared(prepared, request, send))  # type: ignore[arg-type]
    start, body = messages
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, body.get("body", b"")


def test_every_form_unpacks_to_the_same_content() -> None:
    content = "Wörter ".encode() * 200
    prepared = Prepared(content, "text/plain", [("x-more", "1")])
    tags = set()
    for accepted, unpack in ((b"", bytes), (b"gzip", gzip.decompress), (b"br", brotli.decompress)):
        status, headers, body = sent(prepared, "GET", accepted, b"")
        assert (status, unpack(body), headers["content-length"]) == (200, content, str(len(body)))
        assert (headers["vary"], headers["x-more"]) == ("accept-encoding", "1")
        tags.add(headers["etag"])
        assert sent(prepared, "GET", accepted, headers["etag"].encode())[0] == 304
        assert sent(prepared, "HEAD", accepted, b"")[1:] == (headers, b"")
    assert len(tags) == 3
    assert prepared.size == sum(len(form.body) for form in prepared.forms.values())


def test_small_bodies_and_pictures_are_sent_as_they_are() -> None:
    for prepared in (Prepared(b"x" * 500, "text/plain"), Prepared(b"x" * 5000, "image/png")):
        assert "content-encoding" not in sent(prepared, "GET", b"br", b"")[1]


def test_what_was_packed_before_is_sent() -> None:
    packed = gzip.compress(b"y" * 900)
    assert sent(Prepared(b"y" * 900, "text/plain", packed={"gzip": packed}), "GET", b"gzip", b"")[2] == packed


def test_a_refusal_has_no_tag_and_is_never_not_modified() -> None:
    status, headers, _ = sent(Prepared(b"no", "text/plain", status=404), "GET", b"", b"*")
    assert (status, "etag" in headers) == (404, False)


def test_an_answer_that_varies_says_it_once() -> None:
    prepared = Prepared(b"", "text/plain", [("vary", "accept, accept-encoding")])
    assert sent(prepared, "GET", b"", b"")[1]["vary"] == "accept, accept-encoding"


def test_the_cache_forgets_the_oldest_answers_first() -> None:
    answers = Answers(limit=2 * (ANSWER_OVERHEAD + 1000) + 100)
    made: list[str] = []

    def make(name: str) -> Prepared:
        made.append(name)
        return Prepared(name.encode() * 1000, "text/plain")

    for name in "abacb":
        answers.get(name, name, lambda name=name: make(name))  # type: ignore[misc]
    assert made == ["a", "b", "c", "b"]
    assert answers.size <= answers.limit
    assert [name for name in "abc" if answers.of_request(name)] == ["b", "c"]


def test_the_memory_of_many_different_requests_is_bounded() -> None:
    answers = Answers(limit=1_000_000)
    for number in range(5000):
        prepared = answers.get(
            f"answer {number % 50}", f"request {number}", lambda: Prepared(b"x" * 9000, "text/plain")
        )
        prepared.form(b"gzip")
        answers.of_request(f"request {number}")
    assert answers.size <= answers.limit
    assert answers.size == sum(size + len(key) + ANSWER_OVERHEAD for key, (_, size) in answers.answers.items())
    assert answers.request_size <= answers.limit // 8
    assert len(answers.requests) < 600
