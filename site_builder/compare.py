"""Two configurations of a recipe side by side: choices, facts, and every process flag by flag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol
from urllib.parse import parse_qsl, quote_plus

from site_builder.collection import Collection
from site_builder.compiler.reading import Reader, variables_of
from site_builder.plan import Adjustment
from site_builder.query import PARAMETERS, split_query
from site_builder.views import ProcessView, View, answer

#: The two sides, as the query names them.
SIDES = ("a", "b")
#: The parameters of a comparison; ``a.hardware`` and the like are how a form names a choice of one side.
KNOWN = (*SIDES, "strict")
#: The process that a deployment starts first: one alone on a node, or the first of several nodes.
_FIRST = ("serve", "head")


class Shown(Protocol):
    """What an address with a configuration gives: ``id`` is the address of its page, ``query`` its canonical query."""

    @property
    def id(self) -> str: ...

    @property
    def query(self) -> str: ...

    @property
    def process(self) -> str: ...

    @property
    def adjustments(self) -> Sequence[Adjustment]: ...


@dataclass(frozen=True)
class Cell:
    """What one side has: the value as a person reads it (empty: on), and where it comes from."""

    value: str
    origin: str = ""


@dataclass(frozen=True)
class Row:
    """One thing on both sides. ``status`` is different, a (only there), b (only there) or same."""

    name: str
    status: str
    a: Cell | None
    b: Cell | None


@dataclass(frozen=True)
class Pair:
    """A process of each side, or of one side only, and what they have. Differing rows come first."""

    title: str
    a: ProcessView | None
    b: ProcessView | None
    flags: Sequence[Row]
    environment: Sequence[Row]

    @property
    def rows(self) -> list[Row]:
        return [*self.flags, *self.environment]

    @property
    def differing(self) -> list[Row]:
        return [row for row in self.rows if row.status != "same"]

    @property
    def same(self) -> list[Row]:
        return [row for row in self.rows if row.status == "same"]

    @property
    def alone(self) -> str:
        """The side (a, b) that has the process, where only one has."""
        return "b" if self.a is None else "a" if self.b is None else ""


@dataclass(frozen=True)
class Group:
    """Pairs that differ in the same way, told once: all nodes of a deployment but the first, for example."""

    titles: Sequence[str]
    pair: Pair


@dataclass(frozen=True)
class Comparison:
    """Two views of one recipe. ``notes`` are what the query of the comparison itself cannot mean."""

    a: View
    b: View
    notes: Sequence[Adjustment] = ()

    @property
    def id(self) -> str:
        """The address of the comparison, as a view's id is its address."""
        return f"{self.a.id}/compare"

    @property
    def process(self) -> str:
        """A comparison is of all processes."""
        return ""

    @cached_property
    def query(self) -> str:
        """The canonical query: each side's canonical query, percent-encoded; a side that is the default is left out."""
        return joined(self.a.query, self.b.query)

    @cached_property
    def adjustments(self) -> list[Adjustment]:
        """Those of both sides, under ``a.hardware`` and the like, after those of the comparison itself."""
        found = list(self.notes)
        for side, view in zip(SIDES, (self.a, self.b), strict=True):
            found += [{**entry, "parameter": f"{side}.{entry['parameter']}"} for entry in view.adjustments]
        return found

    @cached_property
    def choices(self) -> list[Row]:
        """Every parameter, those that differ first."""
        one, other = (dict(_choices(view)) for view in (self.a, self.b))
        return _rows(one, other)

    @cached_property
    def facts(self) -> list[Row]:
        """Model, image, versions, memory: what is not a flag."""
        one, other = (dict(_facts(view)) for view in (self.a, self.b))
        return _rows(one, other)

    @cached_property
    def pairs(self) -> list[Pair]:
        reader = Reader(self.a.collection.grammar)
        return [_pair(one, other, reader) for one, other in _paired(self.a.processes, self.b.processes)]

    @cached_property
    def groups(self) -> list[Group]:
        """The pairs for a reader: those with the same differences together, at the place of the first."""
        found: dict[object, list[Pair]] = {}
        for pair in self.pairs:
            shown = pair.a or pair.b
            assert shown is not None
            rows = tuple((row.name, row.status, row.a, row.b) for row in pair.differing)
            found.setdefault((pair.alone, shown.command["role"]) if pair.alone else rows, []).append(pair)
        return [Group([pair.title for pair in pairs], pairs[0]) for pairs in found.values()]

    @cached_property
    def identical(self) -> bool:
        """Whether both sides start the same processes with the same words, variables and image."""
        facts = [row for row in self.facts if row.name in ("model", "image")]
        return all(row.status == "same" for row in (*facts, *(row for pair in self.pairs for row in pair.rows)))


