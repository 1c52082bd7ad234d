"""The findings of check, on small recipes written for each rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from site_builder.catalog import load
from site_builder.checks import check
from site_builder.checks.references import OMNI_TASKS
from site_builder.collection import compile_all
from site_builder.render.guide import read as read_guide
from site_builder.requests import TASKS
from tests.helpers import content_copy, recipe_text, with_recipe

GOOD_MODEL = {"model_id": "acme/Test", "docker_image": "vllm/vllm-openai:v0.26.0", "min_vllm_version": "0.33.0"}


def findings(folder: Path, **changes: Any) -> list[str]:
    """``severity: message`` for each finding in the made-up recipe."""
    catalog = with_recipe(folder, recipe_text(**changes))
    assert not catalog.problems
    return [f"{p.severity}: {p.message}" for p in check(compile_all(catalog)) if p.path == "models/acme/Test.yaml"]


def with_args(*args: Any) -> dict[str, Any]:
    return {"model": {**GOOD_MODEL, "base_args": list(args)}}


def with_guide(text: str) -> dict[str, Any]:
    return {"model": GOOD_MODEL, "guide": text}


def test_the_small_catalog_is_clean(small: Any) -> None:
    assert [str(problem) for problem in check(small)] == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"meta": {"title": "T", "hardware": {"h10": "verified"}}},
         'warning: hardware "h10" is not in taxonomy.yaml; did you mean "h100"?'),
        ({"meta": {"title": "T", "hardware": {"h100": "verifed"}}},
         'warning: the status "verifed" of h100 is not defined; did you mean "verified"?'),
        ({"meta": {"title": "T", "tasks": ["txt"]}}, 'warning: task "txt" is not in taxonomy.yaml; did you mean "text"?'),
        ({"meta": {"title": "T", "related_recipes": ["acme/Big"]}},
         'warning: related recipe "acme/Big" does not exist; did you mean "acme/Big-MoE"?'),
        ({"meta": {"title": "T", "date_added": "2026-02-30"}},
         'warning: date_added "2026-02-30" is no date; write it like 2026-01-31'),
        ({"meta": {"title": "T", "date_added": "2026-W05-1"}},
         'warning: date_added "2026-W05-1" is no date; write it like 2026-01-31'),
        ({"meta": {"title": "T", "date_added": "2026-02-02", "date_updated": "2026-02-01"}},
         "warning: date_updated is before date_added"),
        ({"meta": {"title": "T", "slug": "big-moe"}}, 'warning: the slug "big-moe" is that of acme/Big-MoE too; choose another'),
        ({"compatible_strategies": ["single_node_tp", "single_node_tpp"]},
         'warning: strategy "single_node_tpp" is not in strategies/; did you mean "single_node_tp"?'),
        ({"opt_in_features": ["tools"]}, 'warning: feature "tools" is not in this recipe\'s features'),
        ({"hardware_overrides": {"hoper": {"extra_args": []}}},
         'warning: generation "hoper" is not in taxonomy.yaml; did you mean "hopper"?'),
        ({"hardware_overrides": {"h100": {"extra_args": []}}},
         'warning: "h100" never counts here, where only a generation or "nvidia" is looked up; write "hopper", or use another block'),
        ({"features": {"x": {"args": ["--async-scheduling"], "hardware_overrides": {"h200": {"args": []}}}}},
         'warning: "h200" never counts here, where only a generation or "nvidia" is looked up; write "hopper", or use another block'),
        ({"strategy_min_gpus": {"h100": {"single_node_tpp": 8}}},
         'warning: strategy "single_node_tpp" is not in strategies/; did you mean "single_node_tp"?'),
        ({"kv_offload_support": {"offloading_cpuu": "verified"}},
         'warning: KV-offload option "offloading_cpuu" is not in taxonomy.yaml; did you mean "offloading_cpu"?'),
        ({"kv_cache_strategy_hardware": {"kv_store_distributed_moon": {"h100": "unsupported"}}},
         'warning: key-value store "kv_store_distributed_moon" is not in kv_store/; did you mean "kv_store_distributed_mooncake"?'),
        ({"kv_cache_strategy_hardware": {"kv_store_distributed_mooncake": {"h10": "unsupported"}}},
         'warning: hardware, generation or brand "h10" is not in taxonomy.yaml; did you mean "h100"?'),
        ({"variants": {"default": {"vram_minimum_gb": 10, "precision_hardware": {"brand": "NVIDEA"}}}},
         'warning: brand "NVIDEA" is not in taxonomy.yaml; did you mean "NVIDIA"?'),
        ({"variants": {"default": {"vram_minimum_gb": 10, "precision_hardware": {"generation": "blackwel"}}}},
         'warning: generation "blackwel" is not in taxonomy.yaml; did you mean "blackwell"?'),
        ({"omni": {"tasks": ["t2x"]}}, 'warning: task "t2x" is not in the tasks known by id; did you mean "t2v"?'),
        ({"omni": {"tasks": [{"id": "t2i", "hardware_overrides": {"h10": {}}}]}},
         'warning: hardware "h10" is not in taxonomy.yaml; did you mean "h100"?'),
        ({"features": {"x": {"default_mode": "b", "modes": {"a": {"args": ["--async-scheduling"]}}}}},
         'warning: mode "b" is not in the feature\'s modes'),
        ({"features": {"x": {"modes": {"a": {"variants": ["fp9"]}}}}}, 'warning: variant "fp9" is not in this recipe\'s variants'),
        ({"features": {"x": {"args": ["--async-scheduling"], "modes": {"a": {}}}}},
         'error: feature "x" has both args and modes; put the arguments into the modes, or drop the modes'),
        ({"model": {**GOOD_MODEL, "docker_image": "docker pull vllm/vllm-openai:v1"}},
         'error: docker_image holds "docker pull vllm/vllm-openai:v1", which is no image; write the image alone,'
         ' for example "vllm/vllm-openai:v1"'),
        ({"model": {**GOOD_MODEL, "docker_image": "docker run vllm/vllm-openai:v1 --model x"}},
         'error: docker_image holds "docker run vllm/vllm-openai:v1 --model x", which is no image; write the image alone,'
         ' for example "vllm/vllm-openai:v1"'),
        ({"model": {**GOOD_MODEL, "docker_image": ""}}, "error: docker_image is empty; name an image, or remove the key"),
        ({"model": {**GOOD_MODEL, "docker_image": {"amd": "vllm/vllm-openai-cpu:latest-x86_64"}}},
         'warning: the image "vllm/vllm-openai-cpu:latest-x86_64" moves: what it holds changes under the same name; name a version'),
        ({"model": {**GOOD_MODEL, "docker_image": "vllm/vllm-openai:latest"}},
         'warning: the image "vllm/vllm-openai:latest" moves: what it holds changes under the same name; name a version'),
        ({"model": {**GOOD_MODEL, "docker_image": "localhost:5000/vllm"}},
         'warning: the image "localhost:5000/vllm" has no tag, so it is whatever "latest" is that day; name a version'),
        ({"model": {**GOOD_MODEL, "model_id": "Test"}},
         'warning: model_id "Test" is neither org/name nor an absolute path'),
        ({"variants": {"default": {"vram_minimum_gb": 10, "model_id": "acme/"}}},
         'warning: model_id "acme/" is neither org/name nor an absolute path'),
        ({"variants": {"default": {"precision": "bf16", "vram_minimum_gb": 10, "supported_hardware": ["rtx_pro_6000"]}}},
         'warning: no hardware can run variant "default"'),
        ({"variants": {"default": {"precision": "bf16"}}},
         'warning: variant "default" has no vram_minimum_gb, so nobody can tell whether it fits'),
        ({"model": {**GOOD_MODEL, "base_env": {"VLLM_X": True}}},
         'warning: VLLM_X is a truth value; put it in quotes as the program expects it, for example "1"'),
        ({"model": {**GOOD_MODEL, "base_env": {"HF_TOKEN": "YOUR_TOKEN"}}},
         'warning: "YOUR_TOKEN" stands for a value that is to be filled in; write one that works, or a $VARIABLE'),
        (with_args("--download-dir", "/path/to/models"),
         'warning: "/path/to/" stands for a value that is to be filled in; write one that works, or a $VARIABLE'),
        (with_args("--max-model-len auto"),
         'error: the argument "--max-model-len auto" holds several words; write "--max-model-len" and "auto" as two items'),
        (with_args("--max-model-len", 4096), 'warning: the argument 4096 is not text; write it as "4096"'),
        (with_args("--max-model-len ", "4096"), 'warning: the argument "--max-model-len " begins or ends with a space'),
        (with_args("--async-scheduling", ""), "warning: the argument is empty; remove it, or say what was meant"),
        (with_args("auto"), 'warning: the first argument "auto" is a value without a flag before it'),
        (with_args("--tool-call-parser-plugin", "x"),
         'warning: --tool-call-parser-plugin is no flag of vLLM 0.33.0; did you mean "--tool-parser-plugin"?'),
        (with_args("--calculate-kv-scales"), "warning: --calculate-kv-scales is gone from vLLM 0.33.0 (0.26.0 had it)"),
        (with_args("--all2all-backend", "pplxx"),
         'warning: --all2all-backend is "pplxx", but must be one of allgather_reducescatter, deepep_high_throughput,'
         " deepep_low_latency, deepep_v2, flashinfer_all2allv, flashinfer_nvlink_one_sided, flashinfer_nvlink_two_sided,"
         ' moonep, mori_high_throughput, mori_low_latency, naive, nixl_ep, pplx; did you mean "pplx"?'),
        (with_args("--trust-remote-code", "true"),
         'warning: --trust-remote-code takes no value, but has "true"; leave the value out, or write the flag\'s negation'),
        (with_args("--max-model-len"), "warning: --max-model-len needs a value"),
        (with_args("--compilation-config", "{mode: 3}"),
         "warning: the JSON of --compilation-config does not parse:"
         " expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (with_args("--compilation-config", '{"cudagraph_mod":"NONE"}'),
         'warning: --compilation-config has no field "cudagraph_mod" in vLLM 0.33.0; did you mean "cudagraph_mode"?'),
        (with_args("--speculative-config", '{"method":"mtp","enforce_eager":"true"}'),
         'warning: --speculative-config: "enforce_eager" is the text "true"; write it without quotes'),
        ({"model": {**GOOD_MODEL, "base_env": {"VLLM_LOGING_LEVEL": "INFO"}}},
         'warning: vLLM 0.33.0 reads no variable VLLM_LOGING_LEVEL; did you mean "VLLM_LOGGING_LEVEL"?'),
        (with_guide("## A\n\n```bash\nls\n"),
         'warning: the code block that opens here with "```bash" is never closed; add the closing fence'),
        (with_guide("## A\n\n[x](../acme/Big.md)\n"),
         'warning: the link "../acme/Big.md" leads to nothing on this site; did you mean "acme/Big-MoE"?'),
        (with_guide("## First part\n\n[x](#first-prat)\n"),
         'warning: the link "#first-prat" leads to no heading of this guide; did you mean "#first-part"?'),
        (with_guide("```bash\nvllm serve acme/Test \\\n  --calculate-kv-scales\n```\n"),
         "warning: in the guide: --calculate-kv-scales is gone from vLLM 0.33.0 (0.26.0 had it)"),
        ({"model": GOOD_MODEL, "strategy_overrides": {"multi_node_tp": {"extra_args": ["--tensor-parallel-size", "4"]}}},
         "warning: multi_node_tp on h100, h200, b200, mi300x, mi355x starts 4 ranks for 128 GPUs;"
         " mend the parallel sizes that the overrides write by hand"),
    ],
)  # fmt: skip
def test_a_mistake_is_found(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    assert expected in findings(tmp_path, **{"model": GOOD_MODEL, **changes})


@pytest.mark.parametrize("image", ["a/b:v1", "a/b:nightly-4c626633159887b0f2c962058c17c78f1434556d", "a/b@sha256:0123"])
def test_an_image_that_stays_as_it_is_is_no_mistake(tmp_path: Path, image: str) -> None:
    assert findings(tmp_path, model={**GOOD_MODEL, "docker_image": image}) == []


@pytest.mark.parametrize(
    "args",
    [
        ["-cc.mode", "none"],
        ["--speculative-config.method", "mtp"],
        ["-cc.custom_ops+", "-quant_fp8"],
        ["-tp", "2"],
        ["--max_model_len", "4096"],
        ["--block-size=64"],
        ["-O3"],
        ["--no-enable-prefix-caching"],
        ["--served-model-name", "a", "b"],
        ["--reasoning-config", '{"reasoning_start_str":"<think>"}'],
    ],
)
def test_spellings_of_vllm_are_no_mistakes(tmp_path: Path, args: list[str]) -> None:
    assert findings(tmp_path, **with_args(*args)) == []


def test_links_that_lead_somewhere_are_no_mistakes(tmp_path: Path) -> None:
    guide = "## A part\n\n[a](#a-part) [b](Big-MoE) [c](../zeta/Paint.md) [d](https://example.org/x)\n\n~~~\nx\n~~~\n"
    assert findings(tmp_path, **with_guide(guide)) == []
    assert (
        findings(tmp_path / "pages", **with_guide("[a](/) [b](/zeta) [c](/browse?text=x) [d](/acme/Big-MoE?nodes=2)"))
        == []
    )


@pytest.mark.parametrize(
    "fence", ["> ```\n> x\n> ```\n", "- a\n  ```\n  x\n  ```\n", "````md\n```bash\nx\n```\n````\n", "```\n```\n"]
)
def test_a_code_block_that_closes_is_no_mistake(tmp_path: Path, fence: str) -> None:
    assert findings(tmp_path, **with_guide(f"## A\n\n{fence}")) == []


def test_anchors_are_those_that_the_page_gives_its_headings(tmp_path: Path) -> None:
    guide = "## Use\n\n## Use\n\n### Größe & Co. `code` *now*\n\n##### Deep\n\n"
    anchors = [heading.anchor for heading in read_guide(guide).headings]
    assert anchors == ["use", "use-1", "größe--co-code-now"]
    links = " ".join(f"[x](<#{anchor}>)" for anchor in anchors)
    assert findings(tmp_path, **with_guide(guide + links)) == []
    (deep,) = findings(tmp_path / "deep", **with_guide(guide + "[x](#deep)"))
    assert deep.startswith('warning: the link "#deep" leads to no heading of this guide')


def test_a_finding_in_a_guide_has_the_line_of_the_file(tmp_path: Path) -> None:
    text = (
        recipe_text(model=GOOD_MODEL)
        + "guide: |\n  ## A\n\n  one\n  two [x](../gone.md)\n\n  | a |\n  |---|\n  | [y](#b) |\n"
    )
    lines = text.splitlines()
    found = [
        problem
        for problem in check(compile_all(with_recipe(tmp_path, text)))
        if problem.path == "models/acme/Test.yaml"
    ]
    assert [problem.line for problem in found] == [
        lines.index("  two [x](../gone.md)") + 1,
        lines.index("  | [y](#b) |") + 1,
    ]


def test_a_code_block_that_is_still_open_where_another_opens(tmp_path: Path) -> None:
    guide = "guide: |\n  ```bash\n  ls\n\n  ## B\n\n  ```python\n  x\n  ```\n"
    text = recipe_text(model=GOOD_MODEL) + guide
    first, second = (text.splitlines().index(f"  ```{language}") + 1 for language in ("bash", "python"))
    found = [
        str(problem)
        for problem in check(compile_all(with_recipe(tmp_path, text)))
        if problem.path == "models/acme/Test.yaml"
    ]
    assert found == [
        f'models/acme/Test.yaml:{first}: the code block that opens here with "```bash" is still open where another opens'
        f" (line {second}); add the closing fence"
    ]


def test_the_vocabulary_is_checked_too(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    edits = {
        "taxonomy.yaml": [("  - pd_cluster\n", "  - pd_clusterr\n"), ("group: offloading", "group: offloadin"), ("- NVIDIA\n", "- NVIDEA\n")],
        "strategies/single_node_tp.yaml": [("name: single_node_tp\n", "name: single_node_tq\n")],
        "site.yaml": [("title:", "providers:\n  acmee: {name: Acme}\ntitle:")],
    }  # fmt: skip
    for name, changes in edits.items():
        text = (content / name).read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (content / name).write_text(text)
    assert [f"{problem.path}: {problem.message}" for problem in check(compile_all(load(content)))] == [
        'site.yaml: provider "acmee" has no folder models/acmee; did you mean "acme"?',
        'strategies/pd_cluster.yaml: strategy "pd_cluster" is not listed in taxonomy.yaml; add it under strategies',
        'strategies/single_node_tp.yaml: the name is "single_node_tq", but the file is single_node_tp.yaml; make them the same',
        'taxonomy.yaml: strategy "pd_clusterr" has no file strategies/pd_clusterr.yaml; did you mean "pd_cluster"?',
        'taxonomy.yaml: "offloadin" is not among the groups that exist; did you mean "offloading"?',
        'taxonomy.yaml: "NVIDEA" is not among the brands that exist; did you mean "NVIDIA"?',
    ]


def test_the_tasks_known_by_id_are_those_with_example_requests() -> None:
    assert TASKS.keys() == OMNI_TASKS


def test_json_and_a_dotted_key_of_one_option_are_an_error_where_they_can_meet(tmp_path: Path) -> None:
    features = {"graphs": {"args": ["-cc.mode", "0"]}}
    changes = {**with_args("--compilation-config", '{"cudagraph_mode":"NONE"}'), "features": features}
    (message,) = findings(tmp_path, **changes)
    assert message.startswith(
        "error: --compilation-config.mode meets the JSON of --compilation-config from model.base_args"
    )


def test_json_and_a_dotted_key_that_never_meet_are_no_mistake(tmp_path: Path) -> None:
    changes = {
        "model": GOOD_MODEL,
        "hardware_overrides": {
            "hopper": {"extra_args": ["--compilation-config", '{"cudagraph_mode":"NONE"}']},
            "blackwell": {"extra_args": ["-cc.mode", "0"]},
        },
    }
    assert findings(tmp_path, **changes) == []


def test_a_flag_that_the_minimum_version_lacks(tmp_path: Path) -> None:
    import json

    from site_builder.catalog import OWN_TABLES

    old, new = (json.loads((OWN_TABLES / f"{version}.json").read_text()) for version in ("0.26.0", "0.33.0"))
    names = {flag["flag"] for flag in old["flags"]}
    added = next(flag["flag"] for flag in new["flags"] if flag["flag"] not in names and flag["takes_value"] == "none")
    model = {**GOOD_MODEL, "min_vllm_version": "0.20.0", "base_args": [added]}
    assert findings(tmp_path, model=model) == [
        f"warning: vLLM 0.26.0 does not have {added} yet, and the minimum version here is 0.20.0; raise min_vllm_version"
    ]


def test_an_accepting_comment_silences_a_warning(tmp_path: Path) -> None:
    text = recipe_text(model={**GOOD_MODEL, "docker_image": "vllm/vllm-openai:latest"})
    accepted = text.replace("vllm-openai:latest", "vllm-openai:latest # accepted: it must move")
    problems = check(compile_all(with_recipe(tmp_path, accepted)))
    assert [problem for problem in problems if problem.path == "models/acme/Test.yaml"] == []
