"""A catalog with the plan of each recipe: everything that an answer is made from, worked out once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from site_builder.catalog import Catalog, Recipe, load
from site_builder.compiler import Grammar, compile_plan
from site_builder.errors import ContentError, Problem, UnknownRecipe, closest
from site_builder.plan import Plan, axis_of
from site_builder.resolve import pick

Made = TypeVar("Made")


@dataclass(frozen=True)
class Collection:
    """Recipes that can be served: ``plans`` has one for each id. ``problems`` are those of reading and compiling."""

    catalog: Catalog
    plans: Mapping[str, Plan]
    problems: tuple[Problem, ...]
    #: What the formats write once for a recipe and use in every answer, by what it is.
    written: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` gives, worked out when it is first asked for; it lives as long as the collection does."""
        if key not in self.written:
            self.written[key] = make()
        return cast(Made, self.written[key])

    @cached_property
    def grammar(self) -> Grammar:
        """How the flags of a command are read."""
        return Grammar.of(self.catalog.flag_tables)

    @cached_property
    def checkpoints(self) -> Mapping[tuple[str, str], str]:
        """The addresses that variants have of their own, by recipe and variant; a local path is none."""
        return {
            place: checkpoint
            for checkpoint, place in self.catalog.checkpoints.items()
            if place[0] in self.plans and checkpoint.count("/") == 1 and not checkpoint.startswith("/")
        }

    def recipe(self, recipe_id: str) -> Recipe:
        return self.catalog.recipes[recipe_id]

    def find(self, recipe_id: str) -> tuple[Recipe, str | None]:
        """The recipe of an id in any case, and the variant whose checkpoint the id is. Raises UnknownRecipe."""
        recipe, variant = self.catalog.find(recipe_id)
        if recipe.id not in self.plans:
            raise UnknownRecipe(recipe_id, closest(recipe_id, self.plans, 5))
        return recipe, variant

    def needed_for(self, recipe_id: str, strategy: str, hardware: str | None) -> list[str]:
        """The parameters that bring a strategy about: itself, and the nodes that it needs where one is not enough."""
        plan = self.plans[self.find(recipe_id)[0].id]
        asked = {"hardware": hardware} if hardware else {}
        axis = axis_of(plan, "strategy")
        if axis is None or strategy not in axis["options"]:
            return [f"strategy={strategy}"]
        wanted = pick(plan, asked, ("strategy", strategy)) or {"strategy": strategy}
        return [f"{name}={value}" for name, value in wanted.items() if name in ("nodes", "strategy")]


def open_collection(folder: Path, progress: Callable[[int, int], None] | None = None) -> Collection:
    """Read and compile a content folder. A recipe that cannot be understood is left out, with its problems.

    Raises ContentError where nothing can be built.
    """
    return compile_all(load(folder, progress))


def compile_all(catalog: Catalog) -> Collection:
    grammar = Grammar.of(catalog.flag_tables)
    plans: dict[str, Plan] = {}
    problems = list(catalog.problems)
    vocabulary = (catalog.taxonomy, catalog.strategies, catalog.kv_stores)
    for recipe_id, recipe in catalog.recipes.items():
        try:
            plans[recipe_id] = compile_plan(recipe_id, recipe.file, vocabulary, grammar)
        except ContentError as error:
            problems += error.problems
    return Collection(catalog, plans, tuple(problems))
