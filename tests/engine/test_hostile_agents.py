"""Agents that raise, hang or return nonsense affect only their own trial."""

import asyncio
import contextlib
import contextvars
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from clerkship.actors.contract import AgentError
from clerkship.actors.python import PythonSolver
from clerkship.engine.batch import TrialBatch
from clerkship.engine.build import build_task
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec
from clerkship.events.agent import SlotSet
from clerkship.llm.retry import ModelOutage
from clerkship.model.errors import PlatformError
from clerkship.playground.gateway import Gateway
from clerkship.sandbox.handle import Refused
from clerkship.sandbox.request import Request
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.settings import Settings
from tests.workbench import Workbench, written

TASK = """
    task:
      name: Talk
      timeout: {timeout}
      scenario:
        starts: person
        person: {{opening: Hello, end: {{when: bye}}, fallback: Go on}}
        max_turns: 5
      criteria:
        - {{label: says bye, assertion: {{bot_uttered: {{text_matches: bye}}}}}}
"""
WORK = """
    task:
      name: Work
      timeout: {timeout}
      criteria:
        - {{label: answers, assertion: {{answer_matches: 42}}}}
"""


def sleeps(message: Any) -> str:
    threading.Event().wait(60)
    return "bye"


def spins(message: Any) -> str:
    while True:
        pass


async def awaits(message: Any) -> str:
    await asyncio.sleep(3600)
    return "bye"


async def refuses_cancellation(message: Any) -> str:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize("agent", [sleeps, spins, awaits, refuses_cancellation])
def test_hanging_agent_times_out_and_does_not_delay_others(bench: Workbench, agent: Callable[..., Any]) -> None:
    def first_hangs(message: Any) -> Any:
        return agent(message) if message.task_item == {"hang": True} else "bye"

    bench.write("a.yml", TASK.format(timeout=0.3) + "      task_item: {hang: true}\n")
    for number in range(5):
        bench.write(f"b{number}.yml", TASK.format(timeout=20).replace("name: Talk", f"name: Talk {number}"))
    task_runs = bench.run(first_hangs, concurrency=1)
    assert {t.task: (t.status, t.verdict) for t in task_runs} == {
        "Talk": ("timed_out", "fail"),
        **{f"Talk {number}": ("completed", "pass") for number in range(5)},
    }


def test_abandoned_agent_can_change_nothing(bench: Workbench) -> None:
    released, gone = threading.Event(), threading.Event()
    results: list[str] = []

    def comes_back(task_item: Any, sandboxes: Any) -> int:
        with contextlib.suppress(BaseException):  # deaf to being stopped, too
            released.wait(30)
        try:
            sandboxes["chat"].say("am I still here?")
        except Exception as error:
            results.append(str(error))
        gone.set()
        return 42

    bench.write("a.yml", WORK.format(timeout=0.2))
    task_run = bench.run_one(comes_back)
    assert task_run.status == "timed_out"
    before = list(bench.store.log(task_run))
    released.set()
    assert gone.wait(10)
    assert "404" in results[0]
    assert list(bench.store.log(task_run)) == before


def raises(task_item: Any) -> None:
    raise ValueError("no")


def raises_platform_error(task_item: Any) -> None:
    raise PlatformError("not my fault")


def raises_model_outage(task_item: Any) -> None:
    raise ModelOutage("not my fault")


def moves_to_the_end_of_time(task_item: Any, sandboxes: Any) -> None:
    for _ in range(100):
        sandboxes.wait("36500d")


class Indescribable(Exception):
    """An exception whose description exits the process."""

    def __str__(self) -> str:
        raise SystemExit(0)


def raises_what_cannot_be_described(task_item: Any) -> None:
    raise Indescribable


class BareError(AgentError):
    """An AgentError without the usual attributes."""

    def __init__(self) -> None:
        Exception.__init__(self, "bare")


def raises_a_bare_error(task_item: Any) -> None:
    raise BareError


async def exits_later(task_item: Any) -> None:
    await asyncio.sleep(0)
    sys.exit(3)


def moves_back_in_time(task_item: Any, sandboxes: Any) -> None:
    sandboxes.wait(timedelta(days=-800_000))


