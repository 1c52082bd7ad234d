"""Compressed forms of files, for hosts that send ``name.br`` or ``name.gz`` in place of ``name``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

from whitenoise.compress import Compressor  # type: ignore[import-untyped]

#: A form that saves less than a twentieth is left out.
WORTH = 0.95
_PACK: Mapping[str, Callable[[bytes], bytes]] = {".br": Compressor.compress_brotli, ".gz": Compressor.compress_gzip}
_KINDS = Compressor(quiet=True)


def packed(files: Mapping[str, bytes], folder: Path) -> dict[str, bytes]:
    """The compressed forms that are worth it, by name. Those of a file that ``folder`` holds unchanged come from there.

    Both libraries let other threads go on while they work, so all processors are used.
    """
    wanted = {name: content for name, content in files.items() if content and _KINDS.should_compress(name)}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(chain.from_iterable(pool.map(lambda name: _forms(name, wanted[name], folder), wanted)))


def _forms(name: str, content: bytes, folder: Path) -> list[tuple[str, bytes]]:
    known = folder / name
    kept = [(name + suffix, folder / (name + suffix)) for suffix in _PACK if (folder / (name + suffix)).is_file()]
    if kept and known.is_file() and known.read_bytes() == content:
        return [(form, path.read_bytes()) for form, path in kept]
    made = [(name + suffix, pack(content)) for suffix, pack in _PACK.items()]
    return [(form, data) for form, data in made if len(data) <= WORTH * len(content)]
