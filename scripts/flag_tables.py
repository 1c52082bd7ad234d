"""Refresh a flag table of ``content/vllm/`` from a vLLM release. See docs/flag-tables.md.

    python scripts/flag_tables.py installed                 from the vLLM that this Python can import
    python scripts/flag_tables.py file TABLE.json [--extension NAME]   from a table made elsewhere

Writes ``content/vllm/<version>.json``: flags with their spellings, how many values they take and their choices, the
fields of JSON options, and the environment variables. One entry a line, so that the diff of two releases is readable.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "content" / "vllm"
FLAG_KEYS = (
    "flag",
    "takes_value",
    "value_type",
    "aliases",
    "negations",
    "choices",
    "choices_mode",
    "append",
    "config_class",
    "deprecated",
)


def slim(table: Mapping[str, Any], extension: str = "") -> dict[str, Any]:
    """The parts of a table that the site reads. Texts are left out: they belong to vLLM's own documentation."""
    version = table.get("vllm_version") or table.get("version") or ""
    return {
        "version": version,
        **({"extension": extension} if extension else {}),
        "flags": [{key: flag[key] for key in FLAG_KEYS if flag.get(key)} for flag in table["flags"]],
        "config_fields": {
            name: [
                {"name": field["name"], **({"choices": field["choices"]} if field.get("choices") else {})}
                for field in fields
            ]
            for name, fields in table.get("config_fields", {}).items()
        },
        "environment": [
            {key: entry[key] for key in ("name", "choices") if entry.get(key)} for entry in table.get("environment", [])
        ],
    }


def installed() -> dict[str, Any]:
    """The table of the vLLM that can be imported, read from its own argument parser."""
    try:
        import vllm
        from vllm import envs
        from vllm.entrypoints.openai.cli_args import make_arg_parser
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError as error:
        sys.exit(f"flag_tables: no usable vLLM can be imported ({error}); install the release first")
    parser = make_arg_parser(FlexibleArgumentParser())
    flags = [_flag(action) for action in parser._actions if action.option_strings and action.dest != "help"]
    environment = [{"name": name} for name in sorted(envs.environment_variables)]
    return {"vllm_version": vllm.__version__.split("+")[0], "flags": flags, "environment": environment}


def _flag(action: Any) -> dict[str, Any]:
    spellings = list(action.option_strings)
    name = next((spelling for spelling in spellings if spelling.startswith("--")), spellings[0])
    negations = [spelling for spelling in spellings if spelling.startswith("--no-") and spelling != name]
    kinds = {"*": "many", "+": "many", "?": "optional", 0: "none"}
    takes = "choices" if action.choices else kinds.get(action.nargs, "one")
    return {
        "flag": name,
        "takes_value": "none" if negations else takes,
        "aliases": [spelling for spelling in spellings if spelling not in (name, *negations)],
        "negations": negations,
        "choices": sorted(map(str, action.choices)) if action.choices else None,
        "append": type(action).__name__ in ("_AppendAction", "_ExtendAction"),
    }


def text_of(table: Mapping[str, Any]) -> str:
    """The table as JSON with one entry a line."""

    def lines(entries: Iterable[Any]) -> str:
        return "[\n" + ",\n".join("    " + json.dumps(entry) for entry in entries) + "\n  ]"

    parts = []
    for key, value in table.items():
        if isinstance(value, list):
            parts.append(f'  "{key}": {lines(value)}')
        elif isinstance(value, dict):
            inner = ",\n".join(f"    {json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items())
            parts.append(f'  "{key}": {{\n{inner}\n  }}')
        else:
            parts.append(f'  "{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=["installed", "file"])
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument(
        "--extension", default="", help="the table adds flags of a program around vLLM, for example omni"
    )
    parser.add_argument("--version", default="", help="the release, where the table does not say it")
    options = parser.parse_args()
    if options.source == "file" and options.path is None:
        parser.error("file needs the path of a table")
    table = installed() if options.source == "installed" else json.loads(options.path.read_text(encoding="utf-8"))
    slimmed = slim({**table, **({"version": options.version} if options.version else {})}, options.extension)
    target = FOLDER / f"{options.extension + '-' if options.extension else ''}{slimmed['version']}.json"
    target.write_text(text_of(slimmed), encoding="utf-8")
    print(f"{target}: {len(slimmed['flags'])} flags, {len(slimmed['environment'])} variables")


if __name__ == "__main__":
    main()