def sends_nonsense(task_item: Any, sandboxes: Any) -> None:
    sandboxes["chat"].send_as_is(Request("GET", 5))  # type: ignore[arg-type]


def sends_lone_surrogate(task_item: Any, sandboxes: Any) -> None:
    sandboxes["chat"].send_as_is(Request("GET", "/\ud800"))


def recurses(task_item: Any, sandboxes: Any) -> None:
    sandboxes["chat"].request("GET", "/messages")
    recurses(task_item, sandboxes)


def exits(task_item: Any) -> None:
    sys.exit(3)


def returns_object(task_item: Any) -> Any:
    return object()


def returns_too_much(task_item: Any) -> str:
    return "x" * 100_000_000


def returns_cycle(task_item: Any) -> Any:
    answer: list[Any] = []
    answer.append(answer)
    return answer


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (raises, "ValueError: no"),
        (exits, "SystemExit: 3"),
        (exits_later, "SystemExit: 3"),
        (raises_what_cannot_be_described, "Indescribable"),
        (raises_a_bare_error, "bare"),
        (moves_back_in_time, "not negative"),
        (sends_nonsense, "`path` must be text, not int"),
        (sends_lone_surrogate, "UnicodeEncodeError"),
        (recurses, "RecursionError"),
        (raises_platform_error, "PlatformError: not my fault"),
        (raises_model_outage, "ModelOutage: not my fault"),
        (moves_to_the_end_of_time, "simulated time runs at most 3,660 days ahead of its start"),
        (returns_object, "cannot be written as JSON"),
        (returns_too_much, "100,000,000 characters"),
        (returns_cycle, "cannot be written as JSON"),
    ],
)
def test_invalid_answers_are_the_agents_error_and_the_run_completes(
    bench: Workbench, agent: Callable[..., Any], said: str
) -> None:
    bench.write("a.yml", WORK.format(timeout=20))
    task_run = bench.run_one(agent)
    assert (task_run.status, task_run.verdict, task_run.ending) == ("completed", "fail", "agent_failed")
    assert said in task_run.agent_error


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (5, "it returned int"),
        ({"no": "text"}, "it returned dict"),
        (lambda: "x" * 100_000_000, "100,000,000 characters"),
        ([{"text": "hi", "buttons": [1]}], "buttons must be maps"),
    ],
)
def test_invalid_reply_is_the_agents_error(bench: Workbench, reply: Any, said: str) -> None:
    def replies(message: Any) -> Any:
        return reply() if callable(reply) else reply

    bench.write("a.yml", TASK.format(timeout=20))
    task_run = bench.run_one(replies)
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert said in task_run.agent_error


def test_invalid_unicode_is_stored_as_far_as_possible(bench: Workbench) -> None:
    def half_a_pair(message: Any) -> str:
        return "bye \ud83d"

    bench.write("a.yml", TASK.format(timeout=20))
    task_run = bench.run_one(half_a_pair)
    assert task_run.verdict == "pass"
    assert "bye ?" in [event["payload"].get("text") for event in bench.events(task_run)]


def test_agent_that_cannot_be_built_is_its_own_error(bench: Workbench) -> None:
    class Unmakeable:
        def __init__(self) -> None:
            raise OSError("no model file")

        def on_task(self, task_item: Any) -> int:
            return 42

    bench.write("a.yml", WORK.format(timeout=20))
    task_run = bench.run_one(Unmakeable)
    assert (task_run.status, task_run.verdict) == ("completed", "fail")
    assert "OSError: no model file" in task_run.agent_error


def test_tasks_of_an_agent_are_cancelled_with_its_trial(bench: Workbench) -> None:
    cancelled: list[bool] = []

    async def leaves_a_task(task_item: Any) -> int:
        async def linger() -> None:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.append(True)
                raise

        leaves_a_task.kept = asyncio.create_task(linger())  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        return 42

    bench.write("a.yml", WORK.format(timeout=20))
    assert [t.verdict for t in bench.run(leaves_a_task, trials=2, concurrency=1)] == ["pass", "pass"]
    assert cancelled == [True, True]


