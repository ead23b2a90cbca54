"""The contract of faults: a fault may answer instead of the sandbox, alter its reply, or alter what happens in it."""

from collections.abc import Mapping
from datetime import timedelta
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, JsonValue

from clerkship.events.event import Payload
from clerkship.model.frozen import Frozen, Number, Whole
from clerkship.sandbox.request import Refusal, Reply

MAX_STREAM_PEEK = 65_536
"""The number of bytes of a streamed reply that a fault looks at."""

FREE_OPERATIONS = frozenset({"models", "count_tokens", "unknown"})
"""Operations of providers that ask no model: they have no limits and no faults."""
EMBEDDINGS = "embeddings"
"""The operation of providers that writes no text."""

ON_TURN = "on_turn"
"""The operation of a reply in a conversation, which is no request."""


class FaultEffect(NamedTuple):
    """How a fault changes a request, a reply or a turn, and what the log says about it."""

    details: Mapping[str, JsonValue] = {}
    delay: timedelta = timedelta(0)
    reply: Reply | None = None
    """What the agent gets instead of the reply of the sandbox; NO_REPLY for nothing."""
    refusal: Refusal | None = None
    """The refusal that the agent gets, in the format of the protocol."""
    headers: Mapping[str, str] = {}


class FaultRule(Frozen):
    """How often a fault takes effect."""

    name: ClassVar[str]
    skip: Annotated[Whole, Field(ge=0, description="how many requests are not affected at first")] = 0
    times: Annotated[Whole | None, Field(ge=1, description="how many requests are affected; all if not given")] = None
    probability: Annotated[Number, Field(gt=0, le=1, description="the chance that a request is affected")] = 1.0

    def covers(self, sandbox: str, operation: str) -> bool:
        """Return whether it is for an operation of a sandbox."""
        raise NotImplementedError


class SandboxFaultRule(FaultRule):
    """Where and how often a fault of sandboxes takes effect."""

    sandbox: Annotated[str | None, Field(description="which sandbox; all if not given")] = None

    def covers(self, sandbox: str, operation: str) -> bool:
        """Return whether it is for an operation of a sandbox."""
        return self.sandbox in (None, sandbox)


class Fault(SandboxFaultRule):
    """Affects requests to one sandbox, or to all of them; optionally only some requests."""

    repeats_request: ClassVar[bool] = False
    """Whether the sandbox gets the request twice."""
    operation: Annotated[str | None, Field(description="which operation; all if not given")] = None

    def covers(self, sandbox: str, operation: str) -> bool:
        """Return whether it is for an operation of a sandbox."""
        return super().covers(sandbox, operation) and self.operation in (None, operation)

    @property
    def affects_turns(self) -> bool:
        """Whether the fault can affect what an agent says in a conversation without a request."""
        return False

    def on_request(self, rng: Random) -> FaultEffect | None:
        """Return the effect on a request before the sandbox sees it; None to wait for the reply.

        An effect with a reply or refusal keeps the request from the sandbox.
        """
        return None

    def on_reply(self, reply: Reply, rng: Random, *, wants_body: bool = True) -> FaultEffect | None:
        """Return the effect on a reply of the sandbox; None for no effect, which is then not counted."""
        return None

    def on_turn(self, rng: Random) -> FaultEffect:
        """Return the effect on the replies of one turn. NO_REPLY means that the person never gets them."""
        return FaultEffect()


class EventFault(SandboxFaultRule):
    """Alters what happens inside a sandbox: an event before it is emitted, such as a call that meets a busy line.

    A simulator defines it together with the event, lists its step in the Spec, and passes each such event to
    `ActionContext.apply_faults` before it emits it. The altered event is in the log, so a replay needs no fault.
    """

    simulator: ClassVar[str]
    """The kind of simulator. The name of the fault, and of its step, begins with it: `kind.verb`."""
    event: ClassVar[type[Payload]]
    """What it alters. `skip`, `times` and `probability` count such events."""

    def covers(self, sandbox: str, operation: str) -> bool:
        """Return whether it is for an event of a sandbox; the kind of the event is its operation."""
        return super().covers(sandbox, operation) and operation == self.event.kind

    def affects(self, event: Any) -> bool:
        """Return whether it can alter an event. One that it cannot alter is not counted."""
        return True

    def alter(self, event: Any, rng: Random) -> Payload:
        """Return the event as it happens instead."""
        raise NotImplementedError

    def describe(self, before: Payload, after: Payload) -> dict[str, JsonValue]:
        """Return what the log says about the effect: the altered fields, as they were and as they are."""
        old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
        return {name: {"before": old[name], "after": new[name]} for name in new if old[name] != new[name]}


class ModelFault(FaultRule):
    """Affects the model calls of the agent. Its step has its name."""

    affects_embeddings: ClassVar[bool] = True
    """Whether it affects embeddings too, or only what a model writes."""

    def covers(self, sandbox: str, operation: str) -> bool:
        """Return whether it is for an operation of a provider; `sandbox` is the source of its events."""
        return operation not in FREE_OPERATIONS and (self.affects_embeddings or operation != EMBEDDINGS)


AnyFault = Fault | EventFault | ModelFault
