"""Measure the time of agents: wall time without the time in which this process was paused or slowed down."""

import os
from collections.abc import Callable, Collection
from typing import NamedTuple

from clerkship.kit.wall import monotonic, process_time

MAX_GAP_SECONDS = 0.5
"""A longer gap between two beats counts as lost time. Beats are due every tenth of a second."""
OVERLOADED_SHARE = 1 / 3
"""If at least this share of the checks of a trial found an overload, its timeout does not count."""


class Watchdog:
    """A clock that stands still while this process does not run.

    That is so after a stop signal, on a suspended laptop, or on an overloaded machine. The owner calls `beat` many
    times a second. A longer gap between two beats is lost time, which does not count for any agent. Processor time
    that the process used in the gap does count: an agent that holds the interpreter lock causes the gap itself.
    """

    def __init__(
        self, clock: Callable[[], float] = monotonic, processor_time: Callable[[], float] = process_time
    ) -> None:
        self._clock, self._processor_time = clock, processor_time
        self._last = (clock(), processor_time(), 0.0)
        """Time of the last beat, processor time then, and lost time until then. One tuple, for thread safety."""

    def beat(self) -> None:
        """Record that the process is running."""
        now, processor_time = self._clock(), self._processor_time()
        self._last = (now, processor_time, self._lost(now))

    def time(self) -> float:
        """Return the time of agents, in seconds."""
        now = self._clock()
        beat, _, lost = self._last
        return now - lost if now - beat <= MAX_GAP_SECONDS else now - self._lost(now)

    def _lost(self, now: float) -> float:
        beat, processor_time, lost = self._last
        excess = now - beat - MAX_GAP_SECONDS
        return lost + max(0.0, excess - (self._processor_time() - processor_time)) if excess > 0 else lost


class ProcessorLoad(NamedTuple):
    """Whether the thread and the program of an agent have used the processor since the last check."""

    thread: bool
    program: bool


def is_overloaded(loads: Collection[ProcessorLoad]) -> bool:
    """Return whether agents slow each other down.

    That is so if more than one computes in this interpreter, which runs one thread at a time, or if more of them
    compute than there are cores.
    """
    threads, programs = sum(load.thread for load in loads), sum(load.program for load in loads)
    return threads > 1 or threads + programs > (os.cpu_count() or 1)


class OverloadCounter:
    """Counts how often a trial was checked for overload, and how often there was one."""

    def __init__(self) -> None:
        self.checks = self.overloaded = 0

    def record(self, overloaded: bool) -> None:
        """Count one check."""
        self.checks += 1
        self.overloaded += overloaded

    @property
    def is_significant(self) -> bool:
        """Whether there was overload so often that a timeout of the trial does not count."""
        return self.overloaded > 0 and self.overloaded >= self.checks * OVERLOADED_SHARE
