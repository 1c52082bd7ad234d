"""Writing a site to a folder, so that a reader never sees half of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from site_builder.errors import OutputError

#: Marks a folder as written by this program, so that another folder is never emptied by mistake.
MARKER = ".site-builder"


@dataclass(frozen=True)
class Written:
    """What a build changed. ``unchanged`` files were left alone."""

    written: int
    removed: int
    unchanged: int


def publish(folder: Path, files: Mapping[str, bytes]) -> Written:
    """Make the folder hold exactly these files (path under the folder → content).

    Nothing is touched when nothing changed. Otherwise the whole site is put together beside the folder, with links to
    the files
    that stay, and takes its place at once. Raises OutputError where that is not possible; the old site then stays.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OutputError(f"{folder} is not a folder; give another place with --out")
    files = {**files, MARKER: b"The contents of this folder are written by site_builder; changes are lost.\n"}
    try:
        present = set(_present(folder))
        if present and MARKER not in present:
            raise OutputError(
                f"{folder} holds files that site_builder did not write; empty it or give another folder with --out"
            )
        changed = [path for path, content in files.items() if path not in present or not _same(folder / path, content)]
        removed = present - files.keys()
        if changed or removed:
            _replace(folder, files, set(changed))
    except OSError as error:
        raise OutputError(
            f"cannot write {error.filename or folder}: {error.strerror or error}; the site there is as it was"
        ) from error
    return Written(len(changed), len(removed), len(files) - len(changed))


def _present(folder: Path) -> Iterable[str]:
    for path in folder.rglob("*") if folder.is_dir() else ():
        if path.is_file() or path.is_symlink():
            yield path.relative_to(folder).as_posix()


def _same(path: Path, content: bytes) -> bool:
    return not path.is_symlink() and path.stat().st_size == len(content) and path.read_bytes() == content


def _replace(folder: Path, files: Mapping[str, bytes], changed: set[str]) -> None:
    """Build the new folder beside the old one, then swap them.

    A crash leaves the old or the new site, never a mixture.
    """
    staging, old = (folder.with_name(f".{folder.name}.{word}-{os.getpid()}") for word in ("new", "old"))
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        for path, content in files.items():
            target = staging / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if path in changed:
                target.write_bytes(content)
            else:
                _keep(folder / path, target)
        if folder.exists():
            folder.rename(old)
        staging.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _keep(source: Path, target: Path) -> None:
    """The same file in the new folder: linked, or copied where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
