"""Run tasks: load, freeze, execute, keep."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from clerkship import __version__
from clerkship.actors.contract import Solver
from clerkship.engine.batch import Batch
from clerkship.engine.build import build_solver, build_task
from clerkship.engine.catalog import Registered
from clerkship.engine.trial import Finished, Job, Setting
from clerkship.kit.rng import shuffled
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.library.library import Library, LoadedTask
from clerkship.library.load import load
from clerkship.model.dataset import Dataset
from clerkship.model.names import did_you_mean
from clerkship.model.problem import InputError
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.snapshot import GRADING, Snapshot
from clerkship.playground.gateway import Gateway
from clerkship.playground.listener import Listener
from clerkship.settings import Settings
from clerkship.store.contract import Store

Watch = Callable[[TaskRun], None]


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


@dataclass(frozen=True)
class RunPlan:
    """A request resolved and frozen: what will run, whatever happens to the files from here on."""

    run: BenchmarkRun
    snapshots: tuple[Snapshot, ...]
    datasets: Mapping[str, Dataset]
    solver: Solver
    concurrency: int
    shuffle: bool


@dataclass(frozen=True)
class RunResult:
    """What came of a run."""

    run: BenchmarkRun
    counts: Counts

    def exit_code(self) -> int:
        """The design's table."""
        return 130 if self.run.status == "cancelled" else self.counts.exit_code()


def plan_run(request: RunRequest, settings: Settings, catalog: Registered) -> RunPlan:
    """Load the files, pick the tasks, freeze them."""
    if request.trials < 1 or (request.concurrency or 1) < 1:
        raise InputError.of("trials and concurrency are at least 1")
    library = load(request.path, catalog)
    solver = build_solver(request.agent, catalog, settings) if isinstance(request.agent, str) else request.agent
    tasks, benchmark_timeout, benchmark_concurrency = _pick(library, request)
    timeout = request.timeout or benchmark_timeout or settings.timeout
    snapshots = tuple(library.snapshot(loaded, timeout) for loaded in tasks)
    wanted = {name for loaded in tasks for name in loaded.environment.datasets}
    started = now()
    run = BenchmarkRun(
        id=new_name(f"run-{started:%Y%m%d-%H%M%S}")[:-10],
        name=request.benchmark or request.path.resolve().name,
        path=str(request.path),
        options=_options(request),
        solver=solver.name,
        seed=settings.seed if request.seed is None else request.seed,
        trials=request.trials,
        started_at=started.isoformat(),
        total=len(snapshots) * request.trials,
        grading=GRADING,
        clerkship=__version__,
    )
    return RunPlan(
        run,
        snapshots,
        {name: library.datasets[name] for name in wanted},
        solver,
        request.concurrency or benchmark_concurrency or settings.concurrency,
        request.shuffle,
    )


def _options(request: RunRequest) -> tuple[str, ...]:
    """What else was asked for, as the command line says it: for doing it again."""
    pairs: list[tuple[str, object]] = [("--task", task) for task in request.tasks]
    pairs += [("--tag", tag) for tag in request.tags]
    pairs += [("--benchmark", request.benchmark), ("--timeout", request.timeout)]
    return tuple(str(part) for pair in pairs if pair[1] is not None for part in pair)


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
    built = [build_task(snapshot, plan.datasets, catalog) for snapshot in plan.snapshots]
    jobs = [Job(task, plan.run.id, plan.run.seed, trial) for trial in range(1, plan.run.trials + 1) for task in built]
    store.open_run(
        plan.run,
        {snapshot.hash: snapshot.data for snapshot in plan.snapshots},
        {data.hash: orjson.dumps(data.content(), option=orjson.OPT_SORT_KEYS) for data in plan.datasets.values()},
    )
    watchers = tuple(watch)

    def save(finished: list[Finished]) -> None:
        store.save(finished)
        for item in finished:
            for tell in watchers:
                tell(item.task_run)

    gateway = Gateway()
    listener = Listener(gateway)
    setting = Setting(plan.solver, gateway, listener.url)
    batch = Batch(shuffled(jobs, plan.run.seed) if plan.shuffle else jobs, setting, plan.concurrency, save)
    with batch.hearing_ctrl_c():
        try:
            batch.run()
        finally:
            listener.close()
        store.end_run(plan.run.id, "cancelled" if batch.cancelled else "completed", now().isoformat())
    return RunResult(store.run(plan.run.id), store.counts(plan.run.id))
