"""Events of the run itself."""

from typing import Any, ClassVar, Literal

from clerkship.events.event import Payload


class RunStarted(Payload):
    """The playground is ready, and the scenario is about to run."""

    kind: ClassVar[str] = "run.started"
    task: str
    environment: str
    seed: str


class StepRan(Payload):
    """A scenario step was executed."""

    kind: ClassVar[str] = "scenario.step.ran"
    step: str


class StepFailed(Payload):
    """A scenario step could not be executed: a mistake of the author, a platform error, or an effect of the agent."""

    kind: ClassVar[str] = "scenario.step.failed"
    step: str
    reason: str
    by_agent: bool = False
    """Whether it failed because of the agent's actions; the run is graded nevertheless."""


class AgentStarted(Payload):
    """The agent was given its task."""

    kind: ClassVar[str] = "agent.started"
    entry: str
    """The function of the agent that was called: `on_task` or `on_turn`."""
    task_item: dict[str, Any] | None = None


class AgentAnswered(Payload):
    """The agent finished, with this answer."""

    kind: ClassVar[str] = "agent.answered"
    answer: Any = None


class AgentFailed(Payload):
    """The agent crashed, or returned an invalid answer."""

    kind: ClassVar[str] = "agent.failed"
    error: str


class RunForked(Payload):
    """The events above happened in another run. From here on another agent replies, or the same agent again."""

    kind: ClassVar[str] = "run.forked"
    run: str
    trial: int
    turn: int
    told: Literal["history", "warm_up", "nothing"]
    """How the agent learned what happened before: from a history, or by replying to the earlier messages again."""


class RunEnded(Payload):
    """The run ended, for this reason."""

    kind: ClassVar[str] = "run.ended"
    ending: str


class RequestRefused(Payload):
    """A sandbox refused a request of the agent, or refused to react to an event of another sandbox."""

    kind: ClassVar[str] = "sandbox.refused"
    operation: str
    status: int
    code: str
    reason: str


class RequestAnswered(Payload):
    """A sandbox answered a request that no event of its simulator records, such as one for the attributes of a file."""

    kind: ClassVar[str] = "sandbox.answered"
    operation: str


class ClockAdvanced(Payload):
    """The agent let simulated time pass, for a duration or until the next scheduled event."""

    kind: ClassVar[str] = "clock.advanced"
    seconds: float | None = None
    """None if it waited for the next scheduled event."""


class FaultInjected(Payload):
    """A fault changed a request or a turn of a conversation; the details say how."""

    kind: ClassVar[str] = "fault.injected"
    fault: str
    operation: str
    details: dict[str, Any] = {}


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


class OutboundAttempted(Payload):
    """A sandbox tried to deliver a message to the address that its agent registered; without the address."""

    kind: ClassVar[str] = "outbound.attempted"
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


class PersonBrokeContract(Payload):
    """The model that plays a person broke its contract. The line that broke it was not sent."""

    kind: ClassVar[str] = "person.broke_contract"
    rule: str
    reason: str
    would_have_said: str = ""
    lines: tuple[str, ...] = ()
    """The lines that the judge cites, each with its turn; empty if a rule was broken without a judge."""
    model: str = ""
    prompt: str = ""


class PersonMadeUpFacts(Payload):
    """The model that plays a person made up facts in its last message: nothing had given them."""

    kind: ClassVar[str] = "person.made_up_facts"
    facts: tuple[str, ...]
    """Numbers, codes, dates and addresses, as written."""


class PersonChecked(Payload):
    """A judge confirmed that the person was played correctly."""

    kind: ClassVar[str] = "person.checked"
    reason: str
    lines: tuple[str, ...] = ()
    model: str = ""
    prompt: str = ""


LIFECYCLE_EVENTS: tuple[type[Payload], ...] = (
    RunStarted,
    StepRan,
    StepFailed,
    AgentStarted,
    AgentAnswered,
    AgentFailed,
    RunForked,
    RunEnded,
    RequestRefused,
    RequestAnswered,
    ClockAdvanced,
    FaultInjected,
    OutboundAttempted,
    PersonBrokeContract,
    PersonMadeUpFacts,
    PersonChecked,
)
