"""Events that an agent reports about itself: flows, actions, slots, skills, memory and tools."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from clerkship.events.event import Payload


class FlowStarted(Payload):
    """A flow started."""

    kind: ClassVar[str] = "agent.flow.started"
    flow_id: str


class FlowCompleted(Payload):
    """A flow was completed."""

    kind: ClassVar[str] = "agent.flow.completed"
    flow_id: str
    flow_step_id: str | None = None


class FlowCancelled(Payload):
    """A flow was cancelled."""

    kind: ClassVar[str] = "agent.flow.cancelled"
    flow_id: str
    flow_step_id: str | None = None


class FlowInterrupted(Payload):
    """A flow was interrupted by another flow."""

    kind: ClassVar[str] = "agent.flow.interrupted"
    flow_id: str
    flow_step_id: str | None = None


class FlowResumed(Payload):
    """An interrupted flow was resumed."""

    kind: ClassVar[str] = "agent.flow.resumed"
    flow_id: str
    flow_step_id: str | None = None


class ClarificationOffered(Payload):
    """The agent was not sure which flow the person meant, and offered these."""

    kind: ClassVar[str] = "agent.clarification.offered"
    flow_ids: tuple[str, ...]
    names: tuple[str, ...] = ()


class ActionExecuted(Payload):
    """An action ran."""

    kind: ClassVar[str] = "agent.action.executed"
    name: str
    arguments: dict[str, Any] = {}


class SlotSet(Payload):
    """A slot was set; `null` is a value."""

    kind: ClassVar[str] = "agent.slot.set"
    name: str
    value: Any = None


class SkillActivated(Payload):
    """A skill was activated."""

    kind: ClassVar[str] = "agent.skill.activated"
    skill_id: str


class SkillCompleted(Payload):
    """A skill was completed."""

    kind: ClassVar[str] = "agent.skill.completed"
    skill_id: str


class SkillCancelled(Payload):
    """A skill was cancelled."""

    kind: ClassVar[str] = "agent.skill.cancelled"
    skill_id: str
    step_id: str | None = None


class SkillInterrupted(Payload):
    """A skill was interrupted by another skill."""

    kind: ClassVar[str] = "agent.skill.interrupted"
    skill_id: str
    step_id: str | None = None


class SkillResumed(Payload):
    """An interrupted skill was resumed."""

    kind: ClassVar[str] = "agent.skill.resumed"
    skill_id: str
    step_id: str | None = None


class BlockEntered(Payload):
    """An ordered block of a skill was entered."""

    kind: ClassVar[str] = "agent.block.entered"
    skill_id: str
    block_id: str


class BlockCompleted(Payload):
    """An ordered block of a skill was completed."""

    kind: ClassVar[str] = "agent.block.completed"
    skill_id: str
    block_id: str
    step_id: str | None = None


class BlockCancelled(Payload):
    """An ordered block of a skill was cancelled."""

    kind: ClassVar[str] = "agent.block.cancelled"
    skill_id: str
    block_id: str
    step_id: str | None = None


class BlockInterrupted(Payload):
    """An ordered block of a skill was interrupted."""

    kind: ClassVar[str] = "agent.block.interrupted"
    skill_id: str
    block_id: str
    step_id: str | None = None


class BlockResumed(Payload):
    """An interrupted ordered block of a skill was resumed."""

    kind: ClassVar[str] = "agent.block.resumed"
    skill_id: str
    block_id: str
    step_id: str | None = None


class MemorySet(Payload):
    """A memory entry was set."""

    kind: ClassVar[str] = "agent.memory.set"
    name: str
    value: Any = None


class MemoryCleared(Payload):
    """A memory entry was cleared."""

    kind: ClassVar[str] = "agent.memory.cleared"
    name: str


class ToolExecuted(Payload):
    """A tool was called, with its result or error."""

    kind: ClassVar[str] = "agent.tool.executed"
    tool_name: str
    arguments: dict[str, Any] = {}
    source: Literal["local", "mcp"] = "local"
    mcp_server: str | None = None
    skill_id: str | None = None
    result: Any = None
    is_error: bool = False
    error_message: str | None = None


class ToolCallRejected(Payload):
    """A tool call was malformed and was not executed: no such tool, or arguments that it cannot take."""

    kind: ClassVar[str] = "agent.tool.rejected"
    tool_name: str
    argument: str | None = None
    """The argument that was wrong; null if the call as a whole was."""
    reason: str
    arguments: Any = None
    """The arguments as the model wrote them: text if they are not JSON, shortened if they are long."""


class Noted(Payload):
    """Any other event of the agent's engine, under the engine's own name: a restart, a reminder, a sub-agent."""

    kind: ClassVar[str] = "agent.noted"
    what: str
    data: dict[str, Any] = {}


MODEL_ANSWER_CUT_OFF = "model_answer_cut_off"
"""What is noted if an answer of the agent's model ended at the limit of tokens."""
AGENT_EVENTS: tuple[type[Payload], ...] = (
    FlowStarted,
    FlowCompleted,
    FlowCancelled,
    FlowInterrupted,
    FlowResumed,
    ClarificationOffered,
    ActionExecuted,
    SlotSet,
    SkillActivated,
    SkillCompleted,
    SkillCancelled,
    SkillInterrupted,
    SkillResumed,
    BlockEntered,
    BlockCompleted,
    BlockCancelled,
    BlockInterrupted,
    BlockResumed,
    MemorySet,
    MemoryCleared,
    ToolExecuted,
    ToolCallRejected,
    Noted,
)
AgentEvents = Mapping[str, type[Payload]]
"""The events that agents may report, by kind."""
BUILT_IN_EVENTS: AgentEvents = {event.kind: event for event in AGENT_EVENTS}
