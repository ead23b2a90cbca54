"""Run tasks: load, freeze, execute, keep."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from clerkship import __version__
from clerkship.actors.contract import AgentError, Solver, takes_solution
from clerkship.actors.isolation.choice import LEVELS
from clerkship.engine.batch import Batch
from clerkship.engine.build import BuiltTask, build_tasks, plugins_used
from clerkship.engine.catalog import Registered
from clerkship.engine.finished import Finished
from clerkship.engine.fork_point import ForkPoint
from clerkship.engine.model_resolver import (
    CassetteConfig,
    ModelRequest,
    missing_models,
    missing_person,
    needs_of,
    resolve_agent,
    resolve_models,
)
from clerkship.engine.models import ALONE, ModelSelection
from clerkship.engine.schedule import Schedule
from clerkship.engine.spec import BatchContext
from clerkship.faults.chaos import chaos
from clerkship.kit.descriptors import check_limit, fitting_agents
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.library.calibration import beside, load_calibrations
from clerkship.library.library import Library, LoadedTask
from clerkship.model.benchmark import Benchmark
from clerkship.model.calibration import Calibration, JudgeIdentity, nearest
from clerkship.model.dataset import Dataset
from clerkship.model.model_choice import NOBODY
from clerkship.model.names import did_you_mean
from clerkship.model.plan import Plan, UntilSure
from clerkship.model.problem import InputError, Problem
from clerkship.model.run import Asking, Attempt, BenchmarkRun, Counts, IsolationMode, Tape, TaskRun
from clerkship.model.scenario import Scenario
from clerkship.model.seals import SealCheck
from clerkship.model.snapshot import GRADING, Snapshot
from clerkship.model.votes import MOST_VOTES
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.listeners import ListenerPool
from clerkship.recording.session import RecordingReport
from clerkship.service.checking import check_process, load_checked, options_with
from clerkship.service.frozen import without_solution
from clerkship.service.isolating import isolated, level_of, paths_of, task_files
from clerkship.service.replays import as_replayed, free_name
from clerkship.service.sealing import check_again, end_run
from clerkship.service.unoffered import warnings_for
from clerkship.settings import Settings, isolating, with_agent_process
from clerkship.store.contract import Hold, Store
from clerkship.store.seal import Ledger
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy

Watch = Callable[[TaskRun], None]
LONGEST_TIMEOUT = 86_400
MOST_TURNS = 10_000


@runtime_checkable
class WatchesBeginnings(Protocol):
    """A watch that is told of trials as they begin, too; in the threads that do them."""

    def began(self, attempt: Attempt) -> None:
        """One is under way."""


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
    compat: Literal["rasa"] | None = None
    max_turns: int | None = None
    turn_timeout: float | None = None
    domain: Path | None = None
    judge: str | None = None
    """Who judges what no rule decides; `none` to skip it."""
    person: str | None = None
    """Who plays people that are not scripted."""
    metrics: bool = False
    """Whether conversations are rated besides, by the judge."""
    votes: int = 1
    """How often the judge is asked about each criterion that does not say."""
    checks_person: bool = False
    """Whether the judge looks at how the person was played."""
    tape: Tape | None = None
    """Whether what models answer is taken down, or taken from what was."""
    tapes_agent: bool = False
    """Whether what the agent answers is taken down too."""
    allow_ungraded: bool = False
    """Whether the run may succeed though none of its criteria was judged."""
    isolate: IsolationMode | None = None
    """Whether a program is isolated; as the settings say if not given."""
    agent_process: bool = False
    """Whether an agent written in Python has a process of its own in each trial."""
    outbound: OutboundPolicy = LOCAL_ONLY
    """Which addresses sandboxes may call agents at."""


@dataclass(frozen=True)
class RunPlan:
    """A request resolved and frozen: what will run, whatever happens to the files from here on."""

    run: BenchmarkRun
    plan: Plan
    snapshots: tuple[Snapshot, ...]
    datasets: Mapping[str, Dataset]
    solver: Solver
    concurrency: int
    models: ModelSelection = ALONE
    warnings: tuple[Problem, ...] = ()
    domain: str | None = None
    """What the names in the files were checked against, if anything."""
    known: frozenset[str] | None = None
    """Every task there is in its files, where they were read."""
    prefix: ForkPoint | None = None
    """The conversation it goes on with, if it does."""
    files: tuple[Path, ...] = ()
    """What tells about its tasks, and is hidden from an agent that is isolated."""
    outbound: OutboundPolicy = LOCAL_ONLY
    """Which addresses sandboxes may call agents at."""

    def build(self, catalog: Registered) -> list[BuiltTask]:
        """Its tasks with their names resolved; one that goes on with a conversation, with that."""
        built = build_tasks(self.snapshots, self.datasets, catalog)
        return built if self.prefix is None else [replace(task, fork_point=self.prefix) for task in built]

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
    tape: RecordingReport | None = None
    """What was recorded, or replayed."""
    unplaced: dict[str, Any] | None = None
    """Requests that named no trial under way: how many, and the first of them. Not kept in the store."""
    seals: SealCheck | None = None
    """Whether the store still had, at the end, what was saved during the run."""
    ledger: Ledger | None = None
    """The seals of what was saved, to check the store again."""
    notes: tuple[str, ...] = ()
    """What could not be checked of the run that this one was made from."""

    def checked_again(self, store: Store) -> "RunResult":
        """Check the store once more, right before its contents are shown."""
        if self.ledger is None or self.seals is None:
            return self
        return replace(self, seals=check_again(store, self.ledger, self.seals))

    def exit_code(self) -> int:
        """Return the code of the design's table; 2 if the store was changed or a recording could not be written."""
        code = self.run.exit_code(self.counts)
        if self.seals is not None and self.seals.is_changed:
            return 2
        return 2 if self.tape is not None and self.tape.failed and code in (0, 1) else code


