"""Times of the HTML report: in the zone of each trial's environment, with its name."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from clerkship.report.detail import TaskDetail
from clerkship.report.html import render_html
from clerkship.report.trial_card import build_body
from tests.model.test_duration import FOR_PEOPLE
from tests.report import made_up
from tests.report.browser import PROGRAM, ScriptedPage

TIMES = "[...document.querySelectorAll('#trial time')].map((time) => [time.textContent, time.title])"


def detail_in_zone(now: str) -> TaskDetail:
    """Return a trial whose environment has this time at the start."""
    detail = made_up.detail(made_up.task_run("One"))
    assert detail.snapshot is not None
    environment = detail.snapshot.environment.model_copy(update={"now": datetime.fromisoformat(now)})
    return replace(detail, snapshot=detail.snapshot.model_copy(update={"environment": environment}))


def test_body_of_a_trial_has_the_zone_of_its_environment() -> None:
    assert build_body(detail_in_zone("2026-03-02T09:00:00-05:00"))["zone"] == {"minutes": -300, "name": "UTC-05:00"}
    assert build_body(detail_in_zone("2026-03-02T14:00:00Z"))["zone"] == {"minutes": 0, "name": "UTC"}
    without = replace(detail_in_zone("2026-03-02T14:00:00Z"), snapshot=None)
    assert build_body(without)["zone"] == {"minutes": 0, "name": "UTC"}


@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
@pytest.mark.parametrize(
    ("now", "first", "zone"),
    [
        ("2026-03-02T09:00:00-05:00", "2026-03-02 09:00:01", "UTC-05:00"),
        ("2026-03-02T14:00:00Z", "2026-03-02 14:00:01", "UTC"),
        ("2026-03-03T01:00:00+11:00", "2026-03-03 01:00:01", "UTC+11:00"),
    ],
)
def test_page_shows_times_of_the_environment(
    browser: ScriptedPage, tmp_path: Path, now: str, first: str, zone: str
) -> None:
    details = [detail_in_zone(now)]
    page = tmp_path / "report.html"
    page.write_text(render_html(made_up.RUN, made_up.counts(details), details), encoding="utf-8")
    browser.open(page)
    assert browser.errors == []
    text = browser.evaluate("document.querySelector('#trial').textContent")
    assert f"of simulated time, from {first} {zone}" in text
    times = browser.evaluate(TIMES)
    assert [first[11:], f"{first} {zone}"] in times
    assert all(title.endswith(zone) for _, title in times)


@pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed")
def test_page_writes_durations_as_the_program_does(browser: ScriptedPage, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    shortest = 0.0005  # the list has whole milliseconds
    trials = {f"took {seconds!r}": seconds for seconds in FOR_PEOPLE if not 0 < seconds < shortest}
    details = [
        replace(made_up.detail(made_up.task_run(task)), sidecar={"wall_ms": seconds * 1000})
        for task, seconds in trials.items()
    ]
    page.write_text(render_html(made_up.RUN, made_up.counts(details), details))
    browser.open(page)
    rows = """Object.fromEntries([...document.querySelectorAll('.row-of-trial')]
        .map((row) => [row.querySelector('.name').textContent, row.querySelector('.column-seconds').textContent]))"""
    assert browser.evaluate(rows) == {task: FOR_PEOPLE[seconds] for task, seconds in trials.items()}
