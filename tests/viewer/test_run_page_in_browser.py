"""The page of a run in Chromium: rows and trials are read when they are needed."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest
from playwright.sync_api import Browser as Chromium

from clerkship.sandbox.request import Refusal
from clerkship.store.sqlite import SqliteStore
from clerkship.viewer import run_pages
from tests.report.browser import PROGRAM, ScriptedPage, ScriptFailed, open_page
from tests.viewer.page_server import PageServer
from tests.viewer.stored import build_context, list_trials, save_run

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")

STATUS = "document.querySelector('.shown')?.textContent"
SELECTED = "document.querySelector('#trial h2')?.textContent"
TIMELINE = "document.querySelector('.timeline') !== null"


@pytest.fixture(scope="module")
def browser(browser: Chromium) -> Iterator[ScriptedPage]:
    """Return one page for all tests of this module."""
    with open_page(browser) as page:
        yield page


def visit(browser: ScriptedPage, address: str, sign_in: str = "") -> None:
    """Open an address and wait until the page is loaded; with the address that has the token, sign in first."""
    if sign_in:
        browser.send("Page.navigate", url=sign_in)
        wait(browser, "document.readyState === 'complete' && location.search === '' && location.pathname === '/view/'")
    browser.errors.clear()
    browser.send("Page.navigate", url=address)
    wait(browser, "document.readyState === 'complete' && location.href !== 'about:blank'")


def wait(browser: ScriptedPage, condition: str) -> None:
    """Wait until an expression is true, at most ten seconds. The page may be loaded again meanwhile."""
    end = monotonic() + 10
    while monotonic() < end:
        with suppress(ScriptFailed, KeyError):
            if browser.evaluate(f"new Promise((done) => setTimeout(() => done(Boolean({condition})), 20))"):
                return
    raise AssertionError(f"{condition}; the list says {browser.evaluate(STATUS)!r}")


def test_trials_are_read_when_they_are_opened(browser: ScriptedPage, tmp_path: Path) -> None:
    run = save_run(tmp_path / "s.db", list_trials(300))
    with PageServer(build_context(tmp_path / "s.db")) as server:
        visit(browser, f"{server.url}/view/runs/{run}", server.sign_in)
        wait(browser, TIMELINE)
        assert browser.evaluate(STATUS) == "300 trials."
        assert browser.evaluate(SELECTED) == "Call 00003 about the referral"
        assert sum(path.endswith("/trial") for path in server.requests) == 1
        browser.evaluate("location.hash = '#t20e3'")
        wait(browser, "document.querySelector('.event.aimed')?.id === 't20e3'")
        assert sum(path.endswith("/trial") for path in server.requests) == 2
        browser.evaluate("document.querySelector('.tally .is-fail button').click()")
        assert browser.evaluate(STATUS) == "30 of 300 trials."
        assert browser.evaluate("location.search") == "?outcome=fail"
        visit(browser, f"{server.url}/view/runs/{run}?outcome=fail#t20e3")
        wait(browser, "document.querySelector('.event.aimed')?.id === 't20e3'")
        assert browser.evaluate(STATUS) == "30 of 300 trials."
    assert browser.errors == []


def test_trial_that_cannot_be_read_says_why_and_can_be_tried_again(
    browser: ScriptedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = save_run(tmp_path / "s.db", list_trials(12))
    with PageServer(build_context(tmp_path / "s.db")) as server:
        with monkeypatch.context() as broken:
            broken.setattr(run_pages._ShownRun, "find_trial", _refuse)
            visit(browser, f"{server.url}/view/runs/{run}", server.sign_in)
            wait(browser, "document.querySelector('#trial [role=alert]') !== null")
            text = browser.evaluate("document.querySelector('#trial [role=alert]').textContent")
            assert text.startswith("This trial could not be loaded: the record is damaged")
        browser.evaluate("document.querySelector('#trial [role=alert] button').click()")
        wait(browser, TIMELINE)
    assert browser.errors == []


def _refuse(self: object, query: object) -> None:
    raise Refusal(500, "damaged", "the record is damaged")


def test_events_of_a_long_log_follow(browser: ScriptedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_pages, "MAX_EVENTS", 100)
    monkeypatch.setattr(run_pages, "MAX_MORE_EVENTS", 150)
    run = save_run(tmp_path / "s.db", list_trials(1), 500)
    with PageServer(build_context(tmp_path / "s.db")) as server:
        visit(browser, f"{server.url}/view/runs/{run}#t1e450", server.sign_in)
        wait(browser, "document.querySelector('.event.aimed')?.id === 't1e450'")
        wait(browser, "document.querySelector('.timeline').parentElement.textContent.includes('500 events over')")
        assert sum(path.endswith("/events") for path in server.requests) == 3
    assert browser.errors == []


def test_run_in_progress_gets_new_trials_and_keeps_what_is_selected(browser: ScriptedPage, tmp_path: Path) -> None:
    trials = list_trials(40)
    run = save_run(tmp_path / "s.db", trials[:20], status="active")
    with PageServer(build_context(tmp_path / "s.db")) as server, SqliteStore(tmp_path / "s.db") as store:
        with store.hold(run):
            visit(browser, f"{server.url}/view/runs/{run}#t5e2", server.sign_in)
            wait(browser, "document.querySelector('.event.aimed')?.id === 't5e2'")
            assert browser.evaluate(STATUS) == "20 trials."
            task = browser.evaluate(SELECTED)
            save_run(tmp_path / "s.db", trials[20:], status="active", into=run)
            wait(browser, f"{STATUS} === '40 trials.'")
            assert browser.evaluate(SELECTED) == task
            assert browser.evaluate("document.querySelector('.event.aimed').id") == "t5e2"
            assert browser.evaluate("document.getElementById('progress').textContent") == "40 of 20 trials are done."
        wait(browser, "document.getElementById('progress') === null && document.querySelector('.overview')")
        wait(browser, f"{SELECTED} !== undefined")
    assert browser.errors == []


def test_program_that_does_not_answer_is_said(browser: ScriptedPage, tmp_path: Path) -> None:
    run = save_run(tmp_path / "s.db", list_trials(12))
    with PageServer(build_context(tmp_path / "s.db")) as server:
        visit(browser, f"{server.url}/view/runs/{run}", server.sign_in)
        wait(browser, TIMELINE)
    browser.evaluate("location.hash = '#t9'")
    wait(browser, "document.querySelector('#trial [role=alert]') !== null")
    text = browser.evaluate("document.querySelector('#trial [role=alert]').textContent")
    assert "The program that serves this page does not answer." in text
