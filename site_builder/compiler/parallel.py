"""The parallel sizes that a strategy adds after its own arguments (``docs/recipe-format.md``, section 4, step 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from site_builder.compiler.axes import SEVERAL
from site_builder.compiler.conditions import cases, hardware_cases, listed, only
from site_builder.compiler.context import ROLES, Context, key_of, words_of
from site_builder.compiler.fitting import MAX_NODES, lookup
from site_builder.plan import Argument, Condition, Layer, Token
from site_builder.schema.recipe import Sizes
from site_builder.schema.vocabulary import Hardware

#: A condition on ranks: every node but the first.
FOLLOWERS = [1, MAX_NODES - 1]
DATA_PARALLEL = "--data-parallel-size"


def flag(name: str, *values: Token) -> Argument:
    """An argument that this compiler writes itself; its own spelling is canonical."""
    return [name, *values]


def scaled(*names: str, times: int = 1) -> Token:
    """A number that is known in a selection: the product of axes and facts (``gpus``: the GPUs of one node)."""
    return [{"of": list(names), "times": times} if times != 1 else {"of": list(names)}]


def size_layers(context: Context) -> list[Layer]:
    """The parallel sizes of every strategy.

    At most one strategy is chosen, so those that say the same share a layer.
    """
    pools = [layer for role in ROLES for layer in _pool(context, role)] if "pd_cluster" in context.strategy_ids else []
    return [*_single_node(context), *_multi_node(context), *pools]


def _single_node(context: Context) -> Iterator[Layer]:
    """All GPUs of the node; ``single_node_tp`` takes what the variant needs."""
    fitting, plain = context.fitting, "single_node_tp"
    for name, strategies in _by_flag(context, [name for name in context.of_type("single_node") if name != plain]):
        yield _layer(context, {}, strategies, [flag(name, scaled("gpus"))])
    if plain in context.strategy_ids:
        pairs = [(variant, name) for variant, name in fitting.pairs if plain in fitting.offered(name)]

        def size(variant: str, name: str) -> Token:
            number = tensor_parallel(context, variant, name)
            return scaled("gpus") if number == fitting.profile(name).gpu_count else str(number)

        found: list[tuple[Condition, Token]] = cases(pairs, ("variant", "hardware"), size)
        for condition, token in found:
            yield _layer(context, condition, [plain], [flag(context.strategies[plain].parallel_flag, token)])


def _by_flag(context: Context, strategies: Sequence[str]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for name in strategies:
        groups.setdefault(context.strategies[name].parallel_flag, []).append(name)
    return list(groups.items())


def tensor_parallel(context: Context, variant_key: str, hardware_id: str) -> int:
    """The tensor parallel size of ``single_node_tp``.

    What the variant or the recipe says, else one GPU if the model fits, else all.
    """
    hardware, variant = context.fitting.profile(hardware_id), context.recipe.variants[variant_key]
    for sizes in (variant.tp, context.override("single_node_tp").tp):
        size = _size(sizes, hardware_id, hardware)
        if size is not None:
            return size if hardware.main_generation == "cpu" else min(size, hardware.gpu_count)
    return 1 if variant.vram_minimum_gb <= hardware.gb_per_gpu else hardware.gpu_count


def _size(sizes: Sizes | None, hardware_id: str, hardware: Hardware) -> int | None:
    return lookup(sizes, hardware_id, hardware) if isinstance(sizes, dict) else sizes


def _kind(context: Context, strategy: str) -> str:
    """How a multi-node strategy spreads a model: tp, tp_pp, tp_dp or dep."""
    spec = context.strategies[strategy]
    return spec.parallelism or ("dep" if spec.parallel_flag == DATA_PARALLEL else "tp")


#: What every kind of multi-node strategy adds on every node, before the address where the nodes meet.
_SIZES: dict[str, list[Argument]] = {
    "tp": [flag("--tensor-parallel-size", scaled("nodes", "gpus"))],
    "tp_pp": [flag("--tensor-parallel-size", scaled("gpus")), flag("--pipeline-parallel-size", scaled("nodes"))],
    "tp_dp": [
        flag("--tensor-parallel-size", scaled("gpus")),
        flag(DATA_PARALLEL, scaled("nodes")),
        flag("--data-parallel-size-local", "1"),
    ],
    "dep": [flag(DATA_PARALLEL, scaled("nodes", "gpus")), flag("--data-parallel-size-local", scaled("gpus"))],
}
_RANKED = [flag("--nnodes", scaled("nodes")), flag("--node-rank", scaled("rank"))]


def _multi_node(context: Context) -> Iterator[Layer]:
    """Sizes, then the address where the nodes meet, then what only followers are told."""
    kinds: dict[str, list[str]] = {}
    for name in context.of_type("multi_node"):
        kinds.setdefault(_kind(context, name), []).append(name)
    for kind, strategies in kinds.items():
        yield _layer(context, {}, strategies, _SIZES[kind])
    workers = [name for kind in ("tp", "tp_pp") for name in kinds.get(kind, [])]
    replicas = [name for kind in ("tp_dp", "dep") for name in kinds.get(kind, [])]
    if workers:
        yield _layer(context, {}, workers, _RANKED)
        yield from _meeting(context, workers, "--master-addr")
        yield _layer(context, {"rank": FOLLOWERS}, workers, [flag("--headless")])
    if replicas:
        yield from _meeting(context, replicas, "--data-parallel-address")
        for name in replicas:
            local = _local_size(context, name) if _kind(context, name) == "dep" else 1
            start = scaled("rank", "gpus") if local is None else scaled("rank", times=local)
            yield _layer(context, {"rank": FOLLOWERS}, [name], [flag("--data-parallel-start-rank", start)])


def _meeting(context: Context, strategies: list[str], name: str) -> Iterator[Layer]:
    """The head's address; with several instances around a key-value store each instance has its own."""
    yield _layer(context, {}, strategies, [flag(name, "$HEAD_IP")])
    if context.open_stores:
        own: Token = ["$VLLM_INSTANCE_", {"of": ["instance"], "plus": 1}]
        yield _layer(context, {"kv_instances": SEVERAL}, strategies, [flag(name, own)])


