"""An ASGI application that answers constant bytes, as many as the path says: ``python -m benchmarks.constant PORT``."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from functools import cache
from typing import Any

import uvicorn

from site_builder.running import listen

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


async def constant(scope: MutableMapping[str, Any], _: object, send: Send) -> None:
    if scope["type"] == "http":
        size = scope["path"][1:]
        start, body = answer_of(int(size) if size.isdigit() else 2)
        await send(start)
        await send(body)


@cache
def answer_of(size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(size).encode())]
    start = {"type": "http.response.start", "status": 200, "headers": headers}
    return start, {"type": "http.response.body", "body": b"x" * size}


def main(port: int) -> None:
    config = uvicorn.Config(constant, log_level="warning", access_log=False, server_header=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listen("127.0.0.1", port)])


if __name__ == "__main__":
    main(int(sys.argv[1]))
