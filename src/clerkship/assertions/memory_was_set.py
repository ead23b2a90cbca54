"""`memory_was_set`: a memory was set."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.memory_entries import CountedMemoryEntry
from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, NotEmpty
from clerkship.assertions.stored_values import WasWrittenAssertion
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine


class MemoryWasSet(WasWrittenAssertion):
    """Each memory was set at some time: to the value given, or to any. With `at: end`, only the last value counts, and
    a memory that was cleared holds none."""

    name: ClassVar[str] = "memory_was_set"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE)
    event: ClassVar[type[Payload]] = agent.MemorySet
    cleared: ClassVar[type[Payload] | None] = agent.MemoryCleared
    entries: Annotated[
        tuple[CountedMemoryEntry, ...], NotEmpty, Field(description="the memories", json_schema_extra={"minItems": 1})
    ]
