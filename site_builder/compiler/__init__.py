"""From a recipe and the vocabulary to a plan. Only this package knows the flags and variables of the served program."""

from __future__ import annotations

from collections.abc import Mapping

from site_builder.compiler.axes import EXCLUSIVE, all_axes
from site_builder.compiler.context import Context
from site_builder.compiler.facts import fact_layers
from site_builder.compiler.fitting import why_not
from site_builder.compiler.grammar import Grammar
from site_builder.compiler.layers import (
    advanced_layers,
    feature_layers,
    finish_pools,
    hardware_override_layers,
    model_layers,
    offload_env_layers,
    offload_layers,
    pool_env_layers,
    strategy_layers,
    strategy_override_layers,
    variant_layers,
)
from site_builder.compiler.omni import OMNI_PROCESSES, omni_facts, omni_program
from site_builder.compiler.processes import SERVE, processes, router_programs
from site_builder.errors import ContentError, Problem
from site_builder.plan import Layer, Plan, Program
from site_builder.schema.recipe import RecipeFile
from site_builder.schema.vocabulary import KvStore, Strategy, Taxonomy

#: Later layers win. This order is the whole precedence rule.
LAYERS = (
    model_layers,
    variant_layers,
    strategy_layers,
    offload_env_layers,
    pool_env_layers,
    strategy_override_layers,
    hardware_override_layers,
    advanced_layers,
    feature_layers,
    offload_layers,
)


#: The arguments that tell how a model is spread over GPUs, by their usual short names.
SIZES = {
    "--tensor-parallel-size": "TP",
    "--pipeline-parallel-size": "PP",
    "--data-parallel-size": "DP",
    "--enable-expert-parallel": "EP",
}


#: The arguments that change how much memory is left for the cache.
MEMORY = {
    "--kv-cache-dtype": "cache",
    "--gpu-memory-utilization": "utilisation",
    "--max-model-len": "context",
    "--decode-context-parallel-size": "DCP",
}


def compile_plan(
    recipe_id: str,
    recipe: RecipeFile,
    vocabulary: tuple[Taxonomy, Mapping[str, Strategy], Mapping[str, KvStore]],
    grammar: Grammar,
) -> Plan:
    """The plan of a recipe.

    Raises ContentError where no selection can exist: no variant runs on any hardware that a strategy can use.
    """
    context = Context(recipe_id, recipe, *vocabulary, grammar)
    if not context.fitting.pairs:
        raise ContentError([Problem(f"models/{recipe_id}.yaml", 0, _nothing_runs(context))])
    rivals = [f"feature.{key}" for key in EXCLUSIVE if key in recipe.features]
    omni = recipe.omni is not None
    return {
        "id": recipe_id,
        "axes": all_axes(context),
        "exclusive": [rivals] if len(rivals) == 2 and not omni else [],
        "facts": [*fact_layers(context), *(omni_facts(context) if omni else [])],
        "programs": {"vllm": omni_program(context)} if omni else {"vllm": _vllm(context), **router_programs(context)},
        "processes": OMNI_PROCESSES if omni else processes(context),
        "port": {"key": "--port", "default": "8000"},
        "served_name": "--served-model-name",
        "sizes": SIZES,
        "memory": MEMORY,
    }


def _vllm(context: Context) -> Program:
    layers: list[Layer] = [layer for rule in LAYERS for layer in rule(context)]
    return {"start": SERVE, "indent": 2, "layers": finish_pools(context, layers)}


def _nothing_runs(context: Context) -> str:
    profiles = context.taxonomy.hardware_profiles.items()
    reasons = {why_not(context.recipe, context.recipe.variants["default"], name, profile) for name, profile in profiles}
    if None in reasons:
        return "no strategy is offered; name at least one in compatible_strategies that some hardware can use"
    return f"no hardware can run this recipe: {sorted(reason for reason in reasons if reason)[0]}"


__all__ = ["LAYERS", "Grammar", "compile_plan"]
