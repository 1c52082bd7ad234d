"""Which commands a deployment has (``docs/recipe-format.md``, section 6)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from site_builder.compiler.axes import SEVERAL
from site_builder.compiler.conditions import hardware_cases, listed, only
from site_builder.compiler.context import ROLES, Context
from site_builder.compiler.parallel import flag, local_size
from site_builder.plan import Argument, Condition, File, Layer, Process, Program, Token
from site_builder.schema.vocabulary import KvStore

PREFILL_PORT, DECODE_PORT = 8001, 8002
SERVE: list[Token] = ["vllm", "serve", [{"fact": "model"}]]


def processes(context: Context) -> list[Process]:
    """Every process, in the order of the format: stores before the servers that use them, routers after."""
    return [*_stores(context), *_servers(context), *_companions(context), *_routers(context)]


def _servers(context: Context) -> Iterator[Process]:
    stores, without = context.open_stores, context.no_store
    single, multi = context.of_type("single_node"), context.of_type("multi_node")
    if single:
        yield _server("serve", {**listed("strategy", single, context.strategy_ids), **without})
    if multi:
        yield {
            **_server("head", {**listed("strategy", multi, context.strategy_ids), **without}),
            "follower": "worker",
            "each": [("rank", "nodes")],
        }
    engines = [*single, *multi]
    if stores and engines:
        when = {**listed("strategy", engines, context.strategy_ids), "kv_offload": stores}
        files = [file for key in stores for file in _server_files(key, context.kv_stores[key])]
        each = [("instance", "kv_instances"), ("rank", "nodes")]
        instance = _server("serve", when)
        instance.update({"follower": "worker", "each": each, "files": files})
        yield instance
    if "pd_cluster" in context.strategy_ids:
        for role in ROLES:
            server = _server(role, {"strategy": ["pd_cluster"]})
            server["each"] = [("rank", f"{role}_nodes")]
            if stores:
                server["files"] = [file for key in stores for file in _server_files(key, context.kv_stores[key])]
            yield server


def _server(role: str, when: Condition) -> Process:
    process: Process = {"role": role, "program": "vllm"}
    if when:
        process["when"] = when
    return process


def _companions(context: Context) -> Iterator[Process]:
    for key, feature in context.recipe.features.items():
        if feature.companion:
            when = context.feature_condition(key)
            yield _text(
                "companion", when, (feature.companion.label, feature.companion.command, f"features.{key}.companion")
            )
    for key, entry in context.taxonomy.kv_offload.items():
        if entry.companion and key in context.offload_conditions:
            origin = f"taxonomy.yaml: kv_offload.{key}.companion"
            yield _text("companion", {"kv_offload": [key]}, (entry.companion.label, entry.companion.command, origin))


def _text(role: str, when: Condition, what: tuple[str, str, str]) -> Process:
    """A command that content gives as text: its name, the text, and where it stands."""
    name, command, origin = what
    process: Process = {"role": role, "when": when, "text": command.rstrip("\n"), "origin": origin}
    return {**process, "name": name} if name else process


def _stores(context: Context) -> Iterator[Process]:
    """The coordinator of a key-value store, and the process that owns its memory where it is not in the servers."""
    for key in context.open_stores:
        store, when, origin = context.kv_stores[key], {"kv_offload": [key]}, f"kv_store/{key}.yaml"
        if store.mooncake_master:
            master = store.mooncake_master
            yield _text("kv_master", when, ("", master.command, f"{origin}: mooncake_master"))
        if store.mooncake_store_config:
            config = store.mooncake_store_config
            process = _text("kv_store", when, ("", config.command, f"{origin}: mooncake_store_config"))
            yield {**process, "files": [{"path": "$MOONCAKE_STORE_CONFIG_PATH", "text": _file_text(config.config)}]}


def _server_files(key: str, store: KvStore) -> list[File]:
    """The configuration that every server beside a key-value store reads."""
    config = store.mooncake_vllm_config
    if config is None:
        return []
    return [{"when": {"kv_offload": [key]}, "path": "$MOONCAKE_CONFIG_PATH", "text": _file_text(config.template)}]


def _file_text(config: Mapping[str, object]) -> str:
    return json.dumps(config, indent=2, ensure_ascii=False)


def _routers(context: Context) -> Iterator[Process]:
    if "pd_cluster" in context.strategy_ids:
        yield {"role": "router", "when": {"strategy": ["pd_cluster"]}, "program": "pd_router"}
    engines = context.engines
    if not engines:
        return
    for keys in _same_routers(context):
        when = {"kv_offload": keys, "kv_instances": SEVERAL, **listed("strategy", engines, context.strategy_ids)}
        yield {"role": "router", "when": when, "program": f"router.{keys[0]}"}


def _same_routers(context: Context) -> list[list[str]]:
    """Store deployments grouped by what their router is told."""
    groups: dict[tuple[str, int], list[str]] = {}
    for key in context.open_stores:
        store = context.kv_stores[key]
        groups.setdefault((store.router.policy, store.vllm.port), []).append(key)
    return list(groups.values())


def router_programs(context: Context) -> dict[str, Program]:
    """The routers as programs: the pools' one, and one for the key-value store deployments that are routed alike."""
    programs: dict[str, Program] = {}
    if "pd_cluster" in context.strategy_ids:
        policy = context.strategies["pd_cluster"].router.policy
        programs["pd_router"] = _router(policy, list(_pool_router_layers(context)))
    for keys in _same_routers(context):
        store = context.kv_stores[keys[0]]
        balance = [
            flag("--cache-threshold", "0.5"),
            flag("--balance-abs-threshold", "4"),
            flag("--balance-rel-threshold", "1.1"),
        ]
        args = [_backend("--backend-url", "$VLLM_INSTANCE_", store.vllm.port, "kv_instances"), *_listen(), *balance]
        programs[f"router.{keys[0]}"] = _router(
            store.router.policy, [{"origin": "kv_store/{kv_offload}.yaml: router", "args": args}]
        )
    return programs


