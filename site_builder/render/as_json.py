"""A view as the JSON of ``docs/http-api.md``: the fields of the public recipe API, and ours beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from site_builder.evidence import document as evidence
from site_builder.plan import Command
from site_builder.render.exports import EXPORTS, is_exported
from site_builder.schema.base import Model
from site_builder.schema.vocabulary import Hardware, Strategy
from site_builder.serving_facts import facts_of, first_server
from site_builder.urls import Addresses
from site_builder.views import ProcessView, View

SCHEMA_VERSION = 1


def render(view: View, addresses: Addresses) -> str:
    """The JSON text of a view, ending in a newline."""
    return dump(parts(view, addresses))


def dump(value: object) -> str:
    """JSON as this site writes it: on one line, text as text."""
    return compact(value) + "\n"


def compact(value: object) -> str:
    """The same inside another text."""
    return orjson.dumps(value).decode()


def document(view: View, addresses: Addresses) -> dict[str, Any]:
    """The answer as data."""
    return dict(orjson.loads(render(view, addresses)))


def parts(view: View, addresses: Addresses) -> dict[str, Any]:
    """The answer, with what no choice changes as JSON text (``orjson.Fragment``)."""
    fixed = fixed_parts(view, addresses)
    named = {"derived_from": view.id, "variant": view.selection["variant"]} if view.derived_from else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "hf_id": view.derived_from or view.id,
        "meta": {**fixed["meta"], **named},
        "configuration": configuration(view),
        "adjustments": view.adjustments,
        "warnings": view.warnings,
        "recommended_command": {
            "hardware": view.selection["hardware"],
            "strategy": view.selection.get("strategy"),
            "variant": view.selection["variant"],
            "node_count": view.nodes,
            "deploy_type": "kv_store_lb" if view.has_store else view.deploy_type,
            "env": _first_env(view),
            "docker_image": view.facts.get("image"),
            **_commands(view),
            "strategy_spec": block(view, view.strategy) if view.strategy else None,
            "hardware_profile": block(view, view.hardware),
            **_alternatives(view, addresses),
        },
        "processes": [_process(process) for process in view.processes],
        "placeholders": [{"name": entry.name, "description": entry.description} for entry in view.placeholders],
        "choices": view.on_offer,
        "requests": [
            {"title": entry.title, "endpoint": entry.endpoint, "command": entry.text} for entry in view.requests
        ],
        "fit": fit(view),
        "evidence": evidence(view.recipe.file, view.selection["hardware"], view.hardware.display_name),
        "links": links(view, addresses),
        "model": {**fixed["model"], "install": _install(view)},
        "features": fixed["features"],
        "opt_in_features": view.recipe.file.opt_in_features,
        "variants": fixed["variants"],
        "facts": fixed["facts"],
        "guide": view.recipe.file.guide,
    }


def fixed_parts(view: View, addresses: Addresses) -> Mapping[str, Any]:
    """The parts of an answer that no choice changes, worked out once for a recipe."""
    return view.collection.once((view.id, addresses), lambda: _fixed_parts(view, addresses))


def _fixed_parts(view: View, addresses: Addresses) -> dict[str, Any]:
    file = view.recipe.file
    return {
        "meta": plain(file.meta),
        "model": {name: value for name, value in plain(file.model).items() if name != "install"},
        "features": _fragment({key: plain(feature) for key, feature in file.features.items()}),
        "facts": _fragment(facts_of(view)),
        "variants": _fragment({key: _variant(view, key, addresses) for key in file.variants}),
    }


def block(view: View, part: Hardware | Strategy) -> orjson.Fragment:
    """A part of the vocabulary, written once for all recipes; its id is its own while the collection lives."""
    return view.collection.once(id(part), lambda: _fragment(plain(part)))


def _fragment(value: object) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(value))


def configuration(view: View) -> dict[str, Any]:
    """Every choice, the canonical query, and one line that says it."""
    return {**view.configuration, "query": view.query, "summary": view.summary}


def plain(model: Model) -> dict[str, Any]:
    """A block of content as its author wrote it."""
    return model.model_dump(mode="json", exclude_unset=True)


def links(view: View, addresses: Addresses) -> dict[str, str]:
    """Every other format of this configuration; of a prepared one, those that have a file."""
    suffixes = {"json": "json", "markdown": "md"}
    if view.file in ("", view.id, view.derived_from):
        known = [target for target in EXPORTS if not view.file or is_exported(target, view)]
        suffixes |= {target.key: target.suffix for target in known}
    forms = {key: addresses.form(view.id, suffix, view.query, view.file) for key, suffix in suffixes.items()}
    return {"page": addresses.full(view.id, view.query), **forms}


def page_links(place: str, query: str, addresses: Addresses) -> dict[str, str]:
    """A page and its two machine forms."""
    forms = {key: addresses.form(place, suffix, query) for key, suffix in (("json", "json"), ("markdown", "md"))}
    return {"page": addresses.full(place, query), **forms}


def _install(view: View) -> dict[str, Any]:
    pip = view.facts.get("pip")
    image = view.facts.get("image")
    return {
        "min_vllm_version": view.facts.get("min_vllm_version"),
        "pip": {"command": pip, "note": view.pip_note or None} if pip else None,
        "docker": {"image": image, "note": view.docker_note or None} if image and not view.docker_hidden else None,
        "dependencies": [plain(entry) for entry in view.dependencies],
    }


def _variant(view: View, key: str, addresses: Addresses) -> dict[str, Any]:
    query = "" if key == "default" else f"variant={key}"
    variant = view.recipe.file.variants[key]
    if query and addresses.prepared:
        own = view.collection.checkpoints.get((view.id, key))
        address = addresses.form(own, "json") if own else None
    else:
        address = addresses.form(view.id, "json", query)
    return {**plain(variant), "json": address}


def _alternatives(view: View, addresses: Addresses) -> dict[str, Any]:
    """Where the same recipe is served by another strategy, or on other hardware."""
    strategies, on = prepared_strategies(view, addresses)
    hardware = view.on_offer["hardware"]
    return {
        "alternatives": {
            name: addresses.by_strategy(view.id, name, "json", on)
            for name in strategies
            if name != view.selection.get("strategy")
        },
        "by_hardware": {name: addresses.by_hardware(view.id, name, "json") for name in hardware},
    }


def prepared_strategies(view: View, addresses: Addresses) -> tuple[list[str], str]:
    """The strategies that have an address on this hardware, and the hardware where that address has to name it.

    A folder that holds no strategies by hardware has none but on the default hardware.
    """
    on = view.selection["hardware"] if "&hardware=" in f"&{view.query}" else ""
    return ([] if on and addresses.prepare == "hardware" else view.on_offer.get("strategy", [])), on


def fit(view: View) -> dict[str, Any]:
    """What fits, and the published floor in GB."""
    found = view.fit
    return {
        "floor_gb": view.floor_gb or None,
        "available_gb": view.available_gb,
        "nodes": view.nodes,
        "context": found.context,
        "concurrency": found.concurrency,
        "fits": found.fits,
        "unknown": found.unknown or None,
        "estimate": found.estimate,
        "floor_apart_percent": found.apart,
    }


def _first_env(view: View) -> dict[str, str]:
    command = first_server(view)
    return command["env"] if command else {}


def _process(process: ProcessView) -> dict[str, Any]:
    command = process.command
    return {
        "id": process.id,
        "role": command["role"],
        "rank": command["rank"],
        "title": process.title,
        "command": process.text,
        "argv": command["argv"] or None,
        "env": command["env"],
        "docker_command": process.docker,
        "docker_argv": process.docker_argv,
        "files": [{"path": file["path"], "text": file["text"]} for file in command["files"]],
        "because": command["because"],
    }


def _commands(view: View) -> dict[str, Any]:
    """The commands under the names that the public API has for each deployment."""
    if view.has_store and view.deploy_type != "pd_cluster":
        return _store(view)
    if view.deploy_type == "pd_cluster":
        return _pools(view)
    if view.deploy_type == "multi_node":
        head, *workers = [process for process in view.processes if process.command["role"] in ("head", "worker")]
        return {**_forms(head, "head_"), **_many(workers, "worker_"), "companions": _companions(view)}
    server = next(process for process in view.processes if process.command["role"] == "serve")
    return {**_forms(server), "companions": _companions(view)}


def _forms(process: ProcessView, prefix: str = "") -> dict[str, Any]:
    return {
        f"{prefix}command": process.text,
        f"{prefix}argv": process.command["argv"],
        f"{prefix}docker_command": process.docker,
        f"{prefix}docker_argv": process.docker_argv,
    }


def _many(processes: list[ProcessView], prefix: str) -> dict[str, Any]:
    """The first under singular names, all under plural ones."""
    forms: dict[str, Any] = _forms(processes[0], prefix) if processes else {}
    forms[f"{prefix}commands"] = [process.text for process in processes]
    forms[f"{prefix}argvs"] = [process.command["argv"] for process in processes]
    forms[f"{prefix}docker_commands"] = [process.docker for process in processes]
    forms[f"{prefix}docker_argvs"] = [process.docker_argv for process in processes]
    return forms


def _companions(view: View) -> list[dict[str, Any]]:
    return [
        {"label": process.title, "command": process.text}
        for process in view.processes
        if process.command["role"] == "companion"
    ]


def _pools(view: View) -> dict[str, Any]:
    pools: dict[str, Any] = {}
    for role in ("prefill", "decode"):
        shown = int(view.selection[f"{role}_rank"])
        nodes = [process for process in view.processes if process.command["role"] == role]
        words = {line[0]: line[-1] for line in nodes[shown].command["lines"][1:]}
        tensor = next((flag for flag, name in view.plan["sizes"].items() if name == "TP"), "")
        pools[role] = {
            **_forms(nodes[shown]),
            "env": nodes[shown].command["env"],
            "nodes": len(nodes),
            "parallelism": view.selection[f"{role}_mode"],
            "tp": int(words[tensor]) if words.get(tensor, "").isdigit() else None,
        }
    return {**pools, "router": _text(view, "router"), **_store_parts(view)}


def _store(view: View) -> dict[str, Any]:
    """A key-value store around a strategy: the first instance under ``vllm_…``."""
    first = [process for process in view.processes if process.command["instance"] == 0]
    return {
        "serving_strategy": view.selection.get("strategy"),
        "instances": int(view.selection.get("kv_instances", "1")),
        **_forms(first[0], "vllm_"),
        **(_many(first[1:], "vllm_worker_") if len(first) > 1 else {}),
        "router": _text(view, "router"),
        **_store_parts(view),
    }


def _store_parts(view: View) -> dict[str, Any]:
    if not view.has_store:
        return {}
    server: Command = next(command for command in view.commands if command["role"] in ("serve", "prefill"))
    store = view.collection.catalog.kv_stores[view.selection["kv_offload"]]
    return {
        "master": {"command": _text(view, "kv_master"), "description": store.mooncake_master.description}
        if store.mooncake_master
        else None,
        "store": {"command": _text(view, "kv_store"), "config": store.mooncake_store_config.config}
        if store.mooncake_store_config
        else None,
        "mooncake_config": orjson.loads(server["files"][0]["text"]) if server["files"] else None,
    }


def _text(view: View, role: str) -> str | None:
    return next((process.text for process in view.processes if process.command["role"] == role), None)
