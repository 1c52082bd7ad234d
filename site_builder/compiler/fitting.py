"""What runs where: the rules of variants, hardware, nodes and strategies, before they are written out as conditions.

Source of every rule: ``docs/recipe-format.md``, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from site_builder.evidence import status_of
from site_builder.plan import LARGEST
from site_builder.schema.recipe import RecipeFile, Variant
from site_builder.schema.vocabulary import Hardware, Strategy, Taxonomy

Value = TypeVar("Value")

MAX_NODES = LARGEST
POOL_MODES = ("tp", "tep", "dep")
#: Multi-node strategies that are recommended before the others, in this order.
MULTI_NODE_PREFERENCE = ("multi_node_tp", "multi_node_dep", "multi_node_tep")


def lookup(table: Mapping[str, Value], hardware_id: str, hardware: Hardware) -> Value | None:
    """An entry for a hardware: exact id > generation > brand (lower case) > ``default``."""
    for key in (hardware_id, hardware.main_generation, hardware.brand.lower(), "default"):
        if key in table:
            return table[key]
    return None


def generation_entry(table: Mapping[str, Value], hardware: Hardware) -> Value | None:
    """A block for a generation, else for ``nvidia``; exact ids do not count here."""
    if hardware.main_generation in table:
        return table[hardware.main_generation]
    return table.get("nvidia") if hardware.brand.lower() == "nvidia" else None


def why_not(recipe: RecipeFile, variant: Variant, hardware_id: str, hardware: Hardware) -> str | None:
    """The reason why a variant does not run on a hardware, as the end of a sentence; None where it does."""
    brand, generation = _precision_needs(variant)
    if (brand and brand.lower() != hardware.brand.lower()) or (generation and generation not in hardware.generation):
        return f"{variant.precision or 'this precision'} needs {' '.join(word for word in (brand, generation) if word)}"
    if variant.supported_hardware and hardware_id not in variant.supported_hardware:
        return f"it runs on {', '.join(variant.supported_hardware)} only"
    if status_of(recipe, hardware_id) == "unsupported":
        return "the recipe marks it as unsupported"
    if hardware.restricted and hardware_id not in recipe.meta.hardware:
        return "the recipe does not name it"
    if not hardware.scalable and recipe.omni is None and variant.vram_minimum_gb > hardware.vram_gb:
        return f"{variant.vram_minimum_gb:g} GB are needed and it has {hardware.vram_gb:g} GB"
    return None


def _precision_needs(variant: Variant) -> tuple[str | None, str | None]:
    if variant.precision_hardware is not None:
        return variant.precision_hardware.brand, variant.precision_hardware.generation
    return ("NVIDIA", "blackwell") if variant.precision.lower() in ("nvfp4", "fp4") else (None, None)


@dataclass(frozen=True)
class Fitting:
    """The answers for one recipe.

    Hardware is in the order of the taxonomy, strategies in the order in which they are offered.
    """

    recipe: RecipeFile
    taxonomy: Taxonomy
    strategies: Mapping[str, Strategy]

    @cached_property
    def runs_on(self) -> dict[str, list[str]]:
        """For each variant the hardware that it runs on and that some strategy can use."""
        profiles = self.taxonomy.hardware_profiles
        usable = [name for name in profiles if self.recipe.omni or self.offered(name)]
        return {
            key: [name for name in usable if why_not(self.recipe, variant, name, profiles[name]) is None]
            for key, variant in self.recipe.variants.items()
        }

    @cached_property
    def variants(self) -> list[str]:
        """The variants that run somewhere."""
        return [key for key, names in self.runs_on.items() if names]

    @cached_property
    def hardware(self) -> list[str]:
        """The hardware that some variant runs on."""
        return [
            name for name in self.taxonomy.hardware_profiles if any(name in names for names in self.runs_on.values())
        ]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Every variant with every hardware that it runs on."""
        return [(variant, name) for variant in self.variants for name in self.runs_on[variant]]

    def profile(self, hardware_id: str) -> Hardware:
        return self.taxonomy.hardware_profiles[hardware_id]

    def hardware_order(self, variant: str) -> list[str]:
        """Hardware in the order in which it is the default of a variant (3.2)."""
        _, generation = _precision_needs(self.recipe.variants[variant])
        first = [self.recipe.meta.default_hardware or ""]
        first += ["b200", "gb200"] if generation == "blackwell" else []
        first.append("h200")
        brands = {"nvidia": 0, "amd": 1}
        rest = sorted(self.hardware, key=lambda name: (brands.get(self.profile(name).brand.lower(), 2), name))
        return [name for name in dict.fromkeys([*first, *rest]) if name in self.hardware]

    def offered(self, hardware_id: str) -> list[str]:
        """The strategies offered on a hardware, whatever the number of nodes (3.3)."""
        return self._offered[hardware_id]

    def offering(self, strategy: str) -> list[str]:
        """The hardware that offers a strategy."""
        return [name for name in self.hardware if strategy in self.offered(name)]

    @cached_property
    def _offered(self) -> dict[str, list[str]]:
        return {
            hardware_id: [name for name in self._named if self._is_offered(name, hardware_id)]
            for hardware_id in self.taxonomy.hardware_profiles
        }

    @cached_property
    def _named(self) -> list[str]:
        """The strategies that the recipe lists or grants somewhere, in the order in which they are offered."""
        named = [*self.recipe.compatible_strategies, *self.recipe.strategy_hardware]
        return [name for name in dict.fromkeys(named) if name in self.strategies]

    def _is_offered(self, strategy: str, hardware_id: str) -> bool:
        hardware = self.profile(hardware_id)
        grant = lookup(self.recipe.strategy_hardware.get(strategy, {}), hardware_id, hardware)
        if grant == "unsupported" or (grant is None and strategy not in self.recipe.compatible_strategies):
            return False
        kind = self.strategies[strategy].deploy_type
        if kind == "single_node":
            return self.needed_nodes(strategy, hardware_id) <= 1
        if not hardware.scalable:
            return False
        if kind == "pd_cluster":
            return bool(self.pool_modes(hardware_id))
        return self.needed_nodes(strategy, hardware_id) <= MAX_NODES

    def needed_nodes(self, strategy: str, hardware_id: str) -> int:
        """The nodes that a strategy needs on a hardware: its floor in GPUs, and two for a multi-node one."""
        nodes = math.ceil(self._floor([strategy], hardware_id) / self.profile(hardware_id).gpu_count)
        return max(nodes, 2 if self.strategies[strategy].deploy_type == "multi_node" else 1)

    def pool_floor(self, mode: str, hardware_id: str) -> int:
        """The nodes that a pool of a mode needs at least."""
        floor = self._floor([mode, f"multi_node_{mode}", f"single_node_{mode}"], hardware_id)
        return max(1, math.ceil(floor / self.profile(hardware_id).gpu_count))

    def _floor(self, names: Sequence[str], hardware_id: str) -> int:
        """A floor in GPUs: of the entry by name and the entry by GPU the larger counts; 0 where there is none."""
        table = self.recipe.strategy_min_gpus
        if isinstance(table, int):
            return table
        by_gpu = table.get(hardware_id, 0)
        floors = [_first_number(table, names), by_gpu if isinstance(by_gpu, int) else _first_number(by_gpu, names)]
        return max(floors)

    def pool_modes(self, hardware_id: str) -> list[str]:
        """The modes on offer for a pool whose floor can be met (3.5)."""
        named = ["tp", *self._pool_defaults("prefill"), *self._pool_defaults("decode")]
        for strategy in self._named:
            suffix = strategy.partition("_node_")[2]
            if suffix and self._is_offered(strategy, hardware_id):
                named.append("tp" if suffix.startswith("tp") else suffix)
        override = self.recipe.strategy_overrides.get("pd_cluster")
        narrowed = override.pool_modes if override and override.pool_modes else POOL_MODES
        wanted = [mode for mode in POOL_MODES if mode in named and mode in narrowed]
        return [mode for mode in wanted if self.pool_floor(mode, hardware_id) <= MAX_NODES]

    def _pool_defaults(self, role: str) -> list[str]:
        """The modes that the recipe and the strategy name for a pool, in this order."""
        override = self.recipe.strategy_overrides.get("pd_cluster")
        own = getattr(override, role).parallelism if override else None
        shared = self.strategies.get("pd_cluster")
        theirs = getattr(shared, role).parallelism if shared else None
        return [mode for mode in (own, theirs) if mode]

    def preferred_pool_modes(self, role: str) -> list[str]:
        return [*self._pool_defaults(role), "tp"]

    def default_pool_nodes(self, variant: str, hardware_id: str, role: str) -> int:
        """The nodes of a pool before its floor: the recipe's, else what the memory floor asks for."""
        override = self.recipe.strategy_overrides.get("pd_cluster")
        nodes = getattr(override, role).nodes if override else None
        if isinstance(nodes, dict):
            nodes = nodes.get(hardware_id, nodes.get("default"))
        if nodes is None:
            nodes = math.ceil(self.recipe.variants[variant].vram_minimum_gb / self.profile(hardware_id).vram_gb)
        return min(max(1, nodes), MAX_NODES)

    def preferred(self, hardware_id: str, nodes: int) -> list[str]:
        """The offered strategies from the most to the least recommended at one node or at several (3.4)."""
        offered = self.offered(hardware_id)
        kinds = {name: self.strategies[name].deploy_type for name in offered}
        default = self.recipe.default_strategy or ""
        order = [default]
        if nodes > 1:
            multi = [name for name in offered if kinds[name] == "multi_node"]
            sibling = default.replace("single_node_", "multi_node_")
            order = [default] if kinds.get(default) != "single_node" else []
            order += [sibling, *MULTI_NODE_PREFERENCE, *multi]
        order += ["single_node_tp", *(name for name in offered if kinds[name] != "pd_cluster"), *offered]
        return [name for name in dict.fromkeys(order) if name in offered]

    def default_nodes(self, variant: str, hardware_id: str) -> int:
        """The nodes that are used when none are asked for (3.3)."""
        hardware = self.profile(hardware_id)
        kinds = [self.strategies[name].deploy_type for name in self.offered(hardware_id)]
        too_large = self.recipe.variants[variant].vram_minimum_gb > hardware.vram_gb
        nodes = 2 if too_large and "multi_node" in kinds else 1
        recommended = self.preferred(hardware_id, nodes)[0]
        if self.strategies[recommended].deploy_type == "pd_cluster":
            return 1
        return max(nodes, self.needed_nodes(recommended, hardware_id))

    def open_from(self, strategy: str, hardware_id: str) -> tuple[int, int]:
        """The smallest and the largest number of nodes at which an offered strategy is open."""
        if self.strategies[strategy].deploy_type == "multi_node":
            return self.needed_nodes(strategy, hardware_id), MAX_NODES
        return 1, 1


def _first_number(table: Mapping[str, object], names: Sequence[str]) -> int:
    """The first of the names that stands for a number."""
    return next((value for name in names if isinstance(value := table.get(name), int)), 0)
