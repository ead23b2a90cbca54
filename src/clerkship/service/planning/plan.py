"""Step 5: build the plan of the run, choose its models, and give a replay its id."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clerkship import __version__
from clerkship.actors.contract import Solver
from clerkship.engine.build import BuiltTask, build_tasks, find_plugins_used, options_with
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_resolver import find_missing_models, find_missing_person, resolve_agent, resolve_models
from clerkship.engine.models import ModelSelection
from clerkship.engine.schedule import choose_shard
from clerkship.kit.command_option import drop_words, is_any_given, words_of
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.model.calibration import Calibration, JudgeIdentity, find_nearest_calibration
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.run import BenchmarkRun, Shard
from clerkship.model.snapshot import GRADING_VERSION, Plan, Snapshot
from clerkship.model.usage import NO_LIMITS, ModelLimits
from clerkship.recording.cassette import content_key
from clerkship.report.published_version import describe_grading
from clerkship.service.isolating import warn_unprotected_files
from clerkship.service.network import apply_network
from clerkship.service.planning.freeze import FrozenRun, FrozenTasks, freeze_tasks
from clerkship.service.planning.load import LoadedSuite, load_suite
from clerkship.service.planning.options import CallLimitOptions, NetworkOptions
from clerkship.service.planning.request import RunRequest
from clerkship.service.planning.select import select_tasks
from clerkship.settings import Settings
from clerkship.store.contract import Store, UnknownRun
from clerkship.suite_files.calibration import load_calibrations

if TYPE_CHECKING:
    from clerkship.model_proxy.limits import CallUse

_LIMITS = {"max_tokens", "model_timeout"}
"""Limits of requests to models; they do not change what is replayed."""


def with_replay_identity(
    run: BenchmarkRun, plan: Plan, snapshots: Sequence[Snapshot], models: ModelSelection
) -> BenchmarkRun:
    """Return the record of a run. A replay gets an id and a start time that do not depend on where and when it is made.

    The id is a hash of the replayed content; the start is that of the earliest simulated clock.
    """
    if not run.is_replayed:
        return run
    cassettes = {snapshot.source: models.session.digest(snapshot.task.name) for snapshot in snapshots}
    choices = (choice and choice.model_dump(mode="json", exclude=_LIMITS) for choice in (run.judge, run.person))
    who, asking = [run.solver, *choices], run.asking.model_dump(mode="json", exclude=_LIMITS)
    mark = content_key([plan.hash, who, asking, cassettes, run.made_by, run.origin])
    began = min(snapshot.environment.now for snapshot in snapshots)
    part = f"-{run.shard.number}-of-{run.shard.count}" if run.shard is not None else ""
    return run.model_copy(update={"id": f"replay-{mark[:12]}{part}", "started_at": began.astimezone(UTC).isoformat()})


def with_free_id(run: BenchmarkRun, store: Store) -> BenchmarkRun:
    """Return a run; a replay gets an id that the store does not have yet."""
    name, number = run.id, 1
    while run.is_replayed and _has_run(store, name):
        number += 1
        name = f"{run.id}-{number}"
    return run.model_copy(update={"id": name})


def _has_run(store: Store, name: str) -> bool:
    try:
        return store.run(name).id == name
    except UnknownRun:
        return False


def get_file_time(run: BenchmarkRun, now: datetime) -> datetime:
    """Return the time for the names of files about a run."""
    return datetime.fromisoformat(run.started_at) if run.is_replayed else now


def choose_models(tasks: FrozenTasks) -> ModelSelection:
    """Return the models of the judge and the person, live or from recordings.

    Raise InputError if every task has a person that only a model can play, and no model is configured. If only some
    tasks do, those trials are errored. A stored run can be repeated without a model, because that was accepted
    before.
    """
    models = resolve_models(tasks.request, tasks.settings, tasks.needs, tasks.snapshots, tasks.cassettes)
    missing = find_missing_person(models) if tasks.sources else ()
    people = [snapshot.task.people for snapshot in tasks.snapshots]
    if missing and all(any(person.needs_model for person in each) for each in people):
        raise InputError(replace(missing[0], file=file) for file in tasks.sources.values())
    return models


@dataclass(frozen=True, eq=False, repr=False)
class RunPlan(FrozenRun):
    """The frozen tasks with their models, and the record with which the run starts."""

    _: KW_ONLY
    run: BenchmarkRun
    models: ModelSelection
    used: "CallUse | None" = None
    """What the agent's model calls have used before, if the run is resumed."""

    def build(self, catalog: RegisteredCatalog) -> list[BuiltTask]:
        """Return the tasks with their names resolved, and with the fork point if there is one."""
        built = build_tasks(self.snapshots, self.datasets, catalog)
        return built if self.prefix is None else [replace(task, fork_point=self.prefix) for task in built]

    def expected(self) -> int | None:
        """Return the number of trials, or None if it is not known in advance."""
        return self.run.total if self.plan.until_sure is None else None

    @property
    def call_limits(self) -> ModelLimits:
        """The limits of the agent's model calls: those of the settings, and those of the run instead."""
        return NO_LIMITS.with_others(self.settings).with_others(self.run.asking.limits)

    def frozen(self) -> dict[str, bytes]:
        """Return everything that must be stored to repeat the run, by hash."""
        tasks = {part.hash: part.data for part in (self.plan, *self.snapshots)}
        return tasks | {dataset.hash: dataset.data for dataset in self.datasets.values()}


