"""Requests per second against an application that answers constant bytes of the same size, with wrk.

    python -m benchmarks.load [--content DIR] [--distinct N] [--seconds S]

Serves the content by ``build.py serve`` in a process of its own, and asks for the JSON of recipes that were asked
before, then for ``--distinct`` configurations of which no two are the same; each beside the constant bytes in the same
run. Prints ratios, the slowest hundredth of answers under load, and the memory of the server (MB) as distinct queries
go by. Writes ``benchmarks/results/load.json``. Needs ``wrk``; memory is read where the system has ``/proc``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.queries import distinct_queries
from site_builder.assets import ROOT
from site_builder.collection import open_collection
from site_builder.running import listen

CONNECTIONS = 32
#: How many different recipes the cached requests go round.
POPULAR = 50
#: In how many parts the distinct queries are asked; memory is read after each.
PARTS = 4
SCRIPT = """
local paths, at = {}, 0
for line in io.lines(os.getenv("PATHS")) do paths[#paths + 1] = line end
wrk.headers["Accept-Encoding"] = os.getenv("ENCODING")
request = function()
  at = at + 1
  return wrk.format("GET", paths[(at - 1) % #paths + 1])
end
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format('\\n{"requests":%d,"us":%d,"bytes":%d,"bad":%d,"p50":%f,"p99":%f}\\n', summary.requests,
    summary.duration, summary.bytes, errors.status + errors.connect + errors.read + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""


@contextmanager
def process(*command: str) -> Iterator[tuple[str, int]]:
    """The address and process id of a server that a command starts on a free port, which is its last argument."""
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    server = subprocess.Popen([sys.executable, *command, str(port)], cwd=ROOT, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            time.sleep(0.1)
            try:
                urllib.request.urlopen(f"{address}/healthz").close()
                break
            except OSError:
                if server.poll() is not None:
                    sys.exit(f"load: {' '.join(command)} stopped with status {server.returncode}")
        yield address, server.pid
    finally:
        server.terminate()
        server.wait()


def ask(address: str, paths: list[str], seconds: float, encoding: str = "identity") -> Any:
    """What wrk counts: every path in turn for some seconds."""
    with tempfile.TemporaryDirectory() as folder:
        script, listed = Path(folder) / "paths.lua", Path(folder) / "paths.txt"
        script.write_text(SCRIPT, encoding="utf-8")
        listed.write_text("\n".join(paths) + "\n", encoding="utf-8")
        environment = {**os.environ, "PATHS": str(listed), "ENCODING": encoding}
        shape = ["-t1", f"-c{CONNECTIONS}", f"-d{max(round(seconds), 1)}s", "--timeout", "30s"]
        done = subprocess.run(
            ["wrk", *shape, "-s", str(script), address], env=environment, capture_output=True, text=True, check=True
        )
    found = json.loads(done.stdout.strip().splitlines()[-1])
    if found["bad"]:
        sys.exit(f"load: {found['bad']} of {found['requests']} requests to {address} failed")
    return {**found, "rate": found["requests"] / found["us"] * 1e6, "size": found["bytes"] // found["requests"]}


def resident(pid: int) -> float:
    """The memory of a process in MB; 0 where the system does not tell."""
    place = Path(f"/proc/{pid}/statm")
    pages = int(place.read_text().split()[1]) if place.exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(content: Path, distinct: int, seconds: float) -> dict[str, Any]:
    collection = open_collection(content)
    chance = random.Random(5)
    print(f"writing {distinct:,} distinct queries …", file=sys.stderr)
    fresh = distinct_queries(collection, round(distinct * 1.2), chance)
    popular = [f"/{name}.json" for name in chance.sample(list(collection.plans), min(POPULAR, len(collection.plans)))]
    found: dict[str, Any] = {"memory": []}
    ours = process("build.py", "serve", "--content", str(content), "--access-log", "off", "--port")
    with ours as (address, pid), process("-m", "benchmarks.constant") as (plain, _):

        def beside(paths: list[str], length: float, encoding: str = "identity") -> Any:
            """Both in the same moments: what else the machine does is the same for both."""
            one = ask(address, paths, length, encoding)
            return {**one, "constant": ask(plain, [f"/{one['size']}"], seconds)}

        for encoding in ("identity", "br"):
            ask(address, popular, 1, encoding)
            print(f"asking what is cached ({encoding}) …", file=sys.stderr)
            found[f"cached {encoding}"] = beside(popular, seconds, encoding)
        found["memory"].append([0, resident(pid)])
        asked = 0
        for part in range(1, PARTS + 1):
            print(f"asking what was never asked, part {part} of {PARTS} …", file=sys.stderr)
            length = seconds if part == 1 else (distinct * part / PARTS - asked) / found["never seen 1"]["rate"]
            found[f"never seen {part}"] = beside(fresh[asked:], length)
            asked += found[f"never seen {part}"]["requests"] + CONNECTIONS
            found["memory"].append([asked, resident(pid)])
            if asked > len(fresh):
                sys.exit("load: some queries were asked twice; give more by --distinct")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Load, relative to constant bytes.")
    parser.add_argument("--content", type=Path, default=ROOT / "content")
    parser.add_argument("--distinct", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("load: wrk is needed for this measurement")
    found = measure(options.content, options.distinct, options.seconds)
    print(f"{'requests':18} {'of constant':>12} {'per second':>12} {'bytes':>8} {'p99 ms':>8} {'constant p99':>13}")
    for name, one in found.items():
        if name != "memory":
            base = one["constant"]
            figures = f"{one['rate'] / base['rate']:12.2f} {one['rate']:12,.0f} {one['size']:8,}"
            print(f"{name:18} {figures} {one['p99'] / 1e3:8.1f} {base['p99'] / 1e3:13.1f}")
    for count, size in found["memory"]:
        print(f"memory after {count:7,} distinct queries: {size:,.0f} MB")
    target = Path(__file__).parent / "results" / "load.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"content": options.content.name, **found}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
