"""Copy stored runs from one store to another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun
from clerkship.service.run_list import MAX_LISTED_RUNS
from clerkship.store.sql import SqlStore


@dataclass
class CopyReport:
    """What was copied. All are ids of runs."""

    copied: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    """Those that the other store had already."""
    busy: list[str] = field(default_factory=list)
    """Those that a process works on, which are left out."""
    changed: list[str] = field(default_factory=list)
    """Those that are not as they were sealed, in both stores."""
    damaged: list[str] = field(default_factory=list)
    """Sentences about records that cannot be read."""
    calibrations: int = 0


def copy_runs(
    source: SqlStore, target: SqlStore, references: Sequence[str], tell: Callable[[BenchmarkRun], None]
) -> CopyReport:
    """Copy runs, or all of them, oldest first. A run is copied as a whole or not at all, so a copy can be repeated.

    Raise InputError if both stores are the same, or if a run of the same id is another one.
    """
    if source.place == target.place:
        raise InputError.of(f"{source.place} cannot be copied to itself", hint="name two stores")
    report = CopyReport()
    if references:
        runs = [source.run(reference) for reference in references]
    else:
        runs = [run for run, _ in source.runs(MAX_LISTED_RUNS, report.damaged)][::-1]
    known = {run.id for run, _ in target.runs(MAX_LISTED_RUNS, [])}
    for run in runs:
        if run.id in known:
            _require_same(source, target, run)
            report.present.append(run.id)
        elif source.held(run.id):
            report.busy.append(run.id)
        else:
            source.copy_run(run.id, target)
            tell(run)
            report.copied.append(run.id)
            if target.check_seals(run.id).is_changed:
                report.changed.append(run.id)
    report.calibrations = source.copy_calibrations(target)
    return report


def _require_same(source: SqlStore, target: SqlStore, run: BenchmarkRun) -> None:
    """Raise InputError if a run of this id in the other store is not this one, or has not all that this one has."""
    ours, theirs = source.ledger(run.id), target.ledger(run.id)
    is_same = ours.run == theirs.run and ours.trials.items() <= theirs.trials.items()
    if not is_same:
        hint = f"look at both with `clerkship show {run.id} --store …`, and delete one"
        raise InputError.of(f"{target.place} has another {run.id} than {source.place}", hint=hint)
