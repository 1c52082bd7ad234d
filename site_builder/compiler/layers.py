"""Every source of arguments and variables, as layers (``docs/recipe-format.md``, sections 4 and 5)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from site_builder.compiler.axes import SEVERAL
from site_builder.compiler.conditions import Result, cases, hardware_cases, listed, only
from site_builder.compiler.context import ROLES, Context
from site_builder.compiler.fitting import generation_entry, lookup
from site_builder.compiler.parallel import size_layers
from site_builder.plan import Condition, Layer, Token
from site_builder.schema.recipe import Feature, HardwareOverride, Mode

#: Variables that only the NVLink-joined racks of Grace-Blackwell understand under pd_cluster.
RACK_ONLY_VARIABLES = (
    "VLLM_USE_NCCL_SYMM_MEM",
    "NCCL_CUMEM_ENABLE",
    "NCCL_MNNVL_ENABLE",
    "NCCL_NVLS_ENABLE",
    "UCX_NET_DEVICES",
)
RACKS = ("gb200", "gb300")
#: The variable that shows a process its GPUs, by brand; others have none.
VISIBLE_DEVICES = {"nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES"}


def model_layers(context: Context) -> list[Layer]:
    model = context.recipe.model
    return context.layer("model.base_args", {}, model.base_args) + context.layer(
        "model.base_env", {}, [], model.base_env
    )


def variant_layers(context: Context) -> list[Layer]:
    """A variant's arguments, then those of its block for one exact hardware id."""
    layers = []
    for key in context.fitting.variants:
        variant = context.recipe.variants[key]
        chosen = listed("variant", [key], context.fitting.variants)
        layers += context.layer(f"variants.{key}", chosen, variant.extra_args, variant.extra_env)
        layers += exact_variant_layers(context, key)
    return layers


def exact_variant_layers(context: Context, key: str) -> list[Layer]:
    """A variant's blocks by exact hardware id."""
    layers, chosen = [], listed("variant", [key], context.fitting.variants)
    for name in context.fitting.runs_on[key]:
        block = context.recipe.variants[key].hardware_overrides.get(name)
        if block:
            origin = f"variants.{key}.hardware_overrides.{name}"
            layers += context.layer(origin, only(chosen, hardware=[name]), block.extra_args, block.extra_env)
    return layers


def strategy_layers(context: Context) -> list[Layer]:
    """A strategy's own arguments and variables, then its parallel sizes."""
    layers = []
    for name in context.strategy_ids:
        spec, chosen = context.strategies[name], _chosen(context, name)
        if spec.deploy_type == "pd_cluster":
            for role in ROLES:
                block = getattr(spec, role)
                layers += context.layer(
                    f"strategies/{name}.yaml: {role}", only(chosen, role=[role]), block.vllm_args, block.env
                )
        else:
            layers += context.layer(f"strategies/{name}.yaml", chosen, spec.vllm_args, spec.env)
    return layers + size_layers(context)


def _chosen(context: Context, strategy: str) -> Condition:
    return listed("strategy", [strategy], context.strategy_ids)


def offload_env_layers(context: Context) -> list[Layer]:
    """Variables of the KV-offload option; they come before the overrides although its arguments come last."""
    return _by_option(context, {}, lambda key: ([], context.offload_env(key)))


def _by_option(
    context: Context, when: Condition, content: Callable[[str], tuple[list[str], dict[str, str]]]
) -> list[Layer]:
    """A layer for each KV-offload option; store deployments that say the same share one."""
    shared: dict[str, list[str]] = {}
    for key in context.offload_conditions:
        shared.setdefault(json.dumps(content(key)), []).append(key)
    layers = []
    for keys in shared.values():
        args, env = content(keys[0])
        origin = (
            "kv_store/{kv_offload}.yaml" if keys[0] in context.kv_stores else "taxonomy.yaml: kv_offload.{kv_offload}"
        )
        layers += context.layer(origin, {"kv_offload": keys, **when}, args, env)
    return layers


def pool_env_layers(context: Context) -> list[Layer]:
    """The GPUs that a node of a pool sees, and the network that pools of several nodes use."""
    fitting = context.fitting
    on = fitting.offering("pd_cluster")
    layers: list[Layer] = []

    def visible(name: str) -> dict[str, str] | None:
        profile = fitting.profile(name)
        variable = VISIBLE_DEVICES.get(profile.brand.lower())
        return {variable: ",".join(map(str, range(profile.gpu_count)))} if variable else None

    for condition, env in hardware_cases(on, visible):
        when = only(condition, strategy=["pd_cluster"], role=ROLES)
        layers += context.layer("strategies/pd_cluster.yaml: GPUs of the node", when, [], env)
    for role in ROLES if on else ():
        when = {"strategy": ["pd_cluster"], "role": [role], f"{role}_nodes": SEVERAL}
        env = {"GLOO_SOCKET_IFNAME": "$IFACE_NAME", "NCCL_SOCKET_IFNAME": "$IFACE_NAME"}
        layers += context.layer("strategies/pd_cluster.yaml: several nodes", when, [], env)
    return layers


