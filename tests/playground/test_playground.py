"""A playground: faults, reactions, scheduled steps, and both clocks."""

import asyncio
import http.client
import socket
import threading
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from clerkship.actors.contract import Message
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.events.agent import ActionExecuted, SlotSet
from clerkship.events.lifecycle import RunEnded
from clerkship.kit.clock import PacedClock, SteppedClock
from clerkship.model.environment import Environment
from clerkship.playground.agent_clock import run_paced_clock
from clerkship.playground.playground import Playground
from clerkship.sandbox.handle import Refused
from clerkship.simulators import files
from clerkship.transports.http_connection import HttpConnection
from tests.waiting import wait_until
from tests.workbench import Workbench

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_stepped_clock_moves_by_touches_and_runs_due_work_on_time() -> None:
    clock = SteppedClock(START, timedelta(seconds=1))
    done: list[tuple[str, datetime]] = []
    clock.schedule(START + timedelta(minutes=5), lambda: done.append(("later", clock.now)))
    clock.schedule(START + timedelta(minutes=1), lambda: done.append(("first", clock.now)))
    clock.schedule(START + timedelta(minutes=1), lambda: done.append(("second", clock.now)))
    clock.tick()
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
    clock = PacedClock(START, lambda: wall[0])
    done: list[datetime] = []
    clock.schedule(START + timedelta(seconds=30), lambda: done.append(clock.now))
    wall[0] += 20
    clock.tick()
    assert (clock.now, done) == (START + timedelta(seconds=20), [])
    clock.advance(timedelta(seconds=15))
    assert clock.now == START + timedelta(seconds=35)
    assert done == [START + timedelta(seconds=30)]


def test_paced_clock_runs_due_work_without_a_request(bench: Workbench) -> None:
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


def test_reactions_are_synchronous_ordered_and_have_a_cause(bench: Workbench) -> None:
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


def test_circular_reactions_are_an_error(bench: Workbench) -> None:
    def writes(task_item: Any, sandboxes: Any) -> None:
        sandboxes["drop"].write("a.txt", "x")

    bench.write("a.yml", REACTING.replace("drop.file.deleted -> archive", "second.file.written -> drop"))
    task_run = bench.run_one(writes)
    assert task_run.status == "errored"
    assert "reactions are nested more than 32 deep" in task_run.error


FAULTY = """
    environment: {{name: desk, simulators: {{drop: {{kind: files}}, other: {{kind: files}}}}}}
    task:
      name: Faulty
      scenario: [{step}]
      criteria: []
"""


def test_fault_affects_as_many_requests_as_configured(bench: Workbench) -> None:
    def tries(task_item: Any, sandboxes: Any) -> list[int]:
        results = []
        for name in ("other", "drop", "drop", "drop"):
            try:
                sandboxes[name].list()
                results.append(200)
            except Refused as refused:
                results.append(refused.reply.status)
        return results

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


def test_random_fault_affects_the_same_requests_for_the_same_seed(bench: Workbench) -> None:
    def tries(task_item: Any, sandboxes: Any) -> list[bool]:
        results = []
        for _ in range(40):
            try:
                sandboxes["drop"].list()
                results.append(True)
            except Refused:
                results.append(False)
        return results

    bench.write("a.yml", FAULTY.format(step="{fault.error: {probability: 0.5}}"))
    first, same, other = (bench.run_one(tries, seed=seed).answer for seed in (1, 1, 2))
    assert first == same != other
    assert isinstance(first, list)
    assert 5 < sum(map(bool, first)) < 35


def test_agent_may_only_report_its_own_events(bench: Workbench) -> None:
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


def test_person_reacts_after_the_whole_turn_and_to_events(bench: Workbench) -> None:
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
    messages = [(e["actor"], e["payload"]["text"]) for e in bench.events(task_run) if e["kind"] == "chat.message.sent"]
    assert messages[-1] == ("person", "Bye.")
    assert task_run.ending == "person_done"


