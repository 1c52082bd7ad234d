"""A view as markdown for a reader that pastes commands: a language model, or a person in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from site_builder.evidence import evidence_text
from site_builder.fit import lines_of
from site_builder.plan import Adjustment
from site_builder.render.as_json import prepared_strategies
from site_builder.render.guide import moved_down
from site_builder.urls import Addresses
from site_builder.views import ProcessView, View


def render(view: View, addresses: Addresses) -> str:
    """The markdown text of a view, ending in a newline."""
    return "\n".join(_lines(view, addresses)).rstrip("\n") + "\n"


def _lines(view: View, addresses: Addresses) -> Iterator[str]:
    meta = view.recipe.file.meta
    yield f"# {view.derived_from or view.id} — vLLM serving recipe\n"
    if meta.description:
        yield "> " + " ".join(meta.description.split()) + "\n"
    yield _configuration(view) + "\n"
    for adjustment in view.adjustments:
        yield "- " + adjustment_text(adjustment)
    if view.adjustments:
        yield ""
    yield f"- Page with the command builder: {addresses.full(view.id, view.query)}"
    yield f"- This configuration as JSON: {addresses.form(view.id, 'json', view.query, view.file)}\n"
    yield "The commands below are for exactly this configuration; they outrank any command in the guide.\n"
    yield from _others(view, addresses)
    yield from _install(view)
    yield from _serve(view)
    yield from _requests(view)
    yield from _fit(view)
    if view.recipe.file.guide.strip():
        yield "## Guide\n"
        yield "> Background. Its commands are examples and may be for another configuration; take those under Serve.\n"
        yield moved_down(view.recipe.file.guide, 2)


def adjustment_text(adjustment: Adjustment) -> str:
    """What was asked, what is used, and why, as one line."""
    instead = f"using `{adjustment['used']}`" if adjustment["used"] else "ignored"
    return f"Asked for `{adjustment['parameter']}={adjustment['requested']}`, {instead}: {adjustment['reason']}."


def _configuration(view: View) -> str:
    hardware = view.hardware
    parts = [f"hardware `{view.selection['hardware']}` ({hardware.gpu_count}× {hardware.display_name})"]
    if view.strategy:
        parts.append(f"strategy `{view.selection['strategy']}` ({view.strategy.display_name})")
    parts.append(f"variant `{view.selection['variant']}` ({view.precision})")
    named = view.configuration
    if "strategy" in named:
        parts.append("features " + (", ".join(f"`{name}`" for name in named["features"]) or "none"))
    for parameter in (
        "task",
        "nodes",
        "fmode",
        "prefill_mode",
        "prefill_nodes",
        "decode_mode",
        "decode_nodes",
        "kv_offload",
        "kv_instances",
        "advanced",
        "cuda",
    ):
        value = named.get(parameter)
        asked = f"&{parameter}=" in f"&{view.query}" or parameter in ("task", "fmode")
        if value and (asked or (parameter == "nodes" and value > 1)):
            parts.append(f"{parameter} {_spelled(value)}")
    return "Configuration: " + " · ".join(parts)


def _spelled(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"`{key}:{mode}`" for key, mode in value.items())
    if isinstance(value, list):
        return ", ".join(f"`{entry}`" for entry in value)
    return f"`{value}`"


def _others(view: View, addresses: Addresses) -> Iterator[str]:
    yield "## Other configurations\n"
    offered = view.on_offer
    if addresses.prepared:
        yield "Each of these addresses holds one prepared configuration:\n"
        for name in offered["hardware"]:
            yield f"- hardware `{name}`: {addresses.by_hardware(view.id, name, 'md')}"
        strategies, on = prepared_strategies(view, addresses)
        for name in strategies:
            yield f"- strategy `{name}`: {addresses.by_strategy(view.id, name, 'md', on)}"
        yield ""
        return
    yield (
        "Ask this address again with other values in its query string; the page takes the same ones. A value that does"
        " not exist or does not fit is replaced by a default, and a line above says so.\n"
    )
    for parameter, values in offered.items():
        if parameter in ("install", "prefill_rank", "decode_rank", "kv_instance"):
            continue
        yield f"- `{parameter}`: {_values(view, parameter, values)}"
    yield ""


def _values(view: View, parameter: str, values: object) -> str:
    if isinstance(values, dict):
        pairs = [f"`{key}:{mode}`" for key, modes in values.items() for mode in modes]
        return f"comma-separated list of {', '.join(pairs)}"
    names = [str(value) for value in values] if isinstance(values, list) else []
    if names and all(name.isdigit() for name in names) and len(names) > 2:
        return f"`{names[0]}` to `{names[-1]}`"
    listed = ", ".join(f"`{name}`" for name in names)
    if parameter == "features":
        default = ", ".join(f"`{name}`" for name in view.default_features) or "none"
        return f"comma-separated list of {listed} (default: {default})"
    if parameter == "advanced":
        return f"comma-separated list of {listed} (default: none)"
    if parameter == "strategy" and any(view.is_multi_node(name) for name in names):
        return f"{listed} (multi-node strategies also need `nodes=<n>`)"
    return listed


def _install(view: View) -> Iterator[str]:
    yield "## Install\n"
    version = view.facts.get("min_vllm_version")
    if version:
        yield f"Requires vLLM >= {version}.\n"
    for note in (view.pip_note, view.docker_note):
        if note:
            yield " ".join(note.split()) + "\n"
    if view.facts.get("pip"):
        yield _block(str(view.facts["pip"]))
    image = view.facts.get("image")
    if image and not view.docker_hidden:
        yield f"Docker image: `{image}`\n"
    for entry in view.dependencies:
        optional = "Optional" if entry.optional else "Also needed"
        yield f"{optional}{f' ({entry.note})' if entry.note else ''}:\n"
        yield _block(entry.command.strip())


def _serve(view: View) -> Iterator[str]:
    yield "## Serve\n"
    several = len(view.processes) > 1
    for number, process in enumerate(view.processes, start=1):
        if several:
            yield f"### {number}. {process.title}\n"
        yield from _process(process)
    if view.placeholders:
        yield "Fill in before you run this:\n"
        for entry in view.placeholders:
            name = entry.name if entry.name == "~" else f"${entry.name}"
            yield f"- `{name}`" + (f": {entry.description}" if entry.description else "")
        yield ""


def _process(process: ProcessView) -> Iterator[str]:
    for file in process.command["files"]:
        yield f"Write this to `{file['path']}` first:\n"
        yield _block(file["text"], "json")
    yield _block(f"{process.exports}\n\n{process.text}" if process.exports else process.text)
    if process.docker:
        yield "Docker equivalent:\n"
        yield _block(process.docker)


def _requests(view: View) -> Iterator[str]:
    yield "## Try it\n"
    for entry in view.requests:
        yield f"{entry.title}:\n"
        yield _block(entry.text)


def _fit(view: View) -> Iterator[str]:
    yield "## Fit\n"
    if view.floor_gb:
        verdict = "enough to load the weights; the context you can hold depends on what is left"
        if view.floor_gb > view.available_gb:
            verdict = "not enough"
        yield (
            f"The published floor of this variant is {view.floor_gb} GB across the replica;"
            f" {view.where} has {view.available_gb} GB: {verdict}.\n"
        )
    else:
        yield "No memory floor is published for this variant.\n"
    yield "\n".join(lines_of(view.fit, view.hardware.display_name)) + "\n"
    yield "## Evidence\n"
    yield evidence_text(view.recipe.file, view.selection["hardware"], view.hardware.display_name) + "\n"


def _block(text: str, language: str = "bash") -> str:
    """A fenced block whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}\n"
