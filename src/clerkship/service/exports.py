"""Export stored runs: results as CSV, trajectories in ATIF, and logs of Inspect."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import orjson
from pydantic import ValidationError

from clerkship.kit.atomic_write import write_atomically
from clerkship.kit.secrets import new_name
from clerkship.model.redaction import redact_task_run
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.report.atif import render_atif
from clerkship.report.inspect_log import InspectLog
from clerkship.report.results_table import list_axis_columns, render_header, render_rows
from clerkship.report.trajectory import Trajectory, build_trajectory
from clerkship.service.exporting import ReportFailed, read_redacted_trials, write_files
from clerkship.service.log_redaction import LogRedactor
from clerkship.service.redacting import build_run_redactor
from clerkship.service.report_targets import ExportTargets
from clerkship.service.stored_runs import load_snapshot
from clerkship.store.contract import Store

MAX_SLUG_LENGTH = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9]+")
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of all files in a zip, so that the same run gives the same bytes."""
CheckedRun = tuple[str, SealCheck]
"""A reference of a run, and the result of checking its seals."""


def export_runs(store: Store, references: Iterable[str], targets: ExportTargets) -> None:
    """Export runs whose seals are intact. Raise ReportFailed at the end if something could not be written."""
    checked = {store.run(reference).id: reference for reference in references}
    failed = write_exports(store, [(id, store.check_seals(id)) for id in checked], targets)
    if failed:
        raise ReportFailed("\n".join(failed))


def write_exports(store: Store, checked: Sequence[CheckedRun], targets: ExportTargets) -> list[str]:
    """Write what is requested; return a sentence for each part that was not written.

    A run that was changed is left out, because no format has a place to say so.
    """
    failed = [f"{run_id} was not exported: {seals.refusal()}" for run_id, seals in checked if seals.is_changed]
    runs = [(store.run(reference), seals) for reference, seals in checked if not seals.is_changed]
    if targets.csv is not None:
        failed += write_files({"csv": targets.csv}, lambda _: _render_table(store, [run for run, _ in runs]))
    for run, seals in runs:
        try:
            if targets.atif is not None:
                _write_trajectories(store, run, targets.atif)
            if targets.inspect is not None:
                _write_inspect_log(store, run, seals, targets.inspect)
        except OSError as error:
            failed.append(f"{run.id} cannot be exported to {error.filename}: {error.strerror}; choose another folder")
        except (orjson.JSONDecodeError, ValidationError):
            hint = "`clerkship show RUN TASK` names the damaged part"
            failed.append(f"{run.id} cannot be exported: it is damaged in the store; {hint}")
    return failed


def _render_table(store: Store, runs: Sequence[BenchmarkRun]) -> Iterator[bytes]:
    axes = list_axis_columns(task_run for run in runs for task_run in store.each(run.id))
    yield render_header(axes)
    for run in runs:
        yield from render_rows(run, _read_results(store, run), axes)


def _read_results(store: Store, run: BenchmarkRun) -> Iterator[tuple[TaskRun, float | None]]:
    """Yield the trials of a run, redacted, each with its wall seconds."""
    by = build_run_redactor(store, run)
    for task_run in store.each(run.id):
        sidecar = store.sidecar(task_run)
        wall = orjson.loads(sidecar).get("wall_ms") if sidecar else None
        yield redact_task_run(task_run, by), None if wall is None else round(wall / 1000, 3)


def _read_trajectories(store: Store, run: BenchmarkRun) -> Iterator[Trajectory]:
    """Yield the trials of a run as steps, redacted, one in memory at a time."""
    redactor = LogRedactor(store, run)
    items: dict[str, Mapping[str, Any] | None] = {}
    for trial in read_redacted_trials(store, run.id, redactor):
        digest = trial.task_run.snapshot
        if digest not in items:
            items[digest] = redactor.by.data(load_snapshot(store, digest).task.task_item)
        yield build_trajectory(trial, items[digest], redactor.body)


def _write_trajectories(store: Store, run: BenchmarkRun, folder: Path) -> None:
    """Write a file for each trial into a folder with the id of the run."""
    seen: set[str] = set()
    for trajectory in _read_trajectories(store, run):
        trial = trajectory.task_run
        stem = _UNSAFE.sub("-", trial.task)[:MAX_SLUG_LENGTH].strip("-").lower() or "task"
        name = f"{stem}.{trial.trial}"
        name = name if name not in seen else f"{stem}-{len(seen)}.{trial.trial}"
        seen.add(name)
        write_atomically(folder / run.id / f"{name}.json", [render_atif(run, trajectory)])


def _write_inspect_log(store: Store, run: BenchmarkRun, seals: SealCheck, folder: Path) -> None:
    """Write the log of a run; a reader never sees a part of it."""
    log = InspectLog(run, seals)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{new_name('export')}"
    try:
        with ZipFile(partial, "w", ZIP_DEFLATED) as archive:
            for member in log.render(_read_trajectories(store, run)):
                archive.writestr(ZipInfo(member.name, _ZIP_TIME), member.data, ZIP_DEFLATED)
        partial.replace(folder / log.file_name)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