def test_silence_and_turn_limit_are_separate_endings(bench: Workbench) -> None:
    def silent(message: Any) -> None:
        return None

    def chatters(message: Any) -> str:
        return "and another thing"

    bench.write("a.yml", TASK.format(timeout=20))
    assert bench.run_one(silent).ending == "agent_silent"
    chatty = bench.run_one(chatters)
    assert chatty.ending == "turn_limit"
    assert bench.kinds(chatty).count("chat.message.sent") == 11


class StrangeException(BaseException):
    """An exception that is not an Exception."""


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt("x"), GeneratorExit("x"), StrangeException("x"), SystemExit(3), asyncio.CancelledError("mine")],
)
def test_any_exception_of_an_agent_is_its_own_failure(bench: Workbench, error: BaseException) -> None:
    def raises_it(task_item: Any) -> None:
        raise error

    class RaisesInTheMaking:
        def __init__(self) -> None:
            raise error

        def on_task(self, task_item: Any) -> int:
            return 42

    bench.write("a.yml", WORK.format(timeout=20))
    for agent in (raises_it, RaisesInTheMaking):
        task_run = bench.run_one(agent)
        assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
        assert type(error).__name__ in task_run.agent_error
        assert "(test_hostile_agents.py:" in task_run.agent_error
        assert b"Traceback" in bench.store.sidecar(task_run)


def test_sync_agent_may_run_its_own_event_loop(bench: Workbench) -> None:
    def wraps_async(task_item: Any) -> int:
        async def work() -> int:
            await asyncio.sleep(0)
            return 42

        return asyncio.run(work())

    bench.write("a.yml", WORK.format(timeout=20))
    assert [t.verdict for t in bench.run(wraps_async, trials=2, concurrency=1)] == ["pass", "pass"]


def test_changes_to_the_task_item_do_not_reach_the_next_trial(bench: Workbench) -> None:
    def spoils(task_item: Any) -> int:
        task_item["list"].append(1)
        return len(task_item["list"])

    def spoils_by_turn(message: Any) -> str:
        message.task_item["list"].append(1)
        return f"bye {len(message.task_item['list'])}"

    bench.write("a.yml", WORK.format(timeout=20) + "      task_item: {list: []}\n")
    assert [t.answer for t in bench.run(spoils, trials=3, concurrency=1)] == [1, 1, 1]
    bench.write("a.yml", TASK.format(timeout=20) + "      task_item: {list: []}\n")
    heads = {len(bench.events(t)) for t in bench.run(spoils_by_turn, trials=3, concurrency=1)}
    assert len(heads) == 1


def test_context_variables_of_an_agent_end_with_it(bench: Workbench) -> None:
    count: contextvars.ContextVar[int] = contextvars.ContextVar("count", default=41)

    async def counts(task_item: Any) -> int:
        count.set(count.get() + 1)
        return count.get()

    def counts_too(task_item: Any) -> int:
        count.set(count.get() + 1)
        return count.get()

    bench.write("a.yml", WORK.format(timeout=20))
    for agent in (counts, counts_too):
        assert [t.answer for t in bench.run(agent, trials=3, concurrency=1)] == [42, 42, 42]


def test_agent_that_returns_after_the_timeout_is_timed_out(bench: Workbench) -> None:
    def comes_late(task_item: Any) -> int:
        threading.Event().wait(0.25)
        return 42

    bench.write("a.yml", WORK.format(timeout=0.2))
    assert {t.status for t in bench.run(comes_late, trials=4)} == {"timed_out"}


def test_wrong_argument_types_are_the_agents_error(bench: Workbench) -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda drop: drop.write("a.json", {"x": 1}),
        lambda drop: drop.list(None),
        lambda drop: drop.request("GET", "/files", query={"prefix": 3}),
        lambda drop: drop.read("\ud83d"),
    ]
    bench.write("a.yml", "environment: {name: d, simulators: {drop: {kind: files}}}\ntask: {name: A}")
    for call in calls:

        def mistaken(task_item: Any, sandboxes: Any, call: Callable[[Any], Any] = call) -> None:
            call(sandboxes["drop"])

        task_run = bench.run_one(mistaken)
        assert (task_run.status, task_run.error) == ("completed", "")
        assert "Error" in task_run.agent_error


