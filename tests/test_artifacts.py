"""Drafts for a control plane: what they hold, and what a source has to look like."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from site_builder.collection import Collection
from site_builder.errors import UnknownRecipe
from site_builder.render import artifacts
from site_builder.render.as_html import Theme
from site_builder.render.compared_shapes import Artifact
from site_builder.serving_facts import ACROSS, INSIDE, source
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.helpers import running

HERE = Addresses("https://e.org")
KIMI = "moonshotai/Kimi-K2.6"


def test_kimi_as_evidence(own_collection: Collection) -> None:
    found = artifacts.resolve(own_collection, f"hf:{KIMI}", HERE)
    TypeAdapter(Artifact).validate_python(found)
    assert found["artifact"] == {
        "source": f"hf:{KIMI}",
        "model_id": KIMI,
        "variant": "default",
        "precision": "int4",
        "revision": None,
    }
    evidence = found["evidence"]
    assert (evidence["recipe"], evidence["floor_gb"]) == (f"https://e.org/{KIMI}", 714)
    assert "--tool-call-parser" in evidence["tested_flags"]
    assert "--tensor-parallel-size" not in evidence["tested_flags"]
    reach = {layout["strategy"]: layout["reach"] for layout in evidence["layouts"]}
    assert (reach["single_node_tp"], reach["multi_node_tp"], reach["pd_cluster"]) == (INSIDE, ACROSS, ACROSS)
    assert {"hardware": "h200", "name": "H200", "gpus": 8, "status": "verified"} in evidence["hardware"]
    assert evidence["source"]["path"] == f"models/{KIMI}.yaml"
    assert (found["sizing"]["agrees"], found["sizing"]["difference"]) == (True, 0)
    assert found["draft"]["command"].startswith(f"vllm serve {KIMI}")
    assert found["draft"]["dynamo"] == f"https://e.org/{KIMI}.dynamo.yaml"


def test_the_checkpoint_of_a_variant_resolves_with_its_own_sizing(own_collection: Collection) -> None:
    found = artifacts.resolve(own_collection, "hf:nvidia/kimi-k2.6-NVFP4@main", HERE)
    assert (found["artifact"]["variant"], found["artifact"]["revision"]) == ("nvfp4", "main")
    assert found["artifact"]["model_id"] == "nvidia/Kimi-K2.6-NVFP4"
    assert (found["sizing"]["agrees"], found["sizing"]["difference"]) == (True, 19)


@pytest.mark.parametrize("source", ["", KIMI, "hf:", "hf:kimi", "hf:a/b/c", "hf:../etc", "s3:a/b", "hf:a/b@"])
def test_a_malformed_source_gets_an_example(small: Collection, source: str) -> None:
    with pytest.raises(artifacts.BadSource, match=r"give one like hf:moonshotai/Kimi-K2\.6"):
        artifacts.resolve(small, source, HERE)


def test_an_unknown_source_names_the_closest(small: Collection) -> None:
    with pytest.raises(UnknownRecipe) as error:
        artifacts.resolve(small, "hf:acme/Big-Mo", HERE)
    assert "acme/Big-MoE" in error.value.closest


def test_every_recipe_resolves(small: Collection) -> None:
    for recipe in [*small.plans, *small.checkpoints.values()]:
        found = artifacts.resolve(small, f"hf:{recipe}", HERE)
        TypeAdapter(Artifact).validate_python(found)
        assert found["artifact"]["model_id"]


def test_over_http(small: Collection) -> None:
    with running(SiteContext(small, HERE, Theme())) as client:
        good = client.get("/v1/artifacts/resolve", params={"source": "hf:acme/Big-MoE"})
        assert (good.status_code, good.json()["draft"]["engine"]) == (200, "vllm")
        assert good.headers["access-control-allow-origin"] == "*"
        bad = client.get("/v1/artifacts/resolve?source=nonsense")
        assert (bad.status_code, "hf:moonshotai/Kimi-K2.6" in bad.json()["error"]["detail"]) == (400, True)
        missing = client.get("/v1/artifacts/resolve?source=hf:acme/Big-Mo")
        assert (missing.status_code, missing.json()["error"]["did_you_mean"][0]) == (404, "acme/Big-MoE")
        assert client.post("/v1/artifacts/resolve").status_code == 405


def test_an_image_tells_its_commit(small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    away = replace(small, catalog=replace(small.catalog, folder=tmp_path), written={})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert source(away, "acme/Big-MoE")["commit"] is None
    monkeypatch.setenv("SOURCE_COMMIT", "abc123")
    assert source(replace(away, written={}), "acme/Big-MoE")["commit"] == "abc123"
