"""A pasted command against the recipes: which configuration it is closest to, and what is different.

The text is read, never run. Everything that it is compared with comes from the plans, by the one evaluator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from site_builder.collection import Collection
from site_builder.compiler.reading import Reader, variables_of
from site_builder.errors import BadCommand
from site_builder.explain.closest import Candidate, Search, closest_of
from site_builder.explain.differences import Difference, Releases, flag_differences, variable_differences
from site_builder.explain.models import recipes_of
from site_builder.explain.pasted import Pasted, read_pasted
from site_builder.query import canonical
from site_builder.views import ProcessView, View, answer

#: The longest text that is read, in bytes.
LONGEST = 64 * 1024
#: How many of the next closest configurations are named.
ALTERNATIVES = 3


@dataclass(frozen=True)
class Explained:
    """One pasted server beside the process of ours that it is closest to.

    ``facts`` are the model and the image where they are not the same.
    """

    pasted: Pasted
    process: ProcessView
    facts: tuple[Difference, ...]
    flags: tuple[Difference, ...]
    environment: tuple[Difference, ...]

    @property
    def count(self) -> int:
        return len(self.facts) + len(self.flags) + len(self.environment)


@dataclass(frozen=True)
class Alternative:
    """Another configuration that is close: how many differences it has, roughly (a model or image counts for more)."""

    view: View
    differences: float


@dataclass(frozen=True)
class Explanation:
    """The closest configuration (``view``), each pasted server with its differences, and notes on the reading."""

    view: View
    servers: tuple[Explained, ...]
    notes: tuple[str, ...]
    alternatives: tuple[Alternative, ...]

    @property
    def exact(self) -> bool:
        """Whether every pasted server is exactly one of the configuration's."""
        return not any(server.count for server in self.servers)

    @cached_property
    def others(self) -> list[ProcessView]:
        """The processes of the configuration that the text does not start."""
        named = {server.process.id for server in self.servers}
        return [process for process in self.view.processes if process.id not in named]


def serves(process: ProcessView) -> bool:
    """Whether a process is one of vLLM's servers: neither a router nor a text of content."""
    return bool(process.command["argv"]) and process.command["role"] != "router"


def explain(collection: Collection, text: str, recipe: str = "") -> Explanation:
    """Explain a pasted text; ``recipe`` (an id) is compared with, whatever model the text names.

    Raises BadCommand where the text cannot be read, UnknownRecipe where nothing serves its model.
    """
    if len(text.encode(errors="surrogatepass")) > LONGEST:
        raise BadCommand(f"the text is longer than {LONGEST} bytes; paste the command alone")
    reader = Reader(collection.grammar)
    pasted, notes = read_pasted(text, reader)
    found = _candidates(collection, pasted, (reader, recipe))
    recipe_id, best = found[0]
    view = _view(collection, recipe_id, best)
    servers = tuple(_explained(view, pasted, reader))
    return Explanation(view, servers, (*notes, *_notes(pasted)), tuple(_alternatives(collection, found)))


def _candidates(
    collection: Collection, pasted: Sequence[Pasted], how: tuple[Reader, str]
) -> list[tuple[str, Candidate]]:
    reader, recipe = how
    if recipe:
        names = [collection.find(recipe)[0].id]
    else:
        model = next((one.model for one in pasted if one.model), "")
        if not model:
            raise BadCommand("the command names no model; add it, or say which recipe is meant")
        names = recipes_of(collection, model, _served_name(collection, pasted))
    return closest_of((name, Search(collection.plans[name], pasted, reader)) for name in names)


def _served_name(collection: Collection, pasted: Sequence[Pasted]) -> str:
    """The name that the first server gives its model. All plans call the flag the same."""
    flag = next(iter(collection.plans.values()))["served_name"]
    named = [one.settings[flag].value for one in pasted if flag in one.settings]
    return named[0].split(" ")[0] if named else ""


def _view(collection: Collection, recipe_id: str, candidate: Candidate) -> View:
    return answer(collection, recipe_id, canonical(collection.plans[recipe_id], candidate.selection))


def _notes(pasted: Sequence[Pasted]) -> Iterator[str]:
    models = list(dict.fromkeys(one.model for one in pasted if one.model))
    if len(models) > 1:
        yield f"the servers have different models; all are compared with the recipe of {models[0]}"


def _alternatives(collection: Collection, found: Sequence[tuple[str, Candidate]]) -> Iterator[Alternative]:
    for recipe_id, candidate in found[1 : ALTERNATIVES + 1]:
        yield Alternative(_view(collection, recipe_id, candidate), candidate.cost[0])


def _explained(view: View, pasted: Sequence[Pasted], reader: Reader) -> Iterator[Explained]:
    """Each pasted server with the process that is closest to it; a process is taken once, as long as there are more."""
    search = Search(view.plan, pasted, reader)
    releases = Releases(view.collection.catalog.flag_tables)
    free = [process for process in view.processes if serves(process)]
    everyone = list(free)
    for one in pasted:
        process = _nearest(search, one, (free or everyone, view.facts))
        free = [other for other in free if other is not process]
        yield _beside(one, process, (view, reader, releases))


def _nearest(search: Search, one: Pasted, ours: tuple[Sequence[ProcessView], Mapping[str, object]]) -> ProcessView:
    """The first of the processes that are closest to a pasted server."""
    processes, facts = ours
    nearest, least = processes[0], float("inf")
    for process in processes:
        distance = search.distance(one, process.command, facts)
        if distance < least:
            nearest, least = process, distance
        if not least:
            break
    return nearest


def _beside(one: Pasted, process: ProcessView, around: tuple[View, Reader, Releases]) -> Explained:
    view, reader, releases = around
    return Explained(
        one,
        process,
        tuple(_facts(one, view.facts)),
        tuple(flag_differences(reader.of_command(process.command), one.settings, releases)),
        tuple(variable_differences(variables_of(process.command), one.env, releases)),
    )


def _facts(one: Pasted, facts: Mapping[str, object]) -> Iterator[Difference]:
    model, image = str(facts["model"]), str(facts.get("image") or "")
    if one.model.lower() != model.lower():
        yield Difference("different", "model", one.model, model)
    if one.image and one.image != image:
        yield Difference("different", "image", one.image, image)
