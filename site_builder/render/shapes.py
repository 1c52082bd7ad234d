"""The shapes of the JSON answers, for OpenAPI and for readers. Tests validate real answers against them.

Within a ``schema_version`` fields are added, never renamed or removed. Unless a line says otherwise, memory is in GB
(10⁹ bytes), addresses are whole where the site knows its own, and words in ``argv`` are never quoted.
"""

from __future__ import annotations

from typing import (
    Any,
    Literal,
    NotRequired,  # pydantic reads those of typing from Python 3.12 on
)

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from site_builder.schema.recipe import Dependency, Feature, Meta, ModelBlock, Variant
from site_builder.schema.vocabulary import Hardware, Strategy
from site_builder.sizing import Estimate

#: Nothing else is in an answer: a field that is added is described here, or a test fails.
closed = with_config(ConfigDict(extra="forbid"))
Argv = list[str]
Env = dict[str, str]


@closed
class Adjustment(TypedDict):
    """What was asked, what is used instead, and why. ``used`` is empty where the parameter has no effect."""

    parameter: str
    requested: str
    used: str
    reason: str


@closed
class Origin(TypedDict):
    """Where a flag or variable comes from: the path of a key in the recipe, or the file and key that says it."""

    flag: str
    value: str
    origin: str


@closed
class Configuration(TypedDict):
    """Every choice under the name of its query parameter, the canonical query, and one line that says it."""

    variant: str
    hardware: str
    nodes: NotRequired[int]
    strategy: NotRequired[str]
    prefill_nodes: NotRequired[int]
    decode_nodes: NotRequired[int]
    prefill_mode: NotRequired[str]
    decode_mode: NotRequired[str]
    prefill_rank: NotRequired[int]
    decode_rank: NotRequired[int]
    features: NotRequired[list[str]]
    fmode: NotRequired[dict[str, str]]
    kv_offload: NotRequired[str]
    kv_instances: NotRequired[int]
    kv_instance: NotRequired[int]
    advanced: NotRequired[list[str]]
    task: NotRequired[str]
    install: NotRequired[str]
    cuda: NotRequired[str]
    query: str
    summary: str


@closed
class File(TypedDict):
    path: str
    text: str


@closed
class Process(TypedDict):
    """One command of the deployment. ``argv`` is null where content gives the command as text."""

    id: str
    role: str
    rank: int | None
    title: str
    command: str
    argv: Argv | None
    env: Env
    docker_command: str | None
    docker_argv: Argv | None
    files: list[File]
    because: list[Origin]


@closed
class CompanionCommand(TypedDict):
    label: str
    command: str


@closed
class Pool(TypedDict):
    """One pool of a disaggregated deployment; the command is that of the node that was asked for."""

    command: str
    argv: Argv
    docker_command: str | None
    docker_argv: Argv | None
    env: Env
    nodes: int
    parallelism: str
    tp: int | None


@closed
class Master(TypedDict):
    command: str | None
    description: str


@closed
class Store(TypedDict):
    command: str | None
    config: dict[str, Any]


@closed
class Recommended(TypedDict):
    """The configuration that was asked for, under the names of the public recipe API; the commands by deployment."""

    hardware: str
    strategy: str | None
    variant: str
    node_count: int
    deploy_type: Literal["single_node", "multi_node", "pd_cluster", "kv_store_lb"]
    env: Env
    docker_image: str | None
    strategy_spec: Strategy | None
    hardware_profile: Hardware
    alternatives: dict[str, str]
    by_hardware: dict[str, str]
    # one node
    command: NotRequired[str]
    argv: NotRequired[Argv]
    docker_command: NotRequired[str | None]
    docker_argv: NotRequired[Argv | None]
    companions: NotRequired[list[CompanionCommand]]
    # several nodes; worker_command is that of rank 1
    head_command: NotRequired[str]
    head_argv: NotRequired[Argv]
    head_docker_command: NotRequired[str | None]
    head_docker_argv: NotRequired[Argv | None]
    worker_command: NotRequired[str]
    worker_argv: NotRequired[Argv]
    worker_docker_command: NotRequired[str | None]
    worker_docker_argv: NotRequired[Argv | None]
    worker_commands: NotRequired[list[str]]
    worker_argvs: NotRequired[list[Argv]]
    worker_docker_commands: NotRequired[list[str | None]]
    worker_docker_argvs: NotRequired[list[Argv | None]]
    # prefill and decode pools
    prefill: NotRequired[Pool]
    decode: NotRequired[Pool]
    router: NotRequired[str | None]
    # servers around a key-value store
    serving_strategy: NotRequired[str | None]
    instances: NotRequired[int]
    vllm_command: NotRequired[str]
    vllm_argv: NotRequired[Argv]
    vllm_docker_command: NotRequired[str | None]
    vllm_docker_argv: NotRequired[Argv | None]
    vllm_worker_command: NotRequired[str]
    vllm_worker_argv: NotRequired[Argv]
    vllm_worker_docker_command: NotRequired[str | None]
    vllm_worker_docker_argv: NotRequired[Argv | None]
    vllm_worker_commands: NotRequired[list[str]]
    vllm_worker_argvs: NotRequired[list[Argv]]
    vllm_worker_docker_commands: NotRequired[list[str | None]]
    vllm_worker_docker_argvs: NotRequired[list[Argv | None]]
    master: NotRequired[Master | None]
    store: NotRequired[Store | None]
    mooncake_config: NotRequired[dict[str, Any] | None]


