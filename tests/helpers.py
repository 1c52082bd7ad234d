"""Making small content folders for tests."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import uvicorn
import yaml

from site_builder.catalog import Catalog, load
from site_builder.collection import Collection, open_collection
from site_builder.live import Live
from site_builder.metrics import Metrics
from site_builder.running import Options, application, listen
from site_builder.site import SiteContext
from site_builder.views import View, answer

SMALL = Path(__file__).parent / "content"
RECIPE = SMALL / "models" / "acme" / "Big-MoE.yaml"


def content_copy(folder: Path) -> Path:
    """A copy of the small catalog that a test may change."""
    target = folder / "content"
    shutil.copytree(SMALL, target)
    return target


def with_recipe(folder: Path, text: str, name: str = "acme/Test") -> Catalog:
    """The small catalog with one more recipe."""
    content = content_copy(folder)
    path = content / "models" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load(content)


def recipe_text(**changes: Any) -> str:
    """A small valid recipe with some top-level keys replaced (or taken away: None)."""
    recipe: dict[str, Any] = {
        "meta": {"title": "Test", "date_added": "2026-01-01"},
        "model": {"model_id": "acme/Test", "docker_image": "vllm/vllm-openai:v0.26.0"},
        "variants": {"default": {"precision": "bf16", "vram_minimum_gb": 100}},
        "compatible_strategies": ["single_node_tp", "multi_node_tp"],
    }
    recipe.update(changes)
    return yaml.safe_dump({key: value for key, value in recipe.items() if value is not None}, sort_keys=False)


def answered(folder: Path, query: str, **changes: Any) -> View:
    """The answer of a made-up recipe to a query."""
    content = content_copy(folder)
    (content / "models" / "acme" / "Test.yaml").write_text(recipe_text(**changes), encoding="utf-8")
    collection: Collection = open_collection(content)
    assert "acme/Test" in collection.plans, [str(problem) for problem in collection.problems]
    return answer(collection, "acme/Test", query)


def flags(view: View, number: int = 0) -> list[list[str]]:
    """The flags of one command with their values."""
    return view.commands[number]["lines"][1:]


@contextlib.contextmanager
def running(site: SiteContext) -> Iterator[httpx.Client]:
    """A client of the server, over a real socket."""
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(
            application(Options("", ""), Live(lambda: site, Metrics())), log_level="warning", access_log=False
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", follow_redirects=False) as client:
        yield client
    server.should_exit = True
    thread.join(timeout=10)
    listener.close()


def awaited(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine, run beside the browser: Playwright has a loop of its own in the main thread."""
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(asyncio.run, work).result()
