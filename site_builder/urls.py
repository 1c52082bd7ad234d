"""Addresses of the site. Every link in every format comes from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

#: Which configurations a folder of files holds besides the default ones: by hardware and by strategy, or each
#: strategy on each hardware too. None are prepared where something answers queries.
Prepare = Literal["none", "hardware", "all"]


@dataclass(frozen=True)
class Addresses:
    """The addresses under one base.

    ``base_url`` is where the site is published (``https://example.org/recipes``; empty when that is unknown: then links
    start at the root). Where configurations are prepared, machine forms link files instead of queries.
    """

    base_url: str = ""
    prepare: Prepare = "none"

    @property
    def prepared(self) -> bool:
        return self.prepare != "none"

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

    def form(self, recipe_id: str, suffix: str, query: str = "", file: str = "") -> str:
        """A machine form (``json``, ``md``, ``sh`` …) of a configuration.

        ``file`` is the file that was prepared for the query, without its suffix; empty where there is none.
        """
        if query and file:
            return self.full(f"{file}.{suffix}")
        return self.full(f"{recipe_id}.{suffix}", query)

    def by_hardware(self, recipe_id: str, hardware: str, suffix: str) -> str:
        """The recipe on one hardware."""
        return self.full(f"{recipe_id}/hw/{hardware}.{suffix}")

    def by_strategy(self, recipe_id: str, strategy: str, suffix: str, hardware: str = "") -> str:
        """The recipe with one strategy, on its default hardware or on another one."""
        on = f"/hw/{hardware}" if hardware else ""
        return self.full(f"{recipe_id}{on}/strategies/{strategy}.{suffix}")
