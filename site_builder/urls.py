"""Addresses of the site. Every link in every format comes from here."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Addresses:
    """The addresses under one base.

    ``base_url`` is where the site is published (``https://example.org/recipes``; empty when that is unknown: then links
    start at the root). ``prepared`` is true for a folder of files: machine forms link files instead of queries.
    """

    base_url: str = ""
    prepared: bool = False

    @property
    def path(self) -> str:
        """The path of the base, without a slash at its end."""
        return urlsplit(self.base_url).path.rstrip("/")

    def to(self, path: str, query: str = "") -> str:
        """The path of an address on this site, for links in pages."""
        return f"{self.path}/{path.lstrip('/')}" + (f"?{query}" if query else "")

    def full(self, path: str, query: str = "") -> str:
        """The whole address where the base is known, else the path."""
        return self.base_url.rstrip("/") + f"/{path.lstrip('/')}" + (f"?{query}" if query else "")

    def recipe(self, recipe_id: str, query: str = "") -> str:
        return self.to(recipe_id, query)

    def form(self, recipe_id: str, suffix: str, query: str = "") -> str:
        """A machine form (``json``, ``md``, ``sh`` …) of a configuration."""
        return self.full(f"{recipe_id}.{suffix}", query)

    def by_hardware(self, recipe_id: str, hardware: str, suffix: str) -> str:
        """The prepared file of a recipe on one hardware."""
        return self.full(f"{recipe_id}/hw/{hardware}.{suffix}")

    def by_strategy(self, recipe_id: str, strategy: str, suffix: str) -> str:
        return self.full(f"{recipe_id}/strategies/{strategy}.{suffix}")
