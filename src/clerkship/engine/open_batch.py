"""A batch to which trials are added while it runs: by a worker that gets them one by one."""

import queue
from dataclasses import dataclass, field

from clerkship.engine.batch import TrialBatch
from clerkship.engine.spec import TrialSpec


@dataclass(repr=False)
class OpenBatch(TrialBatch):
    """Runs trials as they are added, until it is closed and all are done, or until it is stopped.

    It repeats no trial that timed out of overload: what comes back to the caller says that it is to be repeated.
    """

    _added: "queue.SimpleQueue[TrialSpec]" = field(default_factory=queue.SimpleQueue)
    _is_closed: bool = False

    def add(self, job: TrialSpec) -> None:
        """Add a trial. Can be called from any thread."""
        self._added.put(job)
        self._results.put(None)

    def close(self) -> None:
        """Take no more trials, and end when those that were added are done. Can be called from any thread."""
        self._is_closed = True
        self._results.put(None)

    def _has_work(self) -> bool:
        while not self._added.empty():
            self._unfinished += 1
            self._jobs.put(self._added.get())
        return self._unfinished > 0 or not self._is_closed

    def _repeat_alone(self) -> None:
        self._unfinished -= len(self._repetitions)
        self._repetitions.clear()
