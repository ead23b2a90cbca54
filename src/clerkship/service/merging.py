"""Merge the shards of a run into one run, with the same trials as a run that was not divided.

See docs/decisions/0048-many-machines.md.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from clerkship.engine.batch import MAX_UNSAVED
from clerkship.engine.schedule import choose_shard
from clerkship.engine.spec import FinishedTrial
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.run import Attempt, BenchmarkRun, MergedShard, Shard
from clerkship.model.snapshot import Plan
from clerkship.recording.cassette import content_key
from clerkship.service.running import RunResult
from clerkship.service.stored_runs import end_run, load_plan, load_snapshots, load_verified_blob, require_resumable
from clerkship.store.contract import Store, UnknownRun
from clerkship.store.seal import Ledger

MAX_RUNS = 10_000
"""The number of runs of a store among which shards are looked for."""
MAX_NAMED_SHARDS = 10
MAX_BATCH_BYTES = 8 << 20
"""Bytes of trials that are held in memory before they are saved together."""
_MAY_DIFFER = {"id", "path", "started_at", "completed_at", "total", "shard", "concurrency", "made_by", "origin"}
"""Fields of the record that may differ between the shards of a run. The number of trials follows from the shard."""


class ShardRun(NamedTuple):
    """A stored run of one shard."""

    store: Store
    run: BenchmarkRun
    shard: Shard

    def __str__(self) -> str:
        return f"{self.run.id} in {self.store.place}"


def find_shards(stores: Sequence[Store], references: Sequence[str] = ()) -> list[ShardRun]:
    """Return the runs of shards in some stores: the named ones, or all of them.

    Raise InputError if a named run is in none of the stores, or is no shard, or if there are no shards.
    """
    if references:
        return [_find_named(stores, reference) for reference in dict.fromkeys(references)]
    shards = [
        ShardRun(store, run, run.shard)
        for store in stores
        for run, _ in reversed(store.runs(MAX_RUNS))
        if run.shard is not None and run.made_by != "rescore"
    ]
    if not shards:
        names = ", ".join(str(store.place) for store in stores)
        raise InputError.of(f"no run of a shard is in {names}", hint="`clerkship run … --shard 1/3` makes one")
    return shards


def _find_named(stores: Sequence[Store], reference: str) -> ShardRun:
    for store in stores:
        try:
            run = store.run(reference)
        except UnknownRun:
            continue
        if run.shard is None:
            raise InputError.of(f"{run.id} in {store.place} is not a shard", hint="it has all trials of its plan")
        return ShardRun(store, run, run.shard)
    raise UnknownRun(f"no run starts with {reference!r} in {', '.join(str(store.place) for store in stores)}")


def merge_shards(shards: Sequence[ShardRun], into: Store) -> RunResult:
    """Save one run with the trials of all shards.

    Raise InputError unless the shards are those of one run, each is there once, and each is finished. Raise SealBroken
    if one was changed after it was saved. A merge that was interrupted is continued.
    """
    shards = sorted(shards, key=lambda each: each.shard.number)
    _require_same_run(shards)
    _require_each_once(shards)
    _require_finished(shards)
    ledgers = [_open_sealed(shard) for shard in shards]
    plan = load_plan(shards[0].store, shards[0].run)
    _require_own_trials(shards, plan, ledgers)
    run = _build_merged(shards, plan, ledgers)
    with into.hold(run.id) as hold:
        del hold  # held until the run has ended
        ledger = _open_merged(into, run, shards[0])
        for trials in _batch(_copy_trials(shards, ledgers, run.id, ledger)):
            ledger.add(into.save(trials, ledger.last))
        end = {"status": "completed", "completed_at": max(shard.run.completed_at or "" for shard in shards)}
        seals = end_run(into, run.id, end["status"], end["completed_at"], ledger)
    return RunResult(run.model_copy(update=end), ledger.counts(), seals=seals, ledger=ledger)


def _require_same_run(shards: Sequence[ShardRun]) -> None:
    """Raise InputError unless all shards have the same plan, agent, models and options."""
    first = shards[0]
    expected = _shared_fields(first)
    for other in shards[1:]:
        fields = _shared_fields(other)
        different = [name for name in expected if fields[name] != expected[name]]
        if different:
            values = "; ".join(f"{name}: {expected[name]} and {fields[name]}" for name in different[:3])
            raise InputError.of(
                f"{first} and {other} are not shards of one run: they differ in {', '.join(different)} ({values})",
                hint="name the runs to merge with --run",
            )


def _shared_fields(shard: ShardRun) -> dict[str, Any]:
    return {"shards": shard.shard.count, **shard.run.model_dump(exclude=_MAY_DIFFER | {"shards", "status"})}


def _require_each_once(shards: Sequence[ShardRun]) -> None:
    """Raise InputError if a shard is missing, or is there twice."""
    by_number: dict[int, ShardRun] = {}
    count = shards[0].shard.count
    for each in shards:
        if each.shard.number in by_number:
            raise InputError.of(
                f"shard {each.shard} is there twice: {by_number[each.shard.number]}, and {each}",
                hint="name the runs to merge with --run",
            )
        by_number[each.shard.number] = each
    missing = [f"{number}/{count}" for number in range(1, count + 1) if number not in by_number]
    if missing:
        word = "shard is" if len(missing) == 1 else "shards are"
        raise InputError.of(
            f"{len(missing)} {word} missing: {_join_first(missing)}", hint=f"run it with --shard {missing[0]}"
        )


def _require_finished(shards: Sequence[ShardRun]) -> None:
    problems = [
        InputProblem(
            message=f"shard {shard.shard} is not finished: {shard}",
            hint=f"clerkship resume {shard.run.id} --store {shard.store.place}",
        )
        for shard in shards
        if shard.run.status != "completed"
    ]
    if problems:
        raise InputError(problems)


def _open_sealed(shard: ShardRun) -> Ledger:
    """Check a shard against its seals, and return them. Its trials are sealed again, so it must have seals."""
    require_resumable(shard.store, shard.run.id)
    return shard.store.ledger(shard.run.id)


def _require_own_trials(shards: Sequence[ShardRun], plan: Plan, ledgers: Sequence[Ledger]) -> None:
    """Raise InputError for a trial that belongs to another shard, or that a finished shard lacks."""
    names = [snapshot.task.name for snapshot in load_snapshots(shards[0].store, shards[0].run)]
    for shard, ledger in zip(shards, ledgers, strict=True):
        expected, done = choose_shard(plan, names, shard.shard), {place[:2] for place in ledger.trials}
        foreign, missing = sorted(done - expected), sorted(expected - done)
        if foreign:
            task, trial = foreign[0]
            raise InputError.of(f"{shard} has a trial of another shard: {task} (trial {trial})")
        if missing and plan.until_sure is None:
            task, trial = missing[0]
            raise InputError.of(f"{shard} lacks {len(missing):,} of its trials, such as {task} (trial {trial})")


def _build_merged(shards: Sequence[ShardRun], plan: Plan, ledgers: Sequence[Ledger]) -> BenchmarkRun:
    """Return the record of the merged run. Its id depends on its shards alone, so that they are merged only once."""
    first = shards[0].run
    sources = tuple(
        MergedShard(run=shard.run.id, trials=ledger.digest().hex())
        for shard, ledger in zip(shards, ledgers, strict=True)
    )
    changes: dict[str, Any] = {
        "id": f"merge-{content_key([source.model_dump() for source in sources])[:12]}",
        "started_at": min(shard.run.started_at for shard in shards),
        "completed_at": None,
        "status": "active",
        "total": len(plan.snapshots) * plan.trials,
        "shard": None,
        "shards": sources,
    }
    return first.model_copy(update=changes)


def _open_merged(into: Store, run: BenchmarkRun, first: ShardRun) -> Ledger:
    """Save the record of the merged run, unless an interrupted merge has; return the seals of the trials it has."""
    try:
        known = into.run(run.id)
    except UnknownRun:
        into.open_run(run, _copy_frozen(first))
    else:
        if known.status != "active":
            raise InputError.of(f"these shards are merged already: {run.id} in {into.place}")
        require_resumable(into, run.id)
    return into.ledger(run.id)


def _copy_frozen(shard: ShardRun) -> dict[str, bytes]:
    """Return the plan of a shard, with its tasks and datasets, by hash."""
    store, snapshots = shard.store, load_snapshots(shard.store, shard.run)
    addresses = {shard.run.plan, *load_plan(store, shard.run).snapshots}
    addresses |= {address for snapshot in snapshots for address in snapshot.datasets.values()}
    return {address: load_verified_blob(store, address) for address in sorted(addresses)}


def _copy_trials(
    shards: Sequence[ShardRun], ledgers: Sequence[Ledger], run_id: str, merged: Ledger
) -> Iterator[FinishedTrial]:
    """Yield every attempt of every shard, as a trial of the merged run, unless that has it."""
    for shard, ledger in zip(shards, ledgers, strict=True):
        for task_run in shard.store.each(shard.run.id, attempts=True):
            seal = ledger.trials[Attempt(task_run.task, task_run.trial, task_run.attempt)]
            if seal.place in merged.trials:
                continue
            blobs = {address: load_verified_blob(shard.store, address) for address in seal.blobs.split()}
            log = b"\n".join(shard.store.log(task_run))
            yield FinishedTrial(task_run.model_copy(update={"run": run_id}), log, blobs, shard.store.sidecar(task_run))


def _batch(trials: Iterator[FinishedTrial]) -> Iterator[list[FinishedTrial]]:
    """Yield trials in lists, each small enough to be held in memory."""
    batch: list[FinishedTrial] = []
    size = 0
    for trial in trials:
        batch.append(trial)
        size += len(trial.log) + sum(map(len, trial.blobs.values()))
        if size >= MAX_BATCH_BYTES or len(batch) >= MAX_UNSAVED:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _join_first(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED_SHARDS
    return ", ".join(names[:MAX_NAMED_SHARDS]) + (f" and {more:,} more" if more > 0 else "")
