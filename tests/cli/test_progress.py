"""The progress bar: its status text, the time that is left, and its width."""

import io
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from clerkship.actors.python import PythonSolver
from clerkship.cli.console import THEME
from clerkship.cli.progress import RunProgress
from clerkship.model.run import Attempt, TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench


def test_running_trials_are_counted_from_the_first(bench: Workbench) -> None:
    bench.write("hi.yml", "scenario: {name: Hi, simulation_context: Hi., setup: {person: {lines: [hi]}}}")
    seen: list[str] = []
    progress = RunProgress(Console(file=io.StringIO(), width=120), 2, quiet=True)

    def agent(message: Any) -> str:
        seen.append(progress.status_text())
        return "Hello."

    assert progress.status_text() == "starting"
    request = RunRequest(path=bench.folder, agent=PythonSolver("agent", agent), trials=2, concurrency=1)
    execute(plan_run(request, Settings(timeout=20), CATALOG), bench.store, CATALOG, [progress])
    assert seen[0] == "[quiet]1 running[/]"
    assert "running" not in progress.status_text()
    assert "ungraded[/] 2" in progress.status_text()


class TimedProgress(RunProgress):
    """A progress bar on a terminal of a given width, with a clock that the test sets."""

    def __init__(self, width: int, total: int | None) -> None:
        console = Console(file=io.StringIO(), width=width, force_terminal=True, theme=THEME)
        super().__init__(console, total)
        self.now = 0.0
        self._bar.get_time = lambda: self.now
        self._bar.tasks[0]._get_time = self._bar.get_time
        self._bar.start_task(self._task)
        self._bar.tasks[0].start_time = 0.0

    def draw(self) -> str:
        """Return the line as it is shown now."""
        text = io.StringIO()
        Console(file=text, width=self._console.width, theme=THEME).print(self._bar.get_renderable())
        return text.getvalue().rstrip("\n")


def finish(progress: RunProgress, name: Any, count: int) -> None:
    """Count finished trials with a verdict or a status."""
    record = {"run": "r", "task": "T", "ending": "agent_done", "head": "", "events": 0, "snapshot": ""}
    record |= {"status": name} if name in ("errored", "invalid_person") else {"status": "completed", "verdict": name}
    for _ in range(count):
        progress(TaskRun.model_validate(record))


def test_bar_has_an_eta_that_counts_down_and_follows_the_pace() -> None:
    progress = TimedProgress(80, 100)
    assert "ETA" not in progress.draw(), "nothing is known before the first trial is finished"
    progress.now = 30.0
    finish(progress, "pass", 10)
    assert "10/100 0:00:30 ETA 0:04:30" in progress.draw()
    progress.now = 40.0
    assert "ETA 0:04:20" in progress.draw(), "it does not grow while a trial runs"
    progress.now = 60.0
    finish(progress, "fail", 50)
    assert "ETA 0:00:40" in progress.draw()
    progress.now = 1000.0
    assert "ETA 0:00:00" in progress.draw()


def test_bar_without_a_known_number_of_trials_has_no_eta() -> None:
    progress = TimedProgress(80, None)
    progress.now = 10.0
    finish(progress, "pass", 2)
    assert "ETA" not in progress.draw()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_bar_fits_one_line(width: int) -> None:
    progress = TimedProgress(width, 5000)
    progress.now = 4000.0
    for name in ("fail", "errored", "invalid_person", "partial", "inconclusive", "ungraded", "pass"):
        finish(progress, name, 150)
    for number in range(1100):
        progress.trial_started(Attempt("T", number, 1))
    line = progress.draw()
    assert "\n" not in line
    assert cell_len(line) <= width
    if width >= 80:
        assert "1050/5000 1:06:40 ETA 4:10:48" in line


def test_outcomes_have_words_on_a_wide_terminal_and_marks_on_a_narrow_one() -> None:
    lines = []
    for width in (80, 160):
        progress = TimedProgress(width, 4)
        progress.now = 1.0
        finish(progress, "fail", 1)
        finish(progress, "pass", 2)
        lines.append(progress.draw())
    assert "✗ 1  ✓ 2" in lines[0]
    assert "✗ fail 1  ✓ pass 2" in lines[1]
