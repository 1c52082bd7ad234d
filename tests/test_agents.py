"""The site for agents: the tools of the MCP server, over HTTP and over standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from site_builder.collection import Collection
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.conftest import ROOT
from tests.helpers import SMALL, awaited, running

Work = Callable[[ClientSession], Awaitable[Any]]


@pytest.fixture(scope="module")
def client(small: Collection) -> Iterator[httpx.Client]:
    with running(SiteContext(small, Addresses("https://e.org"), Theme())) as client:
        yield client


def over_http(client: httpx.Client, work: Work) -> Any:
    async def main() -> Any:
        async with (
            streamable_http_client(f"{str(client.base_url).rstrip('/')}/mcp") as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            return await work(session)

    return awaited(main())


def called(client: httpx.Client, tool: str, **arguments: Any) -> Any:
    """What a tool answers: its structured value, else its text."""

    async def call(session: ClientSession) -> Any:
        return await session.call_tool(tool, arguments)

    result = over_http(client, call)
    assert not result.is_error, result.content[0].text
    value = result.structured_content
    return value["result"] if isinstance(value, dict) and list(value) == ["result"] else value


def refused(client: httpx.Client, tool: str, **arguments: Any) -> str:
    async def call(session: ClientSession) -> Any:
        return await session.call_tool(tool, arguments)

    result = over_http(client, call)
    assert result.is_error
    return str(result.content[0].text)


def test_every_tool_only_reads_and_says_what_it_takes(client: httpx.Client) -> None:
    tools = over_http(client, lambda session: session.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "search_recipes",
        "get_recipe",
        "render_command",
        "list_choices",
        "explain_flag",
        "resolve_artifact",
    ]
    for tool in tools:
        assert tool.description
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.destructive_hint is False


def test_recipes_are_found_as_on_the_site(client: httpx.Client) -> None:
    found = called(client, "search_recipes", query="bigmoe")
    assert [entry["id"] for entry in found] == ["acme/Big-MoE"]
    assert found[0]["url"] == "https://e.org/acme/Big-MoE"
    assert "h200" in found[0]["hardware"]
    assert called(client, "search_recipes", query="nothing like it") == []
    assert len(called(client, "search_recipes", query="", limit=2)) == 2


def test_a_recipe_is_the_bytes_of_its_address(client: httpx.Client) -> None:
    query = "hardware=h200&features="
    for form, suffix in (("markdown", "md"), ("json", "json")):
        text = called(client, "get_recipe", recipe="acme/big-moe", query=query, format=form)
        assert text == client.get(f"/acme/Big-MoE.{suffix}?{query}").text


def test_a_command_is_that_of_the_json(client: httpx.Client) -> None:
    query = "strategy=multi_node_tp&nodes=2&hardware=nonsense"
    whole = client.get(f"/acme/Big-MoE.json?{query}").json()
    command = called(client, "render_command", recipe="acme/Big-MoE", query=f"?{query}")
    assert command == {name: whole[name] for name in command}
    assert [entry["parameter"] for entry in command["adjustments"]] == ["hardware"]
    assert [process["role"] for process in command["processes"]] == ["head", "worker"]
    choices = called(client, "list_choices", recipe="acme/Big-MoE", query=query)
    assert choices["choices"] == whole["choices"]


def test_a_flag_is_explained_by_table_and_by_recipe(client: httpx.Client) -> None:
    found = called(client, "explain_flag", flag="--tensor-parallel-size", recipe="acme/Big-MoE")
    assert found["recipe"]["because"][0]["flag"] == "--tensor-parallel-size"
    assert found["recipe"]["id"] == "acme/Big-MoE"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("get_recipe", {"recipe": "acme/Big-Mo"}, 'there is no recipe "acme/Big-Mo"; did you mean "acme/Big-MoE"?'),
        ("render_command", {"recipe": "acme"}, 'there is no recipe "acme"'),
        ("explain_flag", {"flag": "--no-such-flag-at-all"}, 'no flag table has "--no-such-flag-at-all"'),
        ("search_recipes", {"query": "x", "limit": 0}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(
    client: httpx.Client, tool: str, arguments: dict[str, Any], message: str
) -> None:
    text = refused(client, tool, **arguments)
    assert message in text
    assert "Traceback" not in text


def test_a_program_that_speaks_plain_json_gets_an_answer(client: httpx.Client) -> None:
    """Without a session and without a library: one POST, one JSON object."""
    call = {"name": "render_command", "arguments": {"recipe": "acme/Small-8B"}}
    response = client.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"accept": "application/json, text/event-stream", "host": "recipes.example"},
    )
    assert response.status_code == 200
    assert response.json()["result"]["structuredContent"]["hf_id"] == "acme/Small-8B"


def test_an_agent_may_start_the_site_itself() -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["build.py", "mcp", "--content", str(SMALL)], cwd=str(ROOT)
    )

    async def main() -> Any:
        async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await session.call_tool("list_choices", {"recipe": "zeta/Embed-1B"})

    assert awaited(main()).structured_content["hf_id"] == "zeta/Embed-1B"


def test_explaining_needs_no_recipe(own_collection: Collection) -> None:
    """The tables of releases belong to the content that this project ships."""
    with running(SiteContext(own_collection, Addresses(), Theme())) as client:
        found = called(client, "explain_flag", flag="--max_model_len=4096")
        assert all(entry["flag"] == "--max-model-len" for entry in found["versions"])
        assert json.loads(client.get("/healthz").text)["recipes"] == len(own_collection.plans)
        variable = called(client, "explain_flag", flag="VLLM_USE_DEEP_GEMM")
        assert all(entry["name"] == "VLLM_USE_DEEP_GEMM" for entry in variable["versions"])
