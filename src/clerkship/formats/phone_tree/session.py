"""What a far end of a call remembers, what can happen to it, and what it does.

A far end is a phone tree, a scripted representative or a recorder of messages. It has no clock: a step returns after
how many seconds it wants to be called again. The simulator turns actions into events and keeps the time.
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field, model_validator

from clerkship.formats.phone_tree.nodes import NodeName
from clerkship.formats.phone_tree.prompts import measure_speech
from clerkship.kit.rng import Rng
from clerkship.model.frozen import Flag, Frozen, Number, Whole, copy_unchecked

Phase = Literal["speaking", "listening", "on_hold", "recording", "waiting", "ended"]
"""`speaking`: a prompt plays. `listening`: it waits for the caller. `waiting`: it waits for the result of a hook."""
RejectionReason = Literal["no_input", "no_match", "invalid"]
CALLER = "caller"
"""The source of a value that the caller stated."""
LINE = "line"
"""The source of a value that the phone tree passed on."""


class Session(Frozen):
    """What a far end remembers of a call. Fields that are empty are not stored."""

    phase: Phase
    due: Annotated[datetime | None, Field(description="when TimerFired is expected, in UTC")] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Find the fields that are empty by default."""
        super().__pydantic_init_subclass__(**options)
        fields = cls.model_fields.items()
        cls.omitted_when_empty = frozenset(
            name for name, field in fields if not field.is_required() and not field.default
        )


class IvrSession(Session):
    """Where a call is in a phone tree."""

    type: Literal["ivr"] = "ivr"
    node: NodeName
    attempts: Annotated[Whole, Field(description="entries at this node that were missing or wrong")] = 0
    digits: Annotated[str, Field(description="digits that are not used yet")] = ""
    entry: Annotated[str, Field(description="the entry that the caller is asked to confirm")] = ""
    values: dict[str, str] = {}
    visits: dict[str, int] = {}
    prompts: Annotated[tuple[str, ...], Field(description="what is still to be said at this node")] = ()
    wait_seconds: Annotated[Number, Field(description="how long the whole wait in the queue is")] = 0.0
    hold_seconds: Annotated[Number, Field(description="how much longer the caller waits in the queue")] = 0.0
    position: Whole = 0
    recording_end: Annotated[datetime | None, Field(description="when the recording ends at the latest")] = None


class Slot(Frozen):
    """A value that a representative knows."""

    value: str
    source: Annotated[str, Field(description="`caller`, `line` if the phone tree collected it, or the name of a hook")]
    state: Annotated[
        Literal["stated", "doubted", "verified"],
        Field(description="`doubted`: it did not match what is on file; `verified`: it did"),
    ] = "stated"


class RepresentativeSession(Session):
    """Where a call with a scripted representative is: the frame of the dialogue.

    What is asked is the `intent`, what is known are the `slots`, and what may be said depends on `is_verified`.
    """

    type: Literal["representative"] = "representative"
    representative: str
    attempts: Annotated[Whole, Field(description="verifications that failed in the whole call")] = 0
    silences: Annotated[Whole, Field(description="how often in a row the caller said nothing")] = 0
    slots: dict[str, Slot] = {}
    is_verified: Annotated[Flag, Field(description="whether the caller may hear about the person in the slots")] = False
    asked_for: Annotated[str, Field(description="name of the value that the caller is asked for")] = ""
    intent: Annotated[str, Field(description="number of the answer that waits for a value, or for a hook")] = ""
    question: Annotated[str, Field(description="what the caller said to ask for it")] = ""
    said: Annotated[str, Field(description="what was said last, in case the caller asks to repeat it")] = ""
    is_ending: Annotated[Flag, Field(description="whether the call ends or is transferred after what is said now")] = (
        False
    )
    transfers_to: Annotated[str, Field(description="to whom it is transferred then; empty if it ends")] = ""

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_fields(cls, fields: Any) -> Any:
        """Read the session of a log that was stored before values were slots."""
        if not isinstance(fields, dict) or fields.keys().isdisjoint({"stated", "values", "topic"}):
            return fields
        fields = dict(fields)
        found, stated, intent = fields.pop("values", {}), fields.pop("stated", {}), fields.pop("topic", "")
        slots = {name: {"value": value, "source": "hook"} for name, value in found.items()}
        slots |= {name: {"value": value, "source": CALLER} for name, value in stated.items()}
        return {**fields, "slots": slots, "intent": intent}


