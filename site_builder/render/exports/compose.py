"""A compose file for one host: one process of the deployment as a service."""

from __future__ import annotations

import json
import re
from typing import Any

from site_builder.errors import CannotExport
from site_builder.placeholders import variables_in
from site_builder.plan import Command
from site_builder.render.exports.chosen import Container, chosen, container, header, placeholder_notes
from site_builder.render.exports.yaml_text import yaml_text
from site_builder.views import ProcessView, View

_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)?")
#: Options of ``docker run`` and their key of a service; those with a list collect their values.
_KEYS = {"--network": "network_mode", "--ipc": "ipc", "--shm-size": "shm_size"}
_LISTS = {
    "-p": "ports",
    "-v": "volumes",
    "--device": "devices",
    "--security-opt": "security_opt",
    "--group-add": "group_add",
}


def render(view: View) -> str:
    """The compose file. Raises CannotExport where the process has no docker command."""
    process = chosen(view)
    if process.command["text"] is not None:
        raise CannotExport(f"{process.id} is a command of its own", f"the .sh form with process={process.id}")
    service = _service(process, container(process))
    document: dict[str, Any] = {"name": "vllm", "services": {"vllm": service}}
    configs = _configs(process.command)
    if configs:
        service["configs"] = [
            {"source": name, "target": escaped(file["path"])}
            for name, file in zip(configs, process.command["files"], strict=True)
        ]
        document["configs"] = configs
    return yaml_text(header(view, *_notes(view, process, json.dumps(document))), document)


def _notes(view: View, process: ProcessView, text: str) -> list[str]:
    notes = []
    if len(view.processes) > 1:
        others = ", ".join(other.id for other in view.processes if other.id != process.id)
        notes.append(f"This host runs: {process.title}. A file for each other host: process= {others}")
    found = placeholder_notes(view, variables_in(text))
    return notes + (["Set in the environment or in .env:", *found] if found else [])


def _service(process: ProcessView, found: Container) -> dict[str, Any]:
    service: dict[str, Any] = {"image": found.image}
    if found.entrypoint:
        service["entrypoint"] = found.entrypoint
    service["command"] = [escaped(word) for word in found.words]
    service["environment"] = dict(_variable(value) for value in found.values("-e"))
    mounted = [str(file["path"]) for file in process.command["files"]]
    for name, value in found.options:
        if name == "--privileged":
            service["privileged"] = True
        elif name in _KEYS:
            service[_KEYS[name]] = value
        elif name in _LISTS and not value.startswith(tuple(f"{path}:" for path in mounted)):
            service.setdefault(_LISTS[name], []).append(escaped(value))
        elif name == "--gpus":
            device = {"driver": "nvidia", "count": value, "capabilities": ["gpu"]}
            service["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    if "network_mode" in service:
        service.pop("ports", None)  # a service in the host's network publishes nothing
    service["restart"] = "unless-stopped"
    return {key: value for key, value in service.items() if value not in ({}, [])}


def _variable(text: str) -> tuple[str, str]:
    """``NAME=value``, or a name alone, whose value is that of the host."""
    name, equals, value = text.partition("=")
    return name, escaped(value) if equals else f"${{{name}}}"


def escaped(text: str) -> str:
    """Text in which compose finds the placeholders, and no other variable."""
    return _VARIABLE.sub(lambda match: f"${{{match[1]}}}" if match[1] else "$$", text)


def _configs(command: Command) -> dict[str, Any]:
    """The files that the process reads, written by compose itself."""
    return {
        f"file{number}": {"content": escaped(file["text"])} for number, file in enumerate(command["files"], start=1)
    }
