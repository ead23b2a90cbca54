"""A seat: one thread that does one trial at a time, and can be given up when an agent will not let go of it.

An agent in this process may block, or loop without end. It only ever holds up its own seat: when its time is
over an exception is raised in its thread, and if it is deaf to that too, the seat is abandoned and its trial
finished by somebody else.
"""

import asyncio
import ctypes
import queue
import threading
from collections.abc import Callable

from clerkship.engine.trial import Finished, Job, Setting, Trial, stillborn
from clerkship.kit.wall import monotonic
from clerkship.model.run import Ending

GRACE = 0.3
"""Seconds from cancelling an agent that is past its time to interrupting it, and again to giving it up."""


class AgentStopped(BaseException):
    """Raised inside an agent that did not stop by itself."""


class Seat:
    """A thread with a loop of its own."""

    def __init__(self, setting: Setting, jobs: "queue.SimpleQueue[Job | None]", done: Callable[["Done"], None]) -> None:
        self._setting = setting
        self._jobs = jobs
        self._done = done
        self._gate = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self.trial: Trial | None = None
        self._deadline: float | None = None
        self._interrupted = False
        self.retired = False
        self._ending: Ending = "timed_out"
        """What it is if its trial is cancelled."""
        self._thread = threading.Thread(target=self._run, name="clerkship-seat", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._loop = loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(self._serve())
        except (AgentStopped, asyncio.CancelledError):
            self.retired = True
        finally:
            loop.close()

    async def _serve(self) -> None:
        """All of a seat's trials in one task: what an agent does not wait for costs no turn of the loop."""
        self._task = asyncio.current_task()
        while not self.retired and (job := self._jobs.get()) is not None:
            self._done(await self._perform(job))

    async def _perform(self, job: Job) -> "Done":
        try:
            trial = Trial(job, self._setting)
        except Exception as error:  # around one run: whatever it was is data
            return Done(self, stillborn(job, f"{type(error).__name__}: {error}"))
        ending, reason = await self._play(trial)
        if not trial.claim():
            self.retired = True
            return Done(self, None)
        return Done(self, finish(trial, ending, reason))

    async def _play(self, trial: Trial) -> tuple[Ending, str]:
        try:
            try:
                with self._gate:
                    self.trial, self._deadline = trial, monotonic() + trial.timeout
                ending = await trial.play()
                await self._clear()
                return ending, ""
            finally:
                with self._gate:
                    self.trial = self._deadline = None
        except asyncio.CancelledError:
            if self._task is not None:
                self._task.uncancel()
            return self._ending, ""
        except AgentStopped:
            self.retired = True  # its loop may be in any state
            return self._ending, ""
        except Exception as error:  # around one run: whatever it was is data
            return "errored", f"{type(error).__name__}: {error}"

    async def _clear(self) -> None:
        """Cancel what an agent left running."""
        left = asyncio.all_tasks(self._loop) - {self._task}
        for task in left:
            task.cancel()
        if left:
            await asyncio.sleep(0)

    def overdue(self) -> Trial | None:
        """Push a trial that is past its time, harder and harder; returns it once it can only be given up."""
        with self._gate:
            if self.trial is None or self._deadline is None or self.retired:
                return None
            late = monotonic() - self._deadline
            if late > GRACE:
                self._interrupt()
            elif late > 0:
                self._cancel()
            return self.trial if late > 2 * GRACE else None

    def stop(self) -> None:
        """Cancel whatever is going on."""
        with self._gate:
            if self.trial is not None:
                self._ending = "cancelled"
                self._deadline = min(self._deadline or 0.0, monotonic())
                self._cancel()

    def _cancel(self) -> None:
        """Ask politely, as asyncio does; an agent that waits for something hears it."""
        trial = self.trial

        def cancel() -> None:
            if self.trial is trial and self._task is not None:
                self._task.cancel()

        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(cancel)

    def _interrupt(self) -> None:
        """Raise in the agent's thread; one that computes hears it, one that blocks does not."""
        if self._interrupted:
            return
        self._interrupted = True
        if self._thread.ident is not None:
            stopped = ctypes.py_object(AgentStopped)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), stopped)


class Done:
    """What a seat hands in; nothing, if its trial was taken from it."""

    __slots__ = ("finished", "seat")

    def __init__(self, seat: Seat, finished: Finished | None) -> None:
        self.seat, self.finished = seat, finished


def finish(trial: Trial, ending: Ending, error: str = "") -> Finished:
    """Finish a trial that has been claimed; if even that fails, it is errored."""
    try:
        return trial.finish(ending, error)
    except Exception as failure:  # around one run: whatever it was is data
        return trial.wreck(f"{type(failure).__name__}: {failure}")