def _check_limits(request: RunRequest) -> None:
    """Raise InputError where a number or a name in a request cannot be."""
    if request.trials < 1 or (request.concurrency or 1) < 1:
        raise InputError.of("trials and concurrency are at least 1")
    if request.timeout is not None and not 0 < request.timeout <= LONGEST_TIMEOUT:
        raise InputError.of(f"a timeout is more than 0 and at most {LONGEST_TIMEOUT} seconds")
    if request.turn_timeout is not None and not 0 < request.turn_timeout <= LONGEST_TIMEOUT:
        raise InputError.of(f"the limit of a turn is more than 0 and at most {LONGEST_TIMEOUT} seconds")
    if request.max_turns is not None and not 1 <= request.max_turns <= MOST_TURNS:
        raise InputError.of(f"a conversation has 1 to {MOST_TURNS:,} turns")
    if request.compat not in (None, "rasa"):
        raise InputError.of(f"nobody's reading is called `{request.compat}`", hint="--compat takes rasa")
    if request.seed is not None and not -(2**63) <= request.seed < 2**63:
        raise InputError.of("a seed is a whole number of 64 bits")
    check_votes(request.votes)
    if request.until_sure is not None and not 0 < request.until_sure < 1:
        raise InputError.of("the rate to be sure of lies between 0 and 1")


