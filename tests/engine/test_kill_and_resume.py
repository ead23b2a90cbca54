"""Runs that are killed at any time lose nothing and do nothing twice."""

import random
import signal
from pathlib import Path

import pytest

from clerkship.store.sqlite import SqliteStore
from tests.engine.killed_runs import ProcessControl, compare

KILLS = 50
TRIALS = 12
AGENT = "tests.engine.killable_process:Clerk"
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


def open_desk(folder: Path) -> ProcessControl:
    """Return the process of a suite with files and conversations."""
    return ProcessControl(folder, SUITE, AGENT, TRIALS)


@pytest.mark.slow
def test_runs_killed_fifty_times_and_resumed_equal_undisturbed_ones(tmp_path: Path) -> None:
    with open_desk(tmp_path / "a") as undisturbed, open_desk(tmp_path / "b") as disturbed:
        undisturbed.start("run")
        assert undisturbed.ended() == 0
        kills = runs = 0
        while kills < KILLS:
            runs += 1
            kills += run_with_kills(disturbed, runs, KILLS - kills)
            assert len(compare(undisturbed, disturbed)) == 8 * TRIALS
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
