"""`action_executed` and `action_not_executed`: an action of the agent ran, or never ran."""

from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import HappenedAssertion, Name, NeverHappenedAssertion
from clerkship.events import agent
from clerkship.events.event import Payload
from clerkship.model.frozen import Frozen
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Engine


class ActionMatch(Frozen):
    """Selects executions of an action."""

    event: ClassVar[type[Payload]] = agent.ActionExecuted
    about: ClassVar[str] = "name"
    shorthand: ClassVar[str | None] = "name"
    action: Annotated[Name, Field(alias="name", description="the action")]
    arguments: Annotated[
        dict[str, Expected], Field(description="some of its arguments, each a literal or a matcher (ours)")
    ] = {}

    @cached_property
    def expected_fields(self) -> dict[str, Any]:
        """The fields that an event must have."""
        return {"name": self.action} | ({"arguments": self.arguments} if self.arguments else {})


class ActionExecutedAssertion(ActionMatch, HappenedAssertion):
    """The action ran. Responses, listening and actions of patterns count too, if the agent reports them."""

    name: ClassVar[str] = "action_executed"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)


class ActionNotExecuted(ActionMatch, NeverHappenedAssertion):
    """The action never ran, or never with these arguments (ours)."""

    name: ClassVar[str] = "action_not_executed"
