"""`memory_was_set`, `memory_was_not_set` and `memory_was_cleared`: what became of the memories of an agent."""

from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, CountedScope, NotEmpty
from clerkship.assertions.stored_values import (
    LAST_WRITE_DIFFERENCE,
    CountedValueEntry,
    NamedEntry,
    ValueEntry,
    WasNotWrittenAssertion,
    WasWrittenAssertion,
)
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine


class MemoryEntry(ValueEntry):
    """A memory and its value; any value if none is given."""

    @model_validator(mode="before")
    @classmethod
    def _no_null(cls, value: Any) -> Any:
        if isinstance(value, dict) and "value" in value and value["value"] is None:
            raise ValueError("`value` is null: leave it out to mean any, or use `memory_was_cleared`")
        return value


class CountedMemoryEntry(MemoryEntry, CountedValueEntry):
    """A memory, its value, and how often it was set."""


class ClearedMemoryEntry(NamedEntry, CountedScope):
    """A memory, and how often it was cleared."""


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


class MemoryWasCleared(WasWrittenAssertion):
    """Each memory was cleared at some time."""

    name: ClassVar[str] = "memory_was_cleared"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    event: ClassVar[type[Payload]] = agent.MemoryCleared
    entries: Annotated[
        tuple[ClearedMemoryEntry, ...], NotEmpty, Field(description="the memories", json_schema_extra={"minItems": 1})
    ]
