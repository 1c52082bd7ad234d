"""The table of pages: every address of the site, read by build and serve. What is built is what is served."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from site_builder.browse import Entry, browse, entry_of, labels_of, search_index
from site_builder.collection import Collection
from site_builder.compare import SIDES, Comparison, Shown, compare, folded
from site_builder.errors import UnknownRecipe, closest
from site_builder.query import split_query
from site_builder.render import as_html, as_json, as_markdown, comparison, for_agents, for_web, openapi
from site_builder.render.exports import EXPORTS, Export
from site_builder.schema import RecipeFile
from site_builder.schema.base import Model
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


@dataclass(frozen=True)
class Page:
    """One kind of address.

    ``paths`` lists those that a folder of files holds. An address either has a ``render`` of its own, from the parts of
    the address and the query, or it shows what both give: the view of a recipe, or two views compared (``read``).
    ``settle`` gives the query that a form's query stands for, where they differ; ``sides`` is what the query writes
    before the choices of each configuration.
    """

    pattern: re.Pattern[str]
    template: str
    paths: Callable[[SiteContext], Iterable[Values]]
    render: Callable[[SiteContext, Values, str], Text] | None = None
    show: Callable[[SiteContext, Any], Text] | None = None
    takes_query: bool = False
    read: Callable[[SiteContext, Values, str], Shown] = lambda context, values, query: view_of_address(
        context, values, query
    )
    settle: Callable[[SiteContext, Values, str], str] = lambda _, __, query: query
    sides: Sequence[str] = ("",)

    def text(self, context: SiteContext, values: Values, query: str = "") -> Text:
        """The answer of an address. Raises UnknownRecipe."""
        if self.render is not None:
            return self.render(context, values, query)
        assert self.show is not None
        return self.show(context, self.read(context, values, query))


def page(
    template: str,
    render: Callable[[SiteContext, Values, str], Text],
    paths: Callable[[SiteContext], Iterable[Values]],
    takes_query: bool = False,
) -> Page:
    """A page whose address has parts in braces, for example ``strategies/{id}.json``."""
    return Page(_pattern(template), template, paths, render, takes_query=takes_query)


def shown(
    template: str, show: Callable[[SiteContext, View], Text], paths: Callable[[SiteContext], Iterable[Values]]
) -> Page:
    """A page that shows a recipe in the configuration of its address and query."""
    return Page(_pattern(template), template, paths, show=show, takes_query=True)


def compared(suffix: str, show: Callable[[SiteContext, Comparison], Text]) -> Page:
    """A form of the comparison of two configurations. No folder of files holds it: it is all query."""
    template = f"{{org}}/{{repo}}/compare{suffix}"
    settle = (lambda _, __, query: query) if suffix else _folded
    return Page(
        _pattern(template),
        template,
        _nowhere,
        show=show,
        takes_query=True,
        read=_comparison,
        settle=settle,
        sides=[f"{side}." for side in SIDES],
    )


def _comparison(context: SiteContext, values: Values, query: str) -> Comparison:
    return compare(context.collection, f"{values['org']}/{values['repo']}", query)


def _folded(context: SiteContext, values: Values, query: str) -> str:
    return folded(context.collection, f"{values['org']}/{values['repo']}", query)


def _pattern(template: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", template)
    return re.compile(
        "".join(f"(?P<{piece}>[^/]+)" if position % 2 else re.escape(piece) for position, piece in enumerate(pieces))
    )


def _once(_: SiteContext) -> Iterable[Values]:
    return [{}]


def _nowhere(_: SiteContext) -> Iterable[Values]:
    return []


def _recipes(context: SiteContext) -> Iterator[Values]:
    for recipe_id in context.collection.plans:
        org, repo = recipe_id.split("/", 1)
        yield {"org": org, "repo": repo}


def _recipe_hardware(context: SiteContext) -> Iterator[Values]:
    for values in _recipes(context):
        view = view_of_address(context, values, "")
        yield from ({**values, "hardware": name} for name in view.offered_hardware)


def _recipe_strategies(context: SiteContext) -> Iterator[Values]:
    for values in _recipes(context):
        view = view_of_address(context, values, "")
        yield from ({**values, "strategy": name} for name in view.on_offer.get("strategy", []))


def view_of_address(context: SiteContext, values: Values, query: str) -> View:
    """The view of an address.

    A hardware or strategy in the path counts as asked; a strategy brings the nodes that it needs.
    """
    recipe_id = f"{values['org']}/{values['repo']}"
    fixed = [f"hardware={values['hardware']}"] if "hardware" in values else []
    if "strategy" in values:
        fixed += context.collection.needed_for(recipe_id, values["strategy"], values.get("hardware"))
    return answer(context.collection, recipe_id, "&".join([query, *fixed] if query else fixed))


def _json(context: SiteContext, view: View) -> Text:
    return Text(as_json.render(view, context.addresses), JSON)


def _markdown(context: SiteContext, view: View) -> Text:
    return Text(as_markdown.render(view, context.addresses), MARKDOWN)


def _export(target: Export) -> Page:
    """The page of an export. It raises CannotExport where the target has no way to say a configuration."""
    return shown(
        f"{{org}}/{{repo}}.{target.suffix}",
        lambda _, view: Text(target.render(view), target.media_type),
        _recipes,
    )


def _page(context: SiteContext, view: View) -> Text:
    return Text(as_html.recipe_page(view, context.around), HTML)


def _home(context: SiteContext, _: Values, __: str) -> Text:
    return Text(as_html.home_page(context.entries, context.around), HTML)


def _browse(context: SiteContext, _: Values, query: str) -> Text:
    found = browse(context.entries, split_query(query)[0], context.filter_labels)
    return Text(as_html.browse_page(found, context.around), HTML)


def _organisation(context: SiteContext, values: Values, _: str) -> Text:
    if values["org"] not in context.organisations:
        known = [*context.organisations, *context.collection.plans]
        raise UnknownRecipe(values["org"], closest(values["org"], known, 5))
    entries = [entry for entry in context.entries if entry.id.startswith(f"{values['org']}/")]
    return Text(as_html.organisation_page(values["org"], entries, context.around), HTML)


def _organisations(context: SiteContext) -> Iterable[Values]:
    return [{"org": org} for org in context.organisations]


def _sitemap(context: SiteContext, _: Values, __: str) -> Text:
    paths = [("", ""), ("browse", ""), *((org, "") for org in context.organisations)]
    paths += [(entry.id, entry.date_updated) for entry in context.entries]
    return Text(for_web.sitemap(paths, context.addresses), "application/xml")


def _feed(context: SiteContext, _: Values, __: str) -> Text:
    return Text(for_web.feed(context.entries, context.around.site, context.addresses), "application/atom+xml")


def _robots(context: SiteContext, _: Values, __: str) -> Text:
    return Text(for_web.robots(context.addresses), TEXT)


def _llms(context: SiteContext, _: Values, __: str) -> Text:
    return Text(for_agents.llms(context.entries, context.around.site, context.addresses), TEXT)


def _llms_full(context: SiteContext, _: Values, __: str) -> Text:
    recipes = (_markdown(context, view_of_address(context, values, "")).body for values in _recipes(context))
    return Text(for_agents.llms_full(context.around.site, map(str, recipes)), TEXT)


def _manifest(context: SiteContext, _: Values, __: str) -> Text:
    icon = context.addresses.to(context.theme.assets.address("img/mark.svg"))
    return Text(
        as_json.dump(for_web.manifest(context.around.site, context.addresses, icon)), "application/manifest+json"
    )


def _picture(context: SiteContext, values: Values, _: str) -> Text:
    return Text(for_web.picture(view_of_address(context, values, ""), context.around.site), "image/png")


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
        "hardware": meta.hardware,
        "variants": {key: variant.precision for key, variant in file.variants.items()},
        "min_vllm_version": file.model.min_vllm_version,
        "date_added": meta.date_added,
        "date_updated": meta.date_updated,
    }
    yield entry
    for key, variant in file.variants.items():
        own = variant.model_id
        if own and own.lower() != recipe_id.lower() and not own.startswith("/"):
            query = f"variant={key}"
            yield {
                **entry,
                "hf_id": own,
                "url": addresses.full(recipe_id, query),
                "json": addresses.form(recipe_id, "json", query),
                "markdown": addresses.form(recipe_id, "md", query),
                "variants": {key: variant.precision},
                "derived_from": recipe_id,
            }


def _plain_map(models: Mapping[str, Model]) -> dict[str, Any]:
    return {key: as_json.plain(model) for key, model in models.items()}


def _vocabulary(read: Callable[[SiteContext], Any]) -> Callable[[SiteContext, Values, str], Text]:
    return lambda context, _values, _query: Text(as_json.dump(read(context)), JSON)


def _one(read: Callable[[SiteContext], Mapping[str, Model]], what: str) -> Callable[[SiteContext, Values, str], Text]:
    def render(context: SiteContext, values: Values, _: str) -> Text:
        known = read(context)
        if values["id"] not in known:
            raise UnknownRecipe(f"{what}/{values['id']}", [f"{what}/{name}" for name in known])
        return Text(as_json.dump(as_json.plain(known[values["id"]])), JSON)

    return render


def _ids(read: Callable[[SiteContext], Mapping[str, Model]]) -> Callable[[SiteContext], Iterable[Values]]:
    return lambda context: [{"id": name} for name in read(context)]


def _strategies(context: SiteContext) -> Mapping[str, Model]:
    return context.collection.catalog.strategies


def _kv_stores(context: SiteContext) -> Mapping[str, Model]:
    return context.collection.catalog.kv_stores


def recipe_schema() -> dict[str, Any]:
    """The JSON Schema of a recipe file, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **RecipeFile.model_json_schema()}


