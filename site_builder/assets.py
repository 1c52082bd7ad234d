"""Static files under one address that changes with their content, so that they can be cached for ever."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rjsmin import jsmin  # type: ignore[import-untyped]

#: The folder of the project that holds content, themes and static files.
ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = (".css", ".js", ".svg", ".png", ".ico", ".woff2", ".webmanifest")


@dataclass(frozen=True)
class Assets:
    """Files by address (``assets/<hash>/css/site.css``).

    One hash for all: modules then import each other by relative paths.
    """

    prefix: str
    files: Mapping[str, bytes]

    def address(self, name: str) -> str:
        """The address of a file in ``static/``. Raises KeyError for a name that is not there."""
        address = f"{self.prefix}/{name}"
        if address not in self.files:
            raise KeyError(name)
        return address


def load_assets(*folders: Path) -> Assets:
    """The static files of the folders; a later folder overlays an earlier one file by file."""
    contents: dict[str, bytes] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and path.suffix in SUFFIXES:
                contents[path.relative_to(folder).as_posix()] = _read(path)
    sheets = sorted(name for name in contents if name.endswith(".css"))
    if sheets:
        # One sheet is one request; the parts stay apart for their readers, and a theme overlays them one by one.
        contents["css/site.css"] = b"".join(contents.pop(name) for name in sheets)
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(f"{name}\0{len(contents[name])}\0".encode() + contents[name])
    prefix = f"assets/{digest.hexdigest()[:12]}"
    return Assets(prefix, {f"{prefix}/{name}": contents[name] for name in sorted(contents)})


def _read(path: Path) -> bytes:
    """A file as it is sent: scripts without the comments and spaces that are for their readers."""
    content = path.read_bytes()
    return jsmin(content.decode()).encode() if path.suffix == ".js" else content
