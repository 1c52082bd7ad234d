"""The site for agents that speak MCP: read-only tools with the answers of every other format.

Served at ``/mcp`` (streamable HTTP, without sessions) and over stdio by ``python build.py mcp``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from pydantic import Field

from site_builder import __version__
from site_builder.browse import search
from site_builder.errors import SiteError, closest, did_you_mean
from site_builder.query import PARAMETERS
from site_builder.render import artifacts, as_json, as_markdown
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import View, answer

READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
INSTRUCTIONS = (
    "Recipes that say how to serve a model with vLLM on given hardware. Find a recipe with search_recipes, see what can"
    " be chosen with list_choices, and take the command from render_command. What was asked and does not fit together"
    " is replaced, and the adjustments in the answer say so: read them before you run a command."
)
RecipeId = Annotated[str, Field(description="ORG/REPO of a recipe, or the checkpoint id of one of its variants")]
Query = Annotated[
    str,
    Field(
        description="Choices as a query string, for example hardware=h200&variant=default&features=tool_calling."
        f" Parameters: {', '.join(PARAMETERS)}. Empty: the recipe's default."
    ),
]
#: What of the JSON answer belongs to a command.
COMMAND_FIELDS = ("hf_id", "configuration", "adjustments", "warnings", "processes", "placeholders", "requests", "links")


class Tools:
    """The tools, on the site that ``site`` gives at that moment."""

    def __init__(self, site: Callable[[], SiteContext]) -> None:
        self.site = site

    def search_recipes(
        self,
        query: Annotated[
            str, Field(description="Words of names, tasks, hardware or precisions: qwen3 vl, h200 moe fp8")
        ],
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
    ) -> list[dict[str, Any]]:
        """Find recipes. Every word must be found; the spelling may leave out spaces and signs (gemma4)."""
        site = self.site()
        return [
            {
                "id": entry.id,
                "title": entry.title,
                "provider": entry.provider,
                "description": entry.description,
                "tasks": list(entry.facets["task"]),
                "hardware": list(entry.facets["hardware"]),
                "precisions": list(entry.facets["precision"]),
                "url": site.addresses.full(entry.id),
            }
            for entry in search(site.entries, query)[:limit]
        ]

    def get_recipe(self, recipe: RecipeId, query: Query = "", format: Literal["markdown", "json"] = "markdown") -> str:
        """A whole recipe in one configuration, with its guide: the bytes of its .md or .json address."""
        view, addresses = self._view(recipe, query)
        return as_markdown.render(view, addresses) if format == "markdown" else as_json.render(view, addresses)

    def render_command(self, recipe: RecipeId, query: Query = "") -> dict[str, Any]:
        """The commands of one configuration: processes in launch order with argv, environment, docker and files."""
        document = as_json.document(*self._view(recipe, query))
        return {name: document[name] for name in COMMAND_FIELDS}

    def list_choices(self, recipe: RecipeId, query: Query = "") -> dict[str, Any]:
        """What can be chosen now, for each parameter, beside the choices of the query; and what was adjusted."""
        document = as_json.document(*self._view(recipe, query))
        return {name: document[name] for name in ("hf_id", "configuration", "adjustments", "choices", "links")}

    def resolve_artifact(
        self, source: Annotated[str, Field(description="A checkpoint: hf:ORG/REPO, or hf:ORG/REPO@revision")]
    ) -> dict[str, Any]:
        """A draft for a control plane: what a recipe says of a checkpoint as evidence, own sizing, and a command."""
        site = self.site()
        try:
            return artifacts.resolve(site.collection, source, site.addresses)
        except SiteError as error:
            raise ToolError(str(error)) from error

    def explain_flag(
        self,
        flag: Annotated[str, Field(description="A flag of vllm serve (--max-model-len) or an environment variable")],
        recipe: Annotated[str, Field(description="ORG/REPO: say where this recipe's command has it from")] = "",
        query: Query = "",
    ) -> dict[str, Any]:
        """What a flag or variable takes in which vLLM version, and why a recipe's command has it."""
        tables = self.site().collection.catalog.flag_tables
        found: dict[str, Any] = {"flag": flag, "versions": [_in_table(table, flag) for table in tables]}
        found["versions"] = [entry for entry in found["versions"] if entry]
        if recipe:
            view, _ = self._view(recipe, query)
            found["recipe"] = {"id": view.id, "query": view.query, "because": list(_because(view, flag))}
        if not found["versions"] and not found.get("recipe", {}).get("because"):
            known = [name for table in tables for name in _names(table)]
            raise ToolError(f'no flag table has "{flag}"{did_you_mean(closest(flag, known))}')
        return found

    def _view(self, recipe: str, query: str) -> tuple[View, Addresses]:
        site = self.site()
        try:
            return answer(site.collection, recipe.strip("/ "), query.lstrip("?")), site.addresses
        except SiteError as error:
            raise ToolError(str(error)) from error


def _names(table: Mapping[str, Any]) -> list[str]:
    flags = [name for entry in table["flags"] for name in (entry["flag"], *entry.get("aliases", []))]
    return [*flags, *(entry["name"] for entry in table["environment"])]


def _in_table(table: Mapping[str, Any], flag: str) -> dict[str, Any] | None:
    """What a table says of a flag or variable, with the version that it is of."""
    name = flag.partition("=")[0].strip()
    dashed = name.replace("_", "-") if name.startswith("-") else name
    for entry in table["flags"]:
        if dashed in (entry["flag"], *entry.get("aliases", []), *entry.get("negations", [])):
            return {"version": _version(table), **entry}
    entry = next((entry for entry in table["environment"] if entry["name"] == name), None)
    return {"version": _version(table), **entry} if entry else None


def _version(table: Mapping[str, Any]) -> str:
    return f"{table['version']} with {table['extension']}" if table.get("extension") else str(table["version"])


def _because(view: View, flag: str) -> list[dict[str, Any]]:
    """Where each process has the flag from: the key in the recipe or strategy file, and the value."""
    return [
        {"process": process.id, **reason}
        for process in view.processes
        for reason in process.command["because"]
        if reason["flag"] == flag.partition("=")[0]
    ]


def agent_server(site: Callable[[], SiteContext]) -> MCPServer:
    """The MCP server of a site."""
    about = site().around.site
    server = MCPServer(
        "recipes",
        title=about.title,
        description=about.tagline,
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="WARNING",
    )
    tools = Tools(site)
    for tool in (
        tools.search_recipes,
        tools.get_recipe,
        tools.render_command,
        tools.list_choices,
        tools.explain_flag,
        tools.resolve_artifact,
    ):
        server.tool(annotations=READ_ONLY)(tool)
    return server


#: Every ``Host`` may ask. The tools read what is public, so a page that rebinds a name learns nothing that it could not
#: read anyway, and a site does not have to be told all names that it is reached by.
OPEN_TO_ALL = TransportSecuritySettings(enable_dns_rebinding_protection=False)
