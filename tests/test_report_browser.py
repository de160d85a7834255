"""The report in a real Chromium: attacks do nothing, keys reach everything, a phone shows it, it stands unscripted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from simulator.llm import Completion
from tests.report_page import ATTACKS, made, world
from tests.small_world import turn

pytestmark = pytest.mark.chromium

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
TURNS = [
    turn("reply", "says my doctor"),
    turn("sentiment", "positive", completion=Completion("positive", "stop", 80, 1, 40, 0.2, {"positive": -0.3})),
    turn("impact", "I cannot tell"),
    turn("reply", None, "t1_x", prompt="the whole prompt"),
    turn("reply", "says somebody", repeat=1, mode="rollout", distance=2),
    turn("impact", "3", "t1_x", mode="rollout"),
    turn("impact", "5", "t1_x", mode="rollout", repeat=1),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        needed = "the report's browser tests need Chromium; install it, e.g. with: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(needed)
        pytest.skip(needed)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    apart(folder, TURNS)
    return folder / "report.html"


def apart(*given: Any) -> None:
    """made() in a thread of its own: the browser's has an event loop that runs."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(made, *given).result()


class Seen:
    """What a page did besides being shown."""

    def __init__(self, page: Page) -> None:
        self.requests: list[str] = []
        self.said: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.route("http*://**", self._refused)

    def _refused(self, route: Route) -> None:
        self.said.append(f"asked for {route.request.url}")
        route.abort()


def shown(browser: Browser, file: Path, **context: Any) -> tuple[Page, Seen]:
    page = browser.new_context(**context).new_page()
    seen = Seen(page)
    page.goto(file.as_uri())
    if context.get("java_script_enabled", True):
        page.wait_for_selector("html[data-ready=yes]")
    return page, seen


def opened(page: Page) -> None:
    """Opens all there is to open."""
    for _ in range(4):
        page.evaluate("document.querySelectorAll('details:not([open])').forEach(d => { d.open = true })")
        page.wait_for_timeout(50)


def test_attacks_run_nothing_ask_for_nothing_and_can_be_read(browser: Browser, tmp_path: Path) -> None:
    apart(tmp_path, *world("\n".join([*ATTACKS, "<img src=http://evil.example/x.png>", "last words"])))
    page, seen = shown(browser, tmp_path / "report.html")
    page.get_by_role("button", name="Show all rows").click()
    opened(page)
    file = (tmp_path / "report.html").as_uri()
    assert [url for url in seen.requests if url.partition("#")[0] != file] == [] and seen.said == []
    text = page.locator("#threads-view").inner_text()
    for attack in ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<U+202E>exe.gnp<U+2066>", "&lt;b&gt;"):
        assert attack in text and attack in page.locator("main").inner_text()
    assert page.locator("img, iframe, object, embed, form[action], [onerror], [onload], [onfocus]").count() == 0
    assert page.evaluate("document.scripts.length") == 5
    page.context.close()


def test_a_page_that_was_changed_runs_no_other_script(browser: Browser, report: Path, tmp_path: Path) -> None:
    html = report.read_text(encoding="utf-8")
    spoilt = html.replace("<main>", "<main><script>document.title = 'owned'</script><img src=x onerror='alert(2)'>")
    (tmp_path / "spoilt.html").write_text(spoilt.replace('<p class="verdict">', "<p style='color: red'>", 1))
    page, seen = shown(browser, tmp_path / "spoilt.html")
    assert page.title() != "owned" and len([line for line in seen.said if "Content Security Policy" in line]) >= 3
    assert page.evaluate("() => { try { document.body.innerHTML = 'x' } catch (e) { return e.name } }") == "TypeError"
    page.context.close()


def test_a_number_leads_to_its_rows_by_keyboard(browser: Browser, report: Path) -> None:
    page, _ = shown(browser, report)
    link = page.locator("#verdict tbody tr").filter(has_text="Impact, replay").locator("td a").first
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'rows'")
    status = page.locator("#rows-view [role=status]")
    assert "rows 1 to 1 of 1" in status.inner_text() and status.get_attribute("aria-live") == "polite"
    row = page.locator("#rows-view tbody tr")
    assert "failed: unparseable" in row.inner_text() and "impact, replay" in row.inner_text()
    page.get_by_label("System").select_option("own mean")
    assert "own mean" in page.locator("#rows-view tbody tr").inner_text()
    page.get_by_role("button", name="Show all rows").press("Enter")
    page.locator("#rows-view").get_by_role("button", name="Next").focus()
    page.keyboard.press("Space")
    assert "page 2 of 2" in status.inner_text()
    page.locator("#rows-view tbody tr").last.get_by_role("link").press("Enter")
    page.wait_for_function("document.activeElement.classList.contains('node')")
    page.context.close()


def test_a_turn_opens_to_card_memory_prompt_answer_and_probes(browser: Browser, report: Path) -> None:
    page, _ = shown(browser, report)
    opened(page)
    text = page.locator("#threads-view").inner_text()
    for part in ("Persona card", "never black", "age −1.000", "the whole prompt", "no connection", "says my doctor"):
        assert part in text
    for part in ("P(first label) 1.000, label mass 0.741", "Impact failed (unparseable) (truth 6)"):
        assert part in text
    node = page.locator("li.node").filter(has_text="says my doctor").first
    labels = node.locator(".side .label").all_inner_texts()
    assert labels == ["Real", "Simulated, replay", "Simulated, rollout, repeat 1"]
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, report: Path, scheme: Any) -> None:
    page, _ = shown(browser, report, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    opened(page)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    wide = page.locator(".scroll").evaluate_all("all => all.filter(e => e.scrollWidth > e.clientWidth).length")
    named = "all => all.every(e => e.tabIndex === 0 && e.ariaLabel && e.role === 'region')"
    assert wide > 3 and page.locator(".scroll").evaluate_all(named)
    red, *_ = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red < 60) == (scheme == "dark")
    page.context.close()


def test_headings_tables_and_controls_are_named_also_where_the_script_made_them(browser: Browser, report: Path) -> None:
    page, _ = shown(browser, report)
    opened(page)
    levels = page.locator("h1, h2, h3, h4, h5").evaluate_all("all => all.map(e => Number(e.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.locator("table").evaluate_all("all => all.every(e => e.caption && e.caption.textContent.trim())")
    assert page.locator("th:not([scope])").count() == 0
    controls = page.locator("select, input, button")
    assert controls.count() > 10
    assert controls.evaluate_all("all => all.every(e => e.labels?.length || e.ariaLabel || e.textContent)")
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    page.context.close()


def test_without_scripting_verdict_tables_and_plots_stand(browser: Browser, report: Path) -> None:
    page, _ = shown(browser, report, java_script_enabled=False)
    assert page.locator(".verdict").first.is_visible() and page.locator("figure svg").first.is_visible()
    assert page.locator("main table:visible").count() > 8
    assert "scores.ndjson beside this file" in page.locator("#rows").inner_text()
    assert "transcript.md beside this file" in page.locator("#threads").inner_text()
    page.context.close()
