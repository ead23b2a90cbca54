"""`memory_was_not_set`: a memory was never set, or never to this value."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.memory_entries import MemoryEntry
from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, NotEmpty
from clerkship.assertions.stored_values import LAST_WRITE_DIFFERENCE, WasNotWrittenAssertion
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine


class MemoryWasNotSet(WasNotWrittenAssertion):
    """No memory was set at any time, or none to the value given, whether or not it was cleared later: the negation of
    `memory_was_set`. With `at: end`, only the last value counts, and a memory that was cleared holds none."""

    name: ClassVar[str] = "memory_was_not_set"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, LAST_WRITE_DIFFERENCE)
    event: ClassVar[type[Payload]] = agent.MemorySet
    cleared: ClassVar[type[Payload] | None] = agent.MemoryCleared
    entries: Annotated[
        tuple[MemoryEntry, ...], NotEmpty, Field(description="the memories", json_schema_extra={"minItems": 1})
    ]
