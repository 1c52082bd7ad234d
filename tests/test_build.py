"""Building: what is written, and that a reader never sees half of it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest

from site_builder.build import build
from site_builder.collection import Collection
from site_builder.errors import CannotExport, OutputError
from site_builder.output import publish
from site_builder.pages import PAGES
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses, Prepare


def test_what_is_built_is_what_is_served(small: Collection, tmp_path: Path) -> None:
    context = SiteContext(small, Addresses("", "hardware"), Theme())
    build(context, tmp_path / "dist")
    for page in PAGES:
        for values in page.paths(context):
            path = page.template.format(**values)
            try:
                text = page.text(context, values, "")
            except CannotExport:
                assert not (tmp_path / "dist" / path).exists()
                assert f"/{path}" not in (tmp_path / "dist" / values["org"] / values["repo"] / "index.html").read_text()
                continue
            file = tmp_path / "dist" / (path if "html" not in text.media_type else f"{path}/index.html".lstrip("/"))
            assert file.read_bytes() == text.data


def test_the_markdown_of_a_folder_links_files(small: Collection, tmp_path: Path) -> None:
    build(SiteContext(small, Addresses("https://e.org/x", "hardware"), Theme()), tmp_path / "dist")
    text = (tmp_path / "dist" / "acme" / "Big-MoE.md").read_text(encoding="utf-8")
    assert "- hardware `h200`: https://e.org/x/acme/Big-MoE/hw/h200.md" in text
    assert "- strategy `multi_node_tp`: https://e.org/x/acme/Big-MoE/strategies/multi_node_tp.md" in text
    for line in text.splitlines():
        if line.startswith(("- hardware `", "- strategy `")):
            path = line.split("https://e.org/x/")[1]
            assert (tmp_path / "dist" / path).is_file()


@pytest.mark.parametrize("prepare", ["hardware", "all"])
def test_machine_forms_of_a_folder_link_files_alone(small: Collection, tmp_path: Path, prepare: Prepare) -> None:
    base = "https://e.org/x/"
    build(SiteContext(small, Addresses(base, prepare), Theme()), tmp_path / "dist")
    texts = [path for suffix in ("json", "md") for path in (tmp_path / "dist").rglob(f"*.{suffix}")]
    assert any("/hw/h200/strategies/" in str(path) for path in texts) == (prepare == "all")
    found = 0
    for path in texts:
        for address in re.findall(
            r"https://e\.org/x/([^\s\"]+\.(?:json|md|sh|yaml|env)[^\s\"]*)", path.read_text(encoding="utf-8")
        ):
            if "{" not in address:
                assert (tmp_path / "dist" / address).is_file(), (path, address)
                found += 1
    assert found > 300


def test_a_folder_without_prepared_files_asks_by_query(small: Collection, tmp_path: Path) -> None:
    build(SiteContext(small, Addresses("", "none"), Theme()), tmp_path / "dist")
    assert not list((tmp_path / "dist").rglob("hw"))
    assert "in its query string" in (tmp_path / "dist" / "acme" / "Big-MoE.md").read_text(encoding="utf-8")


def test_a_checkpoint_of_a_variant_leads_to_its_recipe(small: Collection, tmp_path: Path) -> None:
    build(SiteContext(small, Addresses("https://e.org/x", "hardware"), Theme()), tmp_path / "dist")
    page = (tmp_path / "dist" / "amd" / "Big-MoE-MXFP4" / "index.html").read_text(encoding="utf-8")
    assert 'content="0; url=https://e.org/x/acme/Big-MoE?variant=mxfp4"' in page
    assert (tmp_path / "dist" / "amd" / "Big-MoE-MXFP4.json").is_file()


def test_a_build_writes_what_changed_and_removes_what_is_gone(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    first = publish(out, {"a": b"1", "b/c": b"2"})
    assert (first.written, first.removed) == (3, 0)
    before = (out / "a").stat().st_ino
    second = publish(out, {"a": b"1", "d": b"3"})
    assert (second.written, second.removed, second.unchanged) == (1, 1, 2)
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == [".site-builder", "a", "d"]
    assert (out / "a").stat().st_ino == before
    third = publish(out, {"a": b"1", "d": b"3"})
    assert (third.written, third.removed) == (0, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["dist"]


def test_the_same_input_gives_the_same_bytes(small: Collection, tmp_path: Path) -> None:
    for name in ("one", "two"):
        build(SiteContext(small, Addresses("", "hardware"), Theme()), tmp_path / name)
    files = [path for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) > 40
    for path in files:
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_a_folder_of_others_is_never_emptied(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(
        OutputError, match="holds files that site_builder did not write; empty it or give another folder"
    ):
        publish(tmp_path, {"a": b"1"})
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_a_file_in_the_way_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "dist").write_text("x")
    with pytest.raises(OutputError, match="is not a folder; give another place with --out"):
        publish(tmp_path / "dist", {"a": b"1"})


def test_a_write_that_fails_leaves_the_old_site(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    publish(out, {"a": b"1"})
    with pytest.raises(OutputError, match="the site there is as it was"):
        publish(out, {"a": b"2", "a/b": b"3"})
    assert (out / "a").read_bytes() == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["dist"]


def test_compressed_forms_lie_beside_the_files(small: Collection, tmp_path: Path) -> None:
    """They hold the file's bytes, pictures have none, and a second build writes nothing."""
    site, out = SiteContext(small, Addresses("", "hardware"), Theme()), tmp_path / "dist"
    plain = build(site, out)
    build(site, out, compress=True)
    packed = [path for path in out.rglob("*") if path.suffix in (".br", ".gz")]
    assert plain.written < len(packed)
    for path in packed:
        unpack = brotli.decompress if path.suffix == ".br" else gzip.decompress
        assert unpack(path.read_bytes()) == path.with_suffix("").read_bytes()
    assert not [path for path in packed if path.name.split(".")[-2] in ("png", "ico")]
    assert build(site, out, compress=True).written == 0
    assert build(site, out).removed == len(packed)
