"""The cassettes of a run while it goes: told of each trial that is over, and written now and then."""

import contextlib
from collections.abc import Collection, Iterable

from clerkship.engine.models import Models
from clerkship.kit.wall import monotonic
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.recording.cassette import CassetteFailed
from clerkship.recording.session import Told

SAVE_EVERY = 5.0
"""Seconds: what a kill may cost."""


class Taping:
    """Does nothing where nothing is recorded or replayed."""

    def __init__(self, models: Models, snapshots: Iterable[Snapshot]) -> None:
        self._models, self._tapes = models, models.tapes
        self._snapshots = {snapshot.task.name: snapshot for snapshot in snapshots} if self._tapes is not None else {}
        self._save_at = monotonic() + SAVE_EVERY

    def heed(self, task_runs: Iterable[TaskRun]) -> None:
        """Some trials are over."""
        if self._tapes is None:
            return
        for task_run in task_runs:
            self._models.ended(self._snapshots[task_run.task], task_run)
        if monotonic() > self._save_at:
            self.save()
            self._save_at = monotonic() + SAVE_EVERY

    def save(self) -> None:
        """Write what there is, in case nothing more comes."""
        if self._tapes is not None:
            with contextlib.suppress(CassetteFailed):  # it is told in the end, when all trials are kept
                self._tapes.save()

    def finish(self, *, whole: bool, known: Collection[str] | None = None, trials: int | None = None) -> Told | None:
        """The run is over; whether it came to its end, which tasks there are in its files, and how often each was to be
        run."""
        return self._tapes.finish(whole=whole, known=known, trials=trials) if self._tapes is not None else None
