"""Go on with a conversation that is kept, from one of its turns, with another agent or with the same one."""

from dataclasses import dataclass

from clerkship.actors.contract import AgentError, Solver
from clerkship.actors.recorded import RecordedSolver
from clerkship.engine.build import plugins_used
from clerkship.engine.catalog import Registered
from clerkship.engine.model_resolver import ModelRequest, missing_models, needs_of, resolve_models
from clerkship.model.model_choice import NOBODY
from clerkship.model.plan import Plan
from clerkship.model.problem import InputError, Problem
from clerkship.model.run import Asking, BenchmarkRun
from clerkship.model.snapshot import Snapshot
from clerkship.service.checking import build_agent, check_reachable, options_with, settings_of
from clerkship.service.frozen import datasets_of, graded_now, plan_of, snapshot_at
from clerkship.service.isolating import isolate_import, level_of
from clerkship.service.prefixes import read_prefix
from clerkship.service.reading import find_trials
from clerkship.service.running import RunPlan, new_run
from clerkship.service.sealing import require_intact
from clerkship.service.sources import Sources
from clerkship.settings import Settings
from clerkship.store.contract import Store


@dataclass(frozen=True, kw_only=True)
class ForkRequest:
    """Which conversation, from where on, and with whom."""

    run: str
    task: str
    turn: int
    """The first that is answered anew."""
    trial: int | None = None
    agent: str | Solver | None = None
    judge: str | None = None
    person: str | None = None
    trials: int = 1
    allow_ungraded: bool = False
    """Whether the run may succeed though none of its criteria was judged."""
    warm_up: bool = False
    """Whether the agent answers the earlier lines once more, though it could be told of them."""


def plan_fork(store: Store, request: ForkRequest, catalog: Registered, settings: Settings) -> RunPlan:
    """A run of one task whose trials all begin with what happened in another, up to a turn."""
    if request.trials < 1:
        raise InputError.of("trials are at least 1")
    run = store.run(request.run)
    plan_of(store, run)  # of runs that kept none there is no frozen task either
    ran = find_trials(store, run, request.task, request.trial)[0]
    notes = [Problem(message=note) for note in require_intact(store, run.id, ran.task).notes()]
    prefix = read_prefix(store, ran, request.turn, catalog, warm_up=request.warm_up)
    agent = request.agent or run.solver
    settings = settings_of(run, settings)
    solver = build_agent(agent, settings, catalog)
    isolation = level_of(solver, settings.isolate)
    sources = Sources(run, catalog, settings)
    isolate_import(solver, isolation, sources.hidden(isolation, solver), store.path)
    check_reachable(solver)
    if isinstance(solver, RecordedSolver):
        whose = f"--agent {solver.whose}" if solver.whose else "--agent"
        raise InputError.of(
            f"`{solver.name}` plays what was recorded, and cannot go on otherwise", hint=f"give {whose}"
        )
    snapshot = sources.fitted(graded_now(snapshot_at(store, ran.snapshot)), solver)
    plan = Plan(snapshots=(snapshot.hash,), seed=run.seed, trials=request.trials)
    needs = needs_of([snapshot], catalog)
    kept = run.model_copy(update={"asking": _live(run)})
    models = resolve_models(ModelRequest(request.judge, request.person, run=kept), settings, needs)
    new = new_run(
        plan,
        [snapshot],
        solver.name,
        allow_ungraded=run.allow_ungraded or request.allow_ungraded,
        made_by="fork",
        origin=run.id,
        fork=prefix.fork,
        name=run.name,
        path=run.path,
        concurrency=run.concurrency,
        options=options_with(solver, _options(request)),
        plugins=plugins_used([snapshot], solver.name, catalog),
        isolation=isolation,
        **models.run_fields([snapshot]),
    )
    return RunPlan(
        new,
        plan,
        (snapshot,),
        datasets_of(store, [snapshot]),
        solver,
        settings.concurrency,
        models,
        (*notes, *missing_models(models, needs), *_warm_up(solver, snapshot, request)),
        prefix=prefix,
        files=sources.hidden(isolation, solver),
    )


def _live(run: BenchmarkRun) -> Asking:
    """As the run asked, but live: what was taken down was taken down of another conversation."""
    return run.asking.model_copy(update={"tape": None, "tapes_agent": False})


def _warm_up(solver: Solver, snapshot: Snapshot, request: ForkRequest) -> list[Problem]:
    """An agent that cannot be told of the past has to live through it."""
    if request.turn < 2 or not (request.warm_up or _forgets(solver, snapshot)):
        return []
    lines = "line 1" if request.turn == 2 else f"lines 1 to {request.turn - 1}"
    why = "" if request.warm_up else f"{solver.name} has no on_history: "
    said = f"{why}it is warmed up: it answers {lines} once more, and what it says and does there is thrown away"
    return [Problem(message=said)]


def _forgets(solver: Solver, snapshot: Snapshot) -> bool:
    try:
        agent = solver.open(snapshot.solution)
    except AgentError:
        return False  # that it cannot be made is its own failure, and told with each trial
    agent.close()
    return "on_history" not in agent.entries


def _options(request: ForkRequest) -> tuple[str, ...]:
    """What else was asked for, as the command line says it; which turn of which trial stands in the run's `fork`."""
    pairs = [("--judge", request.judge if request.judge != NOBODY else None), ("--person", request.person)]
    flags: tuple[str, ...] = ("--no-judge",) if request.judge == NOBODY else ()
    flags += ("--allow-ungraded",) if request.allow_ungraded else ()
    flags += ("--warm-up",) if request.warm_up else ()
    return tuple(str(part) for pair in pairs if pair[1] is not None for part in pair) + flags
