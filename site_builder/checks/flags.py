"""Flags, their values and variables against what vLLM's releases know."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markdown_it import MarkdownIt

from site_builder.catalog import Catalog, Recipe
from site_builder.checks.walking import argument_lists, documents, environments
from site_builder.compiler.context import split_words
from site_builder.compiler.facts import version_key
from site_builder.compiler.grammar import FOREIGN_VARIABLES, Grammar
from site_builder.errors import Problem, suggestion
from site_builder.schema import KeyPath
from site_builder.source import Document

_PARSER = MarkdownIt("commonmark")
_SHELLS = ("bash", "sh", "shell", "console", "")


@dataclass(frozen=True)
class Release:
    """What one release of vLLM knows, with the extensions (omni) that a recipe uses."""

    version: str
    tables: Sequence[Mapping[str, Any]]

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar.of(self.tables)

    @cached_property
    def entries(self) -> dict[str, Mapping[str, Any]]:
        return {entry["flag"]: entry for table in self.tables for entry in table["flags"]}

    @cached_property
    def variables(self) -> frozenset[str]:
        return frozenset(entry["name"] for table in self.tables for entry in table["environment"])

    @cached_property
    def fields(self) -> dict[str, dict[str, Any]]:
        """The fields of every JSON option: class → name → entry."""
        named = [(name, entries) for table in self.tables for name, entries in table["config_fields"].items()]
        return {name: {entry["name"]: entry for entry in entries} for name, entries in named}


def flag_problems(catalog: Catalog) -> Iterator[Problem]:
    releases = [table for table in catalog.flag_tables if not table.get("extension")]
    extensions = [table for table in catalog.flag_tables if table.get("extension")]
    if not releases:
        return
    known = [Release(table["version"], [table]) for table in releases]
    with_extensions = [Release(table["version"], [*extensions, table]) for table in releases]
    by_path = {recipe.document.path: recipe for recipe in catalog.recipes.values()}
    for document in documents(catalog):
        recipe = by_path.get(document.path)
        omni = recipe is not None and recipe.file.omni is not None
        checker = _Checker(document, with_extensions if omni else known, _minimum(recipe))
        yield from checker.problems()
        if recipe is not None:
            yield from checker.guide(recipe)


def _minimum(recipe: Recipe | None) -> str:
    return recipe.file.model.min_vllm_version if recipe else ""


class _Checker:
    """The flags of one document. ``releases`` are in order; the last is the newest."""

    def __init__(self, document: Document, releases: Sequence[Release], minimum: str) -> None:
        self.document = document
        self.releases = releases
        self.newest = releases[-1]
        # The first table that is not older than the minimum: what it lacks, the minimum lacks too.
        at_least = [release for release in releases if version_key(release.version) >= version_key(minimum or "0")]
        self.minimum = minimum
        self.first = at_least[0] if at_least else self.newest

    def problems(self) -> Iterator[Problem]:
        for path, items in argument_lists(self.document):
            yield from self._arguments(path, [item for item in items if isinstance(item, str)])
        for path, env in environments(self.document):
            for name in env:
                yield from self._variable(name, (*path, name))

    def _arguments(self, path: KeyPath, items: list[str]) -> Iterator[Problem]:
        words: list[str] = []
        lines: list[int] = []
        for position, item in enumerate(items):
            for word in split_words(item):
                words.append(word)
                lines.append(self.document.line((*path, position)))
        start = 0
        for group in self.newest.grammar.split(words):
            for message in self._group(group):
                yield Problem(self.document.path, lines[start], message, "warning")
            start += len(group)

    def _group(self, group: Sequence[str]) -> Iterator[str]:
        """What is wrong with one flag and its values."""
        word = group[0]
        if not word.startswith("-"):
            return
        message = self.unknown(word)
        if message:
            yield message
            return
        flag = self.newest.grammar.find(word)
        if flag is None:
            return
        entry = self.newest.entries[flag.name]
        values = [word.split("=", 1)[1]] if "=" in word else list(group[1:])
        if "." in word.split("=", 1)[0]:
            yield from self._dotted(entry, word)
        elif entry["takes_value"] == "json":
            for value in values[:1]:
                yield from self._json(entry, value)
        else:
            yield from _values(entry, values)

    def unknown(self, word: str) -> str:
        """Why a flag is not known; empty where it is. Words that look like nothing of vLLM's are left alone."""
        name = word.split("=", 1)[0]
        if re.fullmatch(r"-O\d?", name):
            return ""
        base = name.split(".", 1)[0]
        if self.newest.grammar.find(word) is None:
            older = [release for release in self.releases[:-1] if release.grammar.find(word)]
            if older:
                return f"{base} is gone from vLLM {self.newest.version} ({older[-1].version} had it)"
            names = [spelling for spelling in self.newest.grammar.flags if spelling.startswith("--")]
            return f"{base} is no flag of vLLM {self.newest.version}{suggestion(base, names)}"
        if self.first is not self.newest and self.first.grammar.find(word) is None:
            asked = f"the minimum version here is {self.minimum}" if self.minimum else "a recipe may ask for less"
            return f"vLLM {self.first.version} does not have {base} yet, and {asked}; raise min_vllm_version"
        return ""

    def _dotted(self, entry: Mapping[str, Any], word: str) -> Iterator[str]:
        field = word.split("=", 1)[0].split(".", 1)[1].split(".", 1)[0].rstrip("+")
        yield from self._field(entry, field)

    def _field(self, entry: Mapping[str, Any], name: str) -> Iterator[str]:
        fields = self.newest.fields.get(entry.get("config_class", ""))
        if fields and name not in fields:
            yield f'{entry["flag"]} has no field "{name}" in vLLM {self.newest.version}{suggestion(name, fields)}'

    def _json(self, entry: Mapping[str, Any], text: str) -> Iterator[str]:
        if not text.startswith(("{", "[")):
            return
        try:
            value = json.loads(text)
        except ValueError as error:
            yield f"the JSON of {entry['flag']} does not parse: {str(error).lower()}"
            return
        for name, part in value.items() if isinstance(value, dict) else ():
            yield from self._field(entry, name)
            if part in ("true", "false", "True", "False"):
                yield f'{entry["flag"]}: "{name}" is the text "{part}"; write it without quotes'
            choices = self.newest.fields.get(entry.get("config_class", ""), {}).get(name, {}).get("choices")
            if choices and isinstance(part, str) and part not in choices:
                yield f'{entry["flag"]}: "{name}" is "{part}", but must be one of {", ".join(map(str, choices))}'

    def _variable(self, name: str, path: KeyPath) -> Iterator[Problem]:
        if not name.startswith("VLLM_") or name.startswith(FOREIGN_VARIABLES) or name in self.newest.variables:
            return
        older = [release.version for release in self.releases[:-1] if name in release.variables]
        if older:
            message = f"the variable {name} is gone from vLLM {self.newest.version} ({older[-1]} had it)"
        else:
            message = f"vLLM {self.newest.version} reads no variable {name}{suggestion(name, self.newest.variables)}"
        yield Problem(self.document.path, self.document.line(path), message, "warning")

    def guide(self, recipe: Recipe) -> Iterator[Problem]:
        """Flags in the code blocks of a guide."""
        start = recipe.document.text_line(("guide",))
        for token in _PARSER.parse(recipe.file.guide):
            if token.type == "fence" and token.map and token.info.strip().split(" ")[0] in _SHELLS:
                for offset, words in served_words(token.content):
                    for word in words:
                        message = self.unknown(word)
                        if message:
                            line = start + token.map[0] + 1 + offset
                            yield Problem(recipe.document.path, line, f"in the guide: {message}", "warning")


