"""A page of Chromium for the tests of the report: what it evaluates, and the errors of its scripts."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


class ScriptFailed(Exception):
    """A script of the page, or one of a test, raised an error."""


class ScriptedPage:
    """One page, driven by commands of the debugging protocol."""

    def __init__(self, page: "Page") -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self.errors: list[str] = []
        """Errors that the page's own script raised."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.errors.clear()
        self._page.goto("about:blank")
        self._page.goto(page.as_uri())

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression, which may be a promise."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise ScriptFailed(answer["exceptionDetails"])
        return answer["result"].get("value")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result. Raise ScriptFailed if the page was left meanwhile."""
        from playwright.sync_api import Error  # noqa: PLC0415  (most tests need no Playwright)

        try:
            result: dict[str, Any] = self._session.send(method, parameters)
        except Error as error:
            raise ScriptFailed(str(error)) from None
        return result


@contextmanager
def open_page(browser: "Browser") -> Iterator[ScriptedPage]:
    """Open a page in a context of its own."""
    from tests.chromium import enter_playwright  # noqa: PLC0415  (which imports this module)

    context = browser.new_context(no_viewport=True)
    yield ScriptedPage(context.new_page())
    with enter_playwright():  # the last test of a module may be one without the browser
        context.close()
