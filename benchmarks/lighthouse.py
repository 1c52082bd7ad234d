"""Lighthouse on mobile settings for home and a recipe page. Needs node and its package ``lighthouse``, and Chromium.

    python -m benchmarks.lighthouse [--content DIR] [PATH …]

Serves the content, runs Lighthouse on each path (``/`` and the first recipe when none is named), prints the scores.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from site_builder.assets import ROOT
from site_builder.collection import Collection, open_collection
from site_builder.live import Live
from site_builder.metrics import Metrics
from site_builder.render.as_html import Theme
from site_builder.running import Options, application, listen
from site_builder.site import SiteContext
from site_builder.urls import Addresses

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")


def chromium() -> str:
    spec = importlib.util.spec_from_file_location("browser_script", ROOT / "scripts" / "browser.py")
    if spec is None or spec.loader is None:
        sys.exit("lighthouse: scripts/browser.py is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.find())


def main() -> None:
    parser = argparse.ArgumentParser(description="Lighthouse scores, mobile.")
    parser.add_argument("--content", type=Path, default=ROOT / "content")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    npx = shutil.which("npx")
    if npx is None:
        sys.exit("lighthouse: node with npx is needed for this measurement")
    collection = open_collection(options.content)
    with serving(collection) as base:
        _measure(npx, base, options.paths or ["/", f"/{next(iter(collection.plans))}"])


@contextmanager
def serving(collection: Collection) -> Iterator[str]:
    """The address of a server of the collection, without a slash at its end."""
    site = SiteContext(collection, Addresses(), Theme())
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(
            application(Options("", ""), Live(lambda: site, Metrics())), log_level="warning", access_log=False
        )
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=10)


def _measure(npx: str, base: str, paths: Sequence[str]) -> None:
    flags = "--headless=new --no-sandbox --disable-background-networking --disable-component-update --disable-sync"
    for path in paths:
        command = [npx, "--yes", "lighthouse", base + path, "--output=json", "--quiet", f"--chrome-flags={flags}"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "CHROME_PATH": chromium()}
        )
        if done.returncode:
            sys.exit(f"lighthouse: it failed on {path}: {done.stderr.strip()[-300:]}")
        report = json.loads(done.stdout)
        scores = [f"{name} {round(report['categories'][name]['score'] * 100)}" for name in CATEGORIES]
        print(f"{path}: {', '.join(scores)}")
        for audit in report["audits"].values():
            if (
                audit.get("score") is not None
                and audit["score"] < 1
                and audit.get("scoreDisplayMode") in ("binary", "metricSavings")
            ):
                print(f"  {audit['id']}: {audit.get('displayValue', audit['title'])}")


if __name__ == "__main__":
    main()
