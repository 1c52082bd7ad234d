"""The twins in JavaScript say what Python says: on tests/spec, and on every real plan."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest

from site_builder.collection import Collection
from site_builder.evaluate import evaluate, facts_of
from site_builder.plan import Plan, parameter_of, values_of
from site_builder.query import PARAMETERS, asked_of, canonical, configuration, parse_query, split_query
from site_builder.resolve import on_offer, pick, resolve
from site_builder.shell import docker_text, export_text, shell_text
from tests.test_spec import CASES, PLAN, SPEC


def _node(request: dict[str, Any]) -> Any:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [node, str(SPEC / "run.mjs")],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


def _in_browser(browser: Any, address: str, call: str, *given: Any) -> Any:
    page = browser.new_page()
    try:
        page.goto(f"{address}/static/")
        return page.evaluate(
            """async ([address, call, given]) => {
                const runner = await import(`${address}/tests/spec/runner.js`);
                return runner[call](await runner.twins(`${address}/static/js/plan`), ...given);
            }""",
            [address, call, list(given)],
        )
    finally:
        page.close()


def test_the_cases_pass_under_node() -> None:
    assert _node({"cases": CASES, "plan": PLAN}) == []


@pytest.mark.browser
def test_the_cases_pass_in_a_browser(browser: Any, files_address: str) -> None:
    assert _in_browser(browser, files_address, "failures", CASES, PLAN) == []


def random_query(plan: Plan, chance: random.Random) -> str:
    """A query that names some choices of a plan, now and then a wrong value."""
    pairs = []
    for name, kind in PARAMETERS.items():
        axes = [axis for axis in plan["axes"] if parameter_of(axis) == name]
        if not axes or chance.random() < 0.55:
            continue
        if kind == "list":
            value = ",".join(axis["member"] for axis in axes if chance.random() < 0.5) or "none"
        elif kind == "pairs":
            value = ",".join(f"{axis['member']}:{chance.choice(values_of(axis))}" for axis in axes)
        else:
            value = chance.choice([*values_of(axes[0]), "99", "bogus"])
        pairs.append(f"{name}={value}")
    chance.shuffle(pairs)
    return "&".join(pairs)


def python_answer(plan: Plan, query: str, choice: tuple[str, str]) -> dict[str, Any]:
    """What runner.js says for a plan, a query and a choice after it, in Python."""
    parameters, notes = split_query(query)
    parsed = parse_query(plan, parameters)
    settled = resolve(plan, {"asked": parsed["asked"], "notes": [*notes, *parsed["notes"]]})
    commands, facts = evaluate(plan, settled["selection"]), facts_of(plan, settled["selection"])
    again = asked_of(plan, settled["selection"])
    return {
        **settled,
        "canonical": canonical(plan, settled["selection"]),
        "configuration": configuration(plan, settled["selection"]),
        "facts": facts,
        "commands": commands,
        "texts": [shell_text(command) for command in commands],
        "exports": [export_text(command["env"]) for command in commands],
        "docker": [docker_text(command, facts) for command in commands],
        "offers": [on_offer(axis, settled["selection"]) for axis in plan["axes"]],
        "asked": again,
        "picked": pick(plan, again, choice),
    }


def random_choice(plan: Plan, chance: random.Random) -> tuple[str, str]:
    axis = chance.choice(plan["axes"])
    return axis["id"], chance.choice(values_of(axis))


def _asked(plans: Mapping[str, Plan], each: int) -> list[dict[str, Any]]:
    chance = random.Random(20)
    return [
        {"plan": plan["id"], "query": random_query(plan, chance), "choice": random_choice(plan, chance)}
        for plan in plans.values()
        for _ in range(each)
    ]


def _differences(plans: Mapping[str, Plan], asked: list[dict[str, Any]], answers: list[Any]) -> list[dict[str, Any]]:
    """What was asked where the answers differ, as text: the order of keys counts."""
    pairs = zip(asked, answers, strict=True)
    return [
        entry
        for entry, answer in pairs
        if json.dumps(answer) != json.dumps(python_answer(plans[entry["plan"]], entry["query"], entry["choice"]))
    ]


@pytest.mark.corpus
def test_node_agrees_on_every_plan_of_the_corpus(corpus_collection: Collection) -> None:
    plans = corpus_collection.plans
    asked = _asked(plans, 6)
    assert _differences(plans, asked, _node({"plans": plans, "asked": asked})) == []


@pytest.mark.ci
@pytest.mark.corpus
def test_node_agrees_on_every_variant_hardware_and_strategy(corpus_collection: Collection) -> None:
    """Every recipe × variant × hardware × strategy of the corpus, with the nodes that the strategy needs."""
    plans = corpus_collection.plans
    asked = []
    for plan in plans.values():
        axes = {axis["id"]: values_of(axis) for axis in plan["axes"]}
        for variant, hardware, strategy in itertools.product(
            axes["variant"], axes["hardware"], axes.get("strategy", [""])
        ):
            nodes = "&nodes=4" if strategy.startswith("multi") else ""
            query = f"variant={variant}&hardware={hardware}&strategy={strategy}{nodes}"
            asked.append({"plan": plan["id"], "query": query, "choice": ("hardware", hardware)})
    for start in range(0, len(asked), 4000):
        part = asked[start : start + 4000]
        assert _differences(plans, part, _node({"plans": plans, "asked": part})) == []


@pytest.mark.browser
def test_the_browser_agrees_on_every_plan_of_this_project(
    browser: Any, files_address: str, own_collection: Collection, small: Collection
) -> None:
    plans = {**own_collection.plans, **small.plans}
    asked = _asked(plans, 8)
    assert _differences(plans, asked, _in_browser(browser, files_address, "answers", plans, asked)) == []


@pytest.mark.browser
@pytest.mark.corpus
def test_the_browser_agrees_on_a_sample_of_the_corpus(
    browser: Any, files_address: str, corpus_collection: Collection
) -> None:
    plans = dict(itertools.islice(corpus_collection.plans.items(), 0, None, 8))
    asked = _asked(plans, 6)
    assert _differences(plans, asked, _in_browser(browser, files_address, "answers", plans, asked)) == []
