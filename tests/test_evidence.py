"""What is recorded of a hardware: words and maps, sentences, and records that are older than the recipe."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from site_builder.checks import check
from site_builder.collection import Collection, open_collection
from site_builder.evidence import document, evidence_text, statuses
from site_builder.render import as_json, as_markdown
from site_builder.render.as_html import Theme, recipe_page
from site_builder.schema.recipe import Evidence, RecipeFile
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import answer

RECORD = "{status: verified, vllm: 0.30.0, image: 'vllm/vllm-openai:v0.30.0', date: 2026-11-01, source: lab 7, note: two runs}"


def recipe_with(small: Collection, **known: Evidence | str) -> RecipeFile:
    file = small.recipe("acme/Big-MoE").file
    model = file.model.model_copy(update={"min_vllm_version": "0.25.0"})
    meta = file.meta.model_copy(update={"hardware": known, "date_updated": "2026-10-01"})
    return file.model_copy(update={"meta": meta, "model": model})


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("verified", "The recipe was verified on H200."),
        ("supported", "Nobody has recorded a run on H200; it is assumed to work."),
        (
            Evidence(
                status="verified", vllm="0.30.0", image="img:1", date="2026-11-01", source="lab 7", note="Two runs"
            ),
            "The recipe was verified on H200 with vLLM 0.30.0 in img:1 on 2026-11-01 (lab 7). Two runs.",
        ),
        (
            Evidence(status="smoke", vllm="0.24.1"),
            "The server has started and answered on H200 with vLLM 0.24.1; nothing more was tried."
            " That is older than the version that the recipe needs now (0.25.0).",
        ),
        (
            Evidence(status="inherited", date="2026-09-30"),
            "The status on H200 is taken over from a similar configuration on 2026-09-30; nobody has recorded a run."
            " That is older than the last change of the recipe (2026-10-01).",
        ),
        (Evidence(status="unsupported"), "The recipe does not run on H200."),
    ],
)
def test_the_sentence(small: Collection, known: Evidence | str, text: str) -> None:
    file = recipe_with(small, h200=known)
    assert evidence_text(file, "h200", "H200") == text
    assert document(file, "h200", "H200")["stale"] is ("older" in text)


def test_what_nobody_mentions_is_assumed_to_work(small: Collection) -> None:
    file = recipe_with(small, h100="verified", b200=Evidence(status="smoke"))
    assert statuses(file) == {"h100": "verified", "b200": "smoke"}
    assert document(file, "h200", "H200")["status"] == "supported"


@pytest.fixture
def recorded(small: Collection, tmp_path: Path) -> Collection:
    """The small catalog with a record in place of a word."""
    shutil.copytree(small.catalog.folder, tmp_path / "content")
    path = tmp_path / "content" / "models" / "acme" / "Big-MoE.yaml"
    text = path.read_text(encoding="utf-8")
    assert "    h200: verified\n" in text
    path.write_text(text.replace("    h200: verified\n", f"    h200: {RECORD}\n"), encoding="utf-8")
    return open_collection(tmp_path / "content")


def test_a_record_is_shown_in_every_format(recorded: Collection) -> None:
    view, here = answer(recorded, "acme/Big-MoE", "hardware=h200"), Addresses()
    text = (
        "The recipe was verified on H200 with vLLM 0.30.0 in vllm/vllm-openai:v0.30.0 on 2026-11-01 (lab 7). two runs."
    )
    found = json.loads(as_json.render(view, here))
    assert found["evidence"]["text"] == text
    assert (found["evidence"]["vllm"], found["evidence"]["stale"]) == ("0.30.0", False)
    assert text in as_markdown.render(view, here)
    site = SiteContext(recorded, here, Theme())
    assert text in recipe_page(view, site.around)
    entry = next(entry for entry in site.index if entry["hf_id"] == "acme/Big-MoE")
    assert entry["hardware"]["h200"] == "verified"
    assert "verified" in next(entry.text for entry in site.entries if entry.id == "acme/Big-MoE")


def test_an_unknown_status_or_key_is_told(recorded: Collection) -> None:
    path = recorded.catalog.folder / "models" / "acme" / "Big-MoE.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("status: verified, vllm:", "status: tested, vlm:"), encoding="utf-8")
    again = open_collection(recorded.catalog.folder)
    told = " ".join(problem.message for problem in (*again.problems, *check(again)))
    assert 'the status "tested" of h200 is not defined' in told
    assert "vlm" in told
