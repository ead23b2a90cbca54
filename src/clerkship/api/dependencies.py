"""What handlers get of a request: the server, the caller, the part of a list, the preconditions."""

import base64
import binascii
from typing import Annotated, ClassVar, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel, ConfigDict, model_validator
from starlette.requests import Request

from clerkship.model.server_objects import ListMeta, ObjectList
from clerkship.service.serving.database import ListPage, ListRequest, refuse_cursor
from clerkship.service.serving.keys import Principal
from clerkship.service.serving.server import Server

T = TypeVar("T")
MAX_PAGE = 100
DEFAULT_PAGE = 20


async def _get_server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


async def _get_principal(request: Request) -> Principal:
    principal: Principal = request.state.principal
    return principal


ServerPart = Annotated[Server, Depends(_get_server)]
Caller = Annotated[Principal, Depends(_get_principal)]


class RequestBody(BaseModel):
    """The body of a request: unknown keys are errors, and nothing is converted.

    What the server alone sets is left out, so that an object can be sent back as it was returned.
    """

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)
    read_only: ClassVar[frozenset[str]] = frozenset({"id", "created_at", "updated_at"})

    @model_validator(mode="before")
    @classmethod
    def _drop_read_only(cls, data: object) -> object:
        return {key: data[key] for key in data if key not in cls.read_only} if isinstance(data, dict) else data


class RequestedPage:
    """The part of a list that a request asks for."""

    def __init__(self, place: str, request: ListRequest) -> None:
        self._place = place
        self.request = request

    def render(self, page: ListPage[T]) -> ObjectList[T]:
        """Return the answer with a part of the list."""
        cursor = None if page.next is None else encode_cursor(self._place, page.next)
        return ObjectList(data=page.items, meta=ListMeta(next=cursor, limit=self.request.limit))


async def _read_paging(
    request: Request,
    limit: Annotated[int, Query(description=f"How many objects, 1 to {MAX_PAGE}.")] = DEFAULT_PAGE,
    cursor: Annotated[str | None, Query(description="`_meta.next` of the part before.")] = None,
) -> RequestedPage:
    place = request.scope["route"].path
    after = None if cursor is None else decode_cursor(place, cursor)
    return RequestedPage(place, ListRequest(min(max(limit, 1), MAX_PAGE), after))


PagingPart = Annotated[RequestedPage, Depends(_read_paging)]


def encode_cursor(place: str, position: str) -> str:
    """Return the cursor of a position in the list of a route."""
    return base64.urlsafe_b64encode(f"{place} {position}".encode()).decode().rstrip("=")


def decode_cursor(place: str, cursor: str) -> str:
    """Return the position. Raise InputError if it is no cursor of this route."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        found, _, position = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition(" ")
    except (binascii.Error, ValueError):
        found = position = ""
    if found != place or not position:
        raise refuse_cursor()
    return position
