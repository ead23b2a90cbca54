"""Going on with a conversation that a workbench has kept."""

from typing import Any

from clerkship.actors.python import PythonSolver
from clerkship.model.run import TaskRun
from clerkship.service.fork import plan_fork
from clerkship.service.planning.fork_request import ForkRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench


def fork(bench: Workbench, agent: Any = None, **how: Any) -> TaskRun:
    """Go on with the task called `Keep notes`, or with the one that is named; the first of the new trials."""
    solver = PythonSolver("agent", agent) if isinstance(agent, type) else agent
    request = ForkRequest(**{"run": "latest", "task": "notes", "agent": solver, **how})
    plan = plan_fork(bench.store, request, CATALOG, Settings(timeout=20))
    bench.result = execute(plan, bench.store, CATALOG)
    return bench.store.task_runs(plan.run.id)[0]
