"""Compare two stored runs, and write the comparison."""

from collections.abc import Iterator
from pathlib import Path

from clerkship.model.errors import InputError
from clerkship.model.redaction import redact_task_run
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.report.comparison import Comparison, build_comparison
from clerkship.report.comparison_pages import render_comparison, render_comparison_markdown
from clerkship.report.gates import GatedComparison
from clerkship.service.exporting import ReportFailed, write_files
from clerkship.service.redacting import build_run_redactor
from clerkship.service.report_targets import ReportTargets
from clerkship.service.stored_runs import load_snapshot, require_intact
from clerkship.store.contract import Store


def compare_runs(
    store: Store, before: str, after: str, damaged: list[str] | None = None, notes: list[str] | None = None
) -> Comparison:
    """Compare two runs of one store, task by task, with values of variables redacted.

    Raise InputError if both are the same run, and SealBroken if one was changed. Parts that could not be checked are
    added to `notes`; for `damaged` see `Store.task_runs`.
    """
    old, new = store.run(before), store.run(after)
    if old.id == new.id:
        raise _build_same_run_error(store, old.id)
    for run in (old.id, new.id):
        check = require_intact(store, run)
        if notes is not None:
            notes += check.notes()
    return build_comparison(
        old, _load_trials_by_content(store, old, damaged), new, _load_trials_by_content(store, new, damaged)
    )


def _build_same_run_error(store: Store, run_id: str) -> InputError:
    """Return the error for two references to one run: a comparison of a run with itself finds no difference."""
    if len(store.runs(limit=2)) < 2:
        return InputError.of(
            f"there is only one run, {run_id}, and nothing to compare it with",
            hint="run the tasks again, then `clerkship compare latest~1 latest`",
        )
    hint = "`clerkship compare latest~1 latest` compares the last two runs; `clerkship list` shows all"
    return InputError.of(f"both are the run {run_id}", hint=hint)


def _load_trials_by_content(store: Store, run: BenchmarkRun, damaged: list[str] | None) -> list[TaskRun]:
    """Return the trials of a run, each with the hash of its task's content in place of its snapshot.

    A snapshot also depends on limits and on the path of the file, which do not make it another task.
    """
    by = build_run_redactor(store, run)
    task_runs = [redact_task_run(task_run, by) for task_run in store.task_runs(run.id, damaged=damaged)]
    hashes: dict[str, str] = {}
    for task_run in task_runs:
        if task_run.snapshot not in hashes:
            hashes[task_run.snapshot] = load_snapshot(store, task_run.snapshot).task_hash
    return [task_run.model_copy(update={"snapshot": hashes[task_run.snapshot]}) for task_run in task_runs]


def write_comparison(gated: GatedComparison, targets: ReportTargets) -> dict[str, Path]:
    """Write a comparison as HTML and Markdown, as requested."""

    def render(sort: str) -> Iterator[bytes]:
        if sort == "html":
            yield render_comparison(gated).encode()
        else:
            yield render_comparison_markdown(gated, targets.markdown_limit).encode()

    failed = write_files(targets.files(), render)
    if failed:
        raise ReportFailed("\n".join(failed))
    return targets.files()
