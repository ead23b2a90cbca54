"""Time travel in a browser."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from clerkship.model.run import TaskRun
from clerkship.sandbox.request import Refusal, Request
from clerkship.settings import Settings
from clerkship.viewer.answering import describe_refusal
from clerkship.viewer.context import ViewerContext
from clerkship.viewer.routes import answer
from tests.report.test_built_scripts import packages as packages  # noqa: PLC0414  (a fixture)
from tests.workbench import Workbench

ROOT = Path(__file__).parent.parent.parent
STYLES = ("style.css", "moment.css")
SITE = "http://viewer.example"
BUILD = """
import { build } from "vite";
const lib = { entry: "harness/moment.tsx", name: "harness", formats: ["iife"], fileName: () => "moment.js" };
await build({ configFile: false, publicDir: false, logLevel: "error",
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: { outDir: process.argv[1], emptyOutDir: false, target: "es2022", lib } });
"""
SUITE = """\
environment: {name: office, datasets: [notes], simulators: {drop: {kind: files}, chart: {kind: fhir}}}
task:
  name: A
  task_item: {instruction: Work.}
  criteria: [{label: there, assertion: {file_present: {path: a.txt}}}]
"""


def work(task_item: Any, sandboxes: Any) -> None:
    drop = sandboxes["drop"]
    drop.write("a.txt", b"three\nfour")
    drop.delete("b.txt")
    drop.write("c.txt", b"<img src=x onerror=alert(1)>")
    sandboxes["chart"].create({"resourceType": "Patient", "name": [{"family": "Lopez"}]})


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory, packages: Path) -> str:
    """Build time travel, with a page around it."""
    folder, sources = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("sources") / "viewer"
    shutil.copytree(ROOT / "viewer", sources, ignore=shutil.ignore_patterns("node_modules"))
    (sources / "node_modules").symlink_to(packages)
    command = ["node", "--input-type=module", "-e", BUILD, str(folder)]
    subprocess.run(command, cwd=sources, check=True, timeout=60)
    return (folder / "moment.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory, script: str) -> tuple[Workbench, TaskRun]:
    """A trial."""
    bench = Workbench(tmp_path_factory.mktemp("trial"))
    bench.write("datasets/notes.yml", "dataset: {name: notes, type: files, files: {a.txt: one, b.txt: two}}")
    bench.write("a.yml", SUITE)
    return bench, bench.run_one(work)


class Site:
    """A page with time travel over a trial, and what its script asked for and reported."""

    def __init__(self, page: Page, script: str, trial: tuple[Workbench, TaskRun]) -> None:
        self.bench, self.task_run = trial
        self.events = self.bench.events(self.task_run)
        self.context = ViewerContext(Settings(), lambda: nullcontext(self.bench.store))
        self.asked: list[dict[str, str]] = []
        self.fails = False
        self.errors: list[str] = []
        self.script = script
        self.page = page
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.route(f"{SITE}/**", self._reply)
        self.page.goto(f"{SITE}/")

    def _reply(self, route: Route) -> None:
        address = urlsplit(route.request.url)
        if address.path == "/":
            route.fulfill(body=self._render(), content_type="text/html; charset=utf-8")
            return
        if self.fails:
            route.fulfill(status=422, body='{"error": {"code": "cannot_rebuild", "message": "a plug-in is missing"}}')
            return
        query = dict(parse_qsl(address.query))
        self.asked.append(query)
        request = Request("GET", unquote(address.path), query)
        try:
            reply = answer(self.context, request)
        except Refusal as refusal:
            reply = describe_refusal(request, refusal)
        route.fulfill(status=reply.status, body=reply.body, content_type=reply.media)

    def _render(self) -> str:
        events = [{**event, "line": event["kind"].replace(".", " ")} for event in self.events]
        state = f"/view/data/runs/{self.task_run.run}/state?task=A&trial=1"
        given = orjson.dumps({"state": state, "events": events}).decode().replace("<", "\\u003c")
        folder = ROOT / "src" / "clerkship" / "report" / "page"
        styles = "".join((folder / name).read_text(encoding="utf-8") for name in STYLES)
        return (
            f'<!doctype html><html lang="en"><title>Moment</title><meta name="viewport" content="width=device-width">'
            f'<style>{styles}</style><body><main id="root"></main>'
            f'<script type="application/json" id="given">{given}</script><script>{self.script}</script>'
        )

    def find_seq(self, kind: str, **payload: str) -> Any:
        """Return the first event of a kind with these fields."""
        return next(
            event["seq"]
            for event in self.events
            if event["kind"] == kind and payload.items() <= event["payload"].items()
        )

    def go_to(self, seq: int) -> None:
        """Move the scrubber, and wait until the moment is shown."""
        self.page.get_by_role("slider", name="Moment").fill(str(seq))
        self.wait(seq)

    def wait(self, seq: int) -> None:
        words = "Start of the trial" if seq == 0 else f"Event {seq}:"
        expect(self.page.get_by_role("status")).to_contain_text(words)


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """Return one page for all tests of this module."""
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture
def site(trial: tuple[Workbench, TaskRun], script: str, page: Page) -> Iterator[Site]:
    page.set_viewport_size({"width": 1200, "height": 900})
    page.emulate_media(color_scheme="light")
    site = Site(page, script, trial)
    site.wait(0)
    yield site
    assert site.errors == []
    page.unroute_all()


@pytest.mark.long
def test_scrubbing_shows_what_was_there_and_how_it_differs_from_the_start(site: Site) -> None:
    page = site.page
    assert page.locator(".moment-change").count() == 0
    site.go_to(site.find_seq("files.file.written", path="a.txt"))
    row = page.locator(".moment-record", has_text="a.txt")
    expect(row.locator(".moment-change")).to_have_text("updated")
    expect(row.locator(".moment-just")).to_have_text("now")
    expect(page.locator(".moment-record", has_text="b.txt").locator(".moment-change")).to_have_count(0)
    site.go_to(len(site.events))
    expect(page.locator(".moment-record", has_text="b.txt").locator(".moment-change")).to_have_text("deleted")
    row.locator("summary").click()
    cells = row.locator("tr", has_text="lines[0]").locator("td")
    assert cells.all_inner_texts() == ["one", "three"]
    expect(row.locator("pre")).to_contain_text('"four"')
    created = page.locator(".moment-record", has_text="c.txt")
    created.locator("summary").click()
    expect(created.locator("pre")).to_contain_text("<img src=x onerror=alert(1)>")


@pytest.mark.long
def test_record_leads_to_the_event_that_changed_it(site: Site) -> None:
    site.go_to(len(site.events))
    row = site.page.locator(".moment-record", has_text="b.txt")
    row.locator("summary").click()
    seq = site.find_seq("files.file.deleted", path="b.txt")
    row.get_by_role("button", name=f"by event {seq}").click()
    site.wait(seq)
    expect(site.page.get_by_role("slider", name="Moment")).to_have_value(str(seq))


@pytest.mark.long
def test_changed_only_leaves_out_the_rest(site: Site) -> None:
    page = site.page
    site.go_to(site.find_seq("files.file.written", path="a.txt"))
    assert page.locator(".moment-record").count() > 1
    page.get_by_label("Changed only").check()
    expect(page.locator(".moment-record")).to_have_count(1)
    site.go_to(0)
    expect(page.get_by_text("Nothing has changed.")).to_be_visible()


@pytest.mark.long
def test_keys_buttons_and_tabs_work_without_a_mouse(site: Site) -> None:
    page = site.page
    page.get_by_role("slider", name="Moment").focus()
    page.keyboard.press(".")
    site.wait(1)
    page.keyboard.press(".")
    site.wait(2)
    page.keyboard.press(",")
    site.wait(1)
    page.get_by_role("button", name="Next event").press("Enter")
    site.wait(2)
    page.get_by_role("slider", name="Moment").press("End")
    site.wait(len(site.events))
    expect(page.get_by_role("button", name="Next event")).to_be_disabled()
    page.get_by_role("tab", name="drop").press("ArrowRight")
    expect(page.get_by_role("tab", name="chart")).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_contain_text("Lopez")


@pytest.mark.long
def test_play_steps_to_the_end(site: Site) -> None:
    page = site.page
    site.go_to(len(site.events) - 2)
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    site.wait(len(site.events))
    expect(page.get_by_role("button", name="Play")).to_be_disabled()


@pytest.mark.long
def test_many_moves_ask_for_few_moments_and_show_the_last(site: Site) -> None:
    before = len(site.asked)
    slider = site.page.get_by_role("slider", name="Moment")
    slider.focus()
    for _ in range(4):
        slider.press("ArrowRight")
    site.wait(4)
    assert [asked["seq"] for asked in site.asked[before:]][-1] == "4"
    assert len(site.asked) - before <= 4


@pytest.mark.long
def test_error_is_said_and_the_last_picture_stays(site: Site) -> None:
    page = site.page
    site.go_to(len(site.events))
    site.fails = True
    page.get_by_role("button", name="Previous event").click()
    expect(page.get_by_role("alert")).to_have_text("This moment cannot be shown: a plug-in is missing")
    expect(page.locator(".moment-record", has_text="c.txt")).to_be_visible()
    site.fails = False
    page.get_by_role("button", name="Previous event").click()
    site.wait(len(site.events) - 2)
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_page_fits_a_phone(site: Site, scheme: Literal["light", "dark"], tmp_path: Path) -> None:
    page = site.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme=scheme)
    site.go_to(len(site.events))
    for summary in page.locator(".moment-record summary").all()[:3]:
        summary.click()
    expect(page.locator(".moment-record pre").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=tmp_path / "moment.png", full_page=True)
