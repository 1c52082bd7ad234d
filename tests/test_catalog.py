"""Loading a content folder: what is wrong is told, all else is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_builder.catalog import load
from site_builder.errors import ContentError, UnknownRecipe
from tests.helpers import content_copy, recipe_text, with_recipe


def test_the_small_catalog_has_no_problems() -> None:
    catalog = load(Path(__file__).parent / "content")
    assert [str(problem) for problem in catalog.problems] == []
    assert list(catalog.recipes) == ["acme/Big-MoE", "acme/Small-8B", "zeta/Embed-1B", "zeta/Paint"]
    assert list(catalog.strategies)[:2] == ["single_node_tp", "single_node_tep"]
    assert list(catalog.kv_stores) == ["kv_store_distributed_mooncake", "kv_store_centralized_mooncake"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match="there is no such folder; name the content folder with --content"):
        load(tmp_path / "nothing")


def test_a_folder_without_a_taxonomy(tmp_path: Path) -> None:
    with pytest.raises(ContentError, match=r"taxonomy\.yaml: it is missing from the content folder"):
        load(tmp_path)


def test_what_is_missing_is_told_beside_what_is_wrong(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "taxonomy.yaml").unlink()
    with (content / "strategies" / "single_node_tp.yaml").open("a") as file:
        file.write("foo: 1\n")
    with pytest.raises(ContentError) as caught:
        load(content)
    assert [problem.message for problem in caught.value.problems] == [
        'key "foo" is not known',
        "it is missing from the content folder, and nothing can be built without it",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    generation: hopper\n", "    generation: []\n", "hardware_profiles.h100.generation is empty, but must be filled in"),
        ("    gpu_count: 8\n", "    gpu_count: 0\n", 'hardware_profiles.h100.gpu_count is "0", but must be at least 1'),
    ],
)  # fmt: skip
def test_a_taxonomy_that_cannot_be_used(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = content_copy(tmp_path) / "taxonomy.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ContentError) as caught:
        load(path.parent)
    assert [problem.message for problem in caught.value.problems] == [message]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no flag table (expecting property name enclosed in double quotes: line 1 column 2 (char 1)); make it anew, or remove it"),
        ("[]", "it is no flag table, which has the keys config_fields, environment, flags, version; make it anew"),
    ],
)  # fmt: skip
def test_a_broken_flag_table_is_named_and_left_out(tmp_path: Path, text: str, message: str) -> None:
    content = content_copy(tmp_path)
    (content / "vllm").mkdir()
    (content / "vllm" / "1.0.0.json").write_text(text)
    catalog = load(content)
    assert [str(problem) for problem in catalog.problems] == [f"vllm/1.0.0.json: {message}"]
    assert catalog.flag_tables == load(Path(__file__).parent / "content").flag_tables


def test_progress_counts_every_recipe_read_or_not(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "models" / "acme" / "small-8b.yaml").write_text("a: 1\n")
    seen: list[tuple[int, int]] = []
    load(content, lambda done, total: seen.append((done, total)))
    assert seen == [(number, 5) for number in range(1, 6)]


def test_a_broken_recipe_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    catalog = with_recipe(tmp_path, "meta: [\n")
    assert "acme/Test" not in catalog.recipes
    assert len(catalog.recipes) == 4
    assert [problem.path for problem in catalog.problems] == ["models/acme/Test.yaml"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"model_id": "a/b", "context_length": "abc"}}, 'model.context_length is "abc", but must be a whole number'),
        ({"model": {}}, 'the key "model_id" is missing in model'),
        ({"variants": None}, 'the key "variants" is missing'),
        ({"variants": {"fp8": {}}}, 'variants has no "default"; name the checkpoint that is served when none is asked for "default"'),
        ({"model": {"model_id": "a/b", "architecture": "mow"}},
         'model.architecture is "mow", but must be one of dense, moe; did you mean "moe"?'),
        ({"compatible_strategies": "single_node_tp"}, 'compatible_strategies is "single_node_tp", but must be a list'),
        ({"variants": {"default": {"vram_minimum_gb": -1}}}, 'variants.default.vram_minimum_gb is "-1", but must be at least 0'),
        ({"variants": {"default": {"vram_minimum_gb": "inf"}}},
         'variants.default.vram_minimum_gb is "inf", but must be a finite number'),
        ({"variants": {"default": {"tp": {"h100": "x"}}}}, 'variants.default.tp.h100 is "x", but must be a whole number'),
        ({"variants": {"default": {"tp": ["x"]}}}, "variants.default.tp is a list, but must be a whole number or keys with values"),
        ({"model": {"model_id": "a/b", "install": {"pip": True}}},
         'model.install.pip is "true", but must be false or keys with values'),
        ({"meta": {"title": "T", "platforms": [{"url": "x"}]}}, 'the key "id" is missing in meta.platforms.0'),
        ({"model": {"model_id": "a/b", "docker_image": ["x"]}},
         "model.docker_image is a list, but must be text or keys with values"),
        ({"model": {"model_id": "a/b", "base_args": [{"a": 1}]}}, "model.base_args.0 is a block of keys, but must be text"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_a_sentence(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    catalog = with_recipe(tmp_path, recipe_text(**changes))
    assert [problem.message for problem in catalog.problems] == [message]
    assert all(problem.severity == "error" for problem in catalog.problems)


def test_an_unknown_key_is_a_warning_with_a_suggestion(tmp_path: Path) -> None:
    text = recipe_text(variants={"default": {"vram_minimum_gb": 1, "extra_arg": ["--x"]}})
    catalog = with_recipe(tmp_path, text)
    (problem,) = catalog.problems
    assert problem.severity == "warning"
    assert problem.message == 'key "extra_arg" is not known in variants.default; did you mean "extra_args"?'
    assert problem.line == text.splitlines().index("    extra_arg:") + 1
    assert "acme/Test" in catalog.recipes


def test_ids_that_differ_in_case_only(tmp_path: Path) -> None:
    catalog = with_recipe(tmp_path, recipe_text(), name="acme/small-8b")
    assert [problem.message for problem in catalog.problems] == [
        "its id differs from models/acme/Small-8B.yaml only in case; ids are compared without case, rename one"
    ]


def test_a_recipe_in_the_wrong_place_is_named(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "models" / "loose.yaml").write_text("a: 1\n")
    (content / "models" / "acme" / "Other.yml").write_text("a: 1\n")
    assert [str(problem) for problem in load(content).problems] == [
        "models/acme/Other.yml: it is not read: a recipe lies at models/<org>/<repo>.yaml",
        "models/loose.yaml: it is not read: a recipe lies at models/<org>/<repo>.yaml",
    ]


def test_recipes_are_found_in_any_case_and_by_checkpoint() -> None:
    catalog = load(Path(__file__).parent / "content")
    assert catalog.find("ACME/big-moe")[0].id == "acme/Big-MoE"
    recipe, variant = catalog.find("nvidia/big-moe-nvfp4")
    assert (recipe.id, variant) == ("acme/Big-MoE", "nvfp4")
    with pytest.raises(UnknownRecipe, match=r'there is no recipe "acme/Big-Mo"; did you mean "acme/Big-MoE"\?'):
        catalog.find("acme/Big-Mo")
