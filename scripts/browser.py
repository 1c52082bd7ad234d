"""Find a Chromium for the tests, or install one. Run as a script: prints its path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
#: A test browser asks nothing of any host. Without a sandbox it runs as root, too, as it must in containers.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> str | None:
    """The path of an installed Chromium; None where there is none."""
    return next(_candidates(), None)


def _candidates() -> Iterator[str]:
    for name in (os.environ.get("CHROMIUM", ""), *NAMES):
        found = shutil.which(name) if name else None
        if found:
            yield found
    yield from (path for path in APPLICATIONS if Path(path).exists())
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:  # only the tools of the tests bring it
        return
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    if Path(path).exists():
        yield path


def install() -> None:
    """Install a Chromium: Playwright's, else the system's."""
    playwright = [sys.executable, "-m", "playwright", "install", "chromium"]
    attempts = [playwright]
    if sys.platform == "linux" and os.geteuid() == 0:
        attempts.insert(0, [*playwright, "--with-deps"])
        if shutil.which("apt-get"):
            attempts += [["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "chromium"]]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in attempts:
        print(f"setup: trying {' '.join(command[-4:])}", file=sys.stderr)
        subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment)
        if find():
            return


if __name__ == "__main__":
    if not find():
        print("setup: no Chromium is installed; installing one for the browser tests", file=sys.stderr)
        install()
    path = find()
    if path is None:
        sys.exit("setup: no Chromium could be installed; install one and name it with CHROMIUM=/path/to/chromium")
    print(f"setup: browser tests use {path}")
