"""What the formats say, and that they all say the same."""

from __future__ import annotations

import html
import json
import random
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from site_builder.choices import Row
from site_builder.collection import Collection
from site_builder.pages import find_page
from site_builder.query import configuration
from site_builder.render import as_json, as_markdown
from site_builder.render.as_html import Surroundings, Theme, recipe_page
from site_builder.render.exports import shell_script
from site_builder.render.guide import moved_down, read
from site_builder.render.records import record
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import View, answer, describe_placeholder
from tests.helpers import answered
from tests.test_twins import random_query

ADDRESSES = Addresses()
SERVE = """## Serve

```bash
vllm serve moonshotai/Kimi-K2.5 \\
  --trust-remote-code \\
  --tensor-parallel-size 8 \\
  --tool-call-parser kimi_k2 \\
  --enable-auto-tool-choice \\
  --reasoning-parser kimi_k2 \\
  --speculative-config '{"model":"lightseekorg/kimi-k2.5-eagle3-mla","method":"eagle3","num_speculative_tokens":3}' \\
  --mm-encoder-tp-mode data
```

Docker equivalent:

```bash
docker run --gpus all \\
  --privileged --ipc=host -p 8000:8000 \\
  -v ~/.cache/huggingface:/root/.cache/huggingface \\
  vllm/vllm-openai:latest moonshotai/Kimi-K2.5 \\
  --trust-remote-code \\
  --tensor-parallel-size 8 \\
  --tool-call-parser kimi_k2 \\
  --enable-auto-tool-choice \\
  --reasoning-parser kimi_k2 \\
  --speculative-config '{"model":"lightseekorg/kimi-k2.5-eagle3-mla","method":"eagle3","num_speculative_tokens":3}' \\
  --mm-encoder-tp-mode data
```
"""


def test_the_markdown_of_kimi_k2_5_on_h200(own_collection: Collection) -> None:
    text = as_markdown.render(answer(own_collection, "moonshotai/Kimi-K2.5", "hardware=h200"), ADDRESSES)
    assert text.startswith("# moonshotai/Kimi-K2.5 — vLLM serving recipe\n\n> ")
    assert (
        "\nConfiguration: hardware `h200` (8× H200) · strategy `single_node_tp` (Tensor Parallel) · variant `default` (INT4)"
        " · features `tool_calling`, `reasoning`, `spec_decoding`, `encoder_parallel`\n"
    ) in text
    others = text.split("## Other configurations")[1].split("## Install")[0]
    for line in (
        "- `hardware`: `h100`, `h200`, `b200`, `gb200`, `b300`, `gb300`, `mi300x`, `mi325x`, `mi350x`, `mi355x`",
        "- `variant`: `default`, `nvfp4`, `mxfp4`",
        "- `strategy`: `single_node_tp`, `single_node_tep`, `single_node_dep`, `multi_node_tp`, `multi_node_tp_pp`,"
        " `multi_node_dep`, `multi_node_tep`, `pd_cluster` (multi-node strategies also need `nodes=<n>`)",
        "- `features`: comma-separated list of `tool_calling`, `reasoning`, `spec_decoding`, `text_only`, `encoder_parallel`"
        " (default: `tool_calling`, `reasoning`, `spec_decoding`, `encoder_parallel`)",
    ):
        assert line in others.splitlines()
    assert (
        "## Install\n\nRequires vLLM >= 0.19.1.\n\n```bash\nuv venv\nsource .venv/bin/activate\n"
        "uv pip install -U vllm --torch-backend auto\n```\n\nDocker image: `vllm/vllm-openai:latest`\n"
    ) in text
    assert SERVE in text
    assert "\n#### Overview\n" in text


def test_adjustments_stand_in_every_format(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "hardware=h999&nodes=77&colour=red&hardware=h998")
    asked = [(entry["parameter"], entry["requested"], entry["used"]) for entry in view.adjustments]
    assert asked == [
        ("hardware", "h999", "h998"),
        ("colour", "red", ""),
        ("hardware", "h998", "b200"),
        ("nodes", "77", "16"),
    ]
    texts = [
        as_markdown.render(view, ADDRESSES),
        as_json.render(view, ADDRESSES),
        html.unescape(recipe_page(view, Surroundings(small.catalog.site, ADDRESSES, Theme()))),
    ]
    for text in texts:
        for entry in view.adjustments:
            assert entry["reason"] in text
            assert entry["requested"] in text


