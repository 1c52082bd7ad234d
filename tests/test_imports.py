"""Who may import whom. Imports flow one way; DESIGN's sentence reads along this table."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "site_builder"

#: A module or package of site_builder, and what it may import of the others.
BASE = {"errors"}
SCHEMA = BASE | {"schema"}
CATALOG = SCHEMA | {"source", "validation", "catalog"}
PLAN = {"plan"}
COMPILER = CATALOG | PLAN | {"compiler"}
ANSWERS = COMPILER | {
    "resolve",
    "evaluate",
    "shell",
    "query",
    "urls",
    "collection",
    "choices",
    "placeholders",
    "requests",
    "sizing",
    "fit",
    "evidence",
    "views",
}
COMPARED = ANSWERS | {"across", "compare", "explain", "serving_facts"}
RENDER = COMPARED | {"render", "assets", "browse"}
SITE = RENDER | {"site"}
PAGES = SITE | {"pages"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "schema": {"schema"},
    "source": SCHEMA,
    "validation": SCHEMA | {"source"},
    "catalog": CATALOG,
    "plan": set(),
    "compiler": SCHEMA | PLAN | {"compiler", "evidence"},
    "checks": COMPILER | {"checks", "collection", "evaluate", "evidence", "resolve", "sizing"},
    "resolve": PLAN,
    "evaluate": PLAN,
    "shell": PLAN,
    "query": PLAN | {"resolve"},
    "urls": set(),
    "collection": COMPILER | {"resolve"},
    "choices": PLAN | {"compiler", "evidence", "query", "resolve", "views"},
    "placeholders": set(),
    "sizing": {"schema"},
    "evidence": {"schema"},
    "fit": {"plan", "sizing", "views"},
    "requests": {"compiler", "evaluate", "plan", "schema", "shell", "views"},
    "browse": {"catalog", "evidence"},
    "across": ANSWERS,
    "serving_facts": ANSWERS,
    "compare": ANSWERS,
    "views": ANSWERS,
    "explain": ANSWERS | {"explain"},
    "assets": set(),
    "render": RENDER,
    "site": RENDER,
    "pages": PAGES,
    "output": BASE,
    "build": PAGES | {"compression", "output", "views"},
    "compression": set(),
    "prepared": set(),
    "files": BASE | {"output", "prepared"},
    "serve": PAGES | {"files", "prepared"},
    "metrics": set(),
    "live": PAGES | {"metrics"},
    "agents": PAGES,
    "endpoints": PAGES | {"agents", "live", "serve"},
    "running": PAGES | {"endpoints", "files", "live", "metrics", "serve"},
    "newrecipe": set(),
    "cli": PAGES | {"agents", "checks", "build", "running", "newrecipe"},
}


def imports_of(path: Path) -> set[str]:
    """The parts of site_builder that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("site_builder."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("site_builder.")}
    return found


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_imports_flow_one_way() -> None:
    files = [
        path
        for path in PACKAGE.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py") or path.parent != PACKAGE
    ]
    wrong = {
        str(path.relative_to(PACKAGE)): sorted(imports_of(path) - ALLOWED[part_of(path)])
        for path in files
        if imports_of(path) - ALLOWED[part_of(path)]
    }
    assert wrong == {}


def test_the_table_has_no_module_that_is_gone() -> None:
    parts = {part_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}
    assert set(ALLOWED) == parts


def test_only_the_compiler_knows_flags_of_the_served_program() -> None:
    """The schema names one as a default of the format, checks ask for some; nobody else needs them."""
    flags = ("--tensor-parallel", "--data-parallel", "--pipeline", "--headless", "--kv-transfer", "--model", "--omni")
    for path in PACKAGE.rglob("*.py"):
        if not {"compiler", "checks", "schema"} & set(path.parts):
            text = path.read_text(encoding="utf-8")
            assert [flag for flag in flags if flag in text] == [], path


def test_files_have_one_job() -> None:
    longest = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: lines for name, lines in longest.items() if lines > 400} == {}
