"""The time that agents have: wall time, less what this process itself lost while it was paused or held up."""

import os
from collections.abc import Callable, Collection
from typing import NamedTuple

from clerkship.kit.wall import monotonic, process_time

MAX_GAP_SECONDS = 0.5
"""Seconds between two beats that are no loss: a watch is due every tenth of a second."""
OVERLOADED_SHARE = 1 / 3
"""Of the looks at a trial, how many must have found it overloaded for a timeout not to count."""


class Watchdog:
    """A clock that stands still while the process does: stopped by a signal, a laptop asleep, a machine that is
    overloaded. Its owner calls `beat` many times a second. A longer gap is time that no agent had, except as far as the
    process computed meanwhile: an agent that holds the interpreter's lock uses its own time."""

    def __init__(
        self, clock: Callable[[], float] = monotonic, processor_time: Callable[[], float] = process_time
    ) -> None:
        self._clock, self._processor_time = clock, processor_time
        self._last = (clock(), processor_time(), 0.0)
        """When it beat last, the processor time then, and what was lost until then; one tuple, for several threads."""

    def beat(self) -> None:
        """Say that the process runs."""
        now, computed = self._clock(), self._processor_time()
        self._last = (now, computed, self._lost(now))

    def time(self) -> float:
        """Return seconds as agents have them."""
        now = self._clock()
        beat, _, lost = self._last
        return now - lost if now - beat <= MAX_GAP_SECONDS else now - self._lost(now)

    def _lost(self, now: float) -> float:
        beat, computed, lost = self._last
        late = now - beat - MAX_GAP_SECONDS
        return lost + max(0.0, late - (self._processor_time() - computed)) if late > 0 else lost


class ProcessorLoad(NamedTuple):
    """Whether an agent has used the processor since it was last looked at: its thread here, and its program."""

    thread: bool
    program: bool


def is_overloaded(loads: Collection[ProcessorLoad]) -> bool:
    """Tell whether agents hold each other up: more than one computes in this interpreter, which runs one thread at a
    time, or more of them compute than there are cores."""
    threads, programs = sum(load.thread for load in loads), sum(load.program for load in loads)
    return threads > 1 or threads + programs > (os.cpu_count() or 1)


class OverloadCounter:
    """How often a trial was looked at, and how often it was overloaded then."""

    def __init__(self) -> None:
        self.checks = self.overloaded = 0

    def record(self, overloaded: bool) -> None:
        """Count one look."""
        self.checks += 1
        self.overloaded += overloaded

    def __bool__(self) -> bool:
        """Whether it was overloaded for a good part of its time."""
        return self.overloaded > 0 and self.overloaded >= self.checks * OVERLOADED_SHARE
