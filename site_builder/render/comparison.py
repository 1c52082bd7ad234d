"""A comparison as JSON and as markdown (``docs/http-api.md``), and what its page shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from site_builder.choices import choices_of
from site_builder.compare import SIDES, Cell, Comparison, Group, Pair, Row
from site_builder.query import PARAMETERS
from site_builder.render.as_html import Surroundings, plain_adjustments
from site_builder.render.as_json import SCHEMA_VERSION, configuration, dump, links, page_links
from site_builder.render.as_markdown import adjustment_text
from site_builder.urls import Addresses
from site_builder.views import View

#: How many processes a heading names before it only counts them.
_NAMED = 4


def as_json(comparison: Comparison, addresses: Addresses) -> str:
    """The JSON text of a comparison, ending in a newline."""
    return dump(document(comparison, addresses))


def document(comparison: Comparison, addresses: Addresses) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "hf_id": comparison.a.id,
        "query": comparison.query,
        "identical": comparison.identical,
        "a": _side(comparison.a, addresses),
        "b": _side(comparison.b, addresses),
        "adjustments": comparison.adjustments,
        "choices": [_row(row) for row in comparison.choices],
        "facts": [_row(row) for row in comparison.facts],
        "processes": [_pair(pair) for pair in comparison.pairs],
        "links": comparison_links(comparison, addresses),
    }


def comparison_links(comparison: Comparison, addresses: Addresses) -> dict[str, str]:
    """The same comparison in every form, and with its sides exchanged."""
    return {
        **page_links(comparison.id, comparison.query, addresses),
        "exchanged": addresses.full(comparison.id, Comparison(comparison.b, comparison.a).query),
    }


def _side(view: View, addresses: Addresses) -> dict[str, Any]:
    return {
        "configuration": configuration(view),
        "adjustments": list(view.adjustments),
        "warnings": view.warnings,
        "links": links(view, addresses),
    }


def _row(row: Row) -> dict[str, Any]:
    cells = {"a": row.a, "b": row.b}
    return {"name": row.name, "status": row.status, **{side: _cell(cell) for side, cell in cells.items()}}


def _cell(cell: Cell | None) -> dict[str, Any] | None:
    return None if cell is None else {"value": cell.value, **({"origin": cell.origin} if cell.origin else {})}


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "title": pair.title,
        "a": pair.a.id if pair.a else None,
        "b": pair.b.id if pair.b else None,
        "flags": [_row(row) for row in pair.flags],
        "environment": [_row(row) for row in pair.environment],
    }


def as_markdown(comparison: Comparison, addresses: Addresses) -> str:
    """The comparison for a reader of text: what differs, in tables; what is the same, counted."""
    forms = comparison_links(comparison, addresses)
    lines = [f"# {comparison.a.id} — two configurations compared", ""]
    for name, view in zip(SIDES, (comparison.a, comparison.b), strict=True):
        lines.append(f"- **{name.upper()}:** {view.summary} ({addresses.form(view.id, 'md', view.query)})")
    lines.append("")
    lines += [f"- {adjustment_text(adjustment)}" for adjustment in comparison.adjustments]
    lines += [""] if comparison.adjustments else []
    lines += [f"Page: {forms['page']} · JSON: {forms['json']}", ""]
    if comparison.identical:
        lines += ["Both start the same processes with the same flags, variables and image.", ""]
    lines += [*_table("Choices", comparison.choices), *_table("Facts", comparison.facts)]
    for group in comparison.groups:
        lines += _table(heading(group), group.pair.rows, True)
    return "\n".join(lines).rstrip("\n") + "\n"


def heading(group: Group) -> str:
    """What a group of processes is called: ``Node 1, Node 2 (only in B)``."""
    named = ", ".join(group.titles[:_NAMED])
    more = f" and {len(group.titles) - _NAMED} more" if len(group.titles) > _NAMED else ""
    only = f" (only in {group.pair.alone.upper()})" if group.pair.alone else ""
    return f"{named}{more}{only}"


def _table(title: str, rows: Sequence[Row], always: bool = False) -> Iterator[str]:
    differing = [row for row in rows if row.status != "same"]
    if not differing and not always:
        return
    yield from (f"## {title}", "")
    if differing:
        yield from ("| what | A | B | from |", "|---|---|---|---|")
        for row in differing:
            origins = dict.fromkeys(cell.origin for cell in (row.a, row.b) if cell and cell.origin)
            yield f"| `{row.name}` | {_code(row.a)} | {_code(row.b)} | {_plain('; '.join(origins))} |"
        yield ""
    same = len(rows) - len(differing)
    if same:
        yield from (f"{same} {'thing is' if same == 1 else 'things are'} the same.", "")


def _code(cell: Cell | None) -> str:
    if cell is None:
        return "—"
    return f"`` {_plain(cell.value)} ``" if "`" in cell.value else f"`{_plain(cell.value)}`" if cell.value else "on"


def _plain(text: str) -> str:
    """Text as it may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


@dataclass(frozen=True)
class Field:
    """One choice of the form: for each side the values that can be asked for, with labels, and those that are now."""

    parameter: str
    label: str
    many: bool
    options: Sequence[tuple[str, str]]
    chosen: Mapping[str, Sequence[str]]


def fields(comparison: Comparison) -> list[Field]:
    """The form of the page: every choice that either side has."""
    found = []
    for choice in choices_of(comparison.a):
        kind = PARAMETERS[choice.parameter]
        prefix = f"{_member(comparison.a, choice.axis)}:" if kind == "pairs" else ""
        options = [(f"{prefix}{option.id}", option.label) for option in choice.options]
        chosen = {
            side: _chosen(view, choice.parameter, prefix)
            for side, view in zip(SIDES, (comparison.a, comparison.b), strict=True)
        }
        found.append(Field(choice.parameter, choice.label, choice.kind == "many", options, chosen))
    return found


def _member(view: View, axis_id: str) -> str:
    return next(axis.get("member", "") for axis in view.plan["axes"] if axis["id"] == axis_id)


def _chosen(view: View, parameter: str, prefix: str) -> list[str]:
    value = view.configuration.get(parameter)
    if isinstance(value, dict):
        return [f"{name}:{mode}" for name, mode in value.items() if f"{name}:" == prefix]
    if isinstance(value, list):
        return value
    return [] if value is None else [str(value)]


def page(comparison: Comparison, around: Surroundings) -> str:
    """The page of a comparison."""
    addresses = around.addresses
    return around.theme.render(
        "compare.html",
        around.context(
            comparison.id,
            comparison=comparison,
            sides=[("a", comparison.a), ("b", comparison.b)],
            fields=fields(comparison),
            heading=heading,
            links=comparison_links(comparison, addresses),
            adjustments=plain_adjustments(comparison.adjustments),
        ),
    )
