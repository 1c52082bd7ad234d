"""What the words of a command mean: settings that can be compared, however they were spelled.

``--max-model-len 16k`` and ``--max_model_len=16000`` are one setting; so are ``-cc.mode 3`` and
``--compilation-config '{"mode": 3}'``. The rules are those of ``docs/flag-tables.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from site_builder.compiler.grammar import Flag, Grammar
from site_builder.plan import Command

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?")
_HUMAN = re.compile(r"(\d{1,30}(?:\.\d{1,30})?)([kKmMgGtT])")
_LEVEL = re.compile(r"-O(\d?)")
#: ``k`` is a thousand and ``K`` is 1024, as vLLM's ``human_readable_int`` has it.
_SUFFIXES = {letter: (1000**power, 1024**power) for power, letter in enumerate("kmgt", start=1)}
_MODULE = re.compile(r"vllm(_omni)?(\.[\w.]+)?")
#: More levels of a dotted option, and more brackets in a JSON value, than any real one has.
_DEEPEST, _BRACKETS = 9, 500
_PROGRAMS = ("vllm", "vllm-omni")


@dataclass(frozen=True)
class Setting:
    """One flag and what it is set to.

    ``meaning`` is the value as canonical JSON text: equal meanings are equal settings. ``words`` are as they were
    written, ``strays`` those of them that the flag does not take, and ``origin`` says where they come from.
    """

    flag: str
    meaning: str
    words: tuple[str, ...]
    strays: tuple[str, ...] = ()
    origin: str = ""

    @property
    def value(self) -> str:
        """The value as a person reads it; empty for a flag that is on without one."""
        value = json.loads(self.meaning)
        if value is True:
            return ""
        if isinstance(value, list):
            return " ".join(part if isinstance(part, str) else json.dumps(part) for part in value)
        return value if isinstance(value, str) else self.meaning


@dataclass(frozen=True)
class Reading:
    """One use of a flag, before several uses of one JSON option are folded into one setting."""

    flag: str
    path: tuple[str, ...]
    value: Any
    words: tuple[str, ...]
    strays: tuple[str, ...]
    adds: bool


@dataclass(frozen=True)
class Reader:
    """Reads flags by a grammar; a flag in the same words is read once."""

    grammar: Grammar
    known: dict[tuple[str, ...], Reading] = field(default_factory=dict)

    def settings(self, lines: Sequence[Sequence[str]], origins: Sequence[str] = ()) -> dict[str, Setting]:
        """The settings of a command, by flag, from its flags with their values; ``origins`` has one for each line."""
        found: dict[str, tuple[Any, Setting]] = {}
        dotted: set[str] = set()
        for number, line in enumerate(lines):
            reading = self._read(tuple(line))
            flag, value = reading.flag, reading.value
            setting = Setting(flag, "", reading.words, reading.strays, origins[number] if origins else "")
            before = found.get(flag)
            if reading.path:
                together = before if flag in dotted else None
                dotted.add(flag)
                value = _placed(together[0] if together else {}, reading)
                setting = _joined(together[1], setting) if together else setting
            elif flag in dotted:
                continue  # vLLM puts the dotted fields last: the whole JSON of the same option is lost
            elif reading.adds and before:
                value, setting = [*_list(before[0]), value], _joined(before[1], setting)
            found.pop(flag, None)
            found[flag] = (value, setting)
        return {flag: replace(setting, meaning=canonical(value)) for flag, (value, setting) in found.items()}

    def of_command(self, command: Command) -> dict[str, Setting]:
        """The settings of a command of ours, with the origin of each."""
        return self.settings(command["lines"][1:], [entry["origin"] for entry in command["because"]])

    def _read(self, line: tuple[str, ...]) -> Reading:
        reading = self.known.get(line)
        if reading is None:
            reading = self.known[line] = self._meaning(line)
        return reading

    def _meaning(self, line: tuple[str, ...]) -> Reading:
        word, *values = line
        level = _LEVEL.fullmatch(word)
        if level:
            word, values = self.grammar.key(word) or word, [*filter(None, [level[1]]), *values]
        name, equals, given = word.partition("=")
        if equals:
            values = [given, *values]
        flag, dotted = self.grammar.find(word), name.partition(".")[2]
        if dotted and (flag is None or flag.takes == "json"):
            base = flag.name if flag else (self.grammar.key(name.partition(".")[0]) or name)
            adds = dotted.endswith("+")
            path = tuple(dotted.removesuffix("+").split(".", _DEEPEST))
            return Reading(base, path, _json(values[0]) if values else True, line, tuple(values[1:]), adds)
        if flag is None:
            value = True if not values else loose(values[0]) if len(values) == 1 else [loose(text) for text in values]
            negated = self.grammar.negates(word) and not values
            return Reading(self.grammar.key(word) or word, (), False if negated else value, line, (), True)
        value, strays = _value(flag, values)
        if self.grammar.negates(word):
            value = not value if isinstance(value, bool) else value
        return Reading(flag.name, (), value, line, tuple(strays), flag.append)


def variables_of(command: Command) -> dict[str, tuple[str, str]]:
    """The variables of a command of ours: value and origin, by name."""
    origins = {entry["flag"]: entry["origin"] for entry in command["because"][len(command["lines"]) - 1 :]}
    return {name: (value, origins.get(name, "")) for name, value in command["env"].items()}


def canonical(value: Any) -> str:
    """A value as JSON text that is the same for equal values: keys in order, ``1.0`` as ``1``."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def loose(text: str) -> Any:
    """A value of no known type: a number or JSON where it looks like it, else text."""
    if _NUMBER.fullmatch(text):
        return float(text) if re.search(r"[.eE]", text) else int(text)
    return _json(text) if text.startswith(("{", "[")) else text


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _json(text: str) -> Any:
    """JSON, or the text as it is; Python's spelling of truth is what dotted options are often given."""
    if text.count("{") + text.count("[") > _BRACKETS:
        return text
    try:
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(text, text))
    except ValueError:
        return text


