"""Benchmark runs: start, read, cancel, compare, grade again, report."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Response

from clerkship.api.dependencies import Caller, PagingPart, ServerPart
from clerkship.api.models.runs import BenchmarkRunRequest
from clerkship.api.routing import build_router
from clerkship.model.server_objects import BenchmarkRunSummary, ObjectList, StartedBenchmarkRun
from clerkship.service.serving.benchmark_cache import RunSelection
from clerkship.service.serving.keys import Principal
from clerkship.service.serving.live_runs import NewRun
from clerkship.service.serving.refusals import ActionForbidden, ObjectNotFound
from clerkship.service.serving.run_table import ServedRun
from clerkship.service.serving.server import Server

router = build_router("benchmark runs")


def require_run(server: Server, caller: Principal, run_id: str) -> ServedRun:
    """Return a run that the caller may know of. Raise ObjectNotFound for others."""
    run = server.live.table.run(run_id)
    is_own = {
        "person": True,
        "solver": run.solver is not None and run.solver == caller.solver_id,
        "run": run.id == caller.run_id,
    }
    if not is_own[caller.kind]:
        raise ObjectNotFound(f"there is no benchmark run {run_id[:100]}")
    return run


@router.post("/benchmark-runs", status_code=201)
def start_benchmark_run(server: ServerPart, caller: Caller, body: BenchmarkRunRequest) -> StartedBenchmarkRun:
    """Start a run of a published version. The answer has the token with which the agent works on its task runs."""
    archive = server.published.get_usable(body.benchmark)
    agent = body.agent or (server.solvers.get(caller.solver_id).alias if caller.solver_id else caller.name)
    selection = RunSelection(archive.path, tuple(body.tasks), tuple(body.tags), body.trials, body.seed)
    run, _ = server.live.create(NewRun(selection, agent, caller.solver_id, body.scored))
    token = server.keys.create_run_token(run.id, datetime.fromisoformat(run.expires_at), caller.solver_id)
    summary = server.results.run(run)
    return StartedBenchmarkRun(
        **summary.__dict__, benchmark_run_id=run.id, bearer_token=token.key, bearer_token_expires_at=run.expires_at
    )


@router.get("/benchmark-runs")
def list_benchmark_runs(
    server: ServerPart,
    caller: Caller,
    paging: PagingPart,
    benchmark: Annotated[str | None, Query(description="Only runs of this version, such as `chart@1`.")] = None,
    solver_id: Annotated[str | None, Query(description="Only runs of this solver.")] = None,
) -> ObjectList[BenchmarkRunSummary]:
    """List benchmark runs without their task runs. A solver key lists its own."""
    if caller.kind == "solver":
        if solver_id not in (None, caller.solver_id):
            raise ActionForbidden("a solver key lists its own runs")
        solver_id = caller.solver_id
    page = server.live.table.runs(paging.request, solver=solver_id, benchmark=benchmark)
    return paging.render(page.map(server.results.run_line))


@router.get("/benchmark-runs/{run_id}")
def get_benchmark_run(server: ServerPart, caller: Caller, run_id: str) -> BenchmarkRunSummary:
    """Return a run with its task runs."""
    return server.results.run(require_run(server, caller, run_id))


@router.post("/benchmark-runs/{run_id}/cancel")
def cancel_benchmark_run(server: ServerPart, caller: Caller, run_id: str) -> BenchmarkRunSummary:
    """Cancel a run. Task runs that have ended keep their results."""
    require_run(server, caller, run_id)
    server.live.cancel_run(run_id)
    return server.results.run(server.live.table.run(run_id))


@router.get("/benchmark-runs/{run_id}/report", response_class=Response)
def get_report(server: ServerPart, run_id: str) -> Response:
    """Return the report of a run as one HTML page."""
    server.live.table.run(run_id)
    return Response(server.results.report(run_id), media_type="text/html; charset=utf-8")


@router.get("/benchmark-runs/{run_id}/compare/{other_id}")
def compare_benchmark_runs(server: ServerPart, run_id: str, other_id: str) -> dict[str, Any]:
    """Compare a run with a later one, task by task."""
    return server.results.compare(run_id, other_id)


@router.post("/benchmark-runs/{run_id}/rescore", status_code=201)
def rescore_benchmark_run(server: ServerPart, caller: Caller, run_id: str) -> BenchmarkRunSummary:
    """Grade the logs of a run that has ended again, with the rules of this server. Both results are kept."""
    return server.results.run(server.live.rescore(run_id))
