"""Load a folder and check it: everything that can be known before a run, of the files and of the agent."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

from clerkship.actors.command import CommandSolver
from clerkship.actors.contract import Solver, SolverWithCapabilities, SolverWithPreflight
from clerkship.actors.isolation.contract import LEVELS
from clerkship.actors.python import PythonSolver
from clerkship.actors.python_process import PythonProcessSolver, to_process
from clerkship.engine.build import build_solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.library.calibration import find_calibration_file, load_calibrations
from clerkship.library.foreign import find_domain, read_domain
from clerkship.library.library import Library, LoadedTask
from clerkship.library.load import load_library
from clerkship.model.agent_domain import AgentCapabilities, AgentDomain
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.run import BenchmarkRun
from clerkship.service.isolating import isolate_import, level_of, task_files
from clerkship.service.planning.options import DomainPath, Option
from clerkship.settings import Settings, override

T = TypeVar("T")
AGENT_PROCESS = "--agent-process"
"""The option of a run whose Python agent has a process of its own, as runs are kept with it."""


@dataclass(frozen=True)
class Validation:
    """What a folder holds, or all that is wrong with it."""

    library: Library | None
    problems: tuple[InputProblem, ...]

    @property
    def warnings(self) -> tuple[InputProblem, ...]:
        """What is odd, and changes no exit code."""
        return self.library.warnings if self.library is not None else ()

    def exit_code(self) -> int:
        """The author's mistakes are neither a pass nor a fail."""
        return 2 if self.problems else 0


@dataclass(frozen=True, kw_only=True)
class ValidationRequest:
    """The files to check, and what to check them against."""

    path: Annotated[Path, Option(help="Folder of YAML files, or one file of it.")]
    domain: DomainPath = None
    agent: Annotated[
        str | Solver | None,
        Option(("--agent", "-a"), "An agent that can say what it knows, such as rasa:URL.", "WHO"),
    ] = None


def validate(request: ValidationRequest, settings: Settings, catalog: RegisteredCatalog) -> Validation:
    """Load it and see."""
    try:
        library, _ = load_checked(request.path, request.agent, settings, catalog, domain=request.domain)
        calibration = find_calibration_file(library.root)
        if calibration is not None:  # a run with a judge reads it
            load_calibrations(calibration)
    except InputError as error:
        return Validation(None, error.problems)
    file = request.path if request.path.is_file() else None
    tasks = library.select(file=file)
    warnings = (*library.warnings_for(tasks), *_ungraded(tasks))
    return Validation(replace(library, warnings=warnings), ())


def _ungraded(tasks: Iterable[LoadedTask]) -> Iterator[InputProblem]:
    """Warn about tasks with nothing to grade them by: their runs get no verdict, whatever the agent does."""
    for loaded in tasks:
        if not loaded.task.criteria:
            message = f"{loaded.task.name!r} has no criteria, so its runs are ungraded"
            yield InputProblem(file=loaded.file, line=loaded.line, column=loaded.column, message=message)


def load_checked(
    path: Path,
    agent: str | Solver | None,
    settings: Settings,
    catalog: RegisteredCatalog,
    *,
    domain: Path | None = None,
) -> tuple[Library, Solver | None]:
    """The library at a path, checked against what its agent knows: by the domain that is given, else by what the agent
    says of itself, else by the domain of the project around it. All that is wrong anywhere is said at once."""
    problems: list[InputProblem] = []
    solver = _tried(problems, lambda: None if agent is None else build_agent(agent, settings, catalog))
    _tried(problems, lambda: solver.preflight() if isinstance(solver, SolverWithPreflight) else None)
    hosted = solver if isinstance(solver, PythonProcessSolver) else None  # asked later, when it can be isolated
    capabilities = _tried(
        problems, lambda: solver.capabilities() if isinstance(solver, SolverWithCapabilities) and not hosted else None
    )
    names = capabilities.domain if capabilities is not None else None
    if domain is not None or names is None:
        names = _tried(problems, lambda: domain_for(path, domain))
    known = (capabilities or AgentCapabilities(engine="")).model_copy(update={"domain": names})
    try:
        library = load_library(path, catalog, capabilities=known, cache=settings.cache)
    except InputError as error:
        raise InputError([*error.problems, *problems]) from None
    if hosted is not None:
        capabilities = _tried(problems, lambda: _ask_isolated(hosted, library, settings))
        if capabilities is not None and capabilities.emits is not None:
            known = capabilities.model_copy(update={"domain": names})
            library = load_library(path, catalog, capabilities=known, cache=settings.cache)
    if problems:
        raise InputError(problems)
    return library, solver


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


def _ask_isolated(solver: PythonProcessSolver, library: Library, settings: Settings) -> AgentCapabilities:
    """Ask an agent about itself in a process that cannot see the files of the tasks."""
    level = level_of(solver, settings.isolate)
    if level in LEVELS:
        files = task_files(library.root, library.files, settings, solver.paths())
        isolate_import(solver, level, files, settings.store)
    return solver.capabilities()


def _tried(problems: list[InputProblem], work: Callable[[], T | None]) -> T | None:
    try:
        return work()
    except InputError as error:
        problems += error.problems
        return None


def domain_for(path: Path, given: Path | None = None) -> AgentDomain | None:
    """Return the given domain, or that of the project around a path; None if there is none."""
    file = given or find_domain(path)
    return read_domain(file) if file is not None else None
