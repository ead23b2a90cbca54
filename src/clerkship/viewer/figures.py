"""Axes and cost of runs. They are read from every trial, so they are computed when they are asked for, and kept."""

from collections import OrderedDict
from threading import Lock
from typing import Any

from clerkship.model.run import BenchmarkRun
from clerkship.model.store_place import StorePlace
from clerkship.model.usage import NO_USAGE, Role, Usage
from clerkship.report.costs import total_cost
from clerkship.report.labels import average_axes, axis_name, list_axes
from clerkship.report.repeats import TaskRate
from clerkship.sandbox.request import Refusal, Reply, Request, json_reply
from clerkship.store.contract import Store, UnknownRun
from clerkship.viewer.context import ViewerContext

MAX_NAMED_RUNS = 50
"""Runs that one request names."""
MAX_KEPT = 10_000
"""Runs whose figures are kept in memory."""
Figures = dict[str, Any]
_kept: OrderedDict[tuple[StorePlace, str, str | None], Figures] = OrderedDict()
_lock = Lock()


def read_figures(context: ViewerContext, request: Request) -> Reply:
    """Return the axes and the cost of the runs that the request names."""
    named = [value for name, value in request.pairs if name == "run"]
    if not 0 < len(named) <= MAX_NAMED_RUNS:
        raise Refusal(400, "bad_runs", f"name 1 to {MAX_NAMED_RUNS} runs as `?run=…&run=…`")
    with context.open_store() as store:
        found = {}
        for run_id in named:
            if not context.lists(run_id):
                raise UnknownRun(run_id)
            found[run_id] = load_figures(store, store.run(run_id))
    return json_reply(200, {"figures": found})


def load_figures(store: Store, run: BenchmarkRun) -> Figures:
    """Return the figures of a run. Those of a run that has ended do not change, and are computed once."""
    key = (store.place, run.id, run.completed_at)
    with _lock:
        if key in _kept:
            return _kept[key]
    figures = _compute(store, run)
    if run.completed_at is not None:
        with _lock:
            _kept[key] = figures
            while len(_kept) > MAX_KEPT:
                _kept.popitem(last=False)
    return figures


def _compute(store: Store, run: BenchmarkRun) -> Figures:
    used: dict[Role, Usage] = {}
    rates: dict[str, TaskRate] = {}
    for trial in store.each(run.id):
        rates.setdefault(trial.task, TaskRate(trial.task)).add(trial)
        for role, usage in trial.models.items():
            used[role] = used.get(role, NO_USAGE) + usage
    axes = average_axes([rate.axes for rate in rates.values()])
    return {"axes": {axis_name(axis): axes[axis] for axis in list_axes([axes])}, "cost": total_cost(used)}
