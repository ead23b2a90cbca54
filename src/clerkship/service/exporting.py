"""Write reports of a stored run: HTML, Markdown, JUnit XML, JSON Lines, and results for other tools."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import orjson
from pydantic import ValidationError

from clerkship.by_name import load
from clerkship.model.errors import PlatformError
from clerkship.model.redaction import Redactor, redact_task_run
from clerkship.model.run import TaskRun
from clerkship.model.seals import SealCheck
from clerkship.report.detail import JunitCase, StoredTrial, TaskDetail, parse_detail
from clerkship.report.html import MAX_PAGE_DATA, render_html
from clerkship.report.judging_summary import JudgingSummary
from clerkship.report.outcome import urgency
from clerkship.service.log_redaction import LogRedactor
from clerkship.service.reading import find_snapshots_with_played_people, load_judge_calibrations
from clerkship.service.report_targets import STDOUT, ReportTargets
from clerkship.service.stored_runs import load_snapshot
from clerkship.store.contract import Store


class ReportFailed(PlatformError):
    """A report could not be written. The run itself is stored."""


def write_reports(
    store: Store, reference: str, targets: ReportTargets, seals: SealCheck | None = None
) -> dict[str, Path]:
    """Write the requested reports, and return their paths. Raise ReportFailed at the end if some could not be written.

    The seals of the run are checked, unless the caller passes the result. The report of a changed run names the
    changes; results for other tools cannot, so they are refused.
    """
    files = targets.files()
    checked = seals or store.check_seals(store.run(reference).id)
    failed = write_files(files, lambda sort: _render(sort, store, reference, targets, checked))
    if targets.results is not None and checked.is_changed:
        failed.append(f"results were not written: {checked.refusal()}")
    elif targets.results is not None:
        try:
            files["results"] = targets.results.write(store, reference)
        except OSError as error:
            where = error.filename or targets.results.folder or "the default folder"
            failed.append(f"results cannot be written to {where}: {error.strerror}; choose a folder with rasa:DIR")
    if targets.exports.paths():
        write_exports = load("clerkship.service.exports:write_exports")
        failed += write_exports(store, [(reference, checked)], targets.exports)
        files |= targets.exports.paths()
    if failed:
        raise ReportFailed("\n".join(failed))
    return files


def render_report(store: Store, reference: str, sort: str) -> bytes:
    """Return a report of a run: `html`, `junit`, `jsonl` or `markdown`."""
    seals = store.check_seals(store.run(reference).id)
    return b"".join(_render(sort, store, reference, ReportTargets(), seals))


def write_files(files: dict[str, Path], render: Callable[[str], Iterable[bytes]]) -> list[str]:
    """Write each file; return a sentence for each that could not be written."""
    failed = []
    for sort, target in files.items():
        try:
            with _open_target(target) as file:
                for piece in render(sort):
                    file.write(piece)
        except OSError as error:
            failed.append(f"the report {target} cannot be written: {error.strerror}; choose another file")
        except (orjson.JSONDecodeError, ValidationError):
            hint = "`clerkship show RUN TASK` names the damaged part"
            failed.append(f"the report {target} cannot be written: the run is damaged in the store; {hint}")
    return failed


@contextmanager
def _open_target(target: Path) -> Iterator[BinaryIO]:
    if target == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        yield file


def _render(sort: str, store: Store, reference: str, targets: ReportTargets, seals: SealCheck) -> Iterator[bytes]:
    run = store.run(reference)
    counts = store.counts(run.id)
    judged = JudgingSummary.of(
        run, known=load_judge_calibrations(store, run), played_in=find_snapshots_with_played_people(store, run)
    )
    redactor = LogRedactor(store, run)
    by = redactor.by
    match sort:
        case "html":
            details, label = _load_details(store, store.task_runs(run.id), redactor), store.labels().get(run.id, "")
            yield render_html(run, counts, details, judged, seals, label=label).encode()
        case "junit":
            render_junit = load("clerkship.report.junit:render_junit")
            for piece in render_junit(run, counts, lambda: _build_junit_cases(store, run.id, by), judged, seals):
                yield piece.encode()
        case "jsonl":
            trials = read_redacted_trials(store, run.id, redactor, attempts=True)
            yield from load("clerkship.report.jsonl:render_jsonl")(run, counts, trials, redactor.body, judged, seals)
        case "markdown":
            task_runs = partial(_redact_task_runs, store, run.id, by)
            render = load("clerkship.report.markdown:render_markdown")
            yield render(run, counts, task_runs, targets.markdown_limit, judged, seals).encode()


def _redact_task_runs(store: Store, run_id: str, by: Redactor) -> Iterator[TaskRun]:
    return (redact_task_run(task_run, by) for task_run in store.each(run_id))


def _load_details(store: Store, task_runs: list[TaskRun], redactor: LogRedactor) -> Iterator[TaskDetail]:
    """Yield the trials, the most urgent first. Logs are read only until the page has no space left for them."""
    space, by = MAX_PAGE_DATA, redactor.by
    for task_run in sorted(task_runs, key=urgency):
        if space <= 0:
            yield TaskDetail(redact_task_run(task_run, by), [], None, {})
            continue
        lines = list(map(redactor.line, store.log(task_run)))
        space -= sum(map(len, lines))
        yield load_detail(store, task_run, redactor, lines)


def load_detail(store: Store, task_run: TaskRun, redactor: LogRedactor, lines: Sequence[bytes]) -> TaskDetail:
    """Load a trial. The lines of its log were redacted by the same redactor, which knows their bodies then."""
    bodies = redactor.body_reader(task_run.snapshot)
    detail = parse_detail(task_run, lines, redactor.by.json(store.sidecar(task_run)), bodies)
    return _redact_detail(detail, redactor.by)


def _redact_detail(detail: TaskDetail, by: Redactor) -> TaskDetail:
    if not by or detail.snapshot is None:
        return detail
    task = detail.snapshot.task.model_copy(update={"task_item": by.data(detail.snapshot.task.task_item)})
    environment = detail.snapshot.environment
    simulators = {
        name: simulator.model_copy(update={"config": by.data(simulator.config)})
        for name, simulator in environment.simulators.items()
    }
    redacted = environment.model_copy(update={"simulators": simulators})
    snapshot = detail.snapshot.model_copy(update={"task": task, "environment": redacted})
    return replace(detail, task_run=redact_task_run(detail.task_run, by), snapshot=snapshot)


def _build_junit_cases(store: Store, run_id: str, by: Redactor) -> Iterable[JunitCase]:
    sources: dict[str, str] = {}
    for task_run in store.each(run_id):
        if task_run.snapshot not in sources:
            sources[task_run.snapshot] = load_snapshot(store, task_run.snapshot).source
        sidecar = store.sidecar(task_run)
        wall = orjson.loads(sidecar).get("wall_ms", 0.0) if sidecar else 0.0
        yield JunitCase(redact_task_run(task_run, by), sources[task_run.snapshot], wall / 1000)


def read_redacted_trials(
    store: Store, run_id: str, redactor: LogRedactor, *, attempts: bool = False
) -> Iterator[StoredTrial]:
    """Yield the trials of a run with their logs, redacted; with `attempts`, also those that were repeated."""
    for task_run in store.each(run_id, attempts=attempts):
        lines = map(redactor.line, store.log(task_run))
        by = redactor.by
        yield StoredTrial(redact_task_run(task_run, by), lines, by.json(store.sidecar(task_run)))
