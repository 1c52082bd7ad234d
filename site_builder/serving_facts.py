"""What a control plane wants to know of a recipe, whatever the configuration: floors, layouts, hardware, features."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from site_builder.collection import Collection
from site_builder.evidence import status_of
from site_builder.plan import Command, axis_of, values_of
from site_builder.shell import written
from site_builder.sizing import whole
from site_builder.views import View, answer

#: Whether the GPUs of a layout reach each other without leaving a node.
INSIDE, ACROSS = "fits inside one node's interconnect", "spans nodes"


def floors(view: View) -> list[dict[str, Any]]:
    """The published memory floor of each variant, in GB across the whole replica; null where there is none."""
    return [
        {
            "variant": key,
            "precision": variant.precision,
            "model_id": variant.model_id or view.recipe.file.model.model_id,
            "floor_gb": whole(variant.vram_minimum_gb) or None,
        }
        for key, variant in view.recipe.file.variants.items()
    ]


def layouts(view: View) -> list[dict[str, str]]:
    """Every way of the recipe to spread the model, and whether it spans nodes."""
    axis, strategies = axis_of(view.plan, "strategy"), view.collection.catalog.strategies
    return [
        {
            "strategy": name,
            "name": strategies[name].display_name,
            "reach": INSIDE if strategies[name].deploy_type == "single_node" else ACROSS,
        }
        for name in (values_of(axis) if axis else [])
    ]


def hardware(view: View) -> list[dict[str, Any]]:
    """Every hardware that some variant runs on, with the GPUs of a node and its status."""
    profiles = view.collection.catalog.taxonomy.hardware_profiles
    return [
        {
            "hardware": name,
            "name": profiles[name].display_name,
            "gpus": profiles[name].gpu_count,
            "status": status_of(view.recipe.file, name),
        }
        for name in view.offered_hardware
    ]


def first_server(view: View) -> Command | None:
    """The first command that is neither content's own text nor a router."""
    return next((one for one in view.commands if one["argv"] and one["role"] != "router"), None)


def unsized(view: View) -> list[list[str]]:
    """The lines of the first server without those that say parallel sizes: they are the reader's to choose."""
    command = first_server(view)
    return [line for line in command["lines"] if line[0] not in view.plan["sizes"]] if command else []


def features(view: View) -> list[dict[str, Any]]:
    """Every feature of the recipe, and whether this configuration has it."""
    on = view.configuration.get("features", [])
    return [
        {"feature": key, "description": feature.description, "default": key in on}
        for key, feature in view.recipe.file.features.items()
    ]


def dynamo(view: View) -> list[dict[str, Any]] | None:
    """What NVIDIA publishes for Dynamo; None where the content does not say."""
    known = view.collection.catalog.dynamo
    if known is None:
        return None
    return [entry.model_dump() for entry in known.recipes.get(view.id, [])]


def questions(view: View, facts: dict[str, Any]) -> list[dict[str, str]]:
    """What people ask of a recipe, with the answers that its facts give."""
    title = view.recipe.file.meta.title
    verified = [
        f"{entry['name']} ({entry['gpus']} GPUs)" for entry in facts["hardware"] if entry["status"] == "verified"
    ]
    version, published = facts["min_vllm_version"], facts["dynamo"]
    found = {
        f"How much GPU memory does {title} need?": _memory(facts["floors"]),
        f"Which layouts does the recipe of {title} have?": _listed([entry["name"] for entry in facts["layouts"]]),
        f"On which hardware is {title} verified?": _listed(verified) or "On none: nobody has recorded a run.",
        f"Which version of vLLM serves {title}?": f"vLLM {version} or newer." if version else "",
        f"Does NVIDIA publish a Dynamo recipe for {title}?": "" if published is None else _dynamo_text(published),
    }
    return [{"question": question, "answer": text} for question, text in found.items() if text]


def _memory(known: list[dict[str, Any]]) -> str:
    names = [f"{entry['floor_gb']} GB ({entry['precision']})" for entry in known if entry["floor_gb"]]
    if not names:
        return "No floor is published."
    return f"The published floor is {_listed(names)[:-1]}, across the whole replica: enough to load the weights."


def _dynamo_text(published: list[dict[str, Any]]) -> str:
    if not published:
        return "No, none that is known here."
    names = [f"{entry['name']} ({entry['gpus']} × {entry['hardware'].upper()})" for entry in published]
    return f"Yes: {_listed(names)}"


def _listed(names: list[str]) -> str:
    if len(names) < 2:
        return "".join(names) + ("." if names else "")
    return f"{', '.join(names[:-1])} and {names[-1]}."


def facts_of(view: View) -> dict[str, Any]:
    """Everything of this module for a recipe, worked out once."""
    return view.collection.once(("facts", view.id), lambda: _facts(answer(view.collection, view.id, "")))


def _facts(default: View) -> dict[str, Any]:
    command = first_server(default)
    facts = {
        "floors": floors(default),
        "layouts": layouts(default),
        "hardware": hardware(default),
        "features": features(default),
        "command": written(unsized(default), command["indent"] if command else 0),
        "min_vllm_version": default.recipe.file.model.min_vllm_version or None,
        "dynamo": dynamo(default),
    }
    return {**facts, "questions": questions(default, facts), "source": source(default.collection, default.id)}


def source(collection: Collection, recipe_id: str) -> dict[str, str | None]:
    """The file that a recipe is read from, under the content folder, and the commit that last changed it."""
    path = f"models/{recipe_id}.yaml"
    return {"path": path, "commit": commits(collection).get(path) or os.environ.get("SOURCE_COMMIT") or None}


def commits(collection: Collection) -> dict[str, str]:
    """The commit that last changed each file of the content; empty where its folder is in no repository.

    An image has no repository: there ``SOURCE_COMMIT`` says which commit it was made from.
    """
    return collection.once("commits", lambda: _commits(str(collection.catalog.folder)))


def _commits(folder: str) -> dict[str, str]:
    command = ["git", "-C", folder, "log", "--format=%x00%H", "--name-only", "--relative", "--", "models"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, str] = {}
    for entry in done.stdout.split("\0")[1:] if done.returncode == 0 else ():
        name, *paths = entry.split("\n")
        for path in filter(None, paths):
            found.setdefault(path, name)
    return found
