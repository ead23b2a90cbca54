"""Runs that are killed at any time lose nothing and do nothing twice."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Self

from clerkship.model.run import TaskRun
from clerkship.service.task_view import load_task_view
from clerkship.store.sqlite import SqliteStore
from tests.engine.killable_process import TRIALS
from tests.waiting import wait_until

KILLS = 50
ROOT = Path(__file__).parents[2]
SUITE = """
environment: {name: desk, simulators: {drop: {kind: files}, chat: {kind: chat}}}
tasks:
""" + "".join(
    f"""
  - name: File {n}
    task_item: {{name: File {n}}}
    criteria: [{{label: filed, assertion: {{file_present: second.txt}}}}]
  - name: Talk {n}
    task_item: {{name: Talk {n}}}
    scenario:
      starts: person
      person: {{opening: Hello, fallback: And then?, end: {{after: 3}}}}
    criteria: [{{label: heard, assertion: {{bot_uttered: {{text_matches: And then}}}}}}]
"""
    for n in range(4)
)


class ProcessControl:
    """The preloaded process, and methods to start and kill its children."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "suite").mkdir()
        (folder / "suite" / "tasks.yml").write_text(SUITE)
        self.ledger = folder / "ledger.txt"
        self.ledger.touch()
        self.path = folder / "store.db"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.killable_process", str(self.path), str(folder / "suite")],
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
        self._process.communicate()

    def kill(self, child: int, after: float, *, working: bool) -> None:
        """Kill a child after a while; with `working`, not before its agents are at work."""
        size = self.ledger.stat().st_size
        if working:
            with contextlib.suppress(AssertionError):  # a resumed run may have no agent left to call
                wait_until(lambda: self.ledger.stat().st_size != size, within=5)
        time.sleep(after)  # the kill must come at any moment
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


def test_runs_killed_fifty_times_and_resumed_equal_undisturbed_ones(tmp_path: Path) -> None:
    with ProcessControl(tmp_path / "a") as undisturbed, ProcessControl(tmp_path / "b") as disturbed:
        undisturbed.start("run")
        assert undisturbed.ended() == 0
        kills = runs = 0
        while kills < KILLS:
            runs += 1
            kills += run_with_kills(disturbed, runs, KILLS - kills)
            compare(undisturbed, disturbed)
        called, taken_down = disturbed.called(), disturbed.taken_down()
        cut_short = sum(taken_down.values()) - runs * 8 * TRIALS
        assert cut_short > KILLS  # most kills strike several trials under way
        assert all(called[task] <= taken_down[task] for task in called)
        assert sum(taken_down.values()) - sum(called.values()) < cut_short / 2  # few die before they are called
        disturbed.start("run")
        assert disturbed.ended() == 0
        compare(undisturbed, disturbed)
    assert not list(tmp_path.rglob("*.journal"))


def run_with_kills(desk: ProcessControl, number: int, most: int) -> int:
    """Kill and resume a run until it is done or was killed often enough; return how often."""
    moments = random.Random(number)
    command, kills = "run", 0
    while True:
        child = desk.start(command)
        if kills < most:
            desk.kill(child, moments.uniform(0, 0.03), working=moments.random() < 0.8)
        code = desk.ended()
        assert code in (0, -signal.SIGKILL)
        kills += code != 0
        with SqliteStore(desk.path) as store:
            known = store.runs()
        if len(known) == number and known[0][0].status == "active":
            command = f"resume {known[0][0].id}"
        elif len(known) == number:
            return kills


def compare(undisturbed: ProcessControl, disturbed: ProcessControl) -> None:
    """Check that every trial is there once with the same result, and every attempt is recorded with a complete log."""
    expected = {(t.task, t.trial): comparable_fields(t) for t in undisturbed.attempts()}
    attempts = disturbed.attempts()
    finished = [t for t in attempts if t.status != "cancelled"]
    assert len(finished) == len(expected) == 8 * TRIALS
    assert {(t.task, t.trial): comparable_fields(t) for t in finished} == expected
    with SqliteStore(disturbed.path) as store:
        assert [t for t in store.task_runs(attempts[0].run) if t.status != "cancelled"] == finished
        assert store.counts(attempts[0].run).done == len(expected)
        assert all(load_task_view(store, t).intact for t in finished)
    numbers: dict[tuple[str, int], list[int]] = {}
    for t in attempts:
        numbers.setdefault((t.task, t.trial), []).append(t.attempt)
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
