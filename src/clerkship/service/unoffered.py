"""Check before a run which extras are missing: those that tasks need, and those that an agent could use."""

from collections.abc import Iterable, Iterator

from clerkship.actors.command import CommandSolver
from clerkship.actors.contract import Solver
from clerkship.actors.python import PythonSolver
from clerkship.actors.webhook import WebhookSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.extras import (
    TaskInEnvironment,
    build_extra_problems,
    find_needed_extras,
    warn_of_optional_extras,
)
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError, InputProblem

_SHIPPED_AGENTS = "python:clerkship."


def require_extras(tasks: Iterable[TaskInEnvironment], catalog: RegisteredCatalog) -> None:
    """Raise InputError if an extra is not installed without which a task cannot be done."""
    needed = find_needed_extras(tasks, catalog)
    if needed:
        raise InputError(build_extra_problems(needed))


def warn_of_missing_extras(
    solver: Solver, environments: Iterable[Environment], catalog: RegisteredCatalog
) -> Iterator[InputProblem]:
    """Yield warnings for an agent of the user that may use any protocol: a program, a webhook, Python code."""
    is_shipped = solver.name.startswith(_SHIPPED_AGENTS)
    if isinstance(solver, CommandSolver | WebhookSolver | PythonSolver) and not is_shipped:
        yield from warn_of_optional_extras(environments, catalog)
