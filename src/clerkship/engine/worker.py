"""A worker: a thread that runs one trial at a time, and can be abandoned if an agent does not return.

An agent in this process may block, or loop forever. It only blocks its own worker: when its time is over, an
exception is raised in its thread. If that does not stop it, the worker is abandoned and another thread finishes the
trial.

See docs/decisions/0003-workers-and-agent-isolation.md.
"""

import asyncio
import ctypes
import math
import os
import queue
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from clerkship.actors.agent_stack import task_stacks, thread_stack
from clerkship.actors.contract import AgentStopped
from clerkship.engine.spec import BatchContext, FinishedTrial, ProcessorLoad, TrialSpec, build_unstarted, mark_cancelled
from clerkship.engine.trial import Trial
from clerkship.kit.text import describe_error, render_traceback
from clerkship.kit.wall import thread_seconds
from clerkship.model.errors import ClerkshipError, PlatformError
from clerkship.model.run import Ending, TaskRun

THREAD_NAME = "clerkship-worker"
"""The name of worker threads."""
GRACE_SECONDS = 0.3
"""Time from cancelling an overdue agent to interrupting it, and from there to abandoning it."""
MIN_BUSY_SECONDS = 0.002
"""Processor seconds between two checks, a tenth of a second apart, from which a thread or program counts as busy."""
LOOP_DESCRIPTORS = 3
"""File descriptors of an event loop: a selector, and both ends of the socket that wakes it up."""


_NO_WORKERS_HINT = "threads of agents that do not return may use up the limit of the system"


class NoMoreWorkers(PlatformError):
    """Raised when the system has no more threads or file descriptors."""


class Worker:
    """A thread with its own event loop."""

    def __init__(
        self,
        context: BatchContext,
        jobs: "queue.SimpleQueue[TrialSpec | None]",
        on_result: Callable[["WorkerResult"], None],
    ) -> None:
        self._context = context
        self._jobs = jobs
        self._on_result = on_result
        self._lock = threading.Lock()
        self._loop = _new_loop()
        self._loop.set_task_factory(self._make_task)
        self._task: asyncio.Task[None] | None = None
        self._tasks: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        """Tasks of this loop. asyncio only lists the tasks of all loops together."""
        self.trial: Trial | None = None
        self._deadline = math.inf
        self._processor_seconds = (0.0, 0.0)
        """Processor seconds of the thread and of the agent's program, at the last check."""
        self._interrupted = False
        self.retired = False
        """Whether it takes no more trials, because its agent or a task of the agent may still be running."""
        self.stopped = False
        """Whether the batch is stopping, so that its trial is cancelled."""
        self.finishing = False
        """Whether it has a trial that has ended but is not submitted yet: its agent may be closing."""
        self._ending: Ending = "timed_out"
        """The ending of the trial if it is cancelled."""
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the system's limit of threads
            self._loop.close()
            raise NoMoreWorkers(f"cannot start another worker: {error}; {_NO_WORKERS_HINT}") from None

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except (AgentStopped, asyncio.CancelledError):  # the agent was interrupted just after its trial had ended
            self.retired, self.finishing = True, False
            self._on_result(WorkerResult(self, None))
        finally:
            self._loop.close()

    def _make_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        self._tasks.add(task)
        return task

    async def _serve(self) -> None:
        """Run all trials in one task.

        This is faster than a task for each trial, which would need an iteration of the event loop.
        """
        self._task = asyncio.current_task()
        while not self.retired and (job := self._jobs.get()) is not None:
            self._on_result(await self._perform(job))
            self.finishing = False

    async def _perform(self, job: TrialSpec) -> "WorkerResult":
        try:
            self._context.begin(job.key())
        except Exception as error:  # the store cannot be written, so the trial must be run again
            return WorkerResult(self, build_unstarted(job, describe_failure(error), "cancelled"))
        try:
            trial = Trial(job, self._context)
        except Exception as error:  # any error becomes the result of the trial
            return WorkerResult(
                self, build_unstarted(job, describe_failure(error), traceback=render_bug_traceback(error))
            )
        ending, reason = await self._play(trial)
        if not self.retired:
            await self._clean_up()
        if not trial.claim():
            self.retired = True
            return WorkerResult(self, None)
        if self.stopped and trial.playground.people.model_failed:
            ending, reason = "cancelled", ""  # the model that plays the person was stopped
        finished = finish_trial(trial, ending, reason)
        if self.stopped and (_was_judge_stopped(finished.task_run) or trial.person_check_failed):
            finished = mark_cancelled(finished)  # the judge was stopped
        return WorkerResult(self, finished)

    async def _play(self, trial: Trial) -> tuple[Ending, str]:
        deadline = trial.time() + trial.timeout
        try:
            try:
                with self._lock:
                    self.trial, self._deadline = trial, deadline
                ending = await trial.play()
                return (ending if trial.time() <= deadline else self._ending), ""
            finally:
                with self._lock:
                    self.trial, self._deadline, self.finishing = None, math.inf, True
                    self._withdraw_interrupt()
        except asyncio.CancelledError:
            return trial.ending_if_stopped(self._ending), ""
        except AgentStopped:
            self.retired = True  # its loop may be in any state
            return trial.ending_if_stopped(self._ending), ""
        except BaseException as error:  # any error becomes the result of the trial, and must not end the thread
            trial.save_traceback(render_bug_traceback(error))
            return "errored", describe_failure(error)

    async def _clean_up(self) -> None:
        """Clear the cancellation of the task, and cancel the tasks that the agent left running."""
        while self._task is not None and self._task.cancelling():
            self._task.uncancel()
        if len(self._tasks) == 1:
            return  # the agent created no tasks, as most do not
        unfinished = [task for task in self._tasks if task is not self._task and not task.done()]
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.sleep(0)
        if not all(task.done() for task in unfinished):
            self.retired = True  # the next trial must not share a loop with them

    def measure_load(self) -> ProcessorLoad:
        """Return whether the thread and the agent's program have used the processor since the last call.

        If the system does not report the processor time of threads, a thread with a trial counts as busy.
        """
        thread = thread_seconds(self._thread.ident) if self._thread.ident is not None else None
        program = self.trial.program_seconds() if self.trial is not None else None
        before, self._processor_seconds = self._processor_seconds, (thread or 0.0, program or 0.0)
        is_busy = self.trial is not None if thread is None else thread - before[0] >= MIN_BUSY_SECONDS
        return ProcessorLoad(is_busy, program is not None and program - before[1] >= MIN_BUSY_SECONDS)

    def stop_overdue(self) -> Trial | None:
        """Cancel a trial that is past its deadline, and interrupt it at a later call.

        Return the trial if neither has stopped it, so that it must be abandoned; else None.
        """
        with self._lock:
            if self.trial is None or self.retired:
                return None
            late = self.trial.time() - min(self._deadline, self.trial.turn_deadline)
            if late <= 0:
                return None
            if late > GRACE_SECONDS:
                self._interrupt(self.trial)
            else:
                self._cancel(self.trial)
            return self.trial if late > 2 * GRACE_SECONDS else None

    def stop(self) -> None:
        """Cancel the current trial."""
        with self._lock:
            self.stopped = True
            if self.trial is not None:
                self._ending = "cancelled"
                self._deadline = min(self._deadline, self.trial.time())

    def _cancel(self, trial: Trial) -> None:
        """Cancel the task, which stops an agent that awaits something."""

        def cancel() -> None:
            if self.trial is trial and self._task is not None:
                trial.save_stack(task_stacks(self._tasks))
                self._task.cancel()

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(cancel)

    def _interrupt(self, trial: Trial) -> None:
        """Raise an exception in the agent's thread, which stops an agent that computes, but not one that blocks.

        If the lock of the playground is held, wait for the next call: an event must be recorded completely.
        """
        if self._thread.ident is not None:
            trial.save_stack(thread_stack(self._thread.ident))
        if self._interrupted or self._thread.ident is None or not trial.playground.lock.acquire(blocking=False):
            return
        try:
            self._interrupted = True
            _raise_in_thread(self._thread.ident, ctypes.py_object(AgentStopped))
        finally:
            trial.playground.lock.release()

    def _withdraw_interrupt(self) -> None:
        """Withdraw an exception that was set for this thread and has not been raised yet."""
        if self._interrupted and self._thread.ident is not None:
            _raise_in_thread(self._thread.ident, None)
            self._interrupted = False


