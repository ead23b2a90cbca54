"""Recorded agents and their replay."""

import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from clerkship.actors.contract import Say
from clerkship.actors.python import PythonSolver
from clerkship.events.agent import ActionExecuted, SlotSet
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.recording.cassette import cassette_path
from clerkship.recording.recorded_agent import AgentRecording, RecordingAgent
from clerkship.recording.session import RecordingSession
from clerkship.sandbox.request import Request
from clerkship.sandbox.route import HttpCall
from tests.actors.programs import program
from tests.recording.test_runs import told
from tests.workbench import Workbench

DESK = """
environment:
  name: desk
  simulators: {talk: {kind: chat}, drop: {kind: files}}
"""
TASK = """
task:
  name: Late order
  environment: desk
  scenario:
    starts: person
    initial_slots: {city: Oslo}
    person: {sandbox: talk, lines: [Where is my order?, Why?, Thanks]}
  criteria:
    - {label: It acted, assertion: {event_occurred: {event: agent.action.executed}}}
"""


class Busy:
    """An agent that uses every feature."""

    def __init__(self) -> None:
        self.turns = 0

    def on_start(self, start: Any, sandboxes: Any) -> list[Any]:
        """Return a greeting."""
        return [SlotSet(name="city", value=start.slots["city"]), "Hello."]

    def on_turn(self, message: Any, sandboxes: Any) -> list[Any]:
        """Use HTTP and direct calls, with a wait and a report in between."""
        self.turns += 1
        drop = sandboxes["drop"]
        drop.write(f"notes/{self.turns}.txt", f"heard {message.text} ✓")
        sandboxes.report(ActionExecuted(name="action_noted"))
        sandboxes.wait("90s")
        head = {"authorization": f"Bearer {drop.token}", "content-type": "application/octet-stream"}
        target = f"{drop.url}/files/notes/{self.turns}.bin"
        with urllib.request.urlopen(urllib.request.Request(target, b"\xff\x00", head, method="PUT")) as reply:
            assert reply.status < 300
        clock = drop.url.rsplit("/", 1)[0] + "/clock/advance?by=1m"
        with urllib.request.urlopen(urllib.request.Request(clock, b"", head, method="POST")):
            pass
        try:
            drop.read("not/there.txt")
        except Exception as refused:
            return [
                Say(str(type(refused).__name__), buttons=({"title": "Ok", "payload": "/ok"},)),
                SlotSet(name="n", value=2),
            ]
        return []


@pytest.fixture
def desk(bench: Workbench) -> Workbench:
    """Write a conversation task with a folder of files."""
    bench.write("desk.yml", DESK)
    bench.write("late.yml", TASK)
    return bench


def record(bench: Workbench, agent: Callable[..., Any] | type | str = Busy, **how: Any) -> list[TaskRun]:
    """Run with the agent, and record it."""
    return bench.run(agent, judge="none", tape="record", tapes_agent=True, **how)


def replay(bench: Workbench, agent: str = "recorded", **how: Any) -> list[TaskRun]:
    """Replay without the agent."""
    return bench.run(agent, judge="none", tape="replay", **how)


def test_recorded_agent_repeats_actions_and_messages(desk: Workbench) -> None:
    first = record(desk, trials=2)
    assert [task_run.verdict for task_run in first] == ["pass", "pass"]
    again = replay(desk, trials=2)
    assert [task_run.head for task_run in again] == [task_run.head for task_run in first]
    assert desk.kinds(again[0]) == desk.kinds(first[0])
    assert "files.file.written" in desk.kinds(again[0])
    assert "sandbox.refused" in desk.kinds(again[0])
    assert desk.store.run(again[0].run).solver == "recorded:agent"
    assert told(desk).replayed == 8  # a start and three turns, twice
    assert [task_run.verdict for task_run in replay(desk, "recorded:agent", trials=2)] == ["pass", "pass"]


def test_criteria_may_change_after_recording(desk: Workbench) -> None:
    record(desk)
    desk.write("late.yml", TASK.replace("agent.action.executed", "agent.flow.started"))
    [task_run] = replay(desk)
    assert (task_run.verdict, task_run.error) == ("fail", "")


def test_recorded_failure_is_replayed(desk: Workbench) -> None:
    def fails(message: Any) -> str:
        if message.turn == 2:
            raise ValueError("out of order")
        return "Late."

    [first] = record(desk, fails)
    [again] = replay(desk)
    assert again.agent_error == first.agent_error
    assert "ValueError: out of order" in again.agent_error
    assert (again.ending, again.head) == ("agent_failed", first.head)


