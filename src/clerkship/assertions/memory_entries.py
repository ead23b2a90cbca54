"""Entries of the assertions on memory."""

from typing import Any

from pydantic import model_validator

from clerkship.assertions.occurrence import CountedScope
from clerkship.assertions.stored_values import CountedValueEntry, NamedEntry, ValueEntry


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
