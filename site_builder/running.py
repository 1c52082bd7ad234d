"""Running the server: uvicorn, and taking up changes while it runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import uvicorn
from watchfiles import watch

from site_builder.errors import ContentError, SiteError
from site_builder.pages import SiteContext
from site_builder.serve import application


def run_server(load: Callable[[], SiteContext], address: tuple[str, int], watched: Sequence[Path]) -> None:
    """Serve until interrupted. With ``watched`` folders, a change loads the site anew; a broken change keeps the last
    good one.

    Raises SiteError where the port cannot be had.
    """
    current = [load()]
    stop = threading.Event()
    if watched:
        threading.Thread(target=_reload, args=(load, current, (watched, stop)), daemon=True).start()
    host, port = address
    listener = listen(host, port)
    place = f"http://{host}:{listener.getsockname()[1]}{current[0].addresses.path}/"
    click.echo(f"serving {len(current[0].collection.plans)} recipes at {place} (stop with Ctrl-C)", err=True)
    config = uvicorn.Config(application(lambda: current[0]), log_level="warning", access_log=False, server_header=False)
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        stop.set()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
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


def _reload(
    load: Callable[[], SiteContext], current: list[SiteContext], watching: tuple[Sequence[Path], threading.Event]
) -> None:
    folders, stop = watching
    for _ in watch(*[folder for folder in folders if folder.exists()], stop_event=stop):
        try:
            current[0] = load()
            click.echo(f"reloaded: {len(current[0].collection.plans)} recipes", err=True)
        except ContentError as error:
            click.echo(f"the change cannot be used, the last good site stays:\n{error}", err=True)
