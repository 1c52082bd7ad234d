"""A recipe file. Field order is the order of the top-level keys in a well-kept file."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from site_builder.schema.base import Args, Env, Model, Names, Text
from site_builder.schema.vocabulary import Advanced, Companion, Link, PoolMode

#: An image: one name (NVIDIA), by brand, by CUDA build, or by brand with CUDA builds under ``nvidia``.
Image = str | dict[str, str | dict[str, str]]
#: A number, or numbers by exact hardware id, generation, brand or ``default``.
Sizes = int | dict[str, int]
Support = Literal["supported", "unsupported"]


class PlatformUse(Model):
    id: str
    url: str = ""
    blurb: str = ""
    install: str = ""
    script: str = ""


class Meta(Model):
    title: str
    slug: str = ""
    provider: str = ""
    description: str = ""
    date_added: str = ""
    date_updated: str = ""
    difficulty: str = ""
    tasks: list[str] = []
    performance_headline: str = ""
    related_recipes: list[str] = []
    default_hardware: str | None = None
    platforms: list[str | PlatformUse] = []
    hardware: dict[str, Text] = {}


class InstallWay(Model):
    command: str = ""
    note: str = ""


class Install(Model):
    """How to get vLLM. ``False`` hides a way, nothing leaves the default."""

    pip: Literal[False] | InstallWay = InstallWay()
    docker: Literal[False] | InstallWay = InstallWay()


class DockerSource(Model):
    mount_path: str = ""


class ModelBlock(Model):
    model_id: str
    min_vllm_version: Text = ""
    nightly_required: bool = False
    architecture: Literal["dense", "moe"] | None = None
    parameter_count: Text = ""
    active_parameters: Text = ""
    context_length: int = 0
    base_args: Args = []
    base_env: Env = {}
    docker_image: Image | None = None
    docker_source: DockerSource = DockerSource()
    install: Install = Install()
    supports_dcp: bool = False
    flashinfer_autotune: bool = False
    gated: bool = False


class Dependency(Model):
    command: str
    note: str = ""
    optional: bool = False
    brand: Names | None = None
    install_modes: list[Literal["pip", "docker"]] = ["pip"]


class ArgsOverride(Model):
    args: Args = []


class Mode(Model):
    label: str = ""
    description: str = ""
    args: Args = []
    variants: list[str] | None = None
    hardware: dict[str, Support] = {}
    hardware_overrides: dict[str, ArgsOverride] = {}


class Feature(Model):
    description: str = ""
    label: str = ""
    args: Args = []
    hardware: dict[str, Support] = {}
    hardware_overrides: dict[str, ArgsOverride] = {}
    strategies: list[str] | None = None
    companion: Companion | None = None
    default_mode: str | None = None
    modes: dict[str, Mode] = {}


class HardwareOverride(Model):
    extra_args: Args = []
    extra_env: Env = {}


class VariantOverride(HardwareOverride):
    docker_image: Image | None = None


class PrecisionHardware(Model):
    brand: str | None = None
    generation: str | None = None


class Variant(Model):
    """One checkpoint or precision. ``vram_minimum_gb`` is in GB across the whole replica."""

    precision: str = ""
    vram_minimum_gb: float = Field(default=0, ge=0)
    label: str = ""
    description: str = ""
    model_id: str | None = None
    extra_args: Args = []
    extra_env: Env = {}
    docker_image: Image | None = None
    min_vllm_version: Text | None = None
    nightly_required: bool | None = None
    supported_hardware: list[str] = []
    precision_hardware: PrecisionHardware | None = None
    tp: Sizes | None = None
    default_modes: dict[str, str] = {}
    hardware_overrides: dict[str, VariantOverride] = {}

    @property
    def name(self) -> str:
        """What people call it; empty where only its key says something."""
        return self.label or self.precision.upper()


class RoleOverride(Model):
    nodes: Sizes | None = None
    parallelism: PoolMode | None = None
    tp: int | None = Field(default=None, ge=1)
    parallel_flag: str | None = None
    extra_args: Args = []
    vllm_args: Args = []
    env: Env = {}
    hardware_overrides: dict[str, HardwareOverride] = {}


class RouterOverride(Model):
    intra_node_data_parallel_size: int | None = Field(default=None, ge=1)


class StrategyOverride(Model):
    tp: Sizes | None = None
    extra_args: Args = []
    vllm_args: Args = []
    env: Env = {}
    extra_env: Env = {}
    hardware_overrides: dict[str, HardwareOverride] = {}
    prefill: RoleOverride = RoleOverride()
    decode: RoleOverride = RoleOverride()
    router: RouterOverride = RouterOverride()
    pool_modes: list[PoolMode] | None = None


class HardwareNote(Model):
    title: str = ""
    body: str = ""
    link: Link | None = None


class TaskOverride(Model):
    label: str | None = None
    endpoint: str | None = None
    model_id: str | None = None
    vram_minimum_gb: float | None = None
    description: str | None = None
    extra_args: Args = []
    curl: str | None = None


class OmniTask(Model):
    id: str
    key: str | None = None
    label: str = ""
    endpoint: str = ""
    model_id: str | None = None
    vram_minimum_gb: float | None = None
    description: str = ""
    axes: dict[str, str] = {}
    extra_args: Args = []
    curl: str = ""
    hardware_overrides: dict[str, TaskOverride] = {}

    @property
    def name(self) -> str:
        """What a query calls the task."""
        return self.key or self.id


class AxisOption(Model):
    id: str
    label: str = ""
    description: str = ""


class TaskAxis(Model):
    id: str
    label: str = ""
    hint: str = ""
    options: list[AxisOption] = []


class Omni(Model):
    serve_binary: str = ""
    port: int | None = None
    task_label: str = ""
    task_hint: str = ""
    variant_label: str = ""
    variant_hint: str = ""
    task_axes: list[TaskAxis] = []
    tasks: list[str | OmniTask] = []

    @property
    def all_tasks(self) -> list[OmniTask]:
        """The tasks, those of the catalogue too; one that only serves where none is named."""
        tasks = [OmniTask(id=task) if isinstance(task, str) else task for task in self.tasks]
        return tasks or [OmniTask(id="generate")]


class RecipeFile(Model):
    """The whole file ``models/<org>/<repo>.yaml``."""

    meta: Meta
    model: ModelBlock
    dependencies: list[Dependency] = []
    omni: Omni | None = None
    features: dict[str, Feature] = {}
    opt_in_features: list[str] = []
    hardware_opt_in_features: dict[str, list[str]] = {}
    advanced_options: list[Advanced] = []
    variants: dict[str, Variant]
    compatible_strategies: list[str] = []
    default_strategy: str | None = None
    strategy_hardware: dict[str, dict[str, Support]] = {}
    strategy_min_gpus: int | dict[str, int | dict[str, int]] = {}
    kv_cache_strategy_hardware: dict[str, dict[str, Support]] = {}
    kv_offload_support: dict[str, str] = {}
    hardware_overrides: dict[str, HardwareOverride] = {}
    hardware_notes: dict[str, str | HardwareNote] = {}
    strategy_overrides: dict[str, StrategyOverride] = {}
    guide: str = ""

    def needs_nightly(self, variant: str) -> bool:
        """Whether a variant needs a nightly build: its own word counts, else the model's."""
        own = self.variants[variant].nightly_required
        return self.model.nightly_required if own is None else own
