"""Reading YAML files into documents that know the line of every key.

The data is built from parser events in one pass. That bounds depth and size before anything is built (a hostile file
can neither overflow a stack nor expand aliases for ever), finds duplicate keys, and keeps scalars as they were written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml

from site_builder.errors import ContentError, Problem
from site_builder.schema.base import KeyPath

MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 50
#: Values after aliases are followed; a file that says more than this by repeating itself is refused.
MAX_NODES = 200_000
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_ACCEPTED = re.compile(r"#\s*accepted: \S")
_TAG_PREFIX = "tag:yaml.org,2002:"
#: Tags that change nothing here; a tagged scalar is text.
_TAGS = frozenset({"!", *(_TAG_PREFIX + name for name in ("str", "map", "seq", "int", "float", "bool", "null"))})
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Document:
    """One YAML file.

    ``path`` is relative to the content folder; ``lines`` has the line (from 1) of every key and list item, ``texts``
    the line on which the text of a block scalar (``guide: |``) starts.
    ``accepted`` are the lines that end in a comment ``# accepted: <reason>``: their author knows of the warning there.
    """

    path: str
    data: Any
    lines: Mapping[KeyPath, int]
    accepted: frozenset[int] = frozenset()
    texts: Mapping[KeyPath, int] = field(default_factory=dict)

    def line(self, path: KeyPath) -> int:
        """The line of a key or item, or of the closest one above it; 0 for the file as a whole."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 0

    def text_line(self, path: KeyPath) -> int:
        """The line on which the text of a value starts: for ``guide: |`` the one below the key."""
        return self.texts.get(path, self.line(path))


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
    return Document(path, data, builder.lines, frozenset(accepted), builder.texts)


def _text(folder: Path, path: str) -> str:
    place = folder / path
    try:
        if not place.resolve().is_relative_to(folder.resolve()):
            raise ContentError(
                [Problem(path, 0, "it is a link that leaves the content folder; put the file itself here")]
            )
        if place.exists() and not place.is_file():  # a pipe would be waited for without end
            raise ContentError([Problem(path, 0, "it is no regular file; put the file itself here")])
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


@dataclass(frozen=True)
class _Anchored:
    """A value that aliases repeat, with its number of values and of levels."""

    value: Any
    nodes: int
    levels: int


class _Builder:
    """Builds the data of one document from events and collects lines and problems on the way."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self.texts: dict[KeyPath, int] = {}
        self.anchors: dict[str, _Anchored | None] = {}
        self.nodes = 0
        #: The deepest level since the innermost open anchor.
        self.deepest = 0

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

    def _refuse(self, event: Any, message: str) -> NoReturn:
        """A problem after which reading on makes no sense."""
        raise ContentError([*self.problems, Problem(self.path, event.start_mark.line + 1, message)])

    def _value(self, event: Any, events: Iterator[Any], path: KeyPath) -> Any:
        self._descend(event, len(path))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        self._count(event, 1)
        self._check_tag(event)
        if not event.anchor:
            return self._plain_value(event, events, path)
        nodes, outside, self.deepest = self.nodes, self.deepest, len(path)
        self.anchors[event.anchor] = None
        value = self._plain_value(event, events, path)
        self.anchors[event.anchor] = _Anchored(value, self.nodes - nodes + 1, self.deepest - len(path))
        self.deepest = max(self.deepest, outside)
        return value

    def _plain_value(self, event: Any, events: Iterator[Any], path: KeyPath) -> Any:
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(events, path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(events, path)
        if event.style in ("|", ">"):
            self.texts[path] = event.start_mark.line + 2
        found = _CONTROL.search(event.value)  # double quotes can spell one that the file itself does not hold
        if found:
            self._refuse(event, f"there is a control character (code {ord(found[0])}); remove it")
        return event.value if event.tag or event.style else plain_scalar(event.value)

    def _descend(self, event: Any, level: int) -> None:
        self.deepest = max(self.deepest, level)
        if level > MAX_DEPTH:
            self._refuse(event, f"it is nested more than {MAX_DEPTH} levels deep; make it flatter")

    def _count(self, event: Any, number: int) -> None:
        self.nodes += number
        if self.nodes > MAX_NODES:
            self._refuse(event, f"it expands to more than {MAX_NODES:,} values; use fewer aliases")

    def _check_tag(self, event: Any) -> None:
        if event.tag and event.tag not in _TAGS:
            tag = event.tag.replace(_TAG_PREFIX, "!!")
            self._refuse(event, f'the tag "{tag}" is not allowed; write plain values')

    def _alias(self, event: Any, path: KeyPath) -> Any:
        if event.anchor not in self.anchors:
            self._refuse(event, f'the alias "*{event.anchor}" has no anchor before it')
        anchored = self.anchors[event.anchor]
        if anchored is None:
            self._refuse(event, f'the alias "*{event.anchor}" stands inside what it repeats; write the values out')
        self._descend(event, len(path) + anchored.levels)
        self._count(event, anchored.nodes)
        return anchored.value

    def _mapping(self, events: Iterator[Any], path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = event.start_mark.line + 1
            key = self._key(event, events, path)
            place = (*path, key)
            if key in data:
                message = f'the key "{key}" stands here again, first on line {self.lines[place]}; keep one of them'
                self.problems.append(Problem(self.path, line, message))
            else:
                self.lines[place] = line
            data[key] = self._value(next(events), events, place)
        return data

    def _key(self, event: Any, events: Iterator[Any], path: KeyPath) -> str:
        """A key as text. One that is a list or a block is refused unread: it has no spelling to go on with."""
        if isinstance(event, yaml.CollectionStartEvent):
            self._refuse(event, "a key here is a list or a block of keys; write text before the colon")
        key = self._value(event, events, path)
        if key == "<<" and not event.style:
            self._refuse(event, 'merge keys ("<<") are not understood; write the keys out')
        if isinstance(key, str):
            return key
        if isinstance(key, dict | list):
            self._refuse(event, f'the alias "*{event.anchor}" is a key here, but repeats no text; write text')
        written = event.value if isinstance(event, yaml.ScalarEvent) else json.dumps(key)
        message = (
            f'the key "{written}" is not text; put it in quotes' if written else "a key is missing before the colon"
        )
        self.problems.append(Problem(self.path, event.start_mark.line + 1, message))
        return str(written)

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
