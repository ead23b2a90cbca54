"""Faults of a telephone: a busy line, a broken connection, a wrong transfer, a long hold, a misheard digit."""

from datetime import timedelta
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Annotated, ClassVar, Self

from pydantic import Field, JsonValue, model_validator

from clerkship.events.event import Payload
from clerkship.model.conversation_key import PhoneNumber
from clerkship.model.duration import Duration
from clerkship.model.frozen import Number, Whole
from clerkship.sandbox.faults.contract import EventFault
from clerkship.sandbox.steps.fault_step import build_fault_step
from clerkship.simulators.voice.dialling import BUSY_SECONDS
from clerkship.simulators.voice.events import (
    CallAnswered,
    CallEntry,
    CallStarted,
    CallTransferred,
    DigitsSent,
    DigitsSpoken,
    HoldStarted,
)
from clerkship.simulators.voice.names import LINE, PHONE_NUMBER, QUEUE
from clerkship.simulators.voice.spoken_digits import count_digits, replace_digit

_NumberFilter = Annotated[
    PhoneNumber | None, PHONE_NUMBER, Field(description="only calls with this number; all if not given")
]


class VoiceFault(EventFault):
    """What the faults of calls have in common."""

    simulator: ClassVar[str] = "voice"
    skip: Annotated[Whole, Field(ge=0, description="how many such events are not affected at first")] = 0
    times: Annotated[Whole | None, Field(ge=1, description="how many are affected; all if not given")] = None
    probability: Annotated[Number, Field(gt=0, le=1, description="the chance that one is affected")] = 1.0

    def describe(self, before: Payload, after: Payload) -> dict[str, JsonValue]:
        """Return the call and the altered fields."""
        return {"call": getattr(before, "call", ""), **super().describe(before, after)}


class BusyLine(VoiceFault):
    """Calls of the agent meet a busy line."""

    name: ClassVar[str] = "voice.busy"
    event: ClassVar[type[Payload]] = CallStarted
    number: _NumberFilter = None

    def affects(self, event: CallStarted) -> bool:
        """Return whether it is a call of the agent to the number that would be answered."""
        return event.direction == "outbound" and event.meets == "answer" and self.number in (None, event.to_number)

    def alter(self, event: CallStarted, rng: Random) -> CallStarted:
        """Let the call meet a busy line."""
        return event.model_copy(update={"meets": "busy", "ring_seconds": BUSY_SECONDS})


class DroppedCall(VoiceFault):
    """The connection breaks some time after a call was answered, unless it has ended by then."""

    name: ClassVar[str] = "voice.drop"
    event: ClassVar[type[Payload]] = CallAnswered
    after: Annotated[Duration, Field(description="how long after the call was answered")] = timedelta(seconds=20)
    jitter: Annotated[
        Duration, Field(description="a random addition of at most this much, which depends on the seed")
    ] = timedelta(0)
    number: _NumberFilter = None

    def affects(self, event: CallAnswered) -> bool:
        """Return whether it is a call with the number."""
        return self.number in (None, event.far_end.partition("/")[0])

    def alter(self, event: CallAnswered, rng: Random) -> CallAnswered:
        """Plan the end of the connection."""
        seconds = self.after.total_seconds()
        if self.jitter:
            seconds += self.jitter.total_seconds() * rng.random()
        return event.model_copy(update={"drops_after": round(seconds, 3)})


class WrongTransfer(VoiceFault):
    """A transfer connects the agent to another number than the right one."""

    name: ClassVar[str] = "voice.wrong_transfer"
    event: ClassVar[type[Payload]] = CallTransferred
    to: Annotated[PhoneNumber, PHONE_NUMBER, Field(description="the number that the agent is connected to instead")]
    number: Annotated[
        PhoneNumber | None, PHONE_NUMBER, Field(description="only transfers to this number or its representatives")
    ] = None

    def affects(self, event: CallTransferred) -> bool:
        """Return whether the transfer would go to the right place."""
        number = event.far_end.partition("/")[0]
        return self.number in (None, number) and event.far_end != self.to and not event.is_wrong

    def alter(self, event: CallTransferred, rng: Random) -> CallTransferred:
        """Connect the call to the other number."""
        return event.model_copy(update={"far_end": self.to, "is_wrong": True})


class LongHold(VoiceFault):
    """Callers wait longer in a queue: a number of times as long, or for a fixed time."""

    name: ClassVar[str] = "voice.long_hold"
    event: ClassVar[type[Payload]] = HoldStarted
    factor: Annotated[Number | Whole | None, Field(gt=1, le=1_000, description="how many times as long")] = None
    wait: Annotated[Duration | None, Field(description="how long they wait, instead of a factor")] = None
    number: Annotated[PhoneNumber | None, LINE, Field(description="only queues of the line with this number")] = None
    queue: Annotated[
        str | None, QUEUE, Field(min_length=1, description="only the queue with this name: `node`, or `tree/node`")
    ] = None

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.factor is None) == (self.wait is None):
            raise ValueError("expected either `factor` or `wait`")
        return self

    def affects(self, event: HoldStarted) -> bool:
        """Return whether it is a queue that it is for, and not a hold of the agent."""
        is_queue = event.by == "line" and event.seconds is not None
        is_named = self.queue is None or self.queue in (event.node, event.node.rpartition("/")[2])
        return is_queue and is_named and self.number in (None, event.number)

    def alter(self, event: HoldStarted, rng: Random) -> HoldStarted:
        """Make the wait longer."""
        given = event.seconds or 0.0
        seconds = given * (self.factor or 1) if self.wait is None else max(self.wait.total_seconds(), given)
        return event.model_copy(update={"seconds": round(seconds, 3)})


class MisheardDigit(VoiceFault):
    """The line understands a digit as another one: of the keys that the agent pressed, or of an entry that it said."""

    name: ClassVar[str] = "voice.mishear"
    event: ClassVar[type[Payload]] = CallEntry
    min_digits: Annotated[
        Whole, Field(ge=1, le=60, description="only entries of at least so many digits; 2 spares menus")
    ] = 1

    def covers(self, sandbox: str, operation: str) -> bool:
        """Return whether it is for an event of a sandbox."""
        return self.sandbox in (None, sandbox) and operation in (DigitsSent.kind, DigitsSpoken.kind)

    def affects(self, event: DigitsSent | DigitsSpoken) -> bool:
        """Return whether there is a digit to mishear."""
        return count_digits(event.understood) >= self.min_digits

    def alter(self, event: DigitsSent | DigitsSpoken, rng: Random) -> DigitsSent | DigitsSpoken:
        """Replace one digit by another."""
        return event.model_copy(update={"understood": replace_digit(event.understood, rng)})


VOICE_FAULTS: tuple[type[VoiceFault], ...] = (BusyLine, DroppedCall, WrongTransfer, LongHold, MisheardDigit)
FAULT_STEPS = tuple(map(build_fault_step, VOICE_FAULTS))
"""The step of each fault, of the same name."""
