"""A recipe across hardware as JSON, as markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from site_builder.across import Across
from site_builder.render.as_html import Surroundings, plain_adjustments
from site_builder.render.as_json import SCHEMA_VERSION, dump, fit, page_links
from site_builder.render.as_markdown import adjustment_text
from site_builder.urls import Addresses
from site_builder.views import View


def as_json(found: Across, addresses: Addresses) -> str:
    """The JSON text of the table, ending in a newline."""
    return dump(document(found, addresses))


def document(found: Across, addresses: Addresses) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "hf_id": found.default.id,
        "query": found.query,
        "adjustments": found.adjustments,
        "rows": [_row(view, addresses) for view in found.rows],
        "links": page_links(found.id, found.query, addresses),
    }


def _row(view: View, addresses: Addresses) -> dict[str, Any]:
    return {
        "hardware": view.selection["hardware"],
        "name": view.hardware.display_name,
        "variant": view.selection["variant"],
        "precision": view.precision,
        "strategy": view.selection.get("strategy"),
        "gpus": gpus(view),
        "nodes": view.nodes,
        "status": view.hardware_status,
        "fit": fit(view),
        "summary": view.summary,
        "url": addresses.full(view.id, view.query),
    }


def gpus(view: View) -> int:
    """The GPUs of the deployment."""
    return view.hardware.gpu_count * view.nodes


def fit_text(view: View) -> str:
    """How many requests fit, in a few words."""
    found = view.fit.estimate
    if found is None:
        return "unknown"
    return f"{found['requests']:,} × {view.fit.context:,} tokens" if found["requests"] else "none"


def as_markdown(found: Across, addresses: Addresses) -> str:
    """The table as markdown, ending in a newline."""
    return "\n".join(_lines(found, addresses)) + "\n"


def _lines(found: Across, addresses: Addresses) -> Iterator[str]:
    yield f"# {found.default.id} across hardware\n"
    for adjustment in found.adjustments:
        yield "- " + adjustment_text(adjustment)
    if found.adjustments:
        yield ""
    yield (
        "Every hardware and variant that go together, each in the configuration that is recommended there. Requests are"
        " estimates; `context=` and `concurrency=` in the query change what they are for.\n"
    )
    yield "| hardware | variant | strategy | GPUs | nodes | requests that fit | evidence | commands |"
    yield "|---|---|---|---|---|---|---|---|"
    for view in found.rows:
        strategy = view.strategy.display_name if view.strategy else "—"
        yield (
            f"| {view.hardware.display_name} | {view.precision} | {strategy} | {gpus(view)} | {view.nodes}"
            f" | {fit_text(view)} | {view.hardware_status} | {addresses.full(view.id, view.query)} |"
        )


def page(found: Across, around: Surroundings) -> str:
    """The table as a page."""
    return around.theme.render(
        "hardware.html",
        around.context(
            found.id,
            found=found,
            view=found.default,
            gpus=gpus,
            fit_text=fit_text,
            links=page_links(found.id, found.query, around.addresses),
            adjustments=plain_adjustments(found.adjustments),
        ),
    )
