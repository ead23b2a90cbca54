"""Load a folder, and check its files and the agent before a run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

from clerkship.actors.contract import Solver, SolverWithCapabilities, SolverWithPreflight, SolverWithProbe
from clerkship.actors.isolation.contract import Isolated
from clerkship.by_name import load
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.extras import build_extra_problems, find_needed_extras, warn_of_optional_extras
from clerkship.engine.stub_check import warn_of_stubs
from clerkship.kit.command_option import Option
from clerkship.model.agent_domain import AgentCapabilities, AgentDomain
from clerkship.model.errors import InputError, InputProblem
from clerkship.service.planning.options import DomainPath
from clerkship.settings import Settings
from clerkship.suite_files.calibration import find_calibration_file, load_calibrations
from clerkship.suite_files.datasets import ALL_TASKS, TaskSelection
from clerkship.suite_files.foreign import find_domain, read_domain
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.load import load_library
from clerkship.suite_files.published.recordings import find_recordings

T = TypeVar("T")


@dataclass(frozen=True)
class Validation:
    """The library of a folder, or the problems found in it."""

    library: Library | None
    problems: tuple[InputProblem, ...]
    skipped_files: Mapping[str, str]
    """Files that define nothing for the library, each with the reason."""
    warnings: tuple[InputProblem, ...] = ()
    """The warnings; they do not change the exit code. Beside mistakes, only those about skipped files."""

    def exit_code(self) -> int:
        """Return 2 if there are problems, because mistakes in files are neither a pass nor a fail; else 0."""
        return 2 if self.problems else 0


@dataclass(frozen=True, kw_only=True)
class ValidationRequest:
    """The files to check, and the agent and domain to check them against."""

    path: Annotated[Path, Option(help="Folder of YAML files, or one file of it.")]
    domain: DomainPath = None
    agent: Annotated[
        str | Solver | None,
        Option(("--agent", "-a"), "Also check against an agent that describes itself, such as rasa:URL.", "WHO"),
    ] = None


def validate(request: ValidationRequest, settings: Settings, catalog: RegisteredCatalog) -> Validation:
    """Load the files and return the problems and warnings."""
    try:
        library, solver = load_and_check(request.path, request.agent, settings, catalog, domain=request.domain)
        calibration = find_calibration_file(find_recordings(library.root))
        if calibration is not None:  # a run with a judge reads it
            load_calibrations(calibration)
    except InputError as error:
        return Validation(None, error.problems, error.skipped_files, error.warnings)
    problems = tuple(check_domains(library, catalog))
    if problems:
        return Validation(None, problems, library.skipped_files)
    file = request.path if request.path.is_file() else None
    tasks = library.select(file=file)
    needed = find_needed_extras(tasks, catalog)
    warnings = (
        *library.warnings_for(tasks),
        *_probe_agent(solver),
        *_warn_ungraded(tasks),
        *warn_of_stubs(tasks, solver),
        *build_extra_problems(needed),
        *warn_of_optional_extras((loaded.environment for loaded in tasks), catalog, needed),
    )
    return Validation(replace(library, warnings=warnings), (), library.skipped_files, warnings)


def check_domains(library: Library, catalog: RegisteredCatalog) -> Iterator[InputProblem]:
    """Yield mistakes in the configs of domains that only the records of the datasets show, such as unknown members."""
    for environment in library.environments.values():
        prepare = load("clerkship.engine.build:prepare_domains") if environment.domains else None
        for name, prepared in (prepare(environment, library.datasets, catalog) if prepare else {}).items():
            try:
                prepared.new_state()
            except InputError as error:
                for problem in error.problems:
                    message = f"environment {environment.name}, domain {name}: {problem.message}"
                    yield replace(problem, file=problem.file or str(library.root), message=message)


def _probe_agent(solver: Solver | None) -> Iterator[InputProblem]:
    """Warn about what an agent cannot do, such as calling tools, if it can be tried out."""
    problem = solver.probe() if isinstance(solver, SolverWithProbe) else ""
    if problem:
        yield InputProblem(message=f"agent {getattr(solver, 'name', '')}: {problem}")


def _warn_ungraded(tasks: Iterable[LoadedTask]) -> Iterator[InputProblem]:
    """Warn about tasks without criteria: their runs get no verdict."""
    for loaded in tasks:
        if not loaded.task.criteria:
            message = f"{loaded.task.name!r} has no criteria, so its runs are ungraded"
            yield InputProblem(file=loaded.file, line=loaded.line, column=loaded.column, message=message)


def load_and_check(  # noqa: PLR0913  (the last three are named options)
    path: Path,
    agent: str | Solver | None,
    settings: Settings,
    catalog: RegisteredCatalog,
    *,
    domain: Path | None = None,
    tasks: TaskSelection = ALL_TASKS,
    replays: bool = False,
) -> tuple[Library, Solver | None]:
    """Load the library at a path, and check it against the domain and the capabilities of its agent.

    With the names of tasks, mistakes in files that these do not need are one warning. If the agent is isolated, all
    tasks are loaded, with their variants: it must not see the files of any. The domain is the one given, else the
    agent's own, else that of the project. A replay does not reach a model that is the agent. Raise InputError with all
    problems at once.
    """
    problems: list[InputProblem] = []
    agents = load("clerkship.engine.build") if agent is not None else None  # imported only if there is an agent
    solver: Solver | None = _collect_problems(
        problems, lambda: agents.build_agent(agent, settings, catalog) if agents else None
    )
    skips = replays and (hasattr(solver, "model_account") or getattr(solver, "needs_no_key_in_replay", False))
    if isinstance(solver, SolverWithPreflight) and not skips:
        _collect_problems(problems, solver.preflight)
    hosted = solver if agents and agents.has_process(solver) else None  # its capabilities are read later, isolated
    capabilities = _collect_problems(
        problems, lambda: solver.capabilities() if isinstance(solver, SolverWithCapabilities) and not hosted else None
    )
    names = capabilities.domain if capabilities is not None else None
    if domain is not None or names is None:
        names = _collect_problems(problems, lambda: load_domain(path, domain))
    known = (capabilities or AgentCapabilities(engine="")).model_copy(update={"domain": names})
    if settings.isolate != "never" and isinstance(solver, Isolated):
        tasks = replace(tasks, is_exclusive=False, has_variants=True)
    read = partial(load_library, path, catalog, tasks=tasks, cache=settings.cache)
    try:
        library = read(capabilities=known)
    except InputError as error:
        raise InputError([*error.problems, *problems], error.skipped_files, error.warnings) from None
    if hosted is not None:
        capabilities = _collect_problems(
            problems, lambda: load("clerkship.service.isolating:read_isolated_capabilities")(hosted, library, settings)
        )
        if capabilities is not None and capabilities.emits is not None:
            known = capabilities.model_copy(update={"domain": names})
            library = read(capabilities=known)
    if problems:
        raise InputError(problems)
    return library, solver


def _collect_problems(problems: list[InputProblem], work: Callable[[], T | None]) -> T | None:
    try:
        return work()
    except InputError as error:
        problems += error.problems
        return None


def load_domain(path: Path, given: Path | None = None) -> AgentDomain | None:
    """Return the given domain, else that of the project around a path, else None."""
    file = given or find_domain(path)
    return read_domain(file) if file is not None else None