class RecorderSession(Session):
    """A greeting, a beep and a recording."""

    type: Literal["recording"] = "recording"
    mailbox: str
    greeting: str = ""
    max_seconds: Number = 180.0
    recording_end: Annotated[datetime | None, Field(description="when the recording ends at the latest")] = None


class MailboxSession(Session):
    """Where a caller is who listens to the messages of a mailbox."""

    type: Literal["mailbox"] = "mailbox"
    mailbox: str
    step: Annotated[
        Literal["pin", "message", "options", "menu", "end"],
        Field(description="`message`: a message plays. `options`: what can be done with it is said"),
    ] = "pin"
    attempts: Annotated[Whole, Field(description="entries that were missing or wrong, in a row")] = 0
    digits: Annotated[str, Field(description="digits of the PIN so far")] = ""
    messages: Annotated[tuple[str, ...], Field(description="ids, in the order in which they are played")] = ()
    place: Annotated[Whole, Field(description="the message that is played, from 0")] = 0
    wrong_pins: Annotated[Whole, Field(description="wrong PINs that were entered in this call")] = 0


class CallerSession(Session):
    """A simulated caller of the agent: what they say to the agent, or to a recorder if the agent does not answer."""

    type: Literal["caller"] = "caller"
    phase: Annotated[Phase, Field(description="`waiting`: it rings. `on_hold`: they hear the greeting of a mailbox")]
    lines: Annotated[tuple[str, ...], Field(description="what they still say, one after each thing the agent says")]
    voicemail: Annotated[str, Field(description="what they leave in the mailbox; empty if they hang up")] = ""
    mailbox: Annotated[str, Field(description="the mailbox that takes the call; empty if there is none")] = ""
    greeting_seconds: Annotated[Number, Field(description="how long the greeting of the mailbox is")] = 0.0
    is_person: Annotated[Flag, Field(description="whether a person of the scenario goes on after these lines")] = False
    has_spoken: Flag = False
    said: Annotated[
        str, Field(description="what a person of the scenario says now, to say it again if interrupted")
    ] = ""
    has_repeated: Annotated[Flag, Field(description="whether they have said it again, or are about to")] = False
    attempts: Annotated[Whole, Field(description="how often they asked whether the agent is there")] = 0


FarEndSession = Annotated[
    IvrSession | RepresentativeSession | RecorderSession | MailboxSession | CallerSession, Field(discriminator="type")
]


# What can happen to a far end.


class Answered(NamedTuple):
    """The call was answered, or transferred here."""


class TimerFired(NamedTuple):
    """The seconds that the last step returned are over: a prompt has ended, or the caller did nothing."""


class DigitsPressed(NamedTuple):
    """The caller pressed keys."""

    digits: str


class SpeechStarted(NamedTuple):
    """The caller began to speak."""


class SpeechEnded(NamedTuple):
    """The caller has said something."""

    text: str


class HookReturned(NamedTuple):
    """A hook returned."""

    outcome: str
    values: dict[str, str]


Stimulus = Answered | TimerFired | DigitsPressed | SpeechStarted | SpeechEnded | HookReturned


# What a far end does.


class EnterNode(NamedTuple):
    """Go to a node."""

    node: str


class Speak(NamedTuple):
    """Say a text."""

    text: str
    is_music: bool = False


class StopSpeaking(NamedTuple):
    """Stop a prompt, because the caller interrupted it."""


class Beep(NamedTuple):
    """Start to record."""

    mailbox: str


class RejectInput(NamedTuple):
    """Reject what the caller did, or that they did nothing."""

    node: str
    reason: RejectionReason
    attempt: int
    text: str = ""


class CollectValue(NamedTuple):
    """Accept an entry."""

    node: str
    name: str
    value: str


