"""Benchmark runs whose agents work through the API: created, started task by task, completed, recovered after a kill.

A run here is a run of the store: `clerkship list`, `show`, `compare` and `rescore` read it. The engine plays and grades
its trials, as in `clerkship run`.

See docs/decisions/0033-server.md.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from clerkship.actors.contract import AgentError
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.spec import build_unstarted
from clerkship.engine.worker import describe_failure, render_bug_traceback
from clerkship.kit.secrets import new_name
from clerkship.kit.wall import now
from clerkship.model.errors import ClerkshipError, InputError
from clerkship.model.run import Ending, TaskRun
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.service.serving.benchmark_cache import BenchmarkCache, RunSelection
from clerkship.service.serving.database import get_timestamp
from clerkship.service.serving.live_trial import LiveTrial
from clerkship.service.serving.open_runs import LiveRun, OpenRuns, grade_run, list_trials
from clerkship.service.serving.refusals import RequestConflict
from clerkship.service.serving.run_table import RunTable, ServedRun, ServedTask
from clerkship.service.serving.sandbox_host import SandboxHost
from clerkship.service.serving.trial_journal import SUFFIX, TrialJournal
from clerkship.settings import Settings
from clerkship.store.contract import SealBroken
from clerkship.store.sql import SqlStore
from clerkship.transports.network import SandboxNetwork

WATCH_INTERVAL = 0.1
"""Seconds between two checks of the time limits."""
EXPIRY_INTERVAL = 50
"""Every how many checks it is checked which runs have expired."""
MAX_LIVE_TRIALS = 2000
"""Trials under way at the same time."""
MAX_OPEN_RUNS = 5000
"""Runs that have not ended and were used since the server started. Each keeps a file open."""
MAX_OPEN_RUNS_OF_SOLVER = 500
"""So that one solver does not take the runs of all others."""
MAX_GRADERS = 2
"""Threads that grade trials whose time is over."""
RUN_LIFETIME = timedelta(hours=24)
"""How long the token of a run is valid, and the run may take."""
NOT_STARTED = "cancelled before it was started"


_LOG = logging.getLogger("clerkship.server")


class ServerBusy(ClerkshipError):
    """As much is under way as may be."""


@dataclass(frozen=True)
class NewRun:
    """A request for a run."""

    selection: RunSelection
    solver: str
    """The name of the agent, as the run shows it."""
    solver_id: str | None = None
    scored: bool = False
    lifetime: timedelta = RUN_LIFETIME


@dataclass(frozen=True)
class ServingOptions:
    """With what a server runs its trials, and where their sandboxes listen."""

    settings: Settings
    catalog: RegisteredCatalog
    network: SandboxNetwork


class LiveRuns:
    """All runs of a server that have not ended."""

    def __init__(
        self,
        folder: Path,
        store: SqlStore,
        table: RunTable,
        options: ServingOptions,
    ) -> None:
        settings, catalog = options.settings, options.catalog
        self._folder, self.table = folder, table
        self._settings, self._catalog = settings, catalog
        folder.mkdir(parents=True, exist_ok=True)
        self._cache = BenchmarkCache(settings, catalog)
        self._host = SandboxHost(options.network)
        self._runs = OpenRuns(store, table, settings, catalog, self._host)
        self.reading = self._runs.reading
        self._graders = ThreadPoolExecutor(MAX_GRADERS, "clerkship-grader")
        self._being_ended: set[str] = set()
        self._stopped = threading.Event()
        self._runs.recover(folder)
        self._watcher = threading.Thread(target=self._watch, name="clerkship-watch", daemon=True)
        self._watcher.start()

    @property
    def sandbox_url(self) -> str:
        """The URL of the sandboxes' HTTP server."""
        return self._host.url()

    @property
    def trial_count(self) -> int:
        """How many trials are under way."""
        return sum(len(run.trials) for run in self._runs)

    def create(self, request: NewRun) -> tuple[ServedRun, list[ServedTask]]:
        """Create a run of a published version, with one task run for each trial."""
        if len(self._runs) >= MAX_OPEN_RUNS:
            raise ServerBusy(f"{MAX_OPEN_RUNS:,} runs have not ended; complete or cancel some, or try again later")
        if request.solver_id is not None and self.table.count_open(request.solver_id) >= MAX_OPEN_RUNS_OF_SOLVER:
            raise ServerBusy(f"{MAX_OPEN_RUNS_OF_SOLVER} runs of this solver have not ended; complete or cancel some")
        ready = self._cache.get(request.selection)
        plan = ready.plan(request.solver)
        version = plan.run.published
        if version is None:
            raise InputError.of(f"{request.selection.archive.name} is not a published version")
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
            (now() + request.lifetime).isoformat(timespec="microseconds"),
        )
        specs = list_trials(plan, ready.built)
        tasks = [ServedTask(_new_task_id(), served.id, *each.key(), "created") for each in specs]
        self._runs.create(plan, specs, served, tasks)
        return served, tasks

    def start(self, id: str) -> None:
        """Start a task run: run its scenario. One that is started already stays as it is.

        So an agent that did not get the answer can ask again.
        """
        _, live = self._find(id)
        with live.lock:
            live.require_open()
            trial = live.trials.get(id) or self._begin(live, self.table.task(id))
        if trial is None:
            self._runs.end_if_done(live)
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

    def get_trial(self, task: ServedTask) -> LiveTrial | None:
        """Return the trial of a task run, if it is under way."""
        live = self._runs.find(task.run)
        return None if live is None else live.trials.get(task.id)

    def request(self, id: str, message: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a request of the agent of a started task run to a sandbox."""
        return self.hear(id).request(message)

    def answer(self, id: str, reply: dict[str, Any] | AgentError) -> LiveTrial:
        """Pass a reply of the agent, or its failure, to its trial.

        Raise AgentError for an invalid reply, and RequestConflict if nothing was asked.
        """
        task, live = self._find(id)
        trial = live.trials.get(id)
        if trial is None:
            raise _refuse_phase(task)
        try:
            trial.answer(reply)
        finally:
            self._settle_if_finished(live, id, trial)
        return trial

    def cancel(self, id: str) -> None:
        """Cancel a task run, started or not. What happened so far is graded as far as that is possible."""
        _, live = self._find(id)
        with live.lock:
            live.require_open()
            trial = live.trials.get(id)
            if trial is None:
                task = self.table.task(id)
                if task.phase == "completed":
                    raise _refuse_phase(task)
                self._runs.save(live, [(task, build_unstarted(live.spec(task), NOT_STARTED, "cancelled"))])
        if trial is not None:
            self._stop(live, id, trial, "cancelled")
        self._runs.end_if_done(live)

    def cancel_run(self, run_id: str) -> None:
        """Cancel a run, with all task runs that have not ended. The others keep their results."""
        live = self._runs.get(run_id)
        with live.lock:  # so nothing is started meanwhile
            live.require_open()
            for id, trial in list(live.trials.items()):
                trial.stop("cancelled")
                self._settle(live, id, trial)
            unstarted = [task for task in self.table.tasks(run_id) if task.phase != "completed"]
            self._runs.save(
                live, [(task, build_unstarted(live.spec(task), NOT_STARTED, "cancelled")) for task in unstarted]
            )
            self._runs.end(live, "cancelled")

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
            return store.task_run(task.run, task.task, task.trial)

    def close(self) -> None:
        """Stop. Trials under way are parked: their journals stay, and the next start of the server reads them."""
        self._stopped.set()
        self._watcher.join()
        self._graders.shutdown(cancel_futures=True)
        self._host.close()
        self._runs.close()
        self._cache.close()

    def _find(self, id: str) -> tuple[ServedTask, LiveRun]:
        """Return a task run of a run that has not ended. Raise RequestConflict if it has."""
        task = self.table.task(id)
        return task, self._runs.get(task.run)

    def _begin(self, live: LiveRun, task: ServedTask) -> LiveTrial | None:
        """Build the trial of a task run. If that fails, the task run has ended as errored, and None is returned."""
        if task.phase == "completed":
            raise _refuse_phase(task)
        if self.trial_count >= MAX_LIVE_TRIALS:
            raise ServerBusy(f"{MAX_LIVE_TRIALS:,} trials are under way; start it again when some have ended")
        spec, started = live.spec(task), replace(task, phase="started", started_at=get_timestamp())
        try:
            trial = LiveTrial(spec, live.context)
        except Exception as error:  # any error becomes the result of the trial
            trace = render_bug_traceback(error)
            self._runs.save(live, [(started, build_unstarted(spec, describe_failure(error), traceback=trace))])
            return None
        path = self._folder / f"{task.id}-{task.attempt}{SUFFIX}"
        journal = TrialJournal(path, task.run, spec.key(), trial.playground)
        try:
            live.context.begin(spec.key())
            self.table.set_tasks([started])
        except BaseException:  # it can be started again
            journal.close()
            raise
        live.trials[task.id], live.journals[task.id] = trial, journal
        run = self.table.run(task.run)
        if run.phase == "created":
            self.table.set_run(replace(run, phase="started"))
        return trial

    def _stop(self, live: LiveRun, id: str, trial: LiveTrial, ending: Ending, *, wait: bool = True) -> None:
        trial.stop(ending, wait=wait)
        self._settle_if_finished(live, id, trial)

    def _settle_if_finished(self, live: LiveRun, id: str, trial: LiveTrial) -> None:
        """Save a trial that has ended, and end the run after its last one."""
        if trial.finished is not None:
            self._settle(live, id, trial)
            self._runs.end_if_done(live)

    def _settle(self, live: LiveRun, id: str, trial: LiveTrial) -> None:
        """Save a trial that has ended, once, and forget it. If it cannot be saved, a later call tries again."""
        with live.lock:
            if live.trials.get(id) is trial and trial.finished is not None and not live.has_ended:
                self._runs.save(live, [(self.table.task(id), trial.finished)])
                del live.trials[id]
                live.journals.pop(id).close()

    def _watch(self) -> None:
        """End what takes too long. This thread only looks, so that its beats are regular."""
        checks = 0
        while not self._stopped.wait(WATCH_INTERVAL):
            self._host.watchdog.beat()
            for live in self._runs:
                for id, trial in list(live.trials.items()):
                    if trial.is_overdue:
                        self._submit(id, partial(self._stop, live, id, trial, "timed_out", wait=False))
            checks += 1
            if checks % EXPIRY_INTERVAL == 0:
                self._submit("", self._end_expired)

    def _submit(self, id: str, work: Callable[[], None]) -> None:
        """Let a grader end something, unless one is at it or will be."""

        def finish(future: Future[None]) -> None:
            self._being_ended.discard(id)
            if not future.cancelled() and (error := future.exception()) is not None:
                _LOG.error("%s could not be ended: %s", id or "an expired run", error)

        if id not in self._being_ended:
            self._being_ended.add(id)
            self._graders.submit(work).add_done_callback(finish)

    def _end_expired(self) -> None:
        moment = get_timestamp()
        for run in self.table.unfinished():
            if run.expires_at < moment:
                with suppress(RequestConflict):
                    self._expire(run)

    def _expire(self, run: ServedRun) -> None:
        """Cancel a run whose time is over. One that this version of the program cannot continue has failed."""
        try:
            self.cancel_run(run.id)
        except (InputError, SealBroken):
            self._runs.fail(run)


def _new_task_id() -> str:
    return new_name("tr").replace("-", "_")


def _refuse_phase(task: ServedTask) -> RequestConflict:
    if task.phase == "completed":
        return RequestConflict(f"the task run {task.id} has ended")
    return RequestConflict(f"the task run {task.id} was not started; start it first")