def test_a_map_of_parameters_and_a_query_string_are_the_same(small: Collection) -> None:
    one = answer(small, "acme/big-moe", {"Hardware": "H200", "nodes": "2"})
    other = answer(small, "acme/Big-MoE", "nodes=2&hardware=h200")
    assert (one.selection, one.query) == (other.selection, other.query)


def shell_of_markdown(text: str) -> list[str]:
    """The code blocks under Serve that are commands for a shell, without the environment."""
    blocks = re.findall(r"^```bash\n(.*?)\n```$", text.split("\n## Serve\n")[1].split("\n## Try it\n")[0], re.M | re.S)
    return [block.split("\n\n", 1)[1] if block.startswith("export ") and "\n\n" in block else block for block in blocks]


@pytest.mark.parametrize("seed", range(4))
def test_page_json_markdown_show_and_render_agree(own_collection: Collection, small: Collection, seed: int) -> None:
    chance = random.Random(seed)
    around = {id(c): Surroundings(c.catalog.site, ADDRESSES, Theme()) for c in (own_collection, small)}
    for _ in range(50):
        collection = chance.choice([own_collection, small])
        recipe_id = chance.choice(list(collection.plans))
        query = random_query(collection.plans[recipe_id], chance)
        view = answer(collection, recipe_id, query)
        document = json.loads(as_json.render(view, ADDRESSES))
        line = record(
            collection,
            json.dumps({"recipe": recipe_id, "query": dict(pair.split("=", 1) for pair in query.split("&") if pair)}),
        )
        commands = [process["command"] for process in line["processes"]]
        assert [process["command"] for process in document["processes"]] == commands
        assert {
            key: value for key, value in document["configuration"].items() if key not in ("query", "summary")
        } == line["selection"]
        assert document["adjustments"] == line["adjustments"]
        markdown = as_markdown.render(view, ADDRESSES)
        found = shell_of_markdown(markdown)
        assert [command for command in commands if command not in found] == []
        page = html.unescape(re.sub(r"<[^>]+>", "", recipe_page(view, around[id(collection)])))
        shown = [
            process.docker if view.selection["install"] == "docker" and process.docker else process.text
            for process in view.processes
        ]
        assert [command for command in shown if command not in page] == []


def test_the_fields_of_the_public_api_for_each_deployment(small: Collection) -> None:
    def command(query: str) -> dict[str, Any]:
        document = json.loads(as_json.render(answer(small, "acme/Big-MoE", query), ADDRESSES))
        assert {
            "hf_id",
            "meta",
            "recommended_command",
            "model",
            "features",
            "opt_in_features",
            "variants",
            "guide",
        } <= document.keys()
        assert {
            "schema_version",
            "configuration",
            "adjustments",
            "choices",
            "processes",
            "warnings",
            "links",
            "placeholders",
        } <= document.keys()
        found: dict[str, Any] = document["recommended_command"]
        assert {"hardware", "strategy", "variant", "node_count", "deploy_type", "env", "docker_image", "strategy_spec",
                "hardware_profile", "alternatives", "by_hardware"} <= found.keys()  # fmt: skip
        return found

    single = command("")
    assert {"command", "argv", "docker_command", "docker_argv", "companions"} <= single.keys()
    multi = command("nodes=3&hardware=h200")
    assert (multi["node_count"], len(multi["worker_commands"]), multi["worker_argv"]) == (
        3,
        2,
        multi["worker_argvs"][0],
    )
    assert {
        "head_command",
        "head_argv",
        "head_docker_command",
        "worker_docker_commands",
        "worker_docker_argvs",
    } <= multi.keys()
    pools = command("strategy=pd_cluster&decode_rank=0")
    assert (pools["prefill"]["nodes"], pools["prefill"]["parallelism"], pools["decode"]["tp"]) == (2, "dep", 8)
    assert pools["router"].startswith("vllm-router --policy round_robin")
    store = command("kv_offload=kv_store_centralized_mooncake")
    assert (store["deploy_type"], store["serving_strategy"], store["instances"]) == (
        "kv_store_lb",
        "single_node_tep",
        2,
    )
    assert {"vllm_command", "vllm_argv", "master", "store", "router", "mooncake_config"} <= store.keys()


