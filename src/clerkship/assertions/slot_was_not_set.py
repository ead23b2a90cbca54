"""`slot_was_not_set`: a slot holds nothing, or not this value, in the end."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.contract import Difference, Engine
from clerkship.assertions.occurrence import BY_EQUALITY, NO_MATCHER, NotEmpty
from clerkship.assertions.slot_was_set import EMPTY_LIST
from clerkship.assertions.written import Entry, WasNotWritten
from clerkship.events import agent
from clerkship.events.event import Payload


class SlotWasNotSet(WasNotWritten):
    """What counts is what each slot holds in the end (with `turn`, at the end of those turns): never set, or reset to
    `null`; with a value, anything but that. Empty text, `false` and 0 are values. That a slot had no value at any time
    is `slot_was_set: [{name: …, value: {not: null}, count: 0}]`."""

    name: ClassVar[str] = "slot_was_not_set"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    differences: ClassVar[tuple[Difference, ...]] = (BY_EQUALITY, NO_MATCHER, EMPTY_LIST)
    event: ClassVar[type[Payload]] = agent.SlotSet
    null_is_nothing: ClassVar[bool] = True
    entries: Annotated[tuple[Entry, ...], NotEmpty, Field(description="the slots", json_schema_extra={"minItems": 1})]
