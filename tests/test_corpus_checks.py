"""What loading and checking find in the corpus of real recipes: all of it is read, and its mistakes are named.

The rules that compile every recipe are tested on the corpus elsewhere; those here read what is written, and are quick.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pytest

from site_builder.catalog import Catalog, load
from site_builder.checks.arguments import argument_problems, image_problems, moving_image_problems
from site_builder.checks.facts import fact_problems
from site_builder.checks.guides import guide_problems
from site_builder.checks.references import reference_problems
from site_builder.errors import Problem

pytestmark = pytest.mark.corpus

RULES = (
    reference_problems,
    argument_problems,
    image_problems,
    moving_image_problems,
    guide_problems,
    fact_problems,
)


@pytest.fixture(scope="module")
def catalog(corpus: Path) -> Catalog:
    return load(corpus / "content")


@pytest.fixture(scope="module")
def findings(catalog: Catalog) -> list[Problem]:
    return sorted(problem for rule in RULES for problem in rule(catalog))


def named(findings: list[Problem], pattern: str) -> list[str]:
    return [str(problem) for problem in findings if re.search(pattern, problem.message)]


def test_every_recipe_is_read_without_a_problem(catalog: Catalog) -> None:
    assert [str(problem) for problem in catalog.problems] == []
    assert len(catalog.recipes) == 131


def test_reading_takes_less_time_than_a_person_notices(corpus: Path) -> None:
    started = time.perf_counter()
    load(corpus / "content")
    assert time.perf_counter() - started < 1.5


def test_hardware_that_the_taxonomy_lacks_is_named(findings: list[Problem]) -> None:
    assert named(findings, "^hardware .* is not in taxonomy") == [
        'models/inclusionAI/Ling-3.0-flash.yaml:12: hardware "h20" is not in taxonomy.yaml; did you mean "h200"?',
        'models/nvidia/Cosmos3-Super-Image2Video.yaml:19: hardware "a100" is not in taxonomy.yaml; did you mean "h100"?',
        'models/nvidia/Cosmos3-Super.yaml:19: hardware "a100" is not in taxonomy.yaml; did you mean "h100"?',
    ]


def test_code_blocks_that_never_close_are_named_where_they_open(findings: list[Problem]) -> None:
    message = 'the code block that opens here with "```bash" is never closed; add the closing fence'
    assert named(findings, "^the code block") == [
        f"models/ibm-granite/granite-3.2-2b-instruct.yaml:62: {message}",
        f"models/microsoft/Phi-4-multimodal-instruct.yaml:64: {message}",
        f"models/microsoft/Phi-4-reasoning.yaml:62: {message}",
    ]


def test_related_recipes_that_do_not_exist_are_named(findings: list[Problem]) -> None:
    found = named(findings, "^related recipe")
    assert len(found) == 39
    assert (
        'models/Lightricks/LTX-2.5-Diffusers.yaml:12: related recipe "Wan-AI/Wan2.2-T2V-A14B-Diffusers" does not exist'
        in found
    )


def test_relative_links_that_lead_nowhere_are_named(findings: list[Problem]) -> None:
    found = named(findings, "^the link")
    assert len(found) == 17
    assert (
        'models/Google/gemma-4-26B-A4B-it.yaml:450: the link "../../Google/Gemma4" leads to nothing on this site;'
        ' did you mean "Google/gemma-4-E2B-it"?'
    ) in found


def test_an_image_that_holds_a_command_is_the_one_error(findings: list[Problem]) -> None:
    assert [str(problem) for problem in findings if problem.severity == "error"] == [
        'models/MiniMaxAI/MiniMax-M3.yaml:153: docker_image holds "docker pull vllm/vllm-openai-rocm:nightly", which is no'
        ' image; write the image alone, for example "vllm/vllm-openai-rocm:nightly"'
    ]


@pytest.mark.parametrize(
    ("path", "old", "new", "message"),
    [
        (
            "openai/gpt-oss-120b",
            "h200: verified",
            "h200: verifed",
            'the status "verifed" of h200 is not defined; did you mean "verified"?',
        ),
        (
            "openai/gpt-oss-120b",
            "base_args: []",
            'base_args: ["--max-model-len auto"]',
            'the argument "--max-model-len auto" holds several words; write "--max-model-len" and "auto" as two items',
        ),
    ],
)
def test_a_mistake_that_no_recipe_of_the_corpus_makes_is_found_where_it_is_put(
    corpus: Path, tmp_path: Path, path: str, old: str, new: str, message: str
) -> None:
    content = tmp_path / "content"
    shutil.copytree(corpus / "content", content)
    file = content / "models" / f"{path}.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    catalog = load(content)
    found = [str(problem) for rule in (reference_problems, argument_problems) for problem in rule(catalog)]
    assert f"models/{path}.yaml:{line}: {message}" in found
