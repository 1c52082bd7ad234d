"""The server: an ASGI application that answers the addresses of the table of pages, query strings included.

It knows suffixes, not formats. The same request again is one look-up of bytes that are ready to send; all other work is
below that.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from site_builder.compare import Shown
from site_builder.errors import CannotExport, UnknownRecipe
from site_builder.files import Files
from site_builder.pages import Page, find_page
from site_builder.prepared import Answers, Prepared, Send, prefers_markdown, send_prepared
from site_builder.query import is_strict
from site_builder.render.as_html import BOOT_HASH, error_page, not_found_page
from site_builder.render.as_json import dump
from site_builder.site import HTML, JSON, MARKDOWN, TEXT, SiteContext, Values

LONGEST_QUERY = 8 * 1024
READ = ("GET", "HEAD", "OPTIONS")
ALLOW = ", ".join(READ)
ANSWER_CACHE = "public, max-age=300, s-maxage=3600, stale-while-revalidate=86400"
ASSET_CACHE = "public, max-age=31536000, immutable"
#: How many bytes of rendered answers are kept.
CACHE_BYTES = 64 * 1024 * 1024
NOSNIFF = ("x-content-type-options", "nosniff")
OPEN = ("access-control-allow-origin", "*")
PAGE_HEADERS = (
    (
        "content-security-policy",
        f"default-src 'none'; script-src 'self' '{BOOT_HASH}'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "strict-origin-when-cross-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    NOSNIFF,
)
MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "woff2": "font/woff2",
    "webmanifest": "application/manifest+json",
}
TITLES = {
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
}

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
#: Told of each answer: the request, its kind (the suffix, or page), the status, and the seconds that it took.
Observer = Callable[[Scope, str, int, float], None]
#: Addresses that another application answers.
INNER = ("healthz", "metrics", "mcp", "v1/")
#: Pages whose address gives markdown to who prefers it.
NEGOTIATED = ("{org}/{repo}", "{org}/{repo}/compare", "{org}/{repo}/hardware")
#: Forms whose errors are a paragraph, but for those who ask for HTML: a browser.
PLAIN_SUFFIXES = ("sh", "yaml", "env", "txt", "xml")


@dataclass(frozen=True)
class Asked:
    """One request: the path under the site without its first slash, and the query as it was sent."""

    method: str
    path: str
    query: str
    markdown: bool = False
    html: bool = False

    @property
    def name(self) -> str:
        """What the very same request has in common with this one. Only errors of text files tell HTML from the rest."""
        html = self.html and self.suffix in PLAIN_SUFFIXES
        return f"{'md ' if self.markdown else ''}{'html ' if html else ''}{self.path}?{self.query}"

    @property
    def suffix(self) -> str:
        return self.path.rsplit("/", 1)[-1].rpartition(".")[2] if "." in self.path.rsplit("/", 1)[-1] else ""


@dataclass
class Kept:
    """The answers of one state of the site; a reload brings another state, and empty answers."""

    context: SiteContext
    answers: Answers = field(default_factory=lambda: Answers(CACHE_BYTES))


class Application:
    """Answers from the site that ``site`` gives at that moment, so that a reload takes effect at once.

    ``files`` is a built folder, whose files come first where no query asks for more; ``inner`` gets what is not read
    only: other methods and addresses of its own, and the life of the server.
    """

    def __init__(
        self,
        site: Callable[[], SiteContext],
        inner: Asgi,
        files: Files | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.site, self.inner, self.files, self.observe = site, inner, files, observe
        self.kept = Kept(site())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        started = time.perf_counter()
        context = self.site()
        path = under(scope["path"], context.addresses.path)
        if path.startswith(INNER):
            # Under a path of the site, the inner application sees its own addresses.
            status = await answered_by(self.inner, {**scope, "path": f"/{path}", "root_path": ""}, (receive, send))
            self._observe(scope, "other", status, started)
            return
        accept, accepted, known = b"", b"", b""
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                accepted = value
            elif name == b"accept":
                accept = value
            elif name == b"if-none-match":
                known = value
        if self.kept.context is not context:
            self.kept = Kept(context)
        query = scope["query_string"].decode("latin-1")
        asked = Asked(scope["method"], path, query, bool(accept) and prefers_markdown(accept), b"text/html" in accept)
        prepared = self.kept.answers.of_request(asked.name) if asked.method in ("GET", "HEAD") else None
        prepared = prepared or self.prepare(context, asked)
        status = await send_prepared(prepared, (asked.method, accepted, known), send)
        self._observe(scope, asked.suffix or "page", status, started)

    def _observe(self, scope: Scope, kind: str, status: int, started: float) -> None:
        if self.observe is not None:
            self.observe(scope, kind, status, time.perf_counter() - started)

    def prepare(self, context: SiteContext, asked: Asked) -> Prepared:
        """The answer to a request that was not asked before."""
        if asked.method == "OPTIONS":
            more = [("access-control-allow-methods", ALLOW), ("access-control-allow-headers", "*")]
            return Prepared(b"", JSON, [("allow", ALLOW), OPEN, *more, ("access-control-max-age", "86400")], status=204)
        if asked.method not in READ:
            return refusal(context, asked, (405, "this address is read only"), headers=[("allow", ALLOW)])
        if len(asked.query) > LONGEST_QUERY:
            return refusal(context, asked, (414, f"the query is longer than {LONGEST_QUERY} bytes"))
        if asked.path.startswith("assets/"):
            return self._asset(context, asked)
        try:
            return self._file(context, asked) or self._page(context, asked)
        except UnknownRecipe as error:
            return self._keep(asked, not_found(context, asked, list(error.closest)))
        except CannotExport as error:
            return self._keep(asked, refusal(context, asked, (409, str(error))))

    def _keep(self, asked: Asked, prepared: Prepared) -> Prepared:
        """Keep an answer that depends on the whole request."""
        return self.kept.answers.get(f"as asked {asked.name}", asked.name, lambda: prepared)

    def _asset(self, context: SiteContext, asked: Asked) -> Prepared:
        content = context.theme.assets.files.get(asked.path)
        if content is None:
            return not_found(context, asked, [])
        media_type = MEDIA_TYPES.get(asked.suffix, "application/octet-stream")
        headers = [("cache-control", ASSET_CACHE), NOSNIFF]
        return self.kept.answers.get(asked.path, asked.name, lambda: Prepared(content, media_type, headers))

    def _file(self, context: SiteContext, asked: Asked) -> Prepared | None:
        """A file of the built folder, with the headers that the page would have; None where there is none."""
        file = self.files.find(asked.path) if self.files and not asked.query and not asked.markdown else None
        if file is None:
            return None
        page, values = find_page(asked.path) or (None, {})
        if page is not None and canonical_path(context, page, values) is not None:
            return None
        headers = headers_of(file.media_type)
        if page is not None and page.show is not None:
            view = page.read(context, values, "")
            headers = shown_headers(context, file.media_type, view, page.template in NEGOTIATED)
        found = Prepared(file.body, file.media_type, headers, packed=file.packed)
        return self.kept.answers.get(f"file {asked.path}", asked.name, lambda: found)

    def _page(self, context: SiteContext, asked: Asked) -> Prepared:
        if asked.path.endswith("/") and asked.path.strip("/"):
            return redirect(context, asked.path.rstrip("/"), asked.query)
        found = find_page(asked.path)
        if found is None:
            return self._keep(asked, not_found(context, asked, []))
        page, values = found
        moved = canonical_path(context, page, values)
        if moved is not None:
            path, added = moved
            return redirect(context, path, "&".join(part for part in (asked.query, added) if part))
        query = page.settle(context, values, asked.query)
        if query != asked.query:
            return redirect(context, asked.path, query)
        if page.show is not None:
            return self._shown(context, asked, (page, values))
        name = asked.query if page.takes_query else ""

        def make() -> Prepared:
            text = page.text(context, values, name)
            return Prepared(text.data, text.media_type, headers_of(text.media_type))

        return self.kept.answers.get(f"{asked.path}?{name}", asked.name, make)

    def _shown(self, context: SiteContext, asked: Asked, found: tuple[Page, Values]) -> Prepared:
        """A recipe in a configuration: every query that gives the same one, and says the same of it, is one answer."""
        page, values = found
        view = page.read(context, values, asked.query)
        negotiated = page.template in NEGOTIATED
        if view.adjustments and is_strict(asked.query):
            return self._keep(asked, strict_refusal(context, asked, view))
        if negotiated and asked.markdown:
            page, _ = find_page(f"{asked.path}.md") or found
        said = dump(view.adjustments) if view.adjustments else ""
        key = f"{page.template} {asked.path}?{view.query} {view.process} {said}"
        show = page.show
        assert show is not None

        def make() -> Prepared:
            text = show(context, view)
            return Prepared(text.data, text.media_type, shown_headers(context, text.media_type, view, negotiated))

        return self.kept.answers.get(key, asked.name, make)


async def answered_by(inner: Asgi, scope: Scope, ends: tuple[Receive, Send]) -> int:
    """Let another application answer, and give the status that it sent."""
    receive, send = ends
    status = 0

    async def seen(message: MutableMapping[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        await send(message)

    await inner(scope, receive, seen)
    return status


def under(path: str, base: str) -> str:
    """An address under the path of the site, without its first slash; proxies hand it on with that path or without."""
    if base and (path == base or path.startswith(f"{base}/")):
        path = path[len(base) :]
    return path.lstrip("/")


def headers_of(media_type: str) -> list[tuple[str, str]]:
    """The headers of every answer of a kind: pages are closed to all that is foreign, machine forms open to all."""
    if media_type == HTML:
        return [("cache-control", ANSWER_CACHE), *PAGE_HEADERS]
    return [("cache-control", ANSWER_CACHE), OPEN, NOSNIFF]


def shown_headers(context: SiteContext, media_type: str, view: Shown, negotiated: bool) -> list[tuple[str, str]]:
    """A page names its twins, and markdown its page; what an address gives by ``Accept`` varies by it."""
    addresses, headers = context.addresses, headers_of(media_type)
    if media_type == HTML:
        twins = ((JSON, "json"), ("text/markdown", "md"))
        links = [
            f'<{escaped(addresses.form(view.id, suffix, view.query))}>; rel="alternate"; type="{kind}"'
            for kind, suffix in twins
        ]
        headers.append(("link", ", ".join(links)))
    elif media_type == MARKDOWN:
        headers.append(("link", f'<{escaped(addresses.full(view.id, view.query))}>; rel="canonical"'))
    return [*headers, ("vary", "accept, accept-encoding")] if negotiated else headers


def escaped(address: str) -> str:
    """An address as it may stand in a header: what is escaped already stays so."""
    return quote(address, safe="/:@!$&'()*+,;=~?%#")


def canonical_path(context: SiteContext, page: Page, values: Values) -> tuple[str, str] | None:
    """Where an address in another spelling leads (path, query), or None where it is the canonical one.

    The checkpoint of a variant is no page of its own, but its machine forms answer directly: their clients refuse
    redirects.
    """
    if "repo" not in values:
        return _canonical_organisation(context, values) if "org" in values else None
    recipe, variant = context.collection.find(f"{values['org']}/{values['repo']}")
    machine = page.template not in NEGOTIATED
    if variant is not None:
        own = recipe.file.variants[variant].model_id or ""
        if machine and own == f"{values['org']}/{values['repo']}":
            return None
        target = own if machine else recipe.id
        query = "" if machine else "&".join(f"{side}variant={variant}" for side in page.sides)
    else:
        target, query = recipe.id, ""
    org, repo = target.split("/", 1)
    wanted = page.template.format(**{**values, "org": org, "repo": repo})
    return None if (org, repo) == (values["org"], values["repo"]) else (wanted, query)


def _canonical_organisation(context: SiteContext, values: Values) -> tuple[str, str] | None:
    spelled = {org.lower(): org for org in context.organisations}.get(values["org"].lower(), values["org"])
    return None if spelled == values["org"] else (spelled, "")


def redirect(context: SiteContext, path: str, query: str) -> Prepared:
    place = quote(context.addresses.to(path), safe="/:@!$&'()*+,;=~") + (f"?{escaped(query)}" if query else "")
    return Prepared(b"", TEXT, [("location", place), ("cache-control", ANSWER_CACHE), OPEN], status=308)


def strict_refusal(context: SiteContext, asked: Asked, view: Shown) -> Prepared:
    """422 for a query with ``strict=1`` that would have to be adjusted; the answer lists the adjustments."""
    detail = "what was asked does not fit together"
    return refusal(context, asked, (422, detail), adjustments=list(view.adjustments))


def not_found(context: SiteContext, asked: Asked, closest: list[str]) -> Prepared:
    return refusal(context, asked, (404, "there is nothing at this address"), closest=closest)


def told(status: int, detail: str, closest: Sequence[str] = ()) -> dict[str, Any]:
    """An error as every machine address tells it."""
    return {"status": status, "title": TITLES[status], "detail": detail, "did_you_mean": list(closest)}


def refusal(
    context: SiteContext,
    asked: Asked,
    refused: tuple[int, str],
    *,
    closest: list[str] | None = None,
    adjustments: list[Any] | None = None,
    headers: list[tuple[str, str]] | None = None,
) -> Prepared:
    """An error in the form of what was asked for: JSON, a paragraph, or a page."""
    status, detail = refused
    closest, more = closest or [], [("cache-control", "no-store"), *(headers or [])]
    suffix = "md" if asked.markdown and not asked.suffix else asked.suffix
    if suffix == "json" or asked.path.startswith("v1/"):
        error = told(status, detail, closest)
        if adjustments is not None:
            error["adjustments"] = adjustments
        return Prepared(dump({"error": error}).encode(), JSON, [*more, OPEN, NOSNIFF], status=status)
    if suffix == "md" or (suffix in PLAIN_SUFFIXES and not asked.html):
        lines = [f"{TITLES[status]}: {detail}."]
        lines += [f"Did you mean {', '.join(closest)}?"] if closest else []
        lines += [f"- {entry['parameter']}={entry['requested']}: {entry['reason']}" for entry in adjustments or []]
        kind = MARKDOWN if suffix == "md" else TEXT
        return Prepared(("\n".join(lines) + "\n").encode(), kind, [*more, OPEN, NOSNIFF], status=status)
    if status == 404:
        return Prepared(
            not_found_page(asked.path, closest, context.around).encode(), HTML, [*more, *PAGE_HEADERS], status=404
        )
    listed = [f"{entry['parameter']}={entry['requested']}: {entry['reason']}" for entry in adjustments or []]
    page = error_page(TITLES[status], detail, listed, context.around)
    return Prepared(page.encode(), HTML, [*more, *PAGE_HEADERS], status=status)
