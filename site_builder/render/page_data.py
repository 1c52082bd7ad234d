"""What the scripts of a recipe page need besides the plan: names and figures, as one small JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from site_builder.choices import description_of, facets_of
from site_builder.placeholders import PLACEHOLDERS, describe_placeholder
from site_builder.plan import parameter_of
from site_builder.requests import requests_of
from site_builder.urls import Addresses
from site_builder.views import View


def page_data(view: View, addresses: Addresses) -> dict[str, Any]:
    """Hardware with its memory (GB of one node) and status, variants with their floors (GB), strategies, stores."""
    catalog, file = view.collection.catalog, view.recipe.file
    axes = {axis["id"]: axis for axis in view.plan["axes"]}
    profiles = {name: catalog.taxonomy.hardware_profiles[name] for name in axes["hardware"]["options"]}
    return {
        "id": view.id,
        "path": addresses.recipe(view.id),
        "prepared": addresses.prepared,
        "hardware": {
            name: {
                "name": profile.display_name,
                "gpus": profile.gpu_count,
                "gb": profile.vram_gb,
                "brand": profile.brand.lower(),
                "verified": file.meta.hardware.get(name) == "verified",
            }
            for name, profile in profiles.items()
        },
        "variants": {
            key: {
                "name": file.variants[key].name or key,
                "gb": file.variants[key].vram_minimum_gb,
            }
            for key in axes["variant"]["options"]
        },
        "descriptions": {
            axis["id"]: {value: text for value in axis["options"] if (text := description_of(view, axis, value))}
            for axis in view.plan["axes"]
            if "options" in axis and parameter_of(axis) not in ("features", "advanced")
        },
        "facets": facets_of(view),
        "floors": {
            task: {hardware: gb for hardware in profiles if (gb := view.task_floor(task, hardware))}
            for task in axes.get("task", {"options": []})["options"]
        },
        "stores": [key for key in catalog.kv_stores if key in axes.get("kv_offload", {"options": []})["options"]],
        "requests": {task: _requests(view, task) for task in (axes["task"]["options"] if "task" in axes else [""])},
        "dependencies": list(_dependencies(view)),
        "placeholders": {name: describe_placeholder(name) for name in _names(view)},
    }


def _requests(view: View, task: str) -> list[dict[str, str]]:
    """Example requests with ``{address}`` and ``{model}`` where a configuration puts its own."""
    selection = {**view.selection, **({"task": task} if task else {}), "feature.text_only": "off"}
    shown = dataclasses.replace(view, selection=selection)
    return [
        {
            "title": entry.title,
            "text": entry.text,
            **({"unless": "feature.text_only"} if "image" in entry.title else {}),
        }
        for entry in requests_of(shown, "{address}", "{model}")
    ]


def _dependencies(view: View) -> Iterator[dict[str, Any]]:
    """Extra packages of every hardware and KV-offload option, with what they belong to."""
    catalog = view.collection.catalog
    for entry in view.recipe.file.dependencies:
        brands = [brand.lower() for brand in entry.brand] if entry.brand else []
        yield {"command": entry.command.strip(), "note": entry.note, "optional": entry.optional, "brands": brands}
    for key, option in catalog.taxonomy.kv_offload.items():
        if option.install:
            yield {"command": option.install, "note": f"for {option.display_name}", "offload": key}
    for key, store in catalog.kv_stores.items():
        install = store.vllm.install
        commands = {"": install} if isinstance(install, str) else install
        for brand, command in commands.items():
            brands = [brand] if brand else []
            yield {"command": command, "note": f"for {store.display_name}", "offload": key, "brands": brands}
        if store.router.install:
            yield {"command": store.router.install, "note": "for the router", "offload": key, "router": True}


def _names(view: View) -> list[str]:
    """The variables that a plan can leave open and that a sentence explains."""
    text = json.dumps(view.plan)
    return [name for name in PLACEHOLDERS if f"${name}" in text]


def embedded(value: object) -> Markup:
    """JSON that can stand inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
