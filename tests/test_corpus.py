"""Every configuration of the corpus comes out as it is recorded there."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
import math
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from site_builder.build import build
from site_builder.checks import check
from site_builder.collection import Collection, compile_all
from site_builder.compiler import Grammar
from site_builder.compiler.layers import RACK_ONLY_VARIABLES
from site_builder.errors import Problem
from site_builder.evaluate import evaluate, facts_of
from site_builder.plan import values_of
from site_builder.render.as_html import Theme
from site_builder.render.records import record
from site_builder.resolve import resolve
from site_builder.site import SiteContext
from site_builder.urls import Addresses

pytestmark = pytest.mark.corpus
IMAGE_KEYS = ("docker_image", "docker_command", "processes")


@pytest.fixture(scope="module")
def records(corpus: Path) -> list[dict[str, Any]]:
    with gzip.open(corpus / "expected.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def answers(records: list[dict[str, Any]], corpus_collection: Collection) -> list[dict[str, Any]]:
    return [
        record(corpus_collection, json.dumps({"recipe": entry["recipe"], "query": entry["query"]})) for entry in records
    ]


def shown(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The processes that a record lists: of pools the named rank, of key-value stores the first instance."""
    selection, processes = answer["selection"], answer["processes"]
    if selection.get("strategy") == "pd_cluster":
        ranks = {role: selection[f"{role}_rank"] for role in ("prefill", "decode")}
        return [process for process in processes if process["rank"] == ranks.get(process["role"], process["rank"])]
    if "kv_instances" in selection:
        servers = [id(process) for process in processes if process["role"] in ("serve", "worker")]
        others = servers[selection["nodes"] :]
        return [process for process in processes if id(process) not in others]
    return processes


