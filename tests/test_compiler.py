"""Rules of the format that no recorded configuration tests, each on a recipe made for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from site_builder.collection import Collection
from site_builder.compiler import Grammar
from site_builder.query import canonical
from site_builder.resolve import resolve
from site_builder.views import answer
from tests.helpers import answered, flags
from tests.test_twins import random_query

IMAGE = "vllm/vllm-openai:v0.26.0"
MODEL = {"model_id": "acme/Test", "docker_image": IMAGE}


def model(**more: Any) -> dict[str, Any]:
    return {**MODEL, **more}


def test_asked_hardware_keeps_the_default_variant_where_it_runs(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "hardware=mi355x")
    assert (view.selection["variant"], view.adjustments) == ("default", [])


def test_asked_hardware_moves_a_variant_that_cannot_run_there(tmp_path: Path) -> None:
    variants = {
        "default": {"precision": "nvfp4", "vram_minimum_gb": 500},
        "small": {"precision": "fp8", "vram_minimum_gb": 100},
        "large": {"precision": "bf16", "vram_minimum_gb": 200},
    }
    view = answered(tmp_path, "hardware=h100", variants=variants)
    assert (view.selection["variant"], view.selection["hardware"], list(view.adjustments)) == ("large", "h100", [])


def test_an_asked_variant_beats_hardware_that_cannot_run_it(tmp_path: Path) -> None:
    variants = {
        "default": {"precision": "bf16", "vram_minimum_gb": 10},
        "fp4": {"precision": "fp4", "vram_minimum_gb": 5},
    }
    view = answered(tmp_path, "hardware=h100&variant=fp4", variants=variants)
    assert view.selection["hardware"] == "b200"
    assert [dict(entry) for entry in view.adjustments] == [
        {"parameter": "hardware", "requested": "h100", "used": "b200", "reason": "it is not offered with variant=fp4"}
    ]


@pytest.mark.parametrize(
    ("changes", "default"),
    [
        ({}, "h200"),
        ({"meta": {"title": "T", "default_hardware": "mi300x"}}, "mi300x"),
        ({"meta": {"title": "T", "hardware": {"h200": "unsupported"}}}, "b200"),
        ({"variants": {"default": {"precision": "nvfp4", "vram_minimum_gb": 5}}}, "b200"),
        ({"variants": {"default": {"precision": "nvfp4", "vram_minimum_gb": 5}},
          "meta": {"title": "T", "hardware": {"b200": "unsupported"}}}, "gb200"),
        ({"variants": {"default": {"vram_minimum_gb": 5, "supported_hardware": ["mi355x", "mi300x"]}}}, "mi300x"),
    ],
)  # fmt: skip
def test_the_default_hardware(tmp_path: Path, changes: dict[str, Any], default: str) -> None:
    assert answered(tmp_path, "", **changes).selection["hardware"] == default


def test_restricted_hardware_is_offered_only_where_it_is_named(tmp_path: Path) -> None:
    view = answered(tmp_path, "hardware=rtx_pro_6000")
    assert view.selection["hardware"] == "h200"
    assert "rtx_pro_6000" not in view.on_offer["hardware"]
    meta = {"title": "T", "hardware": {"rtx_pro_6000": "supported"}}
    variants = {"default": {"precision": "bf16", "vram_minimum_gb": 90}}
    assert (
        answered(tmp_path / "b", "hardware=RTX_Pro_6000", meta=meta, variants=variants).selection["hardware"]
        == "rtx_pro_6000"
    )


def test_a_variant_that_does_not_fit_a_machine_that_cannot_be_joined_is_closed_there(tmp_path: Path) -> None:
    meta = {"title": "T", "hardware": {"rtx_pro_6000": "supported"}}
    view = answered(tmp_path, "hardware=rtx_pro_6000", meta=meta, variants={"default": {"vram_minimum_gb": 97}})
    assert view.selection["hardware"] == "h200"


def test_a_single_node_strategy_is_refused_at_several_nodes(tmp_path: Path) -> None:
    view = answered(tmp_path, "nodes=2&strategy=single_node_tp")
    assert (view.selection["strategy"], view.selection["nodes"]) == ("multi_node_tp", "2")
    assert view.adjustments[0]["reason"] == "it is not offered with nodes=2 (it needs nodes=1)"


def test_a_floor_raises_the_nodes(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "strategy=multi_node_dep&nodes=2")
    assert view.selection["strategy"] == "multi_node_tp"
    assert view.adjustments[0]["reason"] == "it is not offered with nodes=2 (it needs nodes=4 or more)"
    assert answer(small, "acme/Big-MoE", "strategy=multi_node_dep&nodes=4").selection["strategy"] == "multi_node_dep"


def test_strategies_are_granted_and_refused_by_hardware(small: Collection) -> None:
    assert "multi_node_tp_dp" in answer(small, "acme/Big-MoE", "hardware=gb200").on_offer["strategy"]
    offered = answer(small, "acme/Big-MoE", "hardware=h200").on_offer["strategy"]
    assert ("multi_node_tp_dp" in offered, "single_node_dep" in offered) == (False, False)


def test_a_pool_below_the_floor_of_its_mode_is_raised(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "strategy=pd_cluster&prefill_nodes=1")
    assert (view.selection["prefill_mode"], view.selection["prefill_nodes"]) == ("dep", "2")
    assert [entry["parameter"] for entry in view.adjustments] == ["prefill_nodes"]


def test_text_only_and_encoder_parallel_exclude_each_other(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "features=encoder_parallel,text_only")
    assert view.configuration["features"] == ["encoder_parallel"]
    view = answer(small, "acme/Big-MoE", "features=text_only,encoder_parallel")
    assert view.configuration["features"] == ["text_only"]


def test_a_feature_under_another_strategy_stays_selected_and_says_nothing(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "strategy=single_node_dep")
    assert "one_node" in view.configuration["features"]
    assert "--async-scheduling" not in view.commands[0]["argv"]


def test_the_mode_of_a_feature_follows_variant_hardware_and_wish(small: Collection) -> None:
    def mode(query: str) -> list[str]:
        view = answer(small, "acme/Big-MoE", query)
        return [line[1] for line in flags(view) if line[0] == "--speculative-config"]

    assert mode("") == []
    assert mode("variant=nvfp4") == ['{"method":"mtp","num_speculative_tokens":3}']
    assert mode("features=spec_decoding&hardware=h200") == ['{"method":"mtp","num_speculative_tokens":1}']
    assert mode("features=spec_decoding&fmode=spec_decoding:eagle")[0].startswith('{"method":"eagle3"')
    view = answer(small, "acme/Big-MoE", "features=spec_decoding&fmode=spec_decoding:eagle&hardware=mi355x")
    assert (view.selection["mode.spec_decoding"], view.adjustments[0]["requested"]) == ("mtp", "spec_decoding:eagle")


def test_the_exact_id_of_a_variant_wins_over_the_generation(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "")
    assert ["--block-size", "64"] in flags(view)
    assert ["--block-size", "128"] not in flags(view)
    assert ["--attention-backend", "FLASHINFER_MLA"] in flags(view)
    assert view.commands[0]["env"] == {"VLLM_LOGGING_LEVEL": "DEBUG"}


def test_a_block_of_the_strategy_by_generation_replaces_the_recipes(tmp_path: Path) -> None:
    changes = {
        "hardware_overrides": {"hopper": {"extra_args": ["--block-size", "16"]}},
        "strategy_overrides": {
            "single_node_tp": {"hardware_overrides": {"nvidia": {"extra_args": ["--max-num-seqs", "8"]}}},
            "multi_node_tp": {"hardware_overrides": {"h200": {"extra_args": ["--max-num-seqs", "4"]}}},
        },
    }
    assert flags(answered(tmp_path, "", **changes))[-1] == ["--max-num-seqs", "8"]
    several = answered(tmp_path / "b", "nodes=2", **changes)
    assert flags(several)[-2:] == [["--block-size", "16"], ["--max-num-seqs", "4"]]


def test_extra_args_come_before_vllm_args(tmp_path: Path) -> None:
    override = {"single_node_tp": {"extra_args": ["--max-num-seqs", "1"], "vllm_args": ["--block-size", "2"]}}
    assert flags(answered(tmp_path, "", strategy_overrides=override))[-2:] == [
        ["--max-num-seqs", "1"],
        ["--block-size", "2"],
    ]


def test_tensor_parallel_sizes(tmp_path: Path) -> None:
    meta = {"title": "T", "hardware": {"xeon6": "supported"}}

    def size(folder: str, query: str, **variant: Any) -> str:
        variants = {"default": {"vram_minimum_gb": 100, **variant}}
        (line,) = [
            line
            for line in flags(answered(tmp_path / folder, query, meta=meta, variants=variants))
            if "-size" in line[0]
        ]
        return line[1]

    assert size("a", "") == "1"
    assert size("b", "", vram_minimum_gb=200) == "8"
    assert size("c", "", tp=4) == "4"
    assert size("d", "", tp={"hopper": 2, "default": 4}) == "2"
    assert size("e", "", tp=16) == "8"
    assert size("f", "hardware=xeon6", tp=6) == "6"


def test_local_ranks_of_an_override_decide_where_followers_start(tmp_path: Path) -> None:
    override = {"multi_node_dep": {"extra_args": ["--data-parallel-size-local", "4"]}}
    view = answered(
        tmp_path, "nodes=3", compatible_strategies=["multi_node_dep", "single_node_tp"], strategy_overrides=override
    )
    starts = [
        line[1] for command in view.commands for line in command["lines"] if line[0] == "--data-parallel-start-rank"
    ]
    assert starts == ["4", "8"]


def test_extra_env_of_a_pool_strategy_is_ignored(tmp_path: Path) -> None:
    override = {"pd_cluster": {"env": {"A": "1"}, "extra_env": {"B": "2"}, "prefill": {"env": {"C": "3"}}}}
    view = answered(
        tmp_path,
        "strategy=pd_cluster",
        compatible_strategies=["single_node_tp", "pd_cluster"],
        strategy_overrides=override,
    )
    prefill, decode, _ = view.commands
    assert {"A", "C"} <= prefill["env"].keys()
    assert "A" in decode["env"]
    assert not {"B", "C"} & decode["env"].keys()


def test_pools_name_their_own_nodes_and_keep_rack_variables_for_racks(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "strategy=pd_cluster&hardware=gb200&prefill_nodes=4")
    hosts = [command["env"]["VLLM_NIXL_SIDE_CHANNEL_HOST"] for command in view.commands if command["role"] == "prefill"]
    assert hosts == [f"$PREFILL_NODE_{number}" for number in (1, 2, 3, 4)]
    assert view.commands[0]["env"]["NCCL_MNNVL_ENABLE"] == "1"
    elsewhere = answer(small, "acme/Big-MoE", "strategy=pd_cluster&hardware=h200").commands[0]["env"]
    assert not {"NCCL_MNNVL_ENABLE", "UCX_NET_DEVICES", "NCCL_CUMEM_ENABLE"} & elsewhere.keys()


def test_advanced_options_come_before_features(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "advanced=no_prefix_cache,max_batched_8k,ep_weight_filter,dcp_8")
    assert view.configuration["advanced"] == ["max_batched_8k", "dcp_8", "ep_weight_filter", "no_prefix_cache"]
    names = [line[0] for line in flags(view)]
    assert names.index("--no-enable-prefix-caching") < names.index("--enable-auto-tool-choice")


def test_an_advanced_option_for_experts_is_closed_elsewhere(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "advanced=ep_weight_filter&strategy=single_node_tp")
    assert view.configuration["advanced"] == []
    assert view.adjustments[0]["reason"] == "it is not offered with strategy=single_node_tp"
    assert "no_flashinfer_autotune" not in view.on_offer["advanced"]


def test_key_value_stores_only_on_hardware_that_can_be_joined(tmp_path: Path) -> None:
    meta = {"title": "T", "hardware": {"rtx_pro_6000": "supported"}}
    store = "kv_store_distributed_mooncake"
    closed = {store: {"b200": "unsupported"}}
    variants = {"default": {"vram_minimum_gb": 10}}
    changes = {"meta": meta, "variants": variants, "kv_cache_strategy_hardware": closed}
    offered = answered(tmp_path, "", **changes).on_offer["kv_offload"]
    assert store in offered
    assert store not in answered(tmp_path / "b", "hardware=b200", **changes).on_offer["kv_offload"]
    assert store not in answered(tmp_path / "c", "hardware=rtx_pro_6000", **changes).on_offer["kv_offload"]


def test_instances_after_the_first_have_their_own_address(tmp_path: Path) -> None:
    view = answered(tmp_path, "kv_offload=kv_store_centralized_mooncake&nodes=2&kv_instances=2")
    assert [(command["role"], command["instance"], command["rank"]) for command in view.commands] == [
        ("kv_master", None, None), ("kv_store", None, None), ("serve", 0, 0), ("worker", 0, 1), ("serve", 1, 0),
        ("worker", 1, 1), ("router", None, None),
    ]  # fmt: skip
    addresses = [line[1] for command in view.commands for line in command["lines"] if line[0] == "--master-addr"]
    assert addresses == ["$VLLM_INSTANCE_1", "$VLLM_INSTANCE_1", "$VLLM_INSTANCE_2", "$VLLM_INSTANCE_2"]
    single = answered(tmp_path / "b", "kv_offload=kv_store_centralized_mooncake&nodes=2&kv_instances=1")
    assert ["--master-addr", "$HEAD_IP"] in single.commands[2]["lines"]
    assert "router" not in [command["role"] for command in single.commands]


def test_a_key_value_store_with_pools_has_no_instances(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "strategy=pd_cluster&kv_offload=kv_store_distributed_mooncake")
    assert "kv_instances" not in view.selection
    roles = list(dict.fromkeys(command["role"] for command in view.commands))
    assert roles == ["kv_master", "prefill", "decode", "router"]
    (config,) = [line[1] for line in view.commands[1]["lines"] if line[0] == "--kv-transfer-config"]
    assert "MultiConnector" in config
    assert view.commands[1]["files"][0]["path"] == "$MOONCAKE_CONFIG_PATH"


def test_features_with_a_companion_are_skipped_beside_a_store(tmp_path: Path) -> None:
    feature = {"args": ["--async-scheduling"], "companion": {"label": "Helper", "command": "helper --run"}}
    with_helper = answered(tmp_path, "", features={"x": feature})
    assert [command["role"] for command in with_helper.commands] == ["serve", "companion"]
    assert (with_helper.commands[1]["name"], with_helper.commands[1]["text"]) == ("Helper", "helper --run")
    without = answered(tmp_path / "b", "kv_offload=kv_store_distributed_mooncake", features={"x": feature})
    assert "companion" not in [command["role"] for command in without.commands]
    assert "--async-scheduling" not in without.commands[-1]["argv"]


def test_omni_tasks(small: Collection) -> None:
    plain = answer(small, "zeta/Paint", "")
    assert plain.commands[0]["argv"] == [
        "vllm",
        "serve",
        "zeta/Paint",
        "--trust-remote-code",
        "--port",
        "8091",
        "--omni",
    ]
    edit = answer(small, "zeta/Paint", "task=edit&variant=fp8&hardware=rtx_pro_6000")
    assert edit.commands[0]["argv"] == [
        "vllm", "serve", "zeta/Paint-Edit", "--trust-remote-code", "--quantization", "fp8", "--max-num-seqs", "1",
        "--port", "8091", "--omni",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "query", "image"),
    [
        ({"model": {"model_id": "a/b"}}, "", "vllm/vllm-openai:latest"),
        ({"model": {"model_id": "a/b", "nightly_required": True}}, "", "vllm/vllm-openai:nightly"),
        ({"model": {"model_id": "a/b", "nightly_required": True}}, "hardware=mi300x", "vllm/vllm-openai-rocm:nightly"),
        ({"variants": {"default": {"vram_minimum_gb": 1, "nightly_required": True}}, "model": {"model_id": "a/b"}}, "",
         "vllm/vllm-openai:nightly"),
        ({}, "hardware=mi300x", "vllm/vllm-openai-rocm:latest"),
        ({"model": {"model_id": "a/b", "docker_image": {"amd": "x:1"}}}, "", "vllm/vllm-openai:latest"),
        ({"model": {"model_id": "a/b", "docker_image": {"cu129": "x:129", "cu130": "x:130"}}}, "", "x:130"),
        ({"model": {"model_id": "a/b", "docker_image": {"cu129": "x:129", "cu130": "x:130"}}}, "cuda=cu129", "x:129"),
        ({"model": {"model_id": "a/b", "docker_image": {"nvidia": {"cu129": "x:129"}}}}, "", "x:129"),
        ({"model": {"model_id": "a/b", "docker_image": "docker pull x"}}, "", "vllm/vllm-openai:latest"),
        ({"variants": {"default": {"vram_minimum_gb": 1, "docker_image": "y:1"}}}, "", "y:1"),
        ({"variants": {"default": {"vram_minimum_gb": 1, "docker_image": "y:1",
                                   "hardware_overrides": {"h200": {"docker_image": "z:1"}}}}}, "", "z:1"),
        ({"variants": {"default": {"vram_minimum_gb": 1, "hardware_overrides": {"mi300x": {"docker_image": "z:1"}}}}},
         "hardware=mi300x", "z:1"),
    ],
)  # fmt: skip
def test_images(tmp_path: Path, changes: dict[str, Any], query: str, image: str) -> None:
    assert answered(tmp_path, query, **changes).facts["image"] == image


def test_docker_for_a_gated_local_checkpoint_on_its_own_port(tmp_path: Path) -> None:
    view = answered(tmp_path, "", model=model(model_id="/models/x", gated=True, base_args=["--port", "9000"]))
    assert view.processes[0].docker == (
        "docker run --gpus all \\\n  --privileged --ipc=host -p 9000:9000 \\\n"
        "  -v ~/.cache/huggingface:/root/.cache/huggingface \\\n  -v /models/x:/models/x:ro \\\n  -e HF_TOKEN \\\n"
        "  vllm/vllm-openai:v0.26.0 /models/x \\\n  --port 9000 \\\n  --tensor-parallel-size 1"
    )
    assert "HF_TOKEN" in [entry.name for entry in view.placeholders]


def test_several_nodes_share_the_network_of_their_host(tmp_path: Path) -> None:
    docker = answered(tmp_path, "nodes=2").processes[1].docker or ""
    assert "--network host" in docker
    assert "-p 8000" not in docker


@pytest.mark.parametrize(
    ("query", "changes", "command"),
    [
        ("", {}, "uv pip install -U vllm --torch-backend auto"),
        ("hardware=mi300x", {}, "uv pip install vllm --extra-index-url https://wheels.vllm.ai/rocm"),
        ("", {"model": model(nightly_required=True)},
         "uv pip install -U vllm --pre --extra-index-url https://wheels.vllm.ai/nightly/cu130"
         " --extra-index-url https://download.pytorch.org/whl/cu130 --index-strategy unsafe-best-match"),
        ("", {"model": model(install={"pip": {"command": "make it"}})}, "make it"),
    ],
)  # fmt: skip
def test_installation(tmp_path: Path, query: str, changes: dict[str, Any], command: str) -> None:
    assert str(answered(tmp_path, query, **changes).facts["pip"]).splitlines()[-1] == command


def test_installation_can_be_hidden(tmp_path: Path) -> None:
    assert answered(tmp_path, "", model=model(install={"pip": False})).facts["pip"] is None


def test_the_version_is_the_highest_minimum(small: Collection) -> None:
    assert answer(small, "acme/Big-MoE", "").facts["min_vllm_version"] == "0.26.0"
    assert answer(small, "acme/Big-MoE", "variant=mxfp4").facts["min_vllm_version"] == "0.33.0"
    store = answer(small, "acme/Small-8B", "kv_offload=kv_store_distributed_mooncake")
    assert store.facts["min_vllm_version"] == "0.21.0"


def test_a_recipe_that_nothing_can_run_is_an_error(tmp_path: Path) -> None:
    from site_builder.collection import compile_all
    from tests.helpers import recipe_text, with_recipe

    collection = compile_all(with_recipe(tmp_path, recipe_text(compatible_strategies=[])))
    assert [str(problem) for problem in collection.problems] == [
        "models/acme/Test.yaml: no strategy is offered; name at least one in compatible_strategies"
        " that some hardware can use"
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-tp", "2", "--tensor-parallel-size", "4"], [["--tensor-parallel-size", "4"]]),
        (["--max_model_len", "1", "--max-model-len=2"], [["--max-model-len=2"]]),
        (["--enable-prefix-caching", "--no-enable-prefix-caching"], [["--no-enable-prefix-caching"]]),
        (["-cc.mode", "none", "-cc.mode=3"], [["-cc.mode=3"]]),
        (["-cc.custom_ops+", "-quant_fp8", "-cc.custom_ops+", "+rms_norm"],
         [["-cc.custom_ops+", "-quant_fp8"], ["-cc.custom_ops+", "+rms_norm"]]),
        (["--seed", "-1"], [["--seed", "-1"]]),
        (["--served-model-name", "a", "b", "--block-size", "1"], [["--served-model-name", "a", "b"], ["--block-size", "1"]]),
        (["--middleware", "a", "--middleware", "b"], [["--middleware", "a"], ["--middleware", "b"]]),
        (["-O3", "-O2"], [["-O2"]]),
        (["--max-model-len auto"], [["--max-model-len", "auto"]]),
        (["--block-size", 4096], [["--block-size", "4096"]]),
        (["--logits_processors", "x:Y"], [["--logits_processors", "x:Y"]]),
    ],
)  # fmt: skip
def test_one_flag_however_it_is_spelled(tmp_path: Path, args: list[Any], expected: list[list[str]]) -> None:
    strategy = ["single_node_tp"]
    view = answered(tmp_path, "", model=model(base_args=args), compatible_strategies=strategy, variants=_one_gpu())
    lines = [line for line in flags(view) if line != ["--tensor-parallel-size", "1"]]
    if args[0] == "-tp":
        expected = []
    assert lines == expected


def _one_gpu() -> dict[str, Any]:
    return {"default": {"precision": "bf16", "vram_minimum_gb": 10}}


def test_a_grammar_without_tables_reads_by_looks() -> None:
    grammar = Grammar.of([])
    assert list(grammar.split(["--a", "-1", "--b=1", "x", "--no-c"])) == [["--a", "-1"], ["--b=1", "x"], ["--no-c"]]
    assert grammar.key("--no-c") == grammar.key("--c")


def test_the_canonical_query_settles_on_the_same_selection(small: Collection, own_collection: Collection) -> None:
    import random

    chance = random.Random(7)
    for collection in (small, own_collection):
        for recipe_id, plan in collection.plans.items():
            for _ in range(60):
                view = answer(collection, recipe_id, random_query(plan, chance))
                again = answer(collection, recipe_id, view.query)
                assert again.selection == view.selection, view.query
                assert list(again.adjustments) == []
                assert again.query == view.query


def test_every_offered_option_can_be_picked(small: Collection) -> None:
    from site_builder.plan import opened_by, values_of
    from site_builder.resolve import pick

    for plan in small.plans.values():
        for axis in plan["axes"]:
            for value in values_of(axis):
                if opened_by(axis, value):
                    asked = pick(plan, {}, (axis["id"], value))
                    assert asked is not None, (plan["id"], axis["id"], value)
                    selection = resolve(plan, {"asked": asked, "notes": []})["selection"]
                    assert selection[axis["id"]] == value
                    assert canonical(plan, selection) is not None
