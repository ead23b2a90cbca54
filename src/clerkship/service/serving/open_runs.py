"""The runs of a server that have not ended: locked in the store, and saved there and in the table of the server.

The store has every result, and the end of a run, before the table has. What the end of the process interrupted between
the two is finished at the next start.
"""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from clerkship.actors.remote import RemoteSolver
from clerkship.engine.build import BuiltTask
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.schedule import TrialSchedule
from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec
from clerkship.kit.wall import now
from clerkship.model.errors import ClerkshipError
from clerkship.model.run import Attempt, Verdict
from clerkship.model.server_objects import RunState
from clerkship.service.planning.plan import RunPlan
from clerkship.service.resume import plan_resume
from clerkship.service.serving.database import get_timestamp
from clerkship.service.serving.live_trial import LiveTrial
from clerkship.service.serving.recovery import build_cut_off, recover_task
from clerkship.service.serving.refusals import RequestConflict
from clerkship.service.serving.run_table import RunTable, ServedRun, ServedTask
from clerkship.service.serving.sandbox_host import SandboxHost
from clerkship.service.serving.trial_journal import JournalContent, TrialJournal, read_journals
from clerkship.service.stored_runs import end_run
from clerkship.settings import Settings
from clerkship.store.contract import RunLock, Store, UnknownRun
from clerkship.store.opening import open_store
from clerkship.store.seal import Ledger
from clerkship.store.sql import SqlStore

_LOG = logging.getLogger("clerkship.server")


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
    has_ended: bool = False
    """Whether nothing can be started or saved any more: it has ended, or the server stops."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Taken before the lock of the store, and never while that of a trial is held."""

    def require_open(self) -> None:
        """Raise RequestConflict if it has ended. Call it with the lock held."""
        if self.has_ended:
            raise RequestConflict(f"the benchmark run {self.plan.run.id} has ended")

    def spec(self, task: ServedTask) -> TrialSpec:
        """Return the trial of a task run, with the number of its attempt."""
        return self.specs[task.task, task.trial]._replace(attempt=task.attempt)


