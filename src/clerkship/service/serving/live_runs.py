"""Benchmark runs whose agents work through the API: created, started task by task, completed, recovered after a kill.

A run here is a run of the store: `clerkship list`, `show`, `compare` and `rescore` read it. The engine plays and grades
its trials, as in `clerkship run`.

See docs/decisions/0033-server.md.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

from clerkship.actors.remote import RemoteSolver
from clerkship.engine.build import BuiltTask
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.schedule import TrialSchedule
from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec, Watchdog, build_unstarted
from clerkship.engine.worker import describe_failure, render_bug_traceback
from clerkship.kit.descriptors import raise_limit
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.model.errors import ClerkshipError, InputError
from clerkship.model.run import Ending, TaskRun, Verdict
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.listeners import ListenerPool
from clerkship.service.planning.plan import RunPlan
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.service.resume import plan_resume
from clerkship.service.serving.benchmark_cache import BenchmarkCache, RunSelection
from clerkship.service.serving.database import get_timestamp
from clerkship.service.serving.live_trial import LiveTrial
from clerkship.service.serving.refusals import RequestConflict
from clerkship.service.serving.run_table import RunState, RunTable, ServedRun, ServedTask
from clerkship.service.serving.trial_journal import SUFFIX, JournalContent, TrialJournal, read_journals
from clerkship.service.stored_runs import end_run
from clerkship.settings import Settings
from clerkship.store.contract import RunLock, Store
from clerkship.store.seal import Ledger
from clerkship.store.sqlite import SqliteStore, open_store
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy, PublicPolicy
from clerkship.transports.tcp import LOOPBACK

WATCH_INTERVAL = 0.1
"""Seconds between two checks of the time limits."""
EXPIRY_INTERVAL = 50
"""Every how many checks it is checked which runs have expired."""
MAX_LIVE_TRIALS = 2000
"""Trials under way at the same time."""
MAX_GRADERS = 2
"""Threads that grade trials whose time is over."""
RUN_LIFETIME = timedelta(hours=24)
"""How long the token of a run is valid, and the run may take."""
NOT_STARTED = "cancelled before it was started"
CUT_OFF = "the server stopped during this attempt; its log so far is kept, and the task run can be started again"


class ServerBusy(ClerkshipError):
    """As many trials are under way as may be."""


@dataclass(frozen=True)
class NewRun:
    """A request for a run."""

    selection: RunSelection
    solver: str
    """The name of the agent, as the run shows it."""
    solver_id: str | None = None
    scored: bool = False
    lifetime: timedelta = RUN_LIFETIME


@dataclass
class LiveRun:
    """A run that has not ended, with the lock on it."""

    plan: RunPlan
    hold: RunLock
    ledger: Ledger
    context: BatchContext
    specs: Mapping[tuple[str, int], TrialSpec]
    trials: dict[str, LiveTrial] = field(default_factory=dict)
    """The trials under way, by the id of the task run."""
    journals: dict[str, TrialJournal] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True)
class SandboxAddress:
    """Where the sandboxes of a server listen."""

    host: str = LOOPBACK
    port: int = 0
    public_url: str = ""
    """The URL at which agents reach them, if a proxy stands between."""

    @property
    def policy(self) -> OutboundPolicy:
        """Which addresses sandboxes may call: those of this machine, if only this machine reaches the sandboxes."""
        return LOCAL_ONLY if IPv4Address(self.host).is_loopback else PublicPolicy()


@dataclass(frozen=True)
class ServingOptions:
    """With what a server runs its trials, and where their sandboxes listen."""

    settings: Settings
    catalog: RegisteredCatalog
    address: SandboxAddress = SandboxAddress()


class LiveRuns:
    """All runs of a server that have not ended."""

    def __init__(
        self,
        folder: Path,
        store: SqliteStore,
        table: RunTable,
        options: ServingOptions,
    ) -> None:
        settings, catalog, address = options.settings, options.catalog, options.address
        self._folder, self._store, self.table = folder, store, table
        self._settings, self._catalog = settings, catalog
        folder.mkdir(parents=True, exist_ok=True)
        self._store_lock = threading.RLock()
        self._readers = threading.local()
        self._cache = BenchmarkCache(settings, catalog)
        raise_limit()
        self._gateway = Gateway(address.policy)
        self._http = open_http(self._gateway, address.port, host=address.host)
        self._listeners = ListenerPool(self._gateway, host=address.host)
        self._base_url: Callable[[], str] = (lambda: address.public_url) if address.public_url else self._http.url
        self._watchdog = Watchdog()
        self._runs: dict[str, LiveRun] = {}
        self._lock = threading.RLock()
        self._graders = ThreadPoolExecutor(MAX_GRADERS, "clerkship-grader")
        self._stopped = threading.Event()
        self._recover()
        self._watcher = threading.Thread(target=self._watch, name="clerkship-watch", daemon=True)
        self._watcher.start()

    @property
    def sandbox_url(self) -> str:
        """The URL of the sandboxes' HTTP server."""
        return self._base_url()

    @property
    def trial_count(self) -> int:
        """How many trials are under way."""
        return sum(len(run.trials) for run in list(self._runs.values()))

    @contextmanager
    def reading(self) -> Iterator[SqliteStore]:
        """Give access to the store, on a connection of this thread."""
        store = getattr(self._readers, "store", None)
        if store is None:
            store = self._readers.store = open_store(self._settings, self._store.path)
        yield store

    def create(self, request: NewRun) -> tuple[ServedRun, list[ServedTask]]:
        """Create a run of a published version, with one task run for each trial."""
        ready = self._cache.get(request.selection)
        plan = ready.plan(request.solver)
        version = plan.run.published
        if version is None:
            raise InputError.of(f"{request.selection.archive.name} is not a published version")
        with self._store_lock:
            self._store.open_run(plan.run, plan.frozen())
        live = self._open(plan, ready.built, self._store.hold(plan.run.id), self._store.ledger(plan.run.id))
        expires = now() + request.lifetime
        served = ServedRun(
            plan.run.id,
            version.name,
            version.digest,
            request.solver,
            request.scored,
            request.solver_id,
            "created",
            "active",
            get_timestamp(),
            expires.isoformat(timespec="microseconds"),
        )
        tasks = [
            ServedTask(_new_task_id(), served.id, task, trial, spec.attempt, "created")
            for (task, trial), spec in live.specs.items()
        ]
        self.table.add(served, tasks)
        with self._lock:
            self._runs[served.id] = live
        return served, tasks

    def start(self, id: str) -> None:
        """Start a task run: run its scenario. One that is started already stays as it is.

        So an agent that did not get the answer can ask again.
        """
        _, live = self._find(id)
        with live.lock:
            if id in live.trials:
                return
            trial = self._begin(live, self.table.task(id))
        if trial is None:
            self._end_if_done(live)
            return
        trial.start()
        self._settle_if_finished(live, id, trial)

    def hear(self, id: str, within: float | None = None) -> LiveTrial:
        """Note that the agent of a started task run is there; with seconds given, it must be heard of within them."""
        task, live = self._find(id)
        trial = live.trials.get(id)
        if trial is None:
            raise _refuse_phase(task)
        trial.hear(within)
        return trial

    def get_trial(self, id: str) -> LiveTrial | None:
        """Return the trial of a task run, if it is under way."""
        live = self._runs.get(self.table.task(id).run)
        return None if live is None else live.trials.get(id)

    def answer(self, id: str, reply: dict[str, Any]) -> LiveTrial:
        """Pass a reply of the agent to its trial.

        Raise AgentError for an invalid one, and RequestConflict if nothing was asked.
        """
        task, live = self._find(id)
        trial = live.trials.get(id)
        if trial is None:
            raise _refuse_phase(task)
        trial.answer(reply)
        self._settle_if_finished(live, id, trial)
        return trial

    def cancel(self, id: str) -> None:
        """Cancel a task run, started or not. What happened so far is graded as far as that is possible."""
        task, live = self._find(id)
        with live.lock:
            trial = live.trials.get(id)
            if trial is None:
                task = self.table.task(id)
                if task.phase == "completed":
                    raise _refuse_phase(task)
                self._save(live, task, build_unstarted(_spec(live, task), NOT_STARTED, "cancelled"))
        if trial is not None:
            self._stop(live, id, trial, "cancelled")
        self._end_if_done(live)

    def cancel_run(self, run_id: str) -> None:
        """Cancel a run, with all task runs that have not ended. The others keep their results."""
        if self.table.run(run_id).phase == "completed":
            raise RequestConflict(f"{run_id} has ended")
        live = self._get(run_id)
        for task in self.table.tasks(run_id):
            trial = live.trials.get(task.id)
            if trial is not None:
                self._stop(live, task.id, trial, "cancelled")
        self._end(live, "cancelled")

    def rescore(self, run_id: str) -> ServedRun:
        """Grade the logs of a run that has ended again. The result is another run; the original does not change."""
        run = self.table.run(run_id)
        if run.phase != "completed":
            raise RequestConflict(f"{run_id} has not ended")
        with self.reading() as store:
            judging = RescoreOptions(settings=self._settings)
            graded = rescore(store, run_id, self._catalog, judging=judging).run
            verdict, score = grade_run(store, graded.id)
        moment = get_timestamp()
        again = replace(
            run, id=graded.id, created_at=moment, expires_at=moment, status="completed", verdict=verdict, score=score
        )
        tasks = [replace(task, id=_new_task_id(), run=graded.id) for task in self.table.tasks(run_id)]
        self.table.add(again, tasks)
        return again

    def find_result(self, task: ServedTask) -> TaskRun | None:
        """Return the stored record of a task run; None if it has not ended."""
        if task.phase != "completed":
            return None
        with self.reading() as store:
            runs = store.task_runs(task.run, task=task.task)
        return next((each for each in runs if each.trial == task.trial), None)

    def close(self) -> None:
        """Stop. Trials under way are parked: their journals stay, and the next start of the server reads them."""
        self._stopped.set()
        self._watcher.join()
        self._graders.shutdown()
        self._listeners.close()
        self._http.close()
        with self._lock:
            for live in self._runs.values():
                live.hold.__exit__(InterruptedError, InterruptedError(), None)
                for journal in live.journals.values():
                    journal.park()
            self._runs.clear()
        self._cache.close()

    def _open(self, plan: RunPlan, built: Mapping[str, BuiltTask], hold: RunLock, ledger: Ledger) -> LiveRun:
        schedule = TrialSchedule(list(built.values()), plan.plan, plan.run.id)
        context = BatchContext(
            plan.solver,
            self._gateway,
            self._base_url,
            hold.begin,
            models=plan.models,
            listeners=self._listeners,
            watchdog=self._watchdog,
        )
        specs = {(spec.built.snapshot.task.name, spec.trial): spec for spec in schedule.first_trials()}
        return LiveRun(plan, hold, ledger, context, specs)

    def _find(self, id: str) -> tuple[ServedTask, LiveRun]:
        """Return a task run of a run that has not ended. Raise RequestConflict if it has."""
        task = self.table.task(id)
        if self.table.run(task.run).phase == "completed":
            raise RequestConflict(f"the benchmark run {task.run} has ended")
        return task, self._get(task.run)

    def _get(self, run_id: str) -> LiveRun:
        """Return a run that has not ended, opened from the store if the server was started since."""
        with self._lock:
            live = self._runs.get(run_id)
            if live is None:
                live = self._runs[run_id] = self._reopen(run_id)
            return live

    def _reopen(self, run_id: str) -> LiveRun:
        with self._store_lock:
            solver = RemoteSolver(self._store.run(run_id).solver)
            plan = plan_resume(self._store, run_id, self._catalog, self._settings, agent=solver).plan
            ledger = self._store.ledger(run_id)
        built = {task.snapshot.task.name: task for task in plan.build(self._catalog)}
        return self._open(plan, built, self._store.hold(run_id), ledger)

    def _begin(self, live: LiveRun, task: ServedTask) -> LiveTrial | None:
        """Build the trial of a task run. If that fails, the task run has ended as errored, and None is returned."""
        if task.phase == "completed":
            raise _refuse_phase(task)
        if self.trial_count >= MAX_LIVE_TRIALS:
            raise ServerBusy(f"{MAX_LIVE_TRIALS:,} trials are under way; start it again when some have ended")
        spec, started = _spec(live, task), replace(task, phase="started", started_at=get_timestamp())
        try:
            trial = LiveTrial(spec, live.context)
        except Exception as error:  # any error becomes the result of the trial
            trace = render_bug_traceback(error)
            self._save(live, started, build_unstarted(spec, describe_failure(error), traceback=trace))
            return None
        path = self._folder / f"{task.id}-{task.attempt}{SUFFIX}"
        live.journals[task.id] = TrialJournal(path, task.run, spec.key(), trial.playground)
        live.context.begin(spec.key())
        live.trials[task.id] = trial
        self.table.set_task(started)
        run = self.table.run(task.run)
        if run.phase == "created":
            self.table.set_run(replace(run, phase="started"))
        return trial

    def _stop(self, live: LiveRun, id: str, trial: LiveTrial, ending: Ending) -> None:
        if trial.stop(ending):
            self._settle_if_finished(live, id, trial)

    def _settle_if_finished(self, live: LiveRun, id: str, trial: LiveTrial) -> None:
        """Save a trial that has ended, and end the run after its last one."""
        if trial.finished is None:
            return
        with live.lock:
            if live.trials.get(id) is trial:
                self._save(live, self.table.task(id), trial.finished)
                live.journals.pop(id).close()
                del live.trials[id]
        self._end_if_done(live)

    def _save(self, live: LiveRun, task: ServedTask, finished: FinishedTrial) -> None:
        with self._store_lock:
            live.ledger.add(self._store.save([finished], live.ledger.last))
        self.table.set_task(replace(task, phase="completed", completed_at=get_timestamp()))

    def _end_if_done(self, live: LiveRun) -> None:
        if all(task.phase == "completed" for task in self.table.tasks(live.plan.run.id)):
            self._end(live, "completed")

    def _end(self, live: LiveRun, status: RunState) -> None:
        with live.lock, self._store_lock:
            run_id = live.plan.run.id
            run = self.table.run(run_id)
            if run.phase == "completed":
                return
            end_run(self._store, run_id, status, now().isoformat(), live.ledger)
            verdict, score = grade_run(self._store, run_id)
            self.table.set_run(replace(run, phase="completed", status=status, verdict=verdict, score=score))
            live.hold.__exit__(None, None, None)
            with self._lock:
                self._runs.pop(run_id, None)

    def _recover(self) -> None:
        """Save what the journals have of trials that the end of the process cut off; they can be started again."""
        for path, content in read_journals(self._folder):
            with suppress(InputError):
                self._save_cut_off(content)
            path.unlink()
        for run in self.table.unfinished():
            for task in self.table.tasks(run.id):
                if task.phase == "started":
                    self.table.set_task(replace(task, phase="created", attempt=task.attempt + 1, started_at=None))

    def _save_cut_off(self, content: JournalContent) -> None:
        """Save a trial that was cut off as a cancelled attempt, unless it was saved just before."""
        run_id, attempt = content.run, content.attempt
        task = self.table.find_task(run_id, attempt.task, attempt.trial)
        if task.phase == "completed":
            return
        known = {(each.task, each.trial): each.attempt for each in self._store.outcomes(run_id)}
        if known.get((attempt.task, attempt.trial), 0) >= attempt.attempt:
            self.table.set_task(replace(task, phase="completed", completed_at=get_timestamp()))
            return
        live = self._get(run_id)
        finished = build_unstarted(_spec(live, task), CUT_OFF, "cancelled")
        record = finished.task_run.model_copy(update={"head": content.head, "events": len(content.lines)})
        finished = finished._replace(task_run=record, log=content.log, blobs=content.blobs)
        live.ledger.add(self._store.save([finished], live.ledger.last))

    def _watch(self) -> None:
        """End what takes too long."""
        checks = 0
        while not self._stopped.wait(WATCH_INTERVAL):
            self._watchdog.beat()
            for live in list(self._runs.values()):
                for id, trial in list(live.trials.items()):
                    if trial.is_overdue:
                        self._graders.submit(self._stop, live, id, trial, "timed_out")
            checks += 1
            if checks % EXPIRY_INTERVAL == 0:
                self._end_expired()

    def _end_expired(self) -> None:
        moment = get_timestamp()
        for run in self.table.unfinished():
            if run.expires_at < moment:
                with suppress(RequestConflict):
                    self.cancel_run(run.id)


def grade_run(store: Store, run_id: str) -> tuple[Verdict | None, float | None]:
    """Return the verdict and the score of a run that has ended.

    The score is the mean over its task runs. The verdict is pass if every graded task run passed, fail if none did even
    in part, and else partial: a mean may not hide a failed gate.
    """
    graded = [each for each in store.each(run_id) if each.verdict in ("pass", "partial", "fail")]
    if not graded:
        return None, None
    scores = [each.score for each in graded if each.score is not None]
    verdicts = {each.verdict for each in graded}
    verdict: Verdict = "pass" if verdicts == {"pass"} else "fail" if verdicts == {"fail"} else "partial"
    return verdict, sum(scores) / len(scores) if scores else None


def _new_task_id() -> str:
    return new_name("tr").replace("-", "_")


def _spec(live: LiveRun, task: ServedTask) -> TrialSpec:
    """Return the trial of a task run, with the number of its attempt."""
    return live.specs[task.task, task.trial]._replace(attempt=task.attempt)


def _refuse_phase(task: ServedTask) -> RequestConflict:
    if task.phase == "completed":
        return RequestConflict(f"the task run {task.id} has ended")
    return RequestConflict(f"the task run {task.id} was not started; start it first")
