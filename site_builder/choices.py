"""The rows of the builder: every choice with its options, and the query that each option leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from site_builder.compiler.fitting import why_not
from site_builder.evidence import status_of
from site_builder.plan import Axis, is_open, parameter_of, values_of
from site_builder.query import PARAMETERS, canonical
from site_builder.resolve import pick, resolve, settle

if TYPE_CHECKING:
    from site_builder.views import View


@dataclass(frozen=True)
class OptionView:
    """One option of a choice: ``open`` now, or reachable at ``query`` by moving other choices, or neither.

    An option can stand for several ``values`` of its axis: it is selected with any of them.
    """

    id: str
    axis: str
    label: str
    note: str = ""
    selected: bool = False
    open: bool = True
    query: str | None = None
    verified: bool = False
    group: str = ""
    recommended: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A row of options. It is shown while the axis has one of the values of ``within``; always where that is empty."""

    label: str
    options: list[OptionView]
    within: tuple[str, ...] = ()
    hint: str = ""

    @property
    def groups(self) -> dict[str, list[OptionView]]:
        """The options by group (hardware by brand), both in their own order."""
        found: dict[str, list[OptionView]] = {}
        for option in self.options:
            found.setdefault(option.group, []).append(option)
        return found


@dataclass(frozen=True)
class ChoiceView:
    """One choice of the builder. ``kind`` is one (pick one option) or many (switches).

    ``options`` are all of its values; ``rows`` are how a person picks among them, where that is not one row.
    """

    parameter: str
    label: str
    kind: str
    options: list[OptionView]
    axis: str = ""
    description: str = ""
    hidden: bool = False
    hint: str = ""
    arranged: Sequence[Row] = ()

    @cached_property
    def rows(self) -> Sequence[Row]:
        return self.arranged or [Row(self.label, self.options, hint=self.hint)]


#: The key-value stores as one entry of the offload row: where it stands, its label, the label of the row below.
_STORES = "stores"
_STORE_ROW = (3, "Key-value store", "Topology")
#: The rows in the order of the page, which is not the order in which choices are settled.
_LABELS = {
    "task": "Task",
    "hardware": "Hardware",
    "variant": "Variant",
    "strategy": "Strategy",
    "nodes": "Nodes",
    "prefill_mode": "Prefill mode",
    "prefill_nodes": "Prefill nodes",
    "decode_mode": "Decode mode",
    "decode_nodes": "Decode nodes",
    "features": "Features",
    "fmode": "",
    "kv_offload": "KV offload",
    "kv_instances": "Instances",
    "advanced": "Advanced",
    "install": "Install with",
    "cuda": "CUDA build",
}


def choices_of(view: View) -> list[ChoiceView]:
    """The choices of a view in the order of the page; those that do not exist now are there, hidden."""
    order = list(_LABELS)
    return sorted(_choices(view), key=lambda choice: order.index(choice.parameter))


def _choices(view: View) -> Iterator[ChoiceView]:
    switches: dict[str, ChoiceView] = {}
    for axis in view.plan["axes"]:
        name = parameter_of(axis)
        if "below" in axis:
            continue  # a rank only says which process is shown first
        if PARAMETERS[name] == "list":
            if name not in switches:
                switches[name] = ChoiceView(name, _LABELS[name], "many", [])
                yield switches[name]
            switches[name].options.append(_switch(view, axis))
            continue
        options = [_option(view, axis, (value,), _describe(view, axis, value)) for value in values_of(axis)]
        if len(options) > 1 or name in ("hardware", "variant", "strategy"):
            hidden = axis["id"] not in view.selection
            description = "" if hidden else description_of(view, axis, view.selection[axis["id"]])
            label, hint = _label(view, axis)
            rows = list(_rows(view, axis, options))
            yield ChoiceView(name, label, "one", options, axis["id"], description, hidden, hint, rows)


def _label(view: View, axis: Axis) -> tuple[str, str]:
    """The label of a row and a hint beside it; omni recipes may have words of their own."""
    name, omni = parameter_of(axis), view.recipe.file.omni
    label = _LABELS[name] or f"Mode of {axis.get('member', name).replace('_', ' ')}"
    if omni and name == "task":
        return omni.task_label or label, omni.task_hint
    if omni and name == "variant":
        return omni.variant_label or label, omni.variant_hint
    return label, ""


