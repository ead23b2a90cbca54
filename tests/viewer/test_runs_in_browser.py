"""The pages of runs, tasks and agents in Chromium: what a reader does, axe-core, small and dark screens."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from clerkship.settings import Settings
from clerkship.store.opening import open_store
from clerkship.store.sqlite import SqliteStore
from clerkship.viewer.answering import respond
from clerkship.viewer.application import LocalViewer
from clerkship.viewer.context import ViewerContext
from tests.viewer.made_up import make_store

Scheme = Literal["dark", "light"]
DESKTOP = ViewportSize(width=1280, height=720)
PHONE = ViewportSize(width=390, height=844)
BACKGROUNDS = {"dark": "rgb(18, 21, 26)", "light": "rgb(245, 246, 248)"}
PAGES = ("", "tasks", "agents", "compare")


class Visit(NamedTuple):
    """A page of a viewer, with the ids of its runs and what its console said."""

    page: Page
    viewer: LocalViewer
    path: Path
    ids: list[str]
    messages: list[str]

    def rows(self) -> list[str]:
        """Return the ids of the runs that are shown."""
        return [row.get_attribute("id") or "" for row in self.page.locator(".run-table tbody tr").all()]

    def go(self, name: str) -> None:
        """Open a page by its name."""
        query = f"?before={self.ids[0]}&after={self.ids[1]}" if name == "compare" else ""
        self.page.goto(f"{self.viewer.address}{name}{query}")


def visit(context: BrowserContext, path: Path) -> Iterator[Visit]:
    """Open the viewer of a made-up store in the first page of a context."""
    ids = make_store(path, 9)
    settings = Settings(store=path)
    page, messages = context.pages[0], list[str]()
    page.set_default_timeout(10_000)
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    with LocalViewer(partial(respond, ViewerContext(settings, partial(open_store, settings)))) as viewer:
        page.goto(viewer.url)
        yield Visit(page, viewer, path, ids, messages)
        assert messages == []
        page.goto("about:blank")


@pytest.fixture(scope="module")
def desktop(browser: Browser) -> Iterator[BrowserContext]:
    """Return one context with a page for all tests of this module that need no other."""
    context = browser.new_context()
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def visited(desktop: BrowserContext, tmp_path: Path) -> Iterator[Visit]:
    yield from visit(desktop, tmp_path / "store.db")


def test_list_is_filtered_by_links_that_keep_their_address(visited: Visit) -> None:
    page, ids = visited.page, visited.ids
    assert "token" not in page.url
    expect(page.get_by_role("status")).to_have_text("9 runs")
    assert visited.rows() == ids[::-1]
    page.locator("select[name=agent]").select_option("oracle")
    expect(page.get_by_role("status")).to_have_text("3 of 9 runs")
    assert page.url.endswith("/view/?agent=oracle")
    page.locator(f"#{ids[1]}").get_by_role("link", name="forms@2").click()
    expect(page.get_by_role("status")).to_have_text("2 of 9 runs")
    assert visited.rows() == [ids[7], ids[1]]
    page.reload()
    expect(page.get_by_role("status")).to_have_text("2 of 9 runs")
    expect(page.locator("select[name=agent]")).to_have_value("oracle")
    expect(page.locator(".command code")).to_contain_text("--agent oracle --benchmark forms@2")
    page.go_back()
    expect(page.get_by_role("status")).to_have_text("3 of 9 runs")
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_role("status")).to_have_text("9 runs")
    page.get_by_role("button", name="Passed").click()
    expect(page.locator(".run-table tbody tr").first).to_have_id(ids[7])


def test_row_shows_figures_that_are_read_later(visited: Visit) -> None:
    row = visited.page.locator(f"#{visited.ids[0]}")
    expect(row.locator(".run-axes")).to_have_text("safety0.50")
    expect(row).to_contain_text("$1.00")
    expect(row).to_contain_text("95 % interval 15% to 85%")
    expect(row).to_contain_text("42 s")


def test_two_runs_are_chosen_with_the_keyboard_and_compared(visited: Visit) -> None:
    page, ids = visited.page, visited.ids
    for run_id in (ids[4], ids[1]):
        page.get_by_label(f"Choose {run_id}").focus()
        page.keyboard.press("Space")
    page.get_by_role("link", name="Compare the two").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/compare?before={ids[1]}&after={ids[4]}")
    expect(page.locator(".facts")).to_contain_text(f"clerkship compare {ids[1]} {ids[4]}")
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("9 runs")


def test_run_is_labelled_as_text_and_deleted(visited: Visit) -> None:
    page, ids = visited.page, visited.ids
    label = "<img src=x onerror=alert(1)> & first"
    page.get_by_role("button", name=f"Label {ids[0]}").click()
    page.get_by_role("dialog").get_by_role("textbox").fill(label)
    page.keyboard.press("Enter")
    expect(page.locator(f"#{ids[0]} .run-label")).to_have_text(label)
    page.reload()
    expect(page.locator(f"#{ids[0]} .run-label")).to_have_text(label)
    page.get_by_role("button", name=f"Delete {ids[0]}").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name=f"Delete {ids[0]}").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("status")).to_have_text("8 runs")
    with SqliteStore(visited.path) as store:
        assert ids[0] not in [run.id for run, _ in store.runs()]


def test_run_at_work_updates_itself(visited: Visit) -> None:
    page, run_id = visited.page, visited.ids[0]
    with SqliteStore(visited.path) as store:
        with store.hold(run_id):
            store.mark(run_id, "active", "2026-03-02T12:00:00+00:00")
            page.reload()
            expect(page.locator(f"#{run_id}")).to_contain_text("running, 4 of 4")
            expect(page.get_by_role("button", name=f"Delete {run_id}")).to_be_disabled()
            store.mark(run_id, "completed", "2026-03-02T12:00:09+00:00")
        expect(page.locator(f"#{run_id}")).not_to_contain_text("running")
        expect(page.get_by_role("button", name=f"Delete {run_id}")).to_be_enabled()


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
def test_axe_finds_no_serious_violation_and_pages_fit_a_phone(browser: Browser, tmp_path: Path, scheme: Scheme) -> None:
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    context.new_page()
    for visited in visit(context, tmp_path / "store.db"):
        page = visited.page
        for name in PAGES:
            page.set_viewport_size(DESKTOP)
            visited.go(name)
            if not name:
                page.get_by_label(f"Choose {visited.ids[0]}").check()
                expect(page.locator(".run-axes dd").first).to_be_visible()
            found = Axe().run(page).response["violations"]
            serious = [each for each in found if each["impact"] in ("serious", "critical")]
            assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == [], name
            page.set_viewport_size(PHONE)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == BACKGROUNDS[scheme]
    context.close()


def test_list_without_scripts_names_the_runs(browser: Browser, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.new_page()
    for visited in visit(context, tmp_path / "store.db"):
        expect(visited.page.get_by_role("link", name=visited.ids[0])).to_be_visible()
    context.close()
