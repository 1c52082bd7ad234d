"""An ASGI application that answers constant bytes, for comparison: ``python -m benchmarks.constant SIZE PORT``."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

from site_builder.running import listen

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def main(size: int, port: int) -> None:
    body = b"x" * size
    headers = [(b"content-type", b"application/json"), (b"content-length", str(size).encode())]

    async def constant(scope: MutableMapping[str, Any], _: object, send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(constant, log_level="warning", access_log=False, server_header=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listen("127.0.0.1", port)])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
