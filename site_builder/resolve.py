"""Settling a query into a selection. Twin: ``static/js/plan/resolve.js``.

Axes are settled in their order: an asked value is taken if it is open, else the first open of the preferences, else
the first open option. Every difference from what was asked becomes an adjustment. Nothing here knows what an axis
means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from site_builder.plan import (
    Adjustment,
    Axis,
    Condition,
    Plan,
    Query,
    Resolution,
    Selection,
    any_holds,
    axis_of,
    holds,
    is_open,
    lists,
    opened_by,
    parameter_of,
    values_of,
)

#: Axes that only say which process is shown first.
RANKS = ("prefill_rank", "decode_rank", "kv_instance")


def resolve(plan: Plan, query: Query) -> Resolution:
    """The selection that a query settles on, and every adjustment that it took."""
    selection: dict[str, str] = {}
    adjustments = list(query["notes"])
    for axis in plan["axes"]:
        wanted = query["asked"].get(axis["id"])
        if not any_holds(axis.get("when"), selection):
            if wanted is not None and _was_a_wish(axis, wanted):
                adjustments.append(
                    _adjustment(axis, wanted, "", f"it has no effect{_blockers(plan, axis.get('when'), selection)}")
                )
            continue
        value = settle(axis, selection, query["asked"])
        if value is None:
            continue
        if wanted is not None and value != wanted:
            adjustments.append(_adjustment(axis, wanted, value, why_closed(plan, axis, wanted, selection)))
        selection[axis["id"]] = value
    return {"selection": selection, "adjustments": adjustments}


def settle(axis: Axis, selection: Selection, asked: Mapping[str, str]) -> str | None:
    """The value of one axis after the earlier ones are settled; None where no option is open."""
    wanted = asked.get(axis["id"])
    if wanted is not None and is_open(axis, wanted, selection):
        return wanted
    if wanted is not None and axis.get("raises"):
        for value in values_of(axis):
            if int(value) > int(wanted) and is_open(axis, value, selection):
                return value
    guide = axis.get("guided", "")
    view = {**selection, guide: asked[guide]} if guide in asked else selection
    for preference in axis.get("prefer", []):
        value, when = (preference, {}) if isinstance(preference, str) else preference
        if holds(when, view) and is_open(axis, value, selection):
            return value
    return next((value for value in values_of(axis) if is_open(axis, value, selection)), None)


def on_offer(axis: Axis, selection: Selection) -> list[str]:
    """The options that are open with what is selected, or would be after a change of the axes in ``beyond``."""
    beyond = axis.get("beyond", [])
    if not any_holds(axis.get("when"), selection):
        return []
    if "options" in axis:
        conditions = axis.get("open", {})
        return [
            value
            for value in axis["options"]
            if value not in conditions or any(holds(when, selection, beyond) for when in conditions[value])
        ]
    spans = [(low, high) for low, high, when in axis["spans"] if holds(when, selection, beyond)]
    limit = selection.get(axis["below"]) if "below" in axis and axis["below"] not in beyond else None
    numbers = sorted({number for low, high in spans for number in range(low, high + 1)})
    return [str(number) for number in numbers if limit is None or not number or number < int(limit)]


def pick(plan: Plan, asked: Mapping[str, str], choice: tuple[str, str]) -> dict[str, str] | None:
    """What to ask so that ``choice`` (axis, value) comes true with the fewest other changes; None if nothing does.

    Tried in this order: the choice alone; without the asked values that block it; with blocking axes moved to a value
    that opens it.
    """
    axis_id, value = choice
    axis = axis_of(plan, axis_id)
    if axis is None:
        return None
    for attempt in _attempts(plan, {**asked, axis_id: value}, axis):
        if resolve(plan, {"asked": attempt, "notes": []})["selection"].get(axis_id) == value:
            return attempt
    return None


def why_closed(plan: Plan, axis: Axis, value: str, selection: Selection) -> str:
    """The reason in an adjustment: which earlier choice closes this option, or that no choice opens it."""
    return "it is not offered" + _blockers(plan, opened_by(axis, value), selection)


def _was_a_wish(axis: Axis, wanted: str) -> bool:
    """A feature that is off anyway is no loss, and neither is a rank that is the first anyway."""
    return wanted != ("0" if axis["id"] in RANKS else "off")


def _adjustment(axis: Axis, requested: str, used: str, reason: str) -> Adjustment:
    member = axis.get("member")
    if member is not None:
        requested = member if requested == "on" else f"{member}:{requested}"
    return {"parameter": parameter_of(axis), "requested": requested, "used": used, "reason": reason}


def _blockers(plan: Plan, conditions: Sequence[Condition] | None, selection: Selection) -> str:
    """`` with hardware=h200``: the settled values that keep the closest of the conditions from holding."""
    if not conditions:
        return ""
    failing = [_failing(condition, selection) for condition in conditions]
    nearest = min(failing, key=len)
    words = [_named(plan, axis_id, selection) + _needed(axis_id, values) for axis_id, values in nearest.items()]
    return " with " + " and ".join(words)


def _needed(axis_id: str, values: Sequence[str] | Sequence[int]) -> str:
    """Numbers say what would do: `` (it needs nodes=2 or more)``."""
    if not values or not isinstance(values[0], int):
        return ""
    return f" (it needs {axis_id}={values[0]}{' or more' if values[-1] != values[0] else ''})"


def _named(plan: Plan, axis_id: str, selection: Selection) -> str:
    """An axis and its value as a query would say it."""
    axis, value = axis_of(plan, axis_id), selection.get(axis_id, "none")
    if axis is None or "member" not in axis:
        return f"{parameter_of(axis) if axis else axis_id}={value}"
    return f"{parameter_of(axis)}={axis['member']}" if value == "on" else f"{axis['member']} {value}"


def _failing(condition: Condition, selection: Selection) -> Condition:
    return {axis: values for axis, values in condition.items() if not lists(values, selection.get(axis))}


def _attempts(plan: Plan, asked: dict[str, str], axis: Axis) -> Iterator[dict[str, str]]:
    value = asked[axis["id"]]
    yield asked
    selection = resolve(plan, {"asked": asked, "notes": []})["selection"]
    blocking = [
        _failing({**existence, **condition}, selection)
        for existence in axis.get("when", [{}])
        for condition in opened_by(axis, value)
    ]
    blocking.sort(key=len)
    for failing in blocking:
        yield {name: kept for name, kept in asked.items() if name not in failing}
    for failing in blocking:
        yield {**asked, **_first_listed(failing)}
    for failing in blocking:
        # A value that was asked earlier may close the moved axis in turn: only what the choice needs stays asked.
        yield {**_first_listed(failing), axis["id"]: value}


def _first_listed(condition: Condition) -> dict[str, str]:
    return {axis: str(values[0]) for axis, values in condition.items()}
