"""The rest of the site in a real browser: search, browse, themes, narrow screens, accessibility."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser
PAGES = ("/", "/browse", "/browse?task=text", "/acme", "/nothing/here", "/acme/Big-MoE", "/acme/Big-MoE?strategy=pd_cluster&bogus=1",
         "/acme/Big-MoE?kv_offload=kv_store_centralized_mooncake&nodes=2", "/zeta/Paint?task=edit",
         "/acme/Big-MoE/compare", "/acme/Big-MoE/compare?a=bogus%3D1&b=strategy%3Dmulti_node_tp%26features%3Dnone")  # fmt: skip


def draw_all(page: Any) -> None:
    """Draw what the browser leaves out as long as it is far below the window."""
    page.evaluate("document.querySelectorAll('.guide > *').forEach(part => part.style.contentVisibility = 'visible')")


def test_search_finds_by_the_habits_of_people(page: Any, site: str) -> None:
    page.goto(f"{site}/")
    page.keyboard.press("/")
    page.wait_for_selector("dialog[open]")
    for typed, first in (
        ("bigmoe", "acme/Big-MoE"),
        ("small 8 b", "acme/Small-8B"),
        ("mi355x mxfp4", "acme/Big-MoE"),
        ("zeta embed", "zeta/Embed-1B"),
    ):
        page.fill("dialog input", typed)
        page.wait_for_selector(f"#results li:first-child small:text-is('{first}')")
    page.fill("dialog input", "zzz")
    assert page.inner_text("#found") == "Nothing found"


def test_search_is_used_by_keyboard_alone(page: Any, site: str) -> None:
    page.goto(f"{site}/browse")
    page.keyboard.press("Control+k")
    page.keyboard.type("acme")
    page.wait_for_selector("#results li:nth-child(2)")
    page.keyboard.press("ArrowDown")
    second = page.inner_text("#results a[aria-selected=true] small")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/{second}*")


def test_filters_live_in_the_address(page: Any, site: str) -> None:
    page.goto(f"{site}/browse")
    page.wait_for_load_state("networkidle")
    page.click("a.filter[data-value=moe]")
    assert (page.url, page.inner_text("#count")) == (f"{site}/browse?arch=moe", "1 of 4 recipes")
    page.go_back()
    assert page.inner_text("#count") == "4 of 4 recipes"
    page.fill("#q", "zeta")
    page.press("#q", "Enter")
    assert page.inner_text("#count") == "2 of 4 recipes"
    assert page.locator("[data-facet=arch] a[data-value=moe] .count").inner_text() == "0"


def test_filters_work_without_javascript(browser: Any, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/browse")
    page.click("a.filter[data-value=omni]")
    assert (page.url, page.inner_text("#count")) == (f"{site}/browse?task=omni", "1 of 4 recipes")
    context.close()


def test_filters_work_on_a_file_host(page: Any, files: str) -> None:
    page.goto(f"{files}/browse/?task=omni")
    page.wait_for_function("document.getElementById('count').textContent === '1 of 4 recipes'")


def test_the_theme_follows_the_system_and_can_be_switched(browser: Any, site: str) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(f"{site}/")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    light = page.evaluate(ground)
    assert dark != light
    page.goto(f"{site}/browse")
    assert page.evaluate(ground) == light
    context.close()


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_is_wider_than_a_narrow_screen(browser: Any, site: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    for path in PAGES:
        page.goto(site + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_an_accessibility_violation(browser: Any, site: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    found = {}
    for path in PAGES:
        page.goto(site + path)
        page.wait_for_load_state("networkidle")
        draw_all(page)
        results = Axe().run(page).response["violations"]
        found[path] = [(violation["id"], violation["nodes"][0]["html"][:120]) for violation in results]
    assert {path: violations for path, violations in found.items() if violations} == {}
    page.goto(f"{site}/")
    page.keyboard.press("/")
    page.keyboard.type("a")
    page.wait_for_selector("#results li")
    assert [violation["id"] for violation in Axe().run(page).response["violations"]] == []
    context.close()


def test_controls_are_large_enough_to_hit(page: Any, site: str) -> None:
    page.goto(f"{site}/acme/Big-MoE")
    page.wait_for_selector("html[data-ready]", state="attached")
    draw_all(page)
    small = page.evaluate("""[...document.querySelectorAll('button, a.option, select, input, summary, nav a')]
        .filter(e => e.checkVisibility()).map(e => [e.textContent.trim(), e.getBoundingClientRect()])
        .filter(([, box]) => box.height < 24 || box.width < 24).map(([text]) => text)""")
    assert small == []


def test_print_shows_the_command_and_the_guide(page: Any, site: str) -> None:
    page.goto(f"{site}/acme/Big-MoE")
    page.emulate_media(media="print")
    assert page.is_visible(".process.current pre")
    assert page.is_visible("#guide")
    assert not page.is_visible(".builder")
