"""What the scripts of a recipe page need besides the plan: names and figures, as one small JSON."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from site_builder.urls import Addresses
from site_builder.views import PLACEHOLDERS, View, describe_placeholder


def page_data(view: View, addresses: Addresses) -> dict[str, Any]:
    """Hardware with its memory (GB of one node) and status, variants with their floors (GB), strategies, stores."""
    catalog, file = view.collection.catalog, view.recipe.file
    axes = {axis["id"]: axis for axis in view.plan["axes"]}
    profiles = {name: catalog.taxonomy.hardware_profiles[name] for name in axes["hardware"]["options"]}
    strategies = axes["strategy"]["options"] if "strategy" in axes else []
    return {
        "id": view.id,
        "path": addresses.recipe(view.id),
        "hardware": {
            name: {
                "name": profile.display_name,
                "gpus": profile.gpu_count,
                "gb": profile.vram_gb,
                "brand": profile.brand.lower(),
                "verified": file.meta.hardware.get(name) == "verified",
                "description": profile.description,
            }
            for name, profile in profiles.items()
        },
        "variants": {
            key: {
                "name": _precision(view, key),
                "gb": file.variants[key].vram_minimum_gb,
                "description": file.variants[key].description,
            }
            for key in axes["variant"]["options"]
        },
        "strategies": {name: {"description": catalog.strategies[name].description} for name in strategies},
        "stores": [key for key in catalog.kv_stores if key in axes.get("kv_offload", {"options": []})["options"]],
        "placeholders": {name: describe_placeholder(name) for name in _names(view)},
    }


def _precision(view: View, key: str) -> str:
    variant = view.recipe.file.variants[key]
    return variant.label or variant.precision.upper() or key


def _names(view: View) -> list[str]:
    """The variables that a plan can leave open and that a sentence explains."""
    text = json.dumps(view.plan)
    return [name for name in PLACEHOLDERS if f"${name}" in text]


def embedded(value: object) -> Markup:
    """JSON that can stand inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
