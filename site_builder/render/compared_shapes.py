"""The shapes of comparisons and explanations, beside those of ``shapes``."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from site_builder.render.shapes import Adjustment, Configuration, Fit, closed


@closed
class Cell(TypedDict):
    value: str
    origin: NotRequired[str]


@closed
class ComparedRow(TypedDict):
    """One thing on both sides; null where a side does not have it."""

    name: str
    status: Literal["different", "a", "b", "same"]
    a: Cell | None
    b: Cell | None


@closed
class ComparedPair(TypedDict):
    """Two processes that stand beside each other; null where only one side has it."""

    title: str
    a: str | None
    b: str | None
    flags: list[ComparedRow]
    environment: list[ComparedRow]


@closed
class ComparedSide(TypedDict):
    configuration: Configuration
    adjustments: list[Adjustment]
    warnings: list[str]
    links: dict[str, str]


@closed
class Comparison(TypedDict):
    """Two configurations of a recipe."""

    schema_version: Literal[1]
    hf_id: str
    query: str
    identical: bool
    a: ComparedSide
    b: ComparedSide
    adjustments: list[Adjustment]
    choices: list[ComparedRow]
    facts: list[ComparedRow]
    processes: list[ComparedPair]
    links: dict[str, str]


@closed
class FactDifference(TypedDict):
    name: str
    value: str
    ours: str


@closed
class ExplainedCommand(TypedDict):
    """One pasted server, and the process of the configuration that it was compared with."""

    text: str
    model: str | None
    image: str | None
    process: str
    role: str
    rank: int | None
    ours: str
    facts: list[FactDifference]


@closed
class Alternative(TypedDict):
    recipe: str
    query: str
    summary: str
    url: str
    differences: int


@closed
class Explanation(TypedDict):
    """The closest configuration to a pasted command, and how it differs."""

    schema_version: Literal[1]
    recipe: str
    query: str
    configuration: Configuration
    summary: str
    url: str
    exact: bool
    commands: list[ExplainedCommand]
    differences: list[dict[str, list[dict[str, Any]]]]
    environment: list[dict[str, list[dict[str, Any]]]]
    not_started: list[str]
    warnings: list[str]
    alternatives: list[Alternative]
    links: dict[str, str]


@closed
class AcrossRow(TypedDict):
    """A hardware with a variant, in the configuration that is recommended there. ``status`` is that of the hardware."""

    hardware: str
    name: str
    variant: str
    precision: str
    strategy: str | None
    gpus: int
    nodes: int
    status: str
    fit: Fit
    summary: str
    url: str


@closed
class AcrossLinks(TypedDict):
    page: str
    json: str
    markdown: str


@closed
class Across(TypedDict):
    """A recipe across hardware; ``query`` says what has to fit."""

    schema_version: Literal[1]
    hf_id: str
    query: str
    adjustments: list[Adjustment]
    rows: list[AcrossRow]
    links: AcrossLinks
