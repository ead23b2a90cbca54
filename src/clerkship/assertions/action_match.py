"""An action of the agent, and perhaps what it was given: what `action_executed` and its negation take."""

from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import Name
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.model.frozen import Frozen
from clerkship.model.scenario import Expected


class ActionMatch(Frozen):
    """Which action is meant."""

    event: ClassVar[type[Payload]] = agent.ActionExecuted
    about: ClassVar[str] = "name"
    shorthand: ClassVar[str | None] = "name"
    action: Annotated[Name, Field(alias="name", description="the action")]
    arguments: Annotated[
        dict[str, Expected], Field(description="some of its arguments: a literal or a matcher each (ours)")
    ] = {}

    @cached_property
    def expected_fields(self) -> dict[str, Any]:
        """What an event must say."""
        return {"name": self.action} | ({"arguments": self.arguments} if self.arguments else {})
