"""The files of a built folder, found in WhiteNoise's table: with the compressed forms that lie beside them."""

from __future__ import annotations

from pathlib import Path

from whitenoise import WhiteNoise  # type: ignore[import-untyped]

from site_builder.errors import SiteError
from site_builder.output import MARKER
from site_builder.prepared import Prepared

#: Media types that differ from WhiteNoise's own.
MEDIA_TYPES = {".md": "text/markdown", ".sh": "text/x-shellscript", ".webmanifest": "application/manifest+json"}


class Files:
    """A folder as it was when it was opened: WhiteNoise lists it, so no request is a path on the disk.

    WhiteNoise itself answers by WSGI, overwrites ``Vary``, has one tag by time for all encodings and takes ``br;q=0``
    for a yes: only its table is used. Raises SiteError for a folder that no build wrote.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / MARKER).is_file():
            raise SiteError(f"{folder} is not a built site; write one with: python build.py build --out {folder}")
        self.table = WhiteNoise(None, root=str(folder), mimetypes=MEDIA_TYPES).files

    def find(self, path: str) -> Prepared | None:
        """The file of an address without its first slash, read; None where there is none.

        A page is the index of its folder. Headers beside those of the content are the caller's to add.
        """
        found = self.table.get(f"/{path}") or self.table.get(f"/{path}/index.html".replace("//", "/"))
        if found is None or path.startswith(".") or "/." in path:
            return None
        contents = {dict(headers).get("Content-Encoding", ""): Path(file) for _, file, headers in found.alternatives}
        headers = dict(found.alternatives[0][2])
        packed = {encoding: file.read_bytes() for encoding, file in contents.items() if encoding}
        media_type = headers["Content-Type"].replace('charset="utf-8"', "charset=utf-8")
        return Prepared(contents[""].read_bytes(), media_type, packed=packed)
