"""Resume a run that was killed or interrupted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import orjson

from clerkship.actors.contract import Solver
from clerkship.engine.build import BuiltTask, find_plugins_used
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_resolver import ModelRequest
from clerkship.engine.schedule import TrialSchedule
from clerkship.engine.spec import FinishedTrial, TrialSpec, build_unstarted
from clerkship.events.sidecar import read_measurements
from clerkship.kit.descriptors import check_limit
from clerkship.kit.wall import now
from clerkship.model.errors import InputError
from clerkship.model.run import Attempt, BenchmarkRun, Status, TrialOutcome
from clerkship.model.snapshot import GRADING_VERSION, Snapshot
from clerkship.model_proxy.limits import CallUse
from clerkship.service.fork_points import load_fork_point
from clerkship.service.isolating import choose_resumed_level
from clerkship.service.planning.plan import RunPlan, build_plan, choose_models
from clerkship.service.planning.stored import open_stored_run
from clerkship.service.running import HERE, Executor, HeldRun, RunResult, TrialObserver, run_schedule
from clerkship.service.stored_runs import load_plan, load_snapshots, require_resumable
from clerkship.settings import Settings
from clerkship.store.contract import Store

INTERRUPTED = "its process ended during the trial; its log is lost"


@dataclass(frozen=True)
class ResumePlan:
    """A run to finish, and how much of it is left."""

    plan: RunPlan
    left: int
    """The maximum number of trials left; with `until_sure` it may be fewer."""
    again: tuple[Status, ...]
    """The statuses of trials that are repeated."""


def plan_resume(
    store: Store,
    reference: str,
    catalog: RegisteredCatalog,
    settings: Settings,
    *,
    agent: str | Solver | None = None,
    retry_errored: bool = False,
) -> ResumePlan:
    """Plan the rest of a run that was killed or interrupted. Raise InputError if it cannot be resumed."""
    run = store.run(reference)
    _require_unfinished(store, run)
    again: tuple[Status, ...] = ("cancelled", "errored") if retry_errored else ("cancelled",)
    left = sum(outcome.status in again for outcome in store.outcomes(run.id)) + run.count_missing(store.counts(run.id))
    plan = plan_trials_left(store, run, catalog, settings, agent=agent, checks_agent=left > 0)
    return ResumePlan(plan, left, again)


def plan_trials_left(
    store: Store,
    run: BenchmarkRun,
    catalog: RegisteredCatalog,
    settings: Settings,
    *,
    agent: str | Solver | None = None,
    checks_agent: bool = True,
) -> RunPlan:
    """Plan further trials of a run. Raise InputError unless agent, isolation and plug-ins are those it began with."""
    stored = open_stored_run(store, run, agent, settings, catalog)
    solver = stored.solver
    if solver.name != run.solver:
        raise InputError.of(
            f"{run.id} is a run of {run.solver}, not of {solver.name}", hint="use `rerun` for another agent"
        )
    stored = replace(stored, isolation=choose_resumed_level(run, solver, settings))
    snapshots = load_snapshots(store, run)
    _require_plugins(run, snapshots, catalog)
    if checks_agent:
        stored.check_agent()
    frozen = stored.freeze(
        snapshots,
        load_plan(store, run),
        ModelRequest(run=run),
        resumed=run.model_copy(update={"isolation": stored.isolation}),
        prefix=load_fork_point(store, run, catalog),
    )
    return build_plan(frozen, choose_models(frozen))


def _require_unfinished(store: Store, run: BenchmarkRun) -> None:
    """Raise InputError for a rescored run, or for a run with another grading version."""
    if run.made_by == "rescore":
        raise InputError.of(
            f"{run.id} is a rescore of {run.origin} and cannot be resumed", hint=f"rescore {run.origin} again"
        )
    if run.grading != GRADING_VERSION:
        raise InputError.of(
            f"{run.id} has grading version {run.grading}, but the current version is {GRADING_VERSION}",
            hint=f"`clerkship rerun {run.id}` runs all of it again",
        )
    require_resumable(store, run.id)


def _require_plugins(run: BenchmarkRun, snapshots: Iterable[Snapshot], catalog: RegisteredCatalog) -> None:
    """Raise InputError if the run was started with other plug-ins than are installed now."""
    plugins = find_plugins_used(snapshots, run.solver, catalog)
    if plugins != run.plugins and not catalog.broken:  # a broken plug-in is reported when the tasks are built
        raise InputError.of(
            f"{run.id} was started with {_format_plugins(run.plugins)}, but here there is {_format_plugins(plugins)}",
            hint=f"`clerkship rerun {run.id}` runs all of it again",
        )


def _format_plugins(plugins: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in plugins.items()) or "no plug-in"


def resume(
    resumed: ResumePlan,
    store: Store,
    catalog: RegisteredCatalog,
    watch: Iterable[TrialObserver] = (),
    executor: Executor = HERE,
) -> RunResult:
    """Finish a run. A trial that was started but not saved is stored as an interrupted attempt.

    The seals are checked again once no other process can resume the run; new trials are chained to them.
    """
    plan, run = resumed.plan, resumed.plan.run
    if not resumed.left and run.status == "completed":
        return RunResult(run, store.counts(run.id))
    check_limit()
    executor.check(plan)
    built = plan.build(catalog)
    with store.hold(run.id) as hold:
        require_resumable(store, run.id)
        ledger = store.ledger(run.id)
        if store.run(run.id).status != "active":
            store.mark(run.id, "active", now().isoformat(), ledger)
        cut_short = _build_interrupted_trials(plan, built, hold.begun, store.outcomes(run.id))
        ledger.add(store.save(cut_short, ledger.last))
        schedule = TrialSchedule(built, plan.plan, run.id, store.outcomes(run.id), resumed.again, shard=run.shard)
        plan = replace(plan, used=_sum_calls(store, run.id)) if plan.call_limits.are_set else plan
        return run_schedule(plan, schedule, HeldRun(store, hold, ledger), watch, executor)


def _sum_calls(store: Store, run_id: str) -> CallUse:
    """Return what the agent's model calls have used in all attempts of a run. Those of lost logs are not known."""
    used = CallUse()
    for task_run in store.each(run_id, attempts=True):
        for call in read_measurements(orjson.loads(store.sidecar(task_run))).model_calls.values():
            tokens = call["prompt_tokens"] + call["completion_tokens"]
            used.calls += bool(tokens) or call["cost"] is None  # a call that failed has no tokens and costs nothing
            used.add(tokens, call["cost"] or 0.0)
    return used


def _build_interrupted_trials(
    plan: RunPlan, built: Iterable[BuiltTask], begun: Iterable[Attempt], known: Iterable[TrialOutcome]
) -> list[FinishedTrial]:
    tasks = {task.snapshot.task.name: task for task in built}
    last = {(outcome.task, outcome.trial): outcome.attempt for outcome in known}
    lost = sorted({attempt for attempt in begun if attempt.attempt > last.get((attempt.task, attempt.trial), 0)})
    jobs = [TrialSpec(tasks[task], plan.run.id, plan.run.seed, trial, attempt) for task, trial, attempt in lost]
    return [build_unstarted(job, INTERRUPTED, "cancelled") for job in jobs]
