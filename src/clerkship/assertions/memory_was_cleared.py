"""`memory_was_cleared`: a memory was cleared."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.memory_entries import ClearedMemoryEntry
from clerkship.assertions.occurrence import NotEmpty
from clerkship.assertions.stored_values import WasWrittenAssertion
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Engine


class MemoryWasCleared(WasWrittenAssertion):
    """Each memory was cleared at some time."""

    name: ClassVar[str] = "memory_was_cleared"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    event: ClassVar[type[Payload]] = agent.MemoryCleared
    entries: Annotated[
        tuple[ClearedMemoryEntry, ...], NotEmpty, Field(description="the memories", json_schema_extra={"minItems": 1})
    ]
