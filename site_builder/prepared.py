"""Answers as the messages that an ASGI server sends: compressed and hashed once, kept within a number of bytes."""

from __future__ import annotations

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import brotli  # type: ignore[import-untyped]

Header = tuple[bytes, bytes]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

#: Smaller bodies do not gain from compression, and pictures hold none that is left to gain.
SMALLEST = 500
PACKED = ("image/png", "image/x-icon", "font/woff2")
#: A request line is short; what a client says of encodings is too. Longer ones are read each time.
KNOWN_HEADERS = 512


@lru_cache(maxsize=KNOWN_HEADERS)
def best_encoding(accepted: bytes) -> str:
    """``br`` or ``gzip``, the one that a client likes best; empty where it takes neither (``q=0`` is a no)."""
    wishes: dict[str, float] = {}
    for part in accepted.decode("latin-1").lower().split(","):
        name, _, parameter = part.partition(";")
        quality = parameter.replace(" ", "").removeprefix("q=")
        try:
            wishes[name.strip()] = float(quality) if quality else 1.0
        except ValueError:
            wishes[name.strip()] = 0.0
    best = max(("br", "gzip"), key=lambda name: wishes.get(name, wishes.get("*", 0.0)))
    return best if wishes.get(best, wishes.get("*", 0.0)) > 0 else ""


@lru_cache(maxsize=KNOWN_HEADERS)
def prefers_markdown(accept: bytes) -> bool:
    """Whether a client names ``text/markdown`` and likes it at least as much as HTML."""
    wishes: dict[str, float] = {}
    for part in accept.decode("latin-1").lower().split(","):
        name, *parameters = [piece.strip() for piece in part.split(";")]
        quality = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        try:
            wishes[name] = float(quality)
        except ValueError:
            wishes[name] = 0.0
    html = wishes.get("text/html", wishes.get("text/*", wishes.get("*/*", 0.0)))
    return wishes.get("text/markdown", 0.0) > 0 and wishes["text/markdown"] >= html


@dataclass(frozen=True)
class Form:
    """One encoding of an answer: the messages that start it, and its body."""

    etag: str
    start: Message
    not_modified: Message
    body: bytes


class Prepared:
    """An answer ready to send. Its compressed forms are made when they are first asked for, and kept."""

    def __init__(
        self,
        body: bytes,
        media_type: str,
        headers: Iterable[tuple[str, str]] = (),
        *,
        status: int = 200,
        packed: Mapping[str, bytes] | None = None,
    ) -> None:
        self.body, self.status, self.media_type, self.packed = body, status, media_type, packed or {}
        self.headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self.packs = len(body) > SMALLEST and media_type not in PACKED
        self.digest = hashlib.sha256(body).hexdigest()[:32]
        self.forms: dict[str, Form] = {}

    @property
    def size(self) -> int:
        """The bytes that it holds, in all forms."""
        return len(self.body) + sum(len(form.body) for name, form in self.forms.items() if name)

    def form(self, accepted: bytes) -> Form:
        """The form for a client's ``Accept-Encoding``. Each encoding has an ETag of its own, made from the content."""
        encoding = best_encoding(accepted) if self.packs else ""
        found = self.forms.get(encoding)
        if found is None:
            found = self.forms[encoding] = self._form(encoding)
        return found

    def _form(self, encoding: str) -> Form:
        body = self.packed.get(encoding) or _PACKERS[encoding](self.body)
        etag = f'"{self.digest}-{encoding}"' if encoding else f'"{self.digest}"'
        shared = [*self.headers, *self._vary(), *([(b"etag", etag.encode())] if self.status == 200 else [])]
        whole = [
            (b"content-type", self.media_type.encode("latin-1")),
            (b"content-length", str(len(body)).encode()),
            *([(b"content-encoding", encoding.encode())] if encoding else []),
            *shared,
        ]
        start = {"type": "http.response.start", "status": self.status, "headers": whole}
        return Form(etag, start, {"type": "http.response.start", "status": 304, "headers": shared}, body)

    def _vary(self) -> list[Header]:
        """``Vary`` names the encoding beside what the answer varies by anyway."""
        if any(name == b"vary" for name, _ in self.headers):
            return []
        return [(b"vary", b"accept-encoding")]


_PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "": lambda body: body,
    "br": lambda body: bytes(brotli.compress(body, quality=5)),
    "gzip": lambda body: gzip.compress(body, 6, mtime=0),
}


def has_it(known: bytes, etag: str) -> bool:
    """Whether an ``If-None-Match`` (a list, weak tags too, or ``*``) names the tag."""
    tags = [tag.strip().removeprefix("W/") for tag in known.decode("latin-1").split(",")]
    return etag in tags or "*" in tags


async def send_prepared(prepared: Prepared, request: tuple[str, bytes, bytes], send: Send) -> int:
    """Send an answer to a request (method, Accept-Encoding, If-None-Match), or 304 where it has it.

    Gives the status that was sent.
    """
    method, accepted, known = request
    form = prepared.form(accepted)
    if known and prepared.status == 200 and has_it(known, form.etag):
        await send(form.not_modified)
        await send({"type": "http.response.body"})
        return 304
    await send(form.start)
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else form.body})
    return prepared.status


#: What an answer or a remembered request takes besides its text, roughly: objects, headers, places in tables.
ANSWER_OVERHEAD, REQUEST_OVERHEAD = 2500, 250


class Answers:
    """Prepared answers, the least used ones dropped where they take more bytes than ``limit``.

    An answer is kept under what it depends on. The requests that led to it are kept too, so that the same request
    again is one look-up: they hold no answer of their own, and take an eighth of the bytes at most.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.answers: OrderedDict[str, tuple[Prepared, int]] = OrderedDict()
        self.requests: OrderedDict[str, str] = OrderedDict()
        self.request_size = 0

    def of_request(self, request: str) -> Prepared | None:
        """The answer that this very request had before, where it is still kept."""
        key = self.requests.get(request)
        found = self.answers.get(key) if key is not None else None
        if key is None or found is None:
            return None
        self.answers.move_to_end(key)
        if found[0].size != found[1]:
            self._keep(key, found[0])
        return found[0]

    def get(self, key: str, request: str, make: Callable[[], Prepared]) -> Prepared:
        """The answer that depends on ``key``, made where it is not kept; the request is remembered."""
        known = self.answers.get(key)
        prepared = make() if known is None else known[0]
        self._keep(key, prepared)
        if request not in self.requests:
            self.request_size += len(request) + REQUEST_OVERHEAD
        self.requests[request] = key
        while self.request_size > self.limit // 8:
            self.request_size -= len(self.requests.popitem(last=False)[0]) + REQUEST_OVERHEAD
        return prepared

    def _keep(self, key: str, prepared: Prepared) -> None:
        """Count an answer as just used, at the size that it has now: compressed forms come later."""
        fixed = len(key) + ANSWER_OVERHEAD
        known = self.answers.get(key)
        self.size += prepared.size - known[1] if known else prepared.size + fixed
        self.answers[key] = (prepared, prepared.size)
        self.answers.move_to_end(key)
        while self.size > self.limit and len(self.answers) > 1:
            oldest, (_, size) = self.answers.popitem(last=False)
            self.size -= size + len(oldest) + ANSWER_OVERHEAD