def plan_run(request: RunRequest, settings: Settings, catalog: Registered) -> RunPlan:
    """Load the files, pick the tasks, freeze them."""
    _check_limits(request)
    settings = _settings_for(request, settings, catalog)
    path, case = split_case(request.path)
    library, solver = load_checked(path, request.agent, settings, catalog, domain=request.domain)
    assert solver is not None  # there is an agent, and it could be built
    isolation = level_of(solver, settings.isolate)
    if case is not None:
        request = replace(request, path=path, tasks=(*request.tasks, library.case(path, case).task.name))
    tasks, benchmark = _pick(library, request)
    _refuse_stubs(tasks, solver)
    timeout = request.timeout or (benchmark and benchmark.timeout) or settings.timeout
    concurrency = request.concurrency or (benchmark and benchmark.concurrency)
    gate_axes = benchmark.gate_axes if benchmark is not None else None
    tasks = [_as_asked(loaded, request, settings) for loaded in tasks]
    snapshots = tuple(library.snapshot(loaded, timeout, gate_axes) for loaded in tasks)
    if not takes_solution(solver):
        snapshots = tuple(without_solution(snapshot) for snapshot in snapshots)
    wanted = {name for loaded in tasks for name in loaded.environment.datasets}
    needs = needs_of(snapshots, catalog)
    cassettes = CassetteConfig(library.root, request.trials, restarts_damaged=request.tape == "record")
    models = resolve_models(_model_request(request, library), settings, needs, snapshots, cassettes)
    _refuse_unplayed(tasks, models)
    unoffered = tuple(warnings_for(solver, (loaded.environment for loaded in tasks), catalog))
    solver = resolve_agent(solver, models, snapshots)
    plan = Plan(
        snapshots=tuple(snapshot.hash for snapshot in snapshots),
        seed=settings.seed if request.seed is None else request.seed,
        trials=request.trials,
        until_sure=UntilSure(threshold=request.until_sure) if request.until_sure is not None else None,
        shuffle=request.shuffle,
    )
    run = new_run(
        plan,
        snapshots,
        solver.name,
        allow_ungraded=request.allow_ungraded,
        name=request.benchmark or request.path.resolve().name,
        path=str(request.path),
        options=options_with(solver, _options(request)),
        plugins=plugins_used(snapshots, solver.name, catalog),
        concurrency=concurrency,
        calibration=_calibration(library, models.judge_identity(snapshots)),
        isolation=isolation,
        **models.run_fields(snapshots),
    )
    return RunPlan(
        as_replayed(run, plan, snapshots, models),
        plan,
        snapshots,
        {name: library.datasets[name] for name in wanted},
        solver,
        concurrency or settings.concurrency,
        models,
        (*library.warnings_of(tasks), *missing_models(models, needs), *unoffered),
        library.domain,
        frozenset(library.tasks),
        files=task_files(library.root, library.files, settings, paths_of(solver)) if isolation in LEVELS else (),
        outbound=request.outbound,
    )


def _settings_for(request: RunRequest, settings: Settings, catalog: Registered) -> Settings:
    """Return the settings as the request changes them; raise InputError if its agent has no process to be put in."""
    settings = isolating(settings, request.isolate)
    if not request.agent_process:
        return settings
    check_process(request.agent, catalog)
    return with_agent_process(settings)


def _calibration(library: Library, judge: JudgeIdentity | None) -> Calibration | None:
    """What a file beside the scenarios says of the judge, or of one most like it; without its criteria, to be short."""
    path = beside(library.root) if judge is not None else None
    if judge is None or path is None:
        return None
    found = nearest(judge, load_calibrations(path))
    return found.model_copy(update={"criteria": {}}) if found is not None else None


def check_votes(votes: int) -> int:
    """How often a judge is asked the same, if that can decide anything."""
    if not 1 <= votes <= MOST_VOTES or votes % 2 == 0:
        hint = "an even one can be split in halves"
        raise InputError.of(f"votes are an odd number from 1 to {MOST_VOTES}", hint=hint)
    return votes


def _model_request(request: RunRequest, library: Library) -> ModelRequest:
    asking = Asking(
        prompts=dict(library.prompts),
        metrics=request.metrics,
        votes=request.votes,
        checks_person=request.checks_person,
        tape=request.tape,
        tapes_agent=request.tapes_agent,
    )
    return ModelRequest(request.judge, request.person, asking, conftest=library.conftest)


def split_case(path: Path) -> tuple[Path, str | None]:
    """`tests/refund.yml::a late refund` is a file, and one task of it."""
    file, mark, case = str(path).partition("::")
    return (Path(file), case) if mark and not path.exists() else (path, None)


def _refuse_unplayed(tasks: Iterable[LoadedTask], models: ModelSelection) -> None:
    """Whoever is not scripted must be played by a model. Without one those trials are errored; where there are no
    others, there is nothing to run."""
    if not (missing := missing_person(models)):
        return
    loaded_tasks = list(tasks)
    if all(any(person.needs_model for person in loaded.task.people) for loaded in loaded_tasks):
        raise InputError(missing[0].model_copy(update={"file": loaded.file}) for loaded in loaded_tasks)


