"""Runs in a process that is killed, and the comparison with runs that are not."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import yaml

from clerkship.model.run import TaskRun
from clerkship.service.task_view import load_task_view
from clerkship.store.sqlite import SqliteStore
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]


class ProcessControl:
    """The preloaded process, and methods to start and kill its children."""

    def __init__(self, folder: Path, suite: str, agent: str, trials: int) -> None:
        folder.mkdir()
        (folder / "suite").mkdir()
        (folder / "suite" / "tasks.yml").write_text(suite)
        self.ledger = folder / "ledger.txt"
        self.ledger.touch()
        self.path = folder / "store.db"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.killable_process", self.path, folder / "suite", agent, str(trials)],
            cwd=ROOT,
            env=os.environ | {"LEDGER": str(self.ledger)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, command: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return int(self._line())

    def ended(self) -> int:
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate(timeout=60)
        finally:
            self._process.kill()

    def kill(self, child: int, after: float, *, working: bool) -> None:
        """Kill a child after a while; with `working`, not before its agents are at work."""
        size = self.ledger.stat().st_size
        if working:
            with contextlib.suppress(AssertionError):  # a resumed run may have no agent left to call
                wait_until(lambda: self.ledger.stat().st_size != size, within=5)
        time.sleep(after)  # the kill must come at any moment
        self.kill_now(child)

    def kill_now(self, child: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    def attempts(self) -> list[TaskRun]:
        with SqliteStore(self.path) as store:
            return store.task_runs(store.run("latest").id, attempts=True)

    def taken_down(self) -> Counter[str]:
        with SqliteStore(self.path) as store:
            return Counter(t.task for run, _ in store.runs() for t in store.task_runs(run.id, attempts=True))

    def called(self) -> Counter[str]:
        return Counter(self.ledger.read_text().splitlines())


def comparable_fields(task_run: TaskRun) -> tuple[str, str | None, float | None, object]:
    """Return everything of a trial that must not depend on how often it was killed."""
    return task_run.head, task_run.verdict, task_run.score, task_run.criteria


def compare(undisturbed: ProcessControl, disturbed: ProcessControl) -> list[TaskRun]:
    """Check that every trial is there once with the same result, and every attempt is recorded with a complete log.

    Return the finished trials.
    """
    expected = {(t.task, t.trial): comparable_fields(t) for t in undisturbed.attempts()}
    attempts = disturbed.attempts()
    finished = [t for t in attempts if t.status != "cancelled"]
    assert len(finished) == len(expected)
    assert {(t.task, t.trial): comparable_fields(t) for t in finished} == expected
    with SqliteStore(disturbed.path) as store:
        assert [t for t in store.task_runs(attempts[0].run) if t.status != "cancelled"] == finished
        assert store.counts(attempts[0].run).done == len(expected)
        assert all(load_task_view(store, t).intact for t in finished)
    numbers: dict[tuple[str, int], list[int]] = {}
    for t in attempts:
        numbers.setdefault((t.task, t.trial), []).append(t.attempt)
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
    return finished


class KilledRun(NamedTuple):
    """A run that was killed and resumed until it was finished."""

    path: Path
    """Its store."""
    trials: list[TaskRun]


@contextlib.contextmanager
def killed_run(folder: Path, suite: str, agent: str, kills: int, trials: int) -> Iterator[KilledRun]:
    """Kill and resume a run of two tasks whose agent is a HeldAgent, and yield it.

    Checks that they pass, and equal those of a run that was not killed. The first task is held at each kill, and the
    second goes on.
    """
    held, other = (task["name"] for task in yaml.safe_load(suite)["tasks"])
    undisturbed = ProcessControl(folder / "undisturbed", suite, agent, trials)
    disturbed = ProcessControl(folder / "killed", suite, agent, trials)
    with undisturbed, disturbed:
        undisturbed.start("run")
        assert undisturbed.ended() == 0
        hold, command = disturbed.ledger.with_name(held), "run"
        hold.touch()
        for _ in range(kills):
            before = disturbed.called()[f"under way {held}"]
            child = disturbed.start(command)
            wait_until(partial(_is_under_way, disturbed, before, held, other))
            disturbed.kill_now(child)
            assert disturbed.ended() == -signal.SIGKILL
            with SqliteStore(disturbed.path) as store:
                command = f"resume {store.run('latest').id}"
        hold.unlink()
        disturbed.start(command)
        assert disturbed.ended() == 0
        finished = compare(undisturbed, disturbed)
        assert [(trial.status, trial.verdict) for trial in finished] == [("completed", "pass")] * 2 * trials
        assert len(disturbed.attempts()) > len(finished)  # the trials that were killed are listed
        yield KilledRun(disturbed.path, finished)


def _is_under_way(disturbed: ProcessControl, before: int, held: str, other: str) -> bool:
    called = disturbed.called()
    return called[f"under way {held}"] > before and called[f"over {other}"] > 0
