"""Memory from shapes: weights and cache of a model on one GPU. Twin of ``estimate``: ``static/js/fit.js``.

Formulas and constants are those of vLLM's own reports (``docs/sizing.md`` names each source). Everything is in whole
bytes, so that both twins give the same numbers; 1 GB is 1e9 bytes, 1 GiB is 2**30.

``weights_of`` and ``cache_of`` work a recipe out once; what they give goes into the plan's data, and ``estimate`` only
divides it over GPUs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict  # pydantic reads those of typing from Python 3.12 on

from site_builder.schema.recipe import Architecture, Group

GIB = 2**30
#: The percentage from which a published floor and the estimate disagree.
APART = 25
#: Bits of a stored weight with its scales, in sixteenths of a bit so that numbers stay whole.
_SIXTEENTHS = {
    "bf16": 256,
    "fp16": 256,
    "fp8": 128,
    "int8": 128,
    "mxfp8": 132,
    "nvfp4": 72,
    "mxfp4": 68,
    "fp4": 72,
}
_INT4 = {32: 72, 128: 66}
#: What a precision shortens in a mixture of experts, and in a dense model.
_USUAL: Mapping[bool, list[Group]] = {True: ["experts"], False: ["attention", "mlp"]}
#: Physical memory against the name: an H100 of 80 GB has 79.18 GiB.
_PHYSICAL = 7918 / 8000
#: Bytes that every process takes besides weights and cache: activations of dense models and of mixtures of experts,
#: what is outside of the allocator on one GPU and on several, and CUDA graphs. From vLLM's logs.
_ACTIVATIONS = {False: 2 * GIB, True: GIB * 5 // 2}
_OTHER = {False: GIB * 27 // 100, True: GIB * 21 // 10}
_GRAPHS = GIB
#: Blocks that a request holds of each group of layers with a state: what it has, and what it writes next.
_STATE_BLOCKS = 2


class Weights(TypedDict):
    """Bytes of the parts of a variant's weights."""

    embeddings: int
    attention: int
    mlp: int
    experts: int
    shared: int


class Cache(TypedDict):
    """What one token leaves in one layer, in elements, and how many layers of each kind there are.

    ``heads`` is 0 where the cache is latent: it is whole on every GPU. ``extra`` are bytes of an indexer. ``state`` is
    the size in bytes of a layer's state, of which tensor parallelism takes a part.
    """

    full: int
    sliding: int
    mamba: int
    window: int
    heads: int
    elements: int
    extra: int
    state: int


class Spread(TypedDict):
    """How a replica is spread, and what its command says of memory."""

    tp: int
    pp: int
    dp: int
    dcp: int
    ep: bool
    cache_bits: int
    utilisation: int


@with_config(ConfigDict(extra="forbid"))
class Estimate(TypedDict):
    """What one GPU holds, in bytes, and what the cache of the replica holds; it stands in answers as it is.

    ``weights_bytes`` is that of the fullest GPU.
    """

    memory_bytes: int
    utilisation_percent: int
    weights_bytes: int
    activations_bytes: int
    other_bytes: int
    graphs_bytes: int
    cache_bytes: int
    bytes_per_token: int
    request_bytes: int
    replica_weights_bytes: int
    tokens: int
    requests: int


def weights_of(shape: Architecture, variant: str, precision: str) -> Weights | None:
    """The weights of a variant, in bytes; None for a precision whose bits are not known."""
    low = _INT4[shape.quant_group_size] if precision == "int4" else _SIXTEENTHS.get(precision)
    if low is None:
        return None
    every: list[Group] = ["attention", "mlp", "experts"]
    usual = every if low >= _SIXTEENTHS["fp8"] else _USUAL[shape.num_experts > 0]
    short = shape.quantized.get(variant, usual)

    def stored(elements: int, group: Group) -> int:
        return elements * (low if group in short else 256) // 128

    hidden, layers = shape.hidden_size, shape.num_hidden_layers
    moe = layers - shape.first_k_dense_replace if shape.num_experts else 0
    shared = shape.shared_expert_intermediate_size or shape.n_shared_experts * shape.moe_intermediate_size
    return {
        "embeddings": stored(shape.vocab_size * hidden * (1 if shape.tie_word_embeddings else 2), "embeddings"),
        "attention": stored(_attention(shape), "attention"),
        "mlp": stored((layers - moe) * 3 * hidden * shape.intermediate_size, "mlp"),
        "experts": stored(moe * shape.num_experts * 3 * hidden * shape.moe_intermediate_size, "experts"),
        "shared": stored(moe * 3 * hidden * shared, "mlp") + moe * hidden * shape.num_experts * 2,
    }


