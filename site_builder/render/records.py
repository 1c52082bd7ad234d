"""One line of ``render --jsonl``."""

from __future__ import annotations

import json
from typing import Any

from site_builder.collection import Collection
from site_builder.errors import SiteError
from site_builder.views import ProcessView, View, answer


def record(collection: Collection, line: str) -> dict[str, Any]:
    """The answer to one line ``{"recipe", "query"}``; an ``error`` object where there is none."""
    try:
        asked = json.loads(line)
        recipe, query = asked["recipe"], asked.get("query") or {}
        if not isinstance(recipe, str) or not isinstance(query, dict | str):
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError):
        return {
            "error": {
                "title": "Bad line",
                "detail": 'a line is an object {"recipe": "org/repo", "query": {"hardware": "h200"}}',
            }
        }
    parameters = query if isinstance(query, str) else {name: _text(value) for name, value in query.items()}
    try:
        view = answer(collection, recipe, parameters)
    except SiteError as error:
        return {"recipe": recipe, "query": query, "error": {"title": "Unknown recipe", "detail": str(error)}}
    return {
        "recipe": recipe,
        "query": query,
        "selection": view.configuration,
        "adjustments": list(view.adjustments),
        "docker_image": view.facts.get("image"),
        "docker_command": _docker(view),
        "processes": [_process(process, view) for process in view.processes],
    }


def _text(value: object) -> str:
    if isinstance(value, list):
        return ",".join(str(entry) for entry in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _docker(view: View) -> str | None:
    """The docker command of a single-node deployment."""
    servers = [process for process in view.processes if process.command["role"] == "serve"]
    return servers[0].docker if view.deploy_type == "single_node" and not view.has_store else None


def _process(process: ProcessView, view: View) -> dict[str, Any]:
    command = process.command
    entry: dict[str, Any] = {"role": command["role"], "rank": command["rank"], "command": process.text}
    if command["text"] is None:
        entry |= {"argv": command["argv"], "env": command["env"]}
    if command["name"]:
        entry["name"] = command["name"]
    if command["role"] == "serve":
        entry["model_id"] = view.facts["model"]
    if command["role"] == "kv_store":
        entry["config"] = json.loads(command["files"][0]["text"])
    return entry
