"""Run many trials, a number of them at once: hand them to workers, watch their time, and save each as it finishes."""

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from clerkship.engine.finished import FinishedTrial
from clerkship.engine.spec import BatchContext, TrialSpec
from clerkship.engine.watchdog import is_overloaded
from clerkship.engine.worker import NoMoreWorkers, Worker, WorkerResult, finish_trial
from clerkship.kit.wall import monotonic

WATCH_INTERVAL = 0.1
START_WORKER_AFTER = 0.002
MAX_STOP_SECONDS = 0.7
MAX_CLOSE_SECONDS = 3.0
"""Seconds for agents that have stopped to let go of what they hold: a program of theirs may want to be killed."""
MAX_UNSAVED = 64

_STOP_SIGNALS = [
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
]
"""Ctrl-C; and what a cancelled job, a stopped container or a closed terminal sends."""
SaveTrials = Callable[[list[FinishedTrial]], None]
NextTrials = Callable[[list[FinishedTrial]], Iterable[TrialSpec]]


@dataclass(repr=False)  # `signal.signal` asks for the repr of a handler, and so of all its jobs
class TrialBatch:
    """Runs in the caller's thread and starts workers. Ctrl-C stops it and keeps what finished."""

    jobs: list[TrialSpec]
    setting: BatchContext
    concurrency: int
    save: SaveTrials
    more: NextTrials = lambda finished: ()
    """Returns further trials, given those that have finished."""
    cancelled: bool = False
    _stopping: bool = False
    _waiting: "queue.SimpleQueue[TrialSpec | None]" = field(default_factory=queue.SimpleQueue)
    _done: "queue.SimpleQueue[WorkerResult]" = field(default_factory=queue.SimpleQueue)
    _taken: threading.Event = field(default_factory=threading.Event)
    _workers: list[Worker] = field(default_factory=list)
    _alone: list[TrialSpec] = field(default_factory=list)
    """Trials to be repeated, each while nothing else runs."""
    _open: int = 0
    _watch_at: float = 0.0

    def run(self) -> None:
        """Run until every trial is done, or until it is stopped. What finished is saved, whatever ends it."""
        for job in self.jobs:
            self._waiting.put(job)
        self._open = len(self.jobs)
        try:
            self._start_worker()
            while self._open and not self._stopping:
                self._take(self._next(self._patience()))
                self._watch()
                self._repeat_alone()
            if self._open:
                self.cancelled = True
                self._stop()
        finally:
            self._dismiss()

    def stop(self) -> None:
        """Ask for an end, from any thread."""
        self._stopping = True

    @contextlib.contextmanager
    def hearing_ctrl_c(self) -> Iterator[None]:
        """Handle the first Ctrl-C, and a plain kill, as a call of `stop`: an exception could interrupt saving a trial,
        and programs that agents have started must not outlive this process."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard = [
            number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN
        ]  # as under `nohup`
        before = {number: signal.signal(number, self._wish) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def _wish(self, number: int, frame: object) -> None:
        self.stop()
        signal.signal(number, signal.default_int_handler)  # the second one raises

    def _patience(self) -> float:
        """Return how long to wait for results. Workers are started while none come in: agents that wait get the whole
        limit, agents that only compute do not compete for one interpreter."""
        return (
            START_WORKER_AFTER
            if len(self._workers) < self.concurrency and not self._waiting.empty()
            else WATCH_INTERVAL
        )

    def _start_worker(self) -> None:
        self._workers.append(Worker(self.setting, self._waiting, self._hand_in))

    def _hand_in(self, done: WorkerResult) -> None:
        """Hand in a result. Called by workers, which wait if results are saved more slowly than they come."""
        self._done.put(done)
        while self._done.qsize() > MAX_UNSAVED and not self._stopping:
            self._taken.wait(WATCH_INTERVAL)

    def _next(self, wait: float) -> list[WorkerResult]:
        """Return all results that are there: they are saved in one transaction."""
        found: list[WorkerResult] = []
        self.setting.watchdog.beat()
        try:
            found.append(self._done.get(timeout=wait))
            while len(found) < MAX_UNSAVED:
                found.append(self._done.get_nowait())
        except queue.Empty:
            if not self._stopping and not found:
                self._start_more()
        return found

    def _start_more(self) -> None:
        """Double the number of workers, as far as there is work for them."""
        for _ in range(min(len(self._workers), self.concurrency - len(self._workers), self._waiting.qsize())):
            try:
                self._start_worker()
            except NoMoreWorkers:
                self.concurrency = len(self._workers)  # as many as the system has room for
                return

    def _take(self, done: Iterable[WorkerResult]) -> None:
        items = list(done)
        self._keep([item.finished for item in items if item.finished is not None])
        for item in items:
            if item.worker.retired and item.worker in self._workers:
                self._workers.remove(item.worker)
                self._start_worker()

    def _keep(self, finished: list[FinishedTrial]) -> None:
        self._taken.set()
        self._taken.clear()
        self._open -= len(finished)
        if not finished:
            return
        self.save(finished)
        if self._stopping:
            return
        for job in self.more(finished):
            self._open += 1
            self._waiting.put(job)
        repeated = [item.again for item in finished if item.again is not None]
        self._open += len(repeated)
        self._alone += repeated

    def _repeat_alone(self) -> None:
        """Start the next repetition, once everything else is done."""
        if self._alone and self._open == len(self._alone):
            self._waiting.put(self._alone.pop(0))

    def _watch(self) -> None:
        """Check the time of every trial, ten times a second: after each result it would cost more than the trials."""
        if monotonic() < self._watch_at:
            return
        self._watch_at = monotonic() + WATCH_INTERVAL
        self._note_crowding()
        for worker in list(self._workers):
            trial = worker.overdue()
            if trial is not None and trial.claim():
                worker.retired = True
                self._workers.remove(worker)
                self._keep([finish_trial(trial, trial.out_of_time("timed_out"))])
                self._start_worker()

    def _note_crowding(self) -> None:
        """Tell every trial under way whether agents hold each other up now."""
        trials = [(worker, trial) for worker in self._workers if (trial := worker.trial) is not None]
        crowded = is_overloaded([worker.load() for worker, _ in trials])
        for _, trial in trials:
            trial.crowding.note(crowded)

    def _stop(self) -> None:
        """Cancel what runs, wait for it to end, give up the rest."""
        self._dismiss()
        for worker in self._workers:
            worker.stop()
        self.setting.models.close()
        until = monotonic() + MAX_STOP_SECONDS
        while monotonic() < until and any(worker.trial is not None for worker in self._workers):
            for worker in self._workers:
                worker.overdue()
            self._take_last(self._next(0.02))
        while monotonic() < until + MAX_CLOSE_SECONDS and any(worker.finishing for worker in self._workers):
            self._take_last(self._next(0.02))
        while self._take_last(self._next(0.05)):
            pass
        abandoned = [worker.trial for worker in self._workers if worker.trial is not None]
        self._keep([finish_trial(trial, "cancelled") for trial in abandoned if trial.claim()])

    def _dismiss(self) -> None:
        """Empty the queue, and end the workers."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        for _ in range(len(self._workers) + 1):
            self._waiting.put(None)

    def _take_last(self, done: list[WorkerResult]) -> bool:
        self._keep([item.finished for item in done if item.finished is not None])
        return bool(done)
