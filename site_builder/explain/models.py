"""Which recipes a pasted command can be of: those that serve its model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from site_builder.collection import Collection
from site_builder.errors import UnknownRecipe, closest

#: The folder of a model in the cache of Hugging Face: ``models--org--repo``.
_CACHED = re.compile(r"(?:^|/)models--([^/]+?)--([^/]+)")
#: More recipes than serve one checkpoint; they are all compared.
MOST_RECIPES = 4


def recipes_of(collection: Collection, model: str, also: str = "") -> list[str]:
    """The ids of the recipes that serve a model: by its id, or by the last part of its path or of ``also`` (the name
    that the server gives it). Raises UnknownRecipe.
    """
    known = dict(_checkpoints(collection))
    by_base: dict[str, list[str]] = {}
    for name, recipes in known.items():
        by_base.setdefault(name.rsplit("/", 1)[-1], []).extend(recipes)
    cached = _CACHED.search(model)
    names = [f"{cached[1]}/{cached[2]}"] if cached else []
    for name in (*names, model, also):
        found = known.get(name.lower())
        if found:
            return list(dict.fromkeys(found))[:MOST_RECIPES]
    for name in (*names, model, also):
        found = by_base.get(name.lower().rstrip("/").rsplit("/", 1)[-1])
        if found and name:
            return list(dict.fromkeys(found))[:MOST_RECIPES]
    raise UnknownRecipe(model[:200], closest(model[:200], _spelled(collection), 5))


def _checkpoints(collection: Collection) -> Iterator[tuple[str, list[str]]]:
    """Every id that can be served, in lower case, with its recipes: the recipe of that name first."""
    found: dict[str, list[str]] = {recipe_id.lower(): [recipe_id] for recipe_id in collection.plans}
    for recipe_id, plan in collection.plans.items():
        for layer in plan["facts"]:
            if "model" in layer["facts"]:
                found.setdefault(str(layer["facts"]["model"]).lower(), []).append(recipe_id)
    yield from found.items()


def _spelled(collection: Collection) -> Iterator[str]:
    yield from collection.plans
    for plan in collection.plans.values():
        yield from (str(layer["facts"]["model"]) for layer in plan["facts"] if "model" in layer["facts"])
