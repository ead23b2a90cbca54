"""One step of `message_thread`: a message of the thread, or an event of any sandbox between messages."""

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from clerkship.events.query import describe_match
from clerkship.model.scenario import Actor, EventMatch, Where
from clerkship.simulators.messages.assertions.logged import LoggedMessage
from clerkship.simulators.messages.assertions.message_match import MessageMatch, describe_conditions

_CONDITIONS = ("channel", "subject", "text", "attachments", "thread", "in_reply_to")


class ThreadStep(MessageMatch):
    """A message, with `from`; or with `event`, something that happened between messages, such as a read of the
    chart.
    """

    sender: Annotated[
        Literal["agent", "contact"] | None,
        Field(alias="from", description="agent, or contact for a message that arrived"),
    ] = None
    event: Annotated[str | None, Field(min_length=1, description="instead of `from`: kind of event")] = None
    where: Where = {}
    sandbox: Annotated[str | None, Field(description="with `event`: sandbox of the event; default: any")] = None
    actor: Annotated[Actor | None, Field(description="with `event`: who caused it; default: any")] = None

    @model_validator(mode="after")
    def _check_form(self) -> Self:
        if (self.sender is None) == (self.event is None):
            raise ValueError("expected `from`, for a message, or `event`")
        names = _CONDITIONS if self.event is not None else ("where", "sandbox", "actor")
        unusable = next((name for name in names if getattr(self, name) not in (None, (), {})), None)
        if unusable is not None:
            needed = "from" if self.event is not None else "event"
            raise ValueError(f"`{unusable}` needs `{needed}`")
        return self

    @cached_property
    def event_match(self) -> EventMatch | None:
        """The condition on events; None for a message."""
        if self.event is None:
            return None
        return EventMatch(event=self.event, where=self.where, sandbox=self.sandbox, actor=self.actor)

    def matches(self, message: LoggedMessage) -> bool:
        """Return whether a message is like this."""
        return message.is_sent == (self.sender == "agent") and all(
            row.passed for row in self.compare_properties(message)
        )

    @property
    def description(self) -> str:
        """The step in words."""
        if self.event_match is not None:
            return describe_match(self.event_match)
        conditions = describe_conditions(self, _CONDITIONS)
        return f"from {self.sender}" + (f" with {conditions}" if conditions else "")
