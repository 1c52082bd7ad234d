"""The page that compares two configurations: reached from a recipe, changed by its form, read on narrow screens."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser
COMPARED = "/acme/Big-MoE/compare?b=hardware%3Dh200%26features%3Dtool_calling"


def test_the_link_of_a_recipe_follows_the_choices(page: Any, site: str) -> None:
    page.goto(f"{site}/acme/Big-MoE")
    page.wait_for_selector("html[data-ready]", state="attached")
    link = page.locator("#compare a")
    assert link.get_attribute("href") == "/acme/Big-MoE/compare"
    page.click("a[data-axis=hardware][data-value=h200]")
    page.wait_for_url("**/acme/Big-MoE?hardware=h200")
    link.click()
    page.wait_for_url("**/acme/Big-MoE/compare?b=hardware%3Dh200")
    assert "H200" in page.inner_text("#side-b")
    assert "H200" not in page.inner_text("#side-a")
    page.go_back()
    page.wait_for_selector("html[data-ready]", state="attached")
    page.click("#reset")
    page.wait_for_url("**/acme/Big-MoE")
    page.wait_for_selector("#compare a[href$='/acme/Big-MoE/compare']")


def test_a_built_site_has_no_link(page: Any, files: str) -> None:
    page.goto(f"{files}/acme/Big-MoE/")
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.locator("#compare").count() == 0


def test_the_form_changes_both_sides_without_scripts(browser: Any, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/acme/Big-MoE/compare?b=features%3Dnone")
    page.click("#change summary")
    page.select_option("select[name='a.hardware']", "h200")
    page.select_option("select[name='b.hardware']", "gb200")
    page.check("input[name='b.features'][value=tool_calling]")
    page.click("text=Compare >> nth=-1")
    assert page.url == f"{site}/acme/Big-MoE/compare?a=hardware%3Dh200&b=features%3Dtool_calling%26hardware%3Dgb200"
    assert ("H200" in page.inner_text("#side-a"), "GB200" in page.inner_text("#side-b")) == (True, True)
    assert page.locator("#adjustments").count() == 0
    page.click("text=Exchange A and B")
    assert ("GB200" in page.inner_text("#side-a"), "H200" in page.inner_text("#side-b")) == (True, True)
    context.close()


def test_what_differs_is_marked_by_words_and_what_is_the_same_waits(page: Any, site: str) -> None:
    page.goto(site + COMPARED)
    marks = [text for text in page.locator(".compared .how").all_inner_texts() if text]
    assert {"≠ differs", "− only A"} <= set(marks)
    assert "= same" not in marks
    page.locator("details.same summary").first.click()
    assert "= same" in [text for text in page.locator(".compared .how").all_inner_texts() if text]


def test_a_narrow_screen_stacks_the_sides(browser: Any, site: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(site + COMPARED)
    cells = page.locator(".compared tbody tr:has(.mark) >> nth=0").locator("th, td")
    tops = [cells.nth(number).bounding_box()["y"] for number in range(4)]
    assert tops == sorted(set(tops))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
