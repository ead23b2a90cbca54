"""The end of a flow: the fields of `flow_completed`, `flow_cancelled` and their negations."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import Name
from clerkship.events.event import Event
from clerkship.model.frozen import Frozen
from clerkship.sandbox.assertion import Difference, Engine

FIRST_END_DIFFERENCE = Difference(
    "a flow that ended several times, with `flow_step_id`",
    "any of the times may be at that step",
    "only the first time is checked",
)


class FlowEndMatch(Frozen):
    """Selects ends of a flow, optionally at one step."""

    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    about: ClassVar[str] = "flow_id"
    shorthand: ClassVar[str | None] = "flow_id"
    differences: ClassVar[tuple[Difference, ...]] = (FIRST_END_DIFFERENCE,)
    flow_id: Annotated[Name, Field(description="the flow")]
    flow_step_id: Annotated[Name | None, Field(description="the step it ended at; any if not given")] = None

    def select_as_rasa(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return only the first end of this flow."""
        return [event for event in events if getattr(event.payload, "flow_id", None) == self.flow_id][:1]
