"""What a reader fills in for the variables that commands leave open."""

from __future__ import annotations

import re
from dataclasses import dataclass

PLACEHOLDERS = {
    "HEAD_IP": "address of the first node, as the other nodes reach it",
    "IFACE_NAME": "network interface that joins the nodes, for example eth0",
    "ROUTER_HOST": "address on which the router listens, for example 0.0.0.0",
    "ROUTER_PORT": "port on which the router listens, for example 30080",
    "PREFILL_DP_RPC_PORT": "free port for the data parallel ranks of the prefill pool",
    "DECODE_DP_RPC_PORT": "free port for the data parallel ranks of the decode pool",
    "MOONCAKE_MASTER_IP": "address of the node that runs mooncake_master",
    "MOONCAKE_CONFIG_PATH": "path of the configuration file shown with the server",
    "MOONCAKE_STORE_CONFIG_PATH": "path of the configuration file shown with the store",
    "MOONCAKE_DEVICE_NAME": "RDMA devices of the node; empty chooses them",
    "MOONCAKE_STORE_DEVICE_NAME": "RDMA devices of the store's node; empty chooses them",
    "HF_TOKEN": "your Hugging Face access token, for a gated checkpoint",
    "~": "home directory of the user who runs the command",
}
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_NUMBERED = {
    "PREFILL_NODE": "address of prefill node {}",
    "DECODE_NODE": "address of decode node {}",
    "VLLM_INSTANCE": "address of instance {}",
}


@dataclass(frozen=True)
class Placeholder:
    """A variable that commands leave open, without its dollar sign, and what to fill in."""

    name: str
    description: str


def variables_in(text: str) -> list[str]:
    """The names of the variables of a text (``$NAME`` or ``${NAME}``), in order."""
    return _VARIABLE.findall(text)


def describe_placeholder(name: str) -> str:
    """What to fill in for a variable; empty where nothing is known about it."""
    stem, _, number = name.rpartition("_")
    if stem in _NUMBERED and number.isdigit():
        return _NUMBERED[stem].format(number)
    return PLACEHOLDERS.get(name, "")
