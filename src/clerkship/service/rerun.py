"""Do a run again from its snapshots, with the same agent or another."""

from clerkship.actors.contract import Solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_resolver import ModelRequest
from clerkship.service.frozen import plan_of, snapshots_of
from clerkship.service.planning.models import choose_models
from clerkship.service.planning.plan import RunPlan, plan
from clerkship.service.planning.stored import open_stored
from clerkship.service.prefixes import prefix_of
from clerkship.service.sealing import require
from clerkship.settings import Settings
from clerkship.store.contract import Store

_SAME = {"name", "path", "options", "concurrency", "fork", "allow_ungraded"}


def plan_rerun(
    store: Store,
    reference: str,
    catalog: RegisteredCatalog,
    settings: Settings,
    agent: str | Solver | None = None,
) -> RunPlan:
    """Plan the same frozen tasks, as often and with the same seed."""
    run = store.run(reference)
    require(store.check_plan(run.id))
    stored = open_stored(store, run, agent, settings, catalog)
    stored.check_agent()
    snapshots = tuple(map(stored.current, snapshots_of(store, run)))
    hashes = tuple(snapshot.hash for snapshot in snapshots)
    same = run.model_dump(include=_SAME) | {"calibration": run.calibration}
    frozen = stored.freeze(
        snapshots,
        plan_of(store, run).model_copy(update={"snapshots": hashes}),
        ModelRequest(run=run),
        record=same | {"made_by": "rerun", "origin": run.id},
        prefix=prefix_of(store, run, catalog),
    )
    return plan(frozen, choose_models(frozen))
