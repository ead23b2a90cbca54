"""Load the plan, snapshots and datasets of a stored run, check it against its seals, find its tasks that failed."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from clerkship.model.dataset import Dataset
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun, TrialOutcome
from clerkship.model.seals import SEAL_KEY_VARIABLE, SealChange, SealCheck
from clerkship.model.snapshot import GRADING_VERSION, Plan, Snapshot
from clerkship.model.store_place import StorePlace
from clerkship.service.planning.request import split_case
from clerkship.store.contract import SealBroken, Store, StoreDamaged, StoreFailed
from clerkship.store.seal import Ledger
from clerkship.suite_files.published.places import is_published_name

MAX_RUNS = 1000
"""The number of runs in which the last one of a path is looked for."""
_ACCEPTED_VERDICTS = ("pass", "ungraded")
"""Verdicts that do not fail a run. A task without criteria would otherwise be repeated forever."""


def require_intact(store: Store, run_id: str, task: str | None = None) -> SealCheck:
    """Check a run, or one task of it. Raise SealBroken if it was changed."""
    return require_unchanged(store.check_seals(run_id, task=task))


def require_unchanged(check: SealCheck, advice: str = "") -> SealCheck:
    """Raise SealBroken if a check found changes, with the changes and what to do."""
    refusal = check.refusal(advice)
    if refusal:
        raise SealBroken(refusal)
    return check


def require_resumable(store: Store, run_id: str) -> SealCheck:
    """Check a run before it is resumed. New trials must be sealed like the others, with the same key."""
    check = require_intact(store, run_id)
    if check.unsealed:
        raise SealBroken(f"{run_id} is not sealed, so nothing can be added to it; `clerkship rerun {run_id}`")
    if check.locked:
        raise SealBroken(f"{run_id} is sealed with a key; set {SEAL_KEY_VARIABLE} to resume it")
    return check


def end_run(store: Store, run_id: str, status: str, at: str, ledger: Ledger) -> SealCheck:
    """Mark and seal the end of the run, then compare the store with the seals in memory.

    The mark comes first, because writing it can change the store too: by a trigger.
    """
    store.mark(run_id, status, at, ledger)
    return _compare_with_ledger(store, run_id, ledger)


def recheck_seals(store: Store, ledger: Ledger, before: SealCheck) -> SealCheck:
    """Compare a run that has ended with its ledger again, unless the store was not written since."""
    is_same = store.data_version() == ledger.checked_at and not store.is_replaced()
    return before if is_same or before.is_changed else _compare_with_ledger(store, before.run, ledger)


def _compare_with_ledger(store: Store, run_id: str, ledger: Ledger) -> SealCheck:
    check = store.check_seals(run_id, ledger=ledger)
    return check.model_copy(update={"changes": (_REPLACED, *check.changes)}) if store.is_replaced() else check


_REPLACED = SealChange(parts=("the store was replaced or deleted during the run",))


def with_current_grading(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with the current grading version."""
    return snapshot if snapshot.grading == GRADING_VERSION else snapshot.model_copy(update={"grading": GRADING_VERSION})


def _identify(path: Path) -> Path:
    """Return what tells the path of a run from others. The name of a published version is the same in every folder."""
    return path if is_published_name(path) else path.resolve()


def without_solution(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without the reference solution, which is stored only for agents that run it."""
    return snapshot if snapshot.solution is None else snapshot.model_copy(update={"solution": None})


def load_plan(store: Store, run: BenchmarkRun) -> Plan:
    """Return the plan of a run. Raise InputError if the run was stored without one."""
    if not run.plan:
        raise InputError.of(f"{run.id} was stored without a plan by an old version", hint="run its files again")
    return Plan.model_validate_json(load_verified_blob(store, run.plan))


def load_snapshots(store: Store, run: BenchmarkRun) -> list[Snapshot]:
    """Return the snapshots of a run's tasks, in order."""
    return [load_snapshot(store, address) for address in load_plan(store, run).snapshots]


def load_snapshot(store: Store, address: str) -> Snapshot:
    """Return the snapshot with this hash. Raise StoreDamaged if it cannot be parsed."""
    try:
        return Snapshot.model_validate_json(load_verified_blob(store, address))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise StoreDamaged(
            f"the task snapshot {address[:12]} in the store is corrupt: {place}: {first['msg']}"
        ) from None


def load_datasets(store: Store, snapshots: Iterable[Snapshot]) -> dict[str, Dataset]:
    """Return the datasets of some snapshots, by name."""
    addresses = {name: address for snapshot in snapshots for name, address in snapshot.datasets.items()}
    return {name: Dataset.parse(name, load_verified_blob(store, address)) for name, address in addresses.items()}


def load_verified_blob(store: Store, address: str) -> bytes:
    """Return the blob with this hash. Raise StoreFailed if its content has another hash."""
    data = store.blob(address)
    if hashlib.sha256(data).hexdigest() != address:
        raise StoreFailed(f"the blob {address} in the store has another hash; the store was changed or is damaged")
    return data


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
    wanted = _identify(path)
    runs = (run for run, _ in store.runs(MAX_RUNS, []) if run.path and run.made_by in ("run", "rerun"))
    run = next((run for run in runs if _identify(Path(run.path)) == wanted), None)
    if run is None:
        raise build_no_run_error(path, store.place)
    trials: dict[str, list[TrialOutcome]] = {}
    for trial in store.outcomes(run.id):
        trials.setdefault(trial.task, []).append(trial)
    names = [snapshot.task.name for snapshot in load_snapshots(store, run)]
    return LastFailed(run, frozenset(name for name in names if not _has_passed(trials.get(name, []), run)))


def build_no_run_error(path: Path, store: StorePlace) -> InputError:
    """Return the error for a path of which no run is stored."""
    return InputError.of(
        f"--last-failed: no run of {path} is stored in {store}", hint="run it once without --last-failed"
    )


def _has_passed(trials: list[TrialOutcome], run: BenchmarkRun) -> bool:
    """Return whether all trials of a task were run and none failed; with `until_sure` there may be fewer."""
    is_finished = bool(trials) if run.until_sure is not None else len(trials) >= run.trials
    return is_finished and all(trial.verdict in _ACCEPTED_VERDICTS for trial in trials)