def compare(collection: Collection, recipe_id: str, query: str) -> Comparison:
    """The comparison that a query asks for: ``a`` and ``b`` are query strings of the recipe, absent for the default.

    ``a.hardware=h200`` and the like change one choice of a side. Raises UnknownRecipe.
    """
    asked, notes = read_query(query)
    views = []
    for side in SIDES:
        notes += [{**note, "parameter": f"{side}.{note['parameter']}"} for note in asked[side][1]]
        views.append(answer(collection, recipe_id, _parameters(collection, recipe_id, asked, side)))
    return Comparison(views[0], views[1], notes)


def folded(collection: Collection, recipe_id: str, query: str) -> str:
    """The query with the choices of a form folded into its sides; the query itself where it has none."""
    asked, _ = read_query(query)
    if not any(asked[f"{side}."][0] for side in SIDES):
        return query
    sides = []
    for side in SIDES:
        changed = _parameters(collection, recipe_id, asked, side)
        sides.append("&".join(f"{name}={quote_plus(value, safe=',:')}" for name, value in changed.items()))
    rest = [f"{name}={quote_plus(value)}" for name, value in split_query(query)[0].items() if "." not in name]
    return "&".join(filter(None, [joined(*sides), *(part for part in rest if part.partition("=")[0] not in SIDES)]))


def joined(a: str, b: str) -> str:
    """The query of a comparison of two query strings."""
    sides = zip(SIDES, (a, b), strict=True)
    return "&".join(f"{side}={quote_plus(query, safe=',:')}" for side, query in sides if query)


Asked = dict[str, tuple[dict[str, str], list[Adjustment]]]


def read_query(query: str) -> tuple[Asked, list[Adjustment]]:
    """The parameters of ``a`` and ``b``, and those of a form under ``a.`` and ``b.``, with notes; notes on the rest."""
    parameters, repeated = split_query(query)
    notes = [note for note in repeated if "." not in note["parameter"]]
    asked: Asked = {side: split_query(parameters.get(side, "")) for side in SIDES}
    asked |= {f"{side}.": ({}, []) for side in SIDES}
    for name in parameters:
        side, dot, choice = name.partition(".")
        if side in SIDES and dot:
            asked[f"{side}."][0][choice] = _given(query, name, PARAMETERS.get(choice, ""))
        elif name not in KNOWN:
            reason = "it is no parameter; known are a and b, each a query of the recipe"
            notes.append({"parameter": name, "requested": parameters[name], "used": "", "reason": reason})
    return asked, notes


def _given(query: str, name: str, kind: str) -> str:
    """The value of a form's parameter. Boxes have one name, their values are one list; ``none`` stands for no box."""
    values = [value for key, value in parse_qsl(query, keep_blank_values=True) if key.strip().lower() == name]
    if kind not in ("list", "pairs"):
        return values[-1]
    named = ",".join(value for value in values if value.strip().lower() not in ("", "none"))
    return named or ("none" if kind == "list" else "")


def _parameters(collection: Collection, recipe_id: str, asked: Asked, side: str) -> dict[str, str]:
    """The parameters of a side, with the choices of a form where it has some. Raises UnknownRecipe."""
    parameters, wanted = asked[side][0], asked[f"{side}."][0]
    return _changed(answer(collection, recipe_id, parameters), parameters, wanted) if wanted else parameters