def test_the_checkpoint_of_a_variant_says_where_it_comes_from(small: Collection) -> None:
    document = json.loads(as_json.render(answer(small, "nvidia/Big-MoE-NVFP4", ""), ADDRESSES))
    assert document["hf_id"] == "nvidia/Big-MoE-NVFP4"
    assert (document["meta"]["derived_from"], document["meta"]["variant"]) == ("acme/Big-MoE", "nvfp4")


def test_answers_stay_small(own_collection: Collection) -> None:
    context = SiteContext(own_collection, ADDRESSES, Theme())
    found = find_page("moonshotai/Kimi-K2.5.json")
    assert found
    text = found[0].text(context, found[1], "strategy=pd_cluster&prefill_nodes=16&decode_nodes=16")
    assert len(text.body.encode()) < 256 * 1024


def test_placeholders_are_explained() -> None:
    assert describe_placeholder("PREFILL_NODE_3") == "address of prefill node 3"
    assert describe_placeholder("HEAD_IP") == "address of the first node, as the other nodes reach it"
    assert describe_placeholder("SOMETHING") == ""


def test_headings_move_down_and_code_stays() -> None:
    text = "## A\n\n```bash\n# no heading\n## neither\n```\n\n#### B\n\nSetext\n======\n"
    assert moved_down(text, 2) == "#### A\n\n```bash\n# no heading\n## neither\n```\n\n###### B\n\nSetext\n======\n"


def test_a_table_of_a_guide_has_no_inline_style() -> None:
    guide = read("| a | b |\n|:--|--:|\n| 1 | 2 |\n")
    assert "style=" not in guide.html
    assert '<td class="align-right">2</td>' in guide.html


def test_code_of_a_guide_can_be_scrolled_by_keyboard() -> None:
    html = read("    indented\n\n```bash\nls\n```\n\n```unknown\n<x>\n```\n").html
    assert html.count('<pre tabindex="0"><code') == 3


def test_an_empty_cell_of_a_guide_heads_no_column() -> None:
    html = read("| | head |\n|-|-|\n| a | b |\n").html
    assert html.split("<tbody>")[0].split() == [
        "<table>",
        "<thead>",
        "<tr>",
        "<td></td>",
        "<th>head</th>",
        "</tr>",
        "</thead>",
    ]


def test_a_guide_shows_html_as_text() -> None:
    guide = read("## One <b>two</b>\n\n<script>alert(1)</script>\n\n```bash\necho '<i>'\n```\n")
    assert "<script>" not in guide.html
    assert "<b>" not in guide.html
    assert "<i>" not in guide.html
    assert guide.headings[0].anchor


STUB = """#!/usr/bin/env bash
printf '%s\\0' "$(basename "$0")" "$@" > "$RECORD"
env -0 > "$RECORD.env"
"""


def placeholders_of(view: View) -> dict[str, str]:
    return {entry.name: f"${entry.name}" for entry in view.placeholders if entry.name != "~"}