def _rows(view: View, axis: Axis, options: list[OptionView]) -> Iterator[Row]:
    """The rows of a choice whose options are arranged; none where they stand in one row."""
    if axis["id"] == "kv_offload":
        yield from _offload_rows(view, axis, options)
    elif axis["id"] == "task" and facets_of(view):
        yield from _task_rows(view, axis)


def facets_of(view: View) -> dict[str, dict[str, str]]:
    """What each task of an omni recipe has on each of the recipe's task axes; empty where a task leaves one out."""
    omni = view.recipe.file.omni
    axes = [axis.id for axis in omni.task_axes] if omni else []
    tasks = omni.all_tasks if omni and axes else []
    complete = all(name in task.axes for task in tasks for name in axes)
    return {task.name: {name: task.axes[name] for name in axes} for task in tasks} if complete else {}


def _task_rows(view: View, axis: Axis) -> Iterator[Row]:
    facets, omni = facets_of(view), view.recipe.file.omni
    for facet in omni.task_axes if omni else []:
        options = []
        for entry in facet.options:
            values = tuple(task for task, parts in facets.items() if parts[facet.id] == entry.id)
            if values:
                options.append(_option(view, axis, values, (entry.label or entry.id, "", False), entry.id))
        yield Row(facet.label or facet.id.replace("_", " ").capitalize(), options, hint=facet.hint)


def _offload_rows(view: View, axis: Axis, options: list[OptionView]) -> Iterator[Row]:
    """Options of a group, and the topologies of a store, stand in a row of their own under one entry."""
    taxonomy, stores = view.collection.catalog.taxonomy, view.collection.catalog.kv_stores
    entries: list[tuple[int, OptionView]] = []
    below: dict[str, list[OptionView]] = {}
    for option in options:
        known = taxonomy.kv_offload.get(option.id)
        group = _STORES if option.id in stores else (known and known.group) or ""
        if group:
            below.setdefault(group, []).append(option)
        else:
            entries.append((known.order if known else 0, option))
    rows = []
    for group, members in below.items():
        block = taxonomy.kv_offload_groups.get(group)
        order, label, under = _STORE_ROW if group == _STORES else (99, group, "Kind")
        if block:
            order, label, under = block.order, block.display_name, block.sub_row_label or under
        if len(members) == 1:
            entries.append((order, members[0]))
            continue
        values = tuple(option.id for option in members)
        entries.append((order, _option(view, axis, values, (label, "", False), group)))
        named = [replace(option, label=_short(view, option)) for option in members]
        rows.append(Row(under, named, values, hint=block.description if block else ""))
    if rows:
        yield Row(_LABELS["kv_offload"], [option for _, option in sorted(entries, key=lambda entry: entry[0])])
        yield from rows


def _short(view: View, option: OptionView) -> str:
    catalog = view.collection.catalog
    known = catalog.taxonomy.kv_offload.get(option.id) or catalog.kv_stores[option.id]
    return known.label or option.label


def _option(
    view: View, axis: Axis, values: tuple[str, ...], shown: tuple[str, str, bool], name: str | None = None
) -> OptionView:
    label, note, verified = shown
    settled = view.selection.get(axis["id"])
    selected = settled in values
    reachable = (
        []
        if selected or settled is None
        else [pick(view.plan, view.asked, (axis["id"], value)) for value in _nearest(view, axis, values)]
    )
    wanted = next((asked for asked in reachable if asked is not None), None)
    return OptionView(
        name or values[0],
        axis["id"],
        label,
        note,
        selected,
        settled is not None and any(is_open(axis, value, view.selection) for value in values),
        view.query if selected else _query_of(view, wanted),
        verified,
        _brand(view, values[0]) if axis["id"] == "hardware" else "",
        axis["id"] == "strategy" and settle(axis, view.selection, {}) == values[0],
        values,
    )


