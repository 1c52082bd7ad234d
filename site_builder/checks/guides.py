"""The guide: fences that are never closed, and links that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin

from site_builder.catalog import Catalog, Recipe
from site_builder.errors import Problem, suggestion

#: The pages of guides give their headings anchors with the same plugin, which numbers the second of one name.
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(anchors_plugin, max_level=4)
#: A line of a code block without the indentation and quote marks before it: a fence, and the language after it.
_FENCE = re.compile(r"[\s>]*(`{3,}|~{3,})[ \t]*([\w+-]*)[ \t]*")
#: Addresses of the site that no recipe or organisation names.
_PAGES = frozenset({"", "browse"})


def guide_problems(catalog: Catalog) -> Iterator[Problem]:
    for recipe in catalog.recipes.values():
        if recipe.file.guide:
            tokens = _PARSER.parse(recipe.file.guide)
            yield from _fences(recipe, tokens)
            yield from _links(catalog, recipe, tokens)


def _problem(recipe: Recipe, line: int, message: str) -> Problem:
    return Problem(recipe.document.path, _file_line(recipe, line), message, "warning")


def _file_line(recipe: Recipe, line: int) -> int:
    """The line of the file (from 1) that holds a line of the guide (from 0)."""
    return recipe.document.text_line(("guide",)) + line


def _fences(recipe: Recipe, tokens: list[Token]) -> Iterator[Problem]:
    lines = recipe.file.guide.split("\n")
    for token in tokens:
        if token.type != "fence" or token.map is None:
            continue
        first, end = token.map
        if not _closes(lines[end - 1 : end], token) or end - first < 2:
            message = f'the code block that opens here with "{_opening(token)}" is never closed; add the closing fence'
            yield _problem(recipe, first, message)
            continue
        for line in range(first + 1, end - 1):
            inner = _FENCE.fullmatch(lines[line])
            if inner and inner[1].startswith(token.markup) and inner[2]:
                message = (
                    f'the code block that opens here with "{_opening(token)}" is still open where another opens'
                    f" (line {_file_line(recipe, line)}); add the closing fence"
                )
                yield _problem(recipe, first, message)
                break


def _opening(token: Token) -> str:
    return f"{token.markup}{token.info}"


def _closes(last: list[str], token: Token) -> bool:
    found = _FENCE.fullmatch(last[0]) if last else None
    return found is not None and found[1].startswith(token.markup) and not found[2]


def _links(catalog: Catalog, recipe: Recipe, tokens: list[Token]) -> Iterator[Problem]:
    anchors = [str(token.attrGet("id")) for token in tokens if token.type == "heading_open" and token.attrGet("id")]
    for token in tokens:
        line = token.map[0] if token.map else 0
        for child in token.children or []:
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type == "link_open":
                message = _dead(catalog, recipe, str(child.attrGet("href") or ""), anchors)
                if message:
                    yield _problem(recipe, line, message)


def _dead(catalog: Catalog, recipe: Recipe, target: str, anchors: list[str]) -> str:
    """What is wrong with a link; empty for links to elsewhere, which nothing here can ask."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    if not parts.path:
        if not parts.fragment or unquote(parts.fragment) in anchors:
            return ""
        known = [f"#{anchor}" for anchor in anchors]
        return f'the link "{target}" leads to no heading of this guide{suggestion(target, known)}'
    org = recipe.id.split("/", 1)[0]
    pieces: list[str] = [] if parts.path.startswith("/") else [org]
    for piece in unquote(parts.path).strip("/").split("/"):
        if piece == "..":
            del pieces[-1:]
        elif piece not in ("", "."):
            pieces.append(piece)
    name = re.sub(r"\.(md|yaml|html|json)$", "", "/".join(pieces))
    organisations = {known.split("/", 1)[0] for known in catalog.recipes}
    if name.lower() in {known.lower() for known in (*catalog.recipes, *organisations, *_PAGES)}:
        return ""
    return f'the link "{target}" leads to nothing on this site{suggestion(name, catalog.recipes)}'
