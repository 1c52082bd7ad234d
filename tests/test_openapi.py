"""The OpenAPI document: that it is one, that it names every address, and that every answer is as it says."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from site_builder.collection import Collection, open_collection
from site_builder.explain import explain
from site_builder.pages import PAGES, find_page
from site_builder.render import explanation
from site_builder.render.as_html import Theme
from site_builder.render.openapi import ADDRESSES
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import answer
from tests.helpers import SMALL
from tests.test_twins import random_query


def context_of(collection: Collection, base: str = "") -> SiteContext:
    return SiteContext(collection, Addresses(base), Theme())


def body(context: SiteContext, address: str) -> Any:
    """The JSON of an address with a query."""
    path, _, query = address.partition("?")
    page, values = find_page(path) or pytest.fail(address)
    text = page.text(context, values, query)
    return json.loads(text.data)


@functools.cache
def validator(name: str) -> Draft202012Validator:
    document = body(context_of(_small()), "openapi.json")
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": document["components"]})


@functools.cache
def _small() -> Collection:
    return open_collection(SMALL)


def problems(shape: str, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(shape).iter_errors(value)]


def test_the_document_is_openapi(small: Collection) -> None:
    document = body(context_of(small, "https://e.org/recipes"), "openapi.json")
    validate(document)
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": "https://e.org/recipes"}]


def test_every_address_is_described_and_no_other(small: Collection) -> None:
    document = body(context_of(small), "openapi.json")
    assert set(ADDRESSES) == {page.template for page in PAGES}
    assert [
        path
        for path in document["paths"]
        if path not in ("/healthz", "/metrics", "/v1/explain", "/v1/artifacts/resolve")
    ] == [f"/{page.template}" for page in PAGES]


def _json_addresses(context: SiteContext) -> Iterator[tuple[str, str]]:
    """Every prepared JSON address with the shape that is told of it."""
    for page in PAGES:
        shape = ADDRESSES[page.template][1]
        if shape and shape != "Any":
            for values in page.paths(context):
                yield page.template.format(**values), shape


def test_every_answer_is_as_described(small: Collection) -> None:
    context = context_of(small)
    addresses = list(_json_addresses(replace(context, addresses=Addresses("", "all"))))
    assert len(addresses) > 40
    assert {address: found for address, shape in addresses if (found := problems(shape, body(context, address)))} == {}


def test_every_configuration_is_as_described(small: Collection) -> None:
    chance = random.Random(7)
    context = context_of(small)
    for recipe_id, plan in small.plans.items():
        for _ in range(60):
            query = random_query(plan, chance)
            assert problems("Recipe", body(context, f"{recipe_id}.json?{query}")) == [], query


def test_comparisons_and_explanations_are_as_described(small: Collection) -> None:
    context = context_of(small)
    for query in ("", "b=strategy%3Dpd_cluster&a=nodes%3D2", "a=hardware%3Dmi355x&b=kv_offload%3Dlmcache%26bogus%3D1"):
        assert problems("Comparison", body(context, f"acme/Big-MoE/compare.json?{query}")) == [], query
    for command in ("vllm serve acme/Big-MoE --nonsense 1 -tp 2", "A=1 vllm serve acme/Small-8B --port 80"):
        found = explanation.document(explain(small, command), context.addresses)
        assert problems("Explanation", found) == [], command


def test_the_check_can_fail(small: Collection) -> None:
    document = body(context_of(small), "acme/Big-MoE.json")
    assert problems("Recipe", {**document, "more": 1}) != []
    assert problems("Recipe", {**document, "processes": [{**document["processes"][0], "argv": "vllm serve"}]}) != []
    assert problems("Recipe", {key: value for key, value in document.items() if key != "links"}) != []


@pytest.mark.corpus
def test_every_recipe_of_the_corpus_is_as_described(corpus_collection: Collection) -> None:
    chance, context = random.Random(3), context_of(corpus_collection)
    checked = 0
    for recipe_id, plan in corpus_collection.plans.items():
        view = answer(corpus_collection, recipe_id, "")
        queries = ["", "strategy=pd_cluster", "kv_offload=kv_store_distributed_mooncake", random_query(plan, chance)]
        queries += [f"hardware={name}" for name in view.offered_hardware[:2]]
        for query in queries:
            assert problems("Recipe", body(context, f"{recipe_id}.json?{query}")) == [], (recipe_id, query)
            checked += 1
    assert checked > 500
    for address in ("models.json", "search.json", "taxonomy.json", "strategies.json", "kv_store.json"):
        assert problems(ADDRESSES[address][1], body(context, address)) == [], address