def _changed(view: View, parameters: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a side with the choices of a form; what it already has is not asked again."""
    changed, now = dict(parameters), dict(_choices(view))
    for name, value in wanted.items():
        if _names(value) != _names(now[name].value if name in now else ""):
            changed[name] = value
            if not value:
                del changed[name]
    return changed


def _names(text: str) -> set[str]:
    return {part.strip().lower() for part in text.split(",")} - {"", "none"}


def _choices(view: View) -> Iterator[tuple[str, Cell]]:
    """The choices of a view by parameter, as a query writes them."""
    for name, value in view.configuration.items():
        if isinstance(value, dict):
            yield name, Cell(", ".join(f"{key}:{mode}" for key, mode in value.items()) or "none")
        elif isinstance(value, list):
            yield name, Cell(", ".join(value) or "none")
        else:
            yield name, Cell(str(value))


def _facts(view: View) -> Iterator[tuple[str, Cell]]:
    facts = view.facts
    yield "model", Cell(str(facts["model"]))
    yield "image", Cell(str(facts.get("image") or "none"))
    yield "vLLM", Cell(f"{facts['min_vllm_version']} or newer" if facts.get("min_vllm_version") else "any")
    yield "nodes", Cell(str(view.nodes))
    yield (
        "memory",
        Cell(f"{view.floor_gb} of {view.available_gb} GB" if view.floor_gb else f"{view.available_gb} GB"),
    )
    yield "install", Cell(str(facts.get("pip") or "no known way"))


def _paired(
    one: Sequence[ProcessView], other: Sequence[ProcessView]
) -> list[tuple[ProcessView | None, ProcessView | None]]:
    """Processes of the same role, instance and rank; a server alone stands beside the first of several nodes."""
    right = {process.id: process for process in other}
    pairs: list[tuple[ProcessView | None, ProcessView | None]] = []
    for process in one:
        partner = right.pop(process.id, None)
        if partner is None and process.command["role"] in _FIRST and not process.command["rank"]:
            partner = _first(right, {known.id for known in one}, process)
        pairs.append((process, partner))
    return pairs + [(None, process) for process in right.values()]


def _first(right: dict[str, ProcessView], taken: set[str], process: ProcessView) -> ProcessView | None:
    """The first server of the other side, where no process of this side has its name."""
    for name, partner in right.items():
        command = partner.command
        same = (command["instance"] or 0) == (process.command["instance"] or 0)
        if command["role"] in _FIRST and not command["rank"] and name not in taken and same:
            return right.pop(name)
    return None


def _pair(one: ProcessView | None, other: ProcessView | None, reader: Reader) -> Pair:
    shown = one or other
    assert shown is not None
    title = shown.title if not one or not other or one.title == other.title else f"{one.title} and {other.title}"
    flags = [dict(_flags(process, reader)) if process else {} for process in (one, other)]
    env = [_environment(process) if process else {} for process in (one, other)]
    return Pair(title, one, other, _rows(*flags), _rows(*env))


def _flags(process: ProcessView, reader: Reader) -> Iterator[tuple[str, Cell]]:
    """The program, its flags, and the files that it reads. Equal meanings are told in equal words."""
    command = process.command
    if command["text"] is not None:
        yield "command", Cell(process.text, command["origin"])
        return
    start = command["lines"][0]
    # The model of a server is a fact of the configuration.
    yield "program", Cell(" ".join(start if command["role"] == "router" else start[:-1]))
    for flag, setting in reader.of_command(command).items():
        yield flag, Cell(setting.value, setting.origin)
    for file in command["files"]:
        yield file["path"], Cell(file["text"])


def _environment(process: ProcessView) -> dict[str, Cell]:
    return {name: Cell(value, origin) for name, (value, origin) in variables_of(process.command).items()}


def _rows(one: Mapping[str, Cell], other: Mapping[str, Cell]) -> list[Row]:
    """Every name of both sides: differing ones first, then by the order of the first side."""
    rows = [
        Row(name, _status(one.get(name), other.get(name)), one.get(name), other.get(name)) for name in {**one, **other}
    ]
    return sorted(rows, key=lambda row: row.status == "same")


def _status(one: Cell | None, other: Cell | None) -> str:
    if one is None:
        return "b"
    if other is None:
        return "a"
    return "same" if one.value == other.value else "different"