def strategy_override_layers(context: Context) -> list[Layer]:
    layers = []
    for name in context.strategy_ids:
        override, chosen, origin = context.override(name), _chosen(context, name), f"strategy_overrides.{name}"
        if context.strategies[name].deploy_type != "pd_cluster":
            layers += context.layer(
                origin, chosen, [*override.extra_args, *override.vllm_args], {**override.env, **override.extra_env}
            )
            continue
        layers += context.layer(origin, chosen, [], override.env)
        for role in ROLES:
            block = getattr(override, role)
            args = [*block.extra_args, *block.vllm_args]
            layers += context.layer(f"{origin}.{role}", only(chosen, role=[role]), args, block.env)
    return layers


def hardware_override_layers(context: Context) -> list[Layer]:
    """Step 5.

    The strategy's block by generation, else the recipe's and the variant's; then the strategy's by exact id.
    """
    layers = []
    for name in context.strategy_ids:
        layers += _strategy_hardware(context, name)
    layers += recipe_hardware_layers(context)
    layers += variant_hardware_layers(context)
    for name in context.strategy_ids:
        layers += _exact_hardware(context, name)
    return layers


def _strategy_hardware(context: Context, strategy: str) -> list[Layer]:
    table = context.override(strategy).hardware_overrides
    origin = f"strategy_overrides.{strategy}.hardware_overrides"
    return _generation_layers(context, (origin, table), _chosen(context, strategy), context.fitting.pairs)


def recipe_hardware_layers(context: Context) -> list[Layer]:
    """The recipe's block, under the strategies that have none of their own for this hardware."""
    layers = []
    for when, names in _unreplaced(context):
        pairs = [pair for pair in context.fitting.pairs if pair[1] in names]
        layers += _generation_layers(context, ("hardware_overrides", context.recipe.hardware_overrides), when, pairs)
    return layers


def variant_hardware_layers(context: Context) -> list[Layer]:
    """The variants' blocks by generation, under the same strategies."""
    layers = []
    for when, names in _unreplaced(context):
        for key in context.fitting.variants:
            pairs = [pair for pair in context.fitting.pairs if pair[0] == key and pair[1] in names]
            table = context.recipe.variants[key].hardware_overrides
            layers += _generation_layers(context, (f"variants.{key}.hardware_overrides", table), when, pairs)
    return layers


def _unreplaced(context: Context) -> list[tuple[Condition, list[str]]]:
    """
    Hardware grouped by the strategies (as a condition) under which the recipe's and the variant's blocks count there.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in context.fitting.hardware:
        profile = context.fitting.profile(name)
        kept = tuple(
            strategy
            for strategy in context.strategy_ids
            if generation_entry(context.override(strategy).hardware_overrides, profile) is None
        )
        groups.setdefault(kept, []).append(name)
    return [(listed("strategy", kept, context.strategy_ids), names) for kept, names in groups.items()]


def _generation_layers(
    context: Context,
    named: tuple[str, Mapping[str, HardwareOverride]],
    when: Condition,
    pairs: Sequence[tuple[str, str]],
) -> list[Layer]:
    """The blocks of a table by generation, without what the variant's block for the exact hardware id sets itself."""
    origin, table = named

    def content(variant: str, name: str) -> tuple[str, list[str], dict[str, str]] | None:
        profile = context.fitting.profile(name)
        block = generation_entry(table, profile)
        if block is None:
            return None
        exact = context.recipe.variants[variant].hardware_overrides.get(name)
        key = profile.main_generation if profile.main_generation in table else "nvidia"
        return (key, *_without(context, block, exact))

    layers = []
    for condition, (key, args, env) in cases(context.fitting.pairs, ("variant", "hardware"), _within(pairs, content)):
        layers += context.layer(f"{origin}.{key}", {**condition, **when}, args, env)
    return layers


def _within(
    pairs: Sequence[tuple[str, str]], rule: Callable[[str, str], Result | None]
) -> Callable[[str, str], Result | None]:
    """A rule that says nothing outside of these pairs."""
    return lambda first, second: rule(first, second) if (first, second) in pairs else None


def _without(
    context: Context, block: HardwareOverride, exact: HardwareOverride | None
) -> tuple[list[str], dict[str, str]]:
    """The block's arguments and variables without those that the exact block sets."""
    if exact is None:
        return list(block.extra_args), dict(block.extra_env)
    taken = {context.grammar.key(group[0]) for group in context.groups(exact.extra_args)} - {None}
    kept = [
        word
        for group in context.groups(block.extra_args)
        if context.grammar.key(group[0]) not in taken
        for word in group
    ]
    return kept, {name: value for name, value in block.extra_env.items() if name not in exact.extra_env}


