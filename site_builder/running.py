"""Running the server: uvicorn, one process or several, and taking up changes while it runs."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import click
import uvicorn
from uvicorn.supervisors import Multiprocess
from watchfiles import watch

from site_builder.assets import ROOT
from site_builder.collection import open_collection
from site_builder.endpoints import endpoints
from site_builder.errors import SiteError
from site_builder.files import Files
from site_builder.live import Live
from site_builder.metrics import SHARED, Metrics, access_log
from site_builder.render.as_html import Theme
from site_builder.serve import Application, Scope
from site_builder.site import SiteContext
from site_builder.urls import Addresses

#: Seconds that open requests have when the server stops.
GRACE = 10
#: Where a worker process reads its options.
OPTIONS = "SITE_BUILDER_SERVE"


@dataclass(frozen=True)
class Options:
    """How to serve. ``built`` is a built folder whose files are served as they are; empty for none.

    ``root_path`` is the path under which a proxy publishes the site; ``access_log`` is off, text or json.
    """

    content: str
    theme: str
    host: str = "127.0.0.1"
    port: int = 8000
    base_url: str | None = None
    root_path: str = ""
    workers: int = 1
    reload: bool = False
    access_log: str = "off"
    built: str = ""

    def load(self) -> SiteContext:
        """The site as the content is now. Raises SiteError."""
        collection = open_collection(Path(self.content))
        base = collection.catalog.site.base_url if self.base_url is None else self.base_url
        return SiteContext(collection, Addresses(with_path(base, self.root_path)), Theme(Path(self.theme)))


def with_path(base_url: str, root_path: str) -> str:
    """The base under a path. Raises SiteError where the base has another path already."""
    path = "/" + root_path.strip("/") if root_path.strip("/") else ""
    own = Addresses(base_url).path
    if path and own and own != path:
        raise SiteError(f"the base url {base_url} has the path {own}, and --root-path says {path}; give one of them")
    return base_url if own else base_url.rstrip("/") + path


def run_server(options: Options) -> None:
    """Serve until interrupted; open requests are answered first. ``SIGHUP`` reads the content anew.

    Raises SiteError where the site cannot be read or the port cannot be had.
    """
    first = options.load()
    for problem in first.collection.problems:
        click.echo(f"{problem.severity} {problem}", err=True)
    if options.built:
        Files(Path(options.built))
    listener = listen(options.host, options.port)
    place = f"http://{options.host}:{listener.getsockname()[1]}{first.addresses.path}/"
    click.echo(f"serving {len(first.collection.plans)} recipes at {place} (stop with Ctrl-C)", err=True)
    if options.workers == 1:
        once = [first]
        live = Live(lambda: once.pop() if once else options.load(), Metrics())
        _watch(options, live.reload)
        _on_hangup(live)
        uvicorn.Server(uvicorn.Config(application(options, live), **_SETTINGS)).run(sockets=[listener])
        return
    del first
    with tempfile.TemporaryDirectory(prefix="site-metrics-") as shared:
        os.environ |= {SHARED: shared, OPTIONS: json.dumps(asdict(options))}
        config = uvicorn.Config("site_builder.running:worker", factory=True, workers=options.workers, **_SETTINGS)
        supervisor = Workers(config, [listener])
        _watch(options, supervisor.handle_hup)
        supervisor.run()


_SETTINGS: dict[str, Any] = {
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    "timeout_graceful_shutdown": GRACE,
    "timeout_worker_healthcheck": 30,
}


class Workers(Multiprocess):
    """uvicorn's workers, but that a hang-up lets each read the content anew instead of starting again.

    A worker that starts again has no last good site to keep.
    """

    def handle_hup(self) -> None:
        for process in self.processes:
            if process.pid is not None and process.exitcode is None:
                os.kill(process.pid, signal.SIGHUP)


def worker() -> Application:
    """The application of one of several workers, from the options in the environment."""
    options = Options(**json.loads(os.environ[OPTIONS]))
    live = Live(options.load, Metrics())
    _on_hangup(live)
    return application(options, live)


def application(options: Options, live: Live) -> Application:
    """The whole application for these options."""
    log = access_log(options.access_log)
    metrics = live.metrics

    def observe(scope: Scope, kind: str, status: int, seconds: float) -> None:
        metrics.count(kind, status, seconds)
        if log is not None:
            log((scope, status, seconds))

    files = Files(Path(options.built)) if options.built else None
    app = Application(lambda: live.site, endpoints(live), files, observe)
    metrics.cache_bytes.set_function(lambda: app.kept.answers.size) if not metrics.shared else None
    return app


def _on_hangup(live: Live) -> None:
    """Reading takes seconds, so it is done beside the answers."""

    def handle(_: int, __: FrameType | None) -> None:
        threading.Thread(target=live.reload, daemon=True).start()

    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, handle)


def _watch(options: Options, reload: Callable[[], None]) -> None:
    """With ``--reload``, a change of content, theme or static files reloads."""
    if options.reload:
        folders = [Path(options.content), Path(options.theme), ROOT / "static"]
        threading.Thread(target=_watching, args=(folders, reload), daemon=True).start()


def _watching(folders: Sequence[Path], reload: Callable[[], None]) -> None:
    for _ in watch(*[folder for folder in folders if folder.exists()], stop_event=threading.Event()):
        reload()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns off the delay of small packets (Nagle) only where the protocol is named: 40 ms an answer otherwise.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise SiteError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another port with --port"
        ) from error
    return listener
