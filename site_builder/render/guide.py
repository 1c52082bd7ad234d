"""The guide of a recipe: markdown to HTML with anchors, and markdown moved into another document."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin, urlsplit

from markdown_it import MarkdownIt
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
    return parser.enable(["table", "strikethrough"]).use(anchors_plugin, max_level=4, permalink=False)


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
    headings = [
        Heading(int(token.tag[1]), _plain(tokens[position + 1]), str(token.attrGet("id")))
        for position, token in enumerate(tokens)
        if token.type == "heading_open" and token.attrGet("id")
    ]
    return Guide(_parser().renderer.render(tokens, _parser().options, {}), headings)


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
