"""The guide: fences that are never closed, and links that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from site_builder.catalog import Catalog, Recipe
from site_builder.errors import Problem, suggestion

_PARSER = MarkdownIt("commonmark").enable("table")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*$")


def guide_problems(catalog: Catalog) -> Iterator[Problem]:
    for recipe in catalog.recipes.values():
        if recipe.file.guide:
            tokens = _PARSER.parse(recipe.file.guide)
            yield from _fences(recipe, tokens)
            yield from _links(catalog, recipe, tokens)


def _problem(recipe: Recipe, line: int, message: str) -> Problem:
    return Problem(recipe.document.path, recipe.document.text_line(("guide",)) + line, message, "warning")


def _fences(recipe: Recipe, tokens: list[Token]) -> Iterator[Problem]:
    lines = recipe.file.guide.splitlines()
    for token in tokens:
        if token.type != "fence" or token.map is None:
            continue
        last = lines[token.map[1] - 1] if token.map[1] <= len(lines) else ""
        closed = _FENCE.match(last) and last.strip().startswith(token.markup) and token.map[1] - token.map[0] > 1
        if not closed:
            opening = f"{token.markup}{token.info}"
            message = f'the code block that opens here with "{opening}" is never closed; add the closing fence'
            yield _problem(recipe, token.map[0], message)


def _links(catalog: Catalog, recipe: Recipe, tokens: list[Token]) -> Iterator[Problem]:
    anchors = {_slug(tokens[place + 1]) for place, token in enumerate(tokens) if token.type == "heading_open"}
    for token in tokens:
        for child in token.children or []:
            if child.type == "link_open":
                target = str(child.attrGet("href") or "")
                message = _dead(catalog, recipe, target, anchors)
                if message:
                    line = token.map[0] if token.map else 0
                    yield _problem(recipe, line, message)


def _slug(inline: Token) -> str:
    text = "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def _dead(catalog: Catalog, recipe: Recipe, target: str, anchors: set[str]) -> str:
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
    if name.lower() in {known.lower() for known in catalog.recipes}:
        return ""
    return f'the link "{target}" leads to nothing on this site{suggestion(name, catalog.recipes)}'
