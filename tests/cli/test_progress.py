"""The status text of a progress bar."""

import io
from typing import Any

from rich.console import Console

from clerkship.actors.python import PythonSolver
from clerkship.cli.progress import RunProgress
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench


def test_running_trials_are_counted_from_the_first(bench: Workbench) -> None:
    bench.write("hi.yml", "scenario: {name: Hi, simulation_context: Hi., setup: {person: {lines: [hi]}}}")
    seen: list[str] = []
    progress = RunProgress(Console(file=io.StringIO()), 2, quiet=True)

    def agent(message: Any) -> str:
        seen.append(progress.status_text())
        return "Hello."

    assert progress.status_text() == "starting"
    request = RunRequest(path=bench.folder, agent=PythonSolver("agent", agent), trials=2, concurrency=1)
    execute(plan_run(request, Settings(timeout=20), CATALOG), bench.store, CATALOG, [progress])
    assert seen[0] == "[quiet]1 running[/]"
    assert "running" not in progress.status_text()
    assert "ungraded[/] 2" in progress.status_text()
