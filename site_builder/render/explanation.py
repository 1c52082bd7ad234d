"""An explanation of a pasted command as JSON (``docs/http-api.md``) and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from site_builder.errors import did_you_mean
from site_builder.explain import Explained, Explanation
from site_builder.explain.differences import Difference
from site_builder.render.as_json import SCHEMA_VERSION, configuration, links
from site_builder.urls import Addresses

KINDS = ("missing", "extra", "different", "unknown", "removed")


def document(explanation: Explanation, addresses: Addresses) -> dict[str, Any]:
    """``differences`` and ``environment`` have one entry for each of ``commands``, in the same order."""
    view, servers = explanation.view, explanation.servers
    return {
        "schema_version": SCHEMA_VERSION,
        "recipe": view.id,
        "query": view.query,
        "configuration": configuration(view),
        "summary": view.summary,
        "url": addresses.full(view.id, view.query),
        "exact": explanation.exact,
        "commands": [_command(server) for server in servers],
        "differences": [_by_kind(server.flags, "flag") for server in servers],
        "environment": [_by_kind(server.environment, "variable") for server in servers],
        "not_started": [process.id for process in explanation.others],
        "warnings": [*explanation.notes, *view.warnings],
        "alternatives": [
            {
                "recipe": other.view.id,
                "query": other.view.query,
                "summary": other.view.summary,
                "url": addresses.full(other.view.id, other.view.query),
                "differences": other.differences,
            }
            for other in explanation.alternatives
        ],
        "links": links(view, addresses),
    }


def _command(server: Explained) -> dict[str, Any]:
    command = server.process.command
    return {
        "text": server.pasted.text,
        "model": server.pasted.model or None,
        "image": server.pasted.image or None,
        "process": server.process.id,
        "role": command["role"],
        "rank": command["rank"],
        "ours": server.process.text,
        "facts": [{"name": one.name, "value": one.value, "ours": one.ours} for one in server.facts],
    }


def _by_kind(differences: Sequence[Difference], name: str) -> dict[str, list[dict[str, Any]]]:
    return {kind: [_entry(one, name) for one in differences if one.kind == kind] for kind in KINDS}


def _entry(one: Difference, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {name: one.name, "value": one.value or None}
    if one.kind in ("missing", "different"):
        entry |= {"ours": one.ours or None, "origin": one.origin}
    if one.kind == "missing":
        del entry["value"]
    if one.kind == "removed":
        entry |= {"last_version": one.last, "removed_since": one.since}
    if one.kind in ("unknown", "removed"):
        entry["did_you_mean"] = list(one.closest)
    return entry


def text(explanation: Explanation, addresses: Addresses) -> str:
    """The explanation for a person at a terminal."""
    view = explanation.view
    count = sum(server.count for server in explanation.servers)
    found = "exactly this configuration" if explanation.exact else f"{count} difference{'s' if count != 1 else ''}"
    lines = [f"{view.id}: {view.summary}", addresses.full(view.id, view.query), found]
    for server in explanation.servers:
        lines += ["", f"{server.process.title}: vllm serve {server.pasted.model}".rstrip()]
        lines += [f"  {line}" for line in _lines(server)] or ["  the same"]
    if explanation.others:
        titles = ", ".join(process.title for process in explanation.others[:8])
        lines += ["", f"The configuration also starts: {titles}{', …' if len(explanation.others) > 8 else ''}"]
    if explanation.alternatives:
        lines += ["", "Next closest:"]
        lines += [
            f"  {addresses.full(one.view.id, one.view.query)} ({one.differences:g} differences)"
            for one in explanation.alternatives
        ]
    notes = [*explanation.notes, *view.warnings]
    if notes:
        lines += ["", "Notes:", *(f"  {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def _lines(server: Explained) -> Iterator[str]:
    for one in (*server.facts, *server.flags, *server.environment):
        yield f"{one.kind:<10} {one.name}{_told(one)}"


def _told(one: Difference) -> str:
    value, origin = (f" {one.value}" if one.value else ""), (f"  ({one.origin})" if one.origin else "")
    if one.kind == "missing":
        return (f" {one.ours}" if one.ours else "") + origin
    if one.kind == "different":
        return f"{value or ' (empty)'}; the recipe has {one.ours or 'nothing'}{origin}"
    near = did_you_mean(one.closest)
    if one.kind == "removed":
        return f"{value}: removed since {one.since} ({one.last} had it){near}"
    return f"{value}{near}"
