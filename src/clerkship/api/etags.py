"""ETags: an object is not sent again to a client that has it, and not changed if it was changed meanwhile."""

import hashlib
from typing import Annotated

from fastapi import Depends, Header
from pydantic import BaseModel
from starlette.responses import Response

from clerkship.service.serving.refusals import PreconditionNotMet


def compute_etag(content: bytes) -> str:
    """Return the ETag of a body."""
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


class Preconditions:
    """The versions that a request names."""

    def __init__(self, if_match: str | None = None, if_none_match: str | None = None) -> None:
        self._if_match = if_match
        self._if_none_match = if_none_match

    def require(self, current: BaseModel) -> None:
        """Raise PreconditionNotMet if the request expects another version of an object than the current one."""
        etag = compute_etag(current.model_dump_json(by_alias=True).encode())
        if self._if_match is not None and not _is_named(self._if_match, etag):
            raise PreconditionNotMet(f"the object has the ETag {etag} now; read it again and repeat the change")

    def render(self, found: BaseModel, status: int = 200) -> Response:
        """Return an object with its ETag; only the ETag if the client has this version."""
        body = found.model_dump_json(by_alias=True).encode()
        etag = compute_etag(body)
        if self._if_none_match is not None and _is_named(self._if_none_match, etag):
            return Response(status_code=304, headers={"etag": etag})
        return Response(body, status, {"etag": etag}, "application/json")


def _is_named(header: str, etag: str) -> bool:
    named = [each.strip().removeprefix("W/") for each in header.split(",")]
    return "*" in named or etag in named


async def _read_preconditions(
    if_none_match: Annotated[
        str | None, Header(description="ETags that the client has: 304 if one is current.")
    ] = None,
) -> Preconditions:
    return Preconditions(None, if_none_match)


async def _read_change_preconditions(
    if_match: Annotated[
        str | None, Header(description="The ETag of the version to change: 412 if it is another.")
    ] = None,
) -> Preconditions:
    return Preconditions(if_match, None)


ReadPreconditions = Annotated[Preconditions, Depends(_read_preconditions)]
ChangePreconditions = Annotated[Preconditions, Depends(_read_change_preconditions)]
