"""What only shows in the compiled plan: arguments of different places that meet in one command."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from site_builder.catalog import Recipe
from site_builder.collection import Collection
from site_builder.compiler.context import key_of
from site_builder.compiler.fitting import MAX_NODES
from site_builder.errors import Problem
from site_builder.evaluate import evaluate, facts_of
from site_builder.plan import Condition, Layer, Plan
from site_builder.resolve import resolve


def plan_problems(collection: Collection) -> Iterator[Problem]:
    for recipe_id, plan in collection.plans.items():
        recipe = collection.recipe(recipe_id)
        yield from _json_beside_dots(recipe, plan)
        yield from _ranks(recipe, plan)


def _line(recipe: Recipe, origin: str) -> int:
    return recipe.document.line(tuple(origin.split(".")))


def _json_beside_dots(recipe: Recipe, plan: Plan) -> Iterator[Problem]:
    """vLLM loses explicit JSON of an option when one of its fields is set with a dot in the same command."""
    explicit: list[tuple[str, Layer]] = []
    dotted: list[tuple[str, Layer]] = []
    for layer in plan["programs"]["vllm"]["layers"]:
        for argument in layer.get("args", []):
            key = key_of(argument) or str((argument if isinstance(argument, list) else argument["tokens"])[0])
            (dotted if "." in key else explicit).append((key, layer))
    for key, layer in dotted:
        base = key.split(".", 1)[0]
        for other, earlier in explicit:
            if other == base and _meet(layer.get("when", {}), earlier.get("when", {})):
                message = (
                    f"{key} meets the JSON of {base} from {earlier['origin']} (line {_line(recipe, earlier['origin'])})"
                    " in one command, and vLLM then loses the JSON; write the field into the JSON"
                )
                yield Problem(recipe.document.path, _line(recipe, layer["origin"]), message)


def _meet(one: Condition, other: Condition) -> bool:
    """Whether two conditions can hold together: their lists overlap on every axis that both name."""
    return all(_overlap(one[axis], other[axis]) for axis in one.keys() & other.keys())


def _overlap(one: Any, other: Any) -> bool:
    if isinstance(one[0], int):
        return bool(max(one[0], other[0]) <= min(one[-1], other[-1]))
    return bool(set(one) & set(other))


def _ranks(recipe: Recipe, plan: Plan) -> Iterator[Problem]:
    """Hand-written parallel sizes that do not match the GPUs; ``single_node_tp`` may leave GPUs free."""
    axes = {axis["id"]: axis for axis in plan["axes"]}
    if "strategy" not in axes:
        return
    found: dict[tuple[str, int, int], list[str]] = {}
    choices = itertools.product(axes["variant"]["options"], axes["hardware"]["options"], axes["strategy"]["options"])
    for variant, hardware, strategy in choices:
        asked = {"variant": variant, "hardware": hardware, "strategy": strategy}
        asked |= {"nodes": str(MAX_NODES)} if strategy.startswith("multi") else {}
        selection = resolve(plan, {"asked": asked, "notes": []})["selection"]
        if strategy == "pd_cluster" or asked.items() - selection.items():
            continue
        ranks, gpus = _product(plan, selection), _gpus(plan, selection)
        if ranks > gpus or (ranks < gpus and strategy != "single_node_tp"):
            where = hardware if variant == "default" else f"{hardware} ({variant})"
            found.setdefault((strategy, ranks, gpus), []).append(where)
    for (strategy, ranks, gpus), names in found.items():
        message = (
            f"{strategy} on {', '.join(names)} starts {ranks} ranks for {gpus} GPUs;"
            " mend the parallel sizes that the overrides write by hand"
        )
        yield Problem(recipe.document.path, _line(recipe, f"strategy_overrides.{strategy}"), message, "warning")


def _product(plan: Plan, selection: Mapping[str, str]) -> int:
    words = {line[0]: line[-1] for line in evaluate(plan, selection)[0]["lines"][1:]}
    product = 1
    for flag in plan["sizes"]:
        value = words.get(flag, "")
        product *= int(value) if value.isdigit() else 1
    return product


def _gpus(plan: Plan, selection: Mapping[str, str]) -> int:
    return int(str(facts_of(plan, selection)["gpus"])) * int(selection["nodes"])