def _values(entry: Mapping[str, Any], values: Sequence[str]) -> Iterator[str]:
    name, takes = entry["flag"], entry["takes_value"]
    if takes == "none" and values:
        yield f'{name} takes no value, but has "{values[0]}"; leave the value out, or write the flag\'s negation'
    if takes in ("one", "choices") and not values:
        yield f"{name} needs a value"
    if takes == "choices" and entry.get("choices_mode") == "closed" and values:
        choices = [str(choice) for choice in entry["choices"]]
        if values[0] not in choices and not values[0].startswith("$"):
            yield f'{name} is "{values[0]}", but must be one of {", ".join(choices)}{suggestion(values[0], choices)}'


def served_words(code: str) -> Iterator[tuple[int, list[str]]]:
    """The flags of every ``vllm serve`` command in shell code, with the line (from 0) on which each command starts."""
    for offset, command in _commands(code.splitlines()):
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            continue
        for place in range(len(words) - 1):
            if words[place] == "vllm" and words[place + 1] == "serve":
                yield offset, list(_flags(words[place + 2 :]))


def _commands(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Commands with their continued lines joined."""
    joined, began = "", 0
    for number, line in enumerate(lines):
        if not joined:
            began = number
        if line.rstrip().endswith("\\"):
            joined += line.rstrip()[:-1] + " "
        else:
            yield began, joined + line
            joined = ""
    if joined:
        yield began, joined


def _flags(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word in ("&&", "||", "|", ";", "&", ">", "2>&1") or word.startswith((">", "#")):
            return
        if re.match(r"--[a-zA-Z]", word):
            yield word
