"""A collection as a site: what pages are rendered from, and the addresses that a folder of files holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from site_builder.browse import Entry, entry_of, labels_of
from site_builder.collection import Collection
from site_builder.evidence import statuses
from site_builder.render import as_html
from site_builder.urls import Addresses
from site_builder.views import View, answer

JSON, MARKDOWN, HTML = "application/json", "text/markdown; charset=utf-8", "text/html; charset=utf-8"
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Text:
    """The answer of an address: text, or bytes where it is a picture."""

    body: str | bytes
    media_type: str

    @property
    def data(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else self.body


@dataclass(frozen=True)
class SiteContext:
    """A collection as a site: with its addresses and its theme."""

    collection: Collection
    addresses: Addresses
    theme: as_html.Theme

    @cached_property
    def around(self) -> as_html.Surroundings:
        return as_html.Surroundings(self.collection.catalog.site, self.addresses, self.theme)

    @cached_property
    def index(self) -> list[dict[str, Any]]:
        """The entries of ``models.json``: recipes, and variants that have a checkpoint of their own."""
        return [entry for recipe_id in self.collection.plans for entry in _entries(self, recipe_id)]

    @cached_property
    def entries(self) -> list[Entry]:
        """Every recipe as lists and search know it."""
        return [
            entry_of(self.collection.catalog, self.collection.recipe(recipe_id)) for recipe_id in self.collection.plans
        ]

    @cached_property
    def organisations(self) -> list[str]:
        return list(dict.fromkeys(recipe_id.split("/", 1)[0] for recipe_id in self.collection.plans))

    @cached_property
    def filter_labels(self) -> Mapping[tuple[str, str], str]:
        return labels_of(self.collection.catalog)


Values = Mapping[str, str]


def view_of_address(context: SiteContext, values: Values, query: str) -> View:
    """The view of an address.

    A hardware or strategy in the path counts as asked; a strategy brings the nodes that it needs.
    """
    recipe_id = f"{values['org']}/{values['repo']}"
    fixed = [f"hardware={values['hardware']}"] if "hardware" in values else []
    if "strategy" in values:
        fixed += context.collection.needed_for(recipe_id, values["strategy"], values.get("hardware"))
    view = answer(context.collection, recipe_id, "&".join([query, *fixed] if query else fixed))
    if not context.addresses.prepared:
        return view
    on = f"/hw/{values['hardware']}" if "hardware" in values else ""
    by = f"/strategies/{values['strategy']}" if "strategy" in values else ""
    return replace(view, file=f"{recipe_id}{on}{by}")


def once(_: SiteContext) -> Iterable[Values]:
    return [{}]


def nowhere(_: SiteContext) -> Iterable[Values]:
    return []


def recipes(context: SiteContext) -> Iterable[Values]:
    return map(_parts, context.collection.plans)


def forms(context: SiteContext) -> Iterable[Values]:
    """Recipes, and the checkpoints of variants: their machine forms answer under both."""
    return map(_parts, [*context.collection.plans, *context.collection.checkpoints.values()])


def _parts(recipe_id: str) -> Values:
    org, repo = recipe_id.split("/", 1)
    return {"org": org, "repo": repo}


def recipe_hardware(context: SiteContext) -> Iterator[Values]:
    for values in recipes(context) if context.addresses.prepared else ():
        view = view_of_address(context, values, "")
        yield from ({**values, "hardware": name} for name in view.offered_hardware)


def recipe_strategies(context: SiteContext) -> Iterator[Values]:
    for values in recipes(context) if context.addresses.prepared else ():
        yield from _by_strategy(context, values)


def recipe_hardware_strategies(context: SiteContext) -> Iterator[Values]:
    for values in recipe_hardware(context) if context.addresses.prepare == "all" else ():
        yield from _by_strategy(context, values)


def _by_strategy(context: SiteContext, values: Values) -> Iterator[Values]:
    view = view_of_address(context, values, "")
    yield from ({**values, "strategy": name} for name in view.on_offer.get("strategy", []))


def organisations(context: SiteContext) -> Iterable[Values]:
    return [{"org": org} for org in context.organisations]


def _entries(context: SiteContext, recipe_id: str) -> Iterator[dict[str, Any]]:
    file = context.collection.recipe(recipe_id).file
    meta, addresses = file.meta, context.addresses
    entry = {
        "hf_id": recipe_id,
        "title": meta.title,
        "provider": meta.provider or recipe_id.split("/", 1)[0],
        "description": meta.description,
        "url": addresses.full(recipe_id),
        "json": addresses.form(recipe_id, "json"),
        "markdown": addresses.form(recipe_id, "md"),
        "tasks": meta.tasks,
        "hardware": statuses(file),
        "variants": {key: variant.precision for key, variant in file.variants.items()},
        "min_vllm_version": file.model.min_vllm_version,
        "date_added": meta.date_added,
        "date_updated": meta.date_updated,
    }
    yield entry
    for key, variant in file.variants.items():
        own = context.collection.checkpoints.get((recipe_id, key))
        if own:
            yield {
                **entry,
                "hf_id": own,
                "url": addresses.full(recipe_id, f"variant={key}"),
                "json": addresses.form(own, "json"),
                "markdown": addresses.form(own, "md"),
                "variants": {key: variant.precision},
                "derived_from": recipe_id,
            }