def _exact_hardware(context: Context, strategy: str) -> list[Layer]:
    layers, override, chosen = [], context.override(strategy), _chosen(context, strategy)
    for name in context.fitting.hardware:
        block = override.hardware_overrides.get(name)
        if block:
            origin = f"strategy_overrides.{strategy}.hardware_overrides.{name}"
            layers += context.layer(origin, only(chosen, hardware=[name]), block.extra_args, block.extra_env)
        if context.strategies[strategy].deploy_type != "pd_cluster":
            continue
        for role in ROLES:
            block = getattr(override, role).hardware_overrides.get(name)
            if block:
                origin = f"strategy_overrides.{strategy}.{role}.hardware_overrides.{name}"
                layers += context.layer(
                    origin, only(chosen, hardware=[name], role=[role]), block.extra_args, block.extra_env
                )
    return layers


def advanced_layers(context: Context) -> list[Layer]:
    own = {entry.id for entry in context.recipe.advanced_options}
    layers = []
    for entry in context.advanced:
        origin = f"advanced_options.{entry.id}" if entry.id in own else f"taxonomy.yaml: advanced_options.{entry.id}"
        layers += context.layer(origin, {f"advanced.{entry.id}": ["on"]}, entry.args)
    return layers


def feature_layers(context: Context) -> list[Layer]:
    layers = []
    for key, feature in context.recipe.features.items():
        when = context.feature_condition(key)
        if feature.modes:
            for mode, block in feature.modes.items():
                layers += _mode_layers(
                    context, f"features.{key}.modes.{mode}", only(when, **{f"mode.{key}": [mode]}), block
                )
        else:
            layers += _plain_feature(context, f"features.{key}", when, feature)
    return layers


def _plain_feature(context: Context, origin: str, when: Condition, feature: Feature) -> list[Layer]:
    def args(name: str) -> list[str]:
        block = generation_entry(feature.hardware_overrides, context.fitting.profile(name))
        return feature.args if block is None else block.args

    return _by_hardware(context, origin, when, args)


def _mode_layers(context: Context, origin: str, when: Condition, mode: Mode) -> list[Layer]:
    def args(name: str) -> list[str]:
        block = lookup(mode.hardware_overrides, name, context.fitting.profile(name))
        return mode.args if block is None else block.args

    return _by_hardware(context, origin, when, args)


def _by_hardware(context: Context, origin: str, when: Condition, args: Callable[[str], list[str]]) -> list[Layer]:
    return [
        layer
        for condition, words in hardware_cases(context.fitting.hardware, args)
        for layer in context.layer(origin, {**when, **condition}, words)
    ]


def offload_layers(context: Context) -> list[Layer]:
    """Arguments of the KV-offload option; a key-value store has its own for the pools of a pd_cluster."""
    engines = listed("strategy", context.engines, context.strategy_ids)
    layers = _by_option(context, engines, lambda key: (context.offload_args(key), {}))
    for role in ROLES if "pd_cluster" in context.strategy_ids else ():
        when: Condition = {"strategy": ["pd_cluster"], "role": [role]}
        layers += _by_option(context, when, partial(_pool_content, context, role))
    return layers


def _pool_content(context: Context, role: str, key: str) -> tuple[list[str], dict[str, str]]:
    return context.pool_args(key, role), {}


def finish_pools(context: Context, layers: list[Layer]) -> list[Layer]:
    """The last rules of pd_cluster.

    A follower of a dep pool names its own address, and variables for racks go elsewhere.
    """
    if "pd_cluster" not in context.strategy_ids:
        return layers
    finished = []
    for layer in layers:
        finished.append(layer)
        for role in ROLES:
            first = f"${role.upper()}_NODE_1"
            own: Token = [f"${role.upper()}_NODE_", {"of": ["rank"], "plus": 1}]
            env = {name: own for name, value in layer.get("env", {}).items() if value == first}
            if env:
                when = only(layer.get("when", {}), role=[role], **{f"{role}_mode": ["dep"]})
                finished.append({"origin": layer["origin"], "when": when, "env": {**env}})
    set_somewhere = {name for layer in layers for name in layer.get("env", {})}
    dropped = [name for name in RACK_ONLY_VARIABLES if name in set_somewhere]
    elsewhere = [name for name in context.fitting.hardware if name not in RACKS]
    if dropped and elsewhere:
        when = {"strategy": ["pd_cluster"], **listed("hardware", elsewhere, context.fitting.hardware)}
        finished.append({"origin": "only on gb200 and gb300", "when": when, "env": dict.fromkeys(dropped)})
    return finished
