"""Forks of stored conversations."""

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from clerkship.actors.contract import History, Message, ReplyPart, Say, Start
from clerkship.actors.python import PythonSolver
from clerkship.events.agent import SlotSet
from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.comparing import compare_runs
from clerkship.service.fork import plan_fork
from clerkship.service.planning.request import ForkRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.service.task_view import show_task
from clerkship.settings import Settings
from clerkship.store.contract import SealBroken, UnknownRun
from tests.service.forks import fork
from tests.workbench import CATALOG, Workbench, unseal, written

pytestmark = pytest.mark.databases(slow=True)

DESK = """
    environment: {name: desk, now: 2026-03-02T09:00:00-05:00, simulators: {chat: {kind: chat}, drop: {kind: files}}}
    task:
      name: Keep notes
      task_item: {instruction: Take down what they say.}
      scenario:
        starts: person
        initial_slots: {desk: "7"}
        steps:
          - files.drop: {path: inbox/first.txt, text: "before"}
          - {at: +2s, files.drop: {path: inbox/early.txt, text: "early"}}
          - {at: +1h, files.drop: {path: inbox/late.txt, text: "late"}}
        person: {lines: [one, two, three, four], end: {when: goodbye}}
      criteria:
        - {label: all kept, assertion: {file_present: {path: notes.txt, text: "one two three four"}}}
        - {label: says bye, assertion: {bot_uttered: {text_matches: bye}}}
"""


class NoteTaker:
    """Writes notes to a file, line by line."""

    last = "bye"

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_turn(self, message: Message, sandboxes: Any) -> Sequence[ReplyPart]:
        self.heard.append(message.text)
        drop = sandboxes["drop"]
        notes = drop.read_text("notes.txt") if message.turn > 1 else ""
        drop.write("notes.txt", f"{notes} {message.text}".strip())
        return [
            SlotSet(name="last", value=message.text),
            Say(f"noted {message.text}" if message.turn < 4 else self.last),
        ]


class ForgetfulAgent(NoteTaker):
    """Deletes its notes in the third turn, and is never polite."""

    last = "so"

    def on_turn(self, message: Message, sandboxes: Any) -> Sequence[ReplyPart]:
        if message.turn == 3:
            sandboxes["drop"].write("notes.txt", "oh")
        return super().on_turn(message, sandboxes)


class AgentWithHistory(NoteTaker):
    """Accepts the history of a conversation."""

    histories: list[History] = []

    def on_history(self, history: History) -> None:
        AgentWithHistory.histories.append(history)
        self.heard = [turn.text for turn in history.turns if turn.text is not None]


def lines(bench: Workbench, task_run: TaskRun) -> list[bytes]:
    return list(bench.store.log(task_run))


def count_events_until(bench: Workbench, task_run: TaskRun, said: str) -> int:
    """Return the number of events up to this message."""
    return next(n for n, event in enumerate(bench.events(task_run), 1) if event["payload"].get("text") == said)


