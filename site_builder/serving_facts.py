"""What a control plane wants to know of a recipe, whatever the configuration: floors, layouts, hardware, features."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import Any

from site_builder.collection import Collection
from site_builder.plan import axis_of, values_of
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
    known = view.recipe.file.meta.hardware
    return [
        {
            "hardware": name,
            "name": profiles[name].display_name,
            "gpus": profiles[name].gpu_count,
            "status": known.get(name, "supported"),
        }
        for name in view.offered_hardware
    ]


def tested_flags(view: View) -> list[str]:
    """The words of the default command after its program and model, without those that say parallel sizes."""
    default = answer(view.collection, view.id, {"variant": view.selection["variant"]})
    command = next(one for one in default.commands if one["argv"] and one["role"] != "router")
    return [word for line in command["lines"][1:] if line[0] not in view.plan["sizes"] for word in line]


def environment(view: View) -> dict[str, str]:
    default = answer(view.collection, view.id, {"variant": view.selection["variant"]})
    return next((one["env"] for one in default.commands if one["argv"] and one["role"] != "router"), {})


def source(collection: Collection, recipe_id: str) -> dict[str, str | None]:
    """The file that a recipe is read from, under the content folder, and the commit that the folder is at."""
    return {"path": f"models/{recipe_id}.yaml", "commit": commit(collection)}


def commit(collection: Collection) -> str | None:
    """The commit of the content: that of its repository, else ``SOURCE_COMMIT`` (an image has no repository)."""
    if "commit" not in collection.written:
        collection.written["commit"] = next(_commits(collection), None)
    found: str | None = collection.written["commit"]
    return found


def _commits(collection: Collection) -> Iterator[str]:
    command = ["git", "-C", str(collection.catalog.folder), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        done = None
    if done is not None and done.returncode == 0:
        yield done.stdout.strip()
    if os.environ.get("SOURCE_COMMIT"):
        yield os.environ["SOURCE_COMMIT"]
