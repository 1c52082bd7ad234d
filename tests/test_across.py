"""The table of a recipe across hardware: its rows, its forms, and what a query means there."""

from __future__ import annotations

from site_builder.across import across
from site_builder.collection import Collection
from site_builder.render import hardware
from site_builder.render.as_html import Theme
from site_builder.site import SiteContext
from site_builder.urls import Addresses
from site_builder.views import answer
from tests.helpers import running


def test_every_row_is_a_configuration_of_its_own(small: Collection) -> None:
    found = across(small, "acme/big-moe", "")
    pairs = [(view.selection["hardware"], view.selection["variant"]) for view in found.rows]
    assert len(pairs) == len(set(pairs)) > 4
    axes = {axis["id"]: axis for axis in found.default.plan["axes"]}
    for name in axes["hardware"]["options"]:
        for variant in axes["variant"]["options"]:
            view = answer(small, "acme/Big-MoE", {"hardware": name, "variant": variant})
            fits_together = (view.selection["hardware"], view.selection["variant"]) == (name, variant)
            assert ((name, variant) in pairs) == fits_together
    assert all(not view.adjustments for view in found.rows)


def test_a_query_says_what_has_to_fit_and_nothing_else(small: Collection) -> None:
    found = across(small, "acme/Big-MoE", "context=2000&hardware=h200&concurrency=7")
    assert found.query == "context=2000&concurrency=7"
    assert [note["parameter"] for note in found.adjustments] == ["hardware"]
    assert {(view.fit.context, view.fit.concurrency) for view in found.rows} == {(2000, 7)}


def test_its_forms_over_http(small: Collection) -> None:
    with running(SiteContext(small, Addresses("https://e.org"), Theme())) as client:
        rows = client.get("/acme/Big-MoE/hardware.json").json()["rows"]
        markdown = client.get("/acme/Big-MoE/hardware.md")
        assert markdown.text.count("| https://e.org/acme/Big-MoE") == len(rows)
        assert markdown.headers["link"] == '<https://e.org/acme/Big-MoE/hardware>; rel="canonical"'
        page = client.get("/acme/Big-MoE/hardware?context=4096")
        assert page.status_code == 200
        assert page.text.count('<th scope="row">') == len(rows)
        negotiated = client.get("/acme/Big-MoE/hardware", headers={"accept": "text/markdown"})
        assert negotiated.text == markdown.text
        assert client.get("/acme/big-moe/hardware").headers["location"] == "/acme/Big-MoE/hardware"
        assert client.get("/nvidia/Big-MoE-NVFP4/hardware").status_code == 308
        assert client.get("/acme/Big-MoE/hardware.json?hardware=h20&strict=1").status_code == 422
        assert client.get("/acme/Nope/hardware.json").status_code == 404


def test_what_is_unknown_is_told(small: Collection) -> None:
    view = answer(small, "zeta/Embed-1B", "")
    assert (hardware.fit_text(view), hardware.gpus(view)) == ("unknown", view.hardware.gpu_count)
