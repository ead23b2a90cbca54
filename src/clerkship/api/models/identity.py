"""Requests about keys and solvers."""

from typing import Annotated

from pydantic import Field

from clerkship.api.dependencies import RequestBody

Alias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)]
Line = Annotated[str, Field(max_length=200)]
Expiry = Annotated[
    str | None,
    Field(description="When it expires, with a zone; never if null.", json_schema_extra={"format": "date-time"}),
]


class KeyRequest(RequestBody):
    """A key to create."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    expires_at: Expiry = None


class SolverKeyRequest(RequestBody):
    """A solver key to create."""

    name: Line = ""
    expires_at: Expiry = None


class SolverRequest(RequestBody):
    """A solver to register."""

    alias: Alias
    real_name: Line = ""
    agent_description: Annotated[str, Field(max_length=2000)] = ""
    contact_email: Line = ""


class SolverChange(RequestBody):
    """Changes of a solver; what is left out stays."""

    alias: Alias | None = None
    real_name: Line | None = None
    agent_description: Annotated[str | None, Field(max_length=2000)] = None
    contact_email: Line | None = None
