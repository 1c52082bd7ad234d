"""What a person does on a recipe page, in a real browser."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from site_builder.collection import Collection
from site_builder.views import answer
from tests.test_twins import random_query

pytestmark = pytest.mark.browser
READY = "html[data-ready]"


def visit(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(READY, state="attached")


def command(page: Any) -> str:
    return str(page.inner_text(".process.current pre.command")).strip("\n")


def choose(page: Any, axis: str, value: str = "") -> None:
    page.click(f'.builder a[data-axis="{axis}"][data-value="{value}"]')
    # The address follows after the paint: a frame, and a task after it, however busy the machine is.
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => setTimeout(done))))")
    page.wait_for_timeout(100)


def expected(view: Any, number: int = 0) -> str:
    process = view.processes[number]
    return f"{process.exports}\n\n{process.text}" if process.exports else process.text


def test_an_address_gives_exactly_its_configuration(page: Any, site: str, small: Collection) -> None:
    query = "variant=nvfp4&hardware=gb200&features=reasoning,tool_calling"
    visit(page, f"{site}/acme/Big-MoE?{query}")
    assert command(page) == expected(answer(small, "acme/Big-MoE", query))
    assert "reasoning" in page.inner_text("#adjustments")


def test_a_blocked_choice_moves_the_other_one_and_says_so(page: Any, site: str, small: Collection) -> None:
    visit(page, f"{site}/acme/Big-MoE?variant=nvfp4")
    choose(page, "hardware", "mi300x")
    assert page.url == f"{site}/acme/Big-MoE?hardware=mi300x"
    assert "variant is now default" in page.text_content("#said")
    assert command(page) == expected(answer(small, "acme/Big-MoE", "hardware=mi300x"))


def test_a_multi_node_strategy_brings_its_nodes(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    choose(page, "strategy", "multi_node_dep")
    assert page.url.endswith("?nodes=4&strategy=multi_node_dep")
    assert page.locator("#tabs [role=tab]").all_inner_texts() == ["1. Head node", "2. Node 1", "3. Node 2", "4. Node 3"]


def test_back_undoes_a_choice(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    before = command(page)
    choose(page, "feature.tool_calling")
    assert command(page) != before
    page.go_back()
    assert (command(page), page.url) == (before, f"{site}/acme/Big-MoE")


def test_what_changed_is_marked(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    choose(page, "advanced.max_batched_8k")
    assert [text.strip() for text in page.locator(".line.changed").all_inner_texts()] == [
        "--max-num-batched-tokens 8192 \\"
    ]


def test_no_features_can_be_shared(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Small-8B")
    choose(page, "feature.tool_calling")
    assert page.url.endswith("?features=none")
    page.reload()
    assert "--tool-call-parser" not in command(page)


def test_tabs_are_walked_by_keyboard(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE?nodes=2&hardware=h200")
    page.focus("#tabs [aria-selected=true]")
    page.keyboard.press("ArrowRight")
    assert "--headless" in command(page)
    page.keyboard.press("Home")
    assert "--headless" not in command(page)
    assert page.evaluate("document.activeElement.textContent") == "1. Head node"


def test_a_switch_is_pressed_by_keyboard(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Small-8B")
    page.focus('a[data-axis="feature.tool_calling"]')
    page.keyboard.press("Space")
    assert page.get_attribute('a[data-axis="feature.tool_calling"]', "aria-checked") == "false"


def test_placeholders_fill_every_command_and_are_remembered(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Small-8B?nodes=2")
    page.fill("#fill-HEAD_IP", "10.0.0.7")
    assert "--master-addr 10.0.0.7" in command(page)
    page.reload()
    page.wait_for_selector(READY, state="attached")
    assert "--master-addr 10.0.0.7" in command(page)
    page.fill("#fill-HEAD_IP", "a; rm -rf /")
    assert "--master-addr 'a; rm -rf /'" in command(page)


def test_copying_works_without_a_secure_context(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Small-8B")
    page.evaluate("Object.defineProperty(window, 'isSecureContext', {value: false})")
    page.evaluate(
        "document.addEventListener('copy', () => (window.copied = getSelection().toString() || document.activeElement.value))"
    )
    page.click("#actions button:first-child")
    page.wait_for_selector("#actions button:text('Copied')")
    assert page.evaluate("window.copied") == command(page)


def test_picked_hardware_is_remembered_and_can_be_dropped(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    choose(page, "hardware", "h100")
    visit(page, f"{site}/acme/Small-8B")
    assert page.url == f"{site}/acme/Small-8B?hardware=h100"
    assert "Shown for H100, which you picked before." in page.inner_text("#remembered")
    page.click("#remembered button")
    assert page.url == f"{site}/acme/Small-8B"
    visit(page, f"{site}/acme/Small-8B")
    assert page.url == f"{site}/acme/Small-8B"


def test_a_query_outranks_the_remembered_hardware(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    choose(page, "hardware", "h100")
    visit(page, f"{site}/acme/Small-8B?hardware=b200")
    assert page.url == f"{site}/acme/Small-8B?hardware=b200"


def test_reset_gives_the_default(page: Any, site: str, small: Collection) -> None:
    visit(page, f"{site}/acme/Big-MoE?hardware=h200&nodes=2")
    page.click("#reset")
    assert (page.url, command(page)) == (f"{site}/acme/Big-MoE", expected(answer(small, "acme/Big-MoE", "")))


def test_the_other_forms_follow_the_choices(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    choose(page, "hardware", "h200")
    addresses = page.evaluate("[...document.querySelectorAll('#forms a[data-form]')].map(link => link.href)")
    assert addresses == [f"{site}/acme/Big-MoE.{form}?hardware=h200" for form in ("json", "md")]


def test_exports_follow_the_choices_and_the_open_process(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE?hardware=h200&nodes=2&strategy=multi_node_tp")
    page.click("#exports summary")
    assert page.locator("#exports a").count() == 6
    first = "[...document.querySelectorAll('#exports a')].map(link => link.href)[0]"
    query = "hardware=h200&nodes=2&strategy=multi_node_tp"
    assert page.evaluate(first).split("?")[0] == f"{site}/acme/Big-MoE.sh"
    page.click("#tab-worker-1")
    assert not page.locator("#exports ul").is_visible()
    assert page.evaluate(first).endswith("&process=worker-1")
    page.focus("#exports summary")
    page.keyboard.press("Enter")
    assert page.locator("#exports ul").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#exports ul").is_visible()
    with page.expect_response("**/*.config.yaml*") as response:
        page.evaluate("fetch([...document.querySelectorAll('#exports a')][1].href)")
    assert "node-rank: 1" in response.value.text()
    assert query.split("&")[0] in response.value.url


def test_every_flag_says_where_it_comes_from(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    page.click(".process.current summary")
    assert "variants.default.hardware_overrides.b200" in page.inner_text(".process.current table")


def test_the_page_says_what_the_server_says_for_any_choice(page: Any, site: str, small: Collection) -> None:
    """Summary, warnings, titles and commands after a walk of clicks and addresses are those of the views in Python."""
    chance = random.Random(3)
    for recipe_id, plan in small.plans.items():
        visit(page, f"{site}/{recipe_id}")
        for _ in range(8):
            query = random_query(plan, chance)
            page.evaluate(
                "query => { history.pushState(null, '', '?' + query); dispatchEvent(new PopStateEvent('popstate')); }",
                query,
            )
            view = answer(small, recipe_id, query)
            # What the page draws when there is time comes before this, however busy the machine is.
            page.evaluate("() => new Promise((done) => requestIdleCallback(() => setTimeout(done)))")
            page.wait_for_timeout(60)
            assert page.inner_text("#summary") == view.summary
            assert page.locator("#warnings p").all_inner_texts() == view.warnings
            titles = [tab.split(". ", 1)[1] for tab in page.locator("#tabs [role=tab]").all_inner_texts()]
            assert titles == ([process.title for process in view.processes] if len(view.processes) > 1 else [])
            shown = page.evaluate(
                "[...document.querySelectorAll('pre.command')].map(block => block.textContent.trimEnd())"
            )
            docker = view.selection["install"] == "docker"
            wanted = [
                process.docker if docker and process.docker else expected(view, n)
                for n, process in enumerate(view.processes)
            ]
            assert shown == wanted
            requests = page.evaluate("[...document.querySelectorAll('#requests code')].map(block => block.textContent)")
            assert requests == [entry.text for entry in view.requests]
            needed = page.evaluate(
                "[...document.querySelectorAll('#dependencies code')].map(block => block.textContent)"
            )
            assert needed == [entry.command.strip() for entry in view.dependencies]
            chosen = page.evaluate("""[...document.querySelectorAll('[data-chosen]')].filter(text => !text.closest('[hidden]'))
                .map(text => [text.dataset.chosen, text.textContent])""")
            choices = [choice for choice in view.choices if choice.kind == "one" and not choice.hidden]
            choices = [choice for choice in choices if choice.parameter not in ("install", "cuda")]
            assert chosen == [[choice.axis, choice.description] for choice in choices]
            selected = page.evaluate("""[...document.querySelectorAll('.builder a.selected')]
                .filter(option => !option.closest('[hidden]')).map(option => option.dataset.value).filter(Boolean)""")
            shown_rows = [row for choice in choices for row in choice.rows]
            shown_rows = [row for row in shown_rows if not row.within or view.selection["kv_offload"] in row.within]
            marked = [option for row in shown_rows for option in row.options if option.selected]
            assert selected == [" ".join(option.values) for option in marked]
            fit = (
                f"{view.floor_gb:g} of {view.available_gb:g} GB on {view.where}"
                if view.floor_gb
                else "none is published"
            )
            assert page.text_content("#fit-text") == fit
            assert page.text_content(".builder a[data-checkpoint]") == view.facts["model"]
            described = page.locator("#placeholders code").all_inner_texts()
            assert described == [entry.name if entry.name == "~" else f"${entry.name}" for entry in view.placeholders]


def test_without_javascript_every_choice_is_a_link(browser: Any, site: str, small: Collection) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/acme/Big-MoE?nodes=2&hardware=h200")
    blocks = page.locator("pre.command").all_text_contents()
    assert [block.strip("\n") for block in blocks] == [
        expected(answer(small, "acme/Big-MoE", "nodes=2&hardware=h200"), n) for n in (0, 1)
    ]
    page.click('.builder a[data-axis="hardware"][data-value="mi355x"]')
    assert page.url.startswith(f"{site}/acme/Big-MoE?hardware=mi355x")
    page.select_option("select[name=variant]", "mxfp4")
    page.click("form.ask button")
    assert "amd/Big-MoE-MXFP4" in page.locator("pre.command").first.text_content()
    context.close()


def test_a_group_and_a_task_axis_are_picked_as_one_option(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE?hardware=h200")
    assert not page.is_visible("text=Topology")
    choose(page, "kv_offload", "kv_store_distributed_mooncake kv_store_centralized_mooncake")
    assert page.is_visible("text=Topology")
    assert page.url.endswith("kv_offload=kv_store_distributed_mooncake")
    choose(page, "kv_offload", "kv_store_centralized_mooncake")
    assert page.url.endswith("kv_offload=kv_store_centralized_mooncake")
    choose(page, "kv_offload", "off")
    assert not page.is_visible("text=Topology")
    visit(page, f"{site}/zeta/Paint")
    choose(page, "task", "edit")
    assert page.url.endswith("?task=edit")
    choose(page, "task", "t2i full_t2i")
    assert page.url.endswith("?task=full_t2i")


def test_an_option_opened_elsewhere_leads_to_what_a_click_gives(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    choose(page, "hardware", "h200")
    option = page.locator('.builder a[data-axis=nodes][data-value="2"]')
    option.hover()
    assert option.get_attribute("href") == "/acme/Big-MoE?hardware=h200&nodes=2"


def test_a_file_host_links_prepared_files_where_no_script_runs(browser: Any, files: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{files}/acme/Big-MoE/")
    links = page.evaluate("[...document.querySelectorAll('.builder a[data-axis][href]')].map(link => link.href)")
    assert f"{files}/acme/Big-MoE/hw/h200.md" in links
    assert f"{files}/acme/Big-MoE/strategies/single_node_tp.md" in links
    for link in links:
        assert page.request.get(link).ok, link
    context.close()


def test_links_of_a_guide_are_the_same_on_every_host(page: Any, site: str, files: str) -> None:
    for base in (site, files):
        visit(page, f"{base}/zeta/Paint/" if base == files else f"{base}/zeta/Paint")
        links = page.evaluate("[...document.querySelectorAll('.guide p a')].map(link => link.href)")
        assert links[:2] == [f"{base}/zeta/Embed-1B", f"{base}/acme/Small-8B"]
        assert links[2].endswith("#overview")


def test_a_file_host_under_a_path_gives_the_full_builder(page: Any, files: str, small: Collection) -> None:
    page.goto(f"{files}/acme/Big-MoE/?hardware=h200&nodes=2")
    page.wait_for_selector(READY, state="attached")
    assert command(page) == expected(answer(small, "acme/Big-MoE", "hardware=h200&nodes=2"))
    choose(page, "hardware", "mi355x")
    assert "hardware=mi355x" in page.url
    assert command(page).startswith(expected(answer(small, "acme/Big-MoE", page.url.split("?")[1]))[:60])


def test_the_budget_of_a_page(page: Any, site: str) -> None:
    """Requests, and bytes as they would be compressed; every one from this site. (On files, a host compresses.)"""
    import gzip

    seen: list[tuple[str, int, str]] = []
    page.on(
        "response",
        lambda response: seen.append(
            (response.url, len(gzip.compress(response.body(), 9)), response.url.rsplit(".", 1)[-1])
        ),
    )
    visit(page, f"{site}/acme/Big-MoE")
    page.wait_for_load_state("networkidle")
    assert [url for url, _, _ in seen if not url.startswith(site)] == []
    assert len(seen) < 15
    assert sum(size for _, size, _ in seen) < 60_000
    assert sum(size for _, size, kind in seen if kind == "js") < 20_000


def test_nothing_moves_while_the_page_loads(page: Any, site: str) -> None:
    page.add_init_script("""
        window.shift = 0;
        new PerformanceObserver(list => list.getEntries().forEach(e => (window.shift += e.value))).observe({type: 'layout-shift', buffered: true});
    """)
    for query in ("", "?strategy=pd_cluster", "?kv_offload=kv_store_centralized_mooncake"):
        visit(page, f"{site}/acme/Big-MoE{query}")
        page.wait_for_timeout(150)
        assert page.evaluate("window.shift") == 0


def test_the_scripts_of_the_page_hold_no_markup(page: Any, site: str) -> None:
    visit(page, f"{site}/acme/Big-MoE")
    data = page.text_content("#page-data")
    assert "<" not in data
    assert json.loads(data)["id"] == "acme/Big-MoE"


def test_the_command_is_on_the_first_screen_of_a_phone(browser: Any, site: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    for query in ("", "?strategy=pd_cluster"):
        page.goto(f"{site}/acme/Big-MoE{query}")
        assert page.locator(".process.current pre.command").bounding_box()["y"] < 700
    context.close()