def _router(policy: str, layers: list[Layer]) -> Program:
    return {"start": ["vllm-router", "--policy", policy], "indent": 4, "layers": layers}


def _listen() -> list[Argument]:
    return [flag("--host", "$ROUTER_HOST"), flag("--port", "$ROUTER_PORT")]


def _backend(name: str, host: str, port: int, count: str) -> Argument:
    """One flag for each server: ``--prefill http://$PREFILL_NODE_1:8001`` …"""
    return {"tokens": [name, [f"http://{host}", {"of": ["each"], "plus": 1}, f":{port}"]], "each": count}


def _pool_router_layers(context: Context) -> Iterator[Layer]:
    """Every node of a dep pool answers requests; of a tp or tep pool only its first one does."""
    origin = "strategies/pd_cluster.yaml: router"
    yield {"origin": origin, "args": [flag("--vllm-pd-disaggregation")]}
    for role, port in (("prefill", PREFILL_PORT), ("decode", DECODE_PORT)):
        host, mode = f"${role.upper()}_NODE_", f"{role}_mode"
        yield {"origin": origin, "when": {mode: ["dep"]}, "args": [_backend(f"--{role}", host, port, f"{role}_nodes")]}
        first: Argument = {"tokens": [f"--{role}", f"http://{host}1:{port}"]}
        yield {"origin": origin, "when": {mode: ["tp", "tep"]}, "args": [first]}
    yield {"origin": origin, "args": _listen()}
    name, own = "--intra-node-data-parallel-size", context.override("pd_cluster").router.intra_node_data_parallel_size
    if own is not None:
        yield {"origin": "strategy_overrides.pd_cluster.router", "args": [flag(name, str(own))]}
        return
    yield {"origin": origin, "args": [flag(name, "1")]}
    on = context.fitting.offering("pd_cluster")
    for condition, gpus in hardware_cases(on, lambda name: context.fitting.profile(name).gpu_count):
        sizes = {role: local_size(context, role, gpus) for role in ROLES}
        for role in sorted(ROLES, key=lambda role: sizes[role]):
            when = only(condition, **{f"{role}_mode": ["dep"]})
            yield {"origin": origin, "when": when, "args": [flag(name, str(sizes[role]))]}
