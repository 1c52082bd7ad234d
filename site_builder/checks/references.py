"""Names that must exist elsewhere: hardware, strategies, features, variants, modes, tasks, platforms, recipes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from site_builder.catalog import Catalog, Recipe
from site_builder.errors import Problem, Severity, suggestion
from site_builder.schema import KeyPath

STATUSES = ("verified", "supported", "unsupported")


@dataclass(frozen=True)
class _Names:
    """The names that a place may use, and how a sentence calls them."""

    kind: str
    where: str
    known: frozenset[str]


def reference_problems(catalog: Catalog) -> Iterator[Problem]:
    yield from _vocabulary(catalog)
    for recipe in catalog.recipes.values():
        yield from _Recipe(catalog, recipe).problems()


def _vocabulary(catalog: Catalog) -> Iterator[Problem]:
    taxonomy = catalog.documents["taxonomy.yaml"]
    for position, name in enumerate(catalog.taxonomy.strategies):
        if name not in catalog.strategies:
            message = f'strategy "{name}" has no file strategies/{name}.yaml{suggestion(name, catalog.strategies)}'
            yield Problem("taxonomy.yaml", taxonomy.line(("strategies", position)), message, "warning")
    for name, strategy in catalog.strategies.items():
        path = f"strategies/{name}.yaml"
        if catalog.taxonomy.strategies and name not in catalog.taxonomy.strategies:
            yield Problem(
                path, 0, f'strategy "{name}" is not listed in taxonomy.yaml; add it under strategies', "warning"
            )
        if strategy.name != name:
            message = f'the name is "{strategy.name}", but the file is {name}.yaml; make them the same'
            yield Problem(path, catalog.documents[path].line(("name",)), message, "warning")


class _Recipe:
    """The references of one recipe."""

    def __init__(self, catalog: Catalog, recipe: Recipe) -> None:
        self.catalog, self.recipe, self.file = catalog, recipe, recipe.file
        profiles = catalog.taxonomy.hardware_profiles
        generations = {name for profile in profiles.values() for name in profile.generation}
        brands = {profile.brand.lower() for profile in profiles.values()}
        ids = frozenset(profiles)
        self.hardware = _Names("hardware", "taxonomy.yaml", ids)
        self.block = _Names("hardware or generation", "taxonomy.yaml", ids | generations | {"nvidia"})
        self.table = _Names("hardware, generation or brand", "taxonomy.yaml", ids | generations | brands | {"default"})
        self.strategies = _Names("strategy", "strategies/", frozenset(catalog.strategies))
        self.features = _Names("feature", "this recipe's features", frozenset(recipe.file.features))
        self.variants = _Names("variant", "this recipe's variants", frozenset(recipe.file.variants))
        options = frozenset(catalog.taxonomy.kv_offload) | frozenset(catalog.kv_stores)
        self.offload = _Names("KV-offload option", "taxonomy.yaml or kv_store/", options)
        self.tasks = _Names("task", "taxonomy.yaml", frozenset(task.id for task in catalog.taxonomy.tasks))
        self.platforms = _Names("platform", "platforms.yaml", frozenset(catalog.platforms))

    def problems(self) -> Iterator[Problem]:
        yield from self._meta()
        yield from self._choices()
        yield from self._variants()
        yield from self._features()
        yield from self._strategies()
        yield from self._related()

    def _check(self, names: Iterable[str], known: _Names, path: KeyPath) -> Iterator[Problem]:
        """Names that stand as keys or items at a path."""
        listed = isinstance(names, Sequence)
        for position, name in enumerate(names):
            if name not in known.known:
                place: KeyPath = (*path, position if listed else name)
                message = f'{known.kind} "{name}" is not in {known.where}{suggestion(name, known.known)}'
                yield self._problem(place, message)

    def _problem(self, path: KeyPath, message: str, severity: Severity = "warning") -> Problem:
        return Problem(self.recipe.document.path, self.recipe.document.line(path), message, severity)

    def _meta(self) -> Iterator[Problem]:
        meta = self.file.meta
        yield from self._check(meta.hardware, self.hardware, ("meta", "hardware"))
        for name, status in meta.hardware.items():
            if status not in STATUSES:
                hint = suggestion(status, STATUSES) or f"; use {', '.join(STATUSES)}"
                yield self._problem(("meta", "hardware", name), f'the status "{status}" of {name} is not defined{hint}')
        if meta.default_hardware:
            yield from self._one(meta.default_hardware, self.hardware, ("meta", "default_hardware"))
        yield from self._check(meta.tasks, self.tasks, ("meta", "tasks"))
        names = [entry if isinstance(entry, str) else entry.id for entry in meta.platforms]
        yield from self._check(names, self.platforms, ("meta", "platforms"))

    def _one(self, name: str, known: _Names, path: KeyPath) -> Iterator[Problem]:
        if name not in known.known:
            yield self._problem(path, f'{known.kind} "{name}" is not in {known.where}{suggestion(name, known.known)}')

    def _choices(self) -> Iterator[Problem]:
        file = self.file
        yield from self._check(file.opt_in_features, self.features, ("opt_in_features",))
        yield from self._check(file.hardware_opt_in_features.keys(), self.hardware, ("hardware_opt_in_features",))
        for name, keys in file.hardware_opt_in_features.items():
            yield from self._check(keys, self.features, ("hardware_opt_in_features", name))
        yield from self._check(file.compatible_strategies, self.strategies, ("compatible_strategies",))
        if file.default_strategy:
            yield from self._one(file.default_strategy, self.strategies, ("default_strategy",))
            offered = {*file.compatible_strategies, *file.strategy_hardware}
            if file.default_strategy in self.strategies.known and file.default_strategy not in offered:
                message = f'default_strategy "{file.default_strategy}" is not among compatible_strategies'
                yield self._problem(("default_strategy",), message)
        yield from self._check(file.strategy_hardware.keys(), self.strategies, ("strategy_hardware",))
        for name, table in file.strategy_hardware.items():
            yield from self._check(table.keys(), self.table, ("strategy_hardware", name))
        if isinstance(file.strategy_min_gpus, dict):
            modes = {"tp", "tep", "dep"}
            known = self.hardware.known | self.strategies.known | modes
            yield from self._check(
                file.strategy_min_gpus.keys(),
                _Names("strategy or hardware", "the vocabulary", known),
                ("strategy_min_gpus",),
            )
        yield from self._check(file.kv_offload_support.keys(), self.offload, ("kv_offload_support",))
        yield from self._check(file.kv_cache_strategy_hardware.keys(), self.offload, ("kv_cache_strategy_hardware",))
        yield from self._check(file.hardware_overrides.keys(), self.block, ("hardware_overrides",))
        yield from self._check(file.hardware_notes.keys(), self.hardware, ("hardware_notes",))

    def _variants(self) -> Iterator[Problem]:
        for name, variant in self.file.variants.items():
            path: KeyPath = ("variants", name)
            yield from self._check(variant.supported_hardware, self.hardware, (*path, "supported_hardware"))
            yield from self._check(variant.hardware_overrides.keys(), self.block, (*path, "hardware_overrides"))
            if isinstance(variant.tp, dict):
                yield from self._check(variant.tp.keys(), self.table, (*path, "tp"))
            yield from self._check(variant.default_modes.keys(), self.features, (*path, "default_modes"))
            for key, mode in variant.default_modes.items():
                if key in self.file.features:
                    modes = frozenset(self.file.features[key].modes)
                    yield from self._one(mode, _Names("mode", f"feature {key}", modes), (*path, "default_modes", key))

    def _features(self) -> Iterator[Problem]:
        for name, feature in self.file.features.items():
            path: KeyPath = ("features", name)
            yield from self._check(feature.hardware.keys(), self.block, (*path, "hardware"))
            yield from self._check(feature.hardware_overrides.keys(), self.block, (*path, "hardware_overrides"))
            yield from self._check(feature.strategies or [], self.strategies, (*path, "strategies"))
            if feature.default_mode:
                modes = frozenset(feature.modes)
                yield from self._one(
                    feature.default_mode, _Names("mode", "the feature's modes", modes), (*path, "default_mode")
                )
            for key, mode in feature.modes.items():
                place: KeyPath = (*path, "modes", key)
                yield from self._check(mode.variants or [], self.variants, (*place, "variants"))
                yield from self._check(mode.hardware.keys(), self.block, (*place, "hardware"))
                yield from self._check(mode.hardware_overrides.keys(), self.table, (*place, "hardware_overrides"))

    def _strategies(self) -> Iterator[Problem]:
        yield from self._check(self.file.strategy_overrides.keys(), self.strategies, ("strategy_overrides",))
        for name, override in self.file.strategy_overrides.items():
            path: KeyPath = ("strategy_overrides", name)
            yield from self._check(override.hardware_overrides.keys(), self.block, (*path, "hardware_overrides"))
            if isinstance(override.tp, dict):
                yield from self._check(override.tp.keys(), self.table, (*path, "tp"))
            for role in ("prefill", "decode"):
                block = getattr(override, role)
                yield from self._check(
                    block.hardware_overrides.keys(), self.hardware, (*path, role, "hardware_overrides")
                )
                if isinstance(block.nodes, dict):
                    known = _Names("hardware", "taxonomy.yaml", self.hardware.known | {"default"})
                    yield from self._check(block.nodes.keys(), known, (*path, role, "nodes"))

    def _related(self) -> Iterator[Problem]:
        recipes = self.catalog.recipes
        known = {name.lower() for name in recipes} | {recipe.file.meta.slug.lower() for recipe in recipes.values()}
        for position, name in enumerate(self.file.meta.related_recipes):
            if name.lower() not in known:
                message = f'related recipe "{name}" does not exist{suggestion(name, recipes)}'
                yield self._problem(("meta", "related_recipes", position), message)