def _raise_in_thread(thread: int, exception: Any) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), exception)


def _new_loop() -> asyncio.AbstractEventLoop:
    """Open an event loop; raise NoMoreWorkers if there are too few file descriptors."""
    try:
        # Check first, because asyncio prints a traceback if it runs out of descriptors while it opens a loop.
        with ExitStack() as spare:
            for _ in range(LOOP_DESCRIPTORS):
                spare.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        return asyncio.new_event_loop()
    except OSError as error:
        raise NoMoreWorkers(f"cannot start another worker: {error.strerror}; {_NO_WORKERS_HINT}") from None


class WorkerResult:
    """What a worker submits: a finished trial, or None if another thread finishes it."""

    __slots__ = ("finished", "worker")

    def __init__(self, worker: Worker, finished: FinishedTrial | None) -> None:
        self.worker, self.finished = worker, finished


def _was_judge_stopped(task_run: TaskRun) -> bool:
    """Return whether a question to the judge failed. If the batch is stopping, that is because it was stopped."""
    unrated = task_run.quality is not None and bool(task_run.quality.error)
    return unrated or any(criterion.status == "error" for criterion in task_run.criteria)


def finish_trial(trial: Trial, ending: Ending, error: str = "") -> FinishedTrial:
    """Finish a claimed trial; if that fails, the trial is errored, and without its log if that fails, too."""
    try:
        return trial.finish(ending, error)
    except Exception as failure:  # any error becomes the result of the trial
        trial.save_traceback(render_bug_traceback(failure))
        try:
            return trial.build_errored(describe_failure(failure))
        except Exception:  # else the run would wait for the trial forever
            return build_unstarted(trial.spec, describe_failure(failure), traceback=render_bug_traceback(failure))


def describe_failure(error: BaseException) -> str:
    """Describe an error: by its message if that is written for users, else with its type."""
    return str(error) if isinstance(error, ClerkshipError) else describe_error(error)


def render_bug_traceback(error: BaseException) -> str:
    """Return the traceback of a bug; empty for an error whose message is written for users."""
    return "" if isinstance(error, ClerkshipError) else render_traceback(error)
