"""What an answer says of what fits: estimates, what is unknown and why, and floors that disagree."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from site_builder.checks import check
from site_builder.collection import Collection
from site_builder.fit import gib, lines_of
from site_builder.render import as_json, as_markdown
from site_builder.sizing import usual_utilisation
from site_builder.urls import Addresses
from site_builder.views import View, answer

KIMI = "moonshotai/Kimi-K2.6"


def fit_in_json(view: View) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(as_json.render(view, Addresses()))["fit"]
    return found


def test_kimi_has_an_estimate_and_no_warning(own_collection: Collection) -> None:
    for query, apart in (("", 0), ("variant=nvfp4&hardware=b200", 19)):
        view = answer(own_collection, KIMI, query)
        assert (view.fit.apart, view.warnings) == (apart, [])
    found = fit_in_json(answer(own_collection, KIMI, "context=32768&concurrency=8"))
    assert (found["context"], found["concurrency"], found["fits"], found["unknown"]) == (32768, 8, True, None)
    parts = found["estimate"]
    assert parts["bytes_per_token"] == 61 * 576 * 2
    assert parts["requests"] == parts["tokens"] // 32768
    taken = sum(parts[f"{name}_bytes"] for name in ("weights", "activations", "other", "graphs", "cache"))
    assert taken == parts["memory_bytes"] * parts["utilisation_percent"] // 100
    assert not fit_in_json(answer(own_collection, KIMI, "context=262144&concurrency=1000"))["fits"]


def test_layouts_change_the_estimate(own_collection: Collection) -> None:
    """Expert parallel ranks divide the experts and have a cache each; two nodes leave more of each GPU."""
    one, two, ranks = (
        answer(own_collection, KIMI, query).fit.estimate
        for query in ("", "nodes=2&strategy=multi_node_tp", "strategy=single_node_dep")
    )
    assert one is not None
    assert two is not None
    assert ranks is not None
    assert two["weights_bytes"] < one["weights_bytes"] < ranks["weights_bytes"]
    assert ranks["tokens"] > one["tokens"]
    assert ranks["replica_weights_bytes"] > one["replica_weights_bytes"]


def test_a_floor_that_is_off_by_a_quarter_warns(own_collection: Collection) -> None:
    view = answer(own_collection, KIMI, "")
    variant = view.variant.model_copy(update={"vram_minimum_gb": 714 / 1.3})
    file = view.recipe.file.model_copy(update={"variants": {**view.recipe.file.variants, "default": variant}})
    made_up = replace(view, recipe=replace(view.recipe, file=file))
    assert made_up.fit.apart == 30
    assert "the weights of these shapes need 30 % more: one of the two is wrong." in made_up.warnings[0]


UNKNOWN = "it mixes compressed and sliding caches"


@pytest.mark.parametrize("reason", ["the recipe does not give the shapes of the model", UNKNOWN])
def test_what_is_unknown_says_why(own_collection: Collection, reason: str) -> None:
    view = answer(own_collection, KIMI, "")
    shape = None if reason != UNKNOWN else {"unknown": UNKNOWN}
    data = view.recipe.file.model_dump(exclude_unset=True) | {"architecture": shape}
    file = type(view.recipe.file)(**data)
    collection = replace(own_collection, written={})
    unknown = replace(view, collection=collection, recipe=replace(view.recipe, file=file))
    assert unknown.fit.estimate is None
    assert fit_in_json(unknown)["unknown"] == reason
    assert f"What the cache holds is unknown: {reason}." in as_markdown.render(unknown, Addresses())


def test_a_load_is_clamped_and_stays_in_the_query(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "concurrency=0&context=many&hardware=h200")
    assert view.query == "hardware=h200&concurrency=1"
    assert [(note["parameter"], note["used"]) for note in view.adjustments] == [("context", ""), ("concurrency", "1")]
    again = answer(small, "acme/Big-MoE", view.query)
    assert (again.query, again.adjustments) == (view.query, [])


def test_windows_hold_no_more_than_themselves(small: Collection) -> None:
    short, long = (answer(small, "acme/Small-8B", f"context={length}").fit.estimate for length in (4096, 8192))
    assert short is not None
    assert long is not None
    assert long["request_bytes"] == short["request_bytes"] * 3 // 2


def test_sentences(own_collection: Collection) -> None:
    view = answer(own_collection, KIMI, "context=32768&concurrency=8")
    first, second = lines_of(view.fit, "H200")
    assert first.startswith("Estimate for one GPU (H200, 139.6 GiB, of which vLLM takes 90 %): 69.2 GiB weights")
    assert second.endswith("requests of 32,768 tokens at once; 8 fit.")
    assert (gib(-(2**29)), gib(0), gib(2**30 + 2**29)) == ("-0.5", "0.0", "1.5")
    assert [usual_utilisation(version) for version in ("0.25.1", "0.26.0", "1.0", "nightly", "")] == [
        90,
        92,
        92,
        92,
        92,
    ]


def test_check_names_a_floor_that_shapes_contradict(own_collection: Collection) -> None:
    catalog = own_collection.catalog
    assert [problem for problem in check(own_collection) if "architecture" in problem.message] == []
    recipe = catalog.recipes[KIMI]
    variant = recipe.file.variants["default"].model_copy(update={"vram_minimum_gb": 1200})
    file = recipe.file.model_copy(update={"variants": {**recipe.file.variants, "default": variant}})
    recipes = {**catalog.recipes, KIMI: replace(recipe, file=file)}
    moved = replace(own_collection, catalog=replace(catalog, recipes=recipes))
    (found,) = [problem for problem in check(moved) if "architecture" in problem.message]
    assert found.path == f"models/{KIMI}.yaml"
    assert "need 41 % less than this floor; correct one of the two" in found.message
