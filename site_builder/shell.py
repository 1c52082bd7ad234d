"""Commands as text for a shell. Twin: ``static/js/plan/shell.js``.

Running the text with every placeholder variable set to its own name gives exactly the argv.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from site_builder.plan import Command

#: Safe characters, and whole variables among them, stand bare. A leading ``~`` is left for the shell to expand.
_BARE = re.compile(r"(?:~(?=/))?(?:[A-Za-z0-9_./=:@,+%-]|\$[A-Za-z_][A-Za-z0-9_]*)+")


@lru_cache(maxsize=8192)
def quote(text: str) -> str:
    """A word as a shell must read it to get it back."""
    if _BARE.fullmatch(text):
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def shell_text(command: Command) -> str:
    """The command alone, one flag a line; content's own text is kept as written."""
    if command["text"] is not None:
        return command["text"].rstrip("\n")
    return written(command["lines"], command["indent"])


def export_text(env: Mapping[str, str]) -> str:
    """The environment as ``export`` lines. A variable that would be set to itself is left to the reader to fill."""
    return "\n".join(f"export {name}={quote(value)}" for name, value in env.items() if value != f"${name}")


def docker_lines(command: Command, facts: Mapping[str, Any]) -> list[list[str]] | None:
    """``docker run`` for a command as lines of words; None where there is no image or no known way to pass the device.

    ``facts`` are those of the selection: ``docker`` (the lines of flags that the kind of hardware needs), ``image``,
    ``entry`` (the words that the image runs by itself) and ``deploy_type``.
    """
    if command["text"] is not None or not facts.get("image") or facts.get("docker") is None:
        return None
    start, entry = command["lines"][0], facts["entry"]
    network = (
        ["--network", "host"]
        if facts["deploy_type"] != "single_node"
        else ["-p", f"{command['port']}:{command['port']}"]
    )
    lines = [["docker", "run", *facts["docker"][0]], *facts["docker"][1:]]
    lines.append(["--privileged", "--ipc=host", *network])
    lines.append(["-v", "~/.cache/huggingface:/root/.cache/huggingface"])
    lines += [["-v", f"{path}:{path}:ro"] for path in _mounts(command, str(facts["model"]))]
    lines += [["-e", "HF_TOKEN"]] if facts.get("gated") else []
    lines += [["-e", f"{name}={value}"] for name, value in command["env"].items()]
    if start[: len(entry)] == entry:
        lines.append([facts["image"], *start[len(entry) :]])
    else:
        lines += [["--entrypoint", start[0]], [facts["image"], *start[1:]]]
    return lines + command["lines"][1:]


def docker_text(command: Command, facts: Mapping[str, Any]) -> str | None:
    """``docker run`` as text, one thing a line."""
    lines = docker_lines(command, facts)
    return None if lines is None else written(lines, 2)


def _mounts(command: Command, model: str) -> list[str]:
    """Paths of this machine that the container reads: a local checkpoint, and files that a variable names."""
    local = [model] if model.startswith("/") else []
    return local + [value for name, value in command["env"].items() if name.endswith("_CONFIG_PATH")]


def written(lines: Sequence[Sequence[str]], indent: int) -> str:
    """Lines of words as one command that goes on from line to line."""
    return f" \\\n{' ' * indent}".join(" ".join(quote(word) for word in line) for line in lines)
