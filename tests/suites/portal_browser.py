"""Reference solutions that work with the pages of a payer portal in Chromium."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from clerkship.simulators.portal.page_reader import PortalPage
from tests.report.browser import PROGRAM
from tests.suites.overridden_solutions import Agent, load_solution
from tests.suites.suite_checks import Solve
from tests.suites.test_shipped import ROOT

PORTAL = ROOT / "suites" / "portal"
TIMEOUT = 60_000
"""Milliseconds in which a page must come."""


class BrowserPortal:
    """The methods of the portal that solutions use, each as what a person does in a browser."""

    def __init__(self, page: Any, handle: Any) -> None:
        self._page, self._handle, self._status = page, handle, 200
        self._base = str(handle.url).rstrip("/")

    @property
    def page(self) -> PortalPage:
        """The page that is shown."""
        path = urlsplit(self._page.url).path.removeprefix(urlsplit(self._base).path)
        return PortalPage(self._status, path or "/", self._page.content())

    def sign_in(self) -> None:
        """Sign in on the page for that."""
        info = self._handle.credentials["portal"]
        self._page.context.clear_cookies()
        self.open("/sign-in")
        self._fill({"username": str(info["username"]), "password": str(info["password"])})
        self._press(self._page.get_by_role("button", name="Sign in"))

    def open(self, path: str, query: Mapping[str, str] | None = None) -> PortalPage:
        """Type an address, as from a bookmark; return the page."""
        address = f"{self._base}{path.removeprefix(urlsplit(self._base).path)}"
        self._page.goto(f"{address}?{urlencode(query)}" if query else address)
        return self.page

    def post(self, path: str, fields: Mapping[str, str]) -> None:
        """Press the button of the form that leads to a path."""
        if not self._page.locator(f"form[action$='{path}']").count():
            self.open(path)
        self._press(self._page.locator(f"main form[action$='{path}'] button").first)

    def send(
        self, button: str, fields: Mapping[str, str] | None = None, files: Sequence[tuple[str, bytes]] = ()
    ) -> None:
        """Fill in fields, choose files, and press a button by its value or label."""
        self._fill(fields or {})
        if files:
            chosen = [{"name": name, "mimeType": "application/pdf", "buffer": data} for name, data in files]
            self._page.locator("input[type=file]").set_input_files(chosen)
        by_value = self._page.locator(f"button[value='{button}']:not([aria-hidden])")
        self._press(by_value.first if by_value.count() else self._page.get_by_role("button", name=button).first)

    def _fill(self, fields: Mapping[str, str]) -> None:
        for name, value in fields.items():
            field = self._page.locator(f"main [name={name}]").first
            kind = field.get_attribute("type")
            if kind in ("radio", "checkbox"):
                self._page.locator(f"main [name={name}]" + (f"[value='{value}']" * (kind == "radio"))).first.check()
            elif field.evaluate("each => each.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)

    def _press(self, button: Any) -> None:
        with self._page.expect_navigation():
            button.click()


class BrowserSandboxes:
    """All sandboxes, with the portal in a browser."""

    def __init__(self, sandboxes: Any, portal: BrowserPortal) -> None:
        self._sandboxes, self._portal = sandboxes, portal

    def __getitem__(self, name: str) -> Any:
        """One of them."""
        return self._portal if name == "portal" else self._sandboxes[name]

    def __getattr__(self, name: str) -> Any:
        """The clock."""
        return getattr(self._sandboxes, name)


@contextmanager
def open_page() -> Iterator[Any]:
    """Open a page in Chromium."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # only these tests need a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(TIMEOUT)
        yield page
        browser.close()


def solve_in_browser(suite: Path, name: str) -> Agent:
    """Return a reference solution that works with the pages in Chromium."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        with open_page() as page:
            portal = BrowserPortal(page, sandboxes["portal"])
            return load_solution(suite, name)(task_item, BrowserSandboxes(sandboxes, portal))

    return on_task


TASKS = {
    "Request an MRI with the clinical answers*": "file_request",
    "Send a payer the document*": "reply_with_a_document",
    "Appeal against a denial*": "appeal",
    "Finish a draft*": "finish_a_draft",
}
"""Tasks with a second solution, in a browser, and the reference solution that it follows."""
RIGHT: dict[str, tuple[str, Solve]] = {
    f"in a browser: {name}": (task, solve_in_browser(PORTAL, name)) for task, name in TASKS.items()
}
"""How it is done -> the task and the solution."""
