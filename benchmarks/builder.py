"""How long a choice in the builder takes: from the click to the end of the frame that shows it.

    python -m benchmarks.builder [--content DIR] [--slowdown 4] [RECIPE …]

Serves the content, opens each recipe (the one with the largest plan when none is named) in Chromium and makes every
open choice of every row, each from the page's default. A choice starts at the begin of a frame and ends after that
frame's layout and paint on the main thread; an untouched frame is measured the same way in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.lighthouse import chromium, serving
from site_builder.assets import ROOT
from site_builder.collection import open_collection

FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
#: In the page: milliseconds from the start of ``work`` to the end of the frame that paints it.
FRAME = """
const frame = (work) => new Promise((done) => requestAnimationFrame(() => {
  const start = performance.now();
  work();
  const script = performance.now() - start;
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => done([performance.now() - start, script]);
  port2.postMessage(0);
}));
const rest = () => new Promise((done) => setTimeout(done, 120));
"""


def choices(page: Page, times: int) -> dict[str, list[list[float]]]:
    """Frame and script times in ms of every open choice, by ``axis=value``, and of nothing under ``""``."""
    return dict(
        page.evaluate(
            f"""async (times) => {{ {FRAME}
            const found = {{"": []}};
            const names = [...document.querySelectorAll("a[data-axis]")].filter((option) =>
              option.offsetParent && !option.closest(".ways") && option.getAttribute("aria-disabled") !== "true"
              && !option.classList.contains("selected")).map((option) => [option.dataset.axis, option.dataset.value]);
            for (let time = 0; time < times; time += 1) {{
              found[""].push(await frame(() => {{}}));
              for (const [axis, value] of names) {{
                const find = () => [...document.querySelectorAll(`a[data-axis="${{axis}}"]`)].find((option) =>
                  option.dataset.value === value);
                const option = find();
                if (!option.offsetParent) continue;
                await rest();
                (found[`${{axis}}=${{value}}`] ??= []).push(await frame(() => option.click()));
                await rest();
                document.getElementById("reset").click();
                await rest();
              }}
            }}
            return found; }}""",
            times,
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a choice in the builder.")
    parser.add_argument("--content", type=Path, default=ROOT / "content")
    parser.add_argument("--slowdown", type=float, default=4)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("recipes", nargs="*")
    options = parser.parse_args()
    collection = open_collection(options.content)
    heaviest = max(collection.plans, key=lambda name: len(json.dumps(collection.plans[name])))
    with serving(collection) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for recipe in options.recipes or [heaviest]:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(f"{base}/{recipe}")
            page.wait_for_selector("html[data-ready]")
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": options.slowdown})
            _report(recipe, options.slowdown, choices(page, options.times))
            page.close()
        browser.close()


def _report(recipe: str, slowdown: float, found: dict[str, Any]) -> None:
    empty = statistics.median(frame for frame, _ in found.pop(""))
    medians = {name: statistics.median(frame for frame, _ in times) for name, times in found.items()}
    scripts = {name: statistics.median(script for _, script in times) for name, times in found.items()}
    slowest = max(medians, key=lambda name: medians[name])
    print(
        f"{recipe} at {slowdown:g}x: {len(medians)} choices, median {statistics.median(medians.values()):.1f} ms"
        f" (script {statistics.median(scripts.values()):.1f} ms), slowest {medians[slowest]:.1f} ms ({slowest}),"
        f" an untouched frame {empty:.1f} ms"
    )


if __name__ == "__main__":
    main()
