"""Load the plan, the snapshots and the datasets of a stored run."""

import hashlib
from collections.abc import Iterable

from pydantic import ValidationError

from clerkship.model.dataset import Dataset
from clerkship.model.errors import InputError
from clerkship.model.run import BenchmarkRun
from clerkship.model.snapshot import GRADING_VERSION, Plan, Snapshot
from clerkship.store.contract import Store, StoreDamaged, StoreFailed


def with_current_grading(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with the current grading version."""
    return snapshot if snapshot.grading == GRADING_VERSION else snapshot.model_copy(update={"grading": GRADING_VERSION})


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
