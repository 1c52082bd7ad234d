"""Serving facts: everything that a control plane's page of Kimi-K2.6 lists, line by line, and their forms."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from site_builder.collection import Collection
from site_builder.render import facts as rendered
from site_builder.render.as_html import Theme
from site_builder.serving_facts import ACROSS, INSIDE, facts_of, source
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import answer
from tests.helpers import running

KIMI = "moonshotai/Kimi-K2.6"


@pytest.fixture(scope="module")
def kimi(own_collection: Collection) -> dict[str, Any]:
    return facts_of(answer(own_collection, KIMI, ""))


def test_floors_across_the_replica(kimi: dict[str, Any]) -> None:
    assert {(entry["precision"], entry["floor_gb"]) for entry in kimi["floors"]} == {("int4", 714), ("nvfp4", 600)}


LAYOUTS = [
    ("single_node_tp", "Tensor Parallel", INSIDE),
    ("single_node_tep", "Tensor + Expert Parallel", INSIDE),
    ("single_node_dep", "Data + Expert Parallel", INSIDE),
    ("multi_node_tp", "Multi-Node Tensor Parallel", ACROSS),
    ("multi_node_tp_pp", "Multi-Node TP + Pipeline Parallel", ACROSS),
    ("multi_node_dep", "Multi-Node Data + Expert Parallel", ACROSS),
    ("multi_node_tep", "Multi-Node Tensor + Expert Parallel", ACROSS),
    ("pd_cluster", "Prefill/Decode Disaggregation", ACROSS),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout[0])
def test_layouts(kimi: dict[str, Any], layout: tuple[str, str, str]) -> None:
    assert layout in [(entry["strategy"], entry["name"], entry["reach"]) for entry in kimi["layouts"]]


VERIFIED = [("B300", 8), ("GB200 NVL4", 4), ("H200", 8), ("MI300X", 8), ("MI325X", 8), ("MI355X", 8)]


@pytest.mark.parametrize("hardware", VERIFIED, ids=lambda hardware: hardware[0])
def test_verified_hardware(kimi: dict[str, Any], hardware: tuple[str, int]) -> None:
    verified = [(entry["name"], entry["gpus"]) for entry in kimi["hardware"] if entry["status"] == "verified"]
    assert hardware in verified
    assert len(verified) == len(VERIFIED)


FEATURES = [
    ("tool_calling", True),
    ("reasoning", True),
    ("spec_decoding", True),
    ("text_only", False),
    ("encoder_parallel", True),
]


@pytest.mark.parametrize(("feature", "default"), FEATURES)
def test_features_on_by_default_and_opt_in(kimi: dict[str, Any], feature: str, default: bool) -> None:
    found = {entry["feature"]: entry for entry in kimi["features"]}
    assert found[feature]["default"] is default
    assert found[feature]["description"]


def test_the_default_command_has_no_parallel_sizes(kimi: dict[str, Any]) -> None:
    lines = kimi["command"].splitlines()
    assert lines[0] == f"vllm serve {KIMI} \\"
    words = [line.strip(" \\").split(" ")[0] for line in lines[1:]]
    assert words == [
        "--trust-remote-code",
        "--tool-call-parser",
        "--enable-auto-tool-choice",
        "--reasoning-parser",
        "--speculative-config",
        "--mm-encoder-tp-mode",
    ]


QUESTIONS = [
    ("How much GPU memory", "714 GB (int4) and 600 GB (nvfp4), across the whole replica"),
    ("Which layouts", "Multi-Node Tensor + Expert Parallel and Prefill/Decode Disaggregation."),
    ("On which hardware", "GB200 NVL4 (4 GPUs)"),
    ("Which version", "vLLM 0.25.0 or newer."),
    ("Does NVIDIA publish", "Yes: agg-b200-agentic (4 × B200)"),
]


@pytest.mark.parametrize(("question", "words"), QUESTIONS)
def test_questions_and_answers(kimi: dict[str, Any], question: str, words: str) -> None:
    found = next(entry for entry in kimi["questions"] if entry["question"].startswith(question))
    assert words in found["answer"]


def test_what_nvidia_publishes(kimi: dict[str, Any]) -> None:
    assert [entry["name"] for entry in kimi["dynamo"]] == [
        "agg-b200-agentic",
        "agg-b200-chat",
        "agg-h200-agentic",
        "agg-h200-chat",
    ]
    assert {entry["mode"] for entry in kimi["dynamo"]} == {"aggregated"}


def test_the_source_is_the_file_and_its_last_commit(small: Collection, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "content"
    shutil.copytree(small.catalog.folder, folder)

    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@e.org", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    first = git("rev-parse", "HEAD")
    changed = folder / "models" / "acme" / "Big-MoE.yaml"
    changed.write_text(changed.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    git("commit", "--quiet", "-am", "two")
    moved = replace(small, catalog=replace(small.catalog, folder=folder), written={})
    assert source(moved, "acme/Big-MoE") == {"path": "models/acme/Big-MoE.yaml", "commit": git("rev-parse", "HEAD")}
    assert source(moved, "acme/Small-8B")["commit"] == first


def test_their_forms(small: Collection) -> None:
    view = answer(small, "acme/Big-MoE", "")
    assert facts_of(view)["dynamo"] is None
    with running(SiteContext(small, Addresses("https://e.org"), Theme())) as client:
        found = client.get("/acme/Big-MoE/facts.json").json()
        assert found["facts"] == client.get("/acme/Big-MoE.json?hardware=h200").json()["facts"]
        recipe = client.get("/acme/Big-MoE").text
        assert all(escape(entry["answer"]) in recipe for entry in found["facts"]["questions"])
        page = client.get("/acme/Big-MoE/facts")
        assert '"@type":"FAQPage"' in page.text
        markdown = client.get("/acme/Big-MoE/facts.md").text
        for entry in found["facts"]["questions"]:
            assert f"**{entry['question']}** {entry['answer']}" in markdown
        assert client.get("/acme/big-moe/facts").headers["location"] == "/acme/Big-MoE/facts"


def test_questions_are_faq_for_search_engines(own_collection: Collection) -> None:
    found = rendered.linked_data(answer(own_collection, KIMI, ""))
    assert found["@type"] == "FAQPage"
    assert len(found["mainEntity"]) == len(QUESTIONS)
    assert json.dumps(found)
