"""What every rule of the compiler reads: a recipe beside the vocabulary, with the questions that several rules ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from site_builder.compiler.conditions import cases, listed
from site_builder.compiler.fitting import Fitting, lookup
from site_builder.compiler.grammar import Grammar
from site_builder.compiler.images import image_of
from site_builder.plan import Argument, Condition, Layer
from site_builder.schema.recipe import OmniTask, RecipeFile, StrategyOverride
from site_builder.schema.vocabulary import Advanced, AdvancedWhen, KvStore, Strategy, Taxonomy

ROLES = ("prefill", "decode")

#: The advanced options of a taxonomy that names none.
ADVANCED = (
    Advanced(id="max_batched_8k", args=["--max-num-batched-tokens", "8192"]),
    Advanced(id="max_num_seqs_256", args=["--max-num-seqs", "256"]),
    Advanced(id="gpu_mem_095", args=["--gpu-memory-utilization", "0.95"]),
    Advanced(id="max_model_len_auto", args=["--max-model-len", "auto"]),
    Advanced(id="dcp_8", args=["--decode-context-parallel-size", "8"], when=AdvancedWhen(model="supports_dcp")),
    Advanced(
        id="no_flashinfer_autotune",
        args=["--no-enable-flashinfer-autotune"],
        when=AdvancedWhen(model="flashinfer_autotune"),
    ),
    Advanced(
        id="ep_weight_filter",
        args=["--enable-ep-weight-filter"],
        when=AdvancedWhen(strategies=["single_node_tep", "multi_node_tep", "single_node_dep", "multi_node_dep"]),
    ),
)


@dataclass(frozen=True)
class Context:
    """One recipe to compile. Everything here is derived once and read by many rules."""

    recipe_id: str
    recipe: RecipeFile
    taxonomy: Taxonomy
    strategies: Mapping[str, Strategy]
    kv_stores: Mapping[str, KvStore]
    grammar: Grammar

    @cached_property
    def fitting(self) -> Fitting:
        return Fitting(self.recipe, self.taxonomy, self.strategies)

    @cached_property
    def strategy_ids(self) -> list[str]:
        """The strategies that some hardware offers, in the order in which they are offered."""
        names = {name for hardware in self.fitting.hardware for name in self.fitting.offered(hardware)}
        return sorted(names, key=self.strategy_order)

    def strategy_order(self, name: str) -> int:
        return list(dict.fromkeys([*self.recipe.compatible_strategies, *self.recipe.strategy_hardware])).index(name)

    def of_type(self, deploy_type: str) -> list[str]:
        return [name for name in self.strategy_ids if self.strategies[name].deploy_type == deploy_type]

    @property
    def engines(self) -> list[str]:
        """The strategies whose servers answer requests themselves: all but pools."""
        return [name for name in self.strategy_ids if name != "pd_cluster"]

    def override(self, strategy: str) -> StrategyOverride:
        return self.recipe.strategy_overrides.get(strategy, StrategyOverride())

    @cached_property
    def images(self) -> list[tuple[Condition, str | dict[str, str]]]:
        """The image of every variant and hardware, as cases; a map is one by CUDA build."""
        return cases(
            self.fitting.pairs,
            ("variant", "hardware"),
            lambda variant, name: image_of(self.recipe, variant, (name, self.fitting.profile(name))),
        )

    @cached_property
    def advanced(self) -> list[Advanced]:
        """The site-wide options that this recipe can have, then its own."""
        shared = ADVANCED if self.taxonomy.advanced_options is None else self.taxonomy.advanced_options
        offered = [
            entry for entry in shared if entry.when.model is None or getattr(self.recipe.model, entry.when.model)
        ]
        offered = [entry for entry in offered if self._can_hold(entry)]
        return [*offered, *self.recipe.advanced_options]

    def _can_hold(self, entry: Advanced) -> bool:
        return entry.when.strategies is None or any(name in self.strategy_ids for name in entry.when.strategies)

    @cached_property
    def tasks(self) -> list[OmniTask]:
        return self.recipe.omni.all_tasks if self.recipe.omni else []

    @cached_property
    def offload_conditions(self) -> dict[str, Condition]:
        """For each KV-offload option that this recipe can have, when it is open (3.7)."""
        fitting = self.fitting
        found: dict[str, Condition] = {}
        if self.recipe.omni:
            return found
        for key, entry in self.taxonomy.kv_offload.items():
            if entry.requires_opt_in and self.recipe.kv_offload_support.get(key) != "verified":
                continue
            brands = None if entry.brands is None else [brand.lower() for brand in entry.brands]
            on = [
                name
                for name in fitting.hardware
                if fitting.profile(name).main_generation != "xpu"
                and (brands is None or fitting.profile(name).brand.lower() in brands)
            ]
            under = [name for name in self.engines if entry.strategies is None or name in entry.strategies]
            if on and under:
                found[key] = {
                    **listed("hardware", on, fitting.hardware),
                    **listed("strategy", under, self.strategy_ids),
                }
        for key in self.kv_stores:
            on = [name for name in fitting.hardware if self._store_runs_on(key, name)]
            if on:
                found[key] = listed("hardware", on, fitting.hardware)
        return found

    def _store_runs_on(self, key: str, hardware_id: str) -> bool:
        hardware = self.fitting.profile(hardware_id)
        word = lookup(self.recipe.kv_cache_strategy_hardware.get(key, {}), hardware_id, hardware)
        return hardware.scalable and hardware.brand.lower() in ("nvidia", "amd") and word != "unsupported"

    @cached_property
    def open_stores(self) -> list[str]:
        """The key-value store deployments that this recipe can have."""
        return [key for key in self.offload_conditions if key in self.kv_stores]

    def feature_condition(self, key: str) -> Condition:
        """When a feature has an effect: it is on, under a strategy where it counts, its helper not beside a store."""
        feature = self.recipe.features[key]
        when: Condition = {f"feature.{key}": ["on"]}
        if feature.strategies is not None:
            known = [name for name in feature.strategies if name in self.strategy_ids]
            when = {**when, **listed("strategy", known, self.strategy_ids)}
        return {**when, **self.no_store} if feature.companion else when

    @property
    def no_store(self) -> Condition:
        """The condition that no key-value store is chosen."""
        others = [key for key in self.offload_conditions if key not in self.open_stores]
        return {"kv_offload": ["off", *others]} if self.open_stores else {}

    def offload_env(self, key: str) -> dict[str, str]:
        store = self.kv_stores.get(key)
        return dict(store.vllm.env if store else self.taxonomy.kv_offload[key].env)

    def offload_args(self, key: str) -> list[str]:
        store = self.kv_stores.get(key)
        return list(store.vllm.vllm_args if store else self.taxonomy.kv_offload[key].args)

    def pool_args(self, key: str, role: str) -> list[str]:
        """What a key-value store adds to the servers of a pool; composing options are closed there."""
        store = self.kv_stores.get(key)
        return list(getattr(store.pd, role).args) if store else []

    def groups(self, items: Sequence[str]) -> list[list[str]]:
        """The items of an argument list as flags with their values."""
        return list(self.grammar.split([word for item in items for word in split_words(item)]))

    def arguments(self, items: Sequence[str]) -> list[Argument]:
        return self.grammar.arguments([word for item in items for word in split_words(item)])

    def layer(
        self, origin: str, when: Condition, args: Sequence[str], env: Mapping[str, str] | None = None
    ) -> list[Layer]:
        """One layer, or none where it would say nothing."""
        layer: Layer = {"origin": origin}
        if when:
            layer["when"] = when
        if args:
            layer["args"] = self.arguments(args)
        if env:
            layer["env"] = dict(env)
        return [layer] if args or env else []


def key_of(argument: Argument) -> str | None:
    return str(argument[0]) if isinstance(argument, list) else argument.get("key")


def words_of(argument: Argument) -> list[str]:
    """The words of an argument that came from content: plain text, no numbers to fill in."""
    return [str(token) for token in (argument if isinstance(argument, list) else argument["tokens"])]


def split_words(item: str) -> list[str]:
    """An argument that holds a flag and its value in one item is two words; ``check`` asks the author to write two."""
    if item.startswith("--") and " " in item and "=" not in item.split(" ", 1)[0]:
        return item.split(None, 1)
    return [item]
