"""Writing out rules as conditions: one case for each distinct result, grouped by hardware inside the rule.

Grouping stays inside one rule because merging look-alike layers of different rules would change the order of flags.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from site_builder.plan import Condition

Result = TypeVar("Result")


def listed(axis: str, values: Iterable[str], universe: Sequence[str]) -> Condition:
    """``axis ∈ values``, or no condition where that is all there is."""
    chosen = set(values)
    return {} if chosen >= set(universe) else {axis: [value for value in universe if value in chosen]}


def cases(
    pairs: Sequence[tuple[str, str]], axes: tuple[str, str], result: Callable[[str, str], Result | None]
) -> list[tuple[Condition, Result]]:
    """The distinct results of a rule over pairs of values (variant and hardware, say), each with its condition.

    ``pairs`` are the only combinations that a selection can have, so a list that covers all of them is left out. A
    rule that
    gives None adds no case. Results are compared as JSON; at most one case holds in any selection.
    """
    first_axis, second_axis = axes
    firsts = list(dict.fromkeys(first for first, _ in pairs))
    seconds = list(dict.fromkeys(second for _, second in pairs))
    rows: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    results: dict[str, Result] = {}
    for first in firsts:
        reachable = [second for one, second in pairs if one == first]
        groups: dict[str, list[str]] = {}
        for second in reachable:
            value = result(first, second)
            if value is not None:
                spelled = json.dumps(value)
                results.setdefault(spelled, value)
                groups.setdefault(spelled, []).append(second)
        for spelled, group in groups.items():
            covers = len(group) == len(reachable)
            rows.setdefault((spelled, () if covers else tuple(group), covers), []).append(first)
    return [
        (
            {**listed(first_axis, chosen, firsts), **({} if covers else listed(second_axis, group, seconds))},
            results[spelled],
        )
        for (spelled, group, covers), chosen in rows.items()
    ]


def hardware_cases(names: Sequence[str], result: Callable[[str], Result | None]) -> list[tuple[Condition, Result]]:
    """``cases`` for a rule that looks at hardware alone; ``names`` is the hardware that a selection can have there."""
    return cases([("", name) for name in names], ("", "hardware"), lambda _, name: result(name))


def only(condition: Condition, **more: Sequence[str] | Sequence[int]) -> Condition:
    """A condition narrowed by further axes."""
    return {**condition, **more}
