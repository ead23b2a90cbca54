"""Ids of replayed runs: the same replay always has the same id."""

from collections.abc import Sequence
from datetime import UTC, datetime

from clerkship.engine.models import ModelSelection
from clerkship.model.run import BenchmarkRun
from clerkship.model.snapshot import Plan, Snapshot
from clerkship.recording.cassette import content_key
from clerkship.store.contract import Store, UnknownRun

_LIMITS = {"max_tokens", "model_timeout"}
"""Limits of requests to models; they do not change what is replayed."""


def with_replay_identity(
    run: BenchmarkRun, plan: Plan, snapshots: Sequence[Snapshot], models: ModelSelection
) -> BenchmarkRun:
    """Return the record of a run. A replay gets an id and a start time that do not depend on where and when it is made.

    The id is a hash of the replayed content; the start is that of the earliest simulated clock.
    """
    if not run.is_replayed:
        return run
    cassettes = {snapshot.source: models.session.digest(snapshot.task.name) for snapshot in snapshots}
    choices = (choice and choice.model_dump(mode="json", exclude=_LIMITS) for choice in (run.judge, run.person))
    who, asking = [run.solver, *choices], run.asking.model_dump(mode="json", exclude=_LIMITS)
    mark = content_key([plan.hash, who, asking, cassettes, run.made_by, run.origin])
    began = min(snapshot.environment.now for snapshot in snapshots)
    return run.model_copy(update={"id": f"replay-{mark[:12]}", "started_at": began.astimezone(UTC).isoformat()})


def with_free_id(run: BenchmarkRun, store: Store) -> BenchmarkRun:
    """Return a run; a replay gets an id that the store does not have yet."""
    name, number = run.id, 1
    while run.is_replayed and _has_run(store, name):
        number += 1
        name = f"{run.id}-{number}"
    return run.model_copy(update={"id": name})


def _has_run(store: Store, name: str) -> bool:
    try:
        return store.run(name).id == name
    except UnknownRun:
        return False


def get_file_time(run: BenchmarkRun, now: datetime) -> datetime:
    """Return the time for the names of files about a run."""
    return datetime.fromisoformat(run.started_at) if run.is_replayed else now
