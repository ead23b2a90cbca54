"""Delete old runs: which ones, by age, number and label."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from clerkship.kit.wall import now
from clerkship.service.run_list import MAX_LISTED_RUNS, ListedRun
from clerkship.store.contract import RunBusy, Store

BATCH = 50
"""Runs that are deleted in one transaction."""


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Which runs are kept. A run with a label is, unless the label is named."""

    older_than: timedelta
    """Younger runs are kept, by their start."""
    keep_last: int = 0
    """So many of the newest runs of each suite are kept."""
    labels: Sequence[str] = ()
    """Only runs with one of these labels are deleted."""


@dataclass
class PruneReport:
    """What was deleted, or would be."""

    deleted: list[ListedRun] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    """Ids of runs that a process works on, which are kept."""
    damaged: list[str] = field(default_factory=list)
    """Sentences about runs that cannot be read, which are kept."""


def prune(store: Store, retention: Retention, *, dry_run: bool) -> PruneReport:
    """Delete the runs that need not be kept, oldest first."""
    report = PruneReport()
    chosen = find_expired(store, retention, report.damaged)
    free = []
    for listed in chosen:
        if store.held(listed.run.id):
            report.busy.append(listed.run.id)
        else:
            free.append(listed)
    for several in (free[first : first + BATCH] for first in range(0, len(free), BATCH)):
        if dry_run or _delete(store, several, report):
            report.deleted += several
    return report


def find_expired(store: Store, retention: Retention, damaged: list[str]) -> list[ListedRun]:
    """Return the runs that need not be kept, oldest first."""
    labels, oldest = store.labels(), now() - retention.older_than
    seen: dict[str, int] = {}
    expired = []
    for run, counts in store.runs(MAX_LISTED_RUNS, damaged):
        label = labels.get(run.id, "")
        seen[run.name] = seen.get(run.name, 0) + 1
        is_kept = seen[run.name] <= retention.keep_last or datetime.fromisoformat(run.started_at) > oldest
        if not is_kept and (label in retention.labels if retention.labels else not label):
            expired.append(ListedRun(run, counts, label))
    return expired[::-1]


def _delete(store: Store, several: Sequence[ListedRun], report: PruneReport) -> bool:
    """Delete runs together; one by one if a process has begun to work on one meanwhile."""
    try:
        store.delete(*(listed.run.id for listed in several))
    except RunBusy:
        if len(several) == 1:
            report.busy.append(several[0].run.id)
            return False
        for listed in several:
            if _delete(store, [listed], report):
                report.deleted.append(listed)
        return False
    return True
