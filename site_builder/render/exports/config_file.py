"""The file for ``vllm serve --config``, and the environment that goes with it."""

from __future__ import annotations

from site_builder.compiler.targets import config_entries
from site_builder.errors import CannotExport
from site_builder.placeholders import variables_in
from site_builder.render.exports.chosen import chosen, header, placeholder_notes
from site_builder.render.exports.yaml_text import yaml_text
from site_builder.shell import quote
from site_builder.views import View


def config(view: View) -> str:
    """The flags of one ``vllm serve`` process. Raises CannotExport for any other process."""
    process = chosen(view)
    command = process.command
    entry, start = list(view.facts["entry"]), command["lines"][0] if command["lines"] else []
    if start[: len(entry)] != entry or len(start) != len(entry) + 1:
        raise CannotExport(f"{process.id} is not started by vllm serve", f"the .sh form with process={process.id}")
    try:
        entries = config_entries(command["lines"][1:], view.collection.grammar)
    except ValueError as error:
        raise CannotExport(f"a configuration file cannot hold {error} twice", "the .sh form") from error
    notes = [f"For: {' '.join(entry)} --config FILE"]
    notes += ["Before it: set -a; . FILE.env (the .env form of this address)"] if command["env"] else []
    left = placeholder_notes(view, variables_in(" ".join(command["argv"])))
    notes += ["vLLM reads no variables here; put in their place:", *left] if left else []
    return yaml_text(header(view, *notes), {"model": start[-1], **entries})


def environment(view: View) -> str:
    """The variables of one process as ``NAME=value`` lines, for a shell, systemd and compose."""
    process = chosen(view)
    lines = [line for name, value in process.command["env"].items() for line in _variable(name, value)]
    return "\n".join([*header(view, f"Environment of {process.title}"), *lines]) + "\n"


def _variable(name: str, value: str) -> list[str]:
    """One variable; one that is left to the reader stands as a comment, so that nothing is set to a ``$``."""
    if value == f"${name}":
        return [f"# {name}="]
    return [f"{name}={quote(value)}"]
