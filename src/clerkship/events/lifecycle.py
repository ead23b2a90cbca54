"""Events of the run itself."""

from typing import Any, ClassVar, Literal

from clerkship.events.event import EffectType, Payload, collect_events
from clerkship.model.frozen import Frozen


class RunStarted(Payload, kind="run.started"):
    """The playground is ready, and the scenario is about to run."""

    task: str
    environment: str
    seed: str


class StepRan(Payload, kind="scenario.step.ran"):
    """A scenario step was executed."""

    step: str


class StepFailed(Payload, kind="scenario.step.failed"):
    """A scenario step could not be executed: a mistake of the author, a platform error, or an effect of the agent."""

    step: str
    reason: str
    by_agent: bool = False
    """Whether it failed because of the agent's actions; the run is graded nevertheless."""


class AgentStarted(Payload, kind="agent.started"):
    """The agent was given its task."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    entry: str
    """The function of the agent that was called: `on_task` or `on_turn`."""
    task_item: dict[str, Any] | None = None


class AgentAnswered(Payload, kind="agent.answered"):
    """The agent finished, with this answer."""

    answer: Any = None


class AgentFailed(Payload, kind="agent.failed"):
    """The agent crashed, or returned an invalid answer."""

    error: str


class RunForked(Payload, kind="run.forked"):
    """The events above happened in another run. From here on another agent replies, or the same agent again."""

    run: str
    trial: int
    turn: int
    told: Literal["history", "warm_up", "nothing"]
    """How the agent learned what happened before: from a history, or by replying to the earlier messages again."""


class RunEnded(Payload, kind="run.ended"):
    """The run ended, for this reason."""

    ending: str


class RequestRefused(Payload, kind="sandbox.refused"):
    """A sandbox refused a request of the agent, or to react to an event; or the run refused a model call."""

    effect: ClassVar[EffectType] = "none"
    operation: str
    status: int
    code: str
    reason: str


class RequestAnswered(Payload, kind="sandbox.answered"):
    """A sandbox answered a request that no event of its simulator records, such as one for the attributes of a file."""

    effect: ClassVar[EffectType] = "none"
    operation: str


class ClockAdvanced(Payload, kind="clock.advanced"):
    """The agent let simulated time pass, for a duration or until the next scheduled event."""

    effect: ClassVar[EffectType] = "none"
    seconds: float | None = None
    """None if it waited for the next scheduled event."""


class FaultInjected(Payload, kind="fault.injected"):
    """A fault changed a request, a turn of a conversation or a model call; the details say how."""

    fault: str
    operation: str
    details: dict[str, Any] = {}


class ProposedToolCall(Frozen):
    """A tool call that a model proposed. Whether it was executed is another event."""

    id: str = ""
    name: str
    arguments: Any = None
    """An object; or text, if the model wrote something else."""


class ModelCalled(Payload, kind="agent.model.called"):
    """The agent called a model through the run's model proxy. Tokens, cost and times are in the sidecar."""

    effect: ClassVar[EffectType] = "none"
    provider: str
    operation: str
    """`chat`, `responses`, `messages`, `generate`, `embeddings`, `count_tokens` or `models`."""
    model: str
    """The model that answered, or the requested one."""
    status: int
    """The HTTP status that the agent got; 0 if no response came."""
    parameters: dict[str, Any] = {}
    tools: tuple[str, ...] = ()
    """The names of the tools that the model was offered."""
    tool_calls: tuple[ProposedToolCall, ...] = ()
    finish_reason: str = ""
    error: str = ""
    """Why there is no complete response."""
    request: str = ""
    """The body of the request without secrets, cut if it is very long. While model calls are recorded or replayed, its
    parts one per line, without what differs in every run.
    """
    response: str = ""
    request_is_cut: bool = False
    """Whether only the beginning of the request is stored."""


class SpanRecorded(Payload, kind="agent.span"):
    """The agent sent a span of its own traces. `at` is when the span started. Its times, tokens and ids are in the
    sidecar."""

    effect: ClassVar[EffectType] = "none"
    name: str
    operation: str
    """`chat`, `embeddings`, `execute_tool`, `invoke_agent` or `other`."""
    model: str = ""
    provider: str = ""
    tool_name: str = ""
    arguments: dict[str, Any] = {}
    """Of a tool."""
    result: Any = None
    """Of a tool."""
    is_error: bool = False
    error_message: str = ""
    parent: int | None = None
    """The number of the event of the span in which this one happened."""
    model_call: int | None = None
    """The number of the event of the same model call, if the run's model proxy saw it."""
    attributes: dict[str, Any] = {}
    """The attributes of the span whose names start with `clerkship.`, without that prefix."""


OutboundOutcome = Literal[
    "delivered",
    "refused_by_policy",
    "connection_refused",
    "timed_out",
    "lost",
    "rejected",
    "not_acknowledged",
    "not_sent",
]
"""The outcome of an attempt to deliver a message to the agent: `lost` is a broken connection, `rejected` an HTTP status
or a response that is not accepted, `not_sent` a message that a fault held back."""


class OutboundAttempted(Payload, kind="outbound.attempted"):
    """A sandbox tried to deliver a message to the address that its agent registered; without the address."""

    is_by_sandbox: ClassVar[bool] = True
    channel: str
    """The protocol, such as `mllp`."""
    message: str
    """The id of the message in its sandbox."""
    attempt: int
    outcome: OutboundOutcome
    status: int | None = None
    """The status of an HTTP response."""
    reason: str = ""
    """A code, where the outcome needs one."""
    retry_in: float | None = None
    """Simulated seconds until the next attempt; None if there is none."""

    @property
    def is_answered(self) -> bool:
        """Whether the agent has answered, and no other attempt follows."""
        return self.outcome in ("delivered", "rejected") and self.retry_in is None


class PersonBrokeContract(Payload, kind="person.broke_contract"):
    """The model that plays a person broke its contract. The line that broke it was not sent."""

    rule: str
    reason: str
    would_have_said: str = ""
    lines: tuple[str, ...] = ()
    """The lines that the judge cites, each with its turn; empty if a rule was broken without a judge."""
    model: str = ""
    prompt: str = ""


class PersonMadeUpFacts(Payload, kind="person.made_up_facts"):
    """The model that plays a person made up facts in its last message: nothing had given them."""

    facts: tuple[str, ...]
    """Numbers, codes, dates and addresses, as written."""


class PersonUsedTool(Payload, kind="person.tool.used"):
    """A person used a tool of their own. What it changed is told by the events before it."""

    effect: ClassVar[EffectType] = "none"
    tool: str
    arguments: dict[str, Any] = {}
    result: str = ""
    """What it showed, or why it was refused."""
    is_refused: bool = False
    place: str = ""
    """The conversation within the sandbox; empty on a sandbox that has only one."""

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation of the person."""
        return (self.place,) if self.place else ()


class PersonChecked(Payload, kind="person.checked"):
    """A judge confirmed that the person was played correctly."""

    reason: str
    lines: tuple[str, ...] = ()
    model: str = ""
    prompt: str = ""


LIFECYCLE_EVENTS = collect_events(globals())
