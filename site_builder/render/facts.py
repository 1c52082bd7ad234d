"""The serving facts of a recipe as JSON, as markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from site_builder.render.as_html import Surroundings
from site_builder.render.as_json import SCHEMA_VERSION, dump, page_links
from site_builder.render.page_data import embedded
from site_builder.serving_facts import facts_of
from site_builder.urls import Addresses
from site_builder.views import View


def as_json(view: View, addresses: Addresses) -> str:
    """The JSON text of the facts, ending in a newline."""
    links = {**page_links(f"{view.id}/facts", "", addresses), "recipe": addresses.full(view.id)}
    return dump({"schema_version": SCHEMA_VERSION, "hf_id": view.id, "facts": facts_of(view), "links": links})


def as_markdown(view: View, addresses: Addresses) -> str:
    """The facts as markdown, ending in a newline."""
    return "\n".join(_lines(view, addresses)).rstrip("\n") + "\n"


def _lines(view: View, addresses: Addresses) -> Iterator[str]:
    found = facts_of(view)
    yield f"# Serving facts of {view.id}\n"
    yield f"Recipe: {addresses.full(view.id)}\n"
    yield "## Memory floors\n"
    for entry in found["floors"]:
        floor = f"{entry['floor_gb']} GB across the replica" if entry["floor_gb"] else "none is published"
        yield f"- `{entry['variant']}` ({entry['precision']}, {entry['model_id']}): {floor}"
    yield "\n## Layouts\n"
    for entry in found["layouts"]:
        yield f"- {entry['name']} (`{entry['strategy']}`): {entry['reach']}"
    yield "\n## Hardware\n"
    for entry in found["hardware"]:
        yield f"- {entry['name']} · {entry['gpus']} GPUs · {entry['status']}"
    if found["features"]:
        yield "\n## Features\n"
    for entry in found["features"]:
        yield f"- `{entry['feature']}`, {'on by default' if entry['default'] else 'opt-in'}: {entry['description']}"
    yield "\n## Default command without parallel sizes\n"
    yield f"```bash\n{found['command']}\n```\n"
    yield "## Questions\n"
    for entry in found["questions"]:
        yield f"**{entry['question']}** {entry['answer']}\n"
    yield f"Source: {_source(found['source'])}"


def _source(source: dict[str, str | None]) -> str:
    return f"`{source['path']}`" + (f" at `{source['commit']}`" if source["commit"] else "")


def linked_data(view: View) -> dict[str, Any]:
    """The questions as schema.org's FAQPage."""
    entries = [
        {
            "@type": "Question",
            "name": entry["question"],
            "acceptedAnswer": {"@type": "Answer", "text": entry["answer"]},
        }
        for entry in facts_of(view)["questions"]
    ]
    return {"@context": "https://schema.org", "@type": "FAQPage", "mainEntity": entries}


def page(view: View, around: Surroundings) -> str:
    """The facts as a page."""
    return around.theme.render(
        "facts.html",
        around.context(f"{view.id}/facts", view=view, facts=facts_of(view), linked_data=embedded(linked_data(view))),
    )
