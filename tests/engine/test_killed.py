"""Kill it anywhere: nothing is lost and nothing happens twice."""

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
from clerkship.service.reading import view_task
from clerkship.store.sqlite import SqliteStore
from tests.engine.killed import TRIALS

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


class Desk:
    """The warm process, and the means to kill what it starts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "suite").mkdir()
        (folder / "suite" / "tasks.yml").write_text(SUITE)
        self.ledger = folder / "ledger.txt"
        self.ledger.touch()
        self.path = folder / "store.db"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.killed", str(self.path), str(folder / "suite")],
            cwd=ROOT,
            env=os.environ | {"LEDGER": str(self.ledger)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, command: str) -> int:
        """Have it done; returns the pid."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return int(self._line())

    def ended(self) -> int:
        """Wait for the end of it; returns how it ended."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> Self:
        """At work."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send it home."""
        self._process.communicate()

    def kill(self, child: int, after: float, *, working: bool) -> None:
        """Kill it after a while; if so wished, not before its agents are at work."""
        size, until = self.ledger.stat().st_size, time.monotonic() + 5
        while working and self.ledger.stat().st_size == size and time.monotonic() < until:
            time.sleep(0.0005)
        time.sleep(after)  # the moment is the point here
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    def attempts(self) -> list[TaskRun]:
        """All attempts of the last run, read by somebody else."""
        with SqliteStore(self.path) as store:
            return store.task_runs(store.run("latest").id, attempts=True)

    def taken_down(self) -> Counter[str]:
        """How often each task was attempted, in all runs."""
        with SqliteStore(self.path) as store:
            return Counter(t.task for run, _ in store.runs() for t in store.task_runs(run.id, attempts=True))

    def called(self) -> Counter[str]:
        """How often an agent was called for each task, by the agent's own account."""
        return Counter(self.ledger.read_text().splitlines())


def what_matters(task_run: TaskRun) -> tuple[str, str | None, float | None, object]:
    """All of a trial that must not depend on how often it was killed."""
    return task_run.head, task_run.verdict, task_run.score, task_run.criteria


def test_fifty_kills_change_nothing(tmp_path: Path) -> None:
    with Desk(tmp_path / "a") as undisturbed, Desk(tmp_path / "b") as disturbed:
        undisturbed.start("run")
        assert undisturbed.ended() == 0
        kills = runs = 0
        while kills < KILLS:
            runs += 1
            kills += disturbed_run(disturbed, runs, KILLS - kills)
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


def disturbed_run(desk: Desk, number: int, most: int) -> int:
    """One run, killed and resumed until it is done or has been killed often enough; returns how often."""
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


def compare(undisturbed: Desk, disturbed: Desk) -> None:
    """Every trial once, as if nothing had been; every attempt taken down; every log whole."""
    expected = {(t.task, t.trial): what_matters(t) for t in undisturbed.attempts()}
    attempts = disturbed.attempts()
    finished = [t for t in attempts if t.status != "cancelled"]
    assert len(finished) == len(expected) == 8 * TRIALS
    assert {(t.task, t.trial): what_matters(t) for t in finished} == expected
    with SqliteStore(disturbed.path) as store:
        assert [t for t in store.task_runs(attempts[0].run) if t.status != "cancelled"] == finished
        assert store.counts(attempts[0].run).done == len(expected)
        assert all(view_task(store, t).intact for t in finished)
    numbers: dict[tuple[str, int], list[int]] = {}
    for t in attempts:
        numbers.setdefault((t.task, t.trial), []).append(t.attempt)
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
