"""A trial in Chromium: choosing evidence, the scale of the lanes, time travel, labels on judges, and axe-core."""

import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from clerkship.cli.app import run
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from clerkship.viewer.answering import respond
from clerkship.viewer.application import LocalViewer
from clerkship.viewer.context import ViewerContext
from tests.workbench import Workbench

HOSTILE = "</script><img src=x onerror=alert(1)> it's $HOME"
SUITE = f"""
environment: {{name: desk, simulators: {{drop: {{kind: files}}}}}}
task:
  name: {HOSTILE!r}
  tags: ["<b>bold</b>"]
  task_item: {{instruction: "Go to javascript:alert(1) <script>alert(1)</script>"}}
  criteria:
    - label: Written, read and deleted
      assertion:
        sequencing:
          - {{event: files.file.written}}
          - {{event: files.file.read}}
          - {{event: files.file.deleted}}
    - {{label: {HOSTILE!r}, assertion: {{judged: The agent is "polite" & it's quick}}}}
    - {{label: It is there, assertion: {{file_present: {{path: a.txt}}}}}}
"""
JUDGE = """- {matches: "polite", answer: {passed: false, reasoning: "<script>alert(1)</script>"}}"""


def work(task_item: Any, sandboxes: Any) -> str:
    drop = sandboxes["drop"]
    drop.write("a.txt", HOSTILE.encode())
    sandboxes.wait("1d")
    drop.read_text("a.txt")
    return HOSTILE


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Workbench, str]]:
    """Open the run of the suite; nothing may be said in the console until the end."""
    bench, messages = Workbench(tmp_path_factory.mktemp("trial")), list[str]()
    bench.write("a.yml", SUITE)
    judge = bench.folder.parent / "judge.yml"
    judge.write_text(JUDGE)
    task_run = bench.run_one(work, judge=f"scripted:{judge}")
    settings = Settings(store=bench.store.path)
    viewer_context = ViewerContext(settings, partial(open_store, settings), store_option=" --store s.db")
    context = browser.new_context(bypass_csp=True)
    with LocalViewer(partial(respond, viewer_context)) as viewer:
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("dialog", lambda dialog: messages.append(dialog.message))
        page.goto(viewer.url)
        yield page, bench, f"{viewer.address}runs/{task_run.run}"
        context.close()
    assert messages == []


def test_choosing_a_criterion_lights_its_evidence_and_does_not_fold_it(opened: tuple[Page, Workbench, str]) -> None:
    page, _, address = opened
    page.goto(address)
    card = page.locator(".criterion", has_text="Written, read and deleted")
    expect(card).to_have_attribute("open", "")
    card.locator("summary").press("Enter")
    expect(card).to_have_attribute("open", "")
    expect(page.locator(".lane-mark.is-evidence")).not_to_have_count(0)
    expect(page.locator(".lane-evidence a")).to_have_text("Written, read and deleted")
    card.locator("summary").press("Enter")
    expect(card).not_to_have_attribute("open", "")
    expect(page.locator(".lane-evidence")).to_have_count(0)
    card.locator("summary").press("Enter")
    card.get_by_role("button", name="Show on the lanes").click()
    expect(page.locator(".lane-evidence a")).to_be_focused()
    expect(page.locator(".lane-words li")).to_contain_text(["found", "found", "missing"])


def test_lanes_can_be_true_to_scale_and_show_the_moment_of_time_travel(opened: tuple[Page, Workbench, str]) -> None:
    page, _, address = opened
    page.goto(address)
    expect(page.locator(".lane-back .lane-break")).to_have_count(1)
    page.get_by_label("True to scale").check()
    expect(page.locator(".lane-back .lane-break")).to_have_count(0)
    expect(page.locator(".lane-tick").nth(1)).to_be_visible()
    for _ in range(6):
        page.get_by_label("Zoom in").click()
    expect(page.locator(".lane-range")).to_contain_text(" of the run")
    page.get_by_role("button", name="Whole run").click()
    page.locator(".moment-fold summary").click()
    expect(page.locator(".moment-panel")).to_be_visible()
    scrubber = page.get_by_role("slider", name="Moment")
    scrubber.press("Home")
    first = page.locator(".lane-moment").evaluate("mark => mark.getBoundingClientRect().left")
    scrubber.press("End")
    last = page.locator(".lane-moment").evaluate("mark => mark.getBoundingClientRect().left")
    assert last - first > 200
    expect(page.locator(".moment-group").first.locator("li").first).to_contain_text("created")


def test_judge_is_labelled_and_the_shown_command_does_the_same(opened: tuple[Page, Workbench, str]) -> None:
    page, bench, address = opened
    page.goto(address)
    run_id, note = address.rsplit("/", 1)[1], 'it\'s `kind` "enough" $HOME'
    judgement = page.get_by_role("group", name="Is the judge right?")
    judgement.get_by_role("textbox").fill(note)
    judgement.get_by_role("button", name="Wrong").click()
    expect(judgement.get_by_role("status")).to_contain_text("Labelled wrong in ")
    expect(judgement.get_by_role("button", name="Wrong")).to_have_attribute("aria-pressed", "true")
    words = shlex.split(judgement.locator("code").inner_text())
    named = ["judge", "label", run_id, HOSTILE, HOSTILE, "--wrong", "--trial", "1", "--note", note, "--store", "s.db"]
    assert words[-len(named) :] == named
    assert "passed: true" in (bench.store.path.parent / "labelled.yml").read_text()
    shown = shlex.split(page.locator(".about code.copy").inner_text())
    assert shown[-6:] == ["show", run_id, HOSTILE, "--criteria", "--store", "s.db"]


def test_axe_finds_no_serious_violation_in_a_trial_and_in_a_report(
    opened: tuple[Page, Workbench, str], tmp_path: Path
) -> None:
    page, bench, address = opened
    report = tmp_path / "report.html"
    assert run(["show", address.rsplit("/", 1)[1], "--report", str(report), "--store", str(bench.store.path)]) == 0
    for place, color_scheme in ((address, "light"), (report.as_uri(), "dark")):
        page.emulate_media(color_scheme=color_scheme)  # type: ignore[arg-type]
        page.goto(place)
        if place == address:
            page.locator(".moment-fold summary").click()
            expect(page.locator(".moment-state[aria-busy=false] .moment-panel")).to_be_visible()
        expect(page.locator(".timeline")).to_be_visible()
        found = Axe().run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in serious] == [], place
