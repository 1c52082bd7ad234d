"""What the flags of a command become for other programs that start vLLM: its configuration file, and Dynamo."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from site_builder.compiler.grammar import Grammar

Line = Sequence[str]
Value = bool | int | float | str | list[str] | dict[str, object]

#: Flags of vLLM's own HTTP server, which Dynamo's front end replaces: they change nothing of an answer.
_SERVER_ONLY = {
    "--api-server-count",
    "--disable-fastapi-docs",
    "--disable-uvicorn-access-log",
    "--enable-auto-tool-choice",
    "--enable-force-include-usage",
    "--enable-log-outputs",
    "--enable-log-requests",
    "--enable-prompt-tokens-details",
    "--enable-server-load-tracking",
    "--host",
    "--port",
    "--uvicorn-log-level",
}
#: Flags that say which node this is: Dynamo's operator adds its own.
_PLACE = {
    "--data-parallel-address",
    "--data-parallel-external-lb",
    "--data-parallel-hybrid-lb",
    "--data-parallel-rpc-port",
    "--data-parallel-size-local",
    "--data-parallel-start-rank",
    "--headless",
    "--master-addr",
    "--master-port",
    "--nnodes",
    "--node-rank",
}
#: Flags of the server that Dynamo knows under a name of its own.
_DYNAMO_NAMES = {
    "--tool-call-parser": "--dyn-tool-call-parser",
    "--reasoning-parser": "--dyn-reasoning-parser",
    "--chat-template": "--custom-jinja-template",
}
#: Flags of the server that change answers and that Dynamo has no word for.
_NOT_IN_DYNAMO = (
    "--api-key",
    "--chat-template-content-format",
    "--default-chat-template-kwargs",
    "--lora-modules",
    "--middleware",
    "--omni",
    "--reasoning-parser-plugin",
    "--response-role",
    "--root-path",
    "--ssl-ca-certs",
    "--ssl-certfile",
    "--ssl-keyfile",
    "--tool-parser-plugin",
    "--tool-server",
)


def config_entries(lines: Sequence[Line], grammar: Grammar) -> dict[str, Value]:
    """Flags with their values as the keys of ``vllm serve --config``; a flag that stands alone is ``true``.

    vLLM writes the entries back as flags: a list as several values, a map as JSON. Raises ValueError, with the flag,
    where a flag stands twice and the file could hold it once only.
    """
    entries: dict[str, Value] = {}
    for line in lines:
        name, values = _named(line, grammar)
        value = _value(values, name, grammar)
        known = entries.get(name)
        if known is not None:
            if not (isinstance(known, list) and isinstance(value, list)):
                raise ValueError(f"--{name}")
            value = [*known, *value]
        entries[name] = value
    return entries


def _named(line: Line, grammar: Grammar) -> tuple[str, list[str]]:
    """The key of a line, spelled out where it is short (``-tp``, ``-O3``), and the values."""
    word, values = line[0], list(line[1:])
    name, equals, value = word.partition("=")
    if equals:
        values.insert(0, value)
    if not name.startswith("--"):
        flag, dotted = grammar.find(name), name.partition(".")[2]
        if flag is not None:
            name = f"{flag.name}.{dotted}" if dotted else flag.name
        elif name[:2] == "-O" and name[2:].isdigit():
            name, values = str(grammar.key(name)), [name[2:]]
    return name.lstrip("-"), values


def _value(values: Sequence[str], name: str, grammar: Grammar) -> Value:
    flag = grammar.find(f"--{name}")
    if not values:
        return True
    if len(values) > 1 or (flag is not None and (flag.takes == "many" or flag.append)):
        return list(values)
    value = typed(values[0])
    # vLLM writes a value back as text: --revision 1.10 must not become 1.1. Only of a number it counts as the same.
    same = isinstance(value, dict) or str(value) == values[0] or (flag is not None and flag.kind in ("int", "float"))
    return value if same else values[0]


def typed(text: str) -> int | float | str | dict[str, object]:
    """A value as YAML should hold it: a number or a map of JSON as what it is, all else as text.

    Words such as ``true`` stay text: as a truth value they would become a flag without value.
    """
    try:
        value = json.loads(text, parse_constant=str)
    except ValueError:
        return text
    if isinstance(value, dict) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return text


def dynamo_words(lines: Sequence[Line], role: str, grammar: Grammar) -> tuple[list[str], list[str]]:
    """The words of ``python3 -m dynamo.vllm`` for a ``vllm serve`` command, and the flags that it does not take.

    ``role`` is worker, prefill or decode. Raises ValueError, with the flag, for one that changes answers and cannot be
    said to Dynamo.
    """
    words = ["--model", lines[0][-1], *([] if role == "worker" else ["--disaggregation-mode", role])]
    left: list[str] = []
    for line in lines[1:]:
        flag = grammar.find(line[0])
        name = flag.name if flag else line[0].partition("=")[0]
        if name in _NOT_IN_DYNAMO:
            raise ValueError(name)
        if name in _SERVER_ONLY:
            left.append(line[0])
        elif name in _DYNAMO_NAMES:
            words += [_DYNAMO_NAMES[name], line[0].partition("=")[2] or line[-1]]
        elif name not in _PLACE:
            words += line
    return words, left


def gpu_resource(kind: str) -> str | None:
    """What a kind of hardware (``compiler.images.kind_of``) is called in Kubernetes' limits; None where unknown."""
    return _RESOURCES.get(kind)


_RESOURCES: Mapping[str, str] = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "cpu": ""}
