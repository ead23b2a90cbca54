"""Build the agent of a run, and ask it about itself."""

from clerkship.actors.command import CommandSolver
from clerkship.actors.contract import Solver, SolverWithCapabilities, SolverWithPreflight
from clerkship.actors.python import PythonSolver
from clerkship.actors.python_process import PythonProcessSolver, to_process
from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun
from clerkship.settings import Settings, override

AGENT_PROCESS = "--agent-process"
"""The option of a run whose Python agent has a process of its own, as runs are kept with it."""


def build_agent(agent: str | Solver, settings: Settings, catalog: RegisteredCatalog) -> Solver:
    """Return the solver that a run is given or names; a Python agent in its own process, where the settings say so.

    Raises InputError where it cannot be built, or cannot be imported by another process.
    """
    if isinstance(agent, str):
        return build_solver(agent, catalog, settings)
    return to_process(agent) if settings.agent_process == "on" and isinstance(agent, PythonSolver) else agent


def settings_of(run: BenchmarkRun, settings: Settings) -> Settings:
    """Return the settings with which the agent of a run that is kept is started again."""
    return override(settings, agent_process="on") if AGENT_PROCESS in run.options else settings


def options_with(solver: Solver, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options that a run is kept with: `--agent-process` among them if its agent has a process."""
    others = tuple(option for option in options if option != AGENT_PROCESS)
    return (*others, AGENT_PROCESS) if isinstance(solver, PythonProcessSolver) else others


def check_process(agent: str | Solver, catalog: RegisteredCatalog) -> None:
    """Raise InputError for an agent that `--agent-process` cannot give a process of its own."""
    if isinstance(agent, str):
        sort = agent.partition(":")[0]
        name, fits = agent, sort in ("python", "command") or sort not in catalog.agents  # that one is refused later
    else:
        name, fits = agent.name, isinstance(agent, PythonSolver | PythonProcessSolver | CommandSolver)
    if not fits:
        hint = "leave the option out: it is for `python:module:name`"
        raise InputError.of(f"--agent-process: agent {name} has no process to be put in", hint=hint)


def check_reachable(solver: Solver) -> None:
    """Raise InputError where an agent cannot be reached; one that can be asked about itself is asked."""
    if isinstance(solver, SolverWithPreflight):
        solver.preflight()
    elif isinstance(solver, SolverWithCapabilities):
        solver.capabilities()


def has_process(solver: Solver | None) -> bool:
    """Return whether an agent is a Python agent in a process of its own."""
    return isinstance(solver, PythonProcessSolver)