class OpenRuns:
    """Opens, saves and ends runs."""

    def __init__(
        self, store: SqlStore, table: RunTable, settings: Settings, catalog: RegisteredCatalog, host: SandboxHost
    ) -> None:
        self._store, self.table = store, table
        self._settings, self._catalog, self._host = settings, catalog, host
        self._store_lock = threading.RLock()
        self._readers: list[SqlStore] = []
        self._runs: dict[str, LiveRun] = {}
        self._opening = threading.Lock()
        self._is_closed = False

    def __iter__(self) -> Iterator[LiveRun]:
        return iter(list(self._runs.values()))

    def __len__(self) -> int:
        return len(self._runs)

    @contextmanager
    def reading(self) -> Iterator[SqlStore]:
        """Give access to the store, on a connection that no other thread uses meanwhile."""
        try:
            store = self._readers.pop()
        except IndexError:
            store = open_store(self._settings, self._store.place)
        try:
            yield store
        finally:
            if self._is_closed:
                store.close()
            else:
                self._readers.append(store)

    def create(self, plan: RunPlan, specs: Sequence[TrialSpec], run: ServedRun, tasks: Sequence[ServedTask]) -> None:
        """Save a new run. The table has it first, so that the next start finds what the end of the process cuts off."""
        self.table.add(run, tasks)
        try:
            with self._store_lock:
                self._store.open_run(plan.run, plan.frozen())
                self._runs[run.id] = self._open(plan, specs)
        except ClerkshipError:
            self.table.set_run(replace(run, phase="completed", status="failed"))
            raise

    def find(self, run_id: str) -> LiveRun | None:
        """Return a run if it is open."""
        return self._runs.get(run_id)

    def get(self, run_id: str) -> LiveRun:
        """Return a run that has not ended, opened from the store if the server was started since.

        Raise RequestConflict if it has ended.
        """
        live = self._runs.get(run_id)
        if live is None:
            with self._opening:
                live = self._runs.get(run_id)
                if live is None:
                    if self.table.run(run_id).phase == "completed":  # it is saved before the run is removed
                        raise RequestConflict(f"the benchmark run {run_id} has ended")
                    live = self._runs[run_id] = self._reopen(run_id)
        return live

    def _open(self, plan: RunPlan, specs: Sequence[TrialSpec]) -> LiveRun:
        """Lock a run of the store. Call it with the lock of the store held."""
        hold = self._store.hold(plan.run.id)
        try:
            ledger = self._store.ledger(plan.run.id)
        except BaseException:
            hold.__exit__(InterruptedError, InterruptedError(), None)
            raise
        context = self._host.build_context(plan, hold.begin)
        return LiveRun(plan, hold, ledger, context, {spec.key()[:2]: spec for spec in specs})

    def _reopen(self, run_id: str) -> LiveRun:
        with self._store_lock:
            solver = RemoteSolver(self._store.run(run_id).solver)
            plan = plan_resume(self._store, run_id, self._catalog, self._settings, agent=solver).plan
        built = {task.snapshot.task.name: task for task in plan.build(self._catalog)}
        with self._store_lock:
            return self._open(plan, list_trials(plan, built))

    def save(self, live: LiveRun, ended: Sequence[tuple[ServedTask, FinishedTrial]]) -> None:
        """Save results. Those that the store has already, because the table could not be written then, stay."""
        unsaved = [finished for _, finished in ended if _get_attempt(finished) not in live.ledger.trials]
        with self._store_lock:
            live.ledger.add(self._store.save(unsaved, live.ledger.last))
        moment = get_timestamp()
        self.table.set_tasks([replace(task, phase="completed", completed_at=moment) for task, _ in ended])

    def end_if_done(self, live: LiveRun) -> None:
        """End a run if all its task runs have ended."""
        if self.table.is_done(live.plan.run.id):
            self.end(live, "completed")

    def end(self, live: LiveRun, status: RunState) -> None:
        """End a run, unless it has ended."""
        run_id = live.plan.run.id
        with live.lock:
            if live.has_ended:
                return
            with self._store_lock:
                end_run(self._store, run_id, status, now().isoformat(), live.ledger)
            self._save_end(self.table.run(run_id), status)
            live.has_ended = True
            live.hold.__exit__(None, None, None)
        self._runs.pop(run_id, None)

    def _save_end(self, run: ServedRun, status: RunState) -> None:
        with self.reading() as store:
            verdict, score = grade_run(store, run.id)
        self.table.set_run(replace(run, phase="completed", status=status, verdict=verdict, score=score))

    def recover(self, folder: Path) -> None:
        """Save what the journals have of trials that the end of the process cut off; they can be started again.

        Then finish what the end of the process interrupted between the store and the table.
        """
        for path, content in read_journals(folder):
            try:
                self._save_cut_off(content)
            except ClerkshipError as error:  # such as a run that this version of the program cannot continue
                _LOG.error("%s is kept, because its trial cannot be saved: %s", path, error)
            else:
                path.unlink()
        for run in self.table.unfinished():
            try:
                self._recover_run(run)
            except ClerkshipError as error:
                _LOG.error("%s cannot be recovered: %s", run.id, error)

    def _save_cut_off(self, content: JournalContent) -> None:
        """Save a trial that was cut off as a cancelled attempt, unless it was saved just before."""
        attempt = content.attempt
        task = self.table.find_task(content.run, attempt.task, attempt.trial)
        if task.phase == "completed":
            return
        live = self.get(content.run)
        if attempt in live.ledger.trials:
            return
        finished = build_cut_off(live.specs[attempt[:2]], content)
        live.ledger.add(self._store.save([finished], live.ledger.last))

    def _recover_run(self, run: ServedRun) -> None:
        """Make the table agree with the store, which has every result first, and the end of a run."""
        try:
            status = self._store.run(run.id).status
        except UnknownRun:  # it was not created completely
            self.table.set_run(replace(run, phase="completed", status="failed"))
            return
        tasks = self.table.tasks(run.id)
        opened = [task for task in tasks if task.phase != "completed"]
        recovered = [recover_task(task, self._store.task_run(run.id, task.task, task.trial)) for task in opened]
        self.table.set_tasks([after for before, after in zip(opened, recovered, strict=True) if after != before])
        if status != "active":
            self._save_end(run, status)
        elif all(task.phase == "completed" for task in recovered):
            self.end(self.get(run.id), "completed")

    def fail(self, run: ServedRun) -> None:
        """End a run that this version of the program cannot continue."""
        with self._store_lock:
            self._store.mark(run.id, "cancelled", now().isoformat())
        self._save_end(run, "failed")

    def close(self) -> None:
        """Park the trials under way, and release all runs."""
        self._is_closed = True
        for live in self:
            with live.lock:
                live.has_ended = True
                live.hold.__exit__(InterruptedError, InterruptedError(), None)
                for journal in live.journals.values():
                    journal.park()
        self._runs.clear()
        while self._readers:
            self._readers.pop().close()


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


def list_trials(plan: RunPlan, built: Mapping[str, BuiltTask]) -> list[TrialSpec]:
    """Return the trials of a run."""
    return TrialSchedule(list(built.values()), plan.plan, plan.run.id).first_trials()


def _get_attempt(finished: FinishedTrial) -> Attempt:
    return Attempt(*finished.task_run.outcome()[:3])
