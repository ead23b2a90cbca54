"""What an agent remembers, by name: what the checks on memory take."""

from typing import Any

from pydantic import model_validator

from clerkship.assertions.occurrence import Counted
from clerkship.assertions.written import CountedEntry, Entry, Named


class MemoryEntry(Entry):
    """A name, and a value; without one any is meant."""

    @model_validator(mode="before")
    @classmethod
    def _no_null(cls, value: Any) -> Any:
        if isinstance(value, dict) and "value" in value and value["value"] is None:
            raise ValueError("`value` is null: leave it out to mean any, or use `memory_was_cleared`")
        return value


class CountedMemory(MemoryEntry, CountedEntry):
    """A name, a value, and how often it was remembered."""


class ClearedMemory(Named, Counted):
    """A name, and how often it was forgotten."""
