"""The choices of a recipe as axes, in the order in which they are settled (``docs/recipe-format.md``, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypedDict, Unpack, cast

from site_builder.compiler.conditions import cases, listed, only
from site_builder.compiler.context import ROLES, Context
from site_builder.compiler.fitting import MAX_NODES, POOL_MODES, lookup
from site_builder.plan import Axis, Condition, Preference
from site_builder.schema.recipe import Feature, Mode
from site_builder.schema.vocabulary import Hardware

#: A condition on a number axis: two or more.
SEVERAL = [2, MAX_NODES]
#: Two features of which only one can be on.
EXCLUSIVE = ("text_only", "encoder_parallel")

Opens = Mapping[str, list[Condition] | None]


class _Extra(TypedDict, total=False):
    when: list[Condition]
    member: str
    guided: str
    beyond: list[str]
    parameter: str


def named(axis_id: str, opens: Opens, prefer: list[Preference], **extra: Unpack[_Extra]) -> Axis:
    """An axis of names; a name is open where one of its conditions holds, and always if one of them says nothing."""
    axis: Axis = {"id": axis_id, "options": list(opens)}
    axis.update(cast(Axis, extra))
    conditional = {value: when for value, when in opens.items() if when is not None and {} not in when}
    if conditional:
        axis["open"] = conditional
    if prefer and not (prefer[0] == axis["options"][0] and not conditional):
        axis["prefer"] = prefer
    return axis


def numbers(
    axis_id: str, spans: list[tuple[int, int, Condition]], prefer: list[Preference], when: list[Condition] | None = None
) -> Axis:
    """An axis of numbers, from the smallest of the spans to the largest."""
    axis: Axis = {"id": axis_id, "spans": spans}
    if when is not None:
        axis["when"] = when
    if prefer:
        axis["prefer"] = prefer
    return axis


def prefer(value: str, condition: Condition) -> Preference:
    return (value, condition) if condition else value


def ranks(axis_id: str, counter: str, when: list[Condition]) -> Axis:
    """Which of several processes is shown first: 0 up to what the counting axis has."""
    return {**numbers(axis_id, [(0, MAX_NODES - 1, {})], [], when), "below": counter}


def variant_axis(context: Context) -> Axis:
    """3.1. An asked hardware guides the choice: the largest variant that runs there, when the default one does not."""
    fitting = context.fitting
    by_size = sorted(fitting.variants, key=lambda key: -fitting.recipe.variants[key].vram_minimum_gb)
    guided: list[Preference] = [
        (key, {"hardware": fitting.runs_on[key]})
        for key in dict.fromkeys(["default", *by_size])
        if key in fitting.variants
    ]
    if len(fitting.variants) == 1:
        return named("variant", dict.fromkeys(fitting.variants), [])
    return named("variant", dict.fromkeys(fitting.variants), [*guided, "default"], guided="hardware")


def hardware_axis(context: Context) -> Axis:
    """3.2."""
    fitting = context.fitting
    opens = {
        name: [listed("variant", [key for key in fitting.variants if name in fitting.runs_on[key]], fitting.variants)]
        for name in fitting.hardware
    }
    orders = {key: fitting.hardware_order(key) for key in fitting.variants}
    common = fitting.hardware_order(fitting.variants[0])
    first: list[Preference] = []
    for key, order in orders.items():
        if order != common:
            first += [
                (name, {"variant": [key]}) for name in order if key in fitting.variants and name in fitting.runs_on[key]
            ][:1]
    return named("hardware", opens, [*first, *common])


def nodes_axis(context: Context) -> Axis:
    """3.3. Under an asked pd_cluster the count is 1, whatever the default would be: its pools have their own sizes."""
    fitting = context.fitting
    starts: dict[tuple[int, int], list[str]] = {}
    for name in fitting.hardware:
        opened = {fitting.open_from(strategy, name) for strategy in fitting.offered(name)}
        if any(end == 1 for _, end in opened):
            starts.setdefault((1, 1), []).append(name)
        several = [start for start, end in opened if end > 1]
        if several:
            starts.setdefault((min(several), MAX_NODES), []).append(name)
    spans = [(low, high, listed("hardware", on, fitting.hardware)) for (low, high), on in sorted(starts.items())]
    pools_on = fitting.offering("pd_cluster")
    chosen: list[Preference] = []
    defaults = [
        (count, when)
        for when, count in cases(fitting.pairs, ("variant", "hardware"), fitting.default_nodes)
        if count > 1
    ]
    if pools_on and defaults:
        chosen.append(("1", {"strategy": ["pd_cluster"], **listed("hardware", pools_on, fitting.hardware)}))
    chosen += [prefer(str(count), when) for count, when in defaults]
    axis = numbers("nodes", spans, chosen)
    return {**axis, "guided": "strategy"} if pools_on and defaults else axis


def strategy_axis(context: Context) -> Axis:
    """3.4."""
    fitting = context.fitting
    opens: dict[str, list[Condition] | None] = {}
    for name in context.strategy_ids:
        spans: dict[tuple[int, int], list[str]] = {}
        for hardware in fitting.hardware:
            if name in fitting.offered(hardware):
                spans.setdefault(fitting.open_from(name, hardware), []).append(hardware)
        opens[name] = [
            {**listed("hardware", on, fitting.hardware), "nodes": [low, high]} for (low, high), on in spans.items()
        ]
    chosen = [*_preferences(context, 2, {"nodes": SEVERAL}), *_preferences(context, 1, {})]
    return named("strategy", opens, chosen, beyond=["nodes"])


def _preferences(context: Context, nodes: int, when: Condition) -> list[Preference]:
    """The recommended strategies; where hardware differs in what it offers, the orders differ too."""
    fitting = context.fitting
    orders: dict[tuple[str, ...], list[str]] = {}
    for hardware in fitting.hardware:
        wanted = [
            name
            for name in fitting.preferred(hardware, nodes)
            if (fitting.open_from(name, hardware)[1] > 1) == (nodes > 1)
        ]
        orders.setdefault(tuple(wanted), []).append(hardware)
    longest = max(orders, key=len, default=())
    if all(list(order) == [name for name in longest if name in order] for order in orders):
        return [prefer(name, when) for name in longest]
    return [(name, {**when, "hardware": on}) for order, on in orders.items() for name in order]


def pool_axes(context: Context) -> Iterator[Axis]:
    """3.5: for each pool its mode, its nodes, and the rank that is shown first."""
    fitting = context.fitting
    on = fitting.offering("pd_cluster")
    if not on:
        return
    exists: list[Condition] = [{"strategy": ["pd_cluster"]}]
    modes = {name: fitting.pool_modes(name) for name in on}
    known = [mode for mode in POOL_MODES if any(mode in offered for offered in modes.values())]
    opens: Opens = {mode: [listed("hardware", [name for name in on if mode in modes[name]], on)] for mode in known}
    for role in ROLES:
        yield named(f"{role}_mode", opens, [*fitting.preferred_pool_modes(role)], when=exists)
        yield _pool_nodes(context, role, on)
    for role in ROLES:
        yield ranks(f"{role}_rank", f"{role}_nodes", exists)


def _pool_nodes(context: Context, role: str, on: list[str]) -> Axis:
    """A default below the floor of the mode is closed; the first open number is then the floor itself."""
    fitting = context.fitting
    pairs = [(mode, name) for name in on for mode in fitting.pool_modes(name)]
    floors = cases(pairs, (f"{role}_mode", "hardware"), lambda mode, name: fitting.pool_floor(mode, name))
    defaults = cases(
        [(variant, name) for variant, name in fitting.pairs if name in on],
        ("variant", "hardware"),
        lambda variant, name: fitting.default_pool_nodes(variant, name, role),
    )
    chosen = [prefer(str(count), condition) for condition, count in defaults]
    spans = [(floor, MAX_NODES, condition) for condition, floor in floors]
    return {**numbers(f"{role}_nodes", spans, chosen, [{"strategy": ["pd_cluster"]}]), "raises": True}


def feature_axes(context: Context) -> Iterator[Axis]:
    """3.6: a switch for each feature, and its mode where it has several."""
    for key, feature in context.recipe.features.items():
        open_modes = {mode: _mode_conditions(context, feature, block) for mode, block in feature.modes.items()}
        on = _feature_conditions(context, key, feature, open_modes)
        switched = [name for name, variant in context.recipe.variants.items() if key in variant.default_modes]
        switched = [name for name in switched if name in context.fitting.variants]
        chosen: list[Preference] = []
        if switched:
            chosen.append(prefer("on", listed("variant", switched, context.fitting.variants)))
        opted_out = [name for name, keys in context.recipe.hardware_opt_in_features.items() if key in keys]
        opted_out = [name for name in opted_out if name in context.fitting.hardware]
        if opted_out:
            chosen.append(prefer("off", listed("hardware", opted_out, context.fitting.hardware)))
        chosen.append("off" if key in context.recipe.opt_in_features else "on")
        yield named(f"feature.{key}", {"off": None, "on": on}, chosen, parameter="features", member=key)
        if feature.modes:
            yield _mode_axis(context, key, feature, open_modes)


def _feature_conditions(
    context: Context, key: str, feature: Feature, open_modes: dict[str, list[Condition]]
) -> list[Condition] | None:
    """When a feature can be on: its hardware is not closed, a mode is open, its rival is off."""
    fitting = context.fitting
    closed = _closed_hardware(context, feature.hardware)
    base: Condition = listed("hardware", [name for name in fitting.hardware if name not in closed], fitting.hardware)
    earlier, later = EXCLUSIVE
    rivals = [name for name in context.recipe.features if name in (earlier, later)]
    if len(rivals) == 2 and key == rivals[1]:
        base = only(base, **{f"feature.{rivals[0]}": ["off"]})
    if not open_modes:
        return [base]
    return [_both(base, condition) for conditions in open_modes.values() for condition in conditions]


def _both(one: Condition, other: Condition) -> Condition:
    """Both conditions; an axis that both name keeps the values that both list."""
    merged = {**one, **other}
    for name in one.keys() & other.keys():
        merged[name] = [str(value) for value in one[name] if value in other[name]]
    return merged


def _mode_conditions(context: Context, feature: Feature, mode: Mode) -> list[Condition]:
    fitting = context.fitting
    closed = _closed_hardware(context, mode.hardware)
    variants = (
        fitting.variants if mode.variants is None else [name for name in mode.variants if name in fitting.variants]
    )
    return [
        {
            **listed("variant", variants, fitting.variants),
            **listed("hardware", [name for name in fitting.hardware if name not in closed], fitting.hardware),
        }
    ]


def _closed_hardware(context: Context, table: Mapping[str, str]) -> set[str]:
    """Hardware that a map by exact id or generation closes; the exact id wins."""

    def word(name: str, profile: Hardware) -> str | None:
        return lookup(table, name, profile)

    return {name for name in context.fitting.hardware if word(name, context.fitting.profile(name)) == "unsupported"}


def _mode_axis(context: Context, key: str, feature: Feature, opens: Opens) -> Axis:
    chosen: list[Preference] = [
        prefer(variant.default_modes[key], listed("variant", [name], context.fitting.variants))
        for name, variant in context.recipe.variants.items()
        if key in variant.default_modes and name in context.fitting.variants
    ]
    if feature.default_mode:
        chosen.append(feature.default_mode)
    return named(f"mode.{key}", opens, chosen, when=[{f"feature.{key}": ["on"]}], parameter="fmode", member=key)


def offload_axes(context: Context) -> Iterator[Axis]:
    """3.7.

    Off, the composing options, the key-value store deployments; then how many instances and which one is shown first.
    """
    opens: Opens = {"off": None, **{key: [when] for key, when in context.offload_conditions.items()}}
    yield named("kv_offload", opens, ["off"])
    if not context.open_stores or not context.engines:
        return
    exists: list[Condition] = [
        {"kv_offload": context.open_stores, **listed("strategy", context.engines, context.strategy_ids)}
    ]
    chosen: list[Preference] = [
        (str(context.kv_stores[key].default_instances), {"kv_offload": [key]}) for key in context.open_stores
    ]
    yield numbers("kv_instances", [(1, MAX_NODES, {})], chosen, exists)
    yield ranks("kv_instance", "kv_instances", exists)


def advanced_axes(context: Context) -> Iterator[Axis]:
    """3.8: a switch for each option that this recipe can have."""
    for entry in context.advanced:
        strategies = entry.when.strategies
        on: list[Condition] | None = (
            None
            if strategies is None
            else [{"strategy": [name for name in strategies if name in context.strategy_ids]}]
        )
        yield named(f"advanced.{entry.id}", {"off": None, "on": on}, ["off"], parameter="advanced", member=entry.id)


def task_axis(context: Context) -> Axis:
    """3.9."""
    return named("task", {task.name: None for task in context.tasks}, [])


def view_axes(context: Context) -> Iterator[Axis]:
    """How the result is shown and which build of the image is meant: ``install`` and ``cuda``."""
    yield named("install", {"pip": None, "docker": None}, [])
    builds = [(condition, list(image)) for condition, image in context.images if isinstance(image, dict)]
    names = list(dict.fromkeys(name for _, offered in builds for name in offered))
    if names:
        opens = {name: [condition for condition, offered in builds if name in offered] for name in names}
        yield named("cuda", opens, ["cu130"], when=[condition for condition, _ in builds])


def all_axes(context: Context) -> list[Axis]:
    """Every choice of a recipe, in order."""
    if context.recipe.omni:
        return [variant_axis(context), hardware_axis(context), task_axis(context), *view_axes(context)]
    return [
        variant_axis(context),
        hardware_axis(context),
        nodes_axis(context),
        strategy_axis(context),
        *pool_axes(context),
        *feature_axes(context),
        *offload_axes(context),
        *advanced_axes(context),
        *view_axes(context),
    ]
