"""Step 3: freeze the tasks, so that later changes to their files do not change the run; check the extras they need."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clerkship.actors.contract import Solver, takes_solution
from clerkship.actors.isolation.contract import LEVELS
from clerkship.by_name import load
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.extras import (
    TaskInEnvironment,
    build_extra_problems,
    find_needed_extras,
    warn_of_optional_extras,
)
from clerkship.engine.model_resolver import CassetteConfig, ModelNeeds, ModelRequest, find_model_needs
from clerkship.kit.command_option import words_of
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.run import BenchmarkRun, IsolationLevel, ModelOptions, Shard, to_metrics_scope
from clerkship.model.snapshot import Plan, Snapshot, UntilSure
from clerkship.model.usage import NO_LIMITS
from clerkship.service.isolating import find_task_files, get_solver_paths
from clerkship.service.planning.load import LoadedSuite
from clerkship.service.planning.options import parse_shard
from clerkship.service.planning.published import compare_with_published, refuse_recording, require_solutions
from clerkship.service.planning.request import RunRequest
from clerkship.service.planning.select import SelectedTasks
from clerkship.service.stored_runs import without_solution
from clerkship.settings import Settings
from clerkship.suite_files.calibration import find_calibration_file
from clerkship.suite_files.published.recordings import find_recordings
from clerkship.transports.network import LOCAL_NETWORK, SandboxNetwork
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy

if TYPE_CHECKING:
    from clerkship.engine.fork_point import ForkPoint

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
    if getattr(solver, "uses_protocols", False) and not solver.name.startswith(_SHIPPED_AGENTS):
        yield from warn_of_optional_extras(environments, catalog)


@dataclass(frozen=True, eq=False, repr=False)
class FrozenTasks:
    """Snapshots of tasks, with everything that decides which models they need and get."""

    snapshots: tuple[Snapshot, ...]
    datasets: Mapping[str, Dataset]
    needs: ModelNeeds
    settings: Settings
    request: ModelRequest
    cassettes: CassetteConfig
    _: KW_ONLY
    sources: Mapping[str, str] = field(default_factory=dict)
    """The file of each task by its name; empty if the tasks come from the store."""


@dataclass(frozen=True, eq=False, repr=False)
class FrozenRun(FrozenTasks):
    """Everything that a run consists of, except its models."""

    _: KW_ONLY
    plan: Plan
    catalog: RegisteredCatalog
    solver: Solver
    isolation: IsolationLevel | None
    concurrency: int
    record: Mapping[str, Any] = field(default_factory=dict)
    """Fields for the record of a new run: its name, path, options, origin."""
    shard: Shard | None = None
    """The part of the trials that is run; None for all of them."""
    resumed: BenchmarkRun | None = None
    """The record of the run, if it is resumed."""
    prefix: "ForkPoint | None" = None
    """The conversation that the run continues, if it is a fork."""
    calibrations: Path | None = None
    """The file with calibrations of judges."""
    warnings: tuple[InputProblem, ...] = ()
    domain: str | None = None
    """The domain that names in the files were checked against."""
    signature: str = ""
    """What is known of the signature, if the tasks are those of a published version."""
    skipped_files: Mapping[str, str] = field(default_factory=dict)
    """Files of the folder that were skipped, each with the reason."""
    known: frozenset[str] | None = None
    """The names of all tasks in the files; None if not all were loaded."""
    is_partial: bool = False
    """Whether only the selected tasks were checked."""
    hidden: tuple[Path, ...] = ()
    """Paths that an isolated agent must not see."""
    network: SandboxNetwork = LOCAL_NETWORK
    """Where the sandboxes listen."""
    outbound: OutboundPolicy = LOCAL_ONLY
    """The addresses that sandboxes may call."""


def freeze_tasks(selected: SelectedTasks) -> FrozenRun:
    """Freeze the selected tasks with their datasets, limits and prompts."""
    loaded, benchmark = selected.loaded, selected.benchmark
    request, settings, library = loaded.request, loaded.settings, loaded.library
    published, recordings = library.published, find_recordings(library.root)
    refuse_recording(library.root, request.tape)
    if takes_solution(loaded.solver):
        require_solutions(published)
    require_extras(selected.tasks, loaded.catalog)
    snapshots = _build_snapshots(selected)
    names = {name for task in selected.tasks for name in task.environment.datasets}
    concurrency = request.concurrency or (benchmark and benchmark.concurrency)
    return FrozenRun(
        snapshots,
        {name: library.datasets[name] for name in names},
        find_model_needs(snapshots, loaded.catalog),
        settings,
        ModelRequest(
            request.judge, request.person, _build_model_options(request, library.prompts), conftest=library.conftest
        ),
        CassetteConfig(recordings, request.trial_count, restarts_damaged=request.tape == "record"),
        sources={task.task.name: task.file for task in selected.tasks},
        plan=_build_plan(request, settings, snapshots),
        shard=None if request.shard is None else Shard(**parse_shard(request.shard)),
        catalog=loaded.catalog,
        solver=loaded.solver,
        isolation=loaded.isolation,
        concurrency=concurrency or settings.concurrency,
        record={
            "name": request.benchmark or (published.name if published is not None else request.path.resolve().name),
            "path": str(request.path),
            "options": words_of(replace(request, tasks=tuple(sorted(request.only))) if request.only else request),
            "concurrency": concurrency,
            "allow_ungraded": request.allow_ungraded or (published is not None and published.for_agents),
            **compare_with_published(library, snapshots),
        },
        calibrations=find_calibration_file(recordings),
        warnings=_collect_warnings(selected),
        domain=library.domain,
        signature=_describe_signature(loaded),
        skipped_files=library.skipped_files,
        known=None if library.is_partial else frozenset(library.tasks),
        is_partial=library.is_partial and published is None,
        hidden=_find_hidden_paths(loaded),
        outbound=request.outbound,
    )


def _describe_signature(loaded: LoadedSuite) -> str:
    published = loaded.library.published
    if published is None:
        return ""
    describe = load("clerkship.suite_files.published.signing:describe_signer")
    return str(describe(published.signed_by, loaded.settings))


def _build_snapshots(selected: SelectedTasks) -> tuple[Snapshot, ...]:
    loaded, benchmark = selected.loaded, selected.benchmark
    timeout = loaded.request.timeout or (benchmark and benchmark.timeout) or loaded.settings.timeout
    axes = benchmark.gate_axes if benchmark is not None else None
    snapshots = tuple(loaded.library.snapshot(task, timeout, axes) for task in selected.tasks)
    limit = getattr(loaded.solver, "time_limit", None)
    if limit is not None:
        snapshots = tuple(_limit_time(snapshot, limit) for snapshot in snapshots)
    return snapshots if takes_solution(loaded.solver) else tuple(map(without_solution, snapshots))


def _limit_time(snapshot: Snapshot, seconds: float) -> Snapshot:
    """Return a snapshot with other time limits, of the task and of each reply."""
    task = snapshot.task
    if task.scenario is not None and task.scenario.all_people:
        task = task.model_copy(update={"scenario": task.scenario.model_copy(update={"turn_timeout": seconds})})
    return snapshot.model_copy(update={"task": task, "timeout": seconds})


def _build_model_options(request: RunRequest, prompts: Mapping[str, str]) -> ModelOptions:
    return ModelOptions(
        prompts=dict(prompts),
        metrics=to_metrics_scope(request.metrics),
        votes=1 if request.votes is None else request.votes,
        checks_person=request.checks_person,
        tape=request.tape,
        tapes_agent=request.tapes_agent,
        max_tokens=request.max_tokens,
        model_timeout=request.model_timeout,
        limits=NO_LIMITS.with_others(request),
    )


def _build_plan(request: RunRequest, settings: Settings, snapshots: tuple[Snapshot, ...]) -> Plan:
    return Plan(
        snapshots=tuple(snapshot.hash for snapshot in snapshots),
        seed=settings.seed if request.seed is None else request.seed,
        trials=request.trial_count,
        until_sure=UntilSure(threshold=request.until_sure) if request.until_sure is not None else None,
        shuffle=request.shuffle,
    )


def _collect_warnings(selected: SelectedTasks) -> tuple[InputProblem, ...]:
    loaded, environments = selected.loaded, [task.environment for task in selected.tasks]
    missing = warn_of_missing_extras(loaded.solver, environments, loaded.catalog)
    return (*loaded.library.warnings_for(selected.tasks), *selected.warnings, *missing)


def _find_hidden_paths(loaded: LoadedSuite) -> tuple[Path, ...]:
    if loaded.isolation not in LEVELS:
        return ()
    library = loaded.library
    return find_task_files(library.root, library.files, loaded.settings, get_solver_paths(loaded.solver))
