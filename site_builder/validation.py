"""What pydantic found in a document, as problems in plain sentences with their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "model_attributes_type": "keys with values",
}


def validation_problems(document: Document, error: ValidationError) -> list[Problem]:
    """One problem for each place: the branches of a choice of types at one place are one problem."""
    places: dict[KeyPath, list[Mapping[str, Any]]] = {}
    for entry in error.errors(include_url=False):
        path, missing = _place(document.data, entry["loc"])
        key = (*path, missing) if entry["type"] == "missing" and missing else path
        places.setdefault(key, []).append(entry)
    # A wrong value inside a block makes the other types of that block fail as well: only the deepest place counts.
    deepest = [path for path in places if not any(other != path and other[: len(path)] == path for other in places)]
    return [
        Problem(document.path, document.line(path), _sentence(document.data, path, places[path])) for path in deepest
    ]


def _place(data: Any, location: Sequence[str | int]) -> tuple[KeyPath, str]:
    """The part of pydantic's location that exists in the data (the rest names types), and what comes after it."""
    path: list[str | int] = []
    for part in location:
        if isinstance(data, dict) and part in data:
            data = data[str(part)]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        elif part == "[key]" or (isinstance(part, str) and not isinstance(data, dict)):
            continue
        else:
            return tuple(path), str(part)
        path.append(part)
    return tuple(path), ""


def _sentence(data: Any, path: KeyPath, entries: Sequence[Mapping[str, Any]]) -> str:
    name = ".".join(str(part) for part in path)
    if any(entry["type"] == "missing" for entry in entries):
        block = ".".join(str(part) for part in path[:-1])
        return f'the key "{path[-1]}" is missing{" in " + block if block else ""}'
    value = data
    for part in path:
        value = value[part]
    shown = _shown(value)
    choices = list(_choices(entries))
    if choices:
        hint = suggestion(str(value), choices) if isinstance(value, str) else ""
        return f"{name} is {shown}, but must be one of {', '.join(choices)}{hint}"
    expected = list(dict.fromkeys(_expected(entry) for entry in entries))
    return f"{name} is {shown}, but must be {' or '.join(expected)}"


def _choices(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for entry in entries:
        if entry["type"] == "literal_error":
            yield from (word.strip("'") for word in entry["ctx"]["expected"].replace(" or ", ", ").split(", "))


def _expected(entry: Mapping[str, Any]) -> str:
    kind, context = entry["type"], entry.get("ctx", {})
    if kind in ("greater_than", "greater_than_equal"):
        return f"{'more than' if kind == 'greater_than' else 'at least'} {next(iter(context.values())):g}"
    if kind == "less_than_equal":
        return f"at most {context['le']}"
    return _EXPECTED.get(kind, "something else")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text[:60]}{"…" if len(text) > 60 else ""}"'
