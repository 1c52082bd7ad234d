"""The vocabulary of a content folder: hardware, strategies, key-value stores, platforms and the site itself."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from site_builder.schema.base import Args, Env, Model, Names

DeployType = Literal["single_node", "multi_node", "pd_cluster"]
PoolMode = Literal["tp", "tep", "dep"]


class Hardware(Model):
    """One kind of node. ``vram_gb`` is the memory of the whole node in GB (1e9 bytes), ``gpu_count`` its GPUs."""

    brand: str
    generation: Names = Field(min_length=1)
    display_name: str
    description: str = ""
    gpu_count: int = Field(ge=1)
    vram_gb: float = Field(gt=0)
    scalable: bool = True
    restricted: bool = False
    multi_node: bool | None = Field(default=None, description="historic, read by nobody")

    @property
    def main_generation(self) -> str:
        """The generation that counts for overrides."""
        return self.generation[0]

    @property
    def gb_per_gpu(self) -> float:
        return self.vram_gb / self.gpu_count


class Task(Model):
    id: str
    display_name: str
    description: str = ""


class Companion(Model):
    """A helper process that runs beside the server."""

    label: str
    description: str = ""
    command: str


class KvOffload(Model):
    """An option of the KV-offload choice that composes with the serving strategy."""

    display_name: str
    label: str = ""
    order: int = 99
    description: str = ""
    args: Args = []
    env: Env = {}
    group: str | None = None
    strategies: list[str] | None = None
    brands: list[str] | None = None
    requires_opt_in: bool = False
    install: str = ""
    docs_url: str = ""
    companion: Companion | None = None


class KvOffloadGroup(Model):
    display_name: str
    label: str = ""
    order: int = 99
    sub_row_label: str = ""
    docs_url: str = ""
    tooltip: str = ""
    description: str = ""


class AdvancedWhen(Model):
    """When an advanced option is offered: a truth value of ``model`` and a list of strategies."""

    model: Literal["supports_dcp", "flashinfer_autotune"] | None = None
    strategies: list[str] | None = None


class Advanced(Model):
    id: str
    label: str = ""
    description: str = ""
    args: Args
    when: AdvancedWhen = AdvancedWhen()


class Taxonomy(Model):
    hardware_profiles: dict[str, Hardware] = Field(min_length=1)
    tasks: list[Task] = []
    strategies: list[str] = []
    kv_offload: dict[str, KvOffload] = {}
    kv_offload_groups: dict[str, KvOffloadGroup] = {}
    advanced_options: list[Advanced] | None = None


class Role(Model):
    """What a strategy says of one pool of a pd_cluster."""

    vllm_args: Args = []
    env: Env = {}
    parallelism: PoolMode | None = None
    tp: int | None = Field(default=None, ge=1)
    parallel_flag: str | None = None


class RouterPolicy(Model):
    policy: str = "round_robin"


class Strategy(Model):
    name: str
    deploy_type: DeployType
    display_name: str
    orientation: Literal["latency", "throughput", "balanced", "production"] | None = None
    description: str = ""
    vllm_args: Args = []
    env: Env = {}
    parallel_flag: str = "--tensor-parallel-size"
    parallelism: Literal["tp_pp", "tp_dp"] | None = None
    hardware_match: dict[str, Any] = {}
    prefill: Role = Role()
    decode: Role = Role()
    router: RouterPolicy = RouterPolicy()


class KvRouter(Model):
    policy: str = "cache_aware"
    install: str = ""
    port: int = 30080


class KvVllm(Model):
    vllm_args: Args = []
    env: Env = {}
    install: str | dict[Literal["nvidia", "amd"], str] = ""
    port: int = 8000


class KvPool(Model):
    args: Args = []


class KvPools(Model):
    prefill: KvPool = KvPool()
    decode: KvPool = KvPool()


class KvMaster(Model):
    command: str
    description: str = ""


class KvStoreConfig(Model):
    command: str
    description: str = ""
    note: str = ""
    config: dict[str, Any] = {}


class KvVllmConfig(Model):
    mode: str = ""
    note: str = ""
    template: dict[str, Any] = {}


class KvStore(Model):
    """A key-value store deployment that composes with a strategy."""

    name: str = ""
    deploy_type: Literal["kv_store_lb"]
    display_name: str
    label: str = ""
    order: int = 99
    description: str = ""
    router: KvRouter = KvRouter()
    vllm: KvVllm = KvVllm()
    pd: KvPools = KvPools()
    mooncake_master: KvMaster | None = None
    mooncake_store_config: KvStoreConfig | None = None
    mooncake_vllm_config: KvVllmConfig | None = None
    min_vllm_version: str | None = None
    default_instances: int = Field(default=2, ge=1, le=16)


class Platform(Model):
    id: str
    name: str
    url: str
    blurb: str = ""
    install: str = ""


class Platforms(Model):
    platforms: list[Platform] = []


class DynamoRecipe(Model):
    """A deployment that NVIDIA publishes for Dynamo: on ``gpus`` GPUs of a hardware, aggregated or disaggregated."""

    name: str
    mode: Literal["aggregated", "disaggregated"]
    hardware: str
    gpus: int
    precision: str = ""


class DynamoRecipes(Model):
    """What NVIDIA publishes for Dynamo with vLLM, by recipe id, as of a commit of its repository."""

    commit: str = ""
    license: str = ""
    recipes: dict[str, list[DynamoRecipe]] = {}


class Link(Model):
    label: str
    href: str


class Provider(Model):
    name: str = ""
    logo: str = ""


class Site(Model):
    """``site.yaml``: what the site calls itself and where it is published."""

    title: str = "Recipes"
    tagline: str = "The command that serves a model with vLLM on your hardware"
    base_url: str = ""
    edit_url: str = ""
    issues_url: str = ""
    links: list[Link] = []
    providers: dict[str, Provider] = {}
