"""`slot_was_set`: a slot got a value."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.contract import Difference, Engine
from clerkship.assertions.occurrence import BY_EQUALITY, NO_MATCHER, NotEmpty
from clerkship.assertions.written import CountedEntry, WasWritten
from clerkship.events import agent
from clerkship.events.event import Payload

EMPTY_LIST = Difference("an empty list", "refused: it checks nothing", "passes there; refused here too")


RESET = Difference("a reset to `null`, no `value` given", "does not count as set", "counts as set")


class SlotWasSet(WasWritten):
    """Each slot was set at some time: to the value given, or to any. A reset to `null` does not count, unless
    `value: null` is given. With `at: end`, only the last value counts. Slots that the scenario sets before the first
    turn count; `turn: {gte: 1}` leaves them out."""

    name: ClassVar[str] = "slot_was_set"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    differences: ClassVar[tuple[Difference, ...]] = (BY_EQUALITY, NO_MATCHER, EMPTY_LIST, RESET)
    event: ClassVar[type[Payload]] = agent.SlotSet
    null_is_set: ClassVar[bool] = False
    entries: Annotated[
        tuple[CountedEntry, ...], NotEmpty, Field(description="the slots", json_schema_extra={"minItems": 1})
    ]
