"""Time limits without pauses of the process, and repetition of trials that timed out from overload."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from clerkship.engine.spec import MAX_GAP_SECONDS, OVERLOADED, OverloadCounter, ProcessorLoad, Watchdog, is_overloaded
from tests.processes import start_process
from tests.waiting import wait_until
from tests.workbench import Workbench

TASK = """
    task:
      name: Compute {number}
      timeout: {timeout}
      criteria: [{{label: answers, assertion: {{answer_matches: 42}}}}]
"""
NEEDED = 0.1
"""Processor seconds that an agent needs."""
AGENTS = 12
"""Enough to need more than the limit together, though the limit is ten times what one needs."""
LIMIT = NEEDED * 10


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_time_passes_while_the_process_runs() -> None:
    clock = Time()
    watchdog = Watchdog(clock, lambda: 0.0)
    for _ in range(100):
        clock.now += 0.1
        watchdog.beat()
    assert watchdog.time() == pytest.approx(110)


def test_pause_of_the_process_does_not_count_as_agent_time() -> None:
    clock = Time()
    watchdog = Watchdog(clock, lambda: 0.0)
    clock.now += 3600
    assert watchdog.time() == pytest.approx(100 + MAX_GAP_SECONDS)  # before the watchdog has noticed
    watchdog.beat()
    assert watchdog.time() == pytest.approx(100 + MAX_GAP_SECONDS)
    clock.now += 0.1
    assert watchdog.time() == pytest.approx(100.1 + MAX_GAP_SECONDS)


def test_processor_time_counts_as_agent_time() -> None:
    clock, processor = Time(), Time()
    watchdog = Watchdog(clock, processor)
    clock.now += 15
    processor.now += 15
    assert watchdog.time() == pytest.approx(115)
    watchdog.beat()
    assert watchdog.time() == pytest.approx(115)


def test_agent_that_holds_the_interpreter_lock_gets_no_extra_time(bench: Workbench) -> None:
    def holds(task_item: Any) -> int:
        assert sum(range(2 * 10**7)) > 0  # one call in C that lets nobody else run
        return 42

    bench.write("task.yml", TASK.format(number=1, timeout=0.2))
    assert bench.run_one(holds).status == "timed_out"


def test_overload_is_several_computing_threads_or_more_agents_than_cores() -> None:
    cores = os.cpu_count() or 1
    assert not is_overloaded(
        [ProcessorLoad(thread=True, program=False), *[ProcessorLoad(thread=False, program=False)] * 7]
    )
    assert is_overloaded([ProcessorLoad(thread=True, program=False)] * 2)
    assert not is_overloaded([ProcessorLoad(thread=False, program=True)] * cores)
    assert is_overloaded([ProcessorLoad(thread=False, program=True)] * (cores + 1))


def test_trial_is_overloaded_if_a_third_of_its_checks_were() -> None:
    overload = OverloadCounter()
    assert not overload.is_significant
    for crowded in (False, False, False, True):
        overload.record(crowded)
    assert not overload.is_significant
    overload.record(True)
    assert overload.is_significant


def computes(task_item: Any) -> int:
    until = time.thread_time() + NEEDED
    while time.thread_time() < until:
        pass
    return 42


def write_tasks(bench: Workbench, timeout: float) -> None:
    for number in range(AGENTS):
        bench.write(f"task{number}.yml", TASK.format(number=number, timeout=timeout))


@pytest.mark.parametrize("concurrency", [1, AGENTS])
def test_agents_that_compute_get_the_same_verdicts_at_any_concurrency(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, concurrency: int
) -> None:
    # Processor time, since wall time also passes while other programs compute.
    monkeypatch.setattr(Watchdog, "__init__", partialmethod(Watchdog.__init__, time.process_time))
    write_tasks(bench, LIMIT)
    assert {t.verdict for t in bench.run(computes, concurrency=concurrency)} == {"pass"}
    assert bench.exit_code() == 0


def test_timeout_during_overload_is_stored_as_cancelled_attempt(bench: Workbench) -> None:
    write_tasks(bench, NEEDED * 3)
    bench.run(computes, concurrency=AGENTS)
    assert bench.result is not None
    attempts = bench.store.task_runs(bench.result.run.id, attempts=True)
    repeated = [t for t in attempts if t.attempt == 1 and t.error == OVERLOADED]
    assert repeated
    assert {(t.status, t.verdict) for t in repeated} == {("cancelled", None)}


def test_endless_agent_fails_after_its_repetition(bench: Workbench) -> None:
    def spins(task_item: Any) -> None:
        while True:
            pass

    for number in range(2):
        bench.write(f"task{number}.yml", TASK.format(number=number, timeout=0.5))
    runs = bench.run(spins, concurrency=2)
    assert {(t.status, t.verdict) for t in runs} == {("timed_out", "fail")}
    assert bench.exit_code() == 1


def test_agents_that_wait_are_not_repeated(bench: Workbench) -> None:
    async def waits(task_item: Any) -> None:
        await asyncio.Event().wait()

    for number in range(4):
        bench.write(f"task{number}.yml", TASK.format(number=number, timeout=0.5))
    assert {t.attempt for t in bench.run(waits, concurrency=4)} == {1}


AGENT = """
import pathlib, threading

def agent(task_item):
    pathlib.Path("started").touch()
    threading.Event().wait(1.0)
    return 42
"""


@pytest.mark.slow
def test_stopped_process_does_not_time_out(tmp_path: Path) -> None:
    (tmp_path / "task.yml").write_text(TASK.format(number=1, timeout=3).replace("\n    ", "\n"), encoding="utf-8")
    (tmp_path / "waits.py").write_text(AGENT, encoding="utf-8")
    command = [sys.executable, "-m", "clerkship", "run", "task.yml", "--agent", "python:waits:agent", "--store", "s.db"]
    with start_process(command, cwd=tmp_path, stdout=subprocess.PIPE) as process:
        wait_until(lambda: (tmp_path / "started").exists() or process.poll() is not None)
        assert process.poll() is None
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(5)
        process.send_signal(signal.SIGCONT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