def _attention(shape: Architecture) -> int:
    """Parameters of attention, in all layers."""
    hidden, heads = shape.hidden_size, shape.num_attention_heads
    mamba = shape.kv_layers.mamba if shape.kv_layers else 0
    if shape.kv_lora_rank:
        query = heads * (shape.qk_nope_head_dim + shape.qk_rope_head_dim)
        one = hidden * shape.q_lora_rank + shape.q_lora_rank * query if shape.q_lora_rank else hidden * query
        one += hidden * (shape.kv_lora_rank + shape.qk_rope_head_dim)
        one += shape.kv_lora_rank * heads * (shape.qk_nope_head_dim + shape.v_head_dim)
        one += heads * shape.v_head_dim * hidden
        one += shape.q_lora_rank * shape.index_n_heads * shape.index_head_dim + hidden * shape.index_head_dim
    else:
        width = shape.head_dim or hidden // heads
        one = 2 * hidden * heads * width + 2 * hidden * shape.num_key_value_heads * width
    key = shape.linear_num_key_heads * shape.linear_key_head_dim
    value = shape.linear_num_value_heads * shape.linear_value_head_dim
    linear = hidden * (2 * key + 2 * value + 2 * shape.linear_num_value_heads) + value * hidden
    return (shape.num_hidden_layers - mamba) * one + mamba * linear


def cache_of(shape: Architecture) -> Cache:
    """What the model keeps of a request."""
    layers = shape.kv_layers
    latent = shape.kv_lora_rank > 0
    width = shape.head_dim or shape.hidden_size // shape.num_attention_heads
    key = shape.linear_num_key_heads * shape.linear_key_head_dim
    value = shape.linear_num_value_heads * shape.linear_value_head_dim
    convolution = (2 * key + value) * max(shape.linear_conv_kernel_dim - 1, 0) * 2
    return {
        "full": layers.full if layers else shape.num_hidden_layers,
        "sliding": layers.sliding if layers else 0,
        "mamba": layers.mamba if layers else 0,
        "window": shape.sliding_window,
        "heads": 0 if latent else shape.num_key_value_heads,
        "elements": shape.kv_lora_rank + shape.qk_rope_head_dim if latent else 2 * width,
        # The keys of an indexer are bytes, with a scale of four bytes for each 128.
        "extra": shape.index_head_dim + shape.index_head_dim // 128 * 4,
        # A linear layer keeps a matrix a head in 32 bits, and the inputs of its convolution in 16.
        "state": convolution + value * shape.linear_key_head_dim * 4,
    }


def physical(gigabytes: float) -> int:
    """The bytes that a GPU of so many GB by its name has."""
    return math.floor(gigabytes * _PHYSICAL * GIB)


