"""A graph for NVIDIA Dynamo (``nvidia.com/v1beta1`` DynamoGraphDeployment): a front end and the workers of vLLM."""

from __future__ import annotations

import re
from typing import Any

from site_builder.compiler.facts import version_key
from site_builder.compiler.images import kind_of
from site_builder.compiler.targets import dynamo_words
from site_builder.errors import CannotExport
from site_builder.plan import Command
from site_builder.render.exports.chosen import gpus_of, header
from site_builder.render.exports.kubernetes import slug
from site_builder.render.exports.yaml_text import yaml_text
from site_builder.views import View

#: The runtime image of Dynamo, and the vLLM that it holds.
IMAGE, IMAGE_VLLM = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1", "0.31.0"

#: An image whose vLLM is a release, the newest or the one that the tag names: others are builds for one model.
_RELEASE = re.compile(r"vllm/vllm-openai:(?:latest|v(\d+(?:\.\d+)*))(?:-cu\d+)?")


def render(view: View) -> str:
    """The graph. Raises CannotExport where Dynamo has no such deployment, hardware or version."""
    _check(view)
    left: list[str] = []
    components = [_frontend()]
    for role, nodes, command in _pools(view):
        words, without = _words(view, role, command)
        left += without
        components.append(_worker(view, (role, nodes, command), words))
    notes = [f"Runtime image with vLLM {IMAGE_VLLM}. Needs: the Dynamo operator, and a Secret hf-token-secret."]
    if left:
        notes.append(f"Left to Dynamo's front end: {', '.join(dict.fromkeys(left))}")
    graph = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": slug(view)},
        "spec": {"backendFramework": "vllm", "components": components},
    }
    return yaml_text(header(view, *notes), graph)


def _check(view: View) -> None:
    others = "the .k8s.yaml or .compose.yaml form"
    if kind_of(view.hardware) != "nvidia":
        raise CannotExport(f"Dynamo runs on NVIDIA hardware, not on {view.hardware.display_name}", others)
    if view.recipe.file.omni:
        raise CannotExport("Dynamo does not start vLLM-Omni", others)
    if view.has_store:
        raise CannotExport("this key-value store has processes that Dynamo does not start", "the .sh form")
    if any(command["role"] == "companion" for command in view.commands):
        raise CannotExport("this configuration has a process beside vLLM", "the .sh form")
    needed = str(view.facts.get("min_vllm_version") or "0")
    if version_key(needed) > version_key(IMAGE_VLLM):
        raise CannotExport(f"the recipe needs vLLM {needed}, and Dynamo's image has {IMAGE_VLLM}", others)
    image = str(view.facts.get("image") or "")
    release = _RELEASE.fullmatch(image)
    if not release or version_key(release[1] or "") > version_key(IMAGE_VLLM):
        raise CannotExport(f"the recipe needs the build {image}, and Dynamo's image has vLLM {IMAGE_VLLM}", others)
    if "embedding" in view.recipe.file.meta.tasks:
        raise CannotExport("Dynamo's worker for vLLM serves models that write text, not embeddings", others)


def _pools(view: View) -> list[tuple[str, int, Command]]:
    """Each kind of worker: its role, its nodes, and the command of its first node."""
    if view.deploy_type != "pd_cluster":
        return [("worker", view.nodes, view.commands[0])]
    pools = []
    for role in ("prefill", "decode"):
        nodes = [command for command in view.commands if command["role"] == role]
        pools.append((role, len(nodes), nodes[0]))
    return pools


def _words(view: View, role: str, command: Command) -> tuple[list[str], list[str]]:
    try:
        return dynamo_words(command["lines"], role, view.collection.grammar)
    except ValueError as error:
        raise CannotExport(f"Dynamo has no word for {error}", "the .k8s.yaml form") from error


def _env(command: Command) -> list[dict[str, str]]:
    """The variables that hold for every node; those that name addresses are the operator's."""
    return [{"name": name, "value": value} for name, value in command["env"].items() if "$" not in value]


def _frontend() -> dict[str, Any]:
    main = {"name": "main", "image": IMAGE, "command": ["python3"], "args": ["-m", "dynamo.frontend"]}
    pod = {"spec": {"containers": [main]}}
    return {"name": "Frontend", "type": "frontend", "replicas": 1, "podTemplate": pod}


def _worker(view: View, pool: tuple[str, int, Command], words: list[str]) -> dict[str, Any]:
    role, nodes, command = pool
    main: dict[str, Any] = {"name": "main", "image": IMAGE, "command": ["python3", "-m", "dynamo.vllm"], "args": words}
    env = _env(command)
    if env:
        main["env"] = env
    main["envFrom"] = [{"secretRef": {"name": "hf-token-secret"}}]
    main["resources"] = {"limits": {"nvidia.com/gpu": str(gpus_of(view, command, nodes))}}
    component: dict[str, Any] = {"name": role, "type": role, "replicas": 1}
    if nodes > 1:
        component["multinode"] = {"nodeCount": nodes}
    return {**component, "sharedMemorySize": "16Gi", "podTemplate": {"spec": {"containers": [main]}}}
