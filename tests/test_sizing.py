"""Memory estimates against measurements: vLLM's own logs, and sizes of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from site_builder.assets import ROOT
from site_builder.schema.recipe import Architecture
from site_builder.sizing import (
    GIB,
    Spread,
    cache_of,
    cached_tokens,
    difference,
    estimate,
    physical,
    request_bytes,
    total,
    weights_of,
    weights_per_gpu,
)

#: Models of the measurements whose shapes stand in the facts under another name.
SAME = {
    "moonshotai/Kimi-K2-Thinking": "moonshotai/Kimi-K2.5",
    "moonshotai/Kimi-K2.6": "moonshotai/Kimi-K2.5",
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B",
    "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic": "meta-llama/Meta-Llama-3.1-70B",
    "Qwen/Qwen3.6-35B-A3B (same shapes as Qwen3.5-35B-A3B config)": "Qwen/Qwen3.5-35B-A3B",
}
#: The facts have no shapes of it; these are those of its config.json.
OWN = {
    "Qwen/Qwen2.5-7B-Instruct": {
        "num_hidden_layers": 28,
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
    }
}
PRECISION = {
    "moonshotai/Kimi-K2.6": "int4",
    "moonshotai/Kimi-K2-Thinking": "int4",
    "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic": "fp8",
    "Qwen/Qwen3-235B-A22B-FP8": "fp8",
    "deepseek-ai/DeepSeek-R1": "fp8",
    "openai/gpt-oss-120b": "mxfp4",
}
GB = {"H100-80GB": 80, "H200": 141, "RTX3090-24GB": 24, "RTX5090-32GB": 32, "GB10": 128}


@pytest.fixture(scope="session")
def facts() -> Path:
    folder = ROOT.parent / "shared" / "facts"
    if not folder.is_dir():
        pytest.skip("the shared facts are not here")
    return folder


def shape_of(facts: Path, model: str) -> Architecture:
    known = {**json.loads((facts / "model-architectures.json").read_text(encoding="utf-8"))["models"], **OWN}
    config = {key: value for key, value in known[SAME.get(model, model)].items() if value is not None}
    experts = config.get("n_routed_experts") or config.get("num_local_experts") or config.get("num_experts") or 0
    inner = config.get("moe_intermediate_size") or config.get("intermediate_size", 0)
    more = {"num_experts": experts, "moe_intermediate_size": inner if experts else 0}
    fields = {key: value for key, value in {**config, **more}.items() if key in Architecture.model_fields}
    return Architecture(**fields)


def spread_of(record: dict[str, Any]) -> Spread:
    return {
        "tp": record.get("tp") or 1,
        "pp": 1,
        "dp": 1,
        "dcp": 1,
        "ep": False,
        "cache_bits": 8 if record.get("kv_dtype") == "fp8" else 16,
        "utilisation": round(record.get("util", 0.9) * 100),
    }


def test_every_measurement_is_reproduced(facts: Path) -> None:
    """Tokens of a measured cache within the tolerance of the record, weights of files and logs within theirs or 2 %."""
    records = json.loads((facts / "sizing-measurements.json").read_text(encoding="utf-8"))["oracles"]
    assert len(records) >= 16
    for record in records:
        name, shape, spread = record["id"], shape_of(facts, record["model"]), spread_of(record)
        cache, length = cache_of(shape), record.get("max_model_len") or 8192
        weights = weights_of(shape, "default", PRECISION.get(record["model"], "bf16"))
        assert weights is not None
        if "weights_gb" in record:
            assert total(weights) / 1e9 == pytest.approx(record["weights_gb"], rel=record["tolerance"]), name
        if "kv_tokens" in record:
            found = cached_tokens(cache, spread, round(record["kv_gib"] * GIB), length)
            assert found == pytest.approx(record["kv_tokens"], rel=record["tolerance"]), name
        if "request_kv_gib" in record:
            found = request_bytes(cache, spread, record["max_model_len"])
            assert found / GIB == pytest.approx(record["request_kv_gib"], rel=record["tolerance"]), name
            longest = cached_tokens(cache, spread, round(record["kv_gib"] * GIB), length)
            assert longest == pytest.approx(record["est_max_len"], rel=record["tolerance"]), name
        if "weights_gib" in record and record["model"] != "openai/gpt-oss-120b":
            assert weights_per_gpu(weights, spread) / GIB == pytest.approx(record["weights_gib"], rel=0.02), name
        if "fits" in record and "request_kv_gib" not in record:
            found = estimate((weights, cache), spread, GB[record["gpu"]], length)
            assert (found["requests"] > 0) == record["fits"], name


def test_the_weights_of_gpt_oss_are_under_what_vllm_loads(facts: Path) -> None:
    """vLLM pads its experts when it loads them: 64.4 GiB, where the files have 60.7 (their size on disk is 65.2 GB)."""
    weights = weights_of(shape_of(facts, "openai/gpt-oss-120b"), "default", "mxfp4")
    assert weights is not None
    assert total(weights) / 1e9 == pytest.approx(65.2, rel=0.01)


def test_floors_of_kimi(facts: Path) -> None:
    """The published floors of Kimi-K2.6: 0 % off for INT4, 19 % for NVFP4, whose experts alone are short."""
    shape = shape_of(facts, "moonshotai/Kimi-K2.6")
    int4, nvfp4 = weights_of(shape, "default", "int4"), weights_of(shape, "nvfp4", "nvfp4")
    assert int4 is not None
    assert nvfp4 is not None
    assert difference(714, int4) == 0
    assert difference(600, nvfp4) == 19


def test_physical_memory_is_a_little_less_than_the_name() -> None:
    assert physical(80) / GIB == pytest.approx(79.18, abs=0.001)


def test_a_shape_that_lacks_something_says_what() -> None:
    with pytest.raises(ValidationError, match="an estimate needs vocab_size, num_attention_heads"):
        Architecture(num_hidden_layers=2, hidden_size=64, num_key_value_heads=1, intermediate_size=1)
    with pytest.raises(ValidationError, match="kv_layers has other layers"):
        Architecture(
            num_hidden_layers=2,
            hidden_size=64,
            vocab_size=10,
            num_attention_heads=1,
            num_key_value_heads=1,
            intermediate_size=1,
            sliding_window=8,
            kv_layers={"full": 2, "sliding": 1},  # type: ignore[arg-type]
        )
    assert Architecture(unknown="mixes compressed and sliding caches").num_hidden_layers == 0
