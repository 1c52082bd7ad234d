"""tests/spec in Python. The same cases run in JavaScript: see test_twins.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from site_builder import evaluate, plan, query, resolve, shell

SPEC = Path(__file__).parent / "spec"
PLAN = json.loads((SPEC / "plan.json").read_text(encoding="utf-8"))
CASES: dict[str, list[dict[str, Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(SPEC.glob("*.json"))
    if path.stem != "plan"
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{name}: {case['name']}") for name, cases in CASES.items() for case in cases]
)
def test_case(case: dict[str, Any]) -> None:
    modules = (plan, query, resolve, evaluate, shell)
    function = next(getattr(module, case["call"]) for module in modules if hasattr(module, case["call"]))
    given = [PLAN if value == "plan" else value for value in case["arguments"]]
    result = json.loads(json.dumps(function(*given)))
    assert result == case["expect"]
    assert json.dumps(result) == json.dumps(case["expect"])  # the order of keys counts: variables are written in it