def _nearest(view: View, axis: Axis, values: tuple[str, ...]) -> list[str]:
    """The values in the order in which an option that stands for them takes them.

    Open ones first, then those that differ least from the task now. Twin of nearest in ``recipe.js``.
    """
    facets = facets_of(view) if axis["id"] == "task" and len(values) > 1 else {}
    now = facets.get(view.selection.get("task", ""), {})

    def distance(value: str) -> tuple[bool, int]:
        differing = [part for part, option in facets.get(value, {}).items() if now.get(part) != option]
        return not is_open(axis, value, view.selection), len(differing)

    return sorted(values, key=distance)


def _brand(view: View, hardware: str) -> str:
    return view.collection.catalog.taxonomy.hardware_profiles[hardware].brand


def _switch(view: View, axis: Axis) -> OptionView:
    """A feature or advanced option; its query turns it the other way."""
    label, note, _ = _describe(view, axis, axis["member"])
    on = view.selection[axis["id"]] == "on"
    wanted = pick(view.plan, view.asked, (axis["id"], "off" if on else "on"))
    can_be_on = is_open(axis, "on", view.selection)
    return OptionView(axis["member"], axis["id"], label, note, on, can_be_on, _query_of(view, wanted))


def _query_of(view: View, asked: Mapping[str, str] | None) -> str | None:
    if asked is None:
        return None
    return canonical(view.plan, resolve(view.plan, {"asked": dict(asked), "notes": []})["selection"], asked)


def _describe(view: View, axis: Axis, value: str) -> tuple[str, str, bool]:
    """The label, a note and the verified mark of an option."""
    catalog, file, name = view.collection.catalog, view.recipe.file, parameter_of(axis)
    if name == "hardware":
        hardware = catalog.taxonomy.hardware_profiles[value]
        note = f"{hardware.gpu_count} × {hardware.gb_per_gpu:g} GB"
        return hardware.display_name, note, status_of(file, value) == "verified"
    if name == "variant":
        variant = file.variants[value]
        return variant.name or value, f"{variant.vram_minimum_gb:g} GB", False
    if name == "strategy":
        return catalog.strategies[value].display_name, "", False
    if name == "features":
        return (
            file.features[value].label or value.replace("_", " ").capitalize(),
            file.features[value].description,
            False,
        )
    if name == "fmode":
        mode = file.features[axis["member"]].modes[value]
        return mode.label or value, mode.description, False
    if name == "advanced":
        entries = [*(catalog.taxonomy.advanced_options or []), *file.advanced_options]
        entry = next((entry for entry in entries if entry.id == value), None)
        return (entry.label or value, entry.description, False) if entry else (value.replace("_", " "), "", False)
    if name == "kv_offload":
        option = catalog.taxonomy.kv_offload.get(value) or catalog.kv_stores.get(value)
        return (option.display_name, option.description, False) if option else ("Off", "", False)
    if name == "task" and file.omni:
        task = next(task for task in file.omni.all_tasks if task.name == value)
        return task.label or value, task.description, False
    return value, "", False


def description_of(view: View, axis: Axis, value: str) -> str:
    """What an option means, for the choices where that helps."""
    catalog = view.collection.catalog
    if axis["id"] == "strategy":
        strategy = catalog.strategies[value]
        return f"For {strategy.orientation}: {strategy.description}" if strategy.orientation else strategy.description
    if axis["id"] == "variant":
        return view.recipe.file.variants[value].description
    if axis["id"] == "hardware":
        return catalog.taxonomy.hardware_profiles[value].description
    return _describe(view, axis, value)[1]


def closed_hardware(view: View) -> list[tuple[str, str]]:
    """Hardware that no variant runs on, with the reason; what only other recipes name is left out."""
    file, profiles = view.recipe.file, view.collection.catalog.taxonomy.hardware_profiles
    closed = {name: profile for name, profile in profiles.items() if name not in view.offered_hardware}
    default = file.variants["default"]
    reasons = {name: why_not(file, default, name, profile) for name, profile in closed.items()}
    return [
        (profile.display_name, reasons[name] or "no strategy of the recipe runs there")
        for name, profile in closed.items()
        if not profile.restricted or name in file.meta.hardware
    ]
