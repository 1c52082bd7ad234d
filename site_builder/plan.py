"""The plan: the compiled form of a recipe, as plain data that the evaluators in Python and JavaScript read.

A plan is JSON. The classes here only name its shapes; ``show --format plan`` prints exactly this.

A *selection* is ``{axis id: value}``, all text. A *condition* maps axis ids to lists of values and holds when the
selection has
a listed value for each of its axes; two whole numbers ``[2, 16]`` list every number between them. An axis that is not
in the
selection never has a listed value. Where a list of conditions stands, one of them must hold. There is no *not* and no
*or*: axes are finite, the compiler writes them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

#: The largest number of nodes or instances.
LARGEST = 16

Selection = Mapping[str, str]
Condition = Mapping[str, Sequence[str] | Sequence[int]]


class Scaled(TypedDict):
    """A number known only in a selection.

    The product of axes and facts (``nodes``, ``rank``, ``gpus``), times ``times``, plus ``plus``.
    """

    of: list[str]
    times: NotRequired[int]
    plus: NotRequired[int]


class Fact(TypedDict):
    """The value of a fact of this selection, as a token."""

    fact: str


#: One word of a command: text, or parts that are joined.
Part = str | Scaled | Fact
Token = str | list[Part]


class KeyedArgument(TypedDict):
    """An argument whose key is not its first word. Without a key it may repeat."""

    key: NotRequired[str]
    tokens: list[Token]
    each: NotRequired[str]  # repeat for 0 … n−1, n the value of this axis; the tokens know the number as axis "each"


#: One flag with its values; its first word is its key. A later argument with the same key replaces it.
Argument = list[Token] | KeyedArgument


class Layer(TypedDict):
    """Arguments and variables from one place.

    ``origin`` is the key path in the recipe, or the file and key that says it; an axis in braces stands for its value.
    """

    origin: str
    when: NotRequired[Condition]
    args: NotRequired[list[Argument]]
    env: NotRequired[dict[str, Token | None]]  # None takes the variable away


class FactLayer(TypedDict):
    """Scalars of a selection: model, image, port, versions. Later layers win."""

    when: NotRequired[Condition]
    facts: dict[str, object]


#: A value to prefer where its condition holds (no condition: everywhere).
Preference = str | tuple[str, Condition]


class Axis(TypedDict):
    """One choice: of names (``options``, with ``open`` where they are not always open) or of numbers (``spans``).

    ``parameter`` is the query parameter that names it, if not its id; ``member`` its name inside a list parameter.
    """

    id: str
    parameter: NotRequired[str]
    member: NotRequired[str]
    when: NotRequired[list[Condition]]  # absent: the choice always exists
    guided: NotRequired[str]  # a later axis whose asked value the preferences may look at
    raises: NotRequired[bool]  # an asked number that is not open is raised to the next that is
    beyond: NotRequired[list[str]]  # axes that do not count when it is told what is on offer
    options: NotRequired[list[str]]
    open: NotRequired[dict[str, list[Condition]]]
    spans: NotRequired[list[tuple[int, int, Condition]]]  # from, to, and when these numbers are open
    below: NotRequired[str]  # only numbers below the value of this axis are open
    prefer: NotRequired[list[Preference]]  # the first open one is the default; after them the first open value


class File(TypedDict):
    """A configuration file that a process reads: its text is written to the path before it starts."""

    when: NotRequired[Condition]
    path: str
    text: str


class Process(TypedDict):
    """One command of a deployment, or one for each combination of ``each`` (axis, axis that counts, from 0)."""

    role: str
    when: NotRequired[Condition]
    each: NotRequired[list[tuple[str, str]]]
    follower: NotRequired[str]  # the role from rank 1 on
    program: NotRequired[str]  # a key of Plan.programs; absent: `text` is the command
    text: NotRequired[str]
    name: NotRequired[str]
    origin: NotRequired[str]
    files: NotRequired[list[File]]


class Program(TypedDict):
    """What is run: the first words, how far its flags are indented, and the layers that give them."""

    start: list[Token]
    indent: int
    layers: list[Layer]


class Port(TypedDict):
    """The served port is the value of the argument ``key``, else ``default``."""

    key: str
    default: str


class Plan(TypedDict):
    id: str
    axes: list[Axis]
    exclusive: list[list[str]]  # axes of which only one may be on; the one that a query names first stays
    facts: list[FactLayer]
    programs: dict[str, Program]
    processes: list[Process]
    port: Port
    served_name: str  # the key of the argument that gives the model another name
    memory: NotRequired[dict[str, str]]  # the arguments that say how memory is used, and what of it
    sizes: dict[str, str]  # the arguments that a summary of a command shows, and how it calls them


class Adjustment(TypedDict):
    """What was asked, what is used instead, and why. ``used`` is empty where the parameter has no effect."""

    parameter: str
    requested: str
    used: str
    reason: str


class Query(TypedDict):
    """A query as axes: what was asked, and what could not be understood."""

    asked: dict[str, str]
    notes: list[Adjustment]


class Resolution(TypedDict):
    selection: dict[str, str]
    adjustments: list[Adjustment]


class Origin(TypedDict):
    """Why a flag or variable is there."""

    flag: str
    value: str
    origin: str


class Command(TypedDict):
    """One process of a deployment, ready to run.

    ``lines`` are the words grouped as they are written: the program and its model, then each flag with its values.
    ``argv`` is
    ``lines`` in one list, unquoted. A command that content gives as text has ``text`` and no words.
    """

    role: str
    rank: int | None
    instance: int | None
    name: str
    origin: str
    text: str | None
    indent: int
    lines: list[list[str]]
    argv: list[str]
    env: dict[str, str]
    port: str
    because: list[Origin]
    files: list[File]


def holds(when: Condition | None, selection: Selection, but: Sequence[str] = ()) -> bool:
    """Whether every axis of the condition has one of its listed values; those of ``but`` do not count."""
    if when:
        for axis, values in when.items():
            value = selection.get(axis)
            # Most conditions list names: they are looked up here, without a call.
            if value not in values and axis not in but and not lists(values, value):
                return False
    return True


def lists(values: Sequence[str] | Sequence[int], value: str | None) -> bool:
    """Whether a list of a condition has a value."""
    if value is None or not values:
        return False
    low, high = values[0], values[-1]
    if isinstance(low, int) and isinstance(high, int):
        return low <= int(value) <= high
    return value in values


def any_holds(conditions: Sequence[Condition] | None, selection: Selection) -> bool:
    """Whether one of the conditions holds; absent conditions always hold."""
    if conditions is None:
        return True
    for condition in conditions:
        if holds(condition, selection):
            return True
    return False


def values_of(axis: Axis) -> list[str]:
    """Every value that an axis can have, open or not."""
    if "spans" in axis:
        return [
            str(number)
            for number in range(min(span[0] for span in axis["spans"]), max(span[1] for span in axis["spans"]) + 1)
        ]
    return axis["options"]


def opened_by(axis: Axis, value: str) -> list[Condition]:
    """The conditions of which one must hold for a value to be open; none at all for a value that never is."""
    if "spans" in axis:
        number = int(value)
        below: Condition = {axis["below"]: [number + 1, LARGEST]} if number and "below" in axis else {}
        return [{**when, **below} for low, high, when in axis["spans"] if low <= number <= high]
    if value not in axis["options"]:
        return []
    return axis.get("open", {}).get(value, [{}])


def is_open(axis: Axis, value: str, selection: Selection) -> bool:
    """Whether an axis can have a value with what is selected."""
    return any_holds(opened_by(axis, value), selection)


def axis_of(plan: Plan, axis_id: str) -> Axis | None:
    """The axis with an id; None for a choice that the plan does not have."""
    return next((axis for axis in plan["axes"] if axis["id"] == axis_id), None)


def parameter_of(axis: Axis) -> str:
    return axis.get("parameter", axis["id"])
