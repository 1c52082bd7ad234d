"""Finding recipes: search over names and facts, filters with counts. Twin of the search: ``static/js/search.js``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from site_builder.catalog import Catalog, Recipe
from site_builder.evidence import statuses

#: The filters of the browse page, in order, with what they are called.
FACETS = {
    "task": "Task",
    "arch": "Architecture",
    "size": "Parameters",
    "precision": "Precision",
    "hardware": "Hardware",
    "provider": "Provider",
}
SORTS = {"newest": "Newest", "updated": "Last updated", "name": "Name"}
#: Sizes in billions of parameters: below this, the label.
SIZES = ((8, "under 8B"), (40, "8B to 40B"), (200, "40B to 200B"), (float("inf"), "200B and more"))


@dataclass(frozen=True)
class Entry:
    """A recipe as it is listed: ``facets`` are the values that filters know, ``text`` is what search looks into."""

    id: str
    title: str
    provider: str
    description: str
    date_added: str
    date_updated: str
    facets: Mapping[str, Sequence[str]]
    text: str


@dataclass(frozen=True)
class FilterValue:
    value: str
    label: str
    count: int
    query: str
    selected: bool


@dataclass(frozen=True)
class Browse:
    """The browse page for one query: matching entries, and every filter with counts of what it would leave."""

    entries: Sequence[Entry]
    total: int
    q: str
    filters: Sequence[tuple[str, str, Sequence[FilterValue]]]
    sorts: Sequence[FilterValue]
    asked: Mapping[str, str]


def entry_of(catalog: Catalog, recipe: Recipe) -> Entry:
    """A recipe as an entry of lists."""
    file, profiles = recipe.file, catalog.taxonomy.hardware_profiles
    hardware = [name for name, status in statuses(file).items() if status != "unsupported" and name in profiles]
    provider = file.meta.provider or recipe.id.split("/", 1)[0]
    precisions = sorted({variant.precision.lower() for variant in file.variants.values() if variant.precision})
    facets: dict[str, list[str]] = {
        "task": file.meta.tasks,
        "arch": [file.model.architecture] if file.model.architecture else [],
        "size": [size_of(file.model.parameter_count)] if size_of(file.model.parameter_count) else [],
        "precision": precisions,
        "hardware": hardware,
        "provider": [provider],
    }
    checkpoints = [variant.model_id for variant in file.variants.values() if variant.model_id]
    names = [profiles[name].display_name for name in hardware]
    words = [
        recipe.id,
        file.meta.title,
        provider,
        *file.meta.tasks,
        *precisions,
        *hardware,
        *names,
        *checkpoints,
        *statuses(file).values(),
    ]
    words += [file.model.architecture or "", file.model.parameter_count]
    meta = file.meta
    return Entry(
        recipe.id, meta.title, provider, meta.description, meta.date_added, meta.date_updated, facets, text_of(words)
    )


def text_of(words: Sequence[str]) -> str:
    """Words without anything but letters and digits, so that ``gemma4`` finds ``gemma-4``."""
    return "|".join(dict.fromkeys(compact(word) for word in words if word))


def compact(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def size_of(parameters: str) -> str:
    """The group of a parameter count such as ``1T`` or ``30B``; empty where it cannot be read."""
    match = re.match(r"~?([0-9.]+)\s*([TBM])", parameters)
    if not match or not re.fullmatch(r"\d+(\.\d+)?", match[1]):
        return ""
    billions = float(match[1]) * {"T": 1000, "B": 1, "M": 0.001}[match[2]]
    return next(label for limit, label in SIZES if billions < limit)


def search(entries: Sequence[Entry], query: str) -> list[Entry]:
    """The entries that hold every word, those with the words early in their id first."""
    words = [compact(word) for word in query.split() if compact(word)]
    found = [entry for entry in entries if all(word in entry.text for word in words)]
    return sorted(found, key=lambda entry: (_distance(entry, words), entry.id.lower()))


def _distance(entry: Entry, words: Sequence[str]) -> int:
    name = compact(entry.id.split("/", 1)[1])
    return sum(place if (place := name.find(word)) >= 0 else 100 for word in words)


def labels_of(catalog: Catalog) -> dict[tuple[str, str], str]:
    """What people call the values of filters, where that is not the value itself."""
    labels = {("arch", "moe"): "Mixture of experts", ("arch", "dense"): "Dense"}
    labels |= {("task", task.id): task.display_name for task in catalog.taxonomy.tasks}
    labels |= {("hardware", name): profile.display_name for name, profile in catalog.taxonomy.hardware_profiles.items()}
    precisions = {variant.precision for recipe in catalog.recipes.values() for variant in recipe.file.variants.values()}
    return labels | {("precision", precision.lower()): precision.upper() for precision in precisions}


def browse(entries: Sequence[Entry], parameters: Mapping[str, str], labels: Mapping[tuple[str, str], str]) -> Browse:
    """The browse page for query parameters; what is not known there is left out."""
    asked = {name: value for name, value in parameters.items() if name in (*FACETS, "q", "sort") and value.strip()}
    q, order = asked.get("q", "").strip(), asked.get("sort", "newest")
    order = order if order in SORTS else "newest"
    searched = search(entries, q)
    found = [entry for entry in searched if _passes(entry, asked, "")]
    if not q or "sort" in asked:
        found = _sorted(found, order)
    filters = [(name, label, list(_values(searched, asked, (name, labels)))) for name, label in FACETS.items()]
    sorts = [
        FilterValue(name, label, len(found), _query({**asked, "sort": name}), name == order)
        for name, label in SORTS.items()
    ]
    return Browse(found, len(entries), q, filters, sorts, asked)


def _passes(entry: Entry, asked: Mapping[str, str], but: str) -> bool:
    """Whether an entry passes every filter but one."""
    for name in FACETS:
        wanted = asked.get(name, "").lower()
        if wanted and name != but and wanted not in [value.lower() for value in entry.facets[name]]:
            return False
    return True


def _values(
    entries: Sequence[Entry], asked: Mapping[str, str], facet: tuple[str, Mapping[tuple[str, str], str]]
) -> Iterator[FilterValue]:
    name, labels = facet
    counts: dict[str, int] = {}
    for entry in entries:
        for value in entry.facets[name]:
            counts[value] = counts.get(value, 0) + (1 if _passes(entry, asked, name) else 0)
    order = (
        [label for _, label in SIZES] if name == "size" else sorted(counts, key=lambda value: (-counts[value], value))
    )
    for value in order:
        if value in counts:
            selected = asked.get(name, "").lower() == value.lower()
            rest = {key: kept for key, kept in asked.items() if key != name}
            yield FilterValue(
                value,
                labels.get((name, value), value),
                counts[value],
                _query(rest if selected else {**rest, name: value}),
                selected,
            )


def _sorted(entries: Sequence[Entry], order: str) -> list[Entry]:
    by_name = sorted(entries, key=lambda entry: entry.title.lower())
    if order == "name":
        return by_name
    return sorted(by_name, key=lambda e: e.date_added if order == "newest" else e.date_updated, reverse=True)


def _query(asked: Mapping[str, str]) -> str:
    return "&".join(f"{name}={quote_plus(asked[name])}" for name in ("q", *FACETS, "sort") if asked.get(name))


def search_index(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """``search.json``: what the search dialog and the filters read."""
    return [
        {
            "id": entry.id,
            "title": entry.title,
            "provider": entry.provider,
            "text": entry.text,
            "facets": dict(entry.facets),
        }
        for entry in entries
    ]
