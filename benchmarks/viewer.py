"""Measure the viewer in Chromium, by Chromium's own traces: first paints, long lists, long trials; search, time travel.

    python -m benchmarks.viewer [--scale 0.1]

The pages come from `clerkship view` in a process of its own, over made-up runs.
"""

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

from benchmarks.page_trace import PageTrace, record
from benchmarks.table import print_table, seconds
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.report.pages import read_part
from clerkship.service.moments import TrialMoments
from clerkship.service.run_search import RunSearch
from clerkship.store.sqlite import SqliteStore
from scripts.portal_screenshots import open_browser
from tests.processes import start_process
from tests.report.browser import PROGRAM
from tests.report.made_up import task_run
from tests.viewer.made_up import make_store
from tests.viewer.stored import list_trials, save_run

TRIALS, EVENTS, RUNS, LONG_LIST = 1_000, 100_000, 1_000, 10_000
SEARCHED_EVENTS = 50
"""Events of each trial that is searched."""
ROUNDS = 3
LIMIT = 120.0
"""Seconds after which something in a page counts as never happened."""
FIRST_PAINT, LONG_TASK, OPENED = 0.5, 0.1, 1.0
"""Aims in seconds."""
LONG_TRIAL = "Z long trial"
OPENED_TRIAL = "#trial:has(.lane-scroll) .timeline [id^='t2e']"
"""The first event of the second trial, if its lanes are there too."""
SCROLL = """async () => {
  const box = document.querySelector(".trials-body");
  performance.mark("bench-begin");
  while (box.scrollTop + box.clientHeight < box.scrollHeight - 1) {
    box.scrollTop += STEP;
    await new Promise(requestAnimationFrame);
  }
  performance.mark("bench-end");
}"""
SCROLL_STEP = 2_000
"""Pixels in each frame."""
WATCH = """([shown]) => {
  const look = () => {
    if (!document.querySelector(shown)) return;
    observer.disconnect();
    performance.mark("bench-shown");
    requestAnimationFrame(() => setTimeout(() => { window.benchShown = true; }, 50));
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true, attributes: true });
  window.benchShown = false;
}"""
"""Marks when an element is there, and waits until it is painted."""


def wait_for_condition(page: Page, condition: str) -> None:
    """Wait until an expression is true. `Page.wait_for_function` would need `eval`, which the pages forbid."""
    end = time.monotonic() + LIMIT
    while not page.evaluate(f"new Promise((done) => setTimeout(() => done(Boolean({condition})), 20))"):
        if time.monotonic() > end:
            raise TimeoutError(condition)


class ViewedStore(NamedTuple):
    """A store that `clerkship view` shows, in a page that has signed in."""

    page: Page
    address: str

    def go(self, path: str) -> None:
        """Open a page of the viewer."""
        self.page.goto(f"{self.address}{path}")
        wait_for_condition(self.page, "performance.getEntriesByName('first-contentful-paint').length > 0")


def show_seconds(taken: float, aim: float | None = None, cpu: float | None = None) -> tuple[str, str, str]:
    """Return the cells for a time, the processor time of the page's thread in it, and the aim."""
    shown = "" if aim is None else f"≤ {aim:g} s" if aim >= FIRST_PAINT else f"≤ {aim * 1000:g} ms"
    return seconds(taken), "" if cpu is None else seconds(cpu), shown


