"""Fork a stored conversation: continue it from a turn, with the same or another agent."""

from clerkship.actors.contract import AgentError, Solver
from clerkship.actors.registry import RecordedSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.model_resolver import ModelRequest
from clerkship.kit.command_option import words_of
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.run import BenchmarkRun, ModelOptions
from clerkship.model.snapshot import Plan, Snapshot
from clerkship.service.fork_points import read_fork_point
from clerkship.service.planning.plan import RunPlan, build_plan, choose_models
from clerkship.service.planning.request import ForkRequest
from clerkship.service.planning.stored import open_stored_run
from clerkship.service.stored_runs import load_plan, load_snapshot, require_intact
from clerkship.service.task_view import find_trials
from clerkship.settings import Settings
from clerkship.store.contract import Store


def plan_fork(store: Store, request: ForkRequest, catalog: RegisteredCatalog, settings: Settings) -> RunPlan:
    """Plan a run of one task whose trials all continue a stored trial from a turn."""
    if request.trials is not None and request.trials < 1:
        raise InputError.of("the number of trials must be at least 1")
    run = store.run(request.run)
    load_plan(store, run)  # raises an error for old runs, which have no plan and no snapshots
    ran = find_trials(store, run, request.task, request.trial)[0]
    notes = [InputProblem(message=note) for note in require_intact(store, run.id, ran.task).notes()]
    prefix = read_fork_point(store, ran, request.turn, catalog, warm_up=request.warm_up)
    stored = open_stored_run(store, run, request.agent, settings, catalog, request)
    stored.check_agent()
    _refuse_recorded(stored.solver)
    snapshot = stored.current(load_snapshot(store, ran.snapshot))
    frozen = stored.freeze(
        [snapshot],
        Plan(snapshots=(snapshot.hash,), seed=run.seed, trials=request.trials or 1),
        ModelRequest(request.judge, request.person, run=run.model_copy(update={"asking": _without_recording(run)})),
        record=run.model_dump(include={"name", "path", "concurrency", "published", "changed_tasks"})
        | {"made_by": "fork", "origin": run.id, "fork": prefix.fork, "options": words_of(request)}
        | {"allow_ungraded": run.allow_ungraded or request.allow_ungraded},
        prefix=prefix,
        warnings=(*notes, *_warn_about_warm_up(stored.solver, snapshot, request)),
    )
    return build_plan(frozen, choose_models(frozen))


def _refuse_recorded(solver: Solver) -> None:
    if isinstance(solver, RecordedSolver):
        whose = f"--agent {solver.whose}" if solver.whose else "--agent"
        raise InputError.of(
            f"`{solver.name}` replays a recording, so it cannot continue from a turn", hint=f"give {whose}"
        )


def _without_recording(run: BenchmarkRun) -> ModelOptions:
    """Return the model options of a run without its recording, which is of another conversation."""
    return run.asking.model_copy(update={"tape": None, "tapes_agent": False})


def _warn_about_warm_up(solver: Solver, snapshot: Snapshot, request: ForkRequest) -> list[InputProblem]:
    """Return a warning if the agent gets the earlier messages again: on request, or because it has no `on_history`."""
    if request.turn < 2 or not (request.warm_up or _lacks_history(solver, snapshot)):
        return []
    lines = "line 1" if request.turn == 2 else f"lines 1 to {request.turn - 1}"
    why = "" if request.warm_up else f"{solver.name} has no on_history: "
    message = f"{why}it is warmed up: it answers {lines} again, and its answers and actions there are discarded"
    return [InputProblem(message=message)]


def _lacks_history(solver: Solver, snapshot: Snapshot) -> bool:
    try:
        agent = solver.open(snapshot.solution)
    except AgentError:
        return False  # each trial reports that the agent cannot be opened
    agent.close()
    return "on_history" not in agent.entries