def _local_size(context: Context, strategy: str) -> int | None:
    """The last ``--data-parallel-size-local`` that the recipe's overrides of the strategy give."""
    override = context.override(strategy)
    found = None
    for argument in context.arguments([*override.extra_args, *override.vllm_args]):
        if key_of(argument) == "--data-parallel-size-local":
            found = int(words_of(argument)[-1].split("=")[-1])
    return found


def _pool(context: Context, role: str) -> Iterator[Layer]:
    """The sizes of one pool of a pd_cluster, in each of its modes."""
    yield from _expert_pool(context, role)
    yield from _tensor_pool(context, role)


def _expert_pool(context: Context, role: str) -> Iterator[Layer]:
    """Mode dep: data parallel ranks on every node, experts spread over all of them."""
    size, nodes, first = _pool_tensor_parallel(context, role), f"{role}_nodes", f"${role.upper()}_NODE_1"
    fitting, when = context.fitting, {"role": [role], f"{role}_mode": ["dep"]}

    def local(name: str) -> list[str | int]:
        gpus = fitting.profile(name).gpu_count
        return ["gpus"] if not size else [max(1, gpus // size)]

    for condition, (number,) in hardware_cases(fitting.offering("pd_cluster"), local):
        names, times = (["gpus"], 1) if isinstance(number, str) else ([], number)
        ranks = scaled(*names, times=times) if names else str(number)
        sizes = [
            *([flag("--tensor-parallel-size", str(size))] if size else []),
            flag(DATA_PARALLEL, scaled(nodes, *names, times=times)),
            flag("--data-parallel-size-local", ranks),
            flag("--data-parallel-start-rank", scaled("rank", *names, times=times)),
        ]
        yield _layer(context, {**when, **condition}, ["pd_cluster"], sizes)
    meeting = [flag("--data-parallel-address", first), flag("--data-parallel-rpc-port", f"${role.upper()}_DP_RPC_PORT")]
    yield _layer(context, when, ["pd_cluster"], meeting)
    yield _layer(context, only(when, **{nodes: SEVERAL}), ["pd_cluster"], [flag("--data-parallel-hybrid-lb")])
    yield _layer(context, when, ["pd_cluster"], [flag("--enable-expert-parallel")])


def _tensor_pool(context: Context, role: str) -> Iterator[Layer]:
    """Modes tp and tep: one replica over all GPUs of the pool."""
    spec, mode, nodes = context.strategies["pd_cluster"], f"{role}_mode", f"{role}_nodes"
    own = getattr(context.override("pd_cluster"), role).parallel_flag
    name = own or getattr(spec, role).parallel_flag or spec.parallel_flag
    when: Condition = {"role": [role], mode: ["tp", "tep"]}
    yield _layer(context, when, ["pd_cluster"], [flag(name, scaled(nodes, "gpus"))])
    yield _layer(context, only(when, **{mode: ["tep"]}), ["pd_cluster"], [flag("--enable-expert-parallel")])
    several = only(when, **{nodes: SEVERAL})
    meeting = [
        flag("--nnodes", scaled(nodes)),
        flag("--node-rank", scaled("rank")),
        flag("--master-addr", f"${role.upper()}_NODE_1"),
    ]
    yield _layer(context, several, ["pd_cluster"], meeting)
    yield _layer(context, only(several, rank=FOLLOWERS), ["pd_cluster"], [flag("--headless")])


def _pool_tensor_parallel(context: Context, role: str) -> int | None:
    own: int | None = getattr(context.override("pd_cluster"), role).tp
    shared: int | None = getattr(context.strategies["pd_cluster"], role).tp
    return own or shared


def local_size(context: Context, role: str, gpus: int) -> int:
    """The data parallel ranks on one node of a dep pool."""
    return max(1, gpus // (_pool_tensor_parallel(context, role) or 1))


def _layer(context: Context, when: Condition, strategies: list[str], args: list[Argument]) -> Layer:
    layer: Layer = {"origin": "strategies/{strategy}.yaml: sizes", "args": args}
    condition = {**when, **listed("strategy", strategies, context.strategy_ids)}
    return {**layer, "when": condition} if condition else layer
