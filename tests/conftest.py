"""What several tests share: where things are, one browser, the small catalog, the corpus."""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from site_builder.collection import Collection, open_collection

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The shared folder of real recipes."""
    folder = Path(os.environ.get("RECIPES_CORPUS", ROOT.parent / "shared" / "corpus"))
    if not (folder / "content").is_dir():
        pytest.skip("the shared corpus is not here")
    return folder


@pytest.fixture(scope="session")
def corpus_collection(corpus: Path) -> Collection:
    return open_collection(corpus / "content")


@pytest.fixture(scope="session")
def own_collection() -> Collection:
    """The content that this project ships."""
    return open_collection(ROOT / "content")


@pytest.fixture(scope="session")
def small() -> Collection:
    """The small catalog made for tests."""
    return open_collection(ROOT / "tests" / "content")


@functools.lru_cache
def browser_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("browser_script", ROOT / "scripts" / "browser.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests."""
    playwright = pytest.importorskip("playwright.sync_api")
    script = browser_script()
    path = script.find()
    assert path, "no Chromium: run scripts/setup test"
    with playwright.sync_playwright() as runner:
        chromium = runner.chromium.launch(executable_path=path, args=list(script.ARGUMENTS))
        yield chromium
        chromium.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def files_address() -> Iterator[str]:
    """The project's own files over HTTP, for modules that a browser imports."""
    handler = functools.partial(Quiet, directory=str(ROOT))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
