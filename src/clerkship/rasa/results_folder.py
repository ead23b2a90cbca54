"""Write the results of a run as Rasa's evaluation does: a new folder of files."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import orjson

from clerkship.kit.wall import now
from clerkship.model.redaction import Redactor, redact_task_run
from clerkship.model.snapshot import Snapshot
from clerkship.rasa.results import STAMP, Kept, Results, place_for
from clerkship.service.exporting import ReportFailed, redacted_bodies
from clerkship.service.frozen import snapshot_at
from clerkship.service.redacting import redactor_for
from clerkship.service.replays import moment
from clerkship.store.contract import Store

MAX_FOLDERS = 1000
"""Folders of one second that get numbers."""


def write_results(store: Store, reference: str, wanted: Path | None) -> Path:
    """Write into a new folder, below the one that is wanted or else the usual one; returns it."""
    run = store.run(reference)
    parent = wanted or place_for(run.path)
    folder = _new_folder(parent, f"{moment(run, now()):{STAMP}}")
    shown = f"eval/results/{folder.name}" if parent.resolve().parts[-2:] == ("eval", "results") else folder.as_posix()
    snapshots: dict[str, Snapshot] = {}
    for task_run in store.each(run.id):
        if task_run.task not in snapshots:
            snapshots[task_run.task] = snapshot_at(store, task_run.snapshot)
    by = redactor_for(store, run)
    for name, data in Results(run, snapshots, shown).render(_results(store, run.id, by), redacted_bodies(store, by)):
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
    return folder


def _new_folder(parent: Path, name: str) -> Path:
    """A folder of this name, with a number after it if it is taken: two runs may end in one second."""
    parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, MAX_FOLDERS):
        folder = parent / (name if number == 1 else f"{name}_{number}")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
    raise ReportFailed(f"{parent} has too many results of this second")


def _results(store: Store, run_id: str, by: Redactor) -> Iterable[Kept]:
    for task_run in store.each(run_id):
        sidecar = store.sidecar(task_run)
        lines = map(by.line, store.log(task_run))
        yield Kept(redact_task_run(task_run, by), lines, by.data(orjson.loads(sidecar)) if sidecar else {})
