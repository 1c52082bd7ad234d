"""Example requests that fit what is served: a person pastes one and sees that the server works."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from site_builder.compiler.benchmark import benchmark_command
from site_builder.schema.recipe import Omni, OmniTask

if TYPE_CHECKING:
    from site_builder.views import View


@dataclass(frozen=True)
class RequestView:
    """One example: what it shows, the endpoint that it asks, and the command."""

    title: str
    endpoint: str
    text: str


@dataclass(frozen=True)
class KnownTask:
    """A task of omni recipes that the format knows by its id."""

    label: str
    endpoint: str
    prompt: str


_VIDEO, _IMAGE = "/v1/videos/sync", "https://picsum.photos/id/237/512/512"
TASKS = {
    "t2i": KnownTask("Text to image", "/v1/images/generations", "A lighthouse above a stormy sea, oil on canvas"),
    "i2i": KnownTask("Image to image", "/v1/chat/completions", "Make it a winter evening"),
    "t2v": KnownTask("Text to video", _VIDEO, "A paper boat drifts down a gutter in the rain"),
    "i2v": KnownTask("Image to video", _VIDEO, "The dog looks up and wags its tail"),
    "ti2v": KnownTask("Text and image to video", _VIDEO, "The dog looks up and wags its tail"),
    "t2a": KnownTask("Text to audio", "/v1/audio/generate", "Rain on a tin roof, thunder far away"),
}
_PICTURE = {"type": "image_url", "image_url": {"url": _IMAGE}}


def requests_of(view: View, address: str = "", model: str = "") -> Iterator[RequestView]:
    """The examples for a view, the plainest first; ``address`` and ``model`` stand in for those of the view."""
    address, model = address or _address(view), model or served_name(view)
    tasks = view.recipe.file.meta.tasks
    if view.recipe.file.omni:
        yield _omni(view, address, model)
    elif "embedding" in tasks:
        yield _post("Embed", address, "/v1/embeddings", {"model": model, "input": "A sentence to embed."})
        texts = ["Paris is the capital of France.", "Bread needs flour."]
        ranked = {"model": model, "query": "What is the capital of France?", "documents": texts}
        yield _post("Rerank (models with a score head)", address, "/v1/rerank", ranked)
        yield _post("Classify (models with a class head)", address, "/classify", {"model": model, "input": texts})
    else:
        yield _post("Chat", address, "/v1/chat/completions", _chat(model, "Say hello in one sentence."))
        if "multimodal" in tasks and view.selection.get("feature.text_only") != "on":
            content = [_PICTURE, {"type": "text", "text": "What is in this picture?"}]
            yield _post("Chat with an image", address, "/v1/chat/completions", _chat(model, content))
        yield RequestView("Benchmark", "/v1/completions", benchmark_command(address, model))


def served_name(view: View) -> str:
    """The name under which the server knows the model: its own name for it, else the checkpoint."""
    for command in view.commands:
        for line in command["lines"][1:]:
            if line[0] == view.plan["served_name"] and len(line) > 1:
                return line[1]
    return str(view.facts["model"])


def _address(view: View) -> str:
    """Where requests go: the router where there is one, else the process that serves."""
    if any(command["role"] == "router" for command in view.commands):
        return "http://$ROUTER_HOST:$ROUTER_PORT"
    server = next(command for command in view.commands if command["role"] in ("serve", "head"))
    host = "localhost" if view.nodes == 1 else "$HEAD_IP"
    return f"http://{host}:{server['port']}"


def _chat(model: str, content: object) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": content}], "max_tokens": 256}


def _post(title: str, address: str, endpoint: str, body: dict[str, Any]) -> RequestView:
    text = json.dumps(body, indent=2, ensure_ascii=False).replace("'", "'\\''")
    command = f"curl {address}{endpoint} \\\n  -H 'Content-Type: application/json' \\\n  -d '{text}'"
    return RequestView(title, endpoint, command)


def _omni(view: View, address: str, model: str) -> RequestView:
    """The task's own example, else one for the kind of task."""
    task = _task(view)
    known = TASKS.get(task.id, KnownTask(task.label or task.id, "/v1/chat/completions", "Show what you can do"))
    override = task.hardware_overrides.get(view.selection["hardware"])
    label = (override and override.label) or task.label or known.label
    endpoint = (override and override.endpoint) or task.endpoint or known.endpoint
    curl = (override and override.curl) or task.curl
    if curl:
        return RequestView(label, endpoint, curl.rstrip("\n"))
    return _post(label, address, endpoint, _omni_body(task.id, endpoint, model, known.prompt))


def _omni_body(task: str, endpoint: str, model: str, prompt: str) -> dict[str, Any]:
    if endpoint.endswith("/chat/completions"):
        return _chat(model, [_PICTURE, {"type": "text", "text": prompt}])
    body: dict[str, Any] = {"model": model, "prompt": prompt}
    if task == "t2i":
        body["size"] = "1024x1024"
    if task in ("i2v", "ti2v"):
        body["image"] = _IMAGE
    return body


def _task(view: View) -> OmniTask:
    omni = view.recipe.file.omni or Omni()
    return next(task for task in omni.all_tasks if task.name == view.selection["task"])
