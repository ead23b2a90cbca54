"""`memory_was_not_set`: something was not remembered, or not as this in the end."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.contract import Difference, Engine
from clerkship.assertions.occurrence import BY_EQUALITY, NO_MATCHER, NotEmpty
from clerkship.assertions.remembered import MemoryEntry
from clerkship.assertions.written import WasNotWritten
from clerkship.events import agent
from clerkship.events.event import Payload


class MemoryWasNotSet(WasNotWritten):
    """None was ever written, whether or not it was cleared later; with a value, what was written last is not that."""

    name: ClassVar[str] = "memory_was_not_set"
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (BY_EQUALITY, NO_MATCHER)
    event: ClassVar[type[Payload]] = agent.MemorySet
    null_is_nothing: ClassVar[bool] = False
    entries: Annotated[tuple[MemoryEntry, ...], NotEmpty, Field(description="what", json_schema_extra={"minItems": 1})]