def test_recorded_failure_after_the_last_turn_is_replayed(desk: Workbench, tmp_path: Path) -> None:
    source = """
        for turn in range(3):
            sys.stdin.readline()
            say({"report": {"kind": "agent.action.executed", "name": "action_looked"}, "say": "Late."})
        sys.exit(3)
    """
    [first] = record(desk, program(tmp_path, source))
    [again] = replay(desk)
    assert first.agent_error == again.agent_error == "it ended with exit code 3 after its last message"
    assert (again.ending, again.head) == ("agent_failed", first.head)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("Why?", "How come?"), "in the recording, the person said 'Why?' there"),
        (("Thanks]", "Thanks, Bye]"), "the recording ends with turn 3"),
        (("Oslo", "Bergen"), "the task has changed since the recording"),
    ],
)
def test_missing_turn_error_names_the_difference(desk: Workbench, change: tuple[str, str], said: str) -> None:
    record(desk)
    desk.write("late.yml", TASK.replace(*change))
    [task_run] = replay(desk)
    assert (task_run.status, desk.exit_code()) == ("errored", 2)
    assert "not recorded: what agent did in turn" in task_run.error
    assert said in task_run.error


def test_refresh_records_missing_turns(desk: Workbench) -> None:
    record(desk)
    before = (desk.folder / "cassettes" / "late.jsonl").read_bytes()
    desk.run(Busy, judge="none", tape="refresh", tapes_agent=True)
    assert told(desk).written == 0
    assert (desk.folder / "cassettes" / "late.jsonl").read_bytes() == before
    desk.run(Busy, judge="none", tape="refresh", tapes_agent=True, trials=2)
    assert told(desk).written == 4


def test_recordings_of_several_agents_are_separate(desk: Workbench) -> None:
    record(desk)
    desk.run(PythonSolver("other", lambda message: "No."), judge="none", tape="record", tapes_agent=True)
    with pytest.raises(
        InputError, match=r"more than one agent is recorded: agent, other; choose one with --agent recor"
    ):
        replay(desk)
    assert replay(desk, "recorded:other")[0].verdict == "fail"
    assert replay(desk, "recorded:agent")[0].verdict == "pass"
    with pytest.raises(InputError, match="agent `agnt` is not recorded; did you mean `agent`"):
        replay(desk, "recorded:agnt")


def test_unsupported_recording_is_rejected_before_the_run(desk: Workbench) -> None:
    with pytest.raises(
        InputError, match="no agent is recorded for these tasks; record one with --record --record-agent"
    ):
        replay(desk)
    with pytest.raises(InputError, match="agent `recorded` only replays recordings; give --replay"):
        desk.run("recorded", judge="none")
    desk.write("work.yml", "task: {name: Work, environment: desk, task_item: {instruction: Do it}}")
    with pytest.raises(
        InputError, match=r"work.yml: 'Work' starts with the agent \(on_task\), and only conversations can be recor"
    ):
        record(desk, Busy)


def test_agent_that_acts_between_turns_cannot_be_recorded(desk: Workbench) -> None:
    session = RecordingSession("record", {"Late order": cassette_path(desk.folder / "late.yml")})
    session.solver = "agent"
    recording = AgentRecording(session, ("Late order", 1), "content")
    agent = RecordingAgent(PythonSolver("agent", Busy).open(None), recording)
    agent.hear("clock", Request("GET", "/"))  # which changes nothing
    assert session.error_of(("Late order", 1)) == ""
    agent.hear("drop", Request("PUT", "/files/a.txt", body=b"too late"))
    assert "the agent acted between two turns" in session.error_of(("Late order", 1))


def test_silent_turns_are_recorded(desk: Workbench) -> None:
    [first] = record(desk, lambda message: None)
    [again] = replay(desk)
    assert first.ending == again.ending == "agent_silent"
    assert first.head == again.head


PAIRS = (("date", "ge2026-01-01"), ("code", "b"), ("date", "lt2026-02-01"))
MATTER = {
    "if-match": 'W/"3"',
    "if-none-exist": "identifier=1",
    "prefer": "return=minimal",
    "accept": "application/json",
}
"""Headers that change what a request means."""


def test_repeated_query_names_order_and_headers_are_replayed(desk: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Request] = []
    listing = Gateway.handle

    def hears(gateway: Gateway, exchange: RequestContext) -> Any:
        assert isinstance(exchange.call, HttpCall)
        heard.append(exchange.call.request)
        return listing(gateway, exchange)

    def asks(message: Any, sandboxes: Any) -> list[Any]:
        drop = sandboxes["drop"]
        drop.request("GET", "/files", query=PAIRS, headers={**MATTER, "X-Mine": "not asked again"})
        drop.request("GET", "/files", query={"b": "1", "a": "2"})
        head = {"Authorization": f"Bearer {drop.token}", **{name.title(): value for name, value in MATTER.items()}}
        url = f"{drop.url}/files?{urlencode(PAIRS)}"
        with urllib.request.urlopen(urllib.request.Request(url, headers=head)) as reply:
            assert reply.status == 200
        return [ActionExecuted(name="asked"), "Done."]

    monkeypatch.setattr(Gateway, "handle", hears)
    [first] = record(desk, asks)
    asked = heard.copy()
    heard.clear()
    [again] = replay(desk)
    assert again.head == first.head
    assert [request.pairs for request in heard] == [request.pairs for request in asked]
    assert [request.pairs for request in heard[:3]] == [PAIRS, (("b", "1"), ("a", "2")), PAIRS]
    assert [dict(request.headers) for request in heard[:3]] == [MATTER, {}, MATTER]