@contextmanager
def view_store(browser: Browser, path: Path) -> Iterator[ViewedStore]:
    """Start the viewer of a store, and sign in; nothing was asked of it before but the list of runs."""
    command = [str(Path(sys.executable).with_name("clerkship")), "view", str(path), "--no-open", "--json"]
    with start_process(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(LIMIT * 1000)
        page.goto(url)
        yield ViewedStore(page, f"{urlsplit(url).scheme}://{urlsplit(url).netloc}/view")
        context.close()


def measure_first_paint(browser: Browser, viewed: ViewedStore, path: str) -> tuple[float, float]:
    """Return the seconds to the first paint of a page, the first time and the best of several later."""
    paints = [record(browser, viewed.page, lambda: viewed.go(path)).first_paint() for _ in range(1 + ROUNDS)]
    return paints[0], min(paints[1:])


def measure_paints(browser: Browser, folder: Path, trials: int, runs: int) -> Iterator[tuple[str, ...]]:
    """Yield the first paints of the page of a run and of the list of runs."""
    run = save_run(folder / "trials.db", list_trials(trials))
    make_store(folder / "runs.db", runs)
    pages = (
        (f"the page of a run of {trials:,} trials", folder / "trials.db", f"/runs/{run}"),
        (f"the list of {runs:,} runs", folder / "runs.db", "/"),
    )
    for name, path, address in pages:
        with view_store(browser, path) as viewed:
            first, again = measure_first_paint(browser, viewed, address)
        yield f"{name}, first paint after the start of the program", *show_seconds(first)
        yield f"{name}, first paint later", *show_seconds(again, FIRST_PAINT)


def find_longest(trace: PageTrace) -> tuple[float, float]:
    """Return the most time and the most processor time of a task between the beginning and the end, in seconds."""
    begin, end = trace.find_mark("bench-begin"), trace.find_mark("bench-end")
    tasks = [task for task in trace.list_tasks("bench-begin") if task.end > begin and task.begin < end]
    return max(task.seconds for task in tasks), max(task.cpu for task in tasks)


def mark(page: Page, name: str) -> None:
    """Set a mark in the trace."""
    page.evaluate(f"performance.mark('{name}')")


def measure_list(browser: Browser, folder: Path, trials: int) -> Iterator[tuple[str, ...]]:
    """Yield the longest tasks while a long list is scrolled, filtered and searched."""
    run = save_run(folder / "list.db", list_trials(trials))
    with view_store(browser, folder / "list.db") as viewed:
        page, status = viewed.page, viewed.page.locator(".shown")

        def wait_for(pattern: str) -> None:
            status.filter(has_text=re.compile(pattern)).wait_for()

        def filter_list() -> None:
            mark(page, "bench-begin")
            page.locator(".tally .is-fail button").click()
            wait_for(rf"^[\d,]+ of {trials:,} trials")
            page.locator(".tally .is-fail button").click()
            wait_for(rf"^{trials:,} trials")
            mark(page, "bench-end")

        def search_list() -> None:
            mark(page, "bench-begin")
            page.get_by_role("searchbox").press_sequentially("referral 0007", delay=60)
            wait_for(rf"^[\d,]+ of {trials:,} trials")
            wait_for_condition(page, "!document.querySelector('.shown').textContent.includes('Searching')")
            mark(page, "bench-end")

        viewed.go(f"/runs/{run}")
        wait_for(rf"^{trials:,} trials")
        page.wait_for_selector(".timeline")
        works: tuple[tuple[str, Callable[[], object]], ...] = (
            ("scrolled from top to bottom", lambda: page.evaluate(SCROLL.replace("STEP", str(SCROLL_STEP)))),
            ("filtered by a verdict and back", filter_list),
            ("searched, letter by letter", search_list),
        )
        for name, work in works:
            longest, cpu = find_longest(record(browser, page, work))
            yield f"list of {trials:,} trials, {name}: longest task", *show_seconds(longest, LONG_TASK, cpu)


def measure_opening(browser: Browser, folder: Path, events: int) -> Iterator[tuple[str, ...]]:
    """Yield what it takes to open a long trial, and to jump in it."""
    trials = [task_run("Any", verdict="fail", score=0.0), task_run(LONG_TRIAL)]
    run = save_run(folder / "long.db", trials[:1], status="active", sandboxes=("drop", "archive"))
    save_run(folder / "long.db", trials[1:], events, into=run, sandboxes=("drop", "archive"))
    with view_store(browser, folder / "long.db") as viewed:
        page, traces = viewed.page, list[PageTrace]()
        target = events * 9 // 10

        def show(act: Callable[[], object], selector: str) -> None:
            page.evaluate(WATCH, [selector])
            mark(page, "bench-begin")
            act()
            wait_for_condition(page, "window.benchShown")

        row = page.locator(".trial-line, .trials-body a", has_text=LONG_TRIAL).first
        for _ in range(1 + ROUNDS):
            viewed.go(f"/runs/{run}")
            page.wait_for_selector("#trial .timeline")
            wait_for_condition(page, "document.querySelector('#trial').textContent.includes('5 events over')")
            traces.append(record(browser, page, lambda: show(row.click, OPENED_TRIAL)))
            wait_for_condition(page, f"document.querySelector('#trial').textContent.includes('{events:,} events over')")
        for name, trace in (("the first time", traces[0]), ("later", min(traces[1:], key=time_to_paint))):
            taken, request = time_to_paint(trace), trace.find_request("/trial?")
            begin = trace.find_mark("bench-begin")
            tasks = trace.list_tasks("bench-begin")
            cpu = sum(task.cpu for task in tasks if task.begin >= begin and task.end <= begin + taken)
            cells = show_seconds(taken, OPENED if name == "later" else None, cpu)
            yield f"trial of {events:,} events, {name}: from the click to its lanes and timeline", *cells
            yield "… of which its request", *show_seconds(request.seconds)
        jump = f"#t2e{target}.aimed"
        trace = record(browser, page, lambda: show(lambda: page.evaluate(f"location.hash = '#t2e{target}'"), jump))
        yield f"jump to event {target:,}", *show_seconds(time_to_paint(trace), OPENED)


def time_to_paint(trace: PageTrace) -> float:
    """Return the seconds from the beginning to the paint of what was waited for."""
    return trace.find_paint("bench-shown") - trace.find_mark("bench-begin")


def list_sizes() -> Iterator[tuple[str, ...]]:
    """Yield the size of each built script."""
    for name in ("report.js", "viewer.js"):
        data = read_part(f"built/{name}").encode()
        yield f"`{name}`", f"{len(data) / 1000:.0f} kB", f"{len(gzip.compress(data, mtime=0)) / 1000:.0f} kB"


def measure_search(folder: Path, trials: int) -> Iterator[tuple[str, ...]]:
    """Yield the time to index the trials of a run, and that of one query."""
    run = save_run(folder / "search.db", list_trials(trials), SEARCHED_EVENTS)
    search = RunSearch(lambda: SqliteStore(folder / "search.db"))
    began = time.process_time()
    while (answer := search.search(run, "")).indexed < answer.total:
        time.sleep(0.05)
    yield f"index {trials:,} trials of {SEARCHED_EVENTS} events", *show_seconds(time.process_time() - began)
    for name, query in (("one word in all of them", "inbox"), ("three words in one of them", "call 00042 referral")):
        taken = []
        for _ in range(ROUNDS):
            began = time.process_time()
            found = len(search.search(run, query).trials)
            taken.append(time.process_time() - began)
        yield f"search: {name} ({found:,} found)", *show_seconds(min(taken))
    search.close()


def measure_moments(folder: Path, events: int) -> Iterator[tuple[str, ...]]:
    """Yield the time to the first state of a trial, and to others after it."""
    run = save_run(folder / "moments.db", list_trials(1), events)
    with SqliteStore(folder / "moments.db") as store:
        [stored] = store.task_runs(run)
        began = time.process_time()
        moments = TrialMoments(store, store.run(run), stored, RegisteredCatalog())
        moments.show(events // 2)
        yield f"time travel in {events:,} events: the first state", *show_seconds(time.process_time() - began)
        for name, seq in (("a step forward", events // 2 + 1), ("a step back", events // 2), ("to the end", events)):
            began = time.process_time()
            moments.show(seq)
            yield f"time travel in {events:,} events: {name}", *show_seconds(time.process_time() - began)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the trials, events and runs")
    scale = parser.parse_args().scale
    trials, events, runs, long_list = (int(number * scale) for number in (TRIALS, EVENTS, RUNS, LONG_LIST))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if PROGRAM is None:
            raise SystemExit("Chromium is not installed")
        with open_browser() as browser:
            head = ("in Chromium", "time", "processor time of the page", "aim")
            print_table(
                head,
                (
                    row
                    for rows in (
                        measure_paints(browser, folder, trials, runs),
                        measure_list(browser, folder, long_list),
                        measure_opening(browser, folder, events),
                    )
                    for row in rows
                ),
            )
        print()
        rows = (row for rows in (measure_search(folder, trials), measure_moments(folder, events)) for row in rows)
        print_table(("in the program, processor time", "time"), (row[:2] for row in rows))
        print()
        print_table(("script", "size", "gzipped"), list_sizes())


if __name__ == "__main__":
    main()
