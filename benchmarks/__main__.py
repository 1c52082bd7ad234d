"""``make bench``: the quick set. Every figure is relative to working out one answer in the same run.

    python -m benchmarks [--content DIR]

Prints a table, and writes it to ``benchmarks/results/quick.json``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from site_builder.assets import ROOT
from site_builder.build import build
from site_builder.catalog import load
from site_builder.checks import check
from site_builder.collection import compile_all
from site_builder.render import as_json, as_markdown
from site_builder.render.as_html import Theme, recipe_page
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import answer


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The shortest of several runs."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def measure(content: Path) -> dict[str, float]:
    """Seconds for each piece of work on a content folder."""
    files = [path for path in content.rglob("*") if path.is_file()]
    found = {"read the bytes": seconds(lambda: [path.read_bytes() for path in files])}
    found["load the catalog"] = seconds(lambda: load(content))
    catalog = load(content)
    found["compile every plan"] = seconds(lambda: compile_all(catalog))
    collection = compile_all(catalog)
    found["check everything"] = seconds(lambda: check(collection), 1)
    addresses = Addresses()
    first = next(iter(collection.plans))
    view = answer(collection, first, "")
    found["one answer"] = seconds(lambda: answer(collection, first, "").processes, 20)
    found["one answer as JSON"] = seconds(lambda: as_json.render(answer(collection, first, ""), addresses), 20)
    found["one answer as markdown"] = seconds(lambda: as_markdown.render(answer(collection, first, ""), addresses), 20)
    site = SiteContext(collection, addresses, Theme())
    recipe_page(view, site.around)
    found["one page"] = seconds(lambda: recipe_page(answer(collection, first, ""), site.around), 10)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "dist"
        prepared = SiteContext(collection, Addresses("", "hardware"), Theme())
        found["build the site"] = seconds(lambda: build(prepared, out), 1)
        found["build it again"] = seconds(lambda: build(prepared, out), 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the quick set.")
    parser.add_argument("--content", type=Path, default=ROOT / "content")
    options = parser.parse_args()
    found = measure(options.content)
    unit = found["one answer"]
    print(f"{'work':26} {'relative to one answer':>24} {'seconds':>12}")
    for name, value in found.items():
        print(f"{name:26} {value / unit:24,.1f} {value:12.4f}")
    target = Path(__file__).parent / "results" / "quick.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(
        json.dumps({"content": str(options.content.name), "seconds": found}, indent=2) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
