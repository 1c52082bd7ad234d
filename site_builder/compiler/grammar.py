"""How vLLM reads a command line: which words are flags, which are their values, and which spellings are one flag.

The flag tables of ``content/vllm/`` say what a flag is called and how many values it takes; a flag that no table
knows is read by
its look. Rules: vLLM's ``FlexibleArgumentParser``, as noted in ``docs/flag-tables.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from site_builder.plan import Argument

_NUMBER = re.compile(r"-\d+(\.\d+)?([eE][+-]?\d+)?")
#: Variables of other projects that begin like vLLM's; no table has them.
FOREIGN_VARIABLES = ("VLLM_OMNI_", "VLLM_ASCEND_")
_LEVEL = re.compile(r"-O\d?")


@dataclass(frozen=True)
class Flag:
    """One flag of the table.

    ``takes`` is none, one, choices, json, many or optional; ``append``: each use adds a value; ``kind`` is the type of
    the value where the table has one: int, int_human (``16k``), float, str, json.
    """

    name: str
    takes: str
    append: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Grammar:
    """Spellings of flags (aliases and negations lead to the same flag); later tables complete earlier ones."""

    flags: Mapping[str, Flag] = field(default_factory=dict)
    negations: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tables: Sequence[Mapping[str, Any]]) -> Grammar:
        """The grammar of flag tables, oldest first: a newer table's word on a flag counts."""
        flags: dict[str, Flag] = {}
        negations: set[str] = set()
        for table in tables:
            for entry in table["flags"]:
                flag = Flag(
                    entry["flag"], entry["takes_value"], entry.get("append", False), entry.get("value_type", "")
                )
                spellings, against = (flag.name, *entry.get("aliases", ())), entry.get("negations", ())
                flags.update(dict.fromkeys((*spellings, *against), flag))
                negations = (negations - set(spellings)) | set(against)
        return cls(flags, frozenset(negations))

    def find(self, word: str) -> Flag | None:
        """The flag that a word names, without its value, dotted key or spelling."""
        base = _base(word)
        return self.flags.get(base) or (self.flags.get("--" + base[5:]) if base.startswith("--no-") else None)

    def negates(self, word: str) -> bool:
        """Whether a word switches its flag off: ``--no-enable-x``, or a negation of the table."""
        base = _base(word)
        return base in self.negations or (base.startswith("--no-") and base not in self.flags)

    def key(self, word: str) -> str | None:
        """What a later use of the same flag has in common with this one; None where both stand (it may repeat)."""
        if _LEVEL.match(word):
            return "--optimization-level"
        flag = self.find(word)
        dotted = _dotted(word)
        if dotted.endswith("+") or (flag and flag.append and not dotted):
            return None
        base = flag.name if flag else _positive(_base(word))
        return f"{base}.{dotted}" if dotted else base

    def split(self, words: Sequence[str]) -> Iterator[list[str]]:
        """The words as flags with their values, one list each. Words before the first flag stand alone."""
        group: list[str] = []
        for word in words:
            if group and (not self._starts_flag(word) or self._takes(group, word)):
                group.append(word)
            else:
                if group:
                    yield group
                group = [word]
        if group:
            yield group

    def arguments(self, words: Sequence[str]) -> list[Argument]:
        """The words as the keyed arguments of a plan."""
        arguments: list[Argument] = []
        for group in self.split(words):
            key = self.key(group[0]) if group[0].startswith("-") else None
            if key is None:
                arguments.append({"tokens": [*group]})
            else:
                arguments.append([*group] if key == group[0] else {"key": key, "tokens": [*group]})
        return arguments

    def _starts_flag(self, word: str) -> bool:
        return word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word)

    def _takes(self, group: Sequence[str], word: str) -> bool:
        """Whether a word that looks like a flag is the value of the flag before it."""
        if len(group) > 1 or "=" in group[0] or word.startswith("--"):
            return False
        if _dotted(group[0]):
            return True
        flag = self.find(group[0])
        return flag is not None and flag.takes in ("one", "choices", "json") and self.find(word) is None


def _base(word: str) -> str:
    """The name before ``=`` and the first dot, with dashes: ``--attention_config.x=1`` → ``--attention-config``."""
    base = word.split("=", 1)[0].split(".", 1)[0]
    return base.replace("_", "-") if base.startswith("--") else base


def _dotted(word: str) -> str:
    """The key after the first dot, if there is one before ``=``: ``-cc.mode=0`` → ``mode``."""
    return word.split("=", 1)[0].partition(".")[2]


def _positive(base: str) -> str:
    return "--" + base[5:] if base.startswith("--no-") else base
