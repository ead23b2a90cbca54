"""Compare two runs that are kept."""

from clerkship.model.redaction import redact_task_run
from clerkship.model.run import BenchmarkRun, TaskRun
from clerkship.report.comparison import Comparison, build_comparison
from clerkship.service.frozen import load_snapshot
from clerkship.service.redacting import build_run_redactor
from clerkship.service.sealing import require_intact
from clerkship.store.contract import Store


def compare_runs(
    store: Store, before: str, after: str, damaged: list[str] | None = None, notes: list[str] | None = None
) -> Comparison:
    """Compare two runs of one store, task by task, without values of variables; for `damaged` see `Store.task_runs`.

    Raise SealBroken if one was changed; what could not be checked is added to `notes`.
    """
    old, new = store.run(before), store.run(after)
    for run in dict.fromkeys((old.id, new.id)):
        check = require_intact(store, run)
        if notes is not None:
            notes += check.notes()
    return build_comparison(
        old, _load_trials_by_content(store, old, damaged), new, _load_trials_by_content(store, new, damaged)
    )


def _load_trials_by_content(store: Store, run: BenchmarkRun, damaged: list[str] | None) -> list[TaskRun]:
    """A run's trials, each with what identifies its task in place of its snapshot: a limit that was asked for, or
    another way to the same file, makes no other task of it."""
    by = build_run_redactor(store, run)
    found, known = [redact_task_run(ran, by) for ran in store.task_runs(run.id, damaged=damaged)], dict[str, str]()
    for task_run in found:
        if task_run.snapshot not in known:
            known[task_run.snapshot] = load_snapshot(store, task_run.snapshot).task_hash
    return [task_run.model_copy(update={"snapshot": known[task_run.snapshot]}) for task_run in found]
