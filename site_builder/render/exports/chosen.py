"""What all exports share: the process that is exported, and the container that its docker command describes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from site_builder.errors import CannotExport
from site_builder.plan import Command
from site_builder.views import ProcessView, View

#: Options of ``docker run`` that stand alone. All others have a value, after ``=`` or as the next word.
_ALONE = ("--privileged",)


@dataclass(frozen=True)
class Container:
    """A process as a container: the options of its ``docker run`` by name, the image, and the words after it."""

    image: str
    entrypoint: list[str]
    words: list[str]
    options: list[tuple[str, str]] = field(default_factory=list)

    def values(self, *names: str) -> list[str]:
        """The values of an option, in order."""
        return [value for name, value in self.options if name in names]


def chosen(view: View) -> ProcessView:
    """The process that ``process=`` names, else the first one that serves."""
    processes = {process.id: process for process in view.processes}
    if view.process in processes:
        return processes[view.process]
    return next((process for process in view.processes if process.command["argv"]), view.processes[0])


def container(process: ProcessView) -> Container:
    """The container of a process. Raises CannotExport where there is no docker command for it."""
    words = process.docker_argv
    if words is None:
        raise CannotExport(f"there is no docker command for the process {process.id}", "the .sh form")
    rest = iter(words[2:])
    options = list(_options(rest))
    image = options.pop()[0]
    entry = [value for name, value in options if name == "--entrypoint"]
    return Container(image, entry, list(rest), [option for option in options if option[0] != "--entrypoint"])


def _options(words: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Options with their values; the last one is the image."""
    for word in words:
        if not word.startswith("-"):
            yield word, ""
            return
        name, equals, value = word.partition("=")
        yield name, value if equals else "" if name in _ALONE else next(words)


def only_server(view: View, target: str, instead: str) -> ProcessView:
    """The one server of a deployment on one node. Raises CannotExport where there are more processes."""
    if len(view.processes) > 1 or view.processes[0].command["role"] != "serve":
        names = ", ".join(process.title for process in view.processes)
        raise CannotExport(f"{target} holds one server, and this deployment has several processes ({names})", instead)
    return view.processes[0]


def gpus_of(view: View, command: Command, nodes: int) -> int:
    """The GPUs that a process takes of one node: what its parallel sizes multiply to, over the nodes of its pool.

    Stages of omni recipes are spread over GPUs in ways of their own: they get the whole node.
    """
    most = int(view.facts["gpus"])
    if view.recipe.file.omni:
        return most
    key = view.collection.grammar.key  # a size may be spelled short, or hold its value after =
    sizes = [line[-1].rpartition("=")[2] for line in command["lines"][1:] if key(line[0]) in view.plan["sizes"]]
    return max(1, min(most, math.ceil(math.prod(int(size) for size in sizes if size.isdigit()) / nodes)))


def header(view: View, *more: str) -> list[str]:
    """The first lines of a file, as comments: what it is for, and what a person has to know."""
    return [f"# {view.id}: {view.summary}", *(f"# {line}" for line in more)]


def placeholder_notes(view: View, names: Sequence[str]) -> list[str]:
    """What to fill in, one line each, for the placeholders among these names."""
    return [f"  {entry.name}: {entry.description or 'set it'}" for entry in view.placeholders if entry.name in names]
