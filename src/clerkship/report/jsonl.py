"""A run as JSON Lines, with everything known about it, for other programs.

Each line has a `type`: first `run`; then for each trial its `task_run`, and its `event`s in order of arrival; a
`snapshot` or a `blob` before the first line that refers to it; last `summary`. A file without it is incomplete.
"""

import base64
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from clerkship.kit.statistics import wilson_interval
from clerkship.model.frozen import encode_model
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.report.detail import StoredTrial
from clerkship.report.judging_summary import JudgingSummary
from clerkship.report.published_version import describe_notes
from clerkship.report.repeats import TaskRate, compute_repeats
from clerkship.report.templates import TemplateRates

FORMAT = 1
"""Incremented when the meaning of a line changes; not for a new key or type of line."""
MAX_BLOB_BYTES = 262_144
"""A larger body is not in the file, only its hash and size; the store has it."""

ReadBlob = Callable[[str], bytes]


def render_jsonl(
    run: BenchmarkRun,
    counts: Counts,
    trials: Iterable[StoredTrial],
    blob: ReadBlob,
    judged: JudgingSummary | None = None,
    seals: SealCheck | None = None,
) -> Iterator[bytes]:
    """Yield the file line by line; only one trial is in memory at a time."""
    judged = judged or JudgingSummary.of(run)
    rates: dict[str, TaskRate] = {}
    templates = TemplateRates()

    def count(last: TaskRun) -> None:
        """Count the last attempt of a trial."""
        judged.add(last)
        rates.setdefault(last.task, TaskRate(last.task)).add(last)
        templates.add(last)

    before: TaskRun | None = None
    checked = {} if seals is None else {"seals": seals.data()}
    yield _render_line("run", format=FORMAT, **run.model_dump(mode="json"), notes=describe_notes(run), **checked)
    seen: set[str] = set()
    done = events = 0
    for trial in trials:
        done += 1
        events += trial.task_run.events
        if before is not None and before.outcome()[:2] != trial.task_run.outcome()[:2]:
            count(before)
        before = trial.task_run
        yield from _render_trial(trial, blob, seen)
    if before is not None:
        count(before)
    changed = seals is not None and seals.is_changed
    rate = wilson_interval(counts.passed, counts.graded) if not changed else None
    yield _render_line(
        "summary",
        run=run.id,
        status=run.status,
        counts=counts.model_dump(mode="json"),
        pass_rate=None if rate is None else rate._asdict(),
        repeats=compute_repeats(rates.values()).data() if run.trials > 1 and not changed else None,
        templates=templates.data() if not changed else None,
        judged=judged.data(),
        exit_code=2 if changed else run.exit_code(counts),
        task_runs=done,
        events=events,
        **checked,
    )


def _render_trial(trial: StoredTrial, blob: ReadBlob, seen: set[str]) -> Iterator[bytes]:
    task_run = trial.task_run
    if task_run.snapshot not in seen:
        seen.add(task_run.snapshot)
        yield _render_line("snapshot", sha256=task_run.snapshot, snapshot=orjson.Fragment(blob(task_run.snapshot)))
    sidecar = orjson.Fragment(trial.sidecar) if trial.sidecar else None
    yield _render_line("task_run", **task_run.__dict__, sidecar=sidecar)
    place = {"run": task_run.run, "task": task_run.task, "trial": task_run.trial, "attempt": task_run.attempt}
    for line in trial.lines:
        event = orjson.loads(line)
        for body in event.get("blobs", {}).values():
            if body["sha256"] not in seen:
                seen.add(body["sha256"])
                yield _render_blob(body, blob)
        # Last, and unchanged: the bytes between `"event":` and the final brace are those of the hash chain.
        yield _render_line("event", **place, seq=event["seq"], event=orjson.Fragment(line))


def _render_blob(body: dict[str, Any], blob: ReadBlob) -> bytes:
    small = body["size"] <= MAX_BLOB_BYTES
    data = base64.b64encode(blob(body["sha256"])).decode() if small else None
    return _render_line("blob", sha256=body["sha256"], size=body["size"], base64=data)


def _render_line(sort: str, **fields: Any) -> bytes:
    return orjson.dumps({"type": sort} | fields, default=encode_model) + b"\n"
