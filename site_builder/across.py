"""A recipe across hardware: every open hardware with every variant, in the configuration that is recommended there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from site_builder.collection import Collection
from site_builder.plan import Adjustment, axis_of, values_of
from site_builder.query import LOADS, split_query
from site_builder.views import View, answer

_REASON = "every hardware and variant is shown, each in the configuration that is recommended there"


@dataclass(frozen=True)
class Across:
    """The rows of a recipe. ``default`` is its default configuration with what has to fit, the query's only say."""

    default: View
    adjustments: Sequence[Adjustment]

    @property
    def id(self) -> str:
        return f"{self.default.id}/hardware"

    @property
    def process(self) -> str:
        return ""

    @property
    def query(self) -> str:
        return self.default.query

    @cached_property
    def rows(self) -> list[View]:
        """One view for each hardware and variant that go together."""
        default = self.default
        pairs = [(hardware, variant) for hardware in default.offered_hardware for variant in self._variants]
        views = [
            answer(default.collection, default.id, {"hardware": hardware, "variant": variant, **self._loads})
            for hardware, variant in pairs
        ]
        return [
            view
            for view, pair in zip(views, pairs, strict=True)
            if (view.selection["hardware"], view.selection["variant"]) == pair
        ]

    @property
    def _variants(self) -> list[str]:
        axis = axis_of(self.default.plan, "variant")
        return values_of(axis) if axis else []

    @property
    def _loads(self) -> dict[str, str]:
        return {name: str(number) for name, number in self.default.loads.items()}


def across(collection: Collection, recipe_id: str, query: str) -> Across:
    """The rows for an id in any case. Raises UnknownRecipe.

    What a query asks besides ``context`` and ``concurrency`` is told to have no effect.
    """
    parameters, notes = split_query(query)
    view = answer(collection, recipe_id, {name: value for name, value in parameters.items() if name in LOADS})
    notes += [
        {"parameter": name, "requested": value, "used": "", "reason": _REASON}
        for name, value in parameters.items()
        if name not in LOADS and name != "strict" and value
    ]
    return Across(view, [*notes, *view.adjustments])
