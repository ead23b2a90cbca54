"""Rerun the snapshots of a stored run, with the same or another agent."""

from clerkship.actors.contract import Solver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_resolver import ModelRequest
from clerkship.service.fork_points import load_fork_point
from clerkship.service.planning.options import NO_BOT_OPTIONS, BotOptions
from clerkship.service.planning.plan import RunPlan, build_plan, choose_models
from clerkship.service.planning.stored import open_stored_run
from clerkship.service.stored_runs import load_plan, load_snapshots, require_unchanged
from clerkship.settings import Settings
from clerkship.store.contract import Store

_COPIED_FIELDS = {"name", "path", "options", "concurrency", "fork", "allow_ungraded", "published", "changed_tasks"}


def plan_rerun(
    store: Store,
    reference: str,
    catalog: RegisteredCatalog,
    settings: Settings,
    agent: str | Solver | None = None,
    bot: BotOptions = NO_BOT_OPTIONS,
) -> RunPlan:
    """Plan a run of the same snapshots, with the same seed and number of trials."""
    run = store.run(reference)
    require_unchanged(store.check_plan(run.id))
    stored = open_stored_run(store, run, agent, settings, catalog, bot)
    stored.check_agent()
    snapshots = tuple(map(stored.current, load_snapshots(store, run)))
    hashes = tuple(snapshot.hash for snapshot in snapshots)
    same = run.model_dump(include=_COPIED_FIELDS) | {"calibration": run.calibration}
    frozen = stored.freeze(
        snapshots,
        load_plan(store, run).model_copy(update={"snapshots": hashes}),
        ModelRequest(run=run),
        record=same | {"made_by": "rerun", "origin": run.id},
        prefix=load_fork_point(store, run, catalog),
        shard=run.shard,
    )
    return build_plan(frozen, choose_models(frozen))
