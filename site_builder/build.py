"""Building the whole site into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from site_builder.compression import packed
from site_builder.errors import CannotExport
from site_builder.output import Written, publish
from site_builder.pages import PAGES
from site_builder.render.as_html import moved_page, not_found_page
from site_builder.render.as_json import dump
from site_builder.render.sheets import sheet
from site_builder.site import HTML, SiteContext
from site_builder.views import answer

Progress = Callable[[int, int], None]


def files_of(context: SiteContext, progress: Progress | None = None) -> Iterator[tuple[str, bytes]]:
    """Every file of the site: its path under the folder and its content."""
    addresses = [(page, values) for page in PAGES for values in page.paths(context)]
    for done, (page, values) in enumerate(addresses, start=1):
        with suppress(CannotExport):  # there is no such file then, and no page links one
            text = page.text(context, values)
            yield file_name(page.template.format(**values), text.media_type), text.data
        if progress:
            progress(done, len(addresses))
    for (recipe_id, variant), checkpoint in context.collection.checkpoints.items():
        page_text = moved_page(context.addresses.full(recipe_id, f"variant={variant}"))
        yield f"{checkpoint}/index.html", page_text.encode()
    yield from context.theme.assets.files.items()
    yield "404.html", not_found_page("", [], context.around).encode()


def sheets_of(context: SiteContext) -> Iterator[tuple[str, bytes]]:
    """What the edge worker reads, by ids in lower case: a sheet for each recipe, and where a checkpoint leads."""
    collection = context.collection
    for recipe_id in collection.plans:
        found = sheet(answer(collection, recipe_id, ""), context.addresses)
        yield f"_edge/{recipe_id.lower()}.json", dump(found).encode()
    for (recipe_id, variant), checkpoint in collection.checkpoints.items():
        leads = {"id": checkpoint, "recipe": recipe_id, "variant": variant}
        yield f"_edge/{checkpoint.lower()}.json", dump(leads).encode()


def file_name(path: str, media_type: str) -> str:
    """The file of an address: a page is the index of its folder."""
    if media_type != HTML:
        return path
    return f"{path}/index.html" if path else "index.html"


def build(
    context: SiteContext, out: Path, progress: Progress | None = None, *, edge: bool = False, compress: bool = False
) -> Written:
    """Write the site to ``out``; ``edge`` adds the sheets of the edge worker, ``compress`` compressed forms.

    Raises OutputError; the folder then is as it was.
    """
    files = dict(files_of(context, progress))
    if edge:
        files |= dict(sheets_of(context))
    return publish(out, files | packed(files, out) if compress else files)
