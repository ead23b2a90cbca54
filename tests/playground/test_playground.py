"""A playground: faults, reactions with their cause, scheduled steps, both clocks."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clerkship.actors.contract import Message
from clerkship.events.agent import ActionExecuted, SlotSet
from clerkship.events.lifecycle import RunEnded
from clerkship.kit.clock import Paced, Stepped
from clerkship.sandbox.door import Refused
from tests.workbench import Workbench

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_a_stepped_clock_moves_by_touches_and_does_what_falls_due_at_its_own_time() -> None:
    clock = Stepped(START, timedelta(seconds=1))
    done: list[tuple[str, datetime]] = []
    clock.schedule(START + timedelta(minutes=5), lambda: done.append(("later", clock.now)))
    clock.schedule(START + timedelta(minutes=1), lambda: done.append(("first", clock.now)))
    clock.schedule(START + timedelta(minutes=1), lambda: done.append(("second", clock.now)))
    clock.touch()
    assert (clock.now, done) == (START + timedelta(seconds=1), [])
    clock.advance(timedelta(minutes=10))
    assert done == [
        ("first", START + timedelta(minutes=1)),
        ("second", START + timedelta(minutes=1)),
        ("later", START + timedelta(minutes=5)),
    ]
    assert clock.now == START + timedelta(minutes=10, seconds=1)


def test_a_paced_clock_follows_the_wall_and_can_be_skipped_ahead() -> None:
    wall = [100.0]
    clock = Paced(START, lambda: wall[0])
    done: list[datetime] = []
    clock.schedule(START + timedelta(seconds=30), lambda: done.append(clock.now))
    wall[0] += 20
    clock.touch()
    assert (clock.now, done) == (START + timedelta(seconds=20), [])
    clock.advance(timedelta(seconds=15))
    assert clock.now == START + timedelta(seconds=35)
    assert done == [START + timedelta(seconds=30)]


def test_in_a_paced_playground_what_is_due_happens_though_nobody_touches_anything(bench: Workbench) -> None:
    def polls(task_item: Any, sandboxes: Any) -> list[str]:
        drop = sandboxes["drop"]
        for _ in range(2000):
            if drop.list():
                return list(drop.list())
            sandboxes.wait("20ms")
        return []

    bench.write(
        "a.yml",
        """
        environment: {name: paced, time: paced, simulators: {drop: {kind: files}}}
        task:
          name: Paced
          scenario: [{at: 200ms, files.drop: {path: late.txt, text: x}}]
          criteria: [{label: saw it, assertion: {answer_matches: {contains: late.txt}}}]
        """,
    )
    assert bench.run_one(polls).verdict == "pass"


REACTING = """
    environment:
      name: desk
      simulators: {drop: {kind: files}, archive: {kind: files}, second: {kind: files}}
      reactions: [drop.file.written -> archive, archive.file.written -> second, drop.file.deleted -> archive]
    task: {name: React, criteria: []}
"""


def test_reactions_are_synchronous_in_order_and_say_their_cause(bench: Workbench) -> None:
    def writes(task_item: Any, sandboxes: Any) -> Any:
        sandboxes["drop"].write("a.txt", "x")
        at_once = sandboxes["second"].read_text("a.txt")
        sandboxes["drop"].delete("a.txt")
        return [at_once, sandboxes["archive"].list(), sandboxes["second"].list()]

    bench.write("a.yml", REACTING)
    task_run = bench.run_one(writes)
    assert task_run.answer == ["x", [], ["a.txt"]]
    changes = [
        (event["seq"], event["source"], event["kind"].rpartition(".")[2], event["actor"], event["cause"])
        for event in bench.events(task_run)
        if event["kind"] in ("files.file.written", "files.file.deleted")
    ]
    first = changes[0][0]
    assert changes[:3] == [
        (first, "drop", "written", "agent", None),
        (first + 1, "archive", "written", "reaction", first),
        (first + 2, "second", "written", "reaction", first + 1),
    ]
    assert [change[1:4] for change in changes[3:]] == [
        ("drop", "deleted", "agent"),
        ("archive", "deleted", "reaction"),
    ]


def test_reactions_that_go_in_circles_are_an_error_not_a_hang(bench: Workbench) -> None:
    def writes(task_item: Any, sandboxes: Any) -> None:
        sandboxes["drop"].write("a.txt", "x")

    bench.write("a.yml", REACTING.replace("drop.file.deleted -> archive", "second.file.written -> drop"))
    task_run = bench.run_one(writes)
    assert task_run.status == "errored"
    assert "go round in circles" in task_run.error


FAULTY = """
    environment: {{name: desk, simulators: {{drop: {{kind: files}}, other: {{kind: files}}}}}}
    task:
      name: Faulty
      scenario: [{step}]
      criteria: []
