"""Reading YAML files into documents that know the line of every key.

The data is built from parser events in one pass. That bounds depth and size before anything is built (a hostile file
can neither overflow a stack nor expand aliases for ever), finds duplicate keys, and keeps scalars as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from site_builder.errors import ContentError, Problem
from site_builder.schema.base import KeyPath

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 50
#: Values after aliases are followed; a file that says more than this by repeating itself is refused.
MAX_NODES = 200_000
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ACCEPTED = re.compile(r"#\s*accepted: \S")
_TAG_PREFIX = "tag:yaml.org,2002:"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Document:
    """One YAML file.

    ``path`` is relative to the content folder; ``lines`` has the line (from 1) of every key and list item.
    ``accepted`` are the lines that end in a comment ``# accepted: <reason>``: their author knows of the warning there.
    """

    path: str
    data: Any
    lines: Mapping[KeyPath, int]
    accepted: frozenset[int] = frozenset()

    def line(self, path: KeyPath) -> int:
        """The line of a key or item, or of the closest one above it; 0 for the file as a whole."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0

    def text_line(self, path: KeyPath) -> int:
        """The line on which the text of a block scalar (``guide: |``) starts."""
        return self.line(path) + 1


def read(folder: Path, path: str) -> Document:
    """Read one file. Raises ContentError with every problem that keeps it from being a document."""
    text = _text(folder, path)
    builder = _Builder(path)
    try:
        data = builder.document(iter(yaml.parse(text, Loader=_Loader)))
    except yaml.YAMLError as error:
        raise ContentError([_syntax_problem(path, text, error)]) from error
    if builder.problems:
        raise ContentError(builder.problems)
    if data is None:
        raise ContentError([Problem(path, 0, "the file is empty; write the recipe's keys, or remove the file")])
    if not isinstance(data, dict):
        kind = "a list" if isinstance(data, list) else "a single value"
        raise ContentError(
            [Problem(path, 1, f"the file holds {kind}, but keys with values are expected at its top level")]
        )
    accepted = {number for number, line in enumerate(text.splitlines(), start=1) if _ACCEPTED.search(line)}
    return Document(path, data, builder.lines, frozenset(accepted))


def _text(folder: Path, path: str) -> str:
    place = folder / path
    try:
        if not place.resolve().is_relative_to(folder.resolve()):
            raise ContentError(
                [Problem(path, 0, "it is a link that leaves the content folder; put the file itself here")]
            )
        size = place.stat().st_size
        if size > MAX_BYTES:
            raise ContentError(
                [Problem(path, 0, f"it has {size:,} bytes, more than the {MAX_BYTES:,} that are read; split it")]
            )
        raw = place.read_bytes()
    except OSError as error:
        raise ContentError(
            [Problem(path, 0, f"it cannot be read ({(error.strerror or str(error)).lower()})")]
        ) from error
    except RuntimeError as error:  # Python 3.11 and 3.12 raise this for a link that leads to itself
        raise ContentError([Problem(path, 0, "it is a link that leads to itself; put the file itself here")]) from error
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ContentError([Problem(path, 0, "it is encoded as UTF-16; save it as UTF-8")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ContentError([Problem(path, line, "it is not UTF-8 from here on; save it as UTF-8")]) from error
    found = _CONTROL.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise ContentError([Problem(path, line, f"there is a control character (code {ord(found[0])}); remove it")])
    return text


def _syntax_problem(path: str, text: str, error: yaml.YAMLError) -> Problem:
    """What the parser could not read, as one sentence with its line."""
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark else 0
    lines = text.splitlines()
    written = lines[line - 1] if 0 < line <= len(lines) else ""
    if "\t" in written[: len(written) - len(written.lstrip())] or "'\\t'" in str(error):
        return Problem(path, line, "a tab is used for indentation; YAML takes spaces only")
    reason = " ".join(str(getattr(error, "problem", None) or error).split())
    return Problem(
        path, line, f"this is not YAML: {reason}; check quotes, colons and indentation here and on the line before"
    )


class _Builder:
    """Builds the data of one document from events and collects lines and problems on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = 0

    def document(self, events: Iterator[Any]) -> Any:
        value = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._refuse(event, "a second document starts here; one file holds one document")
            elif isinstance(event, yaml.NodeEvent):
                value = self._value(event, events, ())
        return value

    def _refuse(self, event: Any, message: str) -> None:
        """A problem after which reading on makes no sense."""
        raise ContentError([*self.problems, Problem(self.path, event.start_mark.line + 1, message)])

    def _value(self, event: Any, events: Iterator[Any], path: KeyPath) -> Any:
        if len(path) > MAX_DEPTH:
            self._refuse(event, f"it is nested more than {MAX_DEPTH} levels deep; make it flatter")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self.nodes
        self._count(event, 1)
        tag = event.tag
        if (
            tag
            and tag != "!"
            and not (
                tag.startswith(_TAG_PREFIX)
                and tag[len(_TAG_PREFIX) :] in ("str", "map", "seq", "int", "float", "bool", "null")
            )
        ):
            self._refuse(event, f'the tag "{tag.replace(_TAG_PREFIX, "!!")}" is not allowed; write plain values')
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if tag or event.style else plain_scalar(event.value)
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(events, path)
        else:
            value = self._sequence(events, path)
        if event.anchor:
            self.anchors[event.anchor] = (value, self.nodes - before)
        return value

    def _count(self, event: Any, number: int) -> None:
        self.nodes += number
        if self.nodes > MAX_NODES:
            self._refuse(event, f"it expands to more than {MAX_NODES:,} values; use fewer aliases")

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            self._refuse(event, f'the alias "*{event.anchor}" has no anchor before it')
        value, size = self.anchors[event.anchor]
        self._count(event, size)
        return value

    def _mapping(self, events: Iterator[Any], path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = event.start_mark.line + 1
            key = self._value(event, events, path)
            if not isinstance(key, str):
                self.problems.append(Problem(self.path, line, f'the key "{key}" is not text; put it in quotes'))
                key = str(key)
            if key == "<<":
                self._refuse(event, 'merge keys ("<<") are not understood; write the keys out')
            place = (*path, key)
            if key in data:
                message = f'the key "{key}" stands here again, first on line {self.lines[place]}; keep one of them'
                self.problems.append(Problem(self.path, line, message))
            else:
                self.lines[place] = line
            data[key] = self._value(next(events), events, place)
        return data

    def _sequence(self, events: Iterator[Any], path: KeyPath) -> list[Any]:
        items: list[Any] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            place = (*path, len(items))
            self.lines[place] = event.start_mark.line + 1
            items.append(self._value(event, events, place))
        return items


def plain_scalar(text: str) -> Any:
    """An unquoted value: null, a truth value or a number only where that is how one writes it, else the text.

    ``1.10``, ``010``, ``1e5``, ``on`` and dates stay text, so nothing that an author wrote changes its spelling.
    """
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if text[-1].isdigit() and len(text) < 40:
        for kind in (int, float):
            try:
                number = kind(text)
            except ValueError:
                continue
            if str(number) == text:
                return number
    return text
