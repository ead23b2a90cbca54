"""Check runs against their seals: the one place where it is decided what a changed run may still be used for."""

from clerkship.model.seals import SEAL_KEY, SealCheck
from clerkship.store.contract import SealBroken, Store
from clerkship.store.seal import Ledger


def require_intact(store: Store, run_id: str, task: str | None = None) -> SealCheck:
    """Check a run, or one task of it; raise SealBroken if nothing may be built on it."""
    return require(store.check_seals(run_id, task=task))


def require(check: SealCheck, advice: str = "") -> SealCheck:
    """Raise SealBroken, naming what was changed and what to do, if nothing may be built on what was checked."""
    refusal = check.refusal(advice)
    if refusal:
        raise SealBroken(refusal)
    return check


def require_resumable(store: Store, run_id: str) -> SealCheck:
    """Check a run that is to be resumed; its new trials must be sealed as the others are, with the same key."""
    check = require_intact(store, run_id)
    if check.unsealed:
        raise SealBroken(f"{run_id} is not sealed, so nothing can be added to it; `clerkship rerun {run_id}`")
    if check.locked:
        raise SealBroken(f"{run_id} is sealed with a key; set {SEAL_KEY} to resume it")
    return check


def end_run(store: Store, run_id: str, status: str, at: str, ledger: Ledger) -> SealCheck:
    """Compare the store with the seals that were kept in memory, then mark and seal the end of the run."""
    check = store.check_seals(run_id, ledger=ledger)
    store.mark(run_id, status, at, ledger)
    return check
