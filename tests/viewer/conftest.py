"""A browser for the tests of the viewer."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from scripts.portal_screenshots import open_browser
from tests.report.browser import PROGRAM


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return Chromium; tests that need it are skipped where it is missing."""
    if PROGRAM is None:
        pytest.skip("Chromium is not installed")
    with open_browser() as browser:
        yield browser
