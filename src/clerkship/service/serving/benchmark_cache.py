"""Published versions that are ready to run: loaded, frozen and built once for all runs of the same selection."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from clerkship.actors.remote import RemoteSolver
from clerkship.engine.build import BuiltTask
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.models import ModelSelection
from clerkship.model.errors import InputError
from clerkship.service.planning.freeze import FrozenRun, freeze_tasks
from clerkship.service.planning.load import load_suite
from clerkship.service.planning.plan import RunPlan, build_plan, choose_models
from clerkship.service.planning.request import RunRequest
from clerkship.service.planning.select import select_tasks
from clerkship.settings import Settings

MAX_READY = 32
"""Selections of benchmarks that are kept. The one that was used longest ago is dropped."""


@dataclass(frozen=True)
class RunSelection:
    """A published version, and what of it to run."""

    archive: Path
    tasks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    trials: int | None = None
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class ReadyBenchmark:
    """A benchmark with its names resolved. Its runs differ only in their record."""

    frozen: FrozenRun
    models: ModelSelection
    built: Mapping[str, BuiltTask]

    def plan(self, solver: str) -> RunPlan:
        """Return the plan of a new run by an agent of this name."""
        return build_plan(replace(self.frozen, solver=RemoteSolver(solver)), self.models)


class BenchmarkCache:
    """Builds benchmarks when they are first run."""

    def __init__(self, settings: Settings, catalog: RegisteredCatalog) -> None:
        self._settings, self._catalog = settings, catalog
        self._ready: OrderedDict[tuple[object, ...], ReadyBenchmark] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, selection: RunSelection) -> ReadyBenchmark:
        """Return a benchmark, built if it is not kept. Raise InputError."""
        state = selection.archive.stat()
        key = (selection, state.st_mtime_ns, state.st_size)
        with self._lock:
            ready = self._ready.get(key) or self._build(selection)
            self._ready[key] = ready
            self._ready.move_to_end(key)
            while len(self._ready) > MAX_READY:
                self._ready.popitem(last=False)
            return ready

    def _build(self, selection: RunSelection) -> ReadyBenchmark:
        request = RunRequest(
            path=selection.archive,
            agent=RemoteSolver("remote"),
            tasks=selection.tasks,
            tags=selection.tags,
            trials=selection.trials,
            seed=selection.seed,
        )
        frozen = freeze_tasks(select_tasks(load_suite(request, self._settings, self._catalog)))
        _refuse_variables(frozen)
        _refuse_code(frozen, self._catalog)
        plan = build_plan(frozen, choose_models(frozen))
        built = {task.snapshot.task.name: task for task in plan.build(self._catalog)}
        return ReadyBenchmark(frozen, plan.models, built)

    def close(self) -> None:
        """Close the models of all benchmarks."""
        for ready in self._ready.values():
            ready.models.close()


def _refuse_variables(frozen: FrozenRun) -> None:
    """Raise InputError if a task uses variables of the environment: they would be those of the server."""
    names = sorted(set().union(*(snapshot.variables() for snapshot in frozen.snapshots)))
    if names:
        shown = ", ".join(f"${{{name}}}" for name in names[:5])
        raise InputError.of(
            f"the benchmark uses {shown}, and a server expands no variables", hint="run it with `clerkship run`"
        )


def _refuse_code(frozen: FrozenRun, catalog: RegisteredCatalog) -> None:
    """Raise InputError if a dataset has code, which would run in the process of the server."""
    for dataset in frozen.datasets.values():
        if catalog.dataset_type(dataset.type).has_code:
            raise InputError.of(
                f"the dataset {dataset.name} has functions, and a server runs no program",
                hint="run it with `clerkship run`",
            )
