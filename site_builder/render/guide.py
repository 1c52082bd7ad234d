"""The guide of a recipe: markdown to HTML with anchors, and markdown moved into another document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin, urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_FORMATTER = HtmlFormatter(nowrap=True)


@dataclass(frozen=True)
class Heading:
    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Guide:
    """A guide as HTML, with its headings for a table of contents."""

    html: str
    headings: list[Heading]


def highlighted(code: str, language: str, _attributes: str = "") -> str:
    """Code as HTML with classes only; an unknown language is left plain (the renderer escapes it)."""
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        return ""
    return highlight(code, lexer, _FORMATTER)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Raw HTML of a guide is shown as text: content is not code."""
    parser = MarkdownIt("commonmark", {"html": False, "highlight": highlighted, "linkify": False})
    for rule in ("fence", "code_block"):
        parser.add_render_rule(rule, _block)
    return parser.enable(["table", "strikethrough"]).use(anchors_plugin, max_level=4, permalink=False)


def _block(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """A block of code that can be scrolled by keyboard, too."""
    drawn = renderer.fence if tokens[index].type == "fence" else renderer.code_block
    return drawn(tokens, index, options, env).replace("<pre>", '<pre tabindex="0">', 1)


@lru_cache(maxsize=1024)
def read(markdown: str, page: str = "/", root: str = "") -> Guide:
    """A guide as HTML. Headings start at level 2 there, as the page's own title is level 1.

    Its relative links count from ``page``, as they do in the check, and those that start with a slash from ``root``;
    they are written out, as a host may serve the page with a slash at its end.
    """
    tokens = _parser().parse(markdown)
    for token in tokens:
        for child in token.children or []:
            _place(child, page, root)
        # The page allows no inline styles: columns are aligned by class.
        style = token.attrs.pop("style", None)
        if style:
            token.attrJoin("class", str(style).replace("text-align:", "align-"))
    _name_columns(tokens)
    headings = [
        Heading(int(token.tag[1]), _plain(tokens[position + 1]), str(token.attrGet("id")))
        for position, token in enumerate(tokens)
        if token.type == "heading_open" and token.attrGet("id")
    ]
    return Guide(_parser().renderer.render(tokens, _parser().options, {}), headings)


def _name_columns(tokens: Sequence[Token]) -> None:
    """A table's cell in the first row that holds nothing heads no column."""
    for start, inline, end in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if start.type == "th_open" and not inline.content.strip():
            start.tag = end.tag = "td"


def _place(token: Token, page: str, root: str) -> None:
    """Make the address of a link or picture whole, where it is one on this site."""
    name = {"link_open": "href", "image": "src"}.get(token.type, "")
    address = str(token.attrs.get(name, ""))
    if address and not address.startswith(("#", "//")) and not urlsplit(address).scheme:
        token.attrs[name] = root + address if address.startswith("/") else urljoin(page, address)


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))


@lru_cache(maxsize=1024)
def moved_down(markdown: str, levels: int) -> str:
    """The text with its headings that many levels deeper (six at most), all other bytes as they are.

    Code is left alone.
    """
    lines = markdown.splitlines(keepends=True)
    for token in _parser().parse(markdown):
        if token.type == "heading_open" and token.map and token.markup.startswith("#"):
            line = lines[token.map[0]]
            deeper = "#" * min(6, len(token.markup) + levels)
            lines[token.map[0]] = re.sub(r"#+", deeper, line, count=1)
    return "".join(lines)
