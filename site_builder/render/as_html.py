"""Pages from views, through the templates of a theme. Templates show, never compute."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from site_builder.assets import ROOT, Assets, load_assets
from site_builder.browse import Browse, Entry
from site_builder.choices import OptionView
from site_builder.compare import joined
from site_builder.evidence import evidence_text
from site_builder.fit import lines_of
from site_builder.plan import Adjustment
from site_builder.query import LOADS
from site_builder.render.as_json import links
from site_builder.render.as_markdown import adjustment_text
from site_builder.render.exports import EXPORTS
from site_builder.render.for_web import linked_data
from site_builder.render.guide import highlighted, read
from site_builder.render.page_data import embedded, page_data
from site_builder.schema.vocabulary import Site
from site_builder.serving_facts import facts_of
from site_builder.shell import quote
from site_builder.urls import Addresses
from site_builder.views import ProcessView, View

DEFAULT_THEME = ROOT / "themes" / "default"
#: The only inline script. It must run before the first paint (or a dark visitor sees a light flash), and a file of its
#: own would make the first paint wait. The Content-Security-Policy names its hash.
BOOT = (ROOT / "static" / "js" / "boot.js").read_text(encoding="utf-8")
BOOT_HASH = "sha256-" + base64.b64encode(hashlib.sha256(BOOT.encode()).digest()).decode()


@dataclass(frozen=True)
class Theme:
    """Templates and static files; those of ``folder`` come before those of the default theme, one by one."""

    folder: Path = DEFAULT_THEME

    @cached_property
    def environment(self) -> Environment:
        environment = Environment(
            loader=FileSystemLoader([self.folder, DEFAULT_THEME]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["code"] = code
        environment.filters["command_lines"] = command_lines
        return environment

    @cached_property
    def assets(self) -> Assets:
        return load_assets(ROOT / "static", self.folder / "static")

    def render(self, template: str, context: dict[str, Any]) -> str:
        return self.environment.get_template(template).render(context)


def command_lines(process: ProcessView, way: str) -> list[Markup]:
    """A command line by line, with the exports before it; ``way`` is pip or docker. Twin: ``static/js/panel.js``."""
    if process.command["text"] is not None:
        return [Markup.escape(line) for line in process.text.split("\n")]
    docker = process.docker_lines if way == "docker" else None
    exports = [] if docker else process.exports.split("\n") if process.exports else []
    found = [Markup('<span class="word">export</span> ') + line.removeprefix("export ") for line in exports]
    found += [Markup("")] if exports else []
    lines = docker or process.command["lines"]
    indent = " " * (2 if docker else process.command["indent"])
    for number, words in enumerate(lines):
        end = " \\" if number + 1 < len(lines) else ""
        first, rest = quote(words[0]), " ".join(quote(word) for word in words[1:])
        flag = Markup('<span class="flag">{}</span>').format(first)
        found.append((indent if number else "") + flag + (" " + rest if rest else "") + end)
    return found


def code(text: str, language: str = "bash") -> Markup:
    """Highlighted code, escaped by the highlighter."""
    return Markup(highlighted(text, language))


@dataclass(frozen=True)
class Surroundings:
    """What every page needs besides its own view."""

    site: Site
    addresses: Addresses
    theme: Theme

    def context(self, path: str, **more: Any) -> dict[str, Any]:
        assets = self.theme.assets
        return {
            "site": self.site,
            "boot": Markup(BOOT),
            "path": path,
            "to": self.addresses.to,
            "full": self.addresses.full,
            "site_address": self.addresses.base_url,
            "asset": lambda name: self.addresses.to(assets.address(name)),
            **more,
        }


def recipe_page(view: View, around: Surroundings) -> str:
    guide = read(view.recipe.file.guide, around.addresses.to(view.id), around.addresses.path)
    known = links(view, around.addresses)
    return around.theme.render(
        "recipe.html",
        around.context(
            view.id,
            view=view,
            file=view.recipe.file,
            guide=guide,
            prepared=around.addresses.prepared,
            compare_query=joined("", view.query),
            option_address=lambda option: _option_address(view, option, around.addresses),
            plan_json=embedded(view.plan),
            linked_data=embedded(linked_data(view, around.site, around.addresses)),
            picture=around.addresses.full(f"pictures/{view.id}.png"),
            page_json=embedded(page_data(view, around.addresses)),
            links=known,
            facts=facts_of(view),
            evidence=evidence_text(view.recipe.file, view.selection["hardware"], view.hardware.display_name),
            fit_lines=lines_of(view.fit, view.hardware.display_name),
            settled_pairs=[pair for pair in parse_qsl(view.query) if pair[0] not in LOADS],
            exports=[target for target in EXPORTS if target.key in known],
            adjustments=plain_adjustments(view.adjustments),
        ),
    )


def plain_adjustments(adjustments: Sequence[Adjustment]) -> list[str]:
    """What was adjusted, a line each, as a page shows it."""
    return [adjustment_text(adjustment).replace("`", "") for adjustment in adjustments]


def _option_address(view: View, option: OptionView, addresses: Addresses) -> str | None:
    """Where an option leads without scripts: to its configuration, or on a file host to the file that holds it."""
    if option.query is None:
        return None
    if not addresses.prepared:
        return addresses.to(view.id, option.query)
    folder = {"hardware": "hw", "strategy": "strategies"}.get(option.axis)
    return addresses.to(f"{view.id}/{folder}/{option.id}.md") if folder and option.open else None


def home_page(entries: Sequence[Entry], around: Surroundings) -> str:
    """The front page: recipes by provider, and the newest ones."""
    providers: dict[str, list[Entry]] = {}
    for entry in entries:
        providers.setdefault(entry.provider, []).append(entry)
    newest = sorted(entries, key=lambda entry: (entry.date_added, entry.id), reverse=True)[:6]
    ordered = dict(sorted(providers.items(), key=lambda item: item[0].lower()))
    return around.theme.render("home.html", around.context("", providers=ordered, newest=newest, count=len(entries)))


def browse_page(found: Browse, around: Surroundings) -> str:
    """Every recipe that the filters leave."""
    return around.theme.render("browse.html", around.context("browse", browse=found))


def organisation_page(org: str, entries: Sequence[Entry], around: Surroundings) -> str:
    """One organisation's recipes by task."""
    tasks: dict[str, list[Entry]] = {}
    for entry in entries:
        tasks.setdefault((entry.facets["task"] or ["other"])[0], []).append(entry)
    provider = around.site.providers.get(org)
    name = (provider.name if provider else "") or entries[0].provider or org
    return around.theme.render(
        "organisation.html", around.context(org, org=org, name=name, tasks=tasks, count=len(entries))
    )


def moved_page(address: str) -> str:
    """Where a host has no redirects: a page that leads on, for people and for search engines."""
    target = escape(address)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{target}</title>'
        f'<link rel="canonical" href="{target}">'
        f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">{target}</a></html>\n'
    )


def not_found_page(path: str, closest: Sequence[str], around: Surroundings) -> str:
    return around.theme.render("not-found.html", around.context(path, closest=closest))


def error_page(title: str, detail: str, lines: Sequence[str], around: Surroundings) -> str:
    """A page for a request that is refused: what is wrong with it, and the lines that say more."""
    return around.theme.render("error.html", around.context("", title=title, detail=detail, lines=lines))