def plan_run(
    request: RunRequest, settings: Settings, catalog: RegisteredCatalog, loaded: LoadedSuite | None = None
) -> RunPlan:
    """Plan a run of files: load unless they are loaded, select, freeze, choose models, plan."""
    frozen = freeze_tasks(select_tasks(loaded or load_suite(request, settings, catalog)))
    plan = build_plan(frozen, choose_models(frozen))
    return use_network(plan, request) if is_any_given(request, NetworkOptions) else plan


def use_network(plan: RunPlan, options: NetworkOptions) -> RunPlan:
    """Return a plan whose sandboxes listen as the options say. A new run keeps them, to be run again with them."""
    is_given = is_any_given(options, NetworkOptions)
    if plan.resumed is None:
        words = drop_words(plan.run.options, NetworkOptions)  # those of an earlier run, which may not hold here
        words += words_of(options, NetworkOptions) if is_given else ()
        plan = replace(plan, run=plan.run.model_copy(update={"options": words}))
    return apply_network(plan, options) if is_given else plan


def build_plan(frozen: FrozenRun, models: ModelSelection) -> RunPlan:
    """Build the plan of a run: its record, tasks, agent and models."""
    solver = resolve_agent(frozen.solver, models, frozen.snapshots)
    models.check_limits(models.asking.limits, solver)
    run = frozen.resumed or _build_record(frozen, models, solver)
    warnings = (
        *(InputProblem(message=sentence) for sentence in filter(None, [describe_grading(run)])),
        *frozen.warnings,
        *find_missing_models(models, frozen.needs),
        *warn_unprotected_files(frozen.isolation),
    )
    return RunPlan(**vars(replace(frozen, solver=solver, warnings=warnings)), run=run, models=models)


def limit_calls(plan: RunPlan, options: CallLimitOptions) -> RunPlan:
    """Return a plan of a stored run with other limits of the agent's model calls, where options give some."""
    limits = plan.run.asking.limits.with_others(options)
    plan.models.check_limits(limits, plan.solver)
    asking = plan.run.asking.model_copy(update={"limits": limits})
    return replace(plan, run=plan.run.model_copy(update={"asking": asking}))


def _build_record(frozen: FrozenRun, models: ModelSelection, solver: Solver) -> BenchmarkRun:
    """Return the record of a new run. The record of a replay does not depend on where and when it is made."""
    calibration = _find_calibration(frozen.calibrations, models.judge_identity(frozen.snapshots))
    about = {"calibration": calibration, **frozen.record}
    about["options"] = options_with(solver, about["options"])
    run = build_run(
        frozen.plan,
        frozen.snapshots,
        solver.name,
        frozen.shard,
        plugins=find_plugins_used(frozen.snapshots, solver.name, frozen.catalog),
        isolation=frozen.isolation,
        bot_format=getattr(solver, "bot_format", None),
        **about,
        **models.run_fields(frozen.snapshots),
    )
    return with_replay_identity(run, frozen.plan, frozen.snapshots, models)


def _find_calibration(file: Path | None, judge: JudgeIdentity | None) -> Calibration | None:
    """Return the calibration of this judge or the most similar one, without its criteria, to keep the record short."""
    if judge is None or file is None:
        return None
    calibration = find_nearest_calibration(judge, load_calibrations(file))
    return calibration.model_copy(update={"criteria": {}}) if calibration is not None else None


def build_run(
    plan: Plan, snapshots: Iterable[Snapshot], solver: str, shard: Shard | None = None, **about: Any
) -> BenchmarkRun:
    """Return the record of a run that starts now."""
    started, snapshots = now(), tuple(snapshots)
    total = len(plan.snapshots) * plan.trials
    if shard is not None:
        total = len(choose_shard(plan, [snapshot.task.name for snapshot in snapshots], shard))
    return BenchmarkRun(
        id=new_name(f"run-{started:%Y%m%d-%H%M%S}")[:-10],
        plan=plan.hash,
        solver=solver,
        seed=plan.seed,
        trials=plan.trials,
        until_sure=plan.until_sure.threshold if plan.until_sure else None,
        started_at=started.isoformat(),
        total=total,
        shard=shard,
        criteria=sum(bool(one.weight or one.gate) for snapshot in snapshots for one in snapshot.task.criteria),
        grading=GRADING_VERSION,
        clerkship=__version__,
        variables=tuple(sorted(set().union(*(snapshot.variables() for snapshot in snapshots)))),
        sealed=True,
        **about,
    )
