"""Names that must exist elsewhere: hardware, strategies, features, variants, modes, tasks, platforms, recipes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from site_builder.catalog import Catalog, Recipe
from site_builder.errors import Problem, Severity, suggestion
from site_builder.evidence import statuses
from site_builder.schema import KeyPath
from site_builder.schema.recipe import PrecisionHardware

STATUSES = ("verified", "smoke", "inherited", "supported", "unsupported")
#: The tasks of omni recipes that are known by their id alone.
OMNI_TASKS = frozenset({"t2i", "i2i", "t2v", "i2v", "ti2v", "t2a"})


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
    yield from _offload_options(catalog)
    organisations = {recipe_id.split("/", 1)[0] for recipe_id in catalog.recipes}
    for name in catalog.site.providers:
        if name not in organisations:
            message = f'provider "{name}" has no folder models/{name}{suggestion(name, organisations)}'
            yield Problem("site.yaml", catalog.documents["site.yaml"].line(("providers", name)), message, "warning")


def _offload_options(catalog: Catalog) -> Iterator[Problem]:
    """The groups, brands and strategies that the KV-offload options of the taxonomy name."""
    document, taxonomy = catalog.documents["taxonomy.yaml"], catalog.taxonomy
    brands = {profile.brand for profile in taxonomy.hardware_profiles.values()}
    for key, option in taxonomy.kv_offload.items():
        groups = [option.group] if option.group else []
        for place, names, known in (
            ("group", groups, frozenset(taxonomy.kv_offload_groups)),
            ("brands", option.brands or [], frozenset(brands | {brand.lower() for brand in brands})),
            ("strategies", option.strategies or [], frozenset(catalog.strategies)),
        ):
            for name in names:
                if name not in known:
                    message = f'"{name}" is not among the {place.rstrip("s")}s that exist{suggestion(name, known)}'
                    line = document.line(("kv_offload", key, place))
                    yield Problem("taxonomy.yaml", line, message, "warning")


class _Recipe:
    """The references of one recipe."""

    def __init__(self, catalog: Catalog, recipe: Recipe) -> None:
        self.catalog, self.recipe, self.file = catalog, recipe, recipe.file
        profiles = catalog.taxonomy.hardware_profiles
        main = {profile.main_generation for profile in profiles.values()}
        brands = {profile.brand.lower() for profile in profiles.values()}
        ids = frozenset(profiles)
        self.hardware = _Names("hardware", "taxonomy.yaml", ids)
        self.group = _Names("generation", "taxonomy.yaml", frozenset(main | {"nvidia"}))
        self.block = _Names("hardware or generation", "taxonomy.yaml", ids | main | {"nvidia"})
        self.table = _Names("hardware, generation or brand", "taxonomy.yaml", ids | main | brands | {"default"})
        self.strategies = _Names("strategy", "strategies/", frozenset(catalog.strategies))
        self.features = _Names("feature", "this recipe's features", frozenset(recipe.file.features))
        self.variants = _Names("variant", "this recipe's variants", frozenset(recipe.file.variants))
        self.offload = _Names("KV-offload option", "taxonomy.yaml", frozenset(catalog.taxonomy.kv_offload))
        self.stores = _Names("key-value store", "kv_store/", frozenset(catalog.kv_stores))
        self.tasks = _Names("task", "taxonomy.yaml", frozenset(task.id for task in catalog.taxonomy.tasks))
        self.platforms = _Names("platform", "platforms.yaml", frozenset(catalog.platforms))

    def problems(self) -> Iterator[Problem]:
        yield from self._meta()
        yield from self._choices()
        yield from self._hardware_tables()
        yield from self._variants()
        yield from self._features()
        yield from self._strategies()
        yield from self._tasks()
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
        for name, status in statuses(self.file).items():
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

    def _hardware_tables(self) -> Iterator[Problem]:
        """The top-level tables whose keys are strategies, options or hardware."""
        file = self.file
        yield from self._check(file.strategy_hardware.keys(), self.strategies, ("strategy_hardware",))
        for name, table in file.strategy_hardware.items():
            yield from self._check(table.keys(), self.table, ("strategy_hardware", name))
        if isinstance(file.strategy_min_gpus, dict):
            floors = self.strategies.known | {"tp", "tep", "dep"}
            outer = _Names("strategy or hardware", "the vocabulary", self.hardware.known | floors)
            inner = _Names("strategy", "strategies/", floors)
            yield from self._check(file.strategy_min_gpus.keys(), outer, ("strategy_min_gpus",))
            for name, floor in file.strategy_min_gpus.items():
                if isinstance(floor, dict):
                    yield from self._check(floor.keys(), inner, ("strategy_min_gpus", name))
        yield from self._check(file.kv_offload_support.keys(), self.offload, ("kv_offload_support",))
        yield from self._check(file.kv_cache_strategy_hardware.keys(), self.stores, ("kv_cache_strategy_hardware",))
        for name, hardware in file.kv_cache_strategy_hardware.items():
            yield from self._check(hardware.keys(), self.table, ("kv_cache_strategy_hardware", name))
        yield from self._check_groups(file.hardware_overrides, ("hardware_overrides",))
        yield from self._check(file.hardware_notes.keys(), self.hardware, ("hardware_notes",))

    def _check_groups(self, names: Iterable[str], path: KeyPath) -> Iterator[Problem]:
        """Keys of a block in which an exact hardware id never counts."""
        for name in names:
            if name in self.hardware.known and name not in self.group.known:
                generation = self.catalog.taxonomy.hardware_profiles[name].main_generation
                message = f'"{name}" never counts here, where only a generation or "nvidia" is looked up'
                yield self._problem((*path, name), f'{message}; write "{generation}", or use another block')
            else:
                yield from self._one(name, self.group, (*path, name))

    def _variants(self) -> Iterator[Problem]:
        for name, variant in self.file.variants.items():
            path: KeyPath = ("variants", name)
            yield from self._check(variant.supported_hardware, self.hardware, (*path, "supported_hardware"))
            yield from self._check(variant.hardware_overrides.keys(), self.block, (*path, "hardware_overrides"))
            if variant.precision_hardware:
                yield from self._precision(variant.precision_hardware, (*path, "precision_hardware"))
            if isinstance(variant.tp, dict):
                yield from self._check(variant.tp.keys(), self.table, (*path, "tp"))
            yield from self._check(variant.default_modes.keys(), self.features, (*path, "default_modes"))
            for key, mode in variant.default_modes.items():
                if key in self.file.features:
                    modes = frozenset(self.file.features[key].modes)
                    yield from self._one(mode, _Names("mode", f"feature {key}", modes), (*path, "default_modes", key))

    def _precision(self, needs: PrecisionHardware, path: KeyPath) -> Iterator[Problem]:
        profiles = self.catalog.taxonomy.hardware_profiles.values()
        brands = frozenset(profile.brand for profile in profiles)
        if needs.brand and needs.brand.lower() not in {brand.lower() for brand in brands}:
            yield from self._one(needs.brand, _Names("brand", "taxonomy.yaml", brands), (*path, "brand"))
        if needs.generation:
            known = _Names(
                "generation", "taxonomy.yaml", frozenset(name for profile in profiles for name in profile.generation)
            )
            yield from self._one(needs.generation, known, (*path, "generation"))

    def _features(self) -> Iterator[Problem]:
        for name, feature in self.file.features.items():
            path: KeyPath = ("features", name)
            yield from self._check(feature.hardware.keys(), self.table, (*path, "hardware"))
            yield from self._check_groups(feature.hardware_overrides, (*path, "hardware_overrides"))
            yield from self._check(feature.strategies or [], self.strategies, (*path, "strategies"))
            if feature.default_mode:
                modes = frozenset(feature.modes)
                yield from self._one(
                    feature.default_mode, _Names("mode", "the feature's modes", modes), (*path, "default_mode")
                )
            for key, mode in feature.modes.items():
                place: KeyPath = (*path, "modes", key)
                yield from self._check(mode.variants or [], self.variants, (*place, "variants"))
                yield from self._check(mode.hardware.keys(), self.table, (*place, "hardware"))
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

    def _tasks(self) -> Iterator[Problem]:
        known = _Names("task", "the tasks known by id", OMNI_TASKS)
        for position, task in enumerate(self.file.omni.tasks if self.file.omni else []):
            path: KeyPath = ("omni", "tasks", position)
            if isinstance(task, str):
                yield from self._one(task, known, path)
            else:
                yield from self._check(task.hardware_overrides.keys(), self.hardware, (*path, "hardware_overrides"))

    def _related(self) -> Iterator[Problem]:
        recipes = self.catalog.recipes
        known = {name.lower() for name in recipes} | {recipe.file.meta.slug.lower() for recipe in recipes.values()}
        for position, name in enumerate(self.file.meta.related_recipes):
            if name.lower() not in known:
                message = f'related recipe "{name}" does not exist{suggestion(name, recipes)}'
                yield self._problem(("meta", "related_recipes", position), message)
