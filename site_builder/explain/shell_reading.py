"""Pasted shell text as the commands that it would start. Nothing is run or expanded: ``$NAME`` stays as it is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from site_builder.errors import BadCommand

#: The pieces of shell text. What is quoted or escaped is one piece, so that no other rule looks into it. The groups
#: are possessive: a text is read in one pass, whatever it holds.
_PIECES = re.compile(
    r"""(?P<continued>\\[ \t]*+(?:\n|\Z))
      | (?P<quoted>\\.|'[^']*+'|"(?:[^"\\]++|\\.)*+")
      | (?P<open>['"])
      | (?P<comment>(?<![^\s;&|()])\#[^\n]*+)
      | (?P<substitution>\$\([^()\n]*+\)|`[^`\n]*+`)
      | (?P<unread>\$\(|`)
      | <<-?[ \t]*+['"]?(?P<tag>\w++)['"]?
      | (?P<redirect>(?:(?<!\S)\d++|&)?>>?(?:&\d|&-|\|)?[ \t]*+|<(?:&\d)?[ \t]*+)
      | (?P<end>&&|\|\|?|;|&|\n|[()])
      | (?P<other>[^\\'"\#$`<>&|;\n()\d]++|.)""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
#: Words before a command that change nothing of what it is.
_BEFORE = ("sudo", "nohup", "exec", "time", "env", "then", "do", "$", ">", "{")


@dataclass(frozen=True)
class ShellCommand:
    """One command: its words without quotes, and the environment that the text gives it."""

    words: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)


def read_shell(
    text: str, serves: Callable[[Sequence[str]], bool] = lambda _: False
) -> tuple[list[ShellCommand], list[str]]:
    """The commands of a text, in order, and notes on what was left out. Raises BadCommand.

    ``serves`` tells words that start a server. Exports after one are those of the next node: they start anew.
    """
    ended = False
    notes: dict[str, None] = {}
    exported: dict[str, str] = {}
    commands = []
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u00a0", " ").replace("\0", "")
    for piece in _pieces(plain, notes):
        own, rest = _assignments(shlex.split(piece))
        if rest[:1] == ["export"]:
            exported, ended = {} if ended else exported, False
            exported.update(_assignments(rest[1:], every=True)[0])
        elif rest[:1] == ["unset"]:
            for name in rest[1:]:
                exported.pop(name, None)
        elif rest:
            commands.append(ShellCommand(tuple(rest), {**exported, **own}))
            ended = ended or serves(rest)
        elif own:
            notes["a variable that is set without export does not reach the server; it is counted all the same"] = None
            exported.update(own)
    return commands, list(notes)


def _pieces(text: str, notes: dict[str, None]) -> Iterator[str]:
    """Each command as text that has only words and closed quotes."""
    parts: list[str] = []
    tags: list[str] = []
    now, place, skips = 1, 0, False
    while place < len(text):
        found = _PIECES.match(text, place)
        assert found is not None  # the last alternative takes any character
        kind, piece, place = str(found.lastgroup), found[0], found.end()
        if kind in ("open", "unread"):
            raise BadCommand(_refused(kind, piece, now))
        if kind == "tag":
            tags.append(found["tag"])
        elif kind == "redirect":
            notes["redirections are left out"], skips = None, "&" not in piece.lstrip("&")
        elif kind == "end":
            if piece in ("|", "&"):
                notes["a pipe or & is left out"] = None
            if "".join(parts).strip():
                yield "".join(parts)
            parts, skips = [], False
            if piece == "\n" and tags:
                after = _after(text, place, tags)
                now, place = now + text.count("\n", place, after), after
        elif kind == "continued":
            parts.append(" ")
        elif kind != "comment":
            skips = _written(kind, piece, (parts, notes, skips))
        now += piece.count("\n")
    if "".join(parts).strip():
        yield "".join(parts)


def _written(kind: str, piece: str, state: tuple[list[str], dict[str, None], bool]) -> bool:
    """Add a piece of a word; whether the target of a redirection still goes on after it."""
    parts, notes, skips = state
    if kind == "substitution" or (piece.startswith('"') and ("$(" in piece or "`" in piece)):
        notes["$(…) is not run; its text is kept as it stands"] = None
    if kind == "substitution":
        piece = shlex.quote(piece)
    elif piece.startswith('"'):
        piece = piece.replace("\\\n", "")
    if skips:
        after = re.search(r"\s", piece) if kind == "other" else None
        piece, skips = (piece[after.start() :], False) if after else ("", True)
    parts.append(piece)
    return skips


def _refused(kind: str, piece: str, line: int) -> str:
    if kind == "open":
        return f"line {line}: the quote {piece} is not closed; close it, or take it away"
    return f"line {line}: {piece} starts a command inside the command, which is not run; write its result instead"


def _after(text: str, place: int, tags: list[str]) -> int:
    """Where the text goes on after the here-documents that start at ``place``."""
    for tag in tags:
        end = re.compile(rf"^[ \t]*+{re.escape(tag)}[ \t]*+$\n?", re.MULTILINE).search(text, place)
        place = end.end() if end else len(text)
    tags.clear()
    return place


def _assignments(words: list[str], every: bool = False) -> tuple[dict[str, str], list[str]]:
    """The assignments that words start with, and the words after them; with ``every`` all of them."""
    found: dict[str, str] = {}
    for number, word in enumerate(words):
        match = _ASSIGNMENT.fullmatch(word)
        if match:
            found[match[1]] = match[2]
        elif not every and word not in _BEFORE:
            return found, words[number:]
    return found, []
