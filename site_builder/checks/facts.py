"""Facts that contradict each other or have the wrong form."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from site_builder.catalog import Catalog, Recipe
from site_builder.compiler.fitting import Fitting, why_not
from site_builder.errors import Problem


def fact_problems(catalog: Catalog) -> Iterator[Problem]:
    slugs: dict[str, str] = {}
    for recipe_id, recipe in catalog.recipes.items():
        yield from _dates(recipe)
        yield from _variants(catalog, recipe)
        slug = recipe.file.meta.slug.lower()
        if slug and slug in slugs:
            yield _problem(recipe, ("meta", "slug"), f'the slug "{slug}" is that of {slugs[slug]} too; choose another')
        slugs.setdefault(slug, recipe_id)
        model_id = recipe.file.model.model_id
        if not model_id.startswith("/") and model_id.count("/") != 1:
            yield _problem(
                recipe, ("model", "model_id"), f'model_id "{model_id}" is neither org/name nor an absolute path'
            )


def _problem(recipe: Recipe, path: tuple[str, ...], message: str) -> Problem:
    return Problem(recipe.document.path, recipe.document.line(path), message, "warning")


def _dates(recipe: Recipe) -> Iterator[Problem]:
    meta, found = recipe.file.meta, {}
    for key in ("date_added", "date_updated"):
        text = getattr(meta, key)
        if text:
            try:
                found[key] = datetime.date.fromisoformat(text)
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
