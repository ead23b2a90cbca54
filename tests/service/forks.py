"""Fork a conversation of a workbench."""

from dataclasses import replace
from typing import Any

from clerkship.actors.python import PythonSolver
from clerkship.model.run import TaskRun
from clerkship.service.fork import plan_fork
from clerkship.service.planning.request import ForkRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench

NO_SETTINGS = Settings()


def fork(bench: Workbench, agent: Any = None, settings: Settings = NO_SETTINGS, **how: Any) -> TaskRun:
    """Fork the task `Keep notes`, or the named one; return the first new trial."""
    solver = PythonSolver("agent", agent) if isinstance(agent, type) else agent
    request = ForkRequest(**{"run": "latest", "task": "notes", "agent": solver, **how})
    plan = plan_fork(bench.store, request, CATALOG, replace(settings, timeout=20))
    bench.result = execute(plan, bench.store, CATALOG)
    return bench.store.task_runs(plan.run.id)[0]
