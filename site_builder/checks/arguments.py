"""Arguments, variables and images as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from site_builder.catalog import Catalog
from site_builder.checks.walking import argument_lists, blocks, documents, environments
from site_builder.errors import Problem
from site_builder.schema import KeyPath
from site_builder.source import Document

MOVING_TAGS = ("latest", "nightly", "main", "dev")


def argument_problems(catalog: Catalog) -> Iterator[Problem]:
    for document in documents(catalog):
        for path, items in argument_lists(document):
            yield from _list_problems(document, path, items)
        for path, env in environments(document):
            for name, value in env.items():
                if isinstance(value, bool):
                    message = f'{name} is a truth value; put it in quotes as the program expects it, for example "1"'
                    yield Problem(document.path, document.line((*path, name)), message, "warning")
        yield from _features_with_both(document)


def _list_problems(document: Document, path: KeyPath, items: list[Any]) -> Iterator[Problem]:
    for position, item in enumerate(items):
        line = document.line((*path, position))
        if not isinstance(item, str):
            shown = json.dumps(item)
            yield Problem(document.path, line, f'the argument {shown} is not text; write it as "{shown}"', "warning")
        elif not item.strip():
            yield Problem(document.path, line, "the argument is empty; remove it, or say what was meant", "warning")
        elif item != item.strip():
            yield Problem(document.path, line, f'the argument "{item}" begins or ends with a space', "warning")
        elif item.startswith("-") and " " in item and "=" not in item.split(" ", 1)[0]:
            flag, value = item.split(None, 1)
            message = f'the argument "{item}" holds several words; write "{flag}" and "{value}" as two items'
            yield Problem(document.path, line, message)
    if items and isinstance(items[0], str) and items[0].strip() and not items[0].startswith("-"):
        message = f'the first argument "{items[0]}" is a value without a flag before it'
        yield Problem(document.path, document.line((*path, 0)), message, "warning")


def _features_with_both(document: Document) -> Iterator[Problem]:
    features = document.data.get("features")
    for name, feature in features.items() if isinstance(features, dict) else ():
        if isinstance(feature, dict) and feature.get("args") and feature.get("modes"):
            message = f'feature "{name}" has both args and modes; put the arguments into the modes, or drop the modes'
            yield Problem(document.path, document.line(("features", name)), message)


def image_problems(catalog: Catalog) -> Iterator[Problem]:
    """Images that are commands, and images whose content changes under the same name."""
    for document in documents(catalog):
        for path, value in blocks(document.data, ("docker_image",)):
            for place, image in _images(path, value):
                problem = _image_problem(image)
                if problem:
                    yield Problem(document.path, document.line(place), problem[0], problem[1])


def _images(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _images((*path, key), entry)


def _image_problem(image: str) -> tuple[str, Any] | None:
    words = image.split()
    if len(words) != 1:
        return (
            f'docker_image holds "{image}", which is no image; write the image alone,'
            f' for example "{(words or [""])[-1]}"',
            "error",
        )
    name, _, tag = image.rpartition("/")[2].partition(":")
    if "@" in name:
        return None
    if not tag:
        return f'the image "{image}" has no tag, so it is whatever "latest" is that day; name a version', "warning"
    if any(tag == moving or tag.startswith(f"{moving}-cu") for moving in MOVING_TAGS):
        return f'the image "{image}" moves: what it holds changes under the same name; name a version', "warning"
    return None