def _openapi(context: SiteContext) -> dict[str, Any]:
    templates = {entry.template: entry.show is not None for entry in PAGES}
    return openapi.document(templates, context.around.site, context.addresses)


#: Every address, most specific first. The last one is the recipe page, whose name may contain dots.
PAGES: tuple[Page, ...] = (
    page("", _home, _once),
    page("browse", _browse, _once, takes_query=True),
    page("search.json", _vocabulary(lambda context: search_index(context.entries)), _once),
    page("sitemap.xml", _sitemap, _once),
    page("robots.txt", _robots, _once),
    page("feed.xml", _feed, _once),
    page("llms.txt", _llms, _once),
    page("llms-full.txt", _llms_full, _once),
    page("site.webmanifest", _manifest, _once),
    page("models.json", _vocabulary(lambda context: context.index), _once),
    page("taxonomy.json", _vocabulary(lambda context: as_json.plain(context.collection.catalog.taxonomy)), _once),
    page("strategies.json", _vocabulary(lambda context: _plain_map(_strategies(context))), _once),
    page("kv_store.json", _vocabulary(lambda context: _plain_map(_kv_stores(context))), _once),
    page("platforms.json", _vocabulary(lambda context: _plain_map(context.collection.catalog.platforms)), _once),
    page("recipe.schema.json", _vocabulary(lambda _: recipe_schema()), _once),
    page("openapi.json", _vocabulary(_openapi), _once),
    page("strategies/{id}.json", _one(_strategies, "strategies"), _ids(_strategies)),
    page("kv_store/{id}.json", _one(_kv_stores, "kv_store"), _ids(_kv_stores)),
    shown("{org}/{repo}/hw/{hardware}/strategies/{strategy}.json", _json, _nowhere),
    shown("{org}/{repo}/hw/{hardware}/strategies/{strategy}.md", _markdown, _nowhere),
    shown("{org}/{repo}/hw/{hardware}.json", _json, _recipe_hardware),
    shown("{org}/{repo}/hw/{hardware}.md", _markdown, _recipe_hardware),
    shown("{org}/{repo}/strategies/{strategy}.json", _json, _recipe_strategies),
    shown("{org}/{repo}/strategies/{strategy}.md", _markdown, _recipe_strategies),
    shown("{org}/{repo}.json", _json, _recipes),
    shown("{org}/{repo}.md", _markdown, _recipes),
    *(_export(target) for target in EXPORTS),
    compared(".json", lambda context, found: Text(comparison.as_json(found, context.addresses), JSON)),
    compared(".md", lambda context, found: Text(comparison.as_markdown(found, context.addresses), MARKDOWN)),
    compared("", lambda context, found: Text(comparison.page(found, context.around), HTML)),
    page("pictures/{org}/{repo}.png", _picture, _recipes),
    page("{org}", _organisation, _organisations),
    shown("{org}/{repo}", _page, _recipes),
)


def find_page(path: str) -> tuple[Page, Values] | None:
    """The page that an address (without its first slash) belongs to, with the parts of the address."""
    for entry in PAGES:
        match = entry.pattern.fullmatch(path)
        if match:
            return entry, match.groupdict()
    return None
