"""One Chromium for all tests of a process, through Playwright.

While Playwright is open, its event loop counts as running in this thread, and `asyncio.run` fails. So the loop counts
only while a test that has the browser is set up, runs and is torn down.
"""

import asyncio
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.report.browser import PROGRAM
from tests.waiting import DEADLINE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FIXTURE = "browser"
_suspended: list[tuple[asyncio.AbstractEventLoop, Any]] = []
"""The loop of Playwright and its task, while it does not count as running."""


@contextmanager
def enter_playwright() -> Iterator[None]:
    """Let the loop of Playwright count as running, also for one that is opened meanwhile."""
    if asyncio._get_running_loop() is not None:
        yield
        return
    if _suspended:
        loop, task = _suspended.pop()
        asyncio._set_running_loop(loop)
        _swap_task(loop, task)
    try:
        yield
    finally:
        running = asyncio._get_running_loop()
        if running is not None:
            _suspended.append((running, _swap_task(running, None)))
            asyncio._set_running_loop(None)


def _swap_task(loop: asyncio.AbstractEventLoop, task: Any) -> Any:
    """Set the current task and return the one before. Up to Python 3.11, each loop has its own."""
    swap = getattr(asyncio.tasks, "_swap_current_task", None)
    return swap(loop, task) if swap is not None else None


@pytest.hookimpl(wrapper=True)
def _enter(item: pytest.Item) -> Generator[None]:
    if FIXTURE not in getattr(item, "fixturenames", ()):
        return (yield)
    with enter_playwright():
        return (yield)


pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = _enter


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Return Chromium; tests that need it are skipped where it is missing."""
    from playwright.sync_api import expect  # noqa: PLC0415  (most tests need no Playwright)

    from scripts.portal_screenshots import open_browser  # noqa: PLC0415

    if PROGRAM is None:
        pytest.skip("Chromium is not installed")
    expect.set_options(timeout=DEADLINE * 1000)
    with ExitStack() as opened:
        yield opened.enter_context(open_browser())
        with enter_playwright():  # the last test may be one without the browser
            opened.close()
