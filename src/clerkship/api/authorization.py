"""Who may call which route: one table, from which the reference is generated, and the check of a key."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from starlette.requests import Request

from clerkship.service.serving.keys import KeyTable, Principal
from clerkship.service.serving.refusals import ActionForbidden

Extent = Literal["all", "own", "no"]
"""What of a resource a key reaches: everything, what belongs to its solver or run (else 404), or nothing (403)."""


class Access(NamedTuple):
    """Who may call a route."""

    person: Extent = "all"
    solver: Extent = "no"
    run: Extent = "no"
    public: bool = False
    """Whether it needs no key."""


_PUBLIC = Access("all", "all", "all", public=True)
_PEOPLE = Access()
_READERS = Access(solver="all")
_OWN_RUN = Access(solver="own", run="own")
_WORK = Access(run="own")

ACCESS: Mapping[str, Access] = {
    "GET /healthz": _PUBLIC,
    "GET /readyz": _PUBLIC,
    "GET /metrics": _PEOPLE,
    "GET /v1/openapi.json": _PUBLIC,
    "GET /v1/keys": _PEOPLE,
    "POST /v1/keys": _PEOPLE,
    "GET /v1/keys/{key_id}": _PEOPLE,
    "DELETE /v1/keys/{key_id}": _PEOPLE,
    "GET /v1/solvers": _PEOPLE,
    "POST /v1/solvers": _PEOPLE,
    "GET /v1/solvers/{solver_id}": Access(solver="own"),
    "PATCH /v1/solvers/{solver_id}": _PEOPLE,
    "GET /v1/solvers/{solver_id}/api-keys": _PEOPLE,
    "POST /v1/solvers/{solver_id}/api-keys": _PEOPLE,
    "DELETE /v1/solvers/{solver_id}/api-keys/{key_id}": _PEOPLE,
    "GET /v1/published": _READERS,
    "GET /v1/published/{name}": _READERS,
    "GET /v1/published/{name}/manifest": _READERS,
    "GET /v1/published/{name}/archive": _READERS,
    "PUT /v1/published/{name}/archive": _PEOPLE,
    "POST /v1/published/{name}/withdraw": _PEOPLE,
    "POST /v1/published/{name}/restore": _PEOPLE,
    "POST /v1/benchmark-runs": Access(solver="own"),
    "GET /v1/benchmark-runs": Access(solver="own"),
    "GET /v1/benchmark-runs/{run_id}": _OWN_RUN,
    "POST /v1/benchmark-runs/{run_id}/cancel": _OWN_RUN,
    "POST /v1/benchmark-runs/{run_id}/rescore": _PEOPLE,
    "GET /v1/benchmark-runs/{run_id}/report": _PEOPLE,
    "GET /v1/benchmark-runs/{run_id}/compare/{other_id}": _PEOPLE,
    "GET /v1/task-runs/{task_run_id}": _OWN_RUN,
    "POST /v1/task-runs/{task_run_id}/start": _WORK,
    "POST /v1/task-runs/{task_run_id}/sandbox-requests": _WORK,
    "POST /v1/task-runs/{task_run_id}/messages": _WORK,
    "POST /v1/task-runs/{task_run_id}/complete": _WORK,
    "POST /v1/task-runs/{task_run_id}/cancel": _WORK,
    "POST /v1/task-runs/{task_run_id}/heartbeat": _WORK,
    "GET /v1/task-runs/{task_run_id}/events": _OWN_RUN,
    "GET /v1/task-runs/{task_run_id}/transcript": _OWN_RUN,
    "GET /v1/task-runs/{task_run_id}/artifacts/{sha256}": _OWN_RUN,
    "GET /v1/criterion-runs": _OWN_RUN,
    "GET /v1/criterion-runs/{criterion_run_id}": _OWN_RUN,
    **{
        f"{method} /v1/{plural}{item}": _PEOPLE
        for plural in ("environments", "simulators", "datasets", "benchmarks", "tasks", "criteria")
        for item, methods in (("", ("GET", "POST")), ("/{id}", ("GET", "PUT", "PATCH", "DELETE")))
        for method in methods
    },
    "POST /v1/datasets/generate": _PEOPLE,
    "POST /v1/datasets/upload": _PEOPLE,
    "GET /v1/tasks/{id}/entities": _PEOPLE,
    "POST /v1/tasks/{id}/entities": _PEOPLE,
    "DELETE /v1/tasks/{id}/entities/{entity_id}": _PEOPLE,
    "GET /v1/benchmarks/{id}/files": _PEOPLE,
    "PUT /v1/benchmarks/{id}/files": _PEOPLE,
    "GET /v1/benchmarks/{id}/files/{path:path}": _PEOPLE,
    "PUT /v1/benchmarks/{id}/files/{path:path}": _PEOPLE,
    "DELETE /v1/benchmarks/{id}/files/{path:path}": _PEOPLE,
    "POST /v1/benchmarks/{id}/publish": _PEOPLE,
}
"""The access to every route, by its method and path."""


class NotAuthenticated(Exception):
    """There is no key, or it is not valid."""


def read_secret(request: Request) -> str:
    """Return the key that a request was sent with; an empty text if there is none."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def authorize(request: Request, keys: KeyTable, access: Access) -> Principal | None:
    """Return the owner of the key of a request; None if the route needs no key. Raise NotAuthenticated or
    ActionForbidden.
    """
    if access.public:
        return None
    secret = read_secret(request)
    principal = keys.find(secret) if secret else None
    if principal is None:
        raise NotAuthenticated("the key is not valid" if secret else "the request has no key")
    if getattr(access, principal.kind) == "no":
        kind = {"person": "the key of a person", "solver": "a solver key", "run": "a run token"}[principal.kind]
        raise ActionForbidden(f"{kind} does not allow this")
    return principal
