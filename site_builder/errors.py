"""Every error that a person sees, and the problems that content can have.

SiteError
├── ContentError     the content folder cannot be used: carries its problems
├── UnknownRecipe    no recipe has this id: carries the closest ids
├── BadQuery         a query that is refused (strict mode, too long)
├── CannotExport     a tool has no way to say this configuration: carries what to use instead
├── BadCommand       a pasted command that cannot be read
└── OutputError      the site cannot be written where it was asked for
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, order=True)
class Problem:
    """One finding about one place in the content folder.

    ``path`` is relative to the content folder, ``line`` starts at 1 (0: the file as a whole). An *error* means that the
    file cannot be understood and is left out; a *warning* means that it can, but a person should look.
    """

    path: str
    line: int
    message: str
    severity: Severity = "error"

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class SiteError(Exception):
    """The root of all errors that are told to a person in one sentence."""


class ContentError(SiteError):
    """Nothing can be built: the problems say why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UnknownRecipe(SiteError):
    """No recipe has this id; ``closest`` holds up to five ids that look like it."""

    def __init__(self, recipe_id: str, closest: Sequence[str]) -> None:
        self.recipe_id = recipe_id
        self.closest = tuple(closest)
        super().__init__(f'there is no recipe "{recipe_id}"{did_you_mean(self.closest[:1])}')


class BadQuery(SiteError):
    """A query that is refused instead of settled; ``details`` are the adjustments that would have been made."""

    def __init__(self, message: str, details: Sequence[object] = ()) -> None:
        self.details = tuple(details)
        super().__init__(message)


class CannotExport(SiteError):
    """A configuration that a tool cannot express: why, and which form to use instead."""

    def __init__(self, reason: str, instead: str) -> None:
        self.reason, self.instead = reason, instead
        super().__init__(f"{reason}; use {instead}")


class BadCommand(SiteError):
    """A pasted text that cannot be read as a command; the message says where and how to mend it."""


class OutputError(SiteError):
    """The site cannot be written where it was asked for."""


def closest(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """The known names that look most like ``name``, best first, without regard to case."""
    spelled: dict[str, str] = {}
    for candidate in sorted(known):  # a set has no order, and an answer must not depend on it
        spelled.setdefault(candidate.lower(), candidate)
    return [spelled[found] for found in difflib.get_close_matches(name.lower(), spelled, n=limit, cutoff=0.6)]


def did_you_mean(names: Sequence[str]) -> str:
    """``; did you mean "h100"?`` or nothing."""
    return f'; did you mean "{names[0]}"?' if names else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The way out that an error about an unknown ``name`` ends with."""
    return did_you_mean(closest(name, known))
