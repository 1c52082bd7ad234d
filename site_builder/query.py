"""From query parameters to axes, and back. Twin: ``static/js/plan/query.js``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote_plus

from site_builder.plan import Adjustment, Axis, Plan, Query, Selection, parameter_of, values_of
from site_builder.resolve import settle

#: Every parameter that names a choice, in canonical order, and how its value is written: one value, a number in the
#: range of the axis, a list of names that are on, or ``name:value`` pairs.
PARAMETERS = {
    "variant": "value",
    "hardware": "value",
    "nodes": "number",
    "strategy": "value",
    "prefill_nodes": "number",
    "decode_nodes": "number",
    "prefill_mode": "value",
    "decode_mode": "value",
    "prefill_rank": "rank",
    "decode_rank": "rank",
    "features": "list",
    "fmode": "pairs",
    "kv_offload": "value",
    "kv_instances": "number",
    "kv_instance": "rank",
    "advanced": "list",
    "task": "value",
    "install": "value",
    "cuda": "value",
}


#: Parameters that say how to answer, not what: ``process`` is the one that an export is of.
OTHERS = ("strict", "process")
#: Numbers that say what has to fit, and their range: the tokens of a request, and requests at once.
LOADS = {"context": (1, 10_000_000), "concurrency": (1, 100_000)}
_KNOWN = (*PARAMETERS, *OTHERS, *LOADS)


def split_query(text: str) -> tuple[dict[str, str], list[Adjustment]]:
    """A query string as parameters, names in lower case.

    A repeated parameter counts once: the last wins, and is reported.
    """
    parameters: dict[str, str] = {}
    notes: list[Adjustment] = []
    for name, value in parse_qsl(text, keep_blank_values=True):
        key = name.strip().lower()
        if key in parameters:
            notes.append(_note(key, parameters[key], value, "it was given more than once; the last one counts"))
        parameters[key] = value
    return parameters, notes


def is_strict(text: str) -> bool:
    """Whether a query string asks for a refusal instead of adjustments."""
    return split_query(text)[0].get("strict", "").lower() in ("1", "true", "yes")


def parse_query(plan: Plan, parameters: Mapping[str, str]) -> Query:
    """What a query asks of this plan, and notes on what it cannot mean.

    An empty value asks nothing, but for ``features=``: that is none of them, as ``none`` is.
    """
    asked: dict[str, str] = {}
    notes: list[Adjustment] = []
    for name, value in sorted(parameters.items()):
        if name not in _KNOWN:
            notes.append(_note(name, value, "", f"it is no parameter; known are {', '.join(PARAMETERS)}"))
    for name, axes in _by_parameter(plan).items():
        kind, text = PARAMETERS[name], parameters.get(name, "").strip()
        if not text and not (name == "features" and name in parameters):
            continue
        if not axes:
            if text.lower() != "none" and text:
                notes.append(_note(name, text, "", "this recipe has no such choice"))
        elif kind == "list":
            _read_list(plan, axes, text, (asked, notes))
        elif kind == "pairs":
            _read_pairs(axes, text, (asked, notes))
        elif kind == "value":
            _read_value(axes[0], text, (asked, notes))
        else:
            _read_number(axes[0], text, (asked, notes))
    return {"asked": asked, "notes": notes}


def read_loads(parameters: Mapping[str, str]) -> tuple[dict[str, int], list[Adjustment]]:
    """What has to fit, of what a query names; a number out of range is clamped."""
    found: dict[str, int] = {}
    notes: list[Adjustment] = []
    for name, (low, high) in LOADS.items():
        text = parameters.get(name, "").strip()
        if text and not _is_number(text):
            notes.append(_note(name, text, "", f"it is not a whole number from {low} to {high}"))
        elif text:
            found[name] = max(low, min(int(text), high))
            if found[name] != int(text):
                notes.append(_note(name, text, str(found[name]), f"it goes from {low} to {high}"))
    return found, notes


def canonical(plan: Plan, selection: Selection, asked: Mapping[str, str] | None = None) -> str:
    """The query string of a selection: only what differs from the default, in the order of ``PARAMETERS``.

    Parsing and resolving it gives the same selection again. ``asked`` is what the selection was resolved from, where
    that is known: an axis that nobody asked for has its default, and need not be settled again.
    """
    differing: set[str] = set()
    before: dict[str, str] = {}
    for axis in plan["axes"]:
        if axis["id"] in selection:
            moved = asked is None or axis["id"] in asked or axis.get("guided") in asked
            if moved and settle(axis, before, {}) != selection[axis["id"]]:
                differing.add(axis["id"])
            before[axis["id"]] = selection[axis["id"]]
    pairs = []
    for name, every in _by_parameter(plan).items():
        kind, axes = PARAMETERS[name], [axis for axis in every if axis["id"] in selection]
        if any(axis["id"] in differing for axis in axes):
            pairs.append(f"{name}={quote_plus(_spelled(kind, axes, (selection, differing)), safe=',:')}")
    return "&".join(pairs)


def configuration(plan: Plan, selection: Selection) -> dict[str, Any]:
    """A selection by parameter name: numbers as numbers, lists as lists, modes as a map."""
    values: dict[str, Any] = {}
    for name, axes in _by_parameter(plan).items():
        kind, present = PARAMETERS[name], [axis for axis in axes if axis["id"] in selection]
        if kind == "list":
            values[name] = [axis.get("member", "") for axis in present if selection[axis["id"]] == "on"]
        elif kind == "pairs" and axes:
            values[name] = {axis.get("member", ""): selection[axis["id"]] for axis in present}
        elif present:
            value = selection[present[0]["id"]]
            values[name] = int(value) if kind in ("number", "rank") else value
    return values


def asked_of(plan: Plan, selection: Selection) -> dict[str, str]:
    """The axes that have to be asked for to get a selection back: what its canonical query says."""
    return parse_query(plan, split_query(canonical(plan, selection))[0])["asked"]


def _by_parameter(plan: Plan) -> dict[str, list[Axis]]:
    """The axes of every parameter, in canonical order; none for a choice that the plan does not have."""
    found: dict[str, list[Axis]] = {name: [] for name in PARAMETERS}
    for axis in plan["axes"]:
        found[parameter_of(axis)].append(axis)
    return found


def _spelled(kind: str, axes: Sequence[Axis], state: tuple[Selection, set[str]]) -> str:
    selection, differing = state
    if kind == "list":
        return ",".join(axis.get("member", "") for axis in axes if selection[axis["id"]] == "on") or "none"
    if kind == "pairs":
        return ",".join(f"{axis.get('member', '')}:{selection[axis['id']]}" for axis in axes if axis["id"] in differing)
    return selection[axes[0]["id"]]


def _note(parameter: str, requested: str, used: str, reason: str) -> Adjustment:
    return {"parameter": parameter, "requested": requested, "used": used, "reason": reason}


State = tuple[dict[str, str], list[Adjustment]]


def _read_value(axis: Axis, text: str, state: State) -> None:
    asked, notes = state
    found = _same(text, values_of(axis))
    if found is None:
        notes.append(_note(parameter_of(axis), text, "", _unknown(values_of(axis))))
    else:
        asked[axis["id"]] = found


def _read_number(axis: Axis, text: str, state: State) -> None:
    """A number is clamped to the axis; a rank out of range is the first."""
    asked, notes = state
    numbers = [int(value) for value in values_of(axis)]
    if not _is_number(text):
        notes.append(
            _note(parameter_of(axis), text, "", f"it is not a whole number from {min(numbers)} to {max(numbers)}")
        )
        return
    number = int(text)
    kept = (
        min(numbers)
        if PARAMETERS[parameter_of(axis)] == "rank" and number not in numbers
        else max(min(numbers), min(number, max(numbers)))
    )
    if kept != number:
        notes.append(_note(parameter_of(axis), text, str(kept), f"it goes from {min(numbers)} to {max(numbers)}"))
    asked[axis["id"]] = str(kept)


def _is_number(text: str) -> bool:
    digits = text[1:] if text[:1] == "-" else text
    return digits.isascii() and digits.isdigit() and len(digits) <= 9


def _read_list(plan: Plan, axes: Sequence[Axis], text: str, state: State) -> None:
    """Exactly the named ones are on. Of two that exclude each other the one named first stays."""
    asked, notes = state
    members = {axis.get("member", ""): axis["id"] for axis in axes}
    named: list[str] = []
    for name in _names(text):
        found = _same(name, list(members))
        if found is None:
            if name.lower() != "none":
                notes.append(_note(parameter_of(axes[0]), name, "", _unknown(members)))
            continue
        rival = _rival(plan, members[found], named)
        if rival is not None:
            earlier = next(member for member, axis_id in members.items() if axis_id == rival)
            notes.append(_note(parameter_of(axes[0]), found, "off", f"{earlier} was named first and excludes it"))
        else:
            named.append(members[found])
    for axis_id in members.values():
        asked[axis_id] = "on" if axis_id in named else "off"


def _rival(plan: Plan, axis_id: str, named: Sequence[str]) -> str | None:
    for group in plan["exclusive"]:
        if axis_id in group:
            return next((other for other in named if other in group and other != axis_id), None)
    return None


def _read_pairs(axes: Sequence[Axis], text: str, state: State) -> None:
    asked, notes = state
    members = {axis.get("member", ""): axis for axis in axes}
    for pair in _names(text):
        name, _, value = pair.partition(":")
        member = _same(name.strip(), list(members))
        if member is None:
            notes.append(_note(parameter_of(axes[0]), pair, "", _unknown(members)))
            continue
        found = _same(value.strip(), values_of(members[member]))
        if found is None:
            known = [f"{member}:{mode}" for mode in values_of(members[member])]
            notes.append(_note(parameter_of(axes[0]), pair, "", _unknown(known)))
        else:
            asked[members[member]["id"]] = found


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _same(text: str, known: Sequence[str]) -> str | None:
    """The known name that is spelled like this, without regard to case."""
    return next((name for name in known if name.lower() == text.lower()), None)


def _unknown(known: Iterable[str]) -> str:
    return f"it is not known here; known are {', '.join(known)}"