@closed
class Placeholder(TypedDict):
    name: str
    description: str


@closed
class Request(TypedDict):
    title: str
    endpoint: str
    command: str


@closed
class Fit(TypedDict):
    """The published memory floor across the replica, what the chosen nodes have, in GB, and what is estimated.

    ``fits`` says whether ``concurrency`` requests of ``context`` tokens fit at once; null where ``unknown`` says why.
    ``floor_apart_percent`` is how much more than the floor the estimated weights × 1.2 are.
    """

    floor_gb: float | None
    available_gb: float
    nodes: int
    context: int
    concurrency: int
    fits: bool | None
    unknown: str | None
    estimate: Estimate | None
    floor_apart_percent: int | None


@closed
class EvidenceRecord(TypedDict):
    """What is recorded of the chosen hardware, and as a sentence. ``stale``: it is older than the recipe."""

    hardware: str
    status: str
    vllm: str | None
    image: str | None
    date: str | None
    source: str | None
    note: str | None
    stale: bool
    text: str


@closed
class Pip(TypedDict):
    command: str
    note: str | None


@closed
class Image(TypedDict):
    image: str
    note: str | None


@closed
class Install(TypedDict):
    min_vllm_version: str | None
    pip: Pip | None
    docker: Image | None
    dependencies: list[Dependency]


class RecipeMeta(Meta):
    """``derived_from`` and ``variant`` are there where the checkpoint of a variant was asked for."""

    derived_from: str | None = None
    variant: str | None = None


class RecipeModel(ModelBlock):
    install: Install  # type: ignore[assignment]  # as settled for the configuration, not as written


class RecipeVariant(Variant):
    """A variant, and its address as JSON."""

    address: str = Field(alias="json")


@closed
class Recipe(TypedDict):
    """A recipe in one configuration. ``facts`` are those of ``facts.json``."""

    schema_version: Literal[1]
    hf_id: str
    meta: RecipeMeta
    configuration: Configuration
    adjustments: list[Adjustment]
    warnings: list[str]
    recommended_command: Recommended
    processes: list[Process]
    placeholders: list[Placeholder]
    choices: dict[str, Any]
    requests: list[Request]
    fit: Fit
    evidence: EvidenceRecord
    links: dict[str, str]
    model: RecipeModel
    features: dict[str, Feature]
    opt_in_features: list[str]
    variants: dict[str, RecipeVariant]
    facts: dict[str, Any]
    guide: str


@closed
class Entry(TypedDict):
    """A recipe in ``models.json``, or a variant with a checkpoint of its own (``derived_from`` names the recipe)."""

    hf_id: str
    title: str
    provider: str
    description: str
    url: str
    json: str
    markdown: str
    tasks: list[str]
    hardware: dict[str, str]
    variants: dict[str, str | None]
    min_vllm_version: str | None
    date_added: str
    date_updated: str
    derived_from: NotRequired[str]


@closed
class Search(TypedDict):
    """A recipe in ``search.json``; ``text`` holds what search looks into, without spaces and signs."""

    id: str
    title: str
    provider: str
    text: str
    facets: dict[str, list[str]]


@closed
class Health(TypedDict):
    """The state of the server. ``reload_error`` says why the last change of content was not taken up."""

    status: Literal["ok"]
    recipes: int
    loaded: str
    reload_error: str


@closed
class Error(TypedDict):
    """What went wrong, and what may have been meant. A strict query lists its ``adjustments``."""

    status: int
    title: str
    detail: str
    did_you_mean: list[str]
    adjustments: NotRequired[list[Adjustment]]


@closed
class Refusal(TypedDict):
    error: Error
