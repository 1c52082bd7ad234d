"""Facts that contradict each other or have the wrong form."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator

from site_builder.catalog import Catalog, Recipe
from site_builder.compiler.fitting import Fitting, why_not
from site_builder.errors import Problem
from site_builder.sizing import APART, difference, weights_of

#: The one spelling of a date; Python would also take ``20260131`` and ``2026-W05``.
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CHECKPOINT = re.compile(r"/\S+|[\w.-]+/[\w.-]+", re.ASCII)


def fact_problems(catalog: Catalog) -> Iterator[Problem]:
    slugs: dict[str, str] = {}
    for recipe_id, recipe in catalog.recipes.items():
        yield from _dates(recipe)
        yield from _variants(catalog, recipe)
        slug = recipe.file.meta.slug.lower()
        if slug and slug in slugs:
            yield _problem(recipe, ("meta", "slug"), f'the slug "{slug}" is that of {slugs[slug]} too; choose another')
        slugs.setdefault(slug, recipe_id)
        yield from _checkpoints(recipe)
        yield from _floors(recipe)


def _problem(recipe: Recipe, path: tuple[str, ...], message: str) -> Problem:
    return Problem(recipe.document.path, recipe.document.line(path), message, "warning")


def _checkpoints(recipe: Recipe) -> Iterator[Problem]:
    named: dict[tuple[str, ...], str | None] = {("model", "model_id"): recipe.file.model.model_id}
    named |= {("variants", key, "model_id"): variant.model_id for key, variant in recipe.file.variants.items()}
    for path, model_id in named.items():
        if model_id is not None and not _CHECKPOINT.fullmatch(model_id):
            yield _problem(recipe, path, f'model_id "{model_id}" is neither org/name nor an absolute path')


def _dates(recipe: Recipe) -> Iterator[Problem]:
    meta, found = recipe.file.meta, {}
    for key in ("date_added", "date_updated"):
        text = getattr(meta, key)
        if text:
            try:
                found[key] = datetime.date.fromisoformat(text if _DATE.fullmatch(text) else "")
            except ValueError:
                yield _problem(recipe, ("meta", key), f'{key} "{text}" is no date; write it like 2026-01-31')
    if len(found) == 2 and found["date_updated"] < found["date_added"]:
        yield _problem(recipe, ("meta", "date_updated"), "date_updated is before date_added")


def _variants(catalog: Catalog, recipe: Recipe) -> Iterator[Problem]:
    """Variants that no hardware can run, and memory floors that are missing."""
    fitting = Fitting(recipe.file, catalog.taxonomy, catalog.strategies)
    for key, variant in recipe.file.variants.items():
        if not fitting.runs_on[key]:
            profiles = catalog.taxonomy.hardware_profiles.items()
            reasons = sorted({why_not(recipe.file, variant, name, profile) or "" for name, profile in profiles} - {""})
            because = f": {reasons[0]}" if len(reasons) == 1 else ""
            yield _problem(recipe, ("variants", key), f'no hardware can run variant "{key}"{because}')
        if not variant.vram_minimum_gb and recipe.file.omni is None:
            message = f'variant "{key}" has no vram_minimum_gb, so nobody can tell whether it fits'
            yield _problem(recipe, ("variants", key), message)


def _floors(recipe: Recipe) -> Iterator[Problem]:
    """Floors that the shapes of the model contradict: one of the two is wrong."""
    shape = recipe.file.architecture
    for key, variant in recipe.file.variants.items():
        weights = weights_of(shape, key, variant.precision) if shape and not shape.unknown else None
        if weights is None or not variant.vram_minimum_gb:
            continue
        apart = difference(variant.vram_minimum_gb, weights)
        if abs(apart) >= APART:
            line = ("variants", key, "vram_minimum_gb")
            message = f"the weights of the shapes in architecture need {abs(apart)} % {'more' if apart > 0 else 'less'}"
            yield _problem(recipe, line, f"{message} than this floor; correct one of the two")
