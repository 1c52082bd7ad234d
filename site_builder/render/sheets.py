"""What a recipe's answers are made from, as one JSON file: the edge worker of ``deploy/edge`` reads it.

The worker assembles answers from the plan, and from what no choice changes as the text that stands in the answers.
"""

from __future__ import annotations

from typing import Any

from site_builder.evidence import document as evidence
from site_builder.render.as_json import compact, fixed_parts, plain
from site_builder.render.exports import EXPORTS
from site_builder.render.guide import moved_down
from site_builder.render.page_data import answer_data
from site_builder.urls import Addresses
from site_builder.views import View


def sheet(view: View, addresses: Addresses) -> dict[str, Any]:
    """The sheet of a recipe, whatever the view's configuration. ``json`` and ``markdown`` hold texts of the answers."""
    fixed, file, catalog = fixed_parts(view, addresses), view.recipe.file, view.collection.catalog
    data = answer_data(view)
    offered = next((axis["options"] for axis in view.plan["axes"] if axis["id"] == "strategy"), [])
    return {
        "base": addresses.base_url.rstrip("/"),
        "plan": view.plan,
        "data": data,
        "exports": {target.key: target.suffix for target in EXPORTS},
        "strategies": {
            name: {"name": catalog.strategies[name].display_name, "several": view.is_multi_node(name)}
            for name in offered
        },
        "install": {"pip": view.pip_note, "docker": view.docker_note, "hidden": view.docker_hidden},
        "stores": {
            key: {
                "master": store.mooncake_master.description if store.mooncake_master else None,
                "config": compact(store.mooncake_store_config.config) if store.mooncake_store_config else None,
            }
            for key, store in catalog.kv_stores.items()
            if key in data["stores"]
        },
        "json": {
            **{name: compact(fixed[name]) for name in ("meta", "model", "features", "variants", "facts")},
            "evidence": {
                name: compact(evidence(file, name, profile["name"])) for name, profile in data["hardware"].items()
            },
            "opt_in_features": compact(file.opt_in_features),
            "dependencies": [compact(plain(entry)) for entry in file.dependencies],
            "hardware": {name: compact(plain(catalog.taxonomy.hardware_profiles[name])) for name in data["hardware"]},
            "strategies": {name: compact(plain(catalog.strategies[name])) for name in offered},
        },
        "markdown": {
            "description": " ".join(file.meta.description.split()),
            "guide": moved_down(file.guide, 2) if file.guide.strip() else "",
        },
        "guide": file.guide,
    }
