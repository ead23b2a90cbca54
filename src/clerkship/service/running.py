"""Run tasks: load, freeze, execute, keep."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from clerkship import __version__
from clerkship.actors.contract import Solver
from clerkship.engine.batch import Batch
from clerkship.engine.build import build_solver, build_tasks, plugins_used
from clerkship.engine.catalog import Registered
from clerkship.engine.schedule import Schedule
from clerkship.engine.trial import Finished, Setting
from clerkship.faults.chaos import chaos
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.library.library import Library, LoadedTask
from clerkship.model.call import StepCall
from clerkship.model.dataset import Dataset
from clerkship.model.names import did_you_mean
from clerkship.model.plan import Plan, UntilSure
from clerkship.model.problem import InputError, Problem
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.scenario import Scenario
from clerkship.model.snapshot import GRADING, Snapshot
from clerkship.playground.gateway import Gateway
from clerkship.playground.listener import Listener
from clerkship.service.checking import load_checked
from clerkship.settings import Settings
from clerkship.store.contract import Hold, Store

Watch = Callable[[TaskRun], None]
LONGEST_TIMEOUT = 86_400


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What somebody wants run."""

    path: Path
    agent: str | Solver
    tasks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    benchmark: str | None = None
    trials: int = 1
    concurrency: int | None = None
    seed: int | None = None
    timeout: float | None = None
    shuffle: bool = False
    until_sure: float | None = None
    chaos: str | None = None
    domain: Path | None = None


@dataclass(frozen=True)
class RunPlan:
    """A request resolved and frozen: what will run, whatever happens to the files from here on."""

    run: BenchmarkRun
    plan: Plan
    snapshots: tuple[Snapshot, ...]
    datasets: Mapping[str, Dataset]
    solver: Solver
    concurrency: int
    warnings: tuple[Problem, ...] = ()
    domain: str | None = None
    """What the names in the files were checked against, if anything."""

    def expected(self) -> int | None:
        """How many trials there will be, where that is known."""
        return self.run.total if self.plan.until_sure is None else None

    def frozen(self) -> dict[str, bytes]:
        """All that must be kept for doing it again, by hash."""
        tasks = {part.hash: part.data for part in (self.plan, *self.snapshots)}
        return tasks | {dataset.hash: dataset.data for dataset in self.datasets.values()}


@dataclass(frozen=True)
class RunResult:
    """What came of a run."""

    run: BenchmarkRun
    counts: Counts

    def exit_code(self) -> int:
        """The design's table."""
        return self.run.exit_code(self.counts)


def plan_run(request: RunRequest, settings: Settings, catalog: Registered) -> RunPlan:
    """Load the files, pick the tasks, freeze them."""
    if request.trials < 1 or (request.concurrency or 1) < 1:
        raise InputError.of("trials and concurrency are at least 1")
    if request.timeout is not None and not 0 < request.timeout <= LONGEST_TIMEOUT:
        raise InputError.of(f"a timeout is more than 0 and at most {LONGEST_TIMEOUT} seconds")
    if request.seed is not None and not -(2**63) <= request.seed < 2**63:
        raise InputError.of("a seed is a whole number of 64 bits")
    if request.until_sure is not None and not 0 < request.until_sure < 1:
        raise InputError.of("the rate to be sure of lies between 0 and 1")
    solver = build_solver(request.agent, catalog, settings) if isinstance(request.agent, str) else request.agent
    library = load_checked(request.path, catalog, domain=request.domain, solver=solver)
    tasks, benchmark_timeout, benchmark_concurrency = _pick(library, request)
    timeout = request.timeout or benchmark_timeout or settings.timeout
    if request.chaos is not None:
        tasks = [_unsettled(loaded, chaos(request.chaos)) for loaded in tasks]
    snapshots = tuple(library.snapshot(loaded, timeout) for loaded in tasks)
    wanted = {name for loaded in tasks for name in loaded.environment.datasets}
    plan = Plan(
        snapshots=tuple(snapshot.hash for snapshot in snapshots),
        seed=settings.seed if request.seed is None else request.seed,
        trials=request.trials,
        until_sure=UntilSure(threshold=request.until_sure) if request.until_sure is not None else None,
        shuffle=request.shuffle,
    )
    run = new_run(
        plan,
        solver.name,
        name=request.benchmark or request.path.resolve().name,
        path=str(request.path),
        options=_options(request),
        plugins=plugins_used(snapshots, solver.name, catalog),
        concurrency=request.concurrency or benchmark_concurrency,
    )
    return RunPlan(
        run,
        plan,
        snapshots,
        {name: library.datasets[name] for name in wanted},
        solver,
        request.concurrency or benchmark_concurrency or settings.concurrency,
        library.warnings_of(tasks),
        library.domain,
    )


