"""Example requests that fit what is served: a person pastes one and sees that the server works."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from site_builder.compiler.benchmark import benchmark_command
from site_builder.evaluate import word
from site_builder.plan import Token
from site_builder.schema.recipe import OmniTask, RecipeFile
from site_builder.shell import quote

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
#: Where a configuration puts its own: the address, and the name of the model inside a body and as a word of a shell.
ADDRESS, MODEL, WORD = "⟦address⟧", "⟦model⟧", "⟦word⟧"
_PICTURE = {"type": "image_url", "image_url": {"url": _IMAGE}}


@dataclass(frozen=True)
class Example:
    """An example before a configuration fills in the address and the name of the model.

    ``unless`` is the axis of a feature that makes the example useless.
    """

    title: str
    endpoint: str
    text: Token
    unless: str = ""


def examples_of(view: View, task: str, hardware: str) -> Sequence[Example]:
    """The examples for a task of an omni recipe on a hardware; of other recipes, the same for all. Plainest first."""
    key = ("examples", view.id, task, hardware if view.recipe.file.omni else "")
    return view.collection.once(key, lambda: list(_examples(view.recipe.file, task, hardware)))


def _examples(file: RecipeFile, task: str, hardware: str) -> Iterator[Example]:
    if file.omni:
        yield _omni(next(entry for entry in file.omni.all_tasks if entry.name == task), hardware)
    elif "embedding" in file.meta.tasks:
        yield _post("Embed", "/v1/embeddings", {"model": MODEL, "input": "A sentence to embed."})
        texts = ["Paris is the capital of France.", "Bread needs flour."]
        ranked = {"model": MODEL, "query": "What is the capital of France?", "documents": texts}
        yield _post("Rerank (models with a score head)", "/v1/rerank", ranked)
        yield _post("Classify (models with a class head)", "/classify", {"model": MODEL, "input": texts})
    else:
        yield _post("Chat", "/v1/chat/completions", _chat("Say hello in one sentence."))
        if "multimodal" in file.meta.tasks:
            content = [_PICTURE, {"type": "text", "text": "What is in this picture?"}]
            picture = _post("Chat with an image", "/v1/chat/completions", _chat(content))
            yield replace(picture, unless="feature.text_only")
        yield Example("Benchmark", "/v1/completions", _token(benchmark_command(ADDRESS, WORD)))


def requests_of(view: View) -> Iterator[RequestView]:
    """The examples for a view, with its address and the name of its model. Twin: ``static/js/view.js``."""
    model = served_name(view)
    inside = json.dumps(model, ensure_ascii=False)[1:-1].replace("'", "'\\''")
    facts = {"address": _address(view), "model": inside, "word": quote(model)}
    for example in examples_of(view, view.selection.get("task", ""), view.selection["hardware"]):
        if view.selection.get(example.unless) != "on":
            yield RequestView(example.title, example.endpoint, word(example.text, {}, facts))


def _token(text: str) -> Token:
    """A text with marks as the parts that are joined when they are known."""
    pieces = re.split(r"⟦(\w+)⟧", text)
    return [{"fact": piece} if position % 2 else piece for position, piece in enumerate(pieces)]


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


def _chat(content: object) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "user", "content": content}], "max_tokens": 256}


def _post(title: str, endpoint: str, body: dict[str, Any]) -> Example:
    text = json.dumps(body, indent=2, ensure_ascii=False).replace("'", "'\\''")
    command = f"curl {ADDRESS}{endpoint} \\\n  -H 'Content-Type: application/json' \\\n  -d '{text}'"
    return Example(title, endpoint, _token(command))


def _omni(task: OmniTask, hardware: str) -> Example:
    """The task's own example, else one for the kind of task."""
    known = TASKS.get(task.id, KnownTask(task.label or task.id, "/v1/chat/completions", "Show what you can do"))
    override = task.hardware_overrides.get(hardware)
    label = (override and override.label) or task.label or known.label
    endpoint = (override and override.endpoint) or task.endpoint or known.endpoint
    curl = (override and override.curl) or task.curl
    if curl:
        return Example(label, endpoint, curl.rstrip("\n"))
    return _post(label, endpoint, _omni_body(task.id, endpoint, known.prompt))


def _omni_body(task: str, endpoint: str, prompt: str) -> dict[str, Any]:
    if endpoint.endswith("/chat/completions"):
        return _chat([_PICTURE, {"type": "text", "text": prompt}])
    body: dict[str, Any] = {"model": MODEL, "prompt": prompt}
    if task == "t2i":
        body["size"] = "1024x1024"
    if task in ("i2v", "ti2v"):
        body["image"] = _IMAGE
    return body
