"""The rows of the builder: every choice with its options, and the query that each option leads to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from site_builder.plan import Axis, is_open, parameter_of, values_of
from site_builder.query import PARAMETERS, canonical
from site_builder.resolve import pick, resolve, settle

if TYPE_CHECKING:
    from site_builder.views import View


@dataclass(frozen=True)
class OptionView:
    """One option of a choice: ``open`` now, or reachable at ``query`` by moving other choices, or neither."""

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


@dataclass(frozen=True)
class ChoiceView:
    """One row of the builder. ``kind`` is one (pick one option) or many (switches)."""

    parameter: str
    label: str
    kind: str
    options: list[OptionView]
    axis: str = ""
    description: str = ""
    hidden: bool = False

    @property
    def groups(self) -> dict[str, list[OptionView]]:
        """The options by group (hardware by brand), both in their own order."""
        found: dict[str, list[OptionView]] = {}
        for option in self.options:
            found.setdefault(option.group, []).append(option)
        return found


_LABELS = {
    "variant": "Variant",
    "hardware": "Hardware",
    "nodes": "Nodes",
    "strategy": "Strategy",
    "prefill_mode": "Prefill mode",
    "prefill_nodes": "Prefill nodes",
    "decode_mode": "Decode mode",
    "decode_nodes": "Decode nodes",
    "prefill_rank": "Prefill node shown",
    "decode_rank": "Decode node shown",
    "features": "Features",
    "kv_offload": "KV offload",
    "kv_instances": "Instances",
    "kv_instance": "Instance shown",
    "advanced": "Advanced",
    "task": "Task",
    "install": "Install with",
    "cuda": "CUDA build",
}


def choices_of(view: View) -> Iterator[ChoiceView]:
    """The rows for a view, in the order in which choices are settled; rows that do not exist now are there, hidden."""
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
        options = [_option(view, axis, value) for value in values_of(axis)]
        label = _LABELS.get(name) or f"Mode of {axis.get('member', name).replace('_', ' ')}"
        if len(options) > 1 or name in ("hardware", "variant", "strategy"):
            hidden = axis["id"] not in view.selection
            description = "" if hidden else _description(view, axis)
            yield ChoiceView(name, label, "one", options, axis["id"], description, hidden)


def _option(view: View, axis: Axis, value: str) -> OptionView:
    label, note, verified = _describe(view, axis, value)
    settled = view.selection.get(axis["id"])
    selected = settled == value
    wanted = None if selected or settled is None else pick(view.plan, view.asked, (axis["id"], value))
    return OptionView(
        value,
        axis["id"],
        label,
        note,
        selected,
        settled is not None and is_open(axis, value, view.selection),
        view.query if selected else _query_of(view, wanted),
        verified,
        _brand(view, value) if axis["id"] == "hardware" else "",
        axis["id"] == "strategy" and settle(axis, view.selection, {}) == value,
    )


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
    return canonical(view.plan, resolve(view.plan, {"asked": dict(asked), "notes": []})["selection"])


def _describe(view: View, axis: Axis, value: str) -> tuple[str, str, bool]:
    """The label, a note and the verified mark of an option."""
    catalog, file, name = view.collection.catalog, view.recipe.file, parameter_of(axis)
    if name == "hardware":
        hardware = catalog.taxonomy.hardware_profiles[value]
        note = f"{hardware.gpu_count} × {hardware.gb_per_gpu:g} GB"
        return hardware.display_name, note, file.meta.hardware.get(value) == "verified"
    if name == "variant":
        variant = file.variants[value]
        return variant.name or value, f"{variant.vram_minimum_gb:g} GB", False
    if name == "strategy":
        return catalog.strategies[value].display_name, catalog.strategies[value].orientation or "", False
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


def _description(view: View, axis: Axis) -> str:
    """What the chosen option means, for the choices where that helps."""
    catalog, value = view.collection.catalog, view.selection[axis["id"]]
    if axis["id"] == "strategy":
        return catalog.strategies[value].description
    if axis["id"] == "variant":
        return view.variant.description
    if axis["id"] == "hardware":
        return view.hardware.description
    return _describe(view, axis, value)[1]
