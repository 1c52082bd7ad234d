"""The shapes of comparisons and explanations, beside those of ``shapes``."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from site_builder.render.shapes import Adjustment, Configuration, Fit, closed
from site_builder.schema.vocabulary import DynamoRecipe


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


@closed
class ArtifactNamed(TypedDict):
    """The checkpoint that a source names. ``revision`` is null where none was asked for."""

    source: str
    model_id: str
    variant: str
    precision: str
    revision: str | None


@closed
class Layout(TypedDict):
    strategy: str
    name: str
    reach: Literal["fits inside one node's interconnect", "spans nodes"]


@closed
class HardwareFact(TypedDict):
    """A hardware with the GPUs of one node."""

    hardware: str
    name: str
    gpus: int
    status: str


@closed
class Source(TypedDict):
    """The file that a recipe is read from, and the commit that last changed it; null where none is known."""

    path: str
    commit: str | None


@closed
class Evidence(TypedDict):
    """What the recipe says. ``tested_flags`` are words of the default command, without parallel sizes."""

    recipe: str
    tested_flags: list[str]
    environment: dict[str, str]
    floor_gb: float | None
    layouts: list[Layout]
    hardware: list[HardwareFact]
    min_vllm_version: str | None
    links: dict[str, str]
    source: Source


class Sizing(Fit):
    """Own sizing. ``difference`` is how many percent more than the floor the weights × 1.2 are."""

    weights_bytes: int | None
    agrees: bool | None
    difference: int | None


@closed
class Draft(TypedDict):
    """What to start: the first command, and the address of the Dynamo graph where there is one."""

    engine: Literal["vllm"]
    command: str
    dynamo: str | None
    warnings: list[str]


@closed
class Artifact(TypedDict):
    """What a recipe says of a checkpoint, as a draft. Nothing is written anywhere."""

    artifact: ArtifactNamed
    evidence: Evidence
    sizing: Sizing
    draft: Draft


@closed
class Floor(TypedDict):
    """The published memory floor of a variant, in GB across the whole replica; null where there is none."""

    variant: str
    precision: str
    model_id: str
    floor_gb: float | None


@closed
class FeatureFact(TypedDict):
    feature: str
    description: str
    default: bool


@closed
class Question(TypedDict):
    question: str
    answer: str


@closed
class ServingFacts(TypedDict):
    """What holds for every configuration. ``dynamo`` is what NVIDIA publishes; null where the content does not say."""

    floors: list[Floor]
    layouts: list[Layout]
    hardware: list[HardwareFact]
    features: list[FeatureFact]
    command: str
    min_vllm_version: str | None
    dynamo: list[DynamoRecipe] | None
    questions: list[Question]
    source: Source


@closed
class Facts(TypedDict):
    schema_version: Literal[1]
    hf_id: str
    facts: ServingFacts
    links: dict[str, str]
