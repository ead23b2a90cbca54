"""Run many trials concurrently: pass them to workers, watch their time limits, and save each one as it finishes.

See docs/decisions/0028-budgets.md.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from clerkship.engine.spec import BatchContext, FinishedTrial, TrialSpec, is_overloaded
from clerkship.engine.worker import NoMoreWorkers, Worker, WorkerResult, finish_trial
from clerkship.kit.stop_signals import handle_stop_signals
from clerkship.kit.wall import monotonic, sleep

WATCH_INTERVAL = 0.1
"""Seconds between two checks of the time limits."""
START_WORKER_AFTER = 0.002
"""Seconds without a result after which more workers are started."""
COLLECT_SECONDS = 0.005
"""How long to wait for more results, to save them together: a transaction takes as long as a short trial."""
MAX_COLLECT_WAITS = 4
"""How often to wait for more, while results keep coming."""
MAX_STOP_SECONDS = 0.7
"""Time for running trials to end when the batch is stopped."""
MAX_CLOSE_SECONDS = 3.0
"""Time for stopped agents to release their resources. A program of an agent may have to be killed."""
MAX_UNSAVED = 64
"""Results that may wait to be saved. Workers wait if there are more, to limit memory."""

SaveTrials = Callable[[list[FinishedTrial]], None]
NextTrials = Callable[[list[FinishedTrial]], Iterable[TrialSpec]]


@dataclass(repr=False)  # `signal.signal` calls the repr of a handler, which would include all jobs
class TrialBatch:
    """Runs trials in worker threads, from the thread of the caller. Ctrl-C stops it and keeps the finished trials."""

    jobs: list[TrialSpec]
    context: BatchContext
    concurrency: int
    save: SaveTrials
    next_trials: NextTrials = lambda finished: ()
    """Returns further trials, given those that have finished."""
    cancelled: bool = False
    _stopping: bool = False
    _jobs: "queue.SimpleQueue[TrialSpec | None]" = field(default_factory=queue.SimpleQueue)
    _results: "queue.SimpleQueue[WorkerResult | None]" = field(default_factory=queue.SimpleQueue)
    """The results of workers; None wakes up the thread that waits for them."""
    _results_taken: threading.Event = field(default_factory=threading.Event)
    _is_full: bool = False
    """Whether a worker waits until results are saved."""
    _workers: list[Worker] = field(default_factory=list)
    _repetitions: list[TrialSpec] = field(default_factory=list)
    """Trials to run again, each while nothing else runs."""
    _unfinished: int = 0
    _watch_at: float = 0.0

    def run(self) -> None:
        """Run until every trial is done or the batch is stopped. Finished trials are saved in any case."""
        for job in self.jobs:
            self._jobs.put(job)
        self._unfinished = len(self.jobs)
        try:
            self._start_worker()
            while self._has_work() and not self._stopping:
                self._process(self._collect(self._wait_seconds()))
                self._watch()
                self._repeat_alone()
            if self._unfinished:
                self.cancelled = True
                self._stop()
        finally:
            self._end_workers()

    def _has_work(self) -> bool:
        return self._unfinished > 0

    def stop(self) -> None:
        """Ask the batch to stop. Can be called from any thread, and by a signal handler.

        Before Python 3.13, a wait that a signal handler outlasts never ends, whatever its timeout.
        """
        self._stopping = True
        self._results.put(None)

    def handle_stop_signals(self) -> AbstractContextManager[None]:
        """Stop on the first Ctrl-C, SIGTERM or SIGHUP: programs started by agents must not outlive this process."""
        return handle_stop_signals(self.stop)

    def _wait_seconds(self) -> float:
        """Return how long to wait for results.

        Workers are added only while no results come in. So agents that wait for something get more workers, and
        agents that only compute do not compete for one interpreter.
        """
        can_start_worker = len(self._workers) < self.concurrency and not self._jobs.empty()
        return START_WORKER_AFTER if can_start_worker else WATCH_INTERVAL

    def _start_worker(self) -> None:
        self._workers.append(Worker(self.context, self._jobs, self._submit))

    def _submit(self, result: WorkerResult) -> None:
        """Submit a result. Called by workers, which wait here if results come faster than they can be saved."""
        self._results.put(result)
        while self._results.qsize() > MAX_UNSAVED and not self._stopping:
            self._is_full = True
            self._results_taken.wait(WATCH_INTERVAL)

    def _collect(self, wait: float) -> list[WorkerResult]:
        """Return the results that come within a few milliseconds, to be saved in one transaction."""
        results: list[WorkerResult] = []
        self.context.watchdog.beat()
        try:
            self._take(results, wait)
            self._wait_for_more()
            while len(results) < MAX_UNSAVED:
                self._take(results)
        except queue.Empty:
            if not self._stopping and not results:
                self._start_more()
        return results

    def _take(self, results: list[WorkerResult], wait: float = 0.0) -> None:
        """Add the next result, if it comes within some seconds. Raise queue.Empty if nothing does."""
        result = self._results.get(block=bool(wait), timeout=wait or None)
        if result is not None:
            results.append(result)

    def _wait_for_more(self) -> None:
        """Wait after a result for those that come soon after it."""
        for _ in range(MAX_COLLECT_WAITS):
            waiting = self._results.qsize()
            if waiting + 1 >= min(self._unfinished, MAX_UNSAVED) or self._stopping:
                return
            sleep(COLLECT_SECONDS)
            if self._results.qsize() == waiting:
                return

    def _start_more(self) -> None:
        """Double the number of workers, as far as there is work for them."""
        for _ in range(min(len(self._workers), self.concurrency - len(self._workers), self._jobs.qsize())):
            try:
                self._start_worker()
            except NoMoreWorkers:
                self.concurrency = len(self._workers)  # the limit of the system
                return

    def _process(self, results: list[WorkerResult]) -> None:
        self._save_trials([item.finished for item in results if item.finished is not None])
        for item in results:
            if item.worker.retired and item.worker in self._workers:
                self._workers.remove(item.worker)
                self._start_worker()

    def _save_trials(self, finished: list[FinishedTrial]) -> None:
        if self._is_full:  # wake the workers that wait in `_submit`
            self._is_full = False
            self._results_taken.set()
            self._results_taken.clear()
        self._unfinished -= len(finished)
        if not finished:
            return
        self.save(finished)
        if self._stopping:
            return
        for job in self.next_trials(finished):
            self._unfinished += 1
            self._jobs.put(job)
        repeated = [item.retry for item in finished if item.retry is not None]
        self._unfinished += len(repeated)
        self._repetitions += repeated

    def _repeat_alone(self) -> None:
        """Start the next repetition, once everything else is done."""
        if self._repetitions and self._unfinished == len(self._repetitions):
            self._jobs.put(self._repetitions.pop(0))

    def _watch(self) -> None:
        """Check the time limit of every trial, ten times a second. Checking after each result would cost too much."""
        if monotonic() < self._watch_at:
            return
        self._watch_at = monotonic() + WATCH_INTERVAL
        self._record_overload()
        for worker in list(self._workers):
            trial = worker.stop_overdue()
            if trial is not None and trial.claim():
                worker.retired = True
                self._workers.remove(worker)
                self._save_trials([finish_trial(trial, trial.ending_if_stopped("timed_out"))])
                self._start_worker()

    def _record_overload(self) -> None:
        """Record in every running trial whether agents slow each other down now."""
        trials = [(worker, trial) for worker in self._workers if (trial := worker.trial) is not None]
        is_overloaded_now = is_overloaded([worker.measure_load() for worker, _ in trials])
        for _, trial in trials:
            trial.overload.record(is_overloaded_now)

    def _stop(self) -> None:
        """Cancel the running trials, wait a few seconds for them to end, and abandon those that do not."""
        self._end_workers()
        for worker in self._workers:
            worker.stop()
        self.context.models.close()
        deadline = monotonic() + MAX_STOP_SECONDS
        while monotonic() < deadline and any(worker.trial is not None for worker in self._workers):
            for worker in self._workers:
                worker.stop_overdue()
            self._process_last(self._collect(0.02))
        while monotonic() < deadline + MAX_CLOSE_SECONDS and any(worker.finishing for worker in self._workers):
            self._process_last(self._collect(0.02))
        while self._process_last(self._collect(0.05)):
            pass
        abandoned = [worker.trial for worker in self._workers if worker.trial is not None]
        self._save_trials([finish_trial(trial, "cancelled") for trial in abandoned if trial.claim()])

    def _end_workers(self) -> None:
        """Empty the queue, and queue a None for each worker, which ends it."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        for _ in range(len(self._workers) + 1):
            self._jobs.put(None)

    def _process_last(self, results: list[WorkerResult]) -> bool:
        """Save results without starting new workers; return whether there were any."""
        self._save_trials([item.finished for item in results if item.finished is not None])
        return bool(results)
