"""The addresses and answers of the site as an OpenAPI 3.1 document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema
from typing_extensions import is_typeddict

from site_builder import __version__
from site_builder.query import LOADS, PARAMETERS
from site_builder.render import compared_shapes, shapes
from site_builder.schema.vocabulary import KvStore, Platform, Site, Strategy, Taxonomy
from site_builder.urls import Addresses

JsonSchema = dict[str, Any]
_JSON, _HTML = "application/json", "text/html"
#: Each address of the table of pages: what it answers, and the shape of it where it is JSON.
ADDRESSES: Mapping[str, tuple[str, str]] = {
    "": ("The home page", ""),
    "browse": ("Every recipe, with filters", ""),
    "search.json": ("What search looks into, for each recipe", "Searches"),
    "sitemap.xml": ("The pages of the site, for search engines", ""),
    "robots.txt": ("What robots may read", ""),
    "feed.xml": ("The newest recipes, as Atom", ""),
    "llms.txt": ("The map of the site, for language models", ""),
    "llms-full.txt": ("Every recipe in its default configuration, for language models", ""),
    "site.webmanifest": ("The site as an application", "Any"),
    "models.json": ("Every recipe, and every variant that has a checkpoint of its own", "Entries"),
    "taxonomy.json": ("Hardware profiles, features and other words that recipes use", "Taxonomy"),
    "strategies.json": ("Every way to spread a model over GPUs and nodes", "Strategies"),
    "kv_store.json": ("Every key-value store", "KvStores"),
    "platforms.json": ("Where hardware can be rented", "Platforms"),
    "recipe.schema.json": ("JSON Schema of a recipe file", "Any"),
    "openapi.json": ("This document", "Any"),
    "strategies/{id}.json": ("One strategy", "Strategy"),
    "kv_store/{id}.json": ("One key-value store", "KvStore"),
    "{org}/{repo}/hw/{hardware}/strategies/{strategy}.json": ("A recipe on one hardware by one strategy", "Recipe"),
    "{org}/{repo}/hw/{hardware}/strategies/{strategy}.md": ("The same as markdown", ""),
    "{org}/{repo}/hw/{hardware}.json": ("A recipe on one hardware", "Recipe"),
    "{org}/{repo}/hw/{hardware}.md": ("The same as markdown", ""),
    "{org}/{repo}/strategies/{strategy}.json": ("A recipe by one strategy, with the nodes that it needs", "Recipe"),
    "{org}/{repo}/strategies/{strategy}.md": ("The same as markdown", ""),
    "{org}/{repo}.json": ("A recipe in one configuration", "Recipe"),
    "{org}/{repo}.md": ("The same as markdown", ""),
    "{org}/{repo}.sh": ("The same as a shell script", ""),
    "{org}/{repo}.config.yaml": ("The same as a file for vllm serve --config", ""),
    "{org}/{repo}.env": ("The environment of one process", ""),
    "{org}/{repo}.compose.yaml": ("One process as a compose file", ""),
    "{org}/{repo}.k8s.yaml": ("The same as Kubernetes manifests", ""),
    "{org}/{repo}.dynamo.yaml": ("The same as a graph for NVIDIA Dynamo", ""),
    "{org}/{repo}/compare.json": ("Two configurations of a recipe side by side", "Comparison"),
    "{org}/{repo}/compare.md": ("The same as markdown", ""),
    "{org}/{repo}/compare": ("The same as a page; markdown where Accept prefers it", ""),
    "{org}/{repo}/hardware.json": ("Every hardware and variant of a recipe in one table", "Across"),
    "{org}/{repo}/hardware.md": ("The same as markdown", ""),
    "{org}/{repo}/hardware": ("The same as a page; markdown where Accept prefers it", ""),
    "{org}/{repo}/facts.json": ("What holds for every configuration of a recipe", "Facts"),
    "{org}/{repo}/facts.md": ("The same as markdown", ""),
    "{org}/{repo}/facts": ("The same as a page", ""),
    "pictures/{org}/{repo}.png": ("The picture that other sites show of a recipe", ""),
    "{org}": ("One organisation's recipes", ""),
    "{org}/{repo}": ("The page of a recipe; markdown where Accept prefers it", ""),
}
MEDIA_TYPES = {
    "json": _JSON,
    "webmanifest": "application/manifest+json",
    "md": "text/markdown",
    "sh": "text/x-shellscript",
    "yaml": "application/yaml",
    "env": "text/plain",
    "txt": "text/plain",
    "png": "image/png",
}
#: The media types of exports, which can be refused.
_EXPORTED = ("text/x-shellscript", "application/yaml", "text/plain")
_XML = {"sitemap.xml": "application/xml", "feed.xml": "application/atom+xml"}
_PARTS = {
    "org": "The organisation, in any case",
    "repo": "The name of the recipe, or of the checkpoint of a variant, in any case",
    "hardware": "An id of taxonomy.json",
    "strategy": "An id of strategies.json",
    "id": "An id of the list",
}
_ABOUT = {
    "variant": "The variant of the recipe",
    "hardware": "An id of taxonomy.json",
    "nodes": "How many nodes",
    "strategy": "An id of strategies.json",
    "prefill_nodes": "Nodes of the prefill pool",
    "decode_nodes": "Nodes of the decode pool",
    "prefill_mode": "How the prefill pool is spread: tp, tep or dep",
    "decode_mode": "How the decode pool is spread: tp, tep or dep",
    "prefill_rank": "The node of the prefill pool that is shown first, from 0",
    "decode_rank": "The node of the decode pool that is shown first, from 0",
    "features": "Exactly these are on, separated by commas; none or empty: none of them; absent: the default",
    "fmode": "Modes of features, as feature:mode separated by commas",
    "kv_offload": "Where the key-value cache is offloaded to",
    "kv_instances": "How many servers stand around a key-value store",
    "kv_instance": "The server that is shown first, from 0",
    "advanced": "Advanced options that are on, separated by commas",
    "task": "The task of an omni recipe",
    "install": "What the page shows: pip or docker",
    "cuda": "cu129 or cu130, where an image has both",
}
_FILTERS = ("q", "task", "arch", "size", "precision", "hardware", "provider", "sort")


def document(templates: Mapping[str, bool], site: Site, addresses: Addresses) -> dict[str, Any]:
    """The whole document. ``templates`` are the addresses of the site, true for those that show a recipe.

    Raises KeyError for an address that is not described here.
    """
    about: dict[str, Any] = {"title": site.title, "summary": site.tagline, "version": __version__}
    return {
        "openapi": "3.1.0",
        "info": about,
        "servers": [{"url": addresses.base_url or "/"}],
        "paths": {f"/{template}": _path(template, shown) for template, shown in templates.items()} | _SERVER,
        "components": {"schemas": _schemas(), "parameters": _parameters()},
    }


def _path(template: str, shown: bool) -> dict[str, Any]:
    summary, shape = ADDRESSES[template]
    names = re.findall(r"\{(\w+)\}", template)
    parts = [{"$ref": f"#/components/parameters/path_{name}"} for name in names]
    asked: list[dict[str, Any]] = (
        [{"$ref": f"#/components/parameters/{name}"} for name in (*PARAMETERS, *LOADS, "strict", "process")]
        if shown
        else []
    )
    if template == "browse":
        asked = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _FILTERS]
    kind = _media_type(template)
    content: dict[str, Any] = {kind: {"schema": _ref(shape) if shape else {"type": "string"}}}
    if kind == "application/yaml":
        content = {kind: {}}  # several documents in one file: no schema of one value describes them
    if template.startswith("{org}/{repo}/hardware"):
        asked = [{"$ref": f"#/components/parameters/{name}"} for name in (*LOADS, "strict")]
    if "/compare" in template:
        asked = [{"$ref": f"#/components/parameters/{name}"} for name in ("a", "b", "strict")]
    if kind == _HTML and "repo" in names:
        content["text/markdown"] = {"schema": {"type": "string"}}
    answers: dict[str, Any] = {"200": {"description": summary, "content": content}}
    if names:
        answers["404"] = _refusal(kind, "There is nothing at this address; the closest are named")
    if "org" in names:
        answers["308"] = {"description": "Another spelling of the address", "headers": {"Location": _ref_text()}}
    if shown:
        if kind in _EXPORTED:
            answers["409"] = _refusal(kind, "The tool has no way to say this configuration; the answer says what has")
        answers["422"] = _refusal(kind, "With strict=1: what was asked does not fit together")
    answers["414"] = _refusal(kind, "The query is longer than 8 KiB")
    return {"get": {"summary": summary, "parameters": [*parts, *asked], "responses": answers}}


def _media_type(template: str) -> str:
    suffix = template.rpartition(".")[2] if "." in template else ""
    return _XML.get(template) or MEDIA_TYPES.get(suffix, _HTML)


def _refusal(kind: str, description: str) -> dict[str, Any]:
    """An error has the form of what was asked for."""
    if kind in (_JSON, "application/manifest+json"):
        return {"description": description, "content": {_JSON: {"schema": _ref("Refusal")}}}
    if kind == "text/markdown":
        return {"description": description, "content": {kind: {"schema": {"type": "string"}}}}
    page = kind in (_HTML, "image/png")
    return {"description": description, "content": {_HTML if page else "text/plain": {"schema": {"type": "string"}}}}


def _ref(name: str) -> JsonSchema:
    return {"$ref": f"#/components/schemas/{name}"} if name != "Any" else {"type": "object"}


def _ref_text() -> dict[str, Any]:
    return {"schema": {"type": "string"}}


#: A pasted command, for ``/v1/explain``.
_PASTED: dict[str, Any] = {
    "required": True,
    "content": {
        "text/plain": _ref_text(),
        _JSON: {
            "schema": {
                "type": "object",
                "required": ["command"],
                "properties": {"command": {"type": "string"}, "recipe": {"type": "string"}},
            }
        },
    },
}
#: What the server answers besides the pages.
_SERVER: dict[str, Any] = {
    "/healthz": {
        "get": {
            "summary": "The state of the server",
            "responses": {"200": {"description": "It is well", "content": {_JSON: {"schema": _ref("Health")}}}},
        }
    },
    "/v1/explain": {
        "post": {
            "summary": "The recipe and configuration that a pasted command is closest to, and what is different",
            "parameters": [{"name": "recipe", "in": "query", "schema": {"type": "string"}}],
            "requestBody": _PASTED,
            "responses": {
                "200": {"description": "The closest", "content": {_JSON: {"schema": _ref("Explanation")}}},
                "400": _refusal(_JSON, "The text cannot be read as a command"),
                "404": _refusal(_JSON, "No recipe serves the model"),
                "413": _refusal(_JSON, "The text is longer than 64 KiB"),
                "415": _refusal(_JSON, "The body is neither text nor JSON"),
            },
        }
    },
    "/v1/artifacts/resolve": {
        "get": {
            "summary": "What a recipe says of a checkpoint, as a draft for a control plane; nothing is written",
            "parameters": [
                {
                    "name": "source",
                    "in": "query",
                    "required": True,
                    "description": "hf:<org>/<repo>, with @<revision> where one is meant",
                    "schema": {"type": "string"},
                }
            ],
            "responses": {
                "200": {"description": "The draft", "content": {_JSON: {"schema": _ref("Artifact")}}},
                "400": _refusal(_JSON, "The source cannot be read"),
                "404": _refusal(_JSON, "No recipe serves the checkpoint; the closest are named"),
            },
        }
    },
    "/metrics": {
        "get": {
            "summary": "What the server counts, for Prometheus",
            "responses": {"200": {"description": "Counts", "content": {"text/plain": _ref_text()}}},
        }
    },
}


def _parameters() -> dict[str, Any]:
    kinds: dict[str, JsonSchema] = {
        "number": {"type": "integer", "minimum": 1, "maximum": 16},
        "rank": {"type": "integer", "minimum": 0, "maximum": 15},
    }
    found: dict[str, Any] = {
        name: {"name": name, "in": "query", "description": _ABOUT[name], "schema": kinds.get(kind, {"type": "string"})}
        for name, kind in PARAMETERS.items()
    }
    found["strict"] = {
        "name": "strict",
        "in": "query",
        "description": "1: refuse with 422 instead of adjusting what does not fit together",
        "schema": {"type": "string", "enum": ["0", "1"]},
    }
    found["process"] = {
        "name": "process",
        "in": "query",
        "description": "The id of the process that an export is of; the first that serves where none is named",
        "schema": {"type": "string"},
    }
    about = ("Tokens of a request, for the estimate of what fits", "Requests at once, for the estimate of what fits")
    for (name, (low, high)), text in zip(LOADS.items(), about, strict=True):
        schema = {"type": "integer", "minimum": low, "maximum": high}
        found[name] = {"name": name, "in": "query", "description": text, "schema": schema}
    for side in ("a", "b"):
        found[side] = {
            "name": side,
            "in": "query",
            "description": "One side: a query string of the recipe, percent-encoded; the default where it is absent",
            "schema": {"type": "string"},
        }
    for name, description in _PARTS.items():
        found[f"path_{name}"] = {
            "name": name,
            "in": "path",
            "required": True,
            "description": description,
            "schema": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
        }
    return found


def _schemas() -> dict[str, Any]:
    """The shapes of the answers, with those of the content that they hold."""
    template = "#/components/schemas/{model}"
    named: Sequence[type] = (
        shapes.Recipe,
        shapes.Entry,
        shapes.Search,
        shapes.Health,
        shapes.Refusal,
        compared_shapes.Across,
        compared_shapes.Artifact,
        compared_shapes.Comparison,
        compared_shapes.Explanation,
        compared_shapes.Facts,
    )
    found: dict[str, Any] = {}
    for shape in named:
        schema = TypeAdapter[Any](shape).json_schema(ref_template=template)
        found |= {name: _open(part) for name, part in schema.pop("$defs", {}).items()}
        found[shape.__name__] = schema
    models = [(model, "validation") for model in (Taxonomy, Strategy, KvStore, Platform)]
    _, content = models_json_schema(models, ref_template=template)  # type: ignore[arg-type]
    found |= {name: _open(part) for name, part in content["$defs"].items()}
    found |= {
        "Entries": {"type": "array", "items": _ref("Entry")},
        "Searches": {"type": "array", "items": _ref("Search")},
        "Strategies": {"type": "object", "additionalProperties": _ref("Strategy")},
        "KvStores": {"type": "object", "additionalProperties": _ref("KvStore")},
        "Platforms": {"type": "object", "additionalProperties": _ref("Platform")},
    }
    return {name: found[name] for name in sorted(found)}


def _open(part: JsonSchema) -> JsonSchema:
    """A block of content as it is answered: keys that the format does not know are kept, with a warning of check."""
    title = part.get("title", "")
    if any(is_typeddict(getattr(module, title, None)) for module in (shapes, compared_shapes)):
        return part
    return {key: value for key, value in part.items() if key != "additionalProperties" or value is not False}
