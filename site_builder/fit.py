"""What fits: the estimate of a configuration, with its parts, or the reason why there is none.

Twin: ``static/js/fit.js``.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from site_builder.plan import Command, Plan
from site_builder.sizing import (
    GIB,
    Cache,
    Estimate,
    Spread,
    Weights,
    cache_of,
    difference,
    estimate,
    usual_utilisation,
    weights_of,
)

if TYPE_CHECKING:
    from site_builder.views import View

#: Bits of a cache element by what an argument calls it.
_BITS = {"auto": 16, "bfloat16": 16, "float16": 16, "fp8": 8, "fp8_e4m3": 8, "fp8_e5m2": 8}
#: The length of a request where nothing says another.
_LENGTH = 8192


@dataclass(frozen=True)
class Fit:
    """An estimate, or why there is none (``unknown``). ``apart`` is how many percent more than the published floor the
    weights × 1.2 are; None where there is no floor or no estimate of the weights.
    """

    context: int
    concurrency: int
    unknown: str = ""
    estimate: Estimate | None = None
    apart: int | None = None

    @property
    def bar(self) -> dict[str, int]:
        """The parts of a GPU's memory in thousandths: weights, what else vLLM takes, and the cache."""
        found = self.estimate
        if found is None:
            return {"weights": 0, "rest": 0, "cache": 0}
        rest = found["activations_bytes"] + found["other_bytes"] + found["graphs_bytes"]
        parts = {"weights": found["weights_bytes"], "rest": rest, "cache": found["cache_bytes"]}
        return {name: max(0, min(1000, size * 1000 // found["memory_bytes"])) for name, size in parts.items()}

    @property
    def fits(self) -> bool | None:
        """Whether as many requests as asked fit at once; None where that is unknown."""
        return None if self.estimate is None else self.estimate["requests"] >= self.concurrency


def shapes_of(view: View) -> dict[str, Any]:
    """What is worked out once for a recipe: ``unknown``, or the cache and the weights of each variant."""
    return view.collection.once(("shapes", view.id), lambda: _shapes(view))


def _shapes(view: View) -> dict[str, Any]:
    file = view.recipe.file
    shape = file.architecture
    if file.omni:
        return {"unknown": "media models keep no cache of tokens", "weights": {}}
    if shape is None:
        return {"unknown": "the recipe does not give the shapes of the model", "weights": {}}
    if shape.unknown:
        return {"unknown": shape.unknown, "weights": {}}
    weights = {key: weights_of(shape, key, variant.precision) for key, variant in file.variants.items()}
    return {"unknown": "", "cache": cache_of(shape), "weights": weights, "length": file.model.context_length or _LENGTH}


def fit_of(view: View) -> Fit:
    """The fit of a view: of the decode pool, where prefill and decode are apart."""
    shapes, concurrency = shapes_of(view), view.loads.get("concurrency", 1)
    command = next(one for one in view.commands if one["role"] in ("serve", "head", "decode"))
    said = _said(view.plan, command)
    served = said.get("context", "")
    length = view.loads.get("context") or (int(served) if served.isdigit() else shapes.get("length", _LENGTH))
    weights: Weights | None = shapes["weights"].get(view.selection["variant"])
    apart = difference(view.floor_gb, weights) if weights and view.floor_gb else None
    spread = _spread(said, str(view.facts.get("min_vllm_version") or ""))
    unknown = shapes["unknown"]
    if not unknown and weights is None:
        unknown = f"the bits of {view.precision} are not known"
    if not unknown and spread is None:
        unknown = f"the size of a cache of {said['cache']} is not known"
    if unknown or weights is None or spread is None:
        return Fit(length, concurrency, unknown, apart=apart)
    cache: Cache = shapes["cache"]
    return Fit(length, concurrency, "", estimate((weights, cache), spread, view.hardware.gb_per_gpu, length), apart)


def _said(plan: Plan, command: Command) -> dict[str, str]:
    """What a command says of parallel sizes and memory, by short names."""
    names = {**plan["sizes"], **plan.get("memory", {})}
    return {names[line[0]]: line[-1] for line in command["lines"][1:] if line[0] in names}


def _spread(said: dict[str, str], version: str) -> Spread | None:
    """How a replica is spread; None where the kind of cache is not known."""
    bits = _BITS.get(said.get("cache", "auto"))
    if bits is None:
        return None
    sizes = {name: int(said[name]) if said.get(name, "").isdigit() else 1 for name in ("TP", "PP", "DP", "DCP")}
    share = said.get("utilisation", "")
    return {
        "tp": sizes["TP"],
        "pp": sizes["PP"],
        "dp": sizes["DP"],
        "dcp": sizes["DCP"],
        "ep": "EP" in said,
        "cache_bits": bits,
        "utilisation": math.floor(float(share) * 100 + 0.5)
        if re.fullmatch(r"[01]?\.?[0-9]+", share)
        else usual_utilisation(version),
    }


def apart_text(apart: int, floor_gb: float) -> str:
    """The warning where a published floor and the estimate of the weights disagree."""
    more = "more" if apart > 0 else "less"
    return (
        f"The published floor is {floor_gb} GB, and the weights of these shapes need {abs(apart)} % {more}:"
        " one of the two is wrong."
    )


def gib(size: int) -> str:
    """Bytes as GiB with one decimal."""
    tenths = math.floor(abs(size) * 10 / GIB + 0.5)
    return f"{'-' if size < 0 and tenths else ''}{tenths // 10}.{tenths % 10}"


def lines_of(fit: Fit, gpu: str) -> list[str]:
    """The estimate in sentences."""
    if fit.estimate is None:
        return [f"What the cache holds is unknown: {fit.unknown}."]
    found = fit.estimate
    part = {
        name.removesuffix("_bytes"): gib(cast(int, size)) for name, size in found.items() if name.endswith("_bytes")
    }
    lines = [
        f"Estimate for one GPU ({gpu}, {part['memory']} GiB, of which vLLM takes {found['utilisation_percent']} %):"
        f" {part['weights']} GiB weights, {part['activations']} activations, {part['other']} other,"
        f" {part['graphs']} CUDA graphs; {part['cache']} GiB are left for the cache."
    ]
    if found["cache_bytes"] <= 0:
        return [*lines, "The weights leave no room for a cache."]
    verdict = "fit" if fit.fits else "do not fit"
    return [
        *lines,
        f"That is {found['tokens']:,} tokens in the replica at {found['bytes_per_token']:,} bytes a token and GPU:"
        f" {found['requests']:,} requests of {fit.context:,} tokens at once; {fit.concurrency:,} {verdict}.",
    ]
