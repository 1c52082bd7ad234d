"""Scalars of a selection: checkpoint, image, versions, GPUs, installation."""

from __future__ import annotations

from collections.abc import Iterator

from site_builder.compiler.conditions import cases, hardware_cases, listed
from site_builder.compiler.context import Context
from site_builder.compiler.images import device_flags, pip_commands
from site_builder.plan import FactLayer

ENTRY = ["vllm", "serve"]


def fact_layers(context: Context) -> list[FactLayer]:
    """Every scalar that the evaluators and the page need, as layers."""
    return [
        *_model(context),
        *_hardware(context),
        *_image(context),
        *_install(context),
        *_versions(context),
        *_deployment(context),
    ]


def _model(context: Context) -> Iterator[FactLayer]:
    model = context.recipe.model
    facts: dict[str, object] = {"model": model.model_id, "entry": ENTRY, "image": None, "pip": None, "docker": None}
    if model.gated:
        facts["gated"] = True
    yield {"facts": facts}
    for key in context.fitting.variants:
        variant = context.recipe.variants[key]
        if variant.model_id:
            yield {"when": {"variant": [key]}, "facts": {"model": variant.model_id}}


def _hardware(context: Context) -> Iterator[FactLayer]:
    def of(name: str) -> dict[str, object]:
        profile = context.fitting.profile(name)
        return {"gpus": profile.gpu_count, "docker": device_flags(profile)}

    for condition, facts in hardware_cases(context.fitting.hardware, of):
        yield {"when": condition, "facts": facts}


def _image(context: Context) -> Iterator[FactLayer]:
    for condition, image in context.images:
        if isinstance(image, str):
            yield {"when": condition, "facts": {"image": image}}
        else:
            for build, name in image.items():
                yield {"when": {**condition, "cuda": [build]}, "facts": {"image": name}}


def _install(context: Context) -> Iterator[FactLayer]:
    recipe = context.recipe

    def pip(variant: str, name: str) -> str | None:
        return pip_commands(recipe, context.fitting.profile(name), recipe.needs_nightly(variant))

    for condition, text in cases(context.fitting.pairs, ("variant", "hardware"), pip):
        yield {"when": condition, "facts": {"pip": text}}


def _versions(context: Context) -> Iterator[FactLayer]:
    """The highest of the recipe's, the variant's and the key-value store's minimum."""
    base = context.recipe.model.min_vllm_version
    own = {key: context.recipe.variants[key].min_vllm_version or base for key in context.fitting.variants}
    stores = {
        key: context.kv_stores[key].min_vllm_version or ""
        for key in context.offload_conditions
        if key in context.kv_stores
    }
    offload = ["off", *context.offload_conditions]
    pairs = [(variant, option) for variant in own for option in offload]

    def newest(variant: str, option: str) -> str:
        return max(base, own[variant], stores.get(option, ""), key=version_key)

    for condition, version in cases(pairs, ("variant", "kv_offload"), newest):
        yield {"when": condition, "facts": {"min_vllm_version": version}}


def version_key(version: str) -> tuple[int, ...]:
    """Versions in order: ``0.9.1`` before ``0.19.0``; what is no number counts as nothing."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def _deployment(context: Context) -> Iterator[FactLayer]:
    for kind in ("single_node", "multi_node", "pd_cluster"):
        if context.of_type(kind):
            yield {
                "when": listed("strategy", context.of_type(kind), context.strategy_ids),
                "facts": {"deploy_type": kind},
            }
    if context.recipe.omni:
        yield {"facts": {"deploy_type": "single_node"}}
