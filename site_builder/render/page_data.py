"""What the scripts of a recipe page need besides the plan: names and figures, as one small JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from markupsafe import Markup

from site_builder.choices import description_of, facets_of
from site_builder.evidence import evidence_text, status_of
from site_builder.fit import shapes_of
from site_builder.placeholders import PLACEHOLDERS, describe_placeholder, variables_in
from site_builder.plan import parameter_of
from site_builder.render.as_json import compact
from site_builder.requests import Example, examples_of
from site_builder.sizing import whole
from site_builder.urls import Addresses
from site_builder.views import View


def page_data(view: View, addresses: Addresses) -> dict[str, Any]:
    """What the scripts of a page need: ``answer_data``, and how the builder names and describes its choices."""
    return {
        "path": addresses.recipe(view.id),
        "prepared": addresses.prepared,
        **answer_data(view),
        "descriptions": {
            axis["id"]: {value: text for value in axis["options"] if (text := description_of(view, axis, value))}
            for axis in view.plan["axes"]
            if "options" in axis and parameter_of(axis) not in ("features", "advanced")
        },
        "facets": facets_of(view),
    }


def answer_data(view: View) -> dict[str, Any]:
    """What an answer needs of a recipe besides the plan, whatever the configuration.

    Hardware with its memory (GB of one node) and status, variants with their floors (GB), stores, example requests,
    extra packages, placeholders.
    """
    catalog, file = view.collection.catalog, view.recipe.file
    axes = {axis["id"]: axis for axis in view.plan["axes"]}
    profiles = {name: catalog.taxonomy.hardware_profiles[name] for name in axes["hardware"]["options"]}
    tasks = axes["task"]["options"] if "task" in axes else [""]
    return {
        "id": view.id,
        "hardware": {
            name: {
                "name": profile.display_name,
                "gpus": profile.gpu_count,
                "gb": whole(profile.vram_gb),
                "gpu_gb": whole(profile.gb_per_gpu),
                "brand": profile.brand.lower(),
                "verified": status_of(file, name) == "verified",
                "evidence": evidence_text(file, name, profile.display_name),
            }
            for name, profile in profiles.items()
        },
        "variants": {
            key: {
                "name": file.variants[key].name or key,
                "gb": whole(file.variants[key].vram_minimum_gb),
            }
            for key in axes["variant"]["options"]
        },
        "floors": {
            task: {hardware: whole(gb) for hardware in profiles if (gb := view.task_floor(task, hardware))}
            for task in axes.get("task", {"options": []})["options"]
        },
        "stores": [key for key in catalog.kv_stores if key in axes.get("kv_offload", {"options": []})["options"]],
        "shapes": shapes_of(view),
        "requests": {task: _requests(view, task, profiles) for task in tasks},
        "dependencies": list(_dependencies(view)),
        "placeholders": {name: describe_placeholder(name) for name in _names(view)},
    }


def _requests(view: View, task: str, hardware: Iterable[str]) -> dict[str, list[Example]]:
    """Example requests: under an empty name those of most hardware, under a name those of a hardware with others."""
    common = examples_of(view, task, "")
    own = {name: examples for name in hardware if (examples := examples_of(view, task, name)) != common}
    return {"": [*common], **{name: [*examples] for name, examples in own.items()}}


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
        brands = sorted({profile.brand.lower() for profile in catalog.taxonomy.hardware_profiles.values()})
        commands = {"": install} if isinstance(install, str) else install
        for maker, command in commands.items():
            on = [brand for brand in brands if maker and (brand == "amd") == (maker == "amd")]
            yield {"command": command, "note": f"for {store.display_name}", "offload": key, "brands": on}
        if store.router.install:
            yield {"command": store.router.install, "note": "for the router", "offload": key, "router": True}


def _names(view: View) -> list[str]:
    """The placeholders that a plan can leave open and that a sentence explains."""
    open_names = {*variables_in(json.dumps(view.plan)), "~", "HF_TOKEN"}
    return [name for name in PLACEHOLDERS if name in open_names]


def embedded(value: object) -> Markup:
    """JSON that can stand inside a script element: nothing in it can end the element."""
    text = compact(value)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