def test_skip_wakes_a_waiting_person(bench: Workbench) -> None:
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
    messages = [event for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    assert messages[2]["at"] == "2026-03-02T15:00:00Z"


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


def test_reaction_to_many_kinds_ignores_unhandled_ones(bench: Workbench) -> None:
    def reads(task_item: Any, sandboxes: Any) -> Any:
        sandboxes["drop"].write("a.txt", "x")
        sandboxes["drop"].read("a.txt")
        return sandboxes["archive"].list()

    bench.write(
        "a.yml",
        """
        environment:
          name: desk
          simulators: {drop: {kind: files}, archive: {kind: files}}
          reactions: ["drop.file.* -> archive"]
        task: {name: A}
        """,
    )
    task_run = bench.run_one(reads)
    assert (task_run.status, task_run.answer) == ("completed", ["a.txt"])


def test_reported_event_is_logged_as_it_was_then(bench: Workbench) -> None:
    def changes_its_story(task_item: Any, sandboxes: Any) -> None:
        arguments = {"patient": {"id": "wrong"}}
        sandboxes.report(ActionExecuted(name="book", arguments=arguments))
        arguments["patient"]["id"] = "right"

    class Forged(ActionExecuted):
        kind = "files.file.read"

    def forges(task_item: Any, sandboxes: Any) -> None:
        sandboxes.report(Forged(name="x"))

    bench.write(
        "a.yml",
        """
        task:
          name: A
          criteria:
            - label: right
              assertion: {event_occurred: {event: agent.action.executed, where: {arguments.patient.id: right}}}
        """,
    )
    assert bench.run_one(changes_its_story).verdict == "fail"
    assert "not Forged" in bench.run_one(forges).agent_error


def test_a_person_may_leave_in_the_middle_of_a_turn(bench: Workbench) -> None:
    def answers(message: Message) -> list[str]:
        return ["one", "two", "three"]

    bench.write(
        "a.yml",
        """
        environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
        task:
          name: A
          scenario:
            starts: person
            person: {opening: Hello, fallback: Hm, end: {when: {event: files.file.written}, say: Bye}}
            steps: [{at: 3s, files.drop: {path: a.txt, text: x}}]
        """,
    )
    task_run = bench.run_one(answers)
    assert (task_run.status, task_run.ending) == ("completed", "person_done")
    messages = [e["payload"]["text"] for e in bench.events(task_run) if e["kind"] == "chat.message.sent"]
    assert messages == ["Hello", "one", "two", "three", "Bye"]


def test_person_notices_only_later_events_including_messages(bench: Workbench) -> None:
    def answers(message: Message) -> str:
        return "the letter is ready"

    bench.write(
        "a.yml",
        """
        environment: {name: desk, simulators: {chat: {kind: chat}, drop: {kind: files}}}
        task:
          name: A
          scenario:
            starts: person
            person:
              opening: Hello
              script: [{when: {event: "files.*"}, say: I saw that}]
              end: {when: {event: chat.message.sent, actor: agent, where: {text: {contains: ready}}}, say: Bye}
            steps: [{files.drop: {path: a.txt, text: x}}]
        """,
    )
    task_run = bench.run_one(answers)
    messages = [e["payload"]["text"] for e in bench.events(task_run) if e["kind"] == "chat.message.sent"]
    assert messages == ["Hello", "the letter is ready", "Bye"]


def test_paced_playground_runs_scheduled_steps_without_requests() -> None:
    environment = Environment(name="p", time="paced")
    playground = Playground(environment, {}, "seed")
    happened = threading.Event()
    playground.clock.schedule(environment.now + timedelta(milliseconds=30), happened.set)
    with run_paced_clock(playground):
        assert happened.wait(5)


def test_bug_in_a_scheduled_step_errors_the_run() -> None:
    playground = Playground(Environment(name="p", time="paced"), {}, "seed")

    def breaks() -> None:
        int("x")

    playground.clock.schedule(playground.started_at, breaks)
    with run_paced_clock(playground):
        wait_until(lambda: playground.broken)
    assert playground.broken == "advancing the clock: ValueError: invalid literal for int() with base 10: 'x'"


def test_latency_on_a_paced_clock_is_not_applied_twice(bench: Workbench) -> None:
    def times(task_item: Any, sandboxes: Any) -> float:
        before = sandboxes.now
        sandboxes["drop"].list()
        return (sandboxes.now - before).total_seconds()  # type: ignore[no-any-return]

    bench.write("a.yml", FAULTY.format(step="{fault.latency: {by: 30s}}").replace("name: desk", "name: d, time: paced"))
    answer = bench.run_one(times).answer
    assert isinstance(answer, float)
    assert 30 <= answer < 31


def test_incomplete_upload_is_discarded(bench: Workbench) -> None:
    def breaks_off(task_item: Any, sandboxes: Any) -> list[str]:
        drop = sandboxes["drop"]
        address = urlsplit(drop.url)
        with socket.create_connection((address.hostname, address.port), timeout=5) as connection:
            head = f"PUT {address.path}/files/a.txt HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {drop.token}\r\n"
            connection.sendall(f"{head}Content-Length: 1000\r\n\r\nDear coll".encode())
        request = urllib.request.Request(f"{drop.url}/files", headers={"Authorization": f"Bearer {drop.token}"})
        with urllib.request.urlopen(request, timeout=5):
            return list(drop.list())

    bench.write("a.yml", "environment: {name: d, simulators: {drop: {kind: files}}}\ntask: {name: A}")
    task_run = bench.run_one(breaks_off)
    assert (task_run.answer, task_run.agent_error) == ([], "")


def test_body_over_the_limit_is_refused_with_413(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.transports.http_parser.MAX_BODY", 1000)

    def uploads(task_item: Any, sandboxes: Any) -> int:
        drop = sandboxes["drop"]
        headers = {"Authorization": f"Bearer {drop.token}"}
        request = urllib.request.Request(f"{drop.url}/files/a.txt", b"x" * 2000, headers, method="PUT")
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    bench.write("a.yml", "environment: {name: d, simulators: {drop: {kind: files}}}\ntask: {name: A}")
    assert bench.run_one(uploads).answer == 413


def test_no_event_follows_the_end_of_the_run(bench: Workbench) -> None:
    def answers(message: Message) -> str:
        return "bye"

    bench.write(
        "a.yml",
        """
        task:
          name: A
          scenario:
            starts: person
            max_turns: 1
            person: {opening: Hello, script: [{when: {event: run.ended}, say: And another thing}], fallback: Hm}
        """,
    )
    assert bench.kinds(bench.run_one(answers))[-1] == "run.ended"


def test_http_connection_does_not_delay_small_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """With delayed small packets each reply would take 40 ms."""
    transports: list[asyncio.BaseTransport] = []
    connection_made = HttpConnection.connection_made

    def record(connection: HttpConnection, transport: asyncio.BaseTransport) -> None:
        transports.append(transport)
        connection_made(connection, transport)

    monkeypatch.setattr(HttpConnection, "connection_made", record)
    with SimulatorRig(files.SPEC) as rig:
        address = urlsplit(rig.url())
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        connection.request("GET", f"{address.path}/files", headers={"Authorization": f"Bearer {rig.token}"})
        assert connection.getresponse().read() == b'{"files":[]}'
        [transport] = transports
        assert transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()


def test_a_reaction_that_is_refused_is_in_the_log_with_its_cause(bench: Workbench) -> None:
    def writes(task_item: Any, sandboxes: Any) -> list[str]:
        sandboxes["drop"].write("a.txt", "too long for the archive")
        return list(sandboxes["archive"].list())

    bench.write(
        "a.yml",
        """
        environment:
          name: desk
          simulators: {drop: {kind: files}, archive: {kind: files, config: {max_file: 3}}}
          reactions: [drop.file.written -> archive]
        task: {name: A}
        """,
    )
    task_run = bench.run_one(writes)
    assert (task_run.status, task_run.answer) == ("completed", [])
    [refused] = [event for event in bench.events(task_run) if event["kind"] == "sandbox.refused"]
    assert (refused["source"], refused["actor"], refused["payload"]["status"]) == ("archive", "reaction", 413)
    assert bench.events(task_run)[refused["cause"] - 1]["kind"] == "files.file.written"
