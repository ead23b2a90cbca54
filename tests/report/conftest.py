"""A page for the tests of the report."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.report.browser import ScriptedPage, open_page


@pytest.fixture(scope="module")
def browser(browser: Browser) -> Iterator[ScriptedPage]:
    """Return one page for all tests of a module."""
    with open_page(browser) as page:
        yield page