"""


def test_a_fault_strikes_as_often_as_it_says_and_where_it_says(bench: Workbench) -> None:
    def tries(task_item: Any, sandboxes: Any) -> list[int]:
        found = []
        for name in ("other", "drop", "drop", "drop"):
            try:
                sandboxes[name].list()
                found.append(200)
            except Refused as refused:
                found.append(refused.reply.status)
        return found

    bench.write("a.yml", FAULTY.format(step="{fault.error: {sandbox: drop, status: 502, times: 2}}"))
    task_run = bench.run_one(tries)
    assert task_run.answer == [200, 502, 502, 200]
    assert bench.kinds(task_run).count("fault.injected") == 2
    assert bench.kinds(task_run).count("files.folder.listed") == 2


def test_latency_moves_simulated_time(bench: Workbench) -> None:
    def times(task_item: Any, sandboxes: Any) -> float:
        before = sandboxes.now
        sandboxes["drop"].list()
        return (sandboxes.now - before).total_seconds()  # type: ignore[no-any-return]

    bench.write("a.yml", FAULTY.format(step="{fault.latency: {by: 30s}}"))
    assert bench.run_one(times).answer == 31.0


def test_a_chance_fault_strikes_the_same_requests_for_the_same_seed(bench: Workbench) -> None:
    def tries(task_item: Any, sandboxes: Any) -> list[bool]:
        found = []
        for _ in range(40):
            try:
                sandboxes["drop"].list()
                found.append(True)
            except Refused:
                found.append(False)
        return found

    bench.write("a.yml", FAULTY.format(step="{fault.error: {probability: 0.5}}"))
    one, same, other = (bench.run_one(tries, seed=seed).answer for seed in (1, 1, 2))
    assert one == same != other
    assert isinstance(one, list)
    assert 5 < sum(map(bool, one)) < 35


def test_an_agent_may_report_its_own_doings_and_nothing_else(bench: Workbench) -> None:
    def reports(task_item: Any, sandboxes: Any) -> str:
        sandboxes.report(ActionExecuted(name="look_up", arguments={"mrn": "1"}))
        sandboxes.report(SlotSet(name="mrn", value=None))
        with pytest.raises(TypeError, match="may report flows"):
            sandboxes.report(RunEnded(ending="agent_done"))
        return "done"

    bench.write(
        "a.yml",
        """
        task:
          name: Report
          criteria:
            - label: in order
              assertion: {sequencing: [{action_executed: look_up}, {slot_was_set: mrn}]}
        """,
    )
    task_run = bench.run_one(reports)
    assert (task_run.verdict, task_run.agent_error) == ("pass", "")


def test_the_person_hears_a_turn_out_and_reacts_to_events(bench: Workbench) -> None:
    heard: list[str] = []

    def answers(message: Message, sandboxes: Any) -> list[str]:
        heard.append(message.text)
        if "letter" in message.text:
            sandboxes["drop"].write("letter.txt", "Dear…")
            return ["One moment.", "It is written."]
        return ["Anything else?"]

    bench.write(
        "a.yml",
        """
        environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
        task:
          name: Letter
          scenario:
            starts: person
            person:
              opening: Please write the letter.
              script:
                - {when: {event: files.file.written}, say: I see it arriving!}
                - {when: "(?s)moment.*written", say: Thank you.}
              fallback: No.
              end: {after: 4, say: Bye.}
          criteria: []
        """,
    )
    task_run = bench.run_one(answers)
    assert heard == ["Please write the letter.", "I see it arriving!", "Thank you."]
    said = [(e["actor"], e["payload"]["text"]) for e in bench.events(task_run) if e["kind"] == "chat.message.sent"]
    assert said[-1] == ("person", "Bye.")
    assert task_run.ending == "person_done"


def test_a_person_who_waits_is_brought_to_the_next_thing_due(bench: Workbench) -> None:
    def answers(message: Message) -> str:
        return f"You said {message.text}"

    bench.write(
        "a.yml",
        """
        task:
          name: Later
          scenario:
            starts: person
            person: {opening: Hello, script: [{when: Hello, say: null}], end: {when: It is ten}}
            steps: [{at: +1h, chat.say: {text: It is ten}}]
          criteria:
            - {label: heard, assertion: {bot_uttered: {text_matches: It is ten}}}
        """,
    )
    task_run = bench.run_one(answers)
    assert (task_run.verdict, task_run.ending) == ("pass", "person_done")
    said = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    assert said[2]["at"] == "2026-03-02T15:00:00Z"


def test_an_agent_that_starts_can_talk_to_the_person_too(bench: Workbench) -> None:
    def asks(task_item: Any, sandboxes: Any) -> str:
        [reply] = sandboxes["chat"].say("What is your date of birth?")
        return str(reply["text"])

    bench.write(
        "a.yml",
        """
        task:
          name: Ask
          scenario: {person: {script: [{when: date of birth, say: "1965-03-15"}], end: {when: bye}}}
          criteria: [{label: got it, assertion: {answer_matches: "1965-03-15"}}]
        """,
    )
    assert bench.run_one(asks).verdict == "pass"
