"""What pydantic found in a document, as problems in plain sentences with their lines."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from site_builder.errors import Problem, suggestion
from site_builder.schema import KeyPath
from site_builder.source import Document

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "too_short": "filled in",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}
#: Python's spelling of constants, as YAML spells them.
_WRITTEN = {"True": "true", "False": "false", "None": "null"}


def validation_problems(document: Document, error: ValidationError) -> list[Problem]:
    """One problem for each place: the branches of a choice of types at one place are one problem."""
    places: dict[KeyPath, list[Mapping[str, Any]]] = {}
    for entry in error.errors(include_url=False):
        path, missing = _place(document.data, entry)
        key = (*path, missing) if entry["type"] == "missing" and missing else path
        places.setdefault(key, []).append(entry)
    # A wrong value inside a block makes the other types of that block fail as well: only the deepest place counts.
    deepest = [path for path in places if not any(other != path and other[: len(path)] == path for other in places)]
    return [
        Problem(document.path, document.line(path), _sentence(document.data, path, places[path])) for path in deepest
    ]


def _place(data: Any, entry: Mapping[str, Any]) -> tuple[KeyPath, str]:
    """The parts of pydantic's location that exist in the data, and the key that is missing there.

    The other parts name types that were tried.
    """
    path: list[str | int] = []
    for part in entry["loc"]:
        if isinstance(data, dict) and part in data:
            data = data[str(part)]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            continue
        path.append(part)
    last = entry["loc"][-1]
    return tuple(path), str(last) if entry["type"] == "missing" and path[-1:] != [last] else ""


def _sentence(data: Any, path: KeyPath, entries: Sequence[Mapping[str, Any]]) -> str:
    name = ".".join(str(part) for part in path)
    if any(entry["type"] == "missing" for entry in entries):
        block = ".".join(str(part) for part in path[:-1])
        return f'the key "{path[-1]}" is missing{" in " + block if block else ""}'
    value = data
    for part in path:
        value = value[part]
    shown = _shown(value)
    hint = suggestion(value, itertools.chain(*map(_choices, entries))) if isinstance(value, str) else ""
    expected = dict.fromkeys(_expected(entry) for entry in entries)
    return f"{name} is {shown}, but must be {' or '.join(expected)}{hint}"


def _choices(entry: Mapping[str, Any]) -> list[str]:
    """The words of a closed choice, as an author writes them."""
    if entry["type"] != "literal_error":
        return []
    words = entry["ctx"]["expected"].replace(" or ", ", ").split(", ")
    return [_WRITTEN.get(word, word.strip("'")) for word in words]


def _expected(entry: Mapping[str, Any]) -> str:
    kind, context = entry["type"], entry.get("ctx", {})
    choices = _choices(entry)
    if choices:
        return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    if kind in ("greater_than", "greater_than_equal"):
        return f"{'more than' if kind == 'greater_than' else 'at least'} {next(iter(context.values())):g}"
    if kind == "less_than_equal":
        return f"at most {context['le']}"
    return _EXPECTED.get(kind, "something else")


def _shown(value: Any) -> str:
    if value is None or value == [] or value == {}:
        return "empty"
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, list):
        return "a list"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text[:60]}{"…" if len(text) > 60 else ""}"'
