"""A recipe file. Field order is the order of the top-level keys in a well-kept file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

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


class Evidence(Model):
    """What is known of a recipe on a hardware: how far it was tried, and with which vLLM, image, when and by whom."""

    status: Text = ""
    vllm: Text = ""
    image: str = ""
    date: str = ""
    source: str = ""
    note: str = ""


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
    hardware: dict[str, Text | Evidence] = {}


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


Size = Annotated[int, Field(ge=0)]
#: Parts of a model whose weights a checkpoint can store in fewer bits.
Group = Literal["attention", "mlp", "experts", "embeddings"]


class KvLayers(Model):
    """How many layers keep what: a cache of every token, of a window of tokens, or one state a request."""

    full: Size = 0
    sliding: Size = 0
    mamba: Size = 0


class Architecture(Model):
    """The shapes of the language model, under the names of its ``config.json``; memory is estimated from them.

    ``kv_layers`` is given where not all layers are ``full``. ``quantized`` says for a variant which groups have few
    bits, where the usual answer is wrong; ``quant_group_size`` is that of int4 scales. ``unknown`` is the reason why
    nothing can be estimated; then no shape is needed.
    """

    unknown: str = ""
    num_hidden_layers: Size = 0
    hidden_size: Size = 0
    vocab_size: Size = 0
    tie_word_embeddings: bool = False
    num_attention_heads: Size = 0
    num_key_value_heads: Size = 0
    head_dim: Size = 0
    q_lora_rank: Size = 0
    kv_lora_rank: Size = 0
    qk_rope_head_dim: Size = 0
    qk_nope_head_dim: Size = 0
    v_head_dim: Size = 0
    index_n_heads: Size = 0
    index_head_dim: Size = 0
    intermediate_size: Size = 0
    num_experts: Size = 0
    moe_intermediate_size: Size = 0
    n_shared_experts: Size = 0
    shared_expert_intermediate_size: Size = 0
    first_k_dense_replace: Size = 0
    sliding_window: Size = 0
    kv_layers: KvLayers | None = None
    linear_num_key_heads: Size = 0
    linear_num_value_heads: Size = 0
    linear_key_head_dim: Size = 0
    linear_value_head_dim: Size = 0
    linear_conv_kernel_dim: Size = 0
    quantized: dict[str, list[Group]] = {}
    quant_group_size: Literal[32, 128] = 32

    @model_validator(mode="after")
    def _is_whole(self) -> Architecture:
        """Shapes that belong together are all there, or a sentence says which is missing."""
        if self.unknown:
            return self
        needed = ["num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads"]
        needed += (
            ["qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"] if self.kv_lora_rank else ["num_key_value_heads"]
        )
        needed += ["moe_intermediate_size"] if self.num_experts else ["intermediate_size"]
        layers = self.kv_layers
        needed += ["sliding_window"] if layers and layers.sliding else []
        needed += (
            [name for name in type(self).model_fields if name.startswith("linear_")] if layers and layers.mamba else []
        )
        missing = [name for name in needed if not getattr(self, name)]
        if missing:
            raise ValueError(f"an estimate needs {', '.join(missing)} too; or give unknown: with the reason")
        if layers and layers.full + layers.sliding + layers.mamba != self.num_hidden_layers:
            raise ValueError(f"kv_layers has other layers than num_hidden_layers ({self.num_hidden_layers})")
        return self


class RecipeFile(Model):
    """The whole file ``models/<org>/<repo>.yaml``."""

    meta: Meta
    model: ModelBlock
    architecture: Architecture | None = None
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
