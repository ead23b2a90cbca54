"""Check runs against their seals, and decide what a changed run may still be used for."""

from clerkship.model.seals import SEAL_KEY_VARIABLE, SealChange, SealCheck
from clerkship.store.contract import SealBroken, Store
from clerkship.store.seal import Ledger


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
