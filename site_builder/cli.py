"""The command line: ``python build.py [build|serve|check|show|render|explain|new|schema]``; no argument means build.

Exit codes: 0 all is well; 1 something could not be used (an error in the content, an unknown recipe, a folder
that cannot be written); 2 the command line itself is wrong.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from site_builder import __version__
from site_builder.assets import ROOT
from site_builder.build import Progress as Report
from site_builder.build import build as build_site
from site_builder.checks import check as check_content
from site_builder.collection import Collection, open_collection
from site_builder.errors import ContentError, Problem, SiteError
from site_builder.explain import explain as explain_text
from site_builder.newrecipe import recipe_template
from site_builder.pages import recipe_schema
from site_builder.render import as_json, as_markdown, explanation
from site_builder.render.as_html import DEFAULT_THEME, Theme
from site_builder.render.exports import EXPORTS
from site_builder.render.records import record
from site_builder.site import SiteContext
from site_builder.urls import Addresses, Prepare
from site_builder.views import answer

content_option = click.option(
    "--content",
    type=click.Path(path_type=Path, file_okay=False),
    default=ROOT / "content",
    show_default="content",
    help="The folder that holds the recipes.",
)
theme_option = click.option(
    "--theme",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=DEFAULT_THEME,
    show_default="themes/default",
    help="A folder of templates that overlay the default theme.",
)


class Application(click.Group):
    """Builds where no command is named, and tells errors in a sentence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("--help", "-h", "--version")):
            args = ["build", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ContentError as error:
            _print_problems(error.problems)
            raise click.exceptions.Exit(1) from error
        except SiteError as error:
            click.echo(f"error: {error}", err=True)
            raise click.exceptions.Exit(1) from error


@click.group(cls=Application, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Turn recipe files into a site of serving commands for vLLM."""


@main.command()
@content_option
@theme_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=ROOT / "dist",
    show_default="dist",
    help="Where to write the site.",
)
@click.option(
    "--base-url", default=None, envvar="BASE_URL", help="Where the site will be published; overrides site.yaml."
)
@click.option(
    "--prepare",
    type=click.Choice(["none", "hardware", "all"]),
    default=None,
    help="Files for other configurations: none, by hardware and by strategy (the default), or each strategy on each"
    " hardware too.",
)
@click.option("--compress", is_flag=True, help="Also write .br and .gz beside each file (slow the first time).")
@click.option("--edge", is_flag=True, help="Files for the worker of deploy/edge, which answers queries beside them.")
def build(
    content: Path,
    theme: Path,
    out: Path,
    base_url: str | None,
    prepare: Prepare | None,
    compress: bool,
    edge: bool,
) -> None:
    """Write the site as files that any host can publish."""
    if edge and prepare not in (None, "none"):
        raise click.UsageError(f"--edge answers every query, so --prepare {prepare} has no use beside it; leave it out")
    with _progress("reading") as report:
        collection = open_collection(content, report)
    context = _site(collection, theme, base_url, "none" if edge else prepare or "hardware")
    with _progress("writing") as report:
        written = build_site(context, out, report, edge=edge, compress=compress)
    click.echo(
        f"{out}: {written.written} files written, {written.unchanged} unchanged, {written.removed} removed", err=True
    )
    _finish(collection.problems, content)


@main.command()
@content_option
@theme_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--base-url", default=None, envvar="BASE_URL", help="Where the site is published; overrides site.yaml.")
@click.option("--root-path", default="", help="The path under which a proxy publishes the site, for example /recipes.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes that answer.")
@click.option("--reload", is_flag=True, help="Take up changes of content, theme and static files (SIGHUP does, too).")
@click.option("--access-log", type=click.Choice(["off", "text", "json"]), default="text", show_default=True)
@click.option(
    "--built",
    type=click.Path(file_okay=False),
    default="",
    help="A folder that build wrote: its files are served as they are where no query is asked.",
)
def serve(content: Path, theme: Path, **how: Any) -> None:
    """Serve the site with its query strings."""
    from site_builder.running import Options, run_server

    run_server(Options(str(content), str(theme), **how))


@main.command()
@content_option
@click.option("--base-url", default=None, envvar="BASE_URL", help="Where the site is published; overrides site.yaml.")
def mcp(content: Path, base_url: str | None) -> None:
    """Answer an agent that speaks MCP over standard input and output."""
    from site_builder.agents import agent_server

    site = _site(open_collection(content), DEFAULT_THEME, base_url)
    agent_server(lambda: site).run("stdio")


@main.command()
@content_option
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True)
def check(content: Path, strict: bool, form: str) -> None:
    """Check every file of the content folder."""
    with _progress("reading") as report:
        collection = open_collection(content, report)
    problems = sorted({*collection.problems, *check_content(collection)})
    if form == "json":
        click.echo(
            as_json.dump(
                [{"path": p.path, "line": p.line, "severity": p.severity, "message": p.message} for p in problems]
            ),
            nl=False,
        )
    elif form == "github":
        for problem in problems:
            click.echo(
                f"::{problem.severity} file={content / problem.path},line={max(problem.line, 1)}::{problem.message}"
            )
    else:
        _print_problems(problems, sys.stdout)
    errors = [problem for problem in problems if problem.severity == "error"]
    _summary(len(errors), len(problems) - len(errors), len(collection.plans))
    if errors or (strict and problems):
        raise click.exceptions.Exit(1)


@main.command()
@click.argument("recipe")
@content_option
@click.option("--query", default="", help="For example hardware=h200&variant=nvfp4.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "md", *(target.suffix for target in EXPORTS), "plan"]),
    default="md",
    show_default=True,
)
def show(recipe: str, content: Path, query: str, form: str) -> None:
    """Print one recipe (ORG/REPO) in one configuration."""
    collection = open_collection(content)
    view, addresses = answer(collection, recipe, query), Addresses(collection.catalog.site.base_url)
    if form == "plan":
        click.echo(json.dumps(view.plan, ensure_ascii=False, separators=(",", ":")))
    elif form == "json":
        click.echo(as_json.render(view, addresses), nl=False)
    elif form == "md":
        click.echo(as_markdown.render(view, addresses), nl=False)
    else:
        click.echo(next(target for target in EXPORTS if target.suffix == form).render(view), nl=False)


@main.command()
@content_option
@click.option(
    "--jsonl", is_flag=True, required=True, help="Read one {recipe, query} object a line, write one answer a line."
)
def render(content: Path, jsonl: bool) -> None:
    """Answer many queries: JSON lines from standard input to standard output, in the same order."""
    collection = open_collection(content)
    for line in sys.stdin:
        if line.strip():
            click.echo(json.dumps(record(collection, line), ensure_ascii=False, separators=(",", ":")))


@main.command()
@click.argument("file", type=click.File("r", encoding="utf-8", errors="replace"), default="-")
@content_option
@click.option("--recipe", default="", help="ORG/REPO to compare with, whatever model the command names.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(file: TextIO, content: Path, recipe: str, form: str) -> None:
    """Say which configuration a vllm serve or docker run command (FILE, or standard input) is closest to."""
    collection = open_collection(content)
    found, addresses = explain_text(collection, file.read(), recipe), Addresses(collection.catalog.site.base_url)
    shown = (
        as_json.dump(explanation.document(found, addresses)) if form == "json" else explanation.text(found, addresses)
    )
    click.echo(shown, nl=False)


@main.command()
@click.argument("recipe")
@content_option
def new(recipe: str, content: Path) -> None:
    """Write a commented recipe file for ORG/REPO."""
    org, _, repo = recipe.partition("/")
    if not org or not repo or "/" in repo or org.startswith(".") or repo.startswith("."):
        raise click.UsageError(f'"{recipe}" is not of the form ORG/REPO, for example openai/gpt-oss-120b')
    path = content / "models" / org / f"{repo}.yaml"
    if path.exists():
        raise SiteError(f"{path} is there already; edit it, or remove it first")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(recipe_template(org, repo), encoding="utf-8")
    click.echo(f"{path} written; fill it in, then run: python build.py check")


@main.command()
def schema() -> None:
    """Print the JSON Schema of a recipe file, for editors."""
    click.echo(as_json.dump(recipe_schema()), nl=False)


def _site(collection: Collection, theme: Path, base_url: str | None, prepare: Prepare = "none") -> SiteContext:
    base = collection.catalog.site.base_url if base_url is None else base_url
    return SiteContext(collection, Addresses(base, prepare), Theme(theme))


def _print_problems(problems: Any, stream: Any = None) -> None:
    console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
    for problem in problems:
        colour = "red" if problem.severity == "error" else "yellow"
        console.print(f"[{colour}]{problem.severity}[/]", end=" ")
        console.print(str(problem), markup=False)


def _summary(errors: int, warnings: int, recipes: int) -> None:
    colour = "red" if errors else "yellow" if warnings else "green"
    Console(stderr=True, highlight=False).print(f"[{colour}]{recipes} recipes, {errors} errors, {warnings} warnings[/]")


def _finish(problems: tuple[Problem, ...], content: Path) -> None:
    """Say what was left out; errors make the command fail after all else is done."""
    _print_problems(problems)
    if any(problem.severity == "error" for problem in problems):
        click.echo(f"some files of {content} were left out: mend the errors above", err=True)
        raise click.exceptions.Exit(1)


@contextmanager
def _progress(what: str) -> Iterator[Report]:
    """A progress bar on a terminal; nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
