"""`slot_was_not_set`: a slot was never set, or never to this value."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, NotEmpty
from clerkship.assertions.slot_was_set import EMPTY_LIST_DIFFERENCE
from clerkship.assertions.stored_values import LAST_WRITE_DIFFERENCE, ValueEntry, WasNotWrittenAssertion
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine


class SlotWasNotSet(WasNotWrittenAssertion):
    """No slot was set at any time, or none to the value given: the negation of `slot_was_set`. A reset to `null` is
    not a value; empty text, `false` and 0 are. With `at: end`, only the last value counts: a slot that was set and
    then reset passes. A value that `initial_slots` of the scenario replace, such as one from the start of a session,
    does not count as set; what they leave in place does. With `turn`, only those turns are checked."""

    name: ClassVar[str] = "slot_was_not_set"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    differences: ClassVar[tuple[Difference, ...]] = (
        EQUALITY_DIFFERENCE,
        MATCHER_DIFFERENCE,
        EMPTY_LIST_DIFFERENCE,
        LAST_WRITE_DIFFERENCE,
    )
    event: ClassVar[type[Payload]] = agent.SlotSet
    null_is_set: ClassVar[bool] = False
    entries: Annotated[
        tuple[ValueEntry, ...], NotEmpty, Field(description="the slots", json_schema_extra={"minItems": 1})
    ]
