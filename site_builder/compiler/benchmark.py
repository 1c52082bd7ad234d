"""A first benchmark of a server that answers chat requests."""

from __future__ import annotations


def benchmark_command(address: str, model: str) -> str:
    """``vllm bench serve`` with random prompts: enough to see that a machine works, nothing to publish."""
    return (
        f"vllm bench serve \\\n  --base-url {address} \\\n  --model {model} \\\n  --dataset-name random \\\n"
        "  --random-input-len 1024 \\\n  --random-output-len 256 \\\n  --num-prompts 200 \\\n  --max-concurrency 32"
    )
