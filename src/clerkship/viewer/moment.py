"""`/view/data/runs/{run}/state`: the sandboxes of a trial as they were at one moment."""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import ClerkshipError
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.sandbox.request import Refusal, Reply, Request, json_reply
from clerkship.service.moments import TrialMoments, UnknownRecord
from clerkship.store.contract import Store
from clerkship.viewer.context import ViewerContext

MAX_TRIALS, MAX_BYTES = 4, 100_000_000
"""Trials that are kept rebuilt, and how long their logs may be together. The newest is always kept."""


@dataclass
class CachedTrial:
    """A trial that is rebuilt by the first request that has the lock; other requests for it wait."""

    lock: Any = field(default_factory=Lock)
    moments: TrialMoments | None = None


class MomentCache:
    """The trials that were asked for last, by store, run, task, trial, attempt and head of the log."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._trials: OrderedDict[tuple[object, ...], CachedTrial] = OrderedDict()

    def find(self, key: tuple[object, ...]) -> CachedTrial:
        """Return a trial, which may not be rebuilt yet; forget those that were not asked for longest."""
        with self._lock:
            trial = self._trials.setdefault(key, CachedTrial())
            self._trials.move_to_end(key)
            while len(self._trials) > MAX_TRIALS or (self._count_bytes() > MAX_BYTES and len(self._trials) > 1):
                self._trials.popitem(last=False)
            return trial

    def _count_bytes(self) -> int:
        return sum(trial.moments.size for trial in self._trials.values() if trial.moments is not None)


_CACHE = MomentCache()
"""One for the process, like the cache of charts."""
_load_catalog = cache(RegisteredCatalog)


def show_state(context: ViewerContext, request: Request, run: str) -> Reply:
    """Show all sandboxes after the event `seq` of a trial; with `sandbox` and `key`, one record in full."""
    trial, seq = _read_number(request, "trial", "1"), _read_number(request, "seq", "0")
    with context.open_store() as store:
        stored = store.run(run)
        task_run = store.task_run(stored.id, request.query.get("task", ""), trial)
        if task_run is None:
            raise Refusal(404, "no_such_trial", f"{stored.id} has no such trial, or it has not ended")
        try:
            return json_reply(200, _read_moment(store, stored, task_run, seq, request))
        except UnknownRecord as error:
            raise Refusal(404, "no_such_moment", str(error)) from None
        except ClerkshipError as error:
            raise Refusal(422, "cannot_rebuild", f"the trial cannot be rebuilt: {error}") from None


def _read_moment(store: Store, run: BenchmarkRun, task_run: TaskRun, seq: int, request: Request) -> dict[str, Any]:
    cached = _CACHE.find((store.place, run.id, task_run.task, task_run.trial, task_run.attempt, task_run.head))
    with cached.lock:
        if cached.moments is None:
            cached.moments = TrialMoments(store, run, task_run, _load_catalog())
        if "key" in request.query:
            return cached.moments.read_record(seq, request.query.get("sandbox", ""), request.query["key"])
        return cached.moments.show(seq)


def _read_number(request: Request, name: str, default: str) -> int:
    text = request.query.get(name, default)
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise Refusal(400, "invalid_number", f"{name}: expected a number, not {text[:40]!r}")
    return int(text)
