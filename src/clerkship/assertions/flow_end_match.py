"""How a flow ended: what `flow_completed` and `flow_cancelled` share, and their negations."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.contract import Difference, Engine
from clerkship.assertions.occurrence import Name
from clerkship.events.event import Event
from clerkship.model.frozen import Frozen

FIRST_END_DIFFERENCE = Difference(
    "a flow that ended several times, with `flow_step_id`",
    "any of the times may be at that step",
    "only the first time is looked at",
)


class FlowEndMatch(Frozen):
    """A flow, and perhaps the step it ended at."""

    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    about: ClassVar[str] = "flow_id"
    shorthand: ClassVar[str | None] = "flow_id"
    differences: ClassVar[tuple[Difference, ...]] = (FIRST_END_DIFFERENCE,)
    flow_id: Annotated[Name, Field(description="the flow")]
    flow_step_id: Annotated[Name | None, Field(description="the step it ended at; any if not given")] = None

    def select_as_rasa(self, found: Sequence[Event]) -> Sequence[Event]:
        """Of this flow's endings the first alone."""
        return [event for event in found if getattr(event.payload, "flow_id", None) == self.flow_id][:1]
