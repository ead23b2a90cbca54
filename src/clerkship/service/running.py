"""Execute a plan: run its trials, save each one, and end the run."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

from clerkship.by_name import load
from clerkship.engine.batch import TrialBatch
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.models import is_code
from clerkship.engine.schedule import TrialSchedule
from clerkship.engine.spec import BatchContext, FinishedTrial
from clerkship.kit.descriptors import check_limit, limit_agents
from clerkship.kit.git_commit import read_commit
from clerkship.kit.wall import now
from clerkship.model.run import Attempt, BenchmarkRun, Counts, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.model.store_place import StorePlace
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.listeners import ListenerPool
from clerkship.recording.session import RecordingReport
from clerkship.service.isolating import isolate_solver
from clerkship.service.planning.plan import RunPlan, with_free_id
from clerkship.service.stored_runs import end_run, recheck_seals
from clerkship.store.contract import RunLock, Store
from clerkship.store.seal import Ledger

if TYPE_CHECKING:
    from clerkship.playground.playground import Playground
    from clerkship.traces.exporter import TraceExporter

TrialObserver = Callable[[TaskRun], None]


@runtime_checkable
class TrialStartObserver(Protocol):
    """An observer that is also called when a trial starts, in the thread that runs the trial."""

    def trial_started(self, attempt: Attempt) -> None:
        """Handle the start of an attempt."""


@dataclass(frozen=True)
class RunResult:
    """The result of a run."""

    run: BenchmarkRun
    counts: Counts
    tape: RecordingReport | None = None
    """What was recorded or replayed."""
    unplaced: dict[str, Any] | None = None
    """Requests that belong to no running trial: how many, and the first of them. Not stored."""
    seals: SealCheck | None = None
    """Whether the store was unchanged at the end of the run."""
    ledger: Ledger | None = None
    """The seals of what was saved, to check the store again."""
    untraced: str = ""
    """Why traces could not be sent; empty if all were, or if none were to be."""
    notes: tuple[str, ...] = ()
    """Parts of the original run that could not be checked."""

    def checked_again(self, store: Store) -> "RunResult":
        """Check the store once more, just before its contents are shown."""
        if self.ledger is None or self.seals is None:
            return self
        return replace(self, seals=recheck_seals(store, self.ledger, self.seals))

    def exit_code(self) -> int:
        """Return the exit code of the run; 2 if the store was changed or a recording could not be written."""
        code = self.run.exit_code(self.counts)
        if self.seals is not None and self.seals.is_changed:
            return 2
        return 2 if self.tape is not None and self.tape.failed and code in (0, 1) else code


class BatchOutcome(NamedTuple):
    """How the work on the trials of a run ended."""

    is_cancelled: bool
    unplaced: dict[str, Any] | None = None
    """Requests that belong to no running trial."""
    untraced: str = ""
    """Why traces could not be sent."""


@dataclass(frozen=True)
class TrialWork:
    """The trials of a run that are to be run, and what is called with those that begin and finish."""

    plan: RunPlan
    schedule: TrialSchedule
    save: Callable[[list[FinishedTrial]], None]
    """Saves trials. Called from the thread that began the work."""
    begin: Callable[[Attempt], None]
    """Records that a trial begins in this process. Called from any thread."""
    store: StorePlace


class Executor(Protocol):
    """Runs the trials of a run: in this process, or on other machines."""

    def check(self, plan: RunPlan) -> None:
        """Raise InputError for a run that it cannot run."""

    def run(self, work: TrialWork) -> AbstractContextManager[BatchOutcome]:
        """Run trials until they are done or stopped. Inside the context, a stop signal raises no exception."""


class HeldRun(NamedTuple):
    """A run in a store, locked by this process."""

    store: Store
    lock: RunLock
    ledger: Ledger
    """The seals of its trials. They are in memory, where an agent that writes to the store cannot change them."""


@contextmanager
def open_context(
    plan: RunPlan,
    begin: Callable[[Attempt], None],
    store: StorePlace,
    watch: "Callable[[Playground], None] | None" = None,
) -> Iterator[BatchContext]:
    """Open what all trials of a run in this process share: the gateway, listeners and models. Isolate its agents."""
    gateway = Gateway(plan.outbound)
    models = gateway.models = plan.models.open_proxy(plan.solver)
    if models is not None:
        models.limit(plan.call_limits, plan.used)
    http, listeners = open_http(gateway, plan.network), ListenerPool(gateway, plan.network)
    context = BatchContext(
        plan.solver,
        gateway,
        http.url,
        begin,
        models=plan.models,
        listeners=listeners,
        accepts_traces=plan.settings.traces == "on" and is_code(plan.solver),
        exporter=_open_exporter(plan),
        watch=watch,
    )
    with isolate_solver(plan.solver, plan.run.isolation, plan.hidden, store):
        try:
            yield context
        finally:
            listeners.close()
            http.close()
            if models is not None:
                models.close()
            plan.models.close()
            plan.models.session.save()


class LocalExecutor:
    """Runs trials in this process."""

    def check(self, plan: RunPlan) -> None:
        """Do nothing: this process can run all."""

    @contextmanager
    def run(self, work: TrialWork) -> Iterator[BatchOutcome]:
        """Run trials in this process, until Ctrl-C."""
        plan = work.plan
        with ExitStack() as stack:
            context = stack.enter_context(
                open_context(plan, work.begin, work.store, getattr(plan.solver, "watch", None))
            )
            untraced = ""
            first = work.schedule.first_trials()
            batch = TrialBatch(first, context, limit_agents(plan.concurrency), work.save, work.schedule.next_trials)
            with batch.handle_stop_signals():
                try:
                    batch.run()
                finally:
                    stack.close()
                    untraced = context.exporter.close() if context.exporter is not None else ""
                models = context.gateway.models
                is_cancelled = batch.cancelled or (models is not None and models.limits.has_stopped_trials)
                yield BatchOutcome(is_cancelled, context.gateway.unmatched.data(), untraced)


HERE = LocalExecutor()


def execute(
    plan: RunPlan,
    store: Store,
    catalog: RegisteredCatalog,
    watch: Iterable[TrialObserver] = (),
    executor: Executor = HERE,
) -> RunResult:
    """Run a plan to its end, or until Ctrl-C. Each finished trial is saved before observers see it."""
    check_limit()
    executor.check(plan)
    commit = "" if plan.run.is_replayed else read_commit(Path.cwd())
    plan = replace(plan, run=with_free_id(plan.run, store).model_copy(update={"commit": commit}))
    built = plan.build(catalog)
    with store.hold(plan.run.id) as hold:
        store.open_run(plan.run, plan.frozen())
        schedule = TrialSchedule(built, plan.plan, plan.run.id, shard=plan.run.shard)
        return run_schedule(plan, schedule, HeldRun(store, hold, store.ledger(plan.run.id)), watch, executor)


def run_schedule(
    plan: RunPlan,
    schedule: TrialSchedule,
    held: HeldRun,
    watch: Iterable[TrialObserver] = (),
    executor: Executor = HERE,
) -> RunResult:
    """Run the scheduled trials of a run that is open and locked.

    The seals of saved trials are added to the ledger.
    """
    store, hold, ledger = held
    watchers, recording = tuple(watch), plan.models.session

    def save(finished: list[FinishedTrial]) -> None:
        ledger.add(store.save(finished, ledger.last))
        recording.trials_ended(item.task_run for item in finished)
        for item in finished:
            for tell in watchers:
                tell(item.task_run)

    work = TrialWork(plan, schedule, save, _build_start_hook(hold, watchers), store.place)
    with executor.run(work) as outcome:
        end: dict[str, Any] = {"status": "cancelled" if outcome.is_cancelled else "completed"}
        end["completed_at"] = _compute_end_time(plan.run)
        seals = end_run(store, plan.run.id, end["status"], end["completed_at"], ledger)
    recorded = recording.finish(whole=not outcome.is_cancelled, known=plan.known, trials=plan.plan.trials)
    return RunResult(
        plan.run.model_copy(update=end),
        ledger.counts(),
        recorded,
        unplaced=outcome.unplaced,
        seals=seals,
        ledger=ledger,
        untraced=outcome.untraced,
    )


def _open_exporter(plan: RunPlan) -> "TraceExporter | None":
    """Return what sends the traces of a run, if the settings name a collector."""
    if not plan.settings.otlp:
        return None
    exporting = load("clerkship.traces.exporter")  # few runs send traces
    headers = exporting.parse_otlp_headers(plan.settings.otlp_headers)
    return cast("TraceExporter", exporting.TraceExporter(plan.settings.otlp, headers))


def _build_start_hook(hold: RunLock, watchers: Iterable[object]) -> Callable[[Attempt], None]:
    """Return a function that stores the start of a trial, and calls the observers."""
    observers = [observer.trial_started for observer in watchers if isinstance(observer, TrialStartObserver)]

    def begin(attempt: Attempt) -> None:
        hold.begin(attempt)
        for observe in observers:
            observe(attempt)

    return begin if observers else hold.begin


def _compute_end_time(run: BenchmarkRun) -> str:
    """Return the current time, but not before the start of the run: the system clock may be set back. A replay takes no
    time.
    """
    if run.is_replayed:
        return run.started_at
    return max(now(), datetime.fromisoformat(run.started_at)).isoformat()
