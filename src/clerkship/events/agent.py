"""What an agent did inside itself, told by its own tracker or code: flows, actions, slots."""

from typing import Any, ClassVar

from clerkship.events.event import Payload


class FlowStarted(Payload):
    """A flow began."""

    kind: ClassVar[str] = "agent.flow.started"
    flow_id: str


class FlowCompleted(Payload):
    """A flow reached its end."""

    kind: ClassVar[str] = "agent.flow.completed"
    flow_id: str
    flow_step_id: str | None = None


class FlowCancelled(Payload):
    """A flow was called off."""

    kind: ClassVar[str] = "agent.flow.cancelled"
    flow_id: str
    flow_step_id: str | None = None


class FlowInterrupted(Payload):
    """A flow was put aside for another."""

    kind: ClassVar[str] = "agent.flow.interrupted"
    flow_id: str


class ActionExecuted(Payload):
    """An action or a tool ran."""

    kind: ClassVar[str] = "agent.action.executed"
    name: str
    arguments: dict[str, Any] = {}


class SlotSet(Payload):
    """A slot got a value; `null` is a value."""

    kind: ClassVar[str] = "agent.slot.set"
    name: str
    value: Any = None


AGENT: tuple[type[Payload], ...] = (
    FlowStarted,
    FlowCompleted,
    FlowCancelled,
    FlowInterrupted,
    ActionExecuted,
    SlotSet,
)
