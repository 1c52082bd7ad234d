"""The server: answers addresses of the table of pages with query strings, and static files."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import unquote

import brotli  # type: ignore[import-untyped]
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from site_builder.errors import UnknownRecipe
from site_builder.pages import HTML, JSON, MARKDOWN, Page, SiteContext, Text, Values, find_page, view_of_address
from site_builder.query import split_query
from site_builder.render.as_html import BOOT_HASH, not_found_page

LONGEST_QUERY = 8 * 1024
ANSWER_CACHE = "public, max-age=300, s-maxage=3600, stale-while-revalidate=86400"
#: How many bytes of rendered answers are kept.
CACHE_BYTES = 64 * 1024 * 1024
PAGE_HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src 'self' '{BOOT_HASH}'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self';"
        " manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "strict-origin-when-cross-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}


@dataclass(frozen=True)
class Answered:
    """An answer ready to send. ``forms`` keeps it compressed, by encoding, from the first time that is asked for."""

    body: bytes
    media_type: str
    digest: str
    forms: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, body: bytes, media_type: str) -> Answered:
        return cls(body, media_type, hashlib.sha256(body).hexdigest()[:32])

    def form(self, accepted: str) -> tuple[str, bytes, str]:
        """Encoding (or nothing), bytes and ETag for an ``Accept-Encoding``. Each encoding has an ETag of its own."""
        encoding = best_encoding(accepted) if self.media_type != "image/png" and len(self.body) > 500 else ""
        if not encoding:
            return "", self.body, f'"{self.digest}"'
        if encoding not in self.forms:
            self.forms[encoding] = (
                brotli.compress(self.body, quality=5) if encoding == "br" else gzip.compress(self.body, 6, mtime=0)
            )
        return encoding, self.forms[encoding], f'"{self.digest}-{encoding}"'


def best_encoding(accepted: str) -> str:
    """``br`` or ``gzip``, the one that a client likes best; empty where it takes neither (``q=0`` is a no)."""
    wishes: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, _, parameter = part.partition(";")
        quality = parameter.replace(" ", "").removeprefix("q=")
        try:
            wishes[name.strip()] = float(quality) if quality else 1.0
        except ValueError:
            wishes[name.strip()] = 0.0
    best = max(("br", "gzip"), key=lambda name: wishes.get(name, wishes.get("*", 0.0)))
    return best if wishes.get(best, wishes.get("*", 0.0)) > 0 else ""


class AnswerCache:
    """Answers by address and canonical query, the least used ones dropped when they take too many bytes."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.size = 0
        self.answers: OrderedDict[str, Answered] = OrderedDict()

    def get(self, key: str, make: Callable[[], Text]) -> Answered:
        found = self.answers.get(key)
        if found is None:
            text = make()
            found = Answered.of(text.data, text.media_type)
            self.answers[key] = found
            # Compressed forms come on top, but are a small part of it.
            self.size += len(found.body)
            while self.size > self.limit and len(self.answers) > 1:
                self.size -= len(self.answers.popitem(last=False)[1].body)
        self.answers.move_to_end(key)
        return found


class Server:
    """Answers requests from the site that ``site`` gives at that moment, so that a reload takes effect at once."""

    def __init__(self, site: Callable[[], SiteContext]) -> None:
        self.site = site
        self.cache = AnswerCache()
        self.cached_for: SiteContext | None = None

    async def respond(self, request: Request) -> Response:
        context = self.site()
        if self.cached_for is not context:
            self.cache, self.cached_for = AnswerCache(), context
        path, query = unquote(request.url.path.removeprefix(context.addresses.path)).lstrip("/"), request.url.query
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            return _error(path, 405, "this address is read only", {"allow": "GET, HEAD, OPTIONS"})
        if request.method == "OPTIONS":
            return Response(
                status_code=204, headers={"allow": "GET, HEAD, OPTIONS", "access-control-allow-origin": "*"}
            )
        if len(query) > LONGEST_QUERY:
            return _error(path, 414, f"the query is longer than {LONGEST_QUERY} bytes")
        if path.startswith("assets/"):
            return self._asset(context, request, path)
        return self._page(context, request, (path, query))

    def _asset(self, context: SiteContext, request: Request, path: str) -> Response:
        content = context.theme.assets.files.get(path)
        if content is None:
            return _error(path, 404, "there is no such file")
        media_type = MEDIA_TYPES.get("." + path.rsplit(".", 1)[-1], "application/octet-stream")
        answered = self.cache.get(path, lambda: Text(content, media_type))
        headers = {"cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff"}
        return _send(request, answered, headers)

    def _page(self, context: SiteContext, request: Request, asked: tuple[str, str]) -> Response:
        path, query = asked
        if path == "healthz":
            return _json({"status": "ok", "recipes": len(context.collection.plans)})
        found = find_page(path)
        if path.endswith("/") and path.strip("/"):
            return _redirect(context, path.rstrip("/"), query)
        if found is None:
            return _not_found(context, path, [])
        page, values = found
        try:
            moved = _canonical_path(context, page, values)
            if moved is not None:
                return _redirect(context, *_joined(moved, query))
            refused = _refused(context, page, (values, query))
            if refused is not None:
                return refused
            key = f"{path}?{query}" if page.takes_query else path
            answered = self.cache.get(key, lambda: page.render(context, values, query))
        except UnknownRecipe as error:
            return _not_found(context, path, list(error.closest))
        return _send(request, answered, _answer_headers(answered))


