"""Events of the agent in the HTML report: only what the agent did itself."""

import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.report.trial_card import is_by_agent_itself
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets
from tests.report import made_up
from tests.report.browser import ScriptedPage
from tests.simulators.voice.office_phone import LINES, MAILBOXES, MENU
from tests.workbench import Workbench, written

CONFIG = orjson.dumps({"kind": "voice", "config": {"lines": LINES, "mailboxes": MAILBOXES}}).decode()
SUITE = f"""\
environment:
  name: office
  simulators:
    phone: {CONFIG}
task:
  name: Ask about the bill
  task_item: {{instruction: Call the office.}}
  criteria:
    - label: Two requests beside listening
      assertion: {{max_agent_actions: {{limit: 5}}}}
    - label: Says nothing
      assertion: {{max_agent_actions: {{limit: 0, type: message}}}}
"""
DOTS = "[...document.querySelectorAll('.event')].map((row) => [row.querySelector('.dot.by-agent') !== null, row.id])"


def press_one(task_item: Any, sandboxes: Any) -> None:
    """Call the office, and choose billing in its menu, which then speaks within the request."""
    phone = sandboxes["phone"]
    call = phone.dial(MENU)
    phone.hear(call)
    phone.hear(call)
    phone.press(call, "1")
    phone.hang_up(call)


def read_events(page: Path) -> list[dict[str, Any]]:
    """Return the events of the trial in a report."""
    data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    assert data is not None
    events: list[dict[str, Any]] = json.loads(data[1])["trials"][0]["log"]
    return events


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a trial that calls the office."""
    bench = Workbench(tmp_path_factory.mktemp("called"))
    bench.write("a.yml", SUITE)
    task_run = bench.run_one(press_one)
    assert [criterion.passed for criterion in written(task_run)] == [True, True]
    page = bench.folder / "r.html"
    write_reports(bench.store, task_run.run, ReportTargets(html=page))
    bench.store.close()
    return page


def test_what_a_phone_menu_says_within_a_request_is_not_the_agents(report: Path) -> None:
    events = read_events(report)
    pressed = next(place for place, event in enumerate(events) if event["kind"] == "voice.digits.sent")
    within = {event["kind"]: event for event in events[pressed:] if event["actor"] == "agent"}
    assert within["voice.digits.sent"]["by_agent"]
    for kind in ("voice.node.entered", "voice.far_end.spoke"):
        assert "by_agent" not in within[kind]
    own = [event["kind"] for event in events if event.get("by_agent")]
    sent = {"voice.call.started", "voice.call.heard", "voice.digits.sent", "voice.call.ended"}
    assert set(own) == sent | {"voice.speech.cut", "agent.answered"}


def test_only_what_the_agent_did_has_a_filled_dot(report: Path, browser: ScriptedPage) -> None:
    browser.open(report)
    filled = [f"t1e{event['seq']}" for event in read_events(report) if event.get("by_agent")]
    assert [row for is_filled, row in browser.evaluate(DOTS) if is_filled] == filled


def test_decisions_and_answers_within_a_request_are_not_the_agents() -> None:
    for kind in ("payer.authorization.determined", "x12.eligibility.answered", "portal.member.found"):
        assert not is_by_agent_itself(made_up.event(1, "other", kind))
    for kind in ("portal.request.filed", "fhir.resource.created", "agent.answered", "pager.page.sent"):
        assert is_by_agent_itself(made_up.event(1, "other", kind))
        assert not is_by_agent_itself(made_up.event(1, "other", kind, "person"))
