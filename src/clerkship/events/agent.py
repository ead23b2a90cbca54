"""Events that an agent reports about itself: flows, actions, slots, skills, memory and tools."""

from collections.abc import Mapping
from typing import Any, Literal

from clerkship.events.event import Payload, collect_events


class FlowStarted(Payload, kind="agent.flow.started"):
    """A flow started."""

    flow_id: str


class _FlowAtStep(Payload):
    """What happened to a flow, and at which step."""

    flow_id: str
    flow_step_id: str | None = None


class FlowCompleted(_FlowAtStep, kind="agent.flow.completed"):
    """A flow was completed."""


class FlowCancelled(_FlowAtStep, kind="agent.flow.cancelled"):
    """A flow was cancelled."""


class FlowInterrupted(_FlowAtStep, kind="agent.flow.interrupted"):
    """A flow was interrupted by another flow."""


class FlowResumed(_FlowAtStep, kind="agent.flow.resumed"):
    """An interrupted flow was resumed."""


class ClarificationOffered(Payload, kind="agent.clarification.offered"):
    """The agent was not sure which flow the person meant, and offered these."""

    flow_ids: tuple[str, ...]
    names: tuple[str, ...] = ()


class ActionExecuted(Payload, kind="agent.action.executed"):
    """An action ran."""

    name: str
    arguments: dict[str, Any] = {}


class SlotSet(Payload, kind="agent.slot.set"):
    """A slot was set; `null` is a value."""

    name: str
    value: Any = None


class SkillActivated(Payload, kind="agent.skill.activated"):
    """A skill was activated."""

    skill_id: str


class SkillCompleted(Payload, kind="agent.skill.completed"):
    """A skill was completed."""

    skill_id: str


class _SkillAtStep(Payload):
    """What happened to a skill, and at which step."""

    skill_id: str
    step_id: str | None = None


class SkillCancelled(_SkillAtStep, kind="agent.skill.cancelled"):
    """A skill was cancelled."""


class SkillInterrupted(_SkillAtStep, kind="agent.skill.interrupted"):
    """A skill was interrupted by another skill."""


class SkillResumed(_SkillAtStep, kind="agent.skill.resumed"):
    """An interrupted skill was resumed."""


class BlockEntered(Payload, kind="agent.block.entered"):
    """An ordered block of a skill was entered."""

    skill_id: str
    block_id: str


class _BlockAtStep(Payload):
    """What happened to a block, and at which step."""

    skill_id: str
    block_id: str
    step_id: str | None = None


class BlockCompleted(_BlockAtStep, kind="agent.block.completed"):
    """An ordered block of a skill was completed."""


class BlockCancelled(_BlockAtStep, kind="agent.block.cancelled"):
    """An ordered block of a skill was cancelled."""


class BlockInterrupted(_BlockAtStep, kind="agent.block.interrupted"):
    """An ordered block of a skill was interrupted."""


class BlockResumed(_BlockAtStep, kind="agent.block.resumed"):
    """An interrupted ordered block of a skill was resumed."""


class MemorySet(Payload, kind="agent.memory.set"):
    """A memory entry was set."""

    name: str
    value: Any = None


class MemoryCleared(Payload, kind="agent.memory.cleared"):
    """A memory entry was cleared."""

    name: str


def is_call_of(action: str, tool: str) -> bool:
    """Return whether a tool that a model called is an action. Clients of MCP put the name of the server before it:
    `mcp__clerkship__read_file`.
    """
    return tool == action or tool.endswith(f"__{action}")


class ToolExecuted(Payload, kind="agent.tool.executed"):
    """A tool was called, with its result or error."""

    tool_name: str
    arguments: dict[str, Any] = {}
    source: Literal["local", "mcp"] = "local"
    mcp_server: str | None = None
    skill_id: str | None = None
    result: Any = None
    is_error: bool = False
    error_message: str | None = None


class ToolCallRejected(Payload, kind="agent.tool.rejected"):
    """A tool call was malformed and was not executed: no such tool, or arguments that it cannot take."""

    tool_name: str
    argument: str | None = None
    """The argument that was wrong; null if the call as a whole was."""
    reason: str
    arguments: Any = None
    """The arguments as the model wrote them: text if they are not JSON, shortened if they are long."""


class Noted(Payload, kind="agent.noted"):
    """Any other event of the agent's engine, under the engine's own name: a restart, a reminder, a sub-agent."""

    what: str
    data: dict[str, Any] = {}


MODEL_ANSWER_CUT_OFF = "model_answer_cut_off"
"""What is noted if an answer of the agent's model ended at the limit of tokens."""
TOOL_CALL_AS_TEXT = "tool_call_as_text"
"""What is noted if the agent's model wrote a tool call as text, which calls nothing."""
SPANS_DROPPED = "spans_dropped"
"""What is noted if the agent sent more spans than a trial stores, or some that are not valid."""
MODEL_FAULTS: Mapping[str, str] = {
    MODEL_ANSWER_CUT_OFF: "an answer of the agent's model was cut off at the limit of tokens; --max-tokens allows more",
    TOOL_CALL_AS_TEXT: "an answer of the agent's model looks like a tool call; the endpoint returned no tool call",
    SPANS_DROPPED: "spans of the agent were dropped, because they are too many or not valid; criteria do not see them",
}
"""What is noted about the agent and is no action of the agent, with the text for reports."""
AGENT_EVENTS = collect_events(globals())
AgentEvents = Mapping[str, type[Payload]]
"""The events that agents may report, by kind."""
BUILT_IN_EVENTS: AgentEvents = {event.kind: event for event in AGENT_EVENTS}