def usual_utilisation(version: str) -> int:
    """The share of a GPU in hundredths that a vLLM of this version takes when it is not told."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return 90 if found and (int(found[1]), int(found[2])) < (0, 26) else 92


def layer_bytes(cache: Cache, spread: Spread) -> int:
    """The bytes of one token in one layer, on one GPU. Latent caches are divided by decode context parallelism only."""
    if not cache["heads"]:
        return math.ceil((cache["elements"] * spread["cache_bits"] / 8 + cache["extra"]) / spread["dcp"])
    heads = max(1, cache["heads"] // spread["tp"])
    return math.ceil(heads * cache["elements"] * spread["cache_bits"] / 8 / spread["dcp"])


def request_bytes(cache: Cache, spread: Spread, length: int) -> int:
    """The bytes that a request of ``length`` tokens holds on one GPU: windows are full at most.

    Layers with a state share blocks with those of every token, in groups of as many layers: a request holds whole ones.
    """
    page = page_bytes(cache, spread)
    if page:
        return blocks_of(cache, spread, length) * page
    one, stages = layer_bytes(cache, spread), spread["pp"]
    full, sliding = math.ceil(cache["full"] / stages), math.ceil(cache["sliding"] / stages)
    return one * (full * length + sliding * min(length, cache["window"]))


def block_tokens(cache: Cache, spread: Spread) -> int:
    """The tokens of a block, where states and tokens share blocks; else 0.

    A block has room for a state, and for a multiple of 16 tokens.
    """
    if not cache["mamba"] or not cache["full"]:
        return 0
    return math.ceil(math.ceil(cache["state"] / spread["tp"]) / (16 * layer_bytes(cache, spread))) * 16


def page_bytes(cache: Cache, spread: Spread) -> int:
    """The bytes of one block in a group of layers, where states and tokens share blocks; else 0."""
    return block_tokens(cache, spread) * layer_bytes(cache, spread) * math.ceil(cache["full"] / spread["pp"])


def blocks_of(cache: Cache, spread: Spread, length: int) -> int:
    """The blocks of a request, where states and tokens share blocks."""
    states = math.ceil(cache["mamba"] / cache["full"]) * _STATE_BLOCKS
    return math.ceil(length / block_tokens(cache, spread)) + states


def cached_tokens(cache: Cache, spread: Spread, budget: int, length: int) -> int:
    """How many tokens a budget in bytes holds, where requests have ``length`` tokens."""
    request, page = request_bytes(cache, spread, length), page_bytes(cache, spread)
    if budget <= 0 or not request:
        return 0
    if page:
        return budget // page * length // blocks_of(cache, spread, length)
    return budget * length // request


def weights_per_gpu(weights: Weights, spread: Spread) -> int:
    """The weights on the fullest GPU, in bytes.

    Tensor parallelism divides all; expert parallelism divides experts by all ranks; pipeline stages divide layers, and
    one of them carries the embeddings too (half of them, where input and output are apart).
    """
    tp, stages = spread["tp"], spread["pp"]
    ranks = tp * spread["dp"] if spread["ep"] else tp
    layers = (weights["attention"] + weights["mlp"] + weights["shared"]) / tp + weights["experts"] / ranks
    embeddings = weights["embeddings"] if stages == 1 else weights["embeddings"] / 2
    return math.ceil(layers / stages + embeddings / tp)


def estimate(parts: tuple[Weights, Cache], spread: Spread, gigabytes: float, length: int) -> Estimate:
    """What a GPU of so many GB by its name holds, and how many requests of ``length`` tokens a replica holds.

    Every data parallel rank has a cache of its own.
    """
    weights, cache = parts
    moe = weights["experts"] > 0
    memory = physical(gigabytes)
    found = weights_per_gpu(weights, spread)
    several = spread["tp"] * spread["pp"] > 1
    taken = found + _ACTIVATIONS[moe] + _OTHER[several] + _GRAPHS
    budget = memory * spread["utilisation"] // 100 - taken
    tokens = cached_tokens(cache, spread, budget, length)
    return {
        "memory_bytes": memory,
        "utilisation_percent": spread["utilisation"],
        "weights_bytes": found,
        "activations_bytes": _ACTIVATIONS[moe],
        "other_bytes": _OTHER[several],
        "graphs_bytes": _GRAPHS,
        "cache_bytes": budget,
        "bytes_per_token": layer_bytes(cache, spread) * math.ceil(cache["full"] / spread["pp"]),
        "request_bytes": request_bytes(cache, spread, length),
        "replica_weights_bytes": weights_of_replica(weights, spread),
        "tokens": tokens * spread["dp"],
        "requests": tokens // length * spread["dp"],
    }


def weights_of_replica(weights: Weights, spread: Spread) -> int:
    """The bytes of all GPUs of a replica: data parallel ranks repeat what expert parallelism does not divide."""
    rest = total(weights) - weights["experts"]
    return rest * spread["dp"] + weights["experts"] * (1 if spread["ep"] else spread["dp"])


def total(weights: Weights) -> int:
    """The bytes of a checkpoint."""
    parts = (weights["embeddings"], weights["attention"], weights["mlp"], weights["experts"], weights["shared"])
    return sum(parts)


def difference(floor_gb: float, weights: Weights) -> int:
    """Own sizing against a published floor, in percent: 19 where weights × 1.2 are 19 % more than the floor says."""
    return math.floor((total(weights) * 1.2 / (floor_gb * 1e9) - 1) * 100 + 0.5)


def whole(number: float) -> float:
    """The same number, without a fraction where it has none: ``640`` and not ``640.0``."""
    return int(number) if number == int(number) else number
