"""Solvers and their keys."""

from typing import Annotated

from fastapi import Query, Response

from clerkship.api.dependencies import Caller, PagingPart, ServerPart
from clerkship.api.etags import ChangePreconditions, ReadPreconditions
from clerkship.api.models.identity import SolverChange, SolverKeyRequest, SolverRequest
from clerkship.api.routing import build_router
from clerkship.model.server_objects import ApiKey, NewApiKey, ObjectList, RegisteredSolver
from clerkship.service.serving.keys import parse_expiry
from clerkship.service.serving.refusals import ObjectNotFound

router = build_router("solvers")


@router.get("/solvers")
def list_solvers(
    server: ServerPart,
    paging: PagingPart,
    alias: Annotated[str | None, Query(description="Only the solver with this alias.")] = None,
) -> ObjectList[RegisteredSolver]:
    """List solvers."""
    return paging.render(server.solvers.list(paging.request, alias=alias))


@router.post("/solvers", status_code=201)
def create_solver(server: ServerPart, body: SolverRequest) -> RegisteredSolver:
    """Register a solver. Create a key for it next."""
    return server.solvers.create(body.alias, body.real_name, body.agent_description, body.contact_email)


@router.get("/solvers/{solver_id}", response_model=RegisteredSolver)
def get_solver(server: ServerPart, caller: Caller, solver_id: str, preconditions: ReadPreconditions) -> Response:
    """Return a solver. A solver key returns its own."""
    if caller.kind == "solver" and caller.solver_id != solver_id:
        raise ObjectNotFound(f"there is no solver `{solver_id}`")
    return preconditions.render(server.solvers.get(solver_id))


@router.patch("/solvers/{solver_id}", response_model=RegisteredSolver)
def change_solver(
    server: ServerPart, solver_id: str, body: SolverChange, preconditions: ChangePreconditions
) -> Response:
    """Change fields of a solver."""
    before = server.solvers.get(solver_id)
    preconditions.require(before)
    return preconditions.render(server.solvers.update(before, body.model_dump(exclude_none=True)))


@router.get("/solvers/{solver_id}/api-keys")
def list_solver_keys(server: ServerPart, paging: PagingPart, solver_id: str) -> ObjectList[ApiKey]:
    """List the keys of a solver, the revoked and expired ones too."""
    server.solvers.get(solver_id)
    return paging.render(server.keys.list(paging.request, kind="solver", solver_id=solver_id))


@router.post("/solvers/{solver_id}/api-keys", status_code=201)
def create_solver_key(server: ServerPart, solver_id: str, body: SolverKeyRequest) -> NewApiKey:
    """Create a key for a solver. `key` is shown in this answer alone."""
    return server.keys.create_solver_key(solver_id, body.name, parse_expiry(body.expires_at))


@router.delete("/solvers/{solver_id}/api-keys/{key_id}", status_code=204)
def revoke_solver_key(server: ServerPart, solver_id: str, key_id: str) -> None:
    """Revoke a key of a solver."""
    server.solvers.get(solver_id)
    server.keys.revoke(key_id, solver_id)
