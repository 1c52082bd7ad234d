"""Arguments, variables and images as they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from site_builder.catalog import Catalog
from site_builder.checks.walking import argument_lists, blocks, documents, environments
from site_builder.errors import Problem
from site_builder.schema import KeyPath
from site_builder.source import Document

#: Tags that name what is newest. One that a commit follows (``nightly-4c62663…``) stays as it is.
_MOVING = re.compile(r"(?:latest|nightly|main|dev)(?!-[0-9a-f]{7,40}$)(?:-.*)?")
#: What stands in examples for a value that its reader has to fill in.
_PLACEHOLDER = re.compile(
    r"<(?:[A-Z][A-Z0-9_ -]*|(?:your|path)[\w /-]*)>|\bYOUR_\w+|/path/to/|\b(?:TODO|FIXME|CHANGEME)\b"
)


def argument_problems(catalog: Catalog) -> Iterator[Problem]:
    for document in documents(catalog):
        for path, items in argument_lists(document):
            yield from _list_problems(document, path, items)
        for path, env in environments(document):
            for name, value in env.items():
                line = document.line((*path, name))
                if isinstance(value, bool):
                    message = f'{name} is a truth value; put it in quotes as the program expects it, for example "1"'
                    yield Problem(document.path, line, message, "warning")
                elif isinstance(value, str):
                    yield from _placeholders(document.path, line, value)
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
        if isinstance(item, str):
            yield from _placeholders(document.path, line, item)
    if items and isinstance(items[0], str) and items[0].strip() and not items[0].startswith("-"):
        message = f'the first argument "{items[0]}" is a value without a flag before it'
        yield Problem(document.path, document.line((*path, 0)), message, "warning")


def _placeholders(path: str, line: int, text: str) -> Iterator[Problem]:
    found = _PLACEHOLDER.search(text)
    if found:
        message = f'"{found[0]}" stands for a value that is to be filled in; write one that works, or a $VARIABLE'
        yield Problem(path, line, message, "warning")


def _features_with_both(document: Document) -> Iterator[Problem]:
    features = document.data.get("features")
    for name, feature in features.items() if isinstance(features, dict) else ():
        if isinstance(feature, dict) and feature.get("args") and feature.get("modes"):
            message = f'feature "{name}" has both args and modes; put the arguments into the modes, or drop the modes'
            yield Problem(document.path, document.line(("features", name)), message)


def image_problems(catalog: Catalog) -> Iterator[Problem]:
    """Images that are commands."""
    for path, line, image in _images(catalog):
        words = image.split()
        if not words:
            yield Problem(path, line, "docker_image is empty; name an image, or remove the key")
        elif words != [image]:
            example = next((word for word in words if "/" in word and not word.startswith("-")), words[-1])
            message = f'docker_image holds "{image}", which is no image; write the image alone, for example "{example}"'
            yield Problem(path, line, message)


def moving_image_problems(catalog: Catalog) -> Iterator[Problem]:
    """Images whose content changes under the same name. Many recipes want just that, so this rule stands alone."""
    for path, line, image in _images(catalog):
        name, _, tag = image.rpartition("/")[2].partition(":")
        if len(image.split()) != 1 or "@" in image:
            continue
        if not name or not tag:
            message = f'the image "{image}" has no tag, so it is whatever "latest" is that day; name a version'
            yield Problem(path, line, message, "warning")
        elif _MOVING.fullmatch(tag):
            message = f'the image "{image}" moves: what it holds changes under the same name; name a version'
            yield Problem(path, line, message, "warning")


def _images(catalog: Catalog) -> Iterator[tuple[str, int, str]]:
    """Every image with its file and line."""
    for document in documents(catalog):
        for path, value in blocks(document.data, ("docker_image",)):
            for place, image in _images_in(path, value):
                yield document.path, document.line(place), image


def _images_in(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _images_in((*path, key), entry)
