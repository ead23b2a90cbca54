"""What those who run the server ask: whether it lives and can work, and its metrics."""

from fastapi import Request
from starlette.responses import PlainTextResponse

from clerkship.api.dependencies import ServerPart
from clerkship.api.models.operations import HealthAnswer
from clerkship.api.problems import HttpRefusal
from clerkship.api.routing import build_router
from clerkship.model.errors import ClerkshipError

router = build_router("operations", prefix="")


@router.get("/healthz")
async def get_health() -> HealthAnswer:
    """Say that the process answers."""
    return HealthAnswer(status="ok")


@router.get("/readyz")
def get_readiness(server: ServerPart) -> HealthAnswer:
    """Say whether the server can work: 503 if its database cannot be read, its disk is full, or it is stopping."""
    try:
        problem = server.find_problem()
    except ClerkshipError:
        problem = "the database cannot be read"
    if problem is not None:
        raise HttpRefusal(503, problem)
    return HealthAnswer(status="ready")


@router.get("/metrics", response_class=PlainTextResponse)
def get_metrics(request: Request, server: ServerPart) -> PlainTextResponse:
    """Return the metrics in the text format of Prometheus."""
    return PlainTextResponse(
        request.app.state.metrics.render(server.gauges), media_type="text/plain; version=0.0.4; charset=utf-8"
    )
