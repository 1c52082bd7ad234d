"""What an answer says: one view of a recipe in one configuration, which every format renders.

``answer`` is the only way from a query to a view; page, JSON, markdown, command line and exports all go through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from site_builder.catalog import Recipe
from site_builder.choices import ChoiceView, choices_of, closed_hardware
from site_builder.collection import Collection
from site_builder.evaluate import evaluate, facts_of
from site_builder.evidence import status_of
from site_builder.fit import Fit, apart_text, fit_of
from site_builder.placeholders import Placeholder, describe_placeholder, variables_in
from site_builder.plan import Adjustment, Command, Plan, axis_of, parameter_of, values_of
from site_builder.query import PARAMETERS, canonical, configuration, parse_query, read_loads, split_query
from site_builder.requests import RequestView, requests_of
from site_builder.resolve import on_offer, resolve
from site_builder.schema.recipe import Dependency, HardwareNote, InstallWay, Variant
from site_builder.schema.vocabulary import Hardware, Strategy
from site_builder.shell import docker_lines, export_text, shell_text, written
from site_builder.sizing import APART, whole

_TITLES = {
    "serve": "Serve",
    "head": "Head node",
    "router": "Router",
    "kv_master": "Store coordinator",
    "kv_store": "Store",
}


@dataclass(frozen=True)
class ProcessView:
    """One command of the deployment with its other forms. ``because`` says where each flag and variable comes from."""

    id: str
    title: str
    command: Command
    text: str
    exports: str
    docker: str | None
    docker_lines: list[list[str]] | None

    @property
    def docker_argv(self) -> list[str] | None:
        return None if self.docker_lines is None else [word for line in self.docker_lines for word in line]


@dataclass(frozen=True)
class View:
    """A recipe in one configuration. Memory is in GB (1e9 bytes) and across all nodes of the replica.

    ``wanted`` are the axes that the selection was settled from, where that is known; ``loads`` what has to fit.
    ``process`` is the id of the process that an export is of; empty for the first that serves. ``file`` is the path of
    the file that a build prepares for this configuration, without its suffix.
    """

    collection: Collection
    recipe: Recipe
    plan: Plan
    selection: Mapping[str, str]
    adjustments: Sequence[Adjustment]
    wanted: Mapping[str, str] | None = None
    loads: Mapping[str, int] = field(default_factory=dict)
    derived_from: str | None = None
    process: str = ""
    file: str = ""

    @cached_property
    def commands(self) -> Sequence[Command]:
        """The commands of the deployment, worked out when they are first asked for: a cached answer needs none."""
        return evaluate(self.plan, self.selection, self.facts)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        return facts_of(self.plan, self.selection)

    @property
    def id(self) -> str:
        return self.recipe.id

    @cached_property
    def configuration(self) -> dict[str, Any]:
        return configuration(self.plan, self.selection)

    @cached_property
    def query(self) -> str:
        """The canonical query: only what differs from the default, and what has to fit."""
        loads = [f"{name}={number}" for name, number in self.loads.items()]
        settled = canonical(self.plan, self.selection, self.wanted)
        return "&".join([settled, *loads] if settled else loads)

    @cached_property
    def asked(self) -> dict[str, str]:
        """The axes that have to be asked for to get this selection: what its canonical query says."""
        return parse_query(self.plan, split_query(self.query)[0])["asked"]

    @property
    def hardware(self) -> Hardware:
        return self.collection.catalog.taxonomy.hardware_profiles[self.selection["hardware"]]

    @property
    def variant(self) -> Variant:
        return self.recipe.file.variants[self.selection["variant"]]

    @property
    def strategy(self) -> Strategy | None:
        """The serving strategy; omni recipes have none."""
        return self.collection.catalog.strategies.get(self.selection.get("strategy", ""))

    @property
    def nodes(self) -> int:
        """All nodes of the deployment, without those of routers and stores."""
        if self.deploy_type == "pd_cluster":
            return int(self.selection["prefill_nodes"]) + int(self.selection["decode_nodes"])
        return int(self.selection.get("nodes", "1"))

    @property
    def deploy_type(self) -> str:
        return str(self.facts["deploy_type"])

    @property
    def has_store(self) -> bool:
        return self.selection.get("kv_offload") in self.collection.catalog.kv_stores

    @property
    def hardware_status(self) -> str:
        return status_of(self.recipe.file, self.selection["hardware"])

    @property
    def precision(self) -> str:
        return self.variant.name or self.selection["variant"]

    @cached_property
    def summary(self) -> str:
        """One line: GPUs, parallel sizes, precision."""
        hardware = f"{self.hardware.gpu_count}× {self.hardware.display_name}"
        where = hardware if self.nodes == 1 else f"{self.nodes} nodes of {hardware}"
        if self.deploy_type == "pd_cluster":
            pools = [f"{role} {self.selection[f'{role}_mode'].upper()}" for role in ("prefill", "decode")]
            return " · ".join([where, *pools, self.precision])
        sizes: dict[str, str] = {}
        for command in self.commands:
            words = {line[0]: line[-1] for line in command["lines"][1:]}
            for flag, name in self.plan["sizes"].items():
                if flag in words:
                    sizes.setdefault(name, name if words[flag] == flag else f"{name}={words[flag]}")
        return " · ".join([where, *sizes.values(), self.precision])

    @cached_property
    def processes(self) -> list[ProcessView]:
        seen: dict[str, int] = {}
        return [self._process(command, seen) for command in self.commands]

    def _process(self, command: Command, seen: dict[str, int]) -> ProcessView:
        parts = [command["role"], *(str(number + 1) for number in (command["instance"],) if number is not None)]
        parts += [str(command["rank"])] if command["rank"] is not None else []
        name = "-".join(parts)
        seen[name] = seen.get(name, 0) + 1
        lines = docker_lines(command, self.facts) if command["role"] != "router" else None
        return ProcessView(
            id=name if seen[name] == 1 else f"{name}-{seen[name]}",
            title=_title(command, self),
            command=command,
            text=shell_text(command),
            exports=export_text(command["env"]),
            docker=written(lines, 2) if lines else None,
            docker_lines=lines,
        )

    @cached_property
    def placeholders(self) -> list[Placeholder]:
        """Every variable that the commands leave open, and ``~`` where a command has one."""
        return self.placeholders_of(self.commands)

    def placeholders_of(self, commands: Sequence[Command]) -> list[Placeholder]:
        """What some of the commands leave open."""
        names = dict.fromkeys(self._open_names(commands))
        return [Placeholder(name, describe_placeholder(name)) for name in names]

    def _open_names(self, commands: Sequence[Command]) -> Iterator[str]:
        for command in commands:
            words = [*command["argv"], command["text"] or ""]
            for text in (
                *words,
                *command["env"].values(),
                *(file["path"] + file["text"] for file in command["files"]),
            ):
                yield from variables_in(text)
            if any(word.startswith("~/") for word in words):
                yield "~"
        if self.facts.get("gated"):
            yield "HF_TOKEN"

    @property
    def floor_gb(self) -> float:
        """The published memory floor across the replica, of the task or else of the variant; 0 where there is none."""
        floor = self.task_floor(self.selection.get("task", ""), self.selection["hardware"])
        return whole(floor or self.variant.vram_minimum_gb)

    def task_floor(self, task: str, hardware: str) -> float:
        """The memory floor that an omni task has on a hardware, in GB; 0 where none is published."""
        omni = self.recipe.file.omni
        entry = next((entry for entry in omni.all_tasks if entry.name == task), None) if omni else None
        override = entry.hardware_overrides.get(hardware) if entry else None
        return (override and override.vram_minimum_gb) or (entry and entry.vram_minimum_gb) or 0

    @property
    def available_gb(self) -> float:
        """The memory of one replica's nodes: of the smaller pool under pd_cluster."""
        nodes = self.nodes
        if self.deploy_type == "pd_cluster":
            nodes = min(int(self.selection["prefill_nodes"]), int(self.selection["decode_nodes"]))
        return whole(self.hardware.vram_gb * nodes)

    @cached_property
    def warnings(self) -> list[str]:
        """What a reader should know before running the commands."""
        found = []
        if self.floor_gb > self.available_gb:
            found.append(
                f"The weights need {self.floor_gb} GB and {self.where} has {self.available_gb} GB:"
                " take more nodes, a smaller variant or larger GPUs."
            )
        if self.fit.apart is not None and abs(self.fit.apart) >= APART:
            found.append(apart_text(self.fit.apart, self.floor_gb))
        if self.facts.get("docker") is None:
            found.append(f"There is no known docker command for {self.hardware.display_name}.")
        return found

    @cached_property
    def fit(self) -> Fit:
        """How many requests fit, as an estimate."""
        return fit_of(self)

    @property
    def where(self) -> str:
        return f"{self.hardware.gpu_count}× {self.hardware.display_name}" + (
            f" on {self.nodes} nodes" if self.nodes > 1 else ""
        )

    @property
    def pip_note(self) -> str:
        way = self.recipe.file.model.install.pip
        return way.note if isinstance(way, InstallWay) else ""

    @property
    def docker_note(self) -> str:
        way = self.recipe.file.model.install.docker
        return way.note if isinstance(way, InstallWay) else ""

    @property
    def docker_hidden(self) -> bool:
        return self.recipe.file.model.install.docker is False

    @cached_property
    def dependencies(self) -> list[Dependency]:
        """The extra packages that this hardware needs, and what the key-value store does."""
        brand = self.hardware.brand.lower()
        found = [
            entry
            for entry in self.recipe.file.dependencies
            if entry.brand is None or brand in [name.lower() for name in entry.brand]
        ]
        return [*found, *self._offload_dependencies(brand)]

    def _offload_dependencies(self, brand: str) -> Iterator[Dependency]:
        key = self.selection.get("kv_offload", "off")
        store = self.collection.catalog.kv_stores.get(key)
        option = self.collection.catalog.taxonomy.kv_offload.get(key)
        if option and option.install:
            yield Dependency(command=option.install, note=f"for {option.display_name}")
        if store:
            install = store.vllm.install
            command = install if isinstance(install, str) else install.get("amd" if brand == "amd" else "nvidia", "")
            if command:
                yield Dependency(command=command, note=f"for {store.display_name}")
            if store.router.install and any(command["role"] == "router" for command in self.commands):
                yield Dependency(command=store.router.install, note="for the router")

    @cached_property
    def default_features(self) -> list[str]:
        """The features that are on when none are named, with the other choices as they are."""
        asked = {axis: value for axis, value in self.asked.items() if not axis.startswith(("feature.", "mode."))}
        settled = resolve(self.plan, {"asked": asked, "notes": []})["selection"]
        return list(configuration(self.plan, settled)["features"])

    def is_multi_node(self, strategy: str) -> bool:
        return self.collection.catalog.strategies[strategy].deploy_type == "multi_node"

    @property
    def notes(self) -> dict[str, HardwareNote]:
        """What the recipe says of some hardware, by its id."""
        notes = self.recipe.file.hardware_notes
        return {name: HardwareNote(body=note) if isinstance(note, str) else note for name, note in notes.items()}

    @property
    def offered_hardware(self) -> list[str]:
        """The hardware that some variant runs on, open now or not."""
        axis = axis_of(self.plan, "hardware")
        return values_of(axis) if axis else []

    @cached_property
    def closed_hardware(self) -> list[tuple[str, str]]:
        """Hardware that no variant runs on, with the reason."""
        return closed_hardware(self)

    @cached_property
    def requests(self) -> list[RequestView]:
        """Example requests, aimed at the process and port that serve."""
        return list(requests_of(self))

    @cached_property
    def choices(self) -> list[ChoiceView]:
        """Every row of the builder, with the query that each option leads to."""
        return choices_of(self)

    @cached_property
    def on_offer(self) -> dict[str, Any]:
        """What is open now, for each parameter: values, names of lists, and the modes of each feature."""
        offered: dict[str, Any] = {}
        for axis in self.plan["axes"]:
            values, name = on_offer(axis, self.selection), parameter_of(axis)
            if PARAMETERS[name] == "list":
                offered.setdefault(name, []).extend([axis["member"]] if "on" in values else [])
            elif PARAMETERS[name] == "pairs":
                if values:
                    offered.setdefault(name, {})[axis["member"]] = values
            elif values:
                offered[name] = [int(value) for value in values] if PARAMETERS[name] != "value" else values
        return offered


def answer(collection: Collection, recipe_id: str, query: str | Mapping[str, str]) -> View:
    """The view of a recipe for a query string or a map of parameters.

    ``recipe_id`` may be the checkpoint of a variant, in any case. Raises UnknownRecipe.
    """
    recipe, variant = collection.find(recipe_id)
    parameters, notes = (
        split_query(query) if isinstance(query, str) else ({key.lower(): value for key, value in query.items()}, [])
    )
    if variant is not None:
        parameters = {**parameters, "variant": variant}
    plan = collection.plans[recipe.id]
    parsed = parse_query(plan, parameters)
    loads, loads_notes = read_loads(parameters)
    settled = resolve(plan, {"asked": parsed["asked"], "notes": [*notes, *parsed["notes"], *loads_notes]})
    selection = settled["selection"]
    view = View(
        collection=collection,
        recipe=recipe,
        plan=plan,
        selection=selection,
        adjustments=[_with_used(plan, selection, adjustment) for adjustment in settled["adjustments"]],
        wanted=parsed["asked"],
        loads=loads,
        derived_from=recipe_id if variant else None,
    )
    process = parameters.get("process", "").strip().lower()
    return _of_process(view, process) if process else view


def _of_process(view: View, asked: str) -> View:
    """The view with the process that an export is of; one that the deployment does not have is an adjustment."""
    known = [process.id for process in view.processes]
    if asked in known:
        return replace(view, process=asked)
    reason = f"this deployment has no such process; it has {', '.join(known)}"
    note: Adjustment = {"parameter": "process", "requested": asked, "used": "", "reason": reason}
    return replace(view, adjustments=[*view.adjustments, note])


def _with_used(plan: Plan, selection: Mapping[str, str], adjustment: Adjustment) -> Adjustment:
    """A note on a value that could not be read does not know what is used instead: the selection does."""
    name = adjustment["parameter"]
    axis = next((axis for axis in plan["axes"] if parameter_of(axis) == name and "member" not in axis), None)
    if adjustment["used"] or axis is None:
        return adjustment
    return {**adjustment, "used": selection.get(axis["id"], "")}


def _title(command: Command, view: View) -> str:
    role, rank = command["role"], command["rank"]
    if command["name"]:
        return command["name"]
    if role == "worker":
        title = f"Node {rank}"
    elif role in ("prefill", "decode"):
        title = f"{role.capitalize()} node {(rank or 0) + 1}"
    else:
        title = _TITLES.get(role, role)
    return title if command["instance"] is None else f"Instance {command['instance'] + 1}: {title}"
