"""Agents that raise, hang, or hand back nonsense: their own outcome, and nobody else's."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clerkship.kit.wall import monotonic
from tests.workbench import Workbench

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
    """Blocks its thread; no exception reaches it."""
    threading.Event().wait(60)
    return "bye"


def spins(message: Any) -> str:
    """Computes without end."""
    while True:
        pass


async def awaits(message: Any) -> str:
    """Waits as asyncio means it."""
    await asyncio.sleep(3600)
    return "bye"


async def clings(message: Any) -> str:
    """Will not be cancelled."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


@pytest.mark.parametrize("agent", [sleeps, spins, awaits, clings])
def test_a_hanging_agent_times_out_and_holds_up_nobody_else(bench: Workbench, agent: Callable[..., Any]) -> None:
    def first_hangs(message: Any) -> Any:
        return agent(message) if message.task_item == {"hang": True} else "bye"

    bench.write("a.yml", TASK.format(timeout=0.3) + "      task_item: {hang: true}\n")
    for number in range(5):
        bench.write(f"b{number}.yml", TASK.format(timeout=20).replace("name: Talk", f"name: Talk {number}"))
    began = monotonic()
    task_runs = bench.run(first_hangs, concurrency=1)
    assert {t.task: (t.status, t.verdict) for t in task_runs} == {
        "Talk": ("timed_out", "fail"),
        **{f"Talk {number}": ("completed", "pass") for number in range(5)},
    }
    assert monotonic() - began < 8


def test_after_its_time_an_abandoned_agent_can_change_nothing(bench: Workbench) -> None:
    released, gone = threading.Event(), threading.Event()
    found: list[str] = []

    def comes_back(task_item: Any, sandboxes: Any) -> int:
        with contextlib.suppress(BaseException):  # deaf to being stopped, too
            released.wait(30)
        try:
            sandboxes["chat"].say("am I still here?")
        except Exception as error:
            found.append(str(error))
        gone.set()
        return 42

    bench.write("a.yml", WORK.format(timeout=0.2))
    task_run = bench.run_one(comes_back)
    assert task_run.status == "timed_out"
    before = bench.store.log(task_run)
    released.set()
    assert gone.wait(10)
    assert "404" in found[0]
    assert bench.store.log(task_run) == before


def raises(task_item: Any) -> None:
    """Fails as programs do."""
    raise ValueError("no")


def exits(task_item: Any) -> None:
    """Tries to take the process with it."""
    sys.exit(3)


def returns_object(task_item: Any) -> Any:
    """Answers what JSON cannot say."""
    return object()


def returns_too_much(task_item: Any) -> str:
    """Answers 100 MB."""
    return "x" * 100_000_000


def returns_cycle(task_item: Any) -> Any:
    """Answers something that contains itself."""
    answer: list[Any] = []
    answer.append(answer)
    return answer


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (raises, "ValueError: no"),
        (exits, "SystemExit: 3"),
        (returns_object, "cannot be written as JSON"),
        (returns_too_much, "100,000,000 characters"),
        (returns_cycle, "cannot be written as JSON"),
    ],
)
def test_nonsense_is_the_agents_error_and_the_run_is_complete(
    bench: Workbench, agent: Callable[..., Any], said: str
) -> None:
    bench.write("a.yml", WORK.format(timeout=20))
    task_run = bench.run_one(agent)
    assert (task_run.status, task_run.verdict, task_run.ending) == ("completed", "fail", "agent_failed")
    assert said in task_run.agent_error


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (5, "on_turn returned int"),
        ({"no": "text"}, "on_turn returned dict"),
        ("x" * 100_000_000, "100,000,000 characters"),
        (["ok"] * 1000, "1000 replies"),
        ([{"text": "hi", "buttons": [1]}], "buttons must be maps"),
    ],
)
def test_a_reply_that_is_none_is_the_agents_error(bench: Workbench, reply: Any, said: str) -> None:
    def replies(message: Any) -> Any:
        return reply

    bench.write("a.yml", TASK.format(timeout=20))
    task_run = bench.run_one(replies)
    assert (task_run.status, task_run.ending) == ("completed", "agent_failed")
    assert said in task_run.agent_error


def test_text_that_is_not_unicode_is_kept_as_far_as_it_goes(bench: Workbench) -> None:
    def half_a_pair(message: Any) -> str:
        return "bye \ud83d"

    bench.write("a.yml", TASK.format(timeout=20))
    task_run = bench.run_one(half_a_pair)
    assert task_run.verdict == "pass"
    assert "bye ?" in [event["payload"].get("text") for event in bench.events(task_run)]


def test_an_agent_that_cannot_be_made_is_its_own_error(bench: Workbench) -> None:
    class Unmakeable:
        def __init__(self) -> None:
            raise OSError("no model file")

        def on_task(self, task_item: Any) -> int:
            return 42

    bench.write("a.yml", WORK.format(timeout=20))
    task_run = bench.run_one(Unmakeable)
    assert (task_run.status, task_run.verdict) == ("completed", "fail")
    assert "OSError: no model file" in task_run.agent_error


def test_what_an_agent_leaves_running_ends_with_its_trial(bench: Workbench) -> None:
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


def test_silence_and_the_turn_limit_are_called_what_they_are(bench: Workbench) -> None:
    def silent(message: Any) -> None:
        return None

    def chatters(message: Any) -> str:
        return "and another thing"

    bench.write("a.yml", TASK.format(timeout=20))
    assert bench.run_one(silent).ending == "agent_silent"
    chatty = bench.run_one(chatters)
    assert chatty.ending == "turn_limit"
    assert bench.kinds(chatty).count("chat.message.sent") == 11
