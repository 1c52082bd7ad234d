"""Omni recipes: one process for each task (``docs/recipe-format.md``, sections 3.9 and 6)."""

from __future__ import annotations

from site_builder.compiler.conditions import listed, only
from site_builder.compiler.context import Context
from site_builder.compiler.layers import (
    exact_variant_layers,
    model_layers,
    recipe_hardware_layers,
    variant_hardware_layers,
)
from site_builder.compiler.parallel import flag
from site_builder.plan import Condition, FactLayer, Layer, Process, Program, Token
from site_builder.schema.recipe import OmniTask


def omni_layers(context: Context) -> list[Layer]:
    """Every source of arguments and variables of an omni recipe, in order."""
    return [
        *model_layers(context),
        *_variants(context),
        *_tasks(context),
        *recipe_hardware_layers(context),
        *variant_hardware_layers(context),
        *(layer for key in context.fitting.variants for layer in exact_variant_layers(context, key)),
        *_ending(context),
    ]


def _variants(context: Context) -> list[Layer]:
    """The default variant's own arguments describe the checkpoint, not the task: they are left out."""
    layers = []
    for key in context.fitting.variants:
        variant = context.recipe.variants[key]
        if key != "default":
            layers += context.layer(f"variants.{key}", {"variant": [key]}, variant.extra_args, variant.extra_env)
    return layers


def _chosen(context: Context, task: OmniTask) -> Condition:
    return listed("task", [task.name], [known.name for known in context.tasks])


def _tasks(context: Context) -> list[Layer]:
    layers = []
    for task in context.tasks:
        when = _chosen(context, task)
        origin = f"omni.tasks.{task.name}"
        layers += context.layer(origin, when, task.extra_args)
        for name, override in task.hardware_overrides.items():
            if name in context.fitting.hardware:
                layers += context.layer(
                    f"{origin}.hardware_overrides.{name}", only(when, hardware=[name]), override.extra_args
                )
    return layers


def _ending(context: Context) -> list[Layer]:
    omni = context.recipe.omni
    port = [flag("--port", str(omni.port))] if omni and omni.port else []
    return [{"origin": "omni", "args": [*port, flag("--omni")]}]


def omni_facts(context: Context) -> list[FactLayer]:
    """The checkpoint of a task, which outranks that of the variant."""
    layers: list[FactLayer] = []
    for task in context.tasks:
        when = _chosen(context, task)
        if task.model_id:
            layers.append({"when": when, "facts": {"model": task.model_id}})
        for name, override in task.hardware_overrides.items():
            if override.model_id and name in context.fitting.hardware:
                layers.append({"when": only(when, hardware=[name]), "facts": {"model": override.model_id}})
    return layers


def omni_program(context: Context) -> Program:
    binary = (context.recipe.omni.serve_binary if context.recipe.omni else "") or "vllm serve"
    start: list[Token] = [*binary.split(), [{"fact": "model"}]]
    return {"start": start, "indent": 2, "layers": omni_layers(context)}


OMNI_PROCESSES: list[Process] = [{"role": "serve", "program": "vllm"}]
