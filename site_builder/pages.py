"""The table of pages: every address of the site, read by build and serve. What is built is what is served."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from site_builder.across import Across, across
from site_builder.browse import browse, search_index
from site_builder.compare import SIDES, Comparison, Shown, compare, folded
from site_builder.errors import UnknownRecipe, closest
from site_builder.query import split_query
from site_builder.render import as_html, as_json, as_markdown, comparison, facts, for_agents, for_web, hardware, openapi
from site_builder.render.exports import EXPORTS, Export
from site_builder.schema import RecipeFile
from site_builder.schema.base import Model
from site_builder.site import (
    HTML,
    JSON,
    MARKDOWN,
    TEXT,
    SiteContext,
    Text,
    Values,
    forms,
    nowhere,
    once,
    organisations,
    recipe_hardware,
    recipe_hardware_strategies,
    recipe_strategies,
    recipes,
    view_of_address,
)
from site_builder.views import View


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


def both(template: str, paths: Callable[[SiteContext], Iterable[Values]]) -> Iterable[Page]:
    """The JSON and the markdown of a recipe in the configuration of an address."""
    return shown(f"{template}.json", _json, paths), shown(f"{template}.md", _markdown, paths)


def compared(suffix: str, show: Callable[[SiteContext, Comparison], Text]) -> Page:
    """A form of the comparison of two configurations. No folder of files holds it: it is all query."""
    template = f"{{org}}/{{repo}}/compare{suffix}"
    settle = (lambda _, __, query: query) if suffix else _folded
    return Page(
        _pattern(template),
        template,
        nowhere,
        show=show,
        takes_query=True,
        read=_comparison,
        settle=settle,
        sides=[f"{side}." for side in SIDES],
    )


def across_hardware(suffix: str, show: Callable[[SiteContext, Across], Text]) -> Page:
    """A form of the table of a recipe across hardware."""
    template = f"{{org}}/{{repo}}/hardware{suffix}"
    return Page(_pattern(template), template, recipes, show=show, takes_query=True, read=_across)


def fixed_forms(name: str, show: Callable[[SiteContext, View], Text]) -> Page:
    """A form of a recipe that no query changes."""

    def render(context: SiteContext, values: Values, _: str) -> Text:
        return show(context, view_of_address(context, values, ""))

    return page(f"{{org}}/{{repo}}/{name}", render, recipes)


def _across(context: SiteContext, values: Values, query: str) -> Across:
    return across(context.collection, f"{values['org']}/{values['repo']}", query)


def _comparison(context: SiteContext, values: Values, query: str) -> Comparison:
    return compare(context.collection, f"{values['org']}/{values['repo']}", query)


def _folded(context: SiteContext, values: Values, query: str) -> str:
    return folded(context.collection, f"{values['org']}/{values['repo']}", query)


def _pattern(template: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", template)
    return re.compile(
        "".join(f"(?P<{piece}>[^/]+)" if position % 2 else re.escape(piece) for position, piece in enumerate(pieces))
    )


def _json(context: SiteContext, view: View) -> Text:
    return Text(as_json.render(view, context.addresses), JSON)


def _markdown(context: SiteContext, view: View) -> Text:
    return Text(as_markdown.render(view, context.addresses), MARKDOWN)


def _export(target: Export) -> Page:
    """The page of an export. It raises CannotExport where the target has no way to say a configuration."""
    return shown(
        f"{{org}}/{{repo}}.{target.suffix}",
        lambda _, view: Text(target.render(view), target.media_type),
        forms,
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
    texts = (_markdown(context, view_of_address(context, values, "")).body for values in recipes(context))
    return Text(for_agents.llms_full(context.around.site, map(str, texts)), TEXT)


def _manifest(context: SiteContext, _: Values, __: str) -> Text:
    icon = context.addresses.to(context.theme.assets.address("img/mark.svg"))
    return Text(
        as_json.dump(for_web.manifest(context.around.site, context.addresses, icon)), "application/manifest+json"
    )


def _picture(context: SiteContext, values: Values, _: str) -> Text:
    return Text(for_web.picture(view_of_address(context, values, ""), context.around.site), "image/png")


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
    page("", _home, once),
    page("browse", _browse, once, takes_query=True),
    page("search.json", _vocabulary(lambda context: search_index(context.entries)), once),
    page("sitemap.xml", _sitemap, once),
    page("robots.txt", _robots, once),
    page("feed.xml", _feed, once),
    page("llms.txt", _llms, once),
    page("llms-full.txt", _llms_full, once),
    page("site.webmanifest", _manifest, once),
    page("models.json", _vocabulary(lambda context: context.index), once),
    page("taxonomy.json", _vocabulary(lambda context: as_json.plain(context.collection.catalog.taxonomy)), once),
    page("strategies.json", _vocabulary(lambda context: _plain_map(_strategies(context))), once),
    page("kv_store.json", _vocabulary(lambda context: _plain_map(_kv_stores(context))), once),
    page("platforms.json", _vocabulary(lambda context: _plain_map(context.collection.catalog.platforms)), once),
    page("recipe.schema.json", _vocabulary(lambda _: recipe_schema()), once),
    page("openapi.json", _vocabulary(_openapi), once),
    page("strategies/{id}.json", _one(_strategies, "strategies"), _ids(_strategies)),
    page("kv_store/{id}.json", _one(_kv_stores, "kv_store"), _ids(_kv_stores)),
    *both("{org}/{repo}/hw/{hardware}/strategies/{strategy}", recipe_hardware_strategies),
    *both("{org}/{repo}/hw/{hardware}", recipe_hardware),
    *both("{org}/{repo}/strategies/{strategy}", recipe_strategies),
    *both("{org}/{repo}", forms),
    *(_export(target) for target in EXPORTS),
    compared(".json", lambda context, found: Text(comparison.as_json(found, context.addresses), JSON)),
    compared(".md", lambda context, found: Text(comparison.as_markdown(found, context.addresses), MARKDOWN)),
    compared("", lambda context, found: Text(comparison.page(found, context.around), HTML)),
    across_hardware(".json", lambda context, found: Text(hardware.as_json(found, context.addresses), JSON)),
    across_hardware(".md", lambda context, found: Text(hardware.as_markdown(found, context.addresses), MARKDOWN)),
    across_hardware("", lambda context, found: Text(hardware.page(found, context.around), HTML)),
    fixed_forms("facts.json", lambda context, view: Text(facts.as_json(view, context.addresses), JSON)),
    fixed_forms("facts.md", lambda context, view: Text(facts.as_markdown(view, context.addresses), MARKDOWN)),
    fixed_forms("facts", lambda context, view: Text(facts.page(view, context.around), HTML)),
    page("pictures/{org}/{repo}.png", _picture, recipes),
    page("{org}", _organisation, organisations),
    shown("{org}/{repo}", _page, recipes),
)


@lru_cache(maxsize=4096)
def find_page(path: str) -> tuple[Page, Values] | None:
    """The page that an address (without its first slash) belongs to, with the parts of the address."""
    for entry in PAGES:
        match = entry.pattern.fullmatch(path)
        if match:
            return entry, match.groupdict()
    return None