def _refuse_stubs(tasks: Iterable[LoadedTask], solver: Solver) -> None:
    """An agent that cannot be told which of its actions are stubbed would run them, on systems that are real."""
    stubbed = [loaded for loaded in tasks if loaded.task.scenario is not None and loaded.task.scenario.stubs]
    if not stubbed:
        return
    try:
        agent = solver.open(stubbed[0].solution)
    except AgentError:
        return  # that it cannot be made is its own failure, and told with each trial
    agent.close()
    if "on_start" not in agent.entries or not getattr(solver, "takes_stubs", True):
        raise InputError(_cannot_stub(loaded, solver) for loaded in stubbed)


def _cannot_stub(loaded: LoadedTask, solver: Solver) -> Problem:
    stubs = ", ".join(f"`{name}`" for name in loaded.task.scenario.stubs) if loaded.task.scenario else ""
    return Problem(
        file=loaded.file,
        line=loaded.line,
        column=loaded.column,
        message=f"{loaded.task.name!r} stubs {stubs}, and {solver.name} cannot be told of it",
        hint="use an agent in Python whose on_start honours `start.stubs`, or leave this test case out",
    )


def new_run(plan: Plan, snapshots: Iterable[Snapshot], solver: str, **about: Any) -> BenchmarkRun:
    """Make the record of a run that begins now."""
    started, snapshots = now(), tuple(snapshots)
    return BenchmarkRun(
        id=new_name(f"run-{started:%Y%m%d-%H%M%S}")[:-10],
        plan=plan.hash,
        solver=solver,
        seed=plan.seed,
        trials=plan.trials,
        until_sure=plan.until_sure.threshold if plan.until_sure else None,
        started_at=started.isoformat(),
        total=len(plan.snapshots) * plan.trials,
        criteria=sum(bool(one.weight or one.gate) for snapshot in snapshots for one in snapshot.task.criteria),
        grading=GRADING,
        clerkship=__version__,
        variables=tuple(sorted(set().union(*(snapshot.variables() for snapshot in snapshots)))),
        sealed=True,
        **about,
    )


def _as_asked(loaded: LoadedTask, request: RunRequest, settings: Settings) -> LoadedTask:
    """The task with what the run says of it: faults in front of its steps, limits where it has none, whose reading."""
    task, changed = loaded.task, dict[str, Any]()
    scenario = task.scenario or Scenario()
    if request.chaos is not None:
        changed["steps"] = (*chaos(request.chaos), *scenario.steps)
    if scenario.all_people and scenario.max_turns is None:
        changed["max_turns"] = request.max_turns or settings.max_turns
    if scenario.all_people and scenario.turn_timeout is None:
        changed["turn_timeout"] = request.turn_timeout or settings.turn_timeout
    if changed:
        task = task.model_copy(update={"scenario": scenario.model_copy(update=changed)})
    if request.compat is not None:
        task = task.model_copy(update={"compat": request.compat})
    return loaded if task is loaded.task else replace(loaded, task=task)


def _options(request: RunRequest) -> tuple[str, ...]:
    """What else was asked for, as the command line says it: for doing it again."""
    pairs: list[tuple[str, object]] = [("--task", task) for task in request.tasks]
    pairs += [("--tag", tag) for tag in request.tags]
    pairs += [("--benchmark", request.benchmark), ("--timeout", request.timeout), ("--threshold", request.until_sure)]
    pairs += [("--chaos", request.chaos), ("--compat", request.compat)]
    pairs += [("--max-turns", request.max_turns), ("--turn-timeout", request.turn_timeout)]
    pairs += [("--domain", request.domain), ("--judge", request.judge if request.judge != NOBODY else None)]
    pairs += [("--person", request.person), ("--votes", request.votes if request.votes != 1 else None)]
    pairs += [("--isolate", request.isolate)]
    flags: tuple[str, ...] = ("--until-sure",) if request.until_sure is not None else ()
    flags += ("--no-judge",) if request.judge == NOBODY else ()
    flags += ("--allow-ungraded",) if request.allow_ungraded else ()
    flags += ("--metrics",) if request.metrics else ()
    flags += ("--check-person",) if request.checks_person else ()
    flags += (f"--{request.tape}",) if request.tape else ()
    flags += ("--record-agent",) if request.tapes_agent else ()
    return flags + tuple(str(part) for pair in pairs if pair[1] is not None for part in pair)


