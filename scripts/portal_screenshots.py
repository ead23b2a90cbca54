"""Take screenshots of the sample pages of a layout of the payer portal, at desktop and tablet width.

Prints what does not fit on a page.

uv run python -m scripts.portal_screenshots wizard FOLDER [--version 2] [--only draft-] [--widths 1280 768]
uv run python -m scripts.portal_screenshots wizard docs --readme
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Route, sync_playwright

from clerkship.sandbox.request import Refusal, Request
from clerkship.simulators.portal.rendering import complete_page, render_page
from clerkship.transports.assets import AssetFolder
from tests.report.browser import PROGRAM
from tests.simulators.portal.page_fit import find_misfits
from tests.simulators.portal.sample_views import Sample, build_samples

SITE = "http://portal.example"
FOLDERS = (
    AssetFolder("/static", "clerkship.simulators.portal"),
    AssetFolder("/codes", "clerkship.simulators.portal", "codes"),
)
WIDTHS = (1440, 1280, 768)
README_PAGE, README_WIDTH, README_HEIGHT = "draft-clinical", 1240, 865
"""What the picture of README.md shows: a page, without what is below its first form."""


def main() -> None:
    """Render the pages that are asked for, and write a PNG file of each in each width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layout", choices=("wizard", "one_page"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", type=int, default=1)
    parser.add_argument("--only", default="", help="beginning of the names of the pages")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--readme", action="store_true", help="write only portal.png, the picture of README.md")
    options = parser.parse_args()
    samples = [each for each in build_samples(options.layout, options.version) if each.name.startswith(options.only)]
    options.folder.mkdir(parents=True, exist_ok=True)
    with open_browser() as browser:
        if options.readme:
            take_readme_picture(open_site(browser, samples, README_WIDTH), options.folder / "portal.png")
            return
        for width in options.widths:
            context = open_site(browser, samples, width)
            for sample in samples:
                for misfit in take_screenshot(context, sample.name, options.folder / f"{sample.name}-{width}.png"):
                    print(f"{sample.name} at {width}: {misfit}")
            context.close()


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Open Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield browser
        browser.close()


def open_site(browser: Browser, samples: list[Sample], width: int = 1400) -> BrowserContext:
    """Return a browser context in which each sample is a page of a website, at the path of its name."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    pages = {f"/{sample.name}": sample for sample in samples}

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(SITE)
        if path in pages:
            html = complete_page(render_page(pages[path].frame, pages[path].view), "", "token")
            route.fulfill(body=html, content_type="text/html; charset=utf-8")
            return
        request = Request(method="GET", path=path)
        folder = next((each for each in FOLDERS if each.covers(request)), FOLDERS[0])
        try:
            reply = folder.serve(request)
        except Refusal as refusal:
            route.fulfill(status=refusal.status)
        else:
            route.fulfill(body=reply.body, content_type=reply.media)

    context.route("**/*", answer)
    return context


def take_screenshot(context: BrowserContext, name: str, path: Path) -> list[str]:
    """Write a picture of a whole page, and return what does not fit on it."""
    page = context.new_page()
    page.goto(f"{SITE}/{name}")
    page.screenshot(path=path, full_page=True)
    misfits = find_misfits(page)
    page.close()
    return misfits


def take_readme_picture(context: BrowserContext, path: Path) -> None:
    """Write a picture of the upper part of a page."""
    page = context.new_page()
    page.set_viewport_size({"width": README_WIDTH, "height": README_HEIGHT})
    page.goto(f"{SITE}/{README_PAGE}")
    page.screenshot(path=path)


if __name__ == "__main__":
    main()
