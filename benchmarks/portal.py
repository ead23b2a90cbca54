"""Measure the payer portal: pages, whole submissions by API, by pages and in a browser, sessions over HTTP, memory.

    python -m benchmarks.portal [--quick]

A page is compared with the rendering of its template alone, so the ratio says what sessions, rights, the payer and the
log cost. The site and its client share a process; memory is measured in one of its own, because memory that earlier
measurements freed would be used again. Everything is on loopback and ends by itself.
"""

import argparse
import gc
import http.client
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch
from urllib.parse import urlsplit

from benchmarks.processes import measure_case, resident
from benchmarks.table import print_table, seconds, times
from clerkship.sandbox.request import Request
from clerkship.simulators.portal import rendering, site
from clerkship.simulators.portal.views import PageFrame, View
from scripts.portal_screenshots import open_browser
from tests.report.browser import PROGRAM
from tests.simulators.portal.api.test_api import build_mri
from tests.simulators.portal.browser_user import BrowserUser
from tests.simulators.portal.http_client import sign_in
from tests.simulators.portal.portal_site import RIVERA, PortalSite, fill_in_one_page, fill_in_steps

LAYOUTS = ("wizard", "one_page")
SESSIONS = 200
OK = 200
IDLE = 1000
"""Portals for the memory of one: with few, memory that is free already hides what they take."""


def measure(run: Callable[[], object], times: int) -> float:
    """Return the processor time of one call, the best of three rounds."""
    best = float("inf")
    for _ in range(3):
        began = time.process_time()
        for _ in range(times):
            run()
        best = min(best, (time.process_time() - began) / times)
    return best


@contextmanager
def keep_views() -> Iterator[list[tuple[PageFrame, View]]]:
    """Collect what pages render."""
    kept: list[tuple[PageFrame, View]] = []

    def render(frame: PageFrame, view: View) -> bytes:
        kept.append((frame, view))
        return rendering.render_page(frame, view)

    with patch.object(site, "render_page", render):
        yield kept


def measure_pages(layout: str, count: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each page."""
    with PortalSite(layout=layout) as portal:
        browser = portal.sign_in()
        filed = fill_in_steps(browser) if layout == "wizard" else fill_in_one_page(browser)
        browser.post("/drafts", {})
        browser.send("find_member", RIVERA)
        [draft] = portal.state.drafts
        handle = portal.portal
        paths = {"start": "/", "list of requests": "/requests", "request": filed.path, "form": f"/drafts/{draft}"}
        for name, path in paths.items():
            if (status := handle.send_as_is(Request("GET", path)).status) != OK:
                raise SystemExit(f"{layout}: {path} answers {status}")
            with keep_views() as kept:
                page = measure(lambda path=path: handle.send_as_is(Request("GET", path)), count)  # type: ignore[misc]
            plain = measure(lambda kept=kept: rendering.render_page(*kept[-1]), count)  # type: ignore[misc]
            yield layout, name, f"{1 / page:,.0f}", f"{1 / plain:,.0f}", times(page / plain)


def measure_submissions(layout: str) -> Iterator[tuple[str, ...]]:
    """Yield the time of a whole submission, from signing in or looking up the member to the reference number."""
    fill_in = fill_in_steps if layout == "wizard" else fill_in_one_page
    with PortalSite(layout=layout) as portal:
        began = time.perf_counter()
        fill_in(portal.sign_in())
        yield layout, "in process", seconds(time.perf_counter() - began)
    with PortalSite(layout=layout) as portal:
        began = time.perf_counter()
        portal.portal.api("POST", "/requests", build_mri(portal))
        yield layout, "by the REST API", seconds(time.perf_counter() - began)
    if PROGRAM is None:
        yield layout, "in Chromium", "not installed"
        return
    with open_browser() as chromium, PortalSite(layout=layout) as portal, BrowserUser(chromium, portal) as user:
        began = time.perf_counter()
        user.sign_in()
        if layout == "wizard":
            user.submit_in_steps()
        else:
            user.submit_on_one_page()
        yield layout, "in Chromium", seconds(time.perf_counter() - began)


def measure_sessions(count: int) -> Iterator[tuple[str, ...]]:
    """Yield what many sessions over HTTP at once get from one site."""
    with PortalSite() as portal:
        address = urlsplit(portal.rig.url())
        began = time.perf_counter()
        with ThreadPoolExecutor(20) as pool:
            cookies = list(pool.map(lambda _: sign_in(portal).cookie, range(count)))
        signed_in = time.perf_counter() - began

        def ask(cookie: str) -> int:
            connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=60)
            connection.request("GET", f"{address.path}/requests", headers={"cookie": cookie})
            status = connection.getresponse().status
            connection.close()
            return status

        began = time.perf_counter()
        with ThreadPoolExecutor(20) as pool:
            assert set(pool.map(ask, cookies * 3)) == {200}
        pages = count * 3 / (time.perf_counter() - began)
        yield f"{count} sessions", f"{count / signed_in:,.0f} sign-ins/s", f"{pages:,.0f} pages/s"


def measure_memory(count: int) -> float:
    """Return the kilobytes of an idle portal with its payer; its HTTP server has not begun to listen."""
    with PortalSite() as first:
        first.sign_in()
        gc.collect()
        before = resident()
        opened = [PortalSite() for _ in range(count)]
        gc.collect()
        used = (resident() - before) / count
        for each in opened:
            each.__exit__()
    return used


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions, to see that it works")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps({"kilobytes": measure_memory(options.size)}))
        return
    is_quick = options.quick
    count = 10 if is_quick else 200
    rows = (row for layout in LAYOUTS for row in measure_pages(layout, count))
    print_table(("layout", "page", "pages/s of one core", "template alone", "cost"), rows)
    print()
    print_table(
        ("layout", "whole submission", "time"), (row for layout in LAYOUTS for row in measure_submissions(layout))
    )
    print()
    print_table(("at once", "signing in", "list of requests"), measure_sessions(20 if is_quick else SESSIONS))
    idle = measure_case("benchmarks.portal", "idle", IDLE)
    print(f"\nAn idle portal takes {idle['kilobytes']:,.0f} kB.")


if __name__ == "__main__":
    main()