def test_fork_with_another_agent_changes_the_verdict(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(ForgetfulAgent)
    assert first.verdict == "fail"
    forked = fork(bench, AgentWithHistory, turn=3)
    assert (forked.verdict, forked.ending) == ("pass", "person_done")
    cut = count_events_until(bench, first, "three")
    assert lines(bench, forked)[:cut] == lines(bench, first)[:cut]  # the very bytes, so the same chain
    assert bench.kinds(forked)[cut] == "run.forked"
    assert bench.events(forked)[cut]["payload"] == {"run": first.run, "trial": 1, "turn": 3, "told": "history"}
    assert show_task(bench.store, forked.run, "notes").intact
    run = bench.store.run(forked.run)
    assert (run.made_by, run.origin, run.solver) == ("fork", first.run, "agent")
    assert run.fork is not None
    assert (run.fork.trial, run.fork.turn, run.fork.warm_up) == (1, 3, False)
    assert bench.exit_code() == 0
    assert [row.standing for row in compare_runs(bench.store, first.run, forked.run).rows] == ["better"]


def test_fork_from_a_late_turn_keeps_the_verdict(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    bench.run_one(ForgetfulAgent)
    forked = fork(bench, AgentWithHistory, turn=4)
    assert [criterion.passed for criterion in written(forked)] == [False, True]
    assert bench.exit_code() == 1


def test_fork_with_the_same_agent_repeats_the_trial(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(AgentWithHistory)
    for turn in (1, 2, 3, 4):
        forked = fork(bench, AgentWithHistory, run=first.run, turn=turn)
        log = bench.events(forked)
        mark = next(n for n, event in enumerate(log) if event["kind"] == "run.forked")
        without = [event | {"seq": 0, "cause": None} for n, event in enumerate(log) if n != mark]
        assert without == [event | {"seq": 0, "cause": None} for event in bench.events(first)]


def test_two_forks_with_the_same_agent_have_the_same_log(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(ForgetfulAgent)
    one, other = (fork(bench, AgentWithHistory, run=first.run, turn=2) for _ in range(2))
    assert one.head == other.head != first.head
    again = fork(bench, AgentWithHistory, run=first.run, turn=2, trials=3)
    assert [ran.head for ran in bench.store.task_runs(again.run)] == [one.head] * 3


def test_agent_receives_the_history_of_the_conversation(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    AgentWithHistory.histories.clear()
    first = bench.run_one(AgentWithHistory)
    assert AgentWithHistory.histories == []
    fork(bench, AgentWithHistory, run=first.run, turn=3)
    [history] = AgentWithHistory.histories
    assert [(turn.turn, turn.text) for turn in history.turns] == [(1, "one"), (2, "two")]
    assert history.turns[1].answer == (SlotSet(name="last", value="two"), Say("noted two"))
    assert history.slots == {"desk": "7", "last": "two"}
    assert (history.sandbox, history.task_item) == ("chat", {"instruction": "Take down what they say."})


def test_only_steps_after_the_fork_point_run(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(AgentWithHistory)

    class Waits(AgentWithHistory):
        def on_turn(self, message: Message, sandboxes: Any) -> Sequence[ReplyPart]:
            if message.turn == 4:
                sandboxes.wait("2h")
            return super().on_turn(message, sandboxes)

    forked = fork(bench, Waits, run=first.run, turn=4)
    dropped = [e["payload"]["path"] for e in bench.events(forked) if e["payload"].get("path", "").startswith("inbox")]
    assert dropped == ["inbox/first.txt", "inbox/early.txt", "inbox/late.txt"]
    late = next(e for e in bench.events(forked) if e["payload"].get("path") == "inbox/late.txt")
    assert late["at"] == "2026-03-02T15:00:00Z"


def test_agent_without_on_history_is_warmed_up_without_effect_on_the_log(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(ForgetfulAgent)
    seen: list[tuple[str, str]] = []

    class Warm(NoteTaker):
        def on_start(self, start: Start, sandboxes: Any) -> Sequence[ReplyPart]:
            seen.append(("start", str(start.slots["desk"])))
            return [Say("Welcome!")]

        def on_turn(self, message: Message, sandboxes: Any) -> Sequence[ReplyPart]:
            drop = sandboxes["drop"]
            seen.append((message.text, drop.read_text("notes.txt") if message.turn > 1 else ""))
            sandboxes.report(SlotSet(name="warm", value=True))
            if message.turn < 3:
                drop.write("stray.txt", "nobody sees this")
            return super().on_turn(message, sandboxes)

    request = ForkRequest(run="latest", task="notes", turn=3, agent=PythonSolver("agent", Warm))
    plan = plan_fork(bench.store, request, CATALOG, Settings(timeout=20))
    assert "it answers lines 1 to 2 again" in plan.warnings[0].message
    execute(plan, bench.store, CATALOG)
    [forked] = bench.store.task_runs(plan.run.id)
    assert forked.verdict == "pass"
    assert seen == [("start", "7"), ("one", ""), ("two", "one"), ("three", "one two"), ("four", "one two three")]
    cut = count_events_until(bench, first, "three")
    assert lines(bench, forked)[:cut] == lines(bench, first)[:cut]
    after = bench.events(forked)[cut:]
    assert after[0]["payload"]["told"] == "warm_up"
    assert not [event for event in after if event["payload"].get("path") == "stray.txt"]
    view = show_task(bench.store, forked.run, "notes")
    assert view.sidecar["fork"]["told"] == "warm_up"
    assert [touch["seq"] > cut for touch in view.sidecar["touches"]] == [True] * len(view.sidecar["touches"])


def test_agent_with_on_history_can_be_warmed_up(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(AgentWithHistory)
    AgentWithHistory.histories.clear()
    forked = fork(bench, AgentWithHistory, run=first.run, turn=2, warm_up=True)
    assert (AgentWithHistory.histories, forked.verdict) == ([], "pass")
    run = bench.store.run(forked.run)
    assert run.fork is not None
    assert run.fork.warm_up


def test_agent_that_crashes_in_on_history_fails_at_the_fork_point(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(NoteTaker)

    class Breaks(NoteTaker):
        def on_history(self, history: History, sandboxes: Any) -> None:
            sandboxes["drop"].write("stray.txt", "x")
            raise ValueError("I never was there")

    forked = fork(bench, Breaks, run=first.run, turn=3)
    assert (forked.ending, bench.exit_code()) == ("agent_failed", 1)
    assert "never was there" in forked.agent_error
    cut = count_events_until(bench, first, "three")
    assert bench.kinds(forked)[cut:] == ["run.forked", "agent.failed", "run.ended"]


def test_agent_that_hangs_in_on_history_times_out_at_the_fork_point(bench: Workbench) -> None:
    bench.write("a.yml", DESK.replace("starts: person", "starts: person\n        turn_timeout: 1.0"))
    first = bench.run_one(NoteTaker)

    over = threading.Event()

    class Deaf(NoteTaker):
        def on_history(self, history: History) -> None:
            while not over.is_set():
                with contextlib.suppress(BaseException):
                    over.wait(10)

    class Loops(NoteTaker):
        def on_turn(self, message: Message, sandboxes: Any) -> Sequence[ReplyPart]:
            while message.turn == 2:
                pass
            return super().on_turn(message, sandboxes)

    cut = count_events_until(bench, first, "three")
    forked = fork(bench, Loops, run=first.run, turn=3)
    assert forked.ending == "turn_timed_out"
    assert bench.kinds(forked)[cut:] == ["run.forked", "run.ended"]
    forked = fork(bench, Deaf, run=first.run, turn=3)
    over.set()
    assert forked.ending == "turn_timed_out"
    assert lines(bench, forked)[:cut] == lines(bench, first)[:cut]
    assert bench.kinds(forked)[cut:] == ["run.ended"]  # another process has finished it


def test_which_parts_of_a_fork_repeat(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(ForgetfulAgent)
    forked = fork(bench, AgentWithHistory, turn=3, trials=2)
    run = bench.store.run(forked.run)
    execute(
        plan_rerun(bench.store, run.id, CATALOG, Settings(), PythonSolver("agent", AgentWithHistory)),
        bench.store,
        CATALOG,
    )
    again = bench.store.run("latest")
    assert (again.made_by, again.origin, again.fork) == ("rerun", run.id, run.fork)
    assert [t.head for t in bench.store.task_runs(again.id)] == [forked.head] * 2
    rescored = rescore(bench.store, forked.run, CATALOG)
    assert [t.verdict for t in bench.store.task_runs(rescored.run.id)] == ["pass", "pass"]
    assert rescored.run.fork == run.fork
    deeper = fork(bench, ForgetfulAgent, run=forked.run, trial=2, turn=4)
    kinds = bench.kinds(deeper)
    assert kinds.count("run.forked") == 2
    assert [c.passed for c in written(deeper)] == [True, False]
    assert first.run == bench.store.run(forked.run).origin


def test_interrupted_fork_is_resumed(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    first = bench.run_one(ForgetfulAgent)
    whole = fork(bench, AgentWithHistory, run=first.run, turn=3)
    solver = PythonSolver("agent", AgentWithHistory)
    request = ForkRequest(run=first.run, task="notes", turn=3, agent=solver, trials=2)
    plan = plan_fork(bench.store, request, CATALOG, Settings())
    with bench.store.hold(plan.run.id):
        bench.store.open_run(plan.run, plan.frozen())
    resumed = plan_resume(bench.store, plan.run.id, CATALOG, Settings(), agent=solver)
    assert resumed.left == 2
    resume(resumed, bench.store, CATALOG)
    assert [ran.head for ran in bench.store.task_runs(plan.run.id)] == [whole.head] * 2


@pytest.mark.databases("sqlite")
def test_trials_that_cannot_be_forked_are_refused(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    bench.write("b.yml", "task: {name: Work, environment: desk, task_item: {}, criteria: []}")
    bench.run("nop")
    with pytest.raises(InputError, match="has no turn 0; it has 4 turns"):
        fork(bench, "nop", turn=0)
    with pytest.raises(InputError, match="has no turn 5; it has 4 turns"):
        fork(bench, "nop", turn=5)
    with pytest.raises(InputError, match="is not a conversation: its agent worked on a task item"):
        fork(bench, "nop", task="Work", turn=1)
    with pytest.raises(UnknownRun, match="has no trial 2"):
        fork(bench, "nop", turn=1, trial=2)
    with pytest.raises(UnknownRun, match="unknown task"):
        fork(bench, "nop", task="rhubarb", turn=1)
    for row, data in bench.store._db.execute("SELECT id, data FROM log_segments").fetchall():
        bench.store._db.execute("UPDATE log_segments SET data = ? WHERE id = ?", (data.replace(b"two", b"too"), row))
    with pytest.raises(SealBroken, match=r"\(trial 1\): log"):
        fork(bench, "nop", turn=3)
    unseal(bench.store._db)
    with pytest.raises(InputError, match="is not the one that was graded"):
        fork(bench, "nop", turn=3)


@pytest.mark.databases("sqlite")
def test_fork_refuses_unstarted_trials_and_old_runs(bench: Workbench) -> None:
    bench.write("a.yml", DESK)
    bench.run_one("nop")
    unseal(bench.store._db)
    run = bench.store.run("latest")
    record = bench.store.task_runs(run.id)[0].model_copy(update={"events": 0, "error": "its process ended"})
    bench.store._db.execute("UPDATE task_runs SET record = ?", (record.model_dump_json(),))
    with pytest.raises(InputError, match=r"trial 1 of .* has no log"):
        fork(bench, "nop", turn=1)
    bench.store._db.execute("UPDATE runs SET record = ?", (run.model_copy(update={"plan": ""}).model_dump_json(),))
    with pytest.raises(InputError, match="was stored without a plan"):
        fork(bench, "nop", turn=1)
