"""A shell script that runs one process: that of ``process=`` or the first one, or the one whose id is its argument."""

from __future__ import annotations

from site_builder.shell import quote
from site_builder.views import ProcessView, View


def render(view: View) -> str:
    """The script, for ``bash``. Placeholders are read from the environment; a missing one stops it with a sentence."""
    lines = ["#!/usr/bin/env bash", f"# {view.id}: {view.summary}", "set -euo pipefail", ""]
    processes = [process for process in view.processes if not view.process or process.id == view.process]
    set_here = {name for process in processes for name, value in process.command["env"].items() if value != f"${name}"}
    for entry in view.placeholders_of([process.command for process in processes]):
        if entry.name not in set_here and entry.name != "~":
            missing = ":=" if entry.name.endswith("DEVICE_NAME") else f":?{entry.description or 'must be set'}"
            lines.append(f': "${{{entry.name}{missing}}}"')
    if view.process:
        return "\n".join([*lines, "", *_body(processes[0])]) + "\n"
    lines += ["", f'case "${{1:-{processes[0].id}}}" in']
    for process in processes:
        lines += [f"{process.id})", *_body(process), "  ;;"]
    known = ", ".join(process.id for process in processes)
    lines += ["*)", f'  echo "unknown process $1; known are {known}" >&2', "  exit 2", "  ;;", "esac"]
    return "\n".join(lines) + "\n"


def _body(process: ProcessView) -> list[str]:
    lines = []
    for file in process.command["files"]:
        lines += [
            f'cat > "{file["path"]}" <<END_OF_FILE',
            *file["text"].splitlines(),
            "END_OF_FILE",
        ]
    exports = [f"export {name}={quote(value)}" for name, value in process.command["env"].items()]
    command = process.text if process.command["text"] is not None else f"exec {process.text}"
    return lines + exports + command.splitlines()
