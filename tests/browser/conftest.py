"""Sites for browser tests: one served, one built and published under a path by a plain file server."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from site_builder.build import build
from site_builder.collection import Collection
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.conftest import Quiet
from tests.helpers import running


@pytest.fixture(scope="session")
def site(small: Collection) -> Iterator[str]:
    """The small catalog, served; the address without a slash at its end."""
    with running(SiteContext(small, Addresses(), Theme())) as client:
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="session")
def files(small: Collection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The small catalog, built and published under ``/recipes`` by a server that knows nothing of queries."""
    folder = tmp_path_factory.mktemp("host")
    build(SiteContext(small, Addresses("http://127.0.0.1/recipes", "hardware"), Theme()), folder / "recipes")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/recipes"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A new page; a message on its console fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on(
        "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []
