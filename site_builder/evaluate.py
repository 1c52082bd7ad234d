"""From a plan and a selection to commands. Twin: ``static/js/plan/evaluate.js``.

Layers are read in order; a later flag or variable with the same key replaces the earlier one. Nothing here knows a
flag.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import cast

from site_builder.plan import (
    Argument,
    Command,
    KeyedArgument,
    Origin,
    Plan,
    Process,
    Program,
    Scaled,
    Selection,
    Token,
    holds,
)

Facts = Mapping[str, object]
#: The words of each argument and where they come from, by key.
Flags = dict[str, tuple[list[str], str]]


def facts_of(plan: Plan, selection: Selection) -> dict[str, object]:
    """The scalars of a selection, for example ``model``, ``image`` and ``min_vllm_version``."""
    facts: dict[str, object] = {}
    for layer in plan["facts"]:
        if holds(layer.get("when"), selection):
            facts.update(layer["facts"])
    return facts


def evaluate(plan: Plan, selection: Selection, facts: Facts | None = None) -> list[Command]:
    """The commands of a selection, in the order in which they are started; ``facts`` where they are known already."""
    facts = facts_of(plan, selection) if facts is None else facts
    commands = []
    for process in plan["processes"]:
        if not holds(process.get("when"), selection):
            continue
        program = _held(plan, process, selection)
        for place in _places(process, selection):
            values = {**selection, "gpus": str(facts.get("gpus", 1)), **place}
            commands.append(_command(plan, (process, program), values, facts))
    return commands


def _held(plan: Plan, process: Process, selection: Selection) -> Program | None:
    """The program of a process with the layers that can hold in a selection, whatever the rank: found once for all."""
    if "program" not in process:
        return None
    program = plan["programs"][process["program"]]
    places = ("role", *(axis for axis, _ in process.get("each", [])))
    return {**program, "layers": [one for one in program["layers"] if holds(one.get("when"), selection, places)]}


def _places(process: Process, selection: Selection) -> Iterator[dict[str, str]]:
    """The ranks and instances of a process: every combination of its counted axes, the first axis slowest."""
    places: list[dict[str, str]] = [{}]
    for axis, counter in process.get("each", []):
        count = int(selection.get(counter, "1"))
        places = [{**place, axis: str(number)} for place in places for number in range(count)]
    yield from places


def _command(plan: Plan, started: tuple[Process, Program | None], values: dict[str, str], facts: Facts) -> Command:
    process, program = started
    rank = int(values["rank"]) if "rank" in values else None
    role = process["follower"] if rank and "follower" in process else process["role"]
    values["role"] = role
    command: Command = {
        "role": role,
        "rank": rank,
        "instance": int(values["instance"]) if "instance" in values else None,
        "name": process.get("name", ""),
        "origin": _origin(process.get("origin", ""), values),
        "text": process.get("text"),
        "indent": 0,
        "lines": [],
        "argv": [],
        "env": {},
        "port": "",
        "because": [],
        "files": [file for file in process.get("files", []) if holds(file.get("when"), values)],
    }
    if program is not None:
        _fill(plan, program, (values, facts), command)
    return command


def _fill(plan: Plan, program: Program, known: tuple[Selection, Facts], command: Command) -> None:
    """Write the words, the variables and where each comes from into a command."""
    values, facts = known
    flags: Flags = {}
    env: dict[str, tuple[str, str]] = {}
    for layer in program["layers"]:
        if not holds(layer.get("when"), values):
            continue
        origin = _origin(layer["origin"], values)
        for argument in layer.get("args", []):
            _place(flags, argument, values, (facts, origin))
        for variable, token in layer.get("env", {}).items():
            if token is None:
                env.pop(variable, None)
            else:
                env[variable] = (word(token, values, facts), origin)
    command["indent"] = program["indent"]
    command["lines"] = [
        [word(token, values, facts) for token in program["start"]],
        *(words for words, _ in flags.values()),
    ]
    command["argv"] = [text for line in command["lines"] for text in line]
    command["env"] = {variable: value for variable, (value, _) in env.items()}
    command["port"] = (
        flags[plan["port"]["key"]][0][-1].split("=")[-1] if plan["port"]["key"] in flags else plan["port"]["default"]
    )
    command["because"] = [
        *_because(flags),
        *_because({key: ([key, value], origin) for key, (value, origin) in env.items()}),
    ]


def _place(flags: Flags, argument: Argument, values: Selection, source: tuple[Facts, str]) -> None:
    """Add one argument at the end; an earlier one with its key goes. One without a key stands beside the others."""
    if isinstance(argument, list):
        argument = {"key": str(argument[0]), "tokens": argument}
    if "each" not in argument:
        _put(flags, argument, values, source)
    else:
        for number in range(int(values[argument["each"]])):
            _put(flags, argument, {**values, "each": str(number)}, source)


def _put(flags: Flags, argument: KeyedArgument, values: Selection, source: tuple[Facts, str]) -> None:
    facts, origin = source
    key = argument.get("key", f"#{len(flags)}")
    flags.pop(key, None)
    flags[key] = ([word(token, values, facts) for token in argument["tokens"]], origin)


def word(token: Token, values: Selection, facts: Facts) -> str:
    """One word of a command with its numbers and facts filled in."""
    if isinstance(token, str):
        return token
    text = ""
    for part in token:
        if isinstance(part, str):
            text += part
        elif "of" in part:
            text += str(number(cast(Scaled, part), values))
        else:
            text += str(facts.get(part["fact"], ""))
    return text


def number(scaled: Scaled, values: Selection) -> int:
    """The number that a scaled token stands for in a selection."""
    return math.prod([int(values[name]) for name in scaled["of"]]) * scaled.get("times", 1) + scaled.get("plus", 0)


def _origin(origin: str, values: Selection) -> str:
    """The place that a layer names; an axis in braces stands for its value."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], ""), origin) if "{" in origin else origin


def _because(flags: Flags) -> list[Origin]:
    return [{"flag": words[0], "value": " ".join(words[1:]), "origin": origin} for words, origin in flags.values()]