def new_run(plan: Plan, solver: str, **about: Any) -> BenchmarkRun:
    """The record of a run that begins now."""
    started = now()
    return BenchmarkRun(
        id=new_name(f"run-{started:%Y%m%d-%H%M%S}")[:-10],
        plan=plan.hash,
        solver=solver,
        seed=plan.seed,
        trials=plan.trials,
        until_sure=plan.until_sure.threshold if plan.until_sure else None,
        started_at=started.isoformat(),
        total=len(plan.snapshots) * plan.trials,
        grading=GRADING,
        clerkship=__version__,
        **about,
    )


def _unsettled(loaded: LoadedTask, faults: tuple[StepCall, ...]) -> LoadedTask:
    """The task with faults in front of its own steps."""
    scenario = loaded.task.scenario or Scenario()
    scenario = scenario.model_copy(update={"steps": (*faults, *scenario.steps)})
    return replace(loaded, task=loaded.task.model_copy(update={"scenario": scenario}))


def _options(request: RunRequest) -> tuple[str, ...]:
    """What else was asked for, as the command line says it: for doing it again."""
    pairs: list[tuple[str, object]] = [("--task", task) for task in request.tasks]
    pairs += [("--tag", tag) for tag in request.tags]
    pairs += [("--benchmark", request.benchmark), ("--timeout", request.timeout), ("--threshold", request.until_sure)]
    pairs += [("--chaos", request.chaos), ("--domain", request.domain)]
    flags = ("--until-sure",) if request.until_sure is not None else ()
    return flags + tuple(str(part) for pair in pairs if pair[1] is not None for part in pair)


def _pick(library: Library, request: RunRequest) -> tuple[list[LoadedTask], float | None, int | None]:
    file = request.path if request.path.is_file() else None
    if request.benchmark is None:
        tasks = library.select(names=request.tasks, tags=request.tags, file=file)
        timeout = concurrency = None
    else:
        if request.benchmark not in library.benchmarks:
            hint = did_you_mean(request.benchmark, library.benchmarks)
            raise InputError.of(f"no benchmark `{request.benchmark}`", hint=hint)
        benchmark = library.benchmarks[request.benchmark]
        inside = {loaded.task.name for loaded in library.select(names=benchmark.tasks, tags=benchmark.tags)}
        chosen = library.select(names=request.tasks, tags=request.tags, file=file)
        tasks = [loaded for loaded in chosen if loaded.task.name in inside]
        timeout, concurrency = benchmark.timeout, benchmark.concurrency
    if not tasks:
        tags = sorted({tag for loaded in library.tasks.values() for tag in loaded.task.tags})
        raise InputError.of("no task fits the selection", hint=f"tags here: {', '.join(tags) or 'none'}")
    return tasks, timeout, concurrency


def execute(plan: RunPlan, store: Store, catalog: Registered, watch: Iterable[Watch] = ()) -> RunResult:
    """Run a plan to its end, or until Ctrl-C; each finished trial is kept before anyone hears of it."""
    built = build_tasks(plan.snapshots, plan.datasets, catalog)
    with store.hold(plan.run.id) as hold:
        store.open_run(plan.run, plan.frozen())
        return carry_out(plan, Schedule(built, plan.plan, plan.run.id), store, hold, watch)


def carry_out(plan: RunPlan, schedule: Schedule, store: Store, hold: Hold, watch: Iterable[Watch] = ()) -> RunResult:
    """Do what is scheduled, in a run that is open and in hand."""
    watchers = tuple(watch)

    def save(finished: list[Finished]) -> None:
        store.save(finished)
        for item in finished:
            for tell in watchers:
                tell(item.task_run)

    gateway = Gateway()
    listener = Listener(gateway)
    setting = Setting(plan.solver, gateway, listener.url, hold.begin)
    batch = Batch(schedule.first(), setting, plan.concurrency, save, schedule.after)
    with batch.hearing_ctrl_c():
        try:
            batch.run()
        finally:
            listener.close()
        store.mark(plan.run.id, "cancelled" if batch.cancelled else "completed", _end_of(plan.run))
    return RunResult(store.run(plan.run.id), store.counts(plan.run.id))


def _end_of(run: BenchmarkRun) -> str:
    """Now, but not before its start: a machine's clock may be set back while it runs."""
    return max(now(), datetime.fromisoformat(run.started_at)).isoformat()
