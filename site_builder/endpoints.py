"""What the server answers besides the table of pages: its own state, commands to explain, and agents that speak MCP."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from site_builder.agents import OPEN_TO_ALL, agent_server
from site_builder.errors import BadCommand, SiteError, UnknownRecipe
from site_builder.explain import LONGEST, explain
from site_builder.live import Live
from site_builder.render import artifacts, explanation
from site_builder.render.as_json import dump
from site_builder.serve import NOSNIFF, OPEN, told
from site_builder.site import JSON, SiteContext

TEXT_KIND = "text/plain"
PREFLIGHT = {
    "allow": "POST, OPTIONS",
    OPEN[0]: OPEN[1],
    "access-control-allow-methods": "POST, OPTIONS",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "86400",
}
FRESH = {"cache-control": "no-store", NOSNIFF[0]: NOSNIFF[1]}


def endpoints(live: Live) -> Starlette:
    """The application of these addresses; its life is that of the whole server."""
    agents = agent_server(lambda: live.site)
    mcp = agents.streamable_http_app(stateless_http=True, json_response=True, transport_security=OPEN_TO_ALL)

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        async with agents.session_manager.run():
            yield

    async def health(_: Request) -> Response:
        return _json(live.health())

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(live.metrics.text(), media_type="text/plain; version=0.0.4", headers=FRESH)

    async def explained(request: Request) -> Response:
        return await explain_request(request, live.site)

    async def resolved(request: Request) -> Response:
        return await run_in_threadpool(resolve_request, request.query_params.get("source", ""), live.site)

    routes = [
        Route("/healthz", health),
        Route("/metrics", metrics),
        Route("/v1/explain", explained, methods=["POST", "OPTIONS"]),
        Route("/v1/artifacts/resolve", resolved),
        *mcp.routes,
    ]
    return Starlette(routes=routes, lifespan=life, exception_handlers={HTTPException: _refused})


async def _refused(_: Request, error: Exception) -> Response:
    """Another method or address, as an error of the same form as everywhere."""
    assert isinstance(error, HTTPException)
    response = _refusal(error.status_code, "see openapi.json for what is here")
    response.headers.update(error.headers or {})
    return response


def resolve_request(source: str, site: SiteContext) -> Response:
    """``GET /v1/artifacts/resolve?source=hf:<org>/<repo>``: a draft from a recipe."""
    try:
        return _json(artifacts.resolve(site.collection, source, site.addresses))
    except artifacts.BadSource as error:
        return _refusal(400, str(error))
    except UnknownRecipe as error:
        return _refusal(404, str(error), error.closest)


async def explain_request(request: Request, site: SiteContext) -> Response:
    """``POST /v1/explain``: the command is the body as text, or ``{"command", "recipe"}`` as JSON."""
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=PREFLIGHT)
    try:
        command, recipe = await _asked(request)
        # In a thread, so that other answers do not wait for it.
        found = await run_in_threadpool(explain, site.collection, command, recipe)
        return _json(explanation.document(found, site.addresses))
    except Refused as error:
        return _refusal(error.status, str(error))
    except BadCommand as error:
        return _refusal(400, str(error))
    except UnknownRecipe as error:
        return _refusal(404, str(error), error.closest)


class Refused(SiteError):
    """A request that is not of the form that this address takes."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


async def _asked(request: Request) -> tuple[str, str]:
    """The command and the recipe (empty: the one of its model) that a request is about. Raises Refused."""
    kind = request.headers.get("content-type", TEXT_KIND).partition(";")[0].strip().lower()
    if kind not in (TEXT_KIND, JSON):
        raise Refused(415, f"the body is {kind[:100]}; send the command as {TEXT_KIND}, or as {JSON}")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LONGEST:
            raise Refused(413, f"the body is longer than {LONGEST} bytes; send the command alone")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Refused(400, f"byte {error.start} of the body is not UTF-8") from error
    if kind == TEXT_KIND:
        return text, request.query_params.get("recipe", "")
    try:
        asked = json.loads(text)
    except (ValueError, RecursionError):
        asked = None
    recipe = asked.get("recipe", "") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or not isinstance(asked.get("command"), str) or not isinstance(recipe, str):
        raise Refused(400, 'the body is an object {"command": "vllm serve …", "recipe": "org/repo, if you like"}')
    return asked["command"], recipe


def _refusal(status: int, detail: str, closest: Sequence[str] = ()) -> Response:
    """An error in the form that every machine address has."""
    return _json({"error": told(status, detail, closest)}, status)


def _json(value: object, status: int = 200) -> Response:
    headers = {**FRESH, OPEN[0]: OPEN[1]}
    return Response(dump(value), status_code=status, media_type=JSON, headers=headers)