def mismatches(entry: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """What an answer says differently from its record."""
    expect, found = entry["expect"], []
    for key, value in expect.items():
        if key not in IMAGE_KEYS and answer["selection"].get(key) != value:
            found.append(key)
    found += [key for key in ("docker_image", "docker_command") if key in expect and answer[key] != expect[key]]
    processes = shown(answer)
    if [process["role"] for process in processes] != [process["role"] for process in expect["processes"]]:
        return [*found, "roles"]
    for process, expected in zip(processes, expect["processes"], strict=True):
        found += [f"{expected['role']}.{key}" for key, value in expected.items() if process.get(key) != value]
    return found


def test_every_record_without_a_deliberate_difference_matches(
    records: list[dict[str, Any]], answers: list[dict[str, Any]]
) -> None:
    wrong = [
        (entry["recipe"], entry["query"], mismatches(entry, answer))
        for entry, answer in zip(records, answers, strict=True)
        if not entry.get("differs") and mismatches(entry, answer)
    ]
    assert wrong[:5] == []
    assert Counter(entry["kind"] for entry in records if not entry.get("differs")) == {
        "strategy": 5747, "features": 2881, "kv_offload": 2634, "default": 2052, "kv_store": 1498, "omni": 476, "pd": 457,
        "pd_sized": 110,
    }  # fmt: skip


def test_the_recipes_of_this_project_give_the_recorded_commands(
    records: list[dict[str, Any]], own_collection: Collection
) -> None:
    own = [entry for entry in records if entry["recipe"] in own_collection.plans and not entry.get("differs")]
    assert len(own) > 100
    wrong = []
    for entry in own:
        answer = record(own_collection, json.dumps({"recipe": entry["recipe"], "query": entry["query"]}))
        # The comment lines of the coordinator's command are our own words.
        found = [name for name in mismatches(entry, answer) if name not in ("kv_master.command", "companion.command")]
        wrong += [(entry["recipe"], entry["query"], found)] if found else []
    assert wrong == []


def by_reason(records: list[dict[str, Any]], answers: list[dict[str, Any]], reason: str) -> list[Any]:
    pairs = [pair for pair in zip(records, answers, strict=True) if reason in pair[0].get("reason", [])]
    assert pairs
    return pairs


def test_only_nvidia_sees_cuda_visible_devices(records: list[Any], answers: list[Any]) -> None:
    for entry, answer in by_reason(records, answers, "CUDA_VISIBLE_DEVICES off NVIDIA"):
        for process, expected in zip(shown(answer), entry["expect"]["processes"], strict=True):
            if process["role"] in ("prefill", "decode"):
                recorded = dict(expected["env"])
                devices = recorded.pop("CUDA_VISIBLE_DEVICES")
                own = {"HIP_VISIBLE_DEVICES": devices} if answer["selection"]["hardware"].startswith("mi") else {}
                assert process["env"] == recorded | own


def test_an_image_is_never_a_command(records: list[Any], answers: list[Any]) -> None:
    for entry, answer in by_reason(records, answers, "the image is a command"):
        assert entry["expect"]["docker_image"].startswith("docker pull ")
        assert answer["docker_image"] == "vllm/vllm-openai-rocm:minimax-m3"


def test_there_is_no_docker_command_for_npu(records: list[Any], answers: list[Any]) -> None:
    images = set()
    for _, answer in by_reason(records, answers, "no docker flags for npu"):
        assert answer["docker_command"] is None
        images.add(answer["docker_image"])
    assert images == {None, "quay.io/ascend/vllm-ascend:qwen3.8-a5"}


def test_a_feature_that_the_hardware_closes_is_off(records: list[Any], answers: list[Any]) -> None:
    for entry, answer in by_reason(records, answers, "feature closed on this hardware"):
        missing = set(entry["expect"]["features"]) - set(answer["selection"]["features"])
        assert [adjustment["requested"] for adjustment in answer["adjustments"]] == sorted(missing)
        assert "--speculative-config" not in answer["processes"][0]["argv"]


def test_no_single_node_strategy_runs_on_several_nodes(records: list[Any], answers: list[Any]) -> None:
    for _, answer in by_reason(records, answers, "a single-node strategy at several nodes"):
        assert answer["selection"]["strategy"].startswith("multi_node_")


def test_the_exact_hardware_id_wins_over_the_generation(
    records: list[Any], answers: list[Any], corpus_collection: Collection
) -> None:
    grammar = Grammar.of(corpus_collection.catalog.flag_tables)
    for entry, answer in by_reason(records, answers, "exact id against generation"):
        selection = answer["selection"]
        variant = corpus_collection.recipe(entry["recipe"]).file.variants[selection["variant"]]
        exact = variant.hardware_overrides[selection["hardware"]]
        server = next(process for process in answer["processes"] if process.get("argv"))
        dropped = RACK_ONLY_VARIABLES if selection["strategy"] == "pd_cluster" else ()
        kept = {name: value for name, value in exact.extra_env.items() if name not in dropped}
        assert kept.items() <= server["env"].items()
        override = corpus_collection.recipe(entry["recipe"]).file.strategy_overrides.get(selection["strategy"])
        later = [] if override is None else [*override.extra_args, *override.vllm_args]
        if override and selection["strategy"] == "pd_cluster":
            for role in (override.prefill, override.decode):
                later += [*role.extra_args, *role.vllm_args]
                later += [word for block in role.hardware_overrides.values() for word in block.extra_args]
        if override and selection["hardware"] in override.hardware_overrides:
            later += override.hardware_overrides[selection["hardware"]].extra_args
        groups = list(grammar.split(server["argv"][3:]))
        for group in grammar.split(exact.extra_args):
            assert group in groups or group[0] in later


def sizes_of(collection: Collection) -> list[int]:
    return sorted(len(json.dumps(plan, separators=(",", ":"))) for plan in collection.plans.values())


def test_plans_are_small(corpus_collection: Collection) -> None:
    """Under 8 kB in the median for serving itself; KV offload adds the same 6 kB of vocabulary to every plan."""
    catalog = corpus_collection.catalog
    taxonomy = catalog.taxonomy.model_copy(update={"kv_offload": {}})
    serving = sizes_of(compile_all(dataclasses.replace(catalog, taxonomy=taxonomy, kv_stores={})))
    assert serving[len(serving) // 2] < 8_000
    whole = sizes_of(corpus_collection)
    assert whole[len(whole) // 2] < 13_000
    assert whole[-1] < 50_000


def test_commands_split_to_their_words_and_are_sound_shell(answers: list[dict[str, Any]], tmp_path: Path) -> None:
    """The whole corpus in one ``bash -n``: each command is the body of a function."""
    commands: dict[str, None] = {}
    for answer in answers:
        for process in answer["processes"]:
            commands[process["command"]] = None
            if process.get("argv"):
                assert shlex.split(process["command"].replace("\\\n", " ")) == process["argv"]
    script = tmp_path / "all.sh"
    functions = [f"f{number}() {{\n{command}\n}}" for number, command in enumerate(commands)]
    script.write_text("\n".join(functions), encoding="utf-8")
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_flag_stands_twice_and_nothing_is_empty(
    answers: list[dict[str, Any]], corpus_collection: Collection
) -> None:
    grammar = Grammar.of(corpus_collection.catalog.flag_tables)
    for answer in answers:
        for process in answer["processes"]:
            words = process.get("argv")
            if not words or process["role"] == "router":
                continue
            keys = [grammar.key(group[0]) for group in grammar.split(words[3:])]
            repeated = [key for key, count in Counter(key for key in keys if key).items() if count > 1]
            assert repeated == [], answer["recipe"]
            assert not {"None", "nan", "", "undefined"} & set(words)
            for word in words:
                if word.startswith(("{", "[")):
                    json.loads(word)


def test_ranks_are_each_there_once_and_the_router_lists_the_servers(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        selection, processes = answer["selection"], answer["processes"]
        if selection.get("strategy") == "pd_cluster":
            router = next(process for process in processes if process["role"] == "router")["argv"]
            for role in ("prefill", "decode"):
                nodes = selection[f"{role}_nodes"]
                assert [process["rank"] for process in processes if process["role"] == role] == list(range(nodes))
                listed = [router[place + 1] for place, word in enumerate(router) if word == f"--{role}"]
                serving = range(1, nodes + 1) if selection[f"{role}_mode"] == "dep" else [1]
                port = 8001 if role == "prefill" else 8002
                assert listed == [f"http://${role.upper()}_NODE_{number}:{port}" for number in serving]
        elif "kv_instances" in selection:
            instances = selection["kv_instances"]
            routers = [process["argv"] for process in processes if process["role"] == "router"]
            assert len(routers) == (instances > 1)
            listed = [word for router in routers for word in router if "$VLLM_INSTANCE_" in word]
            assert (
                listed
                == [f"http://$VLLM_INSTANCE_{number}:8000" for number in range(1, instances + 1)][
                    : 99 * (instances > 1)
                ]
            )
            ranks = [process["rank"] for process in processes if process["role"] in ("serve", "worker")]
            assert ranks == list(range(selection["nodes"])) * instances
        elif "nodes" in selection and selection["nodes"] > 1:
            assert [process["rank"] for process in processes if process["rank"] is not None] == list(
                range(selection["nodes"])
            )


def test_the_whole_corpus_is_built_and_a_second_build_writes_nothing(
    corpus_collection: Collection, tmp_path: Path
) -> None:
    context = SiteContext(corpus_collection, Addresses("", "hardware"), Theme())
    first = build(context, tmp_path / "dist")
    assert len(corpus_collection.plans) == 131
    assert (tmp_path / "dist" / "moonshotai" / "Kimi-K2.5" / "index.html").exists()
    second = build(SiteContext(corpus_collection, Addresses("", "hardware"), Theme()), tmp_path / "dist")
    assert (first.removed, second.written, second.removed, second.unchanged) == (0, 0, 0, first.written)


@pytest.fixture(scope="module")
def findings(corpus_collection: Collection) -> list[Problem]:
    return check(corpus_collection)


def test_check_names_the_mistakes_that_are_in_the_corpus(
    corpus_collection: Collection, findings: list[Problem]
) -> None:
    assert [str(problem) for problem in corpus_collection.problems] == []
    messages = [str(problem) for problem in findings]
    for pattern in (
        r'hardware "h20" is not in taxonomy\.yaml; did you mean "h200"\?',
        r'hardware "a100" is not in taxonomy\.yaml',
        r"the code block that opens here with .* is never closed",
        r"related recipe .* does not exist",
        r'the link "\.\./.*" leads to nothing on this site',
        r"docker_image holds \"docker pull vllm/vllm-openai-rocm:nightly\", which is no image",
        r"in the guide: .* is no flag of vLLM",
    ):
        assert any(re.search(pattern, message) for message in messages), pattern
    assert not any(
        "-cc.mode" in message or "-quant_fp8" in message or "speculative-config.method" in message
        for message in messages
    )


def test_parallel_sizes_fill_the_gpus_wherever_no_override_writes_them_by_hand(
    corpus_collection: Collection, findings: list[Problem]
) -> None:
    """Every recipe × variant × hardware × strategy: TP × PP × DP is the number of GPUs; ``single_node_tp`` may take fewer."""
    by_hand = {problem.path for problem in findings if " ranks for " in problem.message}
    counted = 0
    for recipe_id, plan in corpus_collection.plans.items():
        axes = {axis["id"]: values_of(axis) for axis in plan["axes"]}
        if f"models/{recipe_id}.yaml" in by_hand or "strategy" not in axes:
            continue
        for variant, hardware, strategy in itertools.product(axes["variant"], axes["hardware"], axes["strategy"]):
            asked = {"variant": variant, "hardware": hardware, "strategy": strategy}
            asked |= {"nodes": "4"} if strategy.startswith("multi") else {}
            selection = resolve(plan, {"asked": asked, "notes": []})["selection"]
            if asked.items() - selection.items():
                continue
            gpus = int(str(facts_of(plan, selection)["gpus"]))
            for command in evaluate(plan, selection):
                words = {line[0]: line[-1] for line in command["lines"]}
                ranks = math.prod(int(words[flag]) for flag in plan["sizes"] if words.get(flag, "").isdigit())
                if command["role"] in ("prefill", "decode"):
                    nodes = int(selection[f"{command['role']}_nodes"])
                elif command["role"] in ("serve", "head", "worker"):
                    nodes = int(selection["nodes"])
                else:
                    continue
                counted += 1
                assert ranks == gpus * nodes or (strategy == "single_node_tp" and ranks <= gpus), (recipe_id, asked)
    assert counted > 10_000


def test_no_variable_of_another_brand(answers: list[dict[str, Any]], corpus_collection: Collection) -> None:
    profiles = corpus_collection.catalog.taxonomy.hardware_profiles
    foreign = {
        "NVIDIA": ("HIP_", "VLLM_ROCM_"),
        "AMD": ("CUDA_VISIBLE",),
        "Google": ("CUDA_", "HIP_"),
        "Intel": ("CUDA_", "HIP_"),
    }
    for answer in answers:
        prefixes = foreign.get(profiles[answer["selection"]["hardware"]].brand, ())
        names = [name for process in answer["processes"] for name in process.get("env", {})]
        assert [name for name in names if name.startswith(prefixes)] == [], (answer["recipe"], answer["query"])


def prose_runs(text: str) -> set[tuple[str, ...]]:
    """Every run of eight words of prose; code, addresses and names of flags do not count."""
    text = re.sub(r"```.*?```", " | ", text, flags=re.S)
    text = re.sub(r"`[^`]*`|https?://\S+", " | ", text)
    runs = set()
    for piece in text.split("|"):
        words = re.findall(r"[a-z0-9']+", piece.lower())
        runs |= {tuple(words[start : start + 8]) for start in range(len(words) - 7)}
    return runs


def test_no_guide_shares_a_sentence_with_the_corpus(corpus_collection: Collection, own_collection: Collection) -> None:
    theirs = set().union(*(prose_runs(recipe.file.guide) for recipe in corpus_collection.catalog.recipes.values()))
    for recipe_id, recipe in own_collection.catalog.recipes.items():
        assert sorted(prose_runs(recipe.file.guide) & theirs) == [], recipe_id