def _refused(context: SiteContext, page: Page, asked: tuple[Values, str]) -> Response | None:
    """422 for a query with ``strict=1`` that would have to be adjusted; the body lists the adjustments."""
    values, query = asked
    if not page.takes_query or split_query(query)[0].get("strict", "").lower() not in ("1", "true", "yes"):
        return None
    adjustments = view_of_address(context, values, query).adjustments
    if not adjustments:
        return None
    refusal = {
        "status": 422,
        "title": "Unprocessable Content",
        "detail": "what was asked does not fit together",
        "adjustments": list(adjustments),
    }
    return _json({"error": refusal}, 422)


def _canonical_path(context: SiteContext, page: Page, values: Values) -> tuple[str, str] | None:
    """Where an address in another spelling leads (path, query), or None where it is the canonical one.

    The checkpoint of a variant is no page of its own, but its machine forms answer directly: their clients refuse
    redirects.
    """
    if "repo" not in values:
        return _canonical_organisation(context, values) if "org" in values else None
    recipe, variant = context.collection.find(f"{values['org']}/{values['repo']}")
    machine = page.template != "{org}/{repo}"
    if variant is not None:
        own = recipe.file.variants[variant].model_id or ""
        if machine and own == f"{values['org']}/{values['repo']}":
            return None
        target = own if machine else recipe.id
        query = "" if machine else f"variant={variant}"
    else:
        target, query = recipe.id, ""
    org, repo = target.split("/", 1)
    wanted = page.template.format(**{**values, "org": org, "repo": repo})
    return None if (org, repo) == (values["org"], values["repo"]) else (wanted, query)


def _canonical_organisation(context: SiteContext, values: Values) -> tuple[str, str] | None:
    spelled = {org.lower(): org for org in context.organisations}.get(values["org"].lower(), values["org"])
    return None if spelled == values["org"] else (spelled, "")


def _joined(moved: tuple[str, str], query: str) -> tuple[str, str]:
    path, added = moved
    return path, "&".join(part for part in (query, added) if part)


def _redirect(context: SiteContext, path: str, query: str) -> Response:
    return RedirectResponse(context.addresses.to(path, query), status_code=308, headers={"cache-control": ANSWER_CACHE})


def _send(request: Request, answered: Answered, headers: dict[str, str]) -> Response:
    """An answer in the form that the client takes, or 304 where it has it."""
    encoding, body, etag = answered.form(request.headers.get("accept-encoding", ""))
    headers = {**headers, "etag": etag, "vary": "accept-encoding"}
    if encoding:
        headers["content-encoding"] = encoding
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=answered.media_type)


def _answer_headers(answered: Answered) -> dict[str, str]:
    if answered.media_type == HTML:
        return {"cache-control": ANSWER_CACHE, **PAGE_HEADERS}
    return {"cache-control": ANSWER_CACHE, "access-control-allow-origin": "*"}


def _json(value: object, status: int = 200) -> Response:
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return Response(text, status_code=status, media_type=JSON, headers={"access-control-allow-origin": "*"})


def _not_found(context: SiteContext, path: str, closest: list[str]) -> Response:
    """404 in the form of what was asked for."""
    if path.endswith((".json", ".md")):
        return _error(path, 404, "there is nothing at this address", closest=closest)
    page = not_found_page(path, closest, context.around)
    return Response(page, status_code=404, media_type=HTML, headers=PAGE_HEADERS)


def _error(
    path: str, status: int, detail: str, headers: dict[str, str] | None = None, closest: list[str] | None = None
) -> Response:
    titles = {404: "Not Found", 405: "Method Not Allowed", 414: "URI Too Long"}
    if path.endswith(".md"):
        hint = f" Did you mean {', '.join(closest)}?" if closest else ""
        return Response(
            f"{titles[status]}: {detail}.{hint}\n", status_code=status, media_type=MARKDOWN, headers=headers
        )
    response = _json(
        {"error": {"status": status, "title": titles[status], "detail": detail, "did_you_mean": closest or []}}, status
    )
    response.headers.update(headers or {})
    return response


def application(site: Callable[[], SiteContext]) -> Starlette:
    """The ASGI application of a site."""
    server = Server(site)
    methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH"]
    return Starlette(routes=[Route("/{path:path}", server.respond, methods=methods)])
