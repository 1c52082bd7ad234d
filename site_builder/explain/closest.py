"""The configuration whose commands are closest to pasted ones.

A descent over the choices of a plan: from a few starts (the default, each strategy) every choice is tried in turn, and
what lowers the number of differences is kept. The plan's own evaluator makes every command that is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from site_builder.compiler.reading import Reader, Setting, nodes_of, rank_of
from site_builder.evaluate import evaluate, facts_of
from site_builder.explain.differences import same, same_text
from site_builder.explain.pasted import Pasted
from site_builder.plan import Axis, Command, Plan, Process, values_of
from site_builder.query import asked_of
from site_builder.resolve import RANKS, pick, resolve

#: The program of a plan that serves; the others route.
SERVER = "vllm"
#: What another model and another image count, in flags that differ; and one word of docker's. A model outweighs all
#: flags that a variant may have: a command of two flags is still that of the checkpoint that it names.
MODEL, IMAGE, DEVICE = 50.0, 1.0, 0.1
#: How many configurations are compared at most, how many starts are followed, and how often all choices are tried.
MOST_TRIED, STARTS, ROUNDS = 1500, 3, 4
#: The choices that a number of nodes may be about.
COUNTS = ("nodes", "prefill_nodes", "decode_nodes")
#: A deployment is known by its first and last servers.
SAMPLE = 4


@dataclass(frozen=True)
class Candidate:
    """A configuration with what it costs: differences, then choices that differ from the default, then its turn."""

    cost: tuple[float, int, int]
    selection: Mapping[str, str]


@dataclass
class Search:
    """One search over one plan for some pasted servers."""

    plan: Plan
    pasted: Sequence[Pasted]
    reader: Reader
    tried: dict[tuple[tuple[str, str], ...], Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sample = [*self.pasted[: SAMPLE // 2], *self.pasted[SAMPLE // 2 :][-SAMPLE // 2 :]]
        self.ranks = [rank_of(dict(one.settings)) for one in self.sample]
        ways = ["docker", "pip"] if any(one.image for one in self.pasted) else ["pip", "docker"]
        self.fixed = {"install": ways[0]}
        served = [process for process in self.plan["processes"] if process.get("program") == SERVER]
        # One place of each process is enough: its rank and instance are put into the selection.
        self.places: list[tuple[Process, Plan]] = [(one, {**self.plan, "processes": [_alone(one)]}) for one in served]
        self.axes = [axis for axis in self.plan["axes"] if axis["id"] not in (*RANKS, "install")]

    def best(self) -> list[Candidate]:
        """Every configuration that was compared, the closest first."""
        starts = sorted((self._try(asked) for asked in self._starts()), key=lambda found: found.cost)
        for start in starts[:STARTS]:
            if not self._descend(start).cost[0]:
                break
        return sorted(self.tried.values(), key=lambda found: found.cost)

    def _starts(self) -> Iterator[dict[str, str]]:
        """The default, and each strategy on the nodes that the command speaks of."""
        counts = [nodes_of(dict(one.settings)) for one in self.sample]
        nodes = next((str(count) for count in counts if count and count <= 16), None)
        yield {}
        for axis in self.axes:
            if axis["id"] in ("task", "variant", "strategy", "prefill_mode", "decode_mode"):
                for value in values_of(axis):
                    asked = dict.fromkeys(COUNTS, nodes) if nodes and axis["id"] == "strategy" else {}
                    found = pick(self.plan, asked, (axis["id"], value))
                    if found is not None:
                        yield found

    def _descend(self, start: Candidate) -> Candidate:
        """Take the best value of every choice in turn, until none is better or nothing is different."""
        best = start
        for _ in range(ROUNDS):
            before = best
            for axis in self.axes:
                if not best.cost[0] or len(self.tried) >= MOST_TRIED:
                    return self._plainest(best)
                if axis["id"] in best.selection:
                    best = min([best, *self._moves(axis, best.selection)], key=lambda found: found.cost)
            if best.cost == before.cost:
                break
        return best

    def _plainest(self, best: Candidate) -> Candidate:
        """The same commands with fewer choices, where some are not needed."""
        asked = asked_of(self.plan, best.selection)
        for axis_id in list(asked):
            fewer = {name: value for name, value in asked.items() if name != axis_id}
            found = self._try(fewer)
            if found.cost < best.cost:
                best, asked = found, fewer
        return best

    def _moves(self, axis: Axis, selection: Mapping[str, str]) -> Iterator[Candidate]:
        """Every other value of one choice: with all else as it is now, and with all else as a click would leave it."""
        asked = asked_of(self.plan, selection)
        for value in values_of(axis):
            if value != selection[axis["id"]]:
                yield self._try({**selection, axis["id"]: value})
                found = pick(self.plan, asked, (axis["id"], value))
                if found is not None:
                    yield self._try(found)

    def _try(self, asked: Mapping[str, str]) -> Candidate:
        selection = resolve(self.plan, {"asked": {**asked, **self.fixed}, "notes": []})["selection"]
        name = tuple(selection.items())
        found = self.tried.get(name)
        if found is None:
            choices = len(asked_of(self.plan, selection))
            found = self.tried[name] = Candidate((self._cost(selection), choices, len(self.tried)), selection)
        return found

    def _cost(self, selection: Mapping[str, str]) -> float:
        facts = facts_of(self.plan, selection)
        total = 0.0
        for pasted, rank in zip(self.sample, self.ranks, strict=True):
            commands = [
                command
                for process, plan in self.places
                for command in evaluate(plan, {**selection, **_place(process, selection, rank)})
            ]
            total += min((self.distance(pasted, command, facts) for command in commands), default=len(pasted.settings))
        return round(total, 6)

    def distance(self, pasted: Pasted, command: Command, facts: Mapping[str, Any]) -> float:
        """How far a pasted server is from a command of ours: the flags and variables that are not the same."""
        ours = self.reader.settings(command["lines"][1:])
        cost: float = _unlike(ours, pasted.settings) + _unlike_env(command["env"], pasted.env)
        cost += MODEL * (pasted.model.lower() != str(facts["model"]).lower())
        if pasted.image:
            cost += IMAGE * (pasted.image != facts.get("image"))
            cost += DEVICE * sum(word not in pasted.docker for line in facts.get("docker") or [] for word in line)
        return cost


def _unlike(ours: Mapping[str, Setting], theirs: Mapping[str, Setting]) -> int:
    shared = [flag for flag in ours if flag in theirs]
    return (
        len(ours)
        + len(theirs)
        - 2 * len(shared)
        + sum(not same(ours[flag].meaning, theirs[flag].meaning) for flag in shared)
    )


def _unlike_env(ours: Mapping[str, str], theirs: Mapping[str, str]) -> int:
    missing = sum(name not in theirs and value != f"${name}" for name, value in ours.items())
    differing = sum(name in theirs and not same_text(value, theirs[name]) for name, value in ours.items())
    return missing + differing + sum(name not in ours for name in theirs)


def _alone(process: Process) -> Process:
    """A process without its ranks and instances, which the selection then gives."""
    alone = process.copy()
    alone.pop("each", None)
    return alone


def _place(process: Process, selection: Mapping[str, str], rank: int) -> dict[str, str]:
    """The first instance of a process, at a rank that it has."""
    counted = {axis: int(selection.get(counter, "1")) for axis, counter in process.get("each", [])}
    return {axis: str(min(rank, count - 1) if axis == "rank" else 0) for axis, count in counted.items()}


def closest_of(searches: Iterable[tuple[str, Search]]) -> list[tuple[str, Candidate]]:
    """The candidates of several recipes, the closest first; of equal ones those of the earlier recipe."""
    found = [(name, candidate) for name, search in searches for candidate in search.best()]
    return sorted(found, key=lambda pair: pair[1].cost[:2])
