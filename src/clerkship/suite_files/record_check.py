"""Check that the records that a scenario's steps act on exist: in the dataset, or created by an earlier step."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Protocol, runtime_checkable

from clerkship.kit.registry import UnknownName
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.located_error import FieldPath
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.yaml import KeyPath


@runtime_checkable
class RecordStep(Protocol):
    """A step that acts on records with keys, such as `Patient/42`."""

    simulator: ClassVar[str | None]
    sandbox: str | None

    def list_required_records(self) -> Iterable[tuple[FieldPath, str]]:
        """Return the keys of the records that it changes, each with its path in the arguments."""

    def list_referenced_records(self, config: Mapping[str, Any]) -> Iterable[tuple[FieldPath, str]]:
        """Return the keys of the records that it refers to and that a sandbox with this config requires to exist."""

    def list_resulting_records(self) -> tuple[Collection[str], Collection[str]]:
        """Return the keys of the records that exist after it, and of those that do not."""


@dataclass(frozen=True)
class InitialRecords:
    """The records that a sandbox starts with."""

    kind: str
    config: Mapping[str, Any]
    read: Callable[[], Collection[str]]
    """Return their keys. This is only called if there are steps on records."""


def collect_initial_records(
    environment: Environment | None, datasets: Mapping[str, Dataset], catalog: Catalog
) -> Mapping[str, InitialRecords]:
    """Return the initial records by sandbox, without sandboxes of which a dataset could not be loaded."""
    records: dict[str, InitialRecords] = {}
    for name, simulator in environment.simulators.items() if environment is not None else ():
        named = simulator.datasets if simulator.datasets is not None else environment.datasets if environment else ()
        try:
            entry = catalog.simulator(simulator.kind)
        except UnknownName:
            continue
        if entry.dataset is not None and all(each in datasets for each in named):
            matching = [datasets[each] for each in named if entry.is_loaded_from(datasets[each].type)]
            records[name] = InitialRecords(simulator.kind, simulator.config, partial(entry.prepare, matching))
    return records


TimedStep = tuple[timedelta | None, KeyPath, Any]
"""The time of a step, its path, and the step; None for one that is invalid."""


def find_missing_records(
    steps: Iterable[TimedStep], initial_records: Mapping[str, InitialRecords]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield a path and a message for each record that does not exist when a step acts on it.

    Steps without a time run first, then the others in order of time.
    """
    created: dict[str, set[str]] = {name: set() for name in initial_records}
    deleted: dict[str, set[str]] = {name: set() for name in initial_records}
    for _, path, step in sorted(steps, key=lambda timed: (timed[0] is not None, timed[0] or timedelta())):
        if step is None:
            return  # an invalid step: it may have created what later steps need
        name = (
            (step.sandbox or _find_only_sandbox(step.simulator, initial_records))
            if isinstance(step, RecordStep)
            else ""
        )
        if not isinstance(step, RecordStep) or name not in initial_records:
            continue
        records = initial_records[name]
        for place, key in (*step.list_required_records(), *step.list_referenced_records(records.config)):
            if key not in created[name] and (key in deleted[name] or key not in records.read()):
                yield [*path, *place], f"there is no {key}: it is not in the dataset, and no earlier step creates it"
        existing, removed = step.list_resulting_records()
        created[name] = (created[name] | {*existing}) - {*removed}
        deleted[name] = (deleted[name] | {*removed}) - {*existing}


def _find_only_sandbox(kind: str | None, initial_records: Mapping[str, InitialRecords]) -> str:
    """Return the only sandbox of a kind, for steps that name none; empty if there is not exactly one."""
    names = [name for name, records in initial_records.items() if records.kind == kind]
    return names[0] if len(names) == 1 else ""
