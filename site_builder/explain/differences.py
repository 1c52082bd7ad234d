"""What a pasted server and one of ours have different, flag by flag and variable by variable."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from site_builder.compiler.grammar import FOREIGN_VARIABLES, Grammar
from site_builder.compiler.reading import Setting, canonical, loose
from site_builder.errors import closest
from site_builder.explain.pasted import SECRETS

_VARIABLE = re.compile(r"\\?\$\\?\{?[A-Za-z_][A-Za-z0-9_]*\\?\}?")
#: Longer values of a placeholder than any address or path.
_LONGEST = 500
#: For how many unknown names the closest known ones are looked up.
MOST_NEAR = 50


@dataclass(frozen=True)
class Difference:
    """One flag or variable that is not the same.

    ``kind`` is missing (ours only), extra (theirs only), different, unknown (theirs, and no release has it) or removed
    (theirs, and the newest release lacks it). ``value`` is theirs, ``ours`` is ours and ``origin`` where ours comes
    from. ``last`` is the newest release that has a removed one and ``since`` the first that lacks it.
    """

    kind: str
    name: str
    value: str = ""
    ours: str = ""
    origin: str = ""
    last: str = ""
    since: str = ""
    closest: tuple[str, ...] = ()


@dataclass(frozen=True)
class Releases:
    """What each release knows. ``tables`` are the flag tables, those of extensions first, then oldest first."""

    tables: Sequence[Mapping[str, Any]]
    near: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def own(self) -> list[Mapping[str, Any]]:
        return [table for table in self.tables if not table.get("extension")]

    @cached_property
    def grammars(self) -> list[tuple[str, Grammar]]:
        extensions = [table for table in self.tables if table.get("extension")]
        return [(str(table["version"]), Grammar.of([*extensions, table])) for table in self.own]

    @cached_property
    def variables(self) -> list[tuple[str, frozenset[str]]]:
        return [
            (str(table["version"]), frozenset(entry["name"] for entry in table["environment"])) for table in self.own
        ]

    def flag(self, setting: Setting) -> Difference:
        """A flag that only the pasted command has: extra, unknown or removed."""
        has = [(version, grammar.find(setting.words[0]) is not None) for version, grammar in self.grammars]
        names = [name for _, grammar in self.grammars[-1:] for name in grammar.flags if name.startswith("--")]
        return self._dated(Difference("extra", setting.flag, setting.value), has, names)

    def variable(self, name: str, value: str) -> Difference:
        """A variable that only the pasted command has. Only vLLM's own can be unknown."""
        found = Difference("extra", name, value)
        if not name.startswith("VLLM_") or name.startswith(FOREIGN_VARIABLES):
            return found
        has = [(version, name in known) for version, known in self.variables]
        return self._dated(found, has, [known for _, names in self.variables[-1:] for known in names])

    def _dated(self, found: Difference, has: Sequence[tuple[str, bool]], names: Sequence[str]) -> Difference:
        """A difference that is only theirs, by the releases that have it."""
        if not has or has[-1][1]:
            return found
        near = self._closest(found.name, names)
        last = max((number for number, (_, known) in enumerate(has) if known), default=None)
        if last is None:
            return Difference("unknown", found.name, found.value, closest=near)
        return Difference("removed", found.name, found.value, last=has[last][0], since=has[last + 1][0], closest=near)

    def _closest(self, name: str, names: Sequence[str]) -> tuple[str, ...]:
        """The known name that looks like this one, for so many names that a text of nonsense takes no time."""
        if name not in self.near and len(self.near) < MOST_NEAR:
            self.near[name] = tuple(closest(name[:100], names))
        return self.near.get(name, ())


def flag_differences(
    ours: Mapping[str, Setting], theirs: Mapping[str, Setting], releases: Releases
) -> Iterator[Difference]:
    """Every flag that is not the same, ours first and in our order."""
    for flag, setting in ours.items():
        other = theirs.get(flag)
        if other is None:
            yield Difference("missing", flag, ours=setting.value, origin=setting.origin)
        elif not same(setting.meaning, other.meaning):
            yield Difference("different", flag, _told(other), _told(setting), setting.origin)
    for flag, setting in theirs.items():
        if flag not in ours:
            yield releases.flag(setting)


def variable_differences(
    ours: Mapping[str, tuple[str, str]], theirs: Mapping[str, str], releases: Releases
) -> Iterator[Difference]:
    """Every variable that is not the same; ours are (value, origin). What a reader fills in need not be there."""
    for name, (value, origin) in ours.items():
        if name not in theirs:
            if value != f"${name}" and name not in SECRETS:
                yield Difference("missing", name, ours=value, origin=origin)
        elif not same_text(value, theirs[name]):
            yield Difference("different", name, theirs[name], value, origin)
    for name, value in theirs.items():
        if name not in ours:
            yield releases.variable(name, value)


def same(ours: str, theirs: str) -> bool:
    """Whether two meanings are one; a placeholder of ours (``$HEAD_IP``) stands for any value without spaces."""
    if ours == theirs:
        return True
    return "$" in ours and len(theirs) <= _LONGEST and _filled(ours, theirs)


def same_text(ours: str, theirs: str) -> bool:
    """Whether two values of a variable are one."""
    return ours == theirs or same(canonical(loose(ours)), canonical(loose(theirs)))


def _filled(ours: str, theirs: str) -> bool:
    """Whether ours becomes theirs when its placeholders are filled in. Number or text is all the same then."""
    text, other = _text(ours), _text(theirs)
    pattern = _VARIABLE.sub(lambda _: r"[^\s]+", re.escape(text))
    return re.fullmatch(pattern, other) is not None


def _text(meaning: str) -> str:
    value = json.loads(meaning)
    return value if isinstance(value, str) else meaning


def _told(setting: Setting) -> str:
    """A value beside another one: a flag that is on or off says so."""
    return {"true": "on", "false": "off"}.get(setting.meaning, setting.value)