class RunHook(NamedTuple):
    """Run a hook; the far end waits for HookReturned. It is the last action of a step."""

    node: str
    hook: str
    arguments: dict[str, str]
    results: dict[str, str] = {}
    """Values that earlier hooks returned, for required arguments that are not given."""


class StartHold(NamedTuple):
    """Put the caller on hold."""

    position: int


class EndHold(NamedTuple):
    """Take the caller off hold."""


class TransferCall(NamedTuple):
    """Connect the caller to a representative of the line, or to a number. It is the last action of a step."""

    representative: str | None
    number: str | None


class VerifyIdentity(NamedTuple):
    """Accept that the caller may get information about a person."""

    member_id: str


class ChangeVoicemail(NamedTuple):
    """Mark a message of a mailbox as read or unread, or delete it."""

    id: str
    change: Literal["read", "unread", "deleted"]


class CheckPin(NamedTuple):
    """Record whether the PIN that was entered for a mailbox is right."""

    mailbox: str
    is_right: bool
    is_locked: bool
    """Whether the mailbox takes no further PIN by phone."""


class LeaveVoicemail(NamedTuple):
    """Leave a message in a mailbox."""

    mailbox: str
    text: str


class HangUp(NamedTuple):
    """End the call. It is the last action of a step."""

    reason: str


Action = (
    EnterNode
    | Speak
    | StopSpeaking
    | Beep
    | RejectInput
    | CollectValue
    | RunHook
    | StartHold
    | EndHold
    | TransferCall
    | VerifyIdentity
    | ChangeVoicemail
    | CheckPin
    | LeaveVoicemail
    | HangUp
)


class StepResult(NamedTuple):
    """What a far end does, what it remembers, and when it wants to be called again."""

    session: FarEndSession | None
    """None if a simulated person goes on."""
    actions: tuple[Action, ...] = ()
    timer_seconds: float | None = None
    """After how many seconds TimerFired is due; None if the far end waits for something else. A step that speaks
    returns the length of what is said, which `prompts.measure_speech` gives."""


class StepContext(NamedTuple):
    """What a step may depend on besides the session and the stimulus."""

    now: datetime
    """The simulated time, in the zone of the environment."""
    rng: Rng


class FarEnd(Protocol):
    """A phone tree, a scripted representative or a recorder. It keeps nothing: what it remembers is in the session."""

    def start(self, context: StepContext) -> StepResult:
        """Answer a call."""

    def step(self, session: Any, stimulus: Stimulus, context: StepContext) -> StepResult:
        """Return what it does next. A stimulus that does not matter in the session's phase changes nothing."""

    def get_listen_seconds(self, session: Any) -> float | None:
        """Return how long it listens when it has said what it says now; None if it does something else then."""


def add_seconds(now: datetime, seconds: float) -> datetime:
    """Return the time some seconds from now, in UTC: to add seconds to a local time is wrong when the clocks change."""
    return now.astimezone(UTC) + timedelta(seconds=seconds)


def get_seconds_left(due: datetime | None, now: datetime) -> float | None:
    """Return how many seconds are left until a time, at least 0; None if there is no time."""
    if due is None:
        return None
    return max((due - now).total_seconds(), 0.0)


def wait(
    session: FarEndSession, phase: Phase, seconds: float, context: StepContext, *actions: Action, **changes: Any
) -> StepResult:
    """Return the result of a step after which the far end is called again in some seconds."""
    due = add_seconds(context.now, seconds)
    return StepResult(copy_unchecked(session, {"phase": phase, "due": due, **changes}), actions, seconds)


def speak(session: FarEndSession, text: str, context: StepContext, *actions: Action, **changes: Any) -> StepResult:
    """Return the result of a step that says a text, after which the far end is called again when it is said."""
    return wait(session, "speaking", measure_speech(text), context, *actions, Speak(text), **changes)


def stay(session: FarEndSession, context: StepContext) -> StepResult:
    """Return the result of a step that changes nothing."""
    return StepResult(session, (), get_seconds_left(session.due, context.now))
