"""`done_in_time`: the deadline, and what the agent is told of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clerkship.monitors.done_in_time import DECISIONS, add_working_day
from clerkship.payer.events import AppealDecided, AuthorizationDetermined
from tests.workbench import Workbench

TASK = """
environment: {name: desk, now: "2026-03-06T14:00:00Z", monitors: gate, simulators: {drop: {kind: files}}}
---
task:
  name: Write one file
  environment: desk
  task_item: {instruction: write one.txt}
  criteria: [{label: written, assertion: {file_present: {path: one.txt}}}]
"""


@pytest.mark.parametrize(
    ("time", "deadline"),
    [
        ("2026-03-04T14:00", "2026-03-05T14:00"),
        ("2026-03-06T14:00", "2026-03-09T14:00"),
        ("2026-03-07T09:00", "2026-03-09T09:00"),
    ],
)
def test_working_day_leaves_out_weekends(time: str, deadline: str) -> None:
    start, end = (datetime.fromisoformat(each).replace(tzinfo=UTC) for each in (time, deadline))
    assert add_working_day(start) == end


@pytest.mark.parametrize(
    ("more", "hours", "verdict"),
    [
        ("", 1, "pass"),
        ("", 71, "pass"),  # from Friday to Monday
        ("", 73, "fail"),
        ("  done_within: 30m\n", 1, "fail"),
        ("  done_within: 5d\n", 100, "pass"),
        ('  scenario: {steps: [{at: 72h, files.drop: {path: two.txt, text: "2"}}]}\n', 73, "pass"),
    ],
)
def test_late_work_fails(bench: Workbench, more: str, hours: int, verdict: str) -> None:
    for number, text in enumerate((TASK + more).split("---\n")):
        bench.write(f"{number}.yml", text)

    def agent(task_item: Any, sandboxes: Any) -> str:
        sandboxes.wait(hours * 3600)
        sandboxes["drop"].write("one.txt", "1")
        return "done"

    assert bench.run_one(agent).verdict == verdict


def test_reply_to_a_late_message_gives_no_more_time(bench: Workbench) -> None:
    bench.write(
        "chat.yml",
        """
        environment: {name: desk, monitors: gate, simulators: {chat: {kind: chat}, drop: {kind: files}}}
        task:
          name: Say hello in time
          environment: desk
          scenario: {starts: person, person: {lines: [Hello, Thanks]}}
          criteria: [{label: replied, assertion: {bot_uttered: {text_matches: hi}}}]
        """,
    )

    def agent(message: Any, sandboxes: Any) -> str:
        if "Hello" in message.text:
            sandboxes.wait("30d")
        return "hi"

    assert bench.run_one(agent).verdict == "fail"


@pytest.mark.parametrize(("more", "told"), [("", "1 working day"), ("  done_within: 90m\n", "1h30m")])
def test_agent_is_told_the_deadline(bench: Workbench, more: str, told: str) -> None:
    for number, text in enumerate((TASK + more).split("---\n")):
        bench.write(f"{number}.yml", text)
    items = []

    def agent(task_item: Any, sandboxes: Any) -> str:
        items.append(task_item)
        return "done"

    bench.run_one(agent)
    assert items[0]["done_within"] == told


def test_decisions_are_events_of_the_payer() -> None:
    assert (AuthorizationDetermined.kind, AppealDecided.kind) == DECISIONS