def _pick(library: Library, request: RunRequest) -> tuple[list[LoadedTask], Benchmark | None]:
    """Select the tasks that a request asks for, and the benchmark it names."""
    benchmark = None
    file = request.path if request.path.is_file() else None
    if request.benchmark is None:
        tasks = library.select(names=request.tasks, tags=request.tags, file=file)
    else:
        if request.benchmark not in library.benchmarks:
            hint = did_you_mean(request.benchmark, library.benchmarks)
            raise InputError.of(f"no benchmark `{request.benchmark}`", hint=hint)
        benchmark = library.benchmarks[request.benchmark]
        inside = {loaded.task.name for loaded in library.select(names=benchmark.tasks, tags=benchmark.tags)}
        chosen = library.select(names=request.tasks, tags=request.tags, file=file)
        tasks = [loaded for loaded in chosen if loaded.task.name in inside]
    if not tasks:
        tags = sorted({tag for loaded in library.tasks.values() for tag in loaded.task.tags})
        raise InputError.of("no task fits the selection", hint=f"tags here: {', '.join(tags) or 'none'}")
    return tasks, benchmark


def execute(plan: RunPlan, store: Store, catalog: Registered, watch: Iterable[Watch] = ()) -> RunResult:
    """Run a plan to its end, or until Ctrl-C; each finished trial is saved before it is reported to `watch`."""
    check_limit()
    plan = replace(plan, run=free_name(plan.run, store))
    built = plan.build(catalog)
    with store.hold(plan.run.id) as hold:
        store.open_run(plan.run, plan.frozen())
        return carry_out(plan, Schedule(built, plan.plan, plan.run.id), store, hold, store.ledger(plan.run.id), watch)


def carry_out(
    plan: RunPlan, schedule: Schedule, store: Store, hold: Hold, ledger: Ledger, watch: Iterable[Watch] = ()
) -> RunResult:
    """Do what is scheduled, in a run that is open and held.

    The seals of what is saved are added to the ledger. It stays in memory, where an agent that writes to the store
    cannot change it.
    """
    watchers, recording = tuple(watch), plan.models.session

    def save(finished: list[Finished]) -> None:
        ledger.add(store.save(finished, ledger.last))
        recording.trials_ended(item.task_run for item in finished)
        for item in finished:
            for tell in watchers:
                tell(item.task_run)

    gateway = Gateway(plan.outbound)
    listener, lines = open_http(gateway), ListenerPool(gateway)
    setting = BatchContext(
        plan.solver, gateway, listener.url, _beginning(hold, watchers), models=plan.models, lines=lines
    )
    batch = Batch(schedule.first(), setting, fitting_agents(plan.concurrency), save, schedule.after)
    with isolated(plan.solver, plan.run.isolation, plan.files, store), batch.hearing_ctrl_c():
        try:
            batch.run()
        finally:
            lines.close()
            listener.close()
            plan.models.close()
            recording.save()
        end: dict[str, Any] = {"status": "cancelled" if batch.cancelled else "completed"}
        end["completed_at"] = _end_of(plan.run)
        seals = end_run(store, plan.run.id, end["status"], end["completed_at"], ledger)
    told = recording.finish(whole=not batch.cancelled, known=plan.known, trials=plan.plan.trials)
    unplaced = gateway.unplaced.data()
    return RunResult(
        plan.run.model_copy(update=end), ledger.counts(), told, unplaced=unplaced, seals=seals, ledger=ledger
    )


def _beginning(hold: Hold, watchers: Iterable[object]) -> Callable[[Attempt], None]:
    """A trial begins: the store takes that down, and who wants to know is told."""
    told = [watch.began for watch in watchers if isinstance(watch, WatchesBeginnings)]

    def begin(attempt: Attempt) -> None:
        hold.begin(attempt)
        for tell in told:
            tell(attempt)

    return begin if told else hold.begin


def _end_of(run: BenchmarkRun) -> str:
    """Now, but not before its start: a machine's clock may be set back while it runs. A replay takes no time."""
    if run.replayed:
        return run.started_at
    return max(now(), datetime.fromisoformat(run.started_at)).isoformat()
