"""ETags: an object is not sent again to a client that has it, and not changed if it was changed meanwhile."""

import hashlib
from collections.abc import Callable, Mapping
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
        self.require_content(current.model_dump_json(by_alias=True).encode)

    def require_content(self, build: Callable[[], bytes] | None) -> None:
        """Raise PreconditionNotMet if the request expects other content than the current one. None: there is none."""
        if self._if_match is None:
            return
        etag = compute_etag(build()) if build is not None else None
        if etag is None or not _is_named(self._if_match, etag):
            now = "does not exist" if etag is None else f"has the ETag {etag} now"
            raise PreconditionNotMet(f"the object {now}; read it again and repeat the change")

    def render(self, found: BaseModel, status: int = 200) -> Response:
        """Return an object with its ETag; only the ETag if the client has this version."""
        return self.render_content(found.model_dump_json(by_alias=True).encode(), "application/json", {}, status)

    def render_content(
        self, content: bytes, media_type: str, headers: Mapping[str, str], status: int = 200
    ) -> Response:
        """Return a body with its ETag; only the ETag if the client has this version."""
        etag = compute_etag(content)
        if self._if_none_match is not None and _is_named(self._if_none_match, etag):
            return Response(status_code=304, headers={"etag": etag})
        return Response(content, status, {**headers, "etag": etag}, media_type)


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
