"""What the server answers besides the table of pages: its own state, commands to explain, and agents that speak MCP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from site_builder.agents import OPEN_TO_ALL, agent_server
from site_builder.live import Live
from site_builder.pages import JSON
from site_builder.render.as_json import dump
from site_builder.serve import NOSNIFF, OPEN

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

    routes = [Route("/healthz", health), Route("/metrics", metrics), *mcp.routes]
    return Starlette(routes=routes, lifespan=life, exception_handlers={HTTPException: _refused})


async def _refused(_: Request, error: Exception) -> Response:
    """Another method or address, as an error of the same form as everywhere."""
    assert isinstance(error, HTTPException)
    status = error.status_code
    told = {"status": status, "title": error.detail, "detail": "see openapi.json for what is here", "did_you_mean": []}
    response = _json({"error": told}, status)
    response.headers.update(error.headers or {})
    return response


def _json(value: object, status: int = 200) -> Response:
    headers = {**FRESH, OPEN[0]: OPEN[1]}
    return Response(dump(value), status_code=status, media_type=JSON, headers=headers)
