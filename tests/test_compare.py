"""Two configurations side by side: pairing, rows, the query of both sides, and the addresses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from site_builder.build import build
from site_builder.collection import Collection, open_collection
from site_builder.compare import Comparison, Row, compare, folded, joined
from site_builder.render import comparison as rendered
from site_builder.render.as_html import Theme
from site_builder.serve import ANSWER_CACHE
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from tests.helpers import content_copy, recipe_text, running

BIG = "acme/Big-MoE"


@pytest.fixture(scope="module")
def client(small: Collection) -> Iterator[httpx.Client]:
    with running(SiteContext(small, Addresses("https://example.org"), Theme())) as client:
        yield client


def of(small: Collection, a: str = "", b: str = "") -> Comparison:
    return compare(small, BIG, joined(a, b))


def told(rows: list[Row]) -> dict[str, tuple[str, str | None, str | None]]:
    return {row.name: (row.status, row.a and row.a.value, row.b and row.b.value) for row in rows}


# What is compared.


def test_a_configuration_beside_itself_is_identical(small: Collection) -> None:
    found = of(small, "hardware=h200", "hardware=H200")
    assert found.identical
    assert [row.status for pair in found.pairs for row in pair.rows].count("same") == len(found.pairs[0].rows)
    assert found.query == "a=hardware%3Dh200&b=hardware%3Dh200"


def test_rows_have_values_and_origins_and_differing_ones_come_first(small: Collection) -> None:
    found = of(small, "", "hardware=h200&features=none")
    (pair,) = found.pairs
    rows = told(pair.flags)
    assert rows["--max-num-seqs"] == ("different", "128", "64")
    assert rows["--tool-call-parser"] == ("a", "hermes", None)
    assert rows["--trust-remote-code"] == ("same", "", "")
    statuses = [row.status == "same" for row in pair.flags]
    assert statuses == sorted(statuses)
    seqs = next(row for row in pair.flags if row.name == "--max-num-seqs")
    assert seqs.a
    assert seqs.b
    assert seqs.a.origin == "strategy_overrides.single_node_tep"
    assert seqs.b.origin == "strategy_overrides.single_node_tep.hardware_overrides.hopper"
    assert told(pair.environment) == {"VLLM_LOGGING_LEVEL": ("a", "DEBUG", None)}
    assert told(found.choices)["hardware"] == ("different", "b200", "h200")
    assert told(found.facts)["memory"] == ("different", "840 of 1440 GB", "840 of 1128 GB")
    assert not found.identical


def test_spellings_of_one_flag_are_one_row(tmp_path: Path) -> None:
    overrides = {"hopper": {"extra_args": ["--max_model_len=16k", "-cc.mode", "3"]},
                 "blackwell": {"extra_args": ["--max-model-len", "16000", "--compilation-config", '{"mode": 3}']}}  # fmt: skip
    content = content_copy(tmp_path)
    path = content / "models" / "acme" / "Test.yaml"
    path.write_text(recipe_text(hardware_overrides=overrides), encoding="utf-8")
    found = compare(open_collection(content), "acme/Test", joined("hardware=h200", "hardware=b200"))
    assert told(found.pairs[0].differing) == {}
    assert {"--max-model-len", "--compilation-config"} <= {row.name for row in found.pairs[0].same}


def test_one_node_stands_beside_the_first_of_several(small: Collection) -> None:
    found = of(small, "", "nodes=3&strategy=multi_node_tp")
    assert [(pair.title, pair.alone) for pair in found.pairs] == [
        ("Serve and Head node", ""), ("Node 1", "b"), ("Node 2", "b")
    ]  # fmt: skip
    assert [(group.titles, group.pair.alone) for group in found.groups] == [
        (["Serve and Head node"], ""), (["Node 1", "Node 2"], "b")
    ]  # fmt: skip
    assert rendered.heading(found.groups[1]) == "Node 1, Node 2 (only in B)"
    back = of(small, "nodes=3&strategy=multi_node_tp", "")
    assert [(pair.title, pair.alone) for pair in back.pairs] == [
        ("Head node and Serve", ""), ("Node 1", "a"), ("Node 2", "a")
    ]  # fmt: skip


def test_nodes_that_differ_alike_are_told_once(small: Collection) -> None:
    found = of(small, "nodes=8&strategy=multi_node_tp", "nodes=8&strategy=multi_node_tp&advanced=gpu_mem_095")
    assert len(found.pairs) == 8
    (group,) = found.groups
    assert rendered.heading(group) == "Head node, Node 1, Node 2, Node 3 and 4 more"
    assert told(group.pair.differing) == {"--gpu-memory-utilization": ("b", None, "0.95")}


def test_pools_stores_and_routers_are_paired_by_role(small: Collection) -> None:
    pools = of(small, "strategy=pd_cluster", "strategy=pd_cluster&decode_nodes=2")
    assert [(pair.title, pair.alone) for pair in pools.pairs][-1] == ("Decode node 2", "b")
    router = next(pair for pair in pools.pairs if pair.title == "Router")
    assert (router.alone, told(router.flags)["program"][0]) == ("", "same")
    store = of(small, "", "kv_offload=kv_store_centralized_mooncake&kv_instances=2")
    titles = {pair.title: pair.alone for pair in store.pairs}
    assert titles["Serve and Instance 1: Serve"] == ""
    assert titles["Instance 2: Serve"] == "b"
    coordinator = next(pair for pair in store.pairs if pair.title == "Store coordinator")
    assert [row.name for row in coordinator.flags] == ["command"]
    served = next(pair for pair in store.pairs if pair.alone == "" and pair.a)
    assert told(served.flags)["$MOONCAKE_CONFIG_PATH"][0] == "b"


def test_omni_tasks_are_compared_too(small: Collection) -> None:
    found = compare(small, "zeta/Paint", joined("", "task=edit"))
    assert told(found.choices)["task"][0] == "different"


# The query of both sides.


def test_adjustments_name_their_side(small: Collection) -> None:
    found = compare(small, BIG, "a=bogus%3D1%26nodes%3D2%26nodes%3D3&b=nodes%3D99&zip=1&a=&a=nodes%3D3%26nodes%3D4")
    assert [(entry["parameter"], entry["requested"]) for entry in found.adjustments] == [
        ("a", "bogus=1&nodes=2&nodes=3"), ("a", ""), ("zip", "1"), ("a.nodes", "3"), ("b.nodes", "99"),
    ]  # fmt: skip
    assert found.query == "a=nodes%3D4&b=nodes%3D16"


def test_the_order_and_the_spelling_change_nothing(small: Collection) -> None:
    one = compare(small, BIG, "b=nodes%3D2%26HARDWARE%3DH200&a=variant%3Ddefault")
    other = compare(small, BIG, "A=&B=hardware%3Dh200%26nodes%3D2")
    assert one.query == other.query == "b=hardware%3Dh200%26nodes%3D2"
    assert compare(small, BIG, one.query).query == one.query


def test_a_form_is_folded_into_the_sides(small: Collection) -> None:
    assert folded(small, BIG, "b=nodes%3D2") == "b=nodes%3D2"
    assert folded(small, BIG, "a.hardware=b200&b.hardware=h200&strict=1") == "b=hardware%3Dh200&strict=1"
    boxes = "b.features=none&b.features=tool_calling&b.features=spec_decoding"
    assert folded(small, BIG, boxes) == "b=features%3Dtool_calling,spec_decoding"
    assert folded(small, BIG, "b.features=none") == "b=features%3Dnone"
    assert folded(small, BIG, "b=hardware%3Dh200&b.hardware=") == ""
    assert folded(small, BIG, "a.fmode=&b.prefill_mode=") == ""
    assert compare(small, BIG, "b.hardware=h200").query == "b=hardware%3Dh200"


def test_a_form_asks_only_for_what_was_changed(small: Collection) -> None:
    """A select sends its value whether or not it was touched; asking for all of it would close what goes together."""
    view = compare(small, BIG, "").b
    fields = rendered.fields(compare(small, BIG, ""))
    sent = [f"b.{field.parameter}={value}" for field in fields for value in field.chosen["b"] or [""]]
    assert folded(small, BIG, "&".join(sent)) == ""
    changed = [text.replace(f"b.nodes={view.selection['nodes']}", "b.nodes=2") for text in sent]
    found = compare(small, BIG, "&".join(changed))
    assert (found.query, found.adjustments) == ("b=nodes%3D2", [])


def test_the_form_has_every_choice_of_the_page(small: Collection) -> None:
    fields = {
        field.parameter: field for field in rendered.fields(of(small, "", "strategy=pd_cluster&features=spec_decoding"))
    }
    assert {"hardware", "variant", "strategy", "nodes", "features", "prefill_mode", "decode_nodes"} <= set(fields)
    assert fields["features"].many
    assert fields["features"].chosen["b"] == ["spec_decoding"]
    assert (fields["prefill_mode"].chosen["a"], len(fields["prefill_mode"].chosen["b"])) == ([], 1)
    modes = fields.get("fmode")
    if modes:
        assert all(":" in value for value, _ in modes.options)


# The forms.


def test_json_tells_both_sides(small: Collection) -> None:
    document = rendered.document(of(small, "", "nodes=2&strategy=multi_node_tp"), Addresses("https://example.org"))
    assert document["a"]["configuration"]["query"] == ""
    assert document["b"]["links"]["json"] == "https://example.org/acme/Big-MoE.json?nodes=2"
    assert [(entry["title"], entry["a"], entry["b"]) for entry in document["processes"]] == [
        ("Serve and Head node", "serve", "head-0"), ("Node 1", None, "worker-1")
    ]  # fmt: skip
    size = next(row for row in document["processes"][0]["flags"] if row["name"] == "--tensor-parallel-size")
    assert size == {
        "name": "--tensor-parallel-size",
        "status": "different",
        "a": {"value": "8", "origin": "strategies/single_node_tep.yaml: sizes"},
        "b": {"value": "16", "origin": "strategies/multi_node_tp.yaml: sizes"},
    }
    assert document["links"]["exchanged"] == "https://example.org/acme/Big-MoE/compare?a=nodes%3D2"


def test_markdown_tells_what_differs(small: Collection) -> None:
    text = rendered.as_markdown(compare(small, BIG, "b=hardware%3Dh200%26bogus%3D1"), Addresses())
    lines = text.splitlines()
    assert lines[0] == "# acme/Big-MoE — two configurations compared"
    assert any(line.startswith("- Asked for `b.bogus=1`, ignored:") for line in lines)
    assert "| `hardware` | `b200` | `h200` |  |" in lines
    assert any(line.startswith("| `--max-num-seqs` | `128` | `64` | strategy_overrides") for line in lines)
    same = rendered.as_markdown(of(small), Addresses())
    assert "Both start the same processes with the same flags, variables and image." in same
    assert "## Choices" not in same


def test_markdown_survives_what_values_hold() -> None:
    from site_builder.compare import Cell

    assert rendered._code(Cell("a|b\nc")) == "`a\\|b c`"
    assert rendered._code(Cell("a`b")) == "`` a`b ``"
    assert (rendered._code(Cell("")), rendered._code(None)) == ("on", "—")


# The addresses.


@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [("", "text/html; charset=utf-8"), (".json", "application/json"), (".md", "text/markdown; charset=utf-8")],
)
def test_every_form_answers_and_may_be_cached(client: httpx.Client, suffix: str, media_type: str) -> None:
    answer = client.get(f"/{BIG}/compare{suffix}?b=hardware%3Dh200")
    assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
    assert answer.headers["cache-control"] == ANSWER_CACHE
    same = client.get(f"/{BIG}/compare{suffix}?b=HARDWARE%3DH200&a=")
    assert same.headers["etag"] == answer.headers["etag"]
    again = client.get(f"/{BIG}/compare{suffix}?b=hardware%3Dh200", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304
    assert client.head(f"/{BIG}/compare{suffix}").status_code == 200
    assert client.post(f"/{BIG}/compare{suffix}").status_code == 405
    refused = client.get(f"/{BIG}/compare{suffix}?a=bogus%3D1&strict=1")
    assert refused.status_code == 422
    assert "a.bogus" in refused.text
    assert client.get(f"/acme/Nothing/compare{suffix}").status_code == 404


def test_the_page_is_not_for_search_engines_and_names_its_twins(client: httpx.Client) -> None:
    answer = client.get(f"/{BIG}/compare?b=hardware%3Dh200")
    assert '<meta name="robots" content="noindex">' in answer.text
    assert 'compare.json?b=hardware%3Dh200>; rel="alternate"; type="application/json"' in answer.headers["link"]
    assert "compare" not in client.get("/sitemap.xml").text
    markdown = client.get(f"/{BIG}/compare?b=hardware%3Dh200", headers={"accept": "text/markdown"})
    assert markdown.headers["content-type"].startswith("text/markdown")
    assert markdown.headers["vary"] == "accept, accept-encoding"
    canonical = client.get(f"/{BIG}/compare.md?b=hardware%3Dh200").headers["link"]
    assert canonical == '<https://example.org/acme/Big-MoE/compare?b=hardware%3Dh200>; rel="canonical"'


def test_a_form_leads_to_the_canonical_address(client: httpx.Client) -> None:
    answer = client.get(f"/{BIG}/compare?b=nodes%3D2&b.nodes=3")
    assert (answer.status_code, answer.headers["location"]) == (308, f"/{BIG}/compare?b=nodes%3D3")
    assert client.get(f"/{BIG}/compare.json?b.nodes=3").json()["query"] == "b=nodes%3D3"


def test_other_spellings_and_checkpoints(client: httpx.Client, small: Collection) -> None:
    answer = client.get("/ACME/big-moe/compare?b=nodes%3D2")
    assert (answer.status_code, answer.headers["location"]) == (308, f"/{BIG}/compare?b=nodes%3D2")
    checkpoints = [variant.model_id for variant in small.recipe(BIG).file.variants.values() if variant.model_id]
    checkpoint = next(name for name in checkpoints if name.lower() != BIG.lower() and not name.startswith("/"))
    moved = client.get(f"/{checkpoint}/compare?b=nodes%3D2")
    assert moved.status_code == 308
    assert moved.headers["location"].startswith(f"/{BIG}/compare?b=nodes%3D2&a.variant=")
    direct = client.get(f"/{checkpoint}/compare.json?b=nodes%3D2").json()
    assert direct["a"]["configuration"]["variant"] == direct["b"]["configuration"]["variant"] != "default"


def test_a_recipe_may_be_called_compare(tmp_path: Path) -> None:
    content = content_copy(tmp_path)
    (content / "models" / "acme" / "compare.yaml").write_text(recipe_text(), encoding="utf-8")
    with running(SiteContext(open_collection(content), Addresses(), Theme())) as client:
        assert client.get("/acme/compare.json").json()["hf_id"] == "acme/compare"
        assert client.get("/acme/compare/compare.json").json()["hf_id"] == "acme/compare"


def test_a_built_folder_has_no_comparisons(small: Collection, tmp_path: Path) -> None:
    build(SiteContext(small, Addresses("", "hardware"), Theme()), tmp_path / "out")
    assert [path for path in (tmp_path / "out").rglob("*compare*") if "assets" not in path.parts] == []
    page = next(path for path in (tmp_path / "out").rglob("index.html") if "Big-MoE" in path.as_posix())
    assert "/compare" not in page.read_text(encoding="utf-8")