@pytest.mark.parametrize(
    ("recipe", "query"),
    [
        ("acme/Big-MoE", ""),
        ("acme/Big-MoE", "nodes=2&hardware=h200"),
        ("acme/Big-MoE", "strategy=pd_cluster"),
        ("acme/Small-8B", "kv_offload=kv_store_distributed_mooncake&kv_instances=2"),
        ("zeta/Paint", "task=edit"),
    ],
)
def test_a_script_hands_the_programs_exactly_the_words_and_variables(
    small: Collection, tmp_path: Path, recipe: str, query: str
) -> None:
    view = answer(small, recipe, query)
    script = tmp_path / "serve.sh"
    script.write_text(shell_script.render(view), encoding="utf-8")
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    stubs = tmp_path / "bin"
    stubs.mkdir()
    for name in ("vllm", "vllm-router"):
        (stubs / name).write_text(STUB)
        (stubs / name).chmod(0o755)
    for process in view.processes:
        if process.command["text"] is not None:
            continue
        record_file = tmp_path / process.id
        environment = {"PATH": f"{stubs}:/usr/bin:/bin", "RECORD": str(record_file), **placeholders_of(view)}
        if "MOONCAKE_CONFIG_PATH" in environment:
            environment["MOONCAKE_CONFIG_PATH"] = str(tmp_path / "mooncake.json")
        done = subprocess.run(
            ["bash", str(script), process.id], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert record_file.read_text().split("\0")[:-1] == process.command["argv"]
        seen = dict(
            pair.split("=", 1) for pair in (tmp_path / f"{process.id}.env").read_text().split("\0") if "=" in pair
        )
        expected = {name: environment.get(name, value) for name, value in process.command["env"].items()}
        assert expected.items() <= seen.items()


def test_a_script_without_its_placeholders_stops_with_a_sentence(small: Collection, tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text(shell_script.render(answer(small, "acme/Small-8B", "nodes=2")), encoding="utf-8")
    done = subprocess.run(
        ["bash", str(script)], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "address of the first node, as the other nodes reach it" in done.stderr
    unknown = subprocess.run(
        ["bash", str(script), "nothing"], env={"PATH": "/usr/bin:/bin", "HEAD_IP": "1", "IFACE_NAME": "e"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (unknown.returncode, unknown.stderr) == (2, "unknown process nothing; known are head-0, worker-1\n")


def test_configuration_names_numbers_as_numbers(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "")
    assert configuration(view.plan, view.selection)["nodes"] == 1


@pytest.mark.parametrize(
    ("recipe", "query", "endpoints", "address"),
    [
        ("acme/Small-8B", "", ["/v1/chat/completions"], "http://localhost:8000/v1"),
        ("acme/Small-8B", "nodes=2", ["/v1/chat/completions"], "http://$HEAD_IP:8000/v1"),
        ("acme/Big-MoE", "strategy=pd_cluster", ["/v1/chat/completions"] * 2, "http://$ROUTER_HOST:$ROUTER_PORT/v1"),
        ("acme/Big-MoE", "features=text_only", ["/v1/chat/completions"], "http://localhost:8000/v1"),
        ("zeta/Embed-1B", "", ["/v1/embeddings", "/v1/rerank", "/classify"], "http://localhost:8000/v1"),
        ("zeta/Paint", "", ["/v1/images/generations"], "http://localhost:8091/v1"),
        ("zeta/Paint", "task=edit", ["/v1/chat/completions"], "http://localhost:8091/v1"),
    ],
)
def test_example_requests_fit_the_model_and_reach_the_server(
    small: Collection, recipe: str, query: str, endpoints: list[str], address: str
) -> None:
    requests = [entry for entry in answer(small, recipe, query).requests if entry.title != "Benchmark"]
    assert [entry.endpoint for entry in requests] == endpoints
    assert address in requests[0].text
    for entry in requests:
        words = shlex.split(entry.text)
        assert json.loads(words[words.index("-d") + 1])["model"].startswith(recipe.split("/")[0])


def test_only_models_that_chat_get_a_benchmark(small: Collection) -> None:
    (entry,) = [entry for entry in answer(small, "acme/Small-8B", "nodes=2").requests if entry.title == "Benchmark"]
    assert shlex.split(entry.text.replace("\\\n", " "))[:7] == [
        "vllm", "bench", "serve", "--base-url", "http://$HEAD_IP:8000", "--model", "acme/Small-8B",
    ]  # fmt: skip
    for recipe in ("zeta/Paint", "zeta/Embed-1B"):
        assert "Benchmark" not in [entry.title for entry in answer(small, recipe, "").requests]


def test_hardware_that_a_recipe_refuses_says_why(tmp_path: Path) -> None:
    meta = {"title": "T", "hardware": {"h100": "unsupported", "rtx_pro_6000": "supported"}}
    view = answered(tmp_path, "", meta=meta)
    assert view.closed_hardware == [
        ("H100", "the recipe marks it as unsupported"),
        ("RTX Pro 6000", "100 GB are needed and it has 96 GB"),
    ]


def test_the_recommended_strategy_is_marked(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "strategy=single_node_tp")
    row = next(choice for choice in view.choices if choice.parameter == "strategy")
    assert [option.id for option in row.options if option.recommended] == ["single_node_tep"]
    hardware = next(choice for choice in view.choices if choice.parameter == "hardware")
    assert list(hardware.rows[0].groups) == ["NVIDIA", "AMD"]


def test_offload_options_of_a_group_and_stores_have_a_row_of_their_own(tmp_path: Path) -> None:
    def rows(folder: str, support: dict[str, str]) -> list[Row]:
        query = "kv_offload=kv_store_centralized_mooncake"
        view = answered(tmp_path / folder, query, kv_offload_support=support)
        return list(next(choice for choice in view.choices if choice.parameter == "kv_offload").rows)

    main, *below = rows("both", {"offloading_cpu": "verified", "offloading_fs": "verified"})
    assert [option.id for option in main.options] == ["off", "simple", "offloading", "stores", "lmcache"]
    assert [(row.label, [option.id for option in row.options]) for row in below] == [
        ("Offload Tiers", ["offloading_cpu", "offloading_fs"]),
        ("Topology", ["kv_store_distributed_mooncake", "kv_store_centralized_mooncake"]),
    ]
    chosen = {option.id: (option.selected, option.query) for option in main.options}
    assert chosen["stores"] == (True, "kv_offload=kv_store_centralized_mooncake")
    assert chosen["offloading"] == (False, "kv_offload=offloading_cpu")
    main, *below = rows("one", {"offloading_fs": "verified"})
    assert [option.id for option in main.options] == ["off", "simple", "offloading_fs", "stores", "lmcache"]
    assert [row.label for row in below] == ["Topology"]


def test_the_floor_of_an_omni_task_counts_before_that_of_the_variant(small: Collection) -> None:
    floors = [
        answer(small, "zeta/Paint", query).floor_gb for query in ("", "task=edit", "task=edit&hardware=rtx_pro_6000")
    ]
    assert floors == [60, 90, 95]


def test_omni_tasks_are_picked_on_their_axes_and_move_as_little_as_they_can(small: Collection) -> None:
    def queries(query: str) -> dict[str, list[tuple[str, bool, str | None]]]:
        view = answer(small, "zeta/Paint", query)
        choice = next(choice for choice in view.choices if choice.parameter == "task")
        return {row.label: [(entry.id, entry.selected, entry.query) for entry in row.options] for row in choice.rows}

    assert queries("") == {
        "Quality": [("sketch", True, ""), ("full", False, "task=full_t2i")],
        "Source": [("words", True, ""), ("picture", False, "task=edit")],
    }
    assert queries("task=edit") == {
        "Quality": [("sketch", False, ""), ("full", True, "task=edit")],
        "Source": [("words", False, "task=full_t2i"), ("picture", True, "task=edit")],
    }


def test_example_requests_use_the_name_that_is_served(tmp_path: Path) -> None:
    model = {"model_id": "acme/Test", "base_args": ["--served-model-name", "mine", "other"]}
    assert '"model": "mine"' in answered(tmp_path, "", model=model).requests[0].text


def test_every_omni_task_of_the_catalogue_has_an_example(tmp_path: Path) -> None:
    for number, task in enumerate(("t2i", "i2i", "t2v", "i2v", "ti2v", "t2a", "unknown")):
        omni = {"tasks": [task]}
        (entry,) = answered(tmp_path / str(number), "", omni=omni, meta={"title": "T", "tasks": ["omni"]}).requests
        assert entry.endpoint.startswith("/v1/")
    own = {"tasks": [{"id": "t2i", "curl": "curl mine\n", "hardware_overrides": {"h200": {"curl": "curl yours"}}}]}
    meta = {"title": "T", "tasks": ["omni"]}
    assert answered(tmp_path / "a", "", omni=own, meta=meta).requests[0].text == "curl yours"
    assert answered(tmp_path / "b", "hardware=h100", omni=own, meta=meta).requests[0].text == "curl mine"
