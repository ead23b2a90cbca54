"""What an agent remembers, by name: what the checks on memory take."""

from typing import Any

from pydantic import model_validator

from clerkship.assertions.occurrence import CountedScope
from clerkship.assertions.stored_values import CountedValueEntry, NamedEntry, ValueEntry


class MemoryEntry(ValueEntry):
    """A name, and a value; without one any is meant."""

    @model_validator(mode="before")
    @classmethod
    def _no_null(cls, value: Any) -> Any:
        if isinstance(value, dict) and "value" in value and value["value"] is None:
            raise ValueError("`value` is null: leave it out to mean any, or use `memory_was_cleared`")
        return value


class CountedMemoryEntry(MemoryEntry, CountedValueEntry):
    """A name, a value, and how often it was remembered."""


class ClearedMemoryEntry(NamedEntry, CountedScope):
    """A name, and how often it was forgotten."""
