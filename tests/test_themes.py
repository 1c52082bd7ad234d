"""A theme lays single templates and files over the default one."""

from __future__ import annotations

from pathlib import Path

from site_builder.assets import ROOT
from site_builder.collection import Collection
from site_builder.pages import find_page
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses


def rendered(collection: Collection, theme: Theme, path: str) -> str:
    found = find_page(path)
    assert found
    return str(found[0].text(SiteContext(collection, Addresses(), theme), found[1], "").body)


def test_the_second_theme_replaces_tokens_and_one_template(small: Collection) -> None:
    slate, default = Theme(ROOT / "themes" / "slate"), Theme()
    sheet = next(content for name, content in slate.assets.files.items() if name.endswith("site.css")).decode()
    assert "--accent: #1d4ed8" in sheet
    assert "--accent: #0b5d57" not in sheet
    assert ".panel {" in sheet
    assert slate.assets.prefix != default.assets.prefix
    assert '<span class="muted">Acme</span>' in rendered(small, slate, "acme")
    assert '<span class="muted">Acme</span>' not in rendered(small, default, "acme")
    assert "<h1>" in rendered(small, slate, "acme/Big-MoE")


def test_a_theme_may_add_files(tmp_path: Path) -> None:
    (tmp_path / "static" / "img").mkdir(parents=True)
    (tmp_path / "static" / "img" / "extra.svg").write_text("<svg/>")
    theme = Theme(tmp_path)
    assert theme.assets.address("img/extra.svg").startswith(theme.assets.prefix)
    assert theme.assets.address("img/mark.svg")
