"""What a fault is: something that may answer instead of the sandbox, or spoil its answer."""

from collections.abc import Mapping
from datetime import timedelta
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field, JsonValue

from clerkship.model.frozen import Frozen, Number, Whole
from clerkship.sandbox.request import Refusal, Reply

MAX_STREAM_PEEK = 65_536
"""Bytes of a streamed answer that a fault looks at."""


class FaultEffect(NamedTuple):
    """What a fault makes of a request or of its answer, and what the log says of it."""

    details: Mapping[str, JsonValue] = {}
    delay: timedelta = timedelta(0)
    reply: Reply | None = None
    """What the agent gets instead; NO_REPLY if nothing."""
    refusal: Refusal | None = None
    """What it is answered with, in the words of the sandbox's own protocol."""
    headers: Mapping[str, str] = {}


class Fault(Frozen):
    """Strikes requests to one sandbox, or to any; some of them, or so many times."""

    name: ClassVar[str]
    repeats_request: ClassVar[bool] = False
    """Whether the sandbox gets the request once more."""
    sandbox: Annotated[str | None, Field(description="which sandbox; all if not given")] = None
    operation: Annotated[str | None, Field(description="which operation; all if not given")] = None
    skip: Annotated[Whole, Field(ge=0, description="how many requests pass before it begins")] = 0
    times: Annotated[Whole | None, Field(ge=1, description="how many requests; all that come if not given")] = None
    probability: Annotated[Number, Field(gt=0, le=1, description="how likely it strikes each")] = 1.0

    @property
    def affects_turns(self) -> bool:
        """Whether it can strike what an agent says in a conversation without any request."""
        return False

    def on_request(self, rng: Random) -> FaultEffect | None:
        """Before the sandbox sees the request: with a reply or refusal it never does. None leaves it to `after`."""
        return None

    def on_reply(self, reply: Reply, rng: Random, *, wants_body: bool = True) -> FaultEffect | None:
        """After the sandbox has answered; None if there is nothing here to spoil, and then it has not struck."""
        return None

    def on_turn(self, rng: Random) -> FaultEffect:
        """What it makes of the replies of one turn, if it strikes turns: NO_REPLY if the person never hears them."""
        return FaultEffect()
