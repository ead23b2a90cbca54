"""Find the tasks of the last run of a path that did not pass."""

from dataclasses import dataclass
from pathlib import Path

from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun, TrialOutcome
from clerkship.service.planning.request import split_case
from clerkship.service.stored_runs import load_snapshots
from clerkship.store.contract import Store

MAX_RUNS = 1000
"""The number of runs in which the last one of a path is looked for."""
_ACCEPTED_VERDICTS = ("pass", "ungraded")
"""Verdicts that do not fail a run. A task without criteria would otherwise be repeated forever."""


@dataclass(frozen=True)
class LastFailed:
    """A run, and the names of its tasks that did not pass."""

    run: BenchmarkRun
    tasks: frozenset[str]


def find_last_failed(store: Store, path: Path) -> LastFailed:
    """Return the last run of a path with its tasks that did not pass: failed, errored, or not finished.

    Raise InputError if no run of this path is stored.
    """
    path, _ = split_case(path)
    wanted = path.resolve()
    runs = (run for run, _ in store.runs(MAX_RUNS, []) if run.path and run.made_by in ("run", "rerun"))
    run = next((run for run in runs if Path(run.path).resolve() == wanted), None)
    if run is None:
        raise build_no_run_error(path, store.path)
    trials: dict[str, list[TrialOutcome]] = {}
    for trial in store.outcomes(run.id):
        trials.setdefault(trial.task, []).append(trial)
    names = [snapshot.task.name for snapshot in load_snapshots(store, run)]
    return LastFailed(run, frozenset(name for name in names if not _has_passed(trials.get(name, []), run)))


def build_no_run_error(path: Path, store: Path) -> InputError:
    return InputError.of(
        f"--last-failed: no run of {path} is stored in {store}", hint="run it once without --last-failed"
    )


def _has_passed(trials: list[TrialOutcome], run: BenchmarkRun) -> bool:
    """Return whether all trials of a task were run and none failed; with `until_sure` there may be fewer."""
    is_finished = bool(trials) if run.until_sure is not None else len(trials) >= run.trials
    return is_finished and all(trial.verdict in _ACCEPTED_VERDICTS for trial in trials)
