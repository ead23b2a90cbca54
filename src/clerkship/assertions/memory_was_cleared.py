"""`memory_was_cleared`: something was forgotten."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.contract import Engine
from clerkship.assertions.occurrence import NotEmpty
from clerkship.assertions.remembered import ClearedMemory
from clerkship.assertions.written import WasWritten
from clerkship.events import agent
from clerkship.events.event import Payload


class MemoryWasCleared(WasWritten):
    """Each was forgotten at some time."""

    name: ClassVar[str] = "memory_was_cleared"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    event: ClassVar[type[Payload]] = agent.MemoryCleared
    entries: Annotated[
        tuple[ClearedMemory, ...], NotEmpty, Field(description="what", json_schema_extra={"minItems": 1})
    ]
