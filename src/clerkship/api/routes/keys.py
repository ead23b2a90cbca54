"""Keys: of people, of solvers and of runs."""

from typing import Annotated

from fastapi import Query, Response

from clerkship.api.dependencies import PagingPart, ServerPart
from clerkship.api.etags import ReadPreconditions
from clerkship.api.models.identity import KeyRequest
from clerkship.api.routing import build_router
from clerkship.model.server_objects import ApiKey, KeyKind, NewApiKey, ObjectList
from clerkship.service.serving.keys import parse_expiry

router = build_router("keys")


@router.get("/keys")
def list_keys(
    server: ServerPart,
    paging: PagingPart,
    kind: Annotated[KeyKind | None, Query(description="Only keys of this kind.")] = None,
) -> ObjectList[ApiKey]:
    """List keys, the revoked and expired ones too. Secrets are not shown."""
    return paging.render(server.keys.list(paging.request, kind=kind))


@router.post("/keys", status_code=201)
def create_key(server: ServerPart, body: KeyRequest) -> NewApiKey:
    """Create the key of a person. `key` is shown in this answer alone."""
    return server.keys.create_person(body.name, parse_expiry(body.expires_at))


@router.get("/keys/{key_id}", response_model=ApiKey)
def get_key(server: ServerPart, key_id: str, preconditions: ReadPreconditions) -> Response:
    """Return a key without its secret."""
    return preconditions.render(server.keys.get(key_id))


@router.delete("/keys/{key_id}", status_code=204)
def revoke_key(server: ServerPart, key_id: str) -> None:
    """Revoke a key: it is not valid from now on. It stays in the list."""
    server.keys.revoke(key_id)