@pytest.mark.parametrize("reply", [{"text": "a", "buttons": 5}, {"text": "a", "utter_name": 5}, float("nan")])
def test_reply_of_the_wrong_type_is_the_agents_error(bench: Workbench, reply: Any) -> None:
    def replies(message: Any) -> Any:
        return reply

    bench.write("a.yml", TASK.format(timeout=20))
    task_run = bench.run_one(replies)
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")


def test_number_that_json_cannot_represent_is_refused(bench: Workbench) -> None:
    def answers(task_item: Any) -> Any:
        return {"value": [1.0, float("inf")]}

    bench.write("a.yml", WORK.format(timeout=20))
    assert "JSON cannot say" in bench.run_one(answers).agent_error


def test_runaway_agent_is_stopped_by_the_limit_of_the_log(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", 100)

    def runs_away(task_item: Any, sandboxes: Any) -> list[int]:
        results = []
        for _ in range(300):
            try:
                sandboxes["drop"].list()
                results.append(200)
            except Refused as refused:
                results.append(refused.reply.status)
        return sorted(set(results))

    bench.write("a.yml", "environment: {name: d, simulators: {drop: {kind: files}}}\ntask: {name: A}")
    task_run = bench.run_one(runs_away)
    assert task_run.answer == [200, 429]
    assert task_run.events < 120


def reports_forever(task_item: Any, sandboxes: Any) -> int:
    for number in range(3000):
        sandboxes.report(SlotSet(name=f"slot {number}", value="x" * 1000))
    return 42


def reports_forever_and_catches(task_item: Any, sandboxes: Any) -> int:
    for number in range(3000):
        with contextlib.suppress(Exception):
            sandboxes.report(SlotSet(name=f"slot {number}", value="x" * 1000))
    return 42


@pytest.mark.parametrize("agent", [reports_forever, reports_forever_and_catches])
@pytest.mark.parametrize(("name", "limit"), [("MAX_EVENTS", 100), ("MAX_LOG_BYTES", 100_000)])
def test_reports_count_towards_the_limits_of_the_log(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, agent: Callable[..., Any], name: str, limit: int
) -> None:
    monkeypatch.setattr(f"clerkship.events.log.{name}", limit)
    bench.write("a.yml", WORK.format(timeout=20))
    task_run = bench.run_one(agent)
    assert (task_run.status, task_run.verdict, task_run.ending) == ("completed", "fail", "agent_failed")
    assert "the log of the trial is full" in task_run.agent_error
    assert task_run.events < 120
    assert sum(map(len, bench.store.log(task_run))) < 150_000


@pytest.mark.parametrize(
    "reply",
    [
        [{"kind": "agent.slot.set", "name": f"slot {number}", "value": 1} for number in range(200)],
        ["and another thing"] * 90 + [{"kind": "agent.slot.set", "name": "a", "value": 1}] * 90,
    ],
)
def test_events_and_messages_of_turns_count_towards_the_limits_of_the_log(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, reply: Any
) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", 100)

    def replies(message: Any) -> Any:
        return reply

    bench.write("a.yml", TASK.format(timeout=20))
    task_run = bench.run_one(replies)
    assert (task_run.status, task_run.verdict, task_run.ending) == ("completed", "fail", "agent_failed")
    assert "the log of the trial is full" in task_run.agent_error
    assert task_run.events < 120


def test_computing_agent_stops_when_cancelled(bench: Workbench) -> None:
    ended = threading.Event()

    def spins_until_stopped(task_item: Any) -> None:
        batches[0].stop()
        try:
            while True:
                pass
        finally:
            ended.set()

    bench.write("a.yml", WORK.format(timeout=60))
    catalog = RegisteredCatalog()
    solver = PythonSolver("spins", spins_until_stopped)
    plan = plan_run(RunRequest(path=bench.folder, agent=solver), Settings(), catalog)
    built = build_task(plan.snapshots[0], {}, catalog)
    stored: list[FinishedTrial] = []
    setting = BatchContext(solver, Gateway(), lambda: "")
    batches = [TrialBatch([TrialSpec(built, "run", 0)], setting, 1, stored.extend)]
    batches[0].run()
    assert ended.wait(5)
    assert [item.task_run.status for item in stored] == ["cancelled"]
    assert [criterion.status for criterion in written(stored[0].task_run)] == ["judged"]


def test_no_more_trials_start_when_results_cannot_be_saved(bench: Workbench) -> None:
    begun: list[int] = []

    def counts(task_item: Any) -> int:
        begun.append(1)
        return 42

    bench.write("a.yml", WORK.format(timeout=60))
    catalog = RegisteredCatalog()
    solver = PythonSolver("counts", counts)
    plan = plan_run(RunRequest(path=bench.folder, agent=solver), Settings(), catalog)
    built = build_task(plan.snapshots[0], {}, catalog)

    def disk_full(finished: list[FinishedTrial]) -> None:
        raise OSError("disk full")

    jobs = [TrialSpec(built, "run", 0, trial) for trial in range(5000)]
    with pytest.raises(OSError, match="disk full"):
        TrialBatch(jobs, BatchContext(solver, Gateway(), lambda: ""), 4, disk_full).run()
    assert len(begun) < 1000


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def answers_deeply(task_item: Any) -> Any:
    return nested(220)


def reports_deeply(task_item: Any, sandboxes: Any) -> int:
    sandboxes.report(SlotSet(name="a", value=nested(220)))
    return 42


@pytest.mark.parametrize(
    ("agent", "what"),
    [
        (answers_deeply, "its answer is nested more than 64 levels deep"),
        (reports_deeply, "its report is nested more than 64 levels deep"),
    ],
)
def test_too_deeply_nested_answer_is_the_agents_error(bench: Workbench, agent: Callable[..., Any], what: str) -> None:
    bench.write("a.yml", WORK.format(timeout=20))
    task_run = bench.run_one(agent)
    assert (task_run.status, task_run.verdict, task_run.ending) == ("completed", "fail", "agent_failed")
    assert what in task_run.agent_error


@pytest.mark.parametrize(
    "reply",
    [
        {"text": "bye", "custom": {"a": nested(220)}},
        {"text": "bye", "buttons": [{"a": nested(220)}]},
        {"kind": "agent.slot.set", "name": "a", "value": nested(220)},
        {"kind": "agent.slot.set", "name": "a", "value": nested(300)},
        SlotSet(name="a", value=nested(900)),
    ],
)
def test_too_deeply_nested_turn_is_the_agents_error(bench: Workbench, reply: Any) -> None:
    def replies(message: Any) -> Any:
        return [reply]

    bench.write("a.yml", TASK.format(timeout=20))
    task_run = bench.run_one(replies)
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")


def test_answer_with_64_levels_is_stored_and_read(bench: Workbench) -> None:
    def answers(task_item: Any) -> Any:
        return nested(64)

    bench.write("a.yml", WORK.format(timeout=20))
    assert bench.run_one(answers).answer == nested(64)


def test_evidence_is_cut_at_the_same_depth(bench: Workbench) -> None:
    def answers_text(task_item: Any) -> str:
        return "[" * 220 + "]" * 220

    bench.write("a.yml", WORK.format(timeout=20))
    task_run = bench.run_one(answers_text)
    actual = written(task_run)[0].evidence[0].actual
    for _ in range(64):
        [actual] = actual
    assert actual == "(nested deeper than 64 levels)"


def test_too_deeply_nested_posted_message_is_refused(bench: Workbench) -> None:
    def posts(task_item: Any, sandboxes: Any) -> int:
        body = b'{"text": "hi", "buttons": [{"a": ' + b"[" * 300 + b"]" * 300 + b"}]}"
        with pytest.raises(Refused) as refused:
            sandboxes["chat"].request("POST", "/messages", body=body)
        return int(refused.value.reply.status)

    bench.write("a.yml", "environment: {name: d, simulators: {chat: {kind: chat}}}\ntask: {name: A}")
    task_run = bench.run_one(posts)
    assert (task_run.status, task_run.answer) == ("completed", 422)
