"""Build the agent of a run, and check before the run that it can be used."""

from clerkship.actors.command import CommandSolver
from clerkship.actors.contract import Solver, SolverWithCapabilities, SolverWithPreflight
from clerkship.actors.http_bot import HttpBotSolver
from clerkship.actors.python import PythonSolver
from clerkship.actors.python_process import PythonProcessSolver, to_process
from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.bot_format import BotFormat
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun
from clerkship.settings import Settings, override_settings

AGENT_PROCESS = "--agent-process"
"""Stored in the options of a run whose Python agent has its own process."""


def build_agent(agent: str | Solver, settings: Settings, catalog: RegisteredCatalog) -> Solver:
    """Return the solver of a run, given a solver or a reference such as `python:module:name`.

    If the setting `agent_process` is on, a Python agent gets its own process. Raises InputError if the agent cannot
    be built, or cannot be imported by another process.
    """
    if isinstance(agent, str):
        return build_solver(agent, catalog, settings)
    return to_process(agent) if settings.agent_process == "on" and isinstance(agent, PythonSolver) else agent


def settings_of(run: BenchmarkRun, settings: Settings) -> Settings:
    """Return the settings for starting the agent of a stored run again."""
    process = "on" if AGENT_PROCESS in run.options else None
    limits = {"max_tokens": run.asking.max_tokens, "model_timeout": run.asking.model_timeout}
    return override_settings(settings, agent_process=process, **limits)


def options_with(solver: Solver, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options to store with a run: `--agent-process` is included if its agent has its own process."""
    others = tuple(option for option in options if option != AGENT_PROCESS)
    return (*others, AGENT_PROCESS) if isinstance(solver, PythonProcessSolver) else others


def get_bot_format(solver: Solver) -> BotFormat | None:
    """Return how requests to an agent are built, if it is a bot over HTTP with a format of its own."""
    return solver.format if isinstance(solver, HttpBotSolver) else None


def check_process(agent: str | Solver, catalog: RegisteredCatalog) -> None:
    """Raise InputError if `--agent-process` has no meaning for an agent.

    It is accepted for a program, which has its own process anyway.
    """
    if isinstance(agent, str):
        name, kind = agent, agent.partition(":")[0]
        # `build_solver` refuses an unknown kind with a better message.
        is_supported = kind in ("python", "command") or kind not in catalog.agents
    else:
        name, is_supported = agent.name, isinstance(agent, PythonSolver | PythonProcessSolver | CommandSolver)
    if not is_supported:
        hint = "leave the option out: it is for `python:module:name`"
        raise InputError.of(f"--agent-process: agent {name} cannot run in a process of its own", hint=hint)


def check_reachable(solver: Solver) -> None:
    """Raise InputError if an agent cannot be reached."""
    if isinstance(solver, SolverWithPreflight):
        solver.preflight()
    elif isinstance(solver, SolverWithCapabilities):
        solver.capabilities()  # it asks the agent, and so raises if the agent cannot be reached


def has_process(solver: Solver | None) -> bool:
    """Return whether an agent is a Python agent in its own process."""
    return isinstance(solver, PythonProcessSolver)
