"""Drafts for a control plane: what a recipe says of a checkpoint, as evidence. Nothing is written anywhere."""

from __future__ import annotations

import re
from typing import Any

from site_builder.collection import Collection
from site_builder.errors import SiteError
from site_builder.fit import shapes_of
from site_builder.render.as_json import fit, links
from site_builder.render.exports import EXPORTS, is_exported
from site_builder.serving_facts import first_server, hardware, layouts, source, unsized
from site_builder.sizing import APART, total
from site_builder.urls import Addresses
from site_builder.views import View, answer

_SOURCE = re.compile(r"hf:([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@([\w./-]+))?")
EXAMPLE = "hf:moonshotai/Kimi-K2.6"


class BadSource(SiteError):
    """A source that is not of the form ``hf:<org>/<repo>``."""


def resolve(collection: Collection, asked: str, addresses: Addresses) -> dict[str, Any]:
    """The draft for a source ``hf:<org>/<repo>``, with ``@<revision>`` where one is meant.

    The checkpoint of a variant resolves too. Raises BadSource and UnknownRecipe.
    """
    match = _SOURCE.fullmatch(asked.strip())
    if match is None:
        raise BadSource(f'the source "{asked[:200]}" cannot be read; give one like {EXAMPLE}')
    view = answer(collection, match[1], "")
    return {
        "artifact": {
            "source": asked.strip(),
            "model_id": str(view.facts["model"]),
            "variant": view.selection["variant"],
            "precision": view.variant.precision,
            "revision": match[2],
        },
        "evidence": evidence(view, addresses),
        "sizing": sizing(view),
        "draft": draft(view, addresses),
    }


def evidence(view: View, addresses: Addresses) -> dict[str, Any]:
    command = first_server(view)
    return {
        "recipe": addresses.full(view.id, view.query),
        "tested_flags": [word for line in unsized(view)[1:] for word in line],
        "environment": command["env"] if command else {},
        "floor_gb": view.floor_gb or None,
        "layouts": layouts(view),
        "hardware": hardware(view),
        "min_vllm_version": view.facts.get("min_vllm_version"),
        "links": links(view, addresses),
        "source": source(view.collection, view.id),
    }


def sizing(view: View) -> dict[str, Any]:
    """Own sizing against the published floor.

    ``agrees`` where they differ by less than a quarter, null where one is unknown; ``difference`` is in percent.
    """
    apart, weights = view.fit.apart, shapes_of(view)["weights"].get(view.selection["variant"])
    return {
        "weights_bytes": total(weights) if weights else None,
        **fit(view),
        "agrees": None if apart is None else abs(apart) < APART,
        "difference": apart,
    }


def draft(view: View, addresses: Addresses) -> dict[str, Any]:
    """What a control plane would start: the first command, and the address of its Dynamo graph where there is one."""
    dynamo = next(target for target in EXPORTS if target.key == "dynamo")
    warnings = [*view.warnings, *(f"{entry.name} has to be filled in" for entry in view.placeholders)]
    if view.hardware_status != "verified":
        warnings.append(f"nobody has recorded a run on {view.hardware.display_name}")
    return {
        "engine": "vllm",
        "command": view.processes[0].text,
        "dynamo": addresses.form(view.id, dynamo.suffix, view.query) if is_exported(dynamo, view) else None,
        "warnings": warnings,
    }
