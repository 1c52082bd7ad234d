"""Queries of which no two give the same configuration."""

from __future__ import annotations

import random
import sys

from site_builder.collection import Collection
from site_builder.plan import Plan, parameter_of, values_of
from site_builder.query import PARAMETERS
from site_builder.views import answer

_COMMON = ("hardware", "variant", "strategy", "features")
#: Ranks only say which process is shown first.
_NAMED = [name for name, kind in PARAMETERS.items() if kind != "rank"]


def distinct_queries(collection: Collection, count: int, chance: random.Random) -> list[str]:
    """Addresses of JSON answers with canonical queries, over all recipes, in no order."""
    found: dict[str, None] = {}
    plans = list(collection.plans.values())
    for attempt in range(count * 20):
        plan = plans[attempt % len(plans)]
        view = answer(collection, plan["id"], random_query(plan, chance))
        if view.query:
            found[f"/{plan['id']}.json?{view.query}"] = None
        if len(found) == count:
            break
    else:
        sys.exit(f"load: this content has no {count:,} configurations, give fewer by --distinct")
    paths = list(found)
    chance.shuffle(paths)
    return paths


def random_query(plan: Plan, chance: random.Random) -> str:
    """Some of the choices of a plan, each with one of its values.

    The four that the addresses are documented by are named most often, and small numbers more often than large ones.
    """
    pairs = []
    for name in _NAMED:
        axes = [axis for axis in plan["axes"] if parameter_of(axis) == name]
        if not axes or chance.random() > (0.6 if name in _COMMON else 0.1):
            continue
        if PARAMETERS[name] == "list":
            value = ",".join(axis["member"] for axis in axes if chance.random() < 0.5) or "none"
        elif PARAMETERS[name] == "pairs":
            value = ",".join(f"{axis['member']}:{chance.choice(values_of(axis))}" for axis in axes)
        elif PARAMETERS[name] == "number":  # most people ask for few nodes: half of the time the fewest, and so on
            values = values_of(axes[0])
            value = values[min(int(chance.expovariate(0.7)), len(values) - 1)]
        else:
            value = chance.choice(values_of(axes[0]))
        pairs.append(f"{name}={value}")
    return "&".join(pairs)
