"""Walking over the argument lists and variables of documents, wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from site_builder.catalog import Catalog
from site_builder.schema import KeyPath
from site_builder.source import Document

ARGUMENT_KEYS = ("args", "extra_args", "vllm_args", "base_args")
ENVIRONMENT_KEYS = ("env", "extra_env", "base_env")


def documents(catalog: Catalog) -> Iterator[Document]:
    """Every document of the catalog that was understood."""
    yield from catalog.documents.values()


def blocks(data: Any, keys: tuple[str, ...], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every value under one of the keys, at any depth, with its path."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key in keys:
                yield (*path, key), value
            else:
                yield from blocks(value, keys, (*path, key))
    elif isinstance(data, list):
        for position, item in enumerate(data):
            yield from blocks(item, keys, (*path, position))


def argument_lists(document: Document) -> Iterator[tuple[KeyPath, list[Any]]]:
    for path, value in blocks(document.data, ARGUMENT_KEYS):
        if isinstance(value, list):
            yield path, value


def environments(document: Document) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    for path, value in blocks(document.data, ENVIRONMENT_KEYS):
        if isinstance(value, dict):
            yield path, value
