"""The command line as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from site_builder.cli import main
from site_builder.source import read
from tests.helpers import content_copy, recipe_text

ROOT = Path(__file__).parent.parent
SMALL = str(ROOT / "tests" / "content")


def run(*arguments: str, **more: str) -> Result:
    return CliRunner().invoke(main, arguments, **more)  # type: ignore[arg-type]


def test_help_names_every_command() -> None:
    text = run("--help").output
    assert all(name in text for name in ("build", "serve", "check", "show", "render", "new", "schema"))


def test_no_argument_means_build(tmp_path: Path) -> None:
    result = run("--content", SMALL, "--out", str(tmp_path / "dist"))
    assert result.exit_code == 0
    assert "files written" in result.stderr
    assert (tmp_path / "dist" / "index.html").exists()
    again = run("build", "--content", SMALL, "--out", str(tmp_path / "dist"))
    assert ": 0 files written" in again.stderr


@pytest.mark.parametrize(
    ("form", "start"),
    [("md", "# acme/Big-MoE"), ("json", "{"), ("sh", "#!/usr/bin/env bash"), ("plan", '{"id":"acme/Big-MoE"')],
)
def test_show_prints_every_form(form: str, start: str) -> None:
    result = run("show", "acme/big-moe", "--content", SMALL, "--query", "hardware=h200", "--format", form)
    assert (result.exit_code, result.output[: len(start)]) == (0, start)


def test_show_of_an_unknown_recipe_is_a_sentence() -> None:
    result = run("show", "acme/Big-Mo", "--content", SMALL)
    assert (result.exit_code, result.stderr) == (
        1,
        'error: there is no recipe "acme/Big-Mo"; did you mean "acme/Big-MoE"?\n',
    )


def test_check_of_good_content_is_green() -> None:
    result = run("check", "--content", SMALL, "--strict")
    assert (result.exit_code, result.output, result.stderr) == (
        0,
        "4 recipes, 0 errors, 0 warnings\n",
        "4 recipes, 0 errors, 0 warnings\n",
    )


def test_check_names_every_broken_file_and_goes_on(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "models" / "acme" / "Empty.yaml").write_text("")
    (content / "models" / "acme" / "List.yaml").write_text("- a\n")
    (content / "models" / "acme" / "Warn.yaml").write_text(recipe_text(opt_in_features=["x"]))
    result = run("check", "--content", str(content))
    assert result.exit_code == 1
    assert "error models/acme/Empty.yaml: the file is empty" in result.stdout
    assert "error models/acme/List.yaml:1: the file holds a list" in result.stdout
    assert "warning models/acme/Warn.yaml" in result.stdout
    assert "5 recipes, 2 errors, 1 warnings" in result.stderr


def test_warnings_fail_only_when_strict(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "models" / "acme" / "Warn.yaml").write_text(recipe_text(opt_in_features=["x"]))
    assert run("check", "--content", str(content)).exit_code == 0
    assert run("check", "--content", str(content), "--strict").exit_code == 1


def test_check_for_programs(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "models" / "acme" / "List.yaml").write_text("- a\n")
    (problem,) = json.loads(run("check", "--content", str(content), "--format", "json").stdout)
    assert (problem["path"], problem["line"], problem["severity"]) == ("models/acme/List.yaml", 1, "error")
    github = run("check", "--content", str(content), "--format", "github").stdout
    assert github.startswith(f"::error file={content / 'models/acme/List.yaml'},line=1::the file holds a list")


def test_build_leaves_a_broken_recipe_out_and_fails_at_the_end(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "models" / "acme" / "List.yaml").write_text("- a\n")
    result = run("build", "--content", str(content), "--out", str(tmp_path / "dist"))
    assert result.exit_code == 1
    assert (tmp_path / "dist" / "acme" / "Big-MoE.json").exists()
    assert "were left out: mend the errors above" in result.stderr


def test_a_content_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    result = run("check", "--content", str(tmp_path / "nothing"))
    assert result.exit_code == 1
    assert "there is no such folder; name the content folder with --content" in result.stderr


def test_render_answers_line_by_line() -> None:
    lines = '{"recipe":"acme/big-moe","query":{"nodes":2,"features":["tool_calling"],"hardware":"h200"}}\n\n{"recipe":"x/y"}\nnonsense\n[1]\n{"recipe":1}\n'
    result = run("render", "--jsonl", "--content", SMALL, input=lines)
    first, *others = [json.loads(line) for line in result.output.splitlines()]
    assert list(first) == ["recipe", "query", "selection", "adjustments", "docker_image", "docker_command", "processes"]
    assert (first["selection"]["nodes"], first["selection"]["features"]) == (2, ["tool_calling"])
    assert [process["role"] for process in first["processes"]] == ["head", "worker"]
    assert [other["error"]["title"] for other in others] == ["Unknown recipe", "Bad line", "Bad line", "Bad line"]


def test_new_writes_a_recipe_that_passes(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    result = run("new", "acme/New-7B", "--content", str(content))
    assert result.exit_code == 0
    assert read(content, "models/acme/New-7B.yaml").data["model"]["model_id"] == "acme/New-7B"
    assert run("check", "--content", str(content), "--strict").output.endswith("5 recipes, 0 errors, 0 warnings\n")
    again = run("new", "acme/New-7B", "--content", str(content))
    assert (again.exit_code, "is there already; edit it, or remove it first" in again.stderr) == (1, True)


@pytest.mark.parametrize("name", ["noslash", "../x/y", "a/b/c", ".hidden/x", "/x"])
def test_new_refuses_what_is_no_id(tmp_path: Path, name: str) -> None:
    result = run("new", name, "--content", str(tmp_path))
    assert result.exit_code == 2
    assert "is not of the form ORG/REPO" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_schema_is_json_schema() -> None:
    schema = json.loads(run("schema").output)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"meta", "model", "variants"} <= set(schema["required"])