def _value(flag: Flag, values: Sequence[str]) -> tuple[Any, Sequence[str]]:
    """What a known flag is set to, and the words after it that it does not take."""
    if flag.takes == "none":
        truth = {"true": True, "false": False}.get(values[0].lower()) if values else None
        return (True, values) if truth is None else (truth, values[1:])
    if flag.takes == "many":
        return [loose(text) if flag.kind in ("int", "float") else text for text in values], ()
    if not values:
        return True, ()
    if flag.takes == "json":
        return _json(values[0]), values[1:]
    human = _HUMAN.fullmatch(values[0]) if flag.kind.startswith("int_human") else None
    if human:
        factor = _SUFFIXES[human[2].lower()][human[2].isupper()]
        return float(human[1]) * factor, values[1:]
    return values[0] if flag.kind == "str" or flag.takes == "choices" else loose(values[0]), values[1:]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _placed(value: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """A JSON option with one more field, which may lie in others."""
    name, *rest = reading.path
    inner = value.get(name)
    if rest:
        below = inner if isinstance(inner, dict) else {}
        return {**value, name: _placed(below, replace(reading, path=tuple(rest)))}
    if reading.adds:
        return {**value, name: [*([] if inner is None else _list(inner)), reading.value]}
    return {**value, name: reading.value}


def _joined(before: Setting, setting: Setting) -> Setting:
    origins = dict.fromkeys(origin for origin in (before.origin, setting.origin) if origin)
    words, strays = (*before.words, *setting.words), (*before.strays, *setting.strays)
    return replace(before, words=words, strays=strays, origin="; ".join(origins))


@dataclass(frozen=True)
class Server:
    """A server as a command starts it: the model that it names (empty: none), and its flags with their values."""

    model: str
    lines: tuple[tuple[str, ...], ...]
    strays: tuple[str, ...] = ()


def server_words(words: Sequence[str]) -> list[str] | None:
    """The words after ``vllm serve`` or vLLM's server module, whatever starts it; None where no server is started."""
    for number, word in enumerate(words):
        rest = list(words[number + 1 :])
        if word.rsplit("/", 1)[-1] in _PROGRAMS and rest[:1] == ["serve"]:
            return rest[1:]
        if word == "-m" and rest and _MODULE.fullmatch(rest[0]) and number:
            return rest[2:] if rest[1:2] == ["serve"] else rest[1:]
    return None


def read_server(words: Sequence[str], reader: Reader) -> Server:
    """The model and the flags of a server's words. The model stands alone, or is given by its flag."""
    model, strays, lines = "", [], []
    for group in reader.grammar.split(words):
        if not group[0].startswith("-"):
            strays += group
            continue
        (setting,) = reader.settings([group]).values()
        if setting.flag == "--model":
            model = model or setting.value
        else:
            kept = group[: len(group) - len(setting.strays)]
            lines.append(tuple(kept))
        strays += setting.strays
    if strays and not model:
        model, *strays = strays
    return Server(model, tuple(lines), tuple(strays))


def rank_of(settings: dict[str, Setting]) -> int:
    """The number of the node that a command is for, as far as its flags say; 0 for the first."""
    rank = _number(settings, "--node-rank")
    if rank is None:
        start, local = _number(settings, "--data-parallel-start-rank"), _number(settings, "--data-parallel-size-local")
        rank = start // max(local or 1, 1) if start is not None else 0
    return max(rank, 0)


def nodes_of(settings: dict[str, Setting]) -> int | None:
    """How many nodes a command is for, as far as its flags say."""
    nodes = _number(settings, "--nnodes")
    size, local = _number(settings, "--data-parallel-size"), _number(settings, "--data-parallel-size-local")
    return size // local if nodes is None and size and local else nodes


def _number(settings: dict[str, Setting], flag: str) -> int | None:
    meaning = settings[flag].meaning if flag in settings else ""
    return int(meaning) if meaning.isascii() and meaning.isdigit() and len(meaning) < 10 else None


def needs_file(settings: dict[str, Setting]) -> Iterator[str]:
    """Files that hold more flags than the command shows."""
    if "--config" in settings:
        yield settings["--config"].value
