"""What the server counts, for Prometheus; and its access log."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, MutableMapping
from functools import lru_cache
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

#: Where several workers keep their counts, so that each can tell those of all.
SHARED = "PROMETHEUS_MULTIPROC_DIR"
#: Every other suffix counts as one kind: a client must not be able to make new ones.
KINDS = ("page", "json", "md", "sh", "yaml", "env", "css", "js", "svg", "png", "xml", "txt", "webmanifest")
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1)


class Metrics:
    """Counts of one process; with several workers, ``text`` adds up those of all."""

    def __init__(self) -> None:
        self.shared = os.environ.get(SHARED)
        self.registry = CollectorRegistry()
        self.requests = Counter("site_requests", "Requests answered", ["kind", "status"], registry=self._own_registry())
        self.seconds = Histogram(
            "site_answer_seconds", "Seconds from request to answer", buckets=SECONDS, registry=self._own_registry()
        )
        self.recipes = Gauge(
            "site_recipes", "Recipes that are served", multiprocess_mode="livemax", registry=self._own_registry()
        )
        self.reloads = Counter(
            "site_reloads", "Times that the content was read anew", ["result"], registry=self._own_registry()
        )
        self.cache_bytes = Gauge(
            "site_cache_bytes", "Bytes of kept answers", multiprocess_mode="livesum", registry=self._own_registry()
        )
        self.child = lru_cache(maxsize=256)(self._child)

    def _own_registry(self) -> CollectorRegistry | None:
        """None where the counts lie in shared files: then the collector of those files is the registry."""
        return None if self.shared else self.registry

    def _child(self, kind: str, status: int) -> Counter:
        return self.requests.labels(kind if kind in KINDS else "other", str(status))

    def count(self, kind: str, status: int, seconds: float) -> None:
        self.child(kind, status).inc()
        self.seconds.observe(seconds)

    def text(self) -> bytes:
        """All counts in the text format of Prometheus."""
        if not self.shared:
            return bytes(generate_latest(self.registry))
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry))


Entry = tuple[MutableMapping[str, Any], int, float]


def access_log(form: str, stream: TextIO | None = None) -> Callable[[Entry], None] | None:
    """A writer of one line a request (its scope, status, seconds): ``text`` or ``json``; None for ``off``."""
    write = {"text": _text_line, "json": _json_line}.get(form)
    if write is None:
        return None
    out = stream or sys.stderr

    def log(entry: Entry) -> None:
        # One write a line: lines of several workers do not mix.
        out.write(write(entry) + "\n")

    return log


def _parts(scope: MutableMapping[str, Any]) -> tuple[str, str, str]:
    """Client, method and target. What a client sent is escaped, so that it cannot forge a line."""
    query = scope["query_string"].decode("latin-1")
    target = scope.get("raw_path", b"").decode("latin-1") or scope["path"]
    client = scope.get("client") or ("-", 0)
    return str(client[0]), scope["method"], target + (f"?{query}" if query else "")


def _text_line(entry: Entry) -> str:
    scope, status, seconds = entry
    client, method, target = _parts(scope)
    asked = json.dumps(f"{method} {target}")
    return f"{_now()} {client} {asked} {status} {seconds * 1000:.1f}ms"


def _json_line(entry: Entry) -> str:
    scope, status, seconds = entry
    client, method, target = _parts(scope)
    agent = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"user-agent"), "")
    line = {"time": _now(), "client": client, "method": method, "target": target, "status": status}
    return json.dumps({**line, "ms": round(seconds * 1000, 1), "agent": agent})


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
