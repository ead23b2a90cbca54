"""`slot_was_set` and `slot_was_not_set`: a slot was set, or never was."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, NotEmpty
from clerkship.assertions.stored_values import (
    LAST_WRITE_DIFFERENCE,
    REPLACED_DIFFERENCE,
    CountedValueEntry,
    ValueEntry,
    WasNotWrittenAssertion,
    WasWrittenAssertion,
)
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.sandbox.assertion import Difference, Engine

EMPTY_LIST_DIFFERENCE = Difference("an empty list", "refused: it checks nothing", "passes there; refused here too")
RESET_DIFFERENCE = Difference("a reset to `null`, no `value` given", "does not count as set", "counts as set")


class SlotWasSet(WasWrittenAssertion):
    """Each slot was set at some time: to the value given, or to any. A reset to `null` does not count, unless
    `value: null` is given. With `at: end`, only the last value counts. `initial_slots` of the scenario count, and so
    does what the agent sets before them, such as at the start of a session, unless they replace it. `turn: {gte: 1}`
    leaves out both."""

    name: ClassVar[str] = "slot_was_set"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    differences: ClassVar[tuple[Difference, ...]] = (
        EQUALITY_DIFFERENCE,
        MATCHER_DIFFERENCE,
        EMPTY_LIST_DIFFERENCE,
        RESET_DIFFERENCE,
        REPLACED_DIFFERENCE,
    )
    event: ClassVar[type[Payload]] = agent.SlotSet
    null_is_set: ClassVar[bool] = False
    entries: Annotated[
        tuple[CountedValueEntry, ...], NotEmpty, Field(description="the slots", json_schema_extra={"minItems": 1})
    ]


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
