"""Events of a `voice` sandbox."""

from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clerkship.events.event import PauseEnded, PauseStarted, Payload, Utterance, UtteranceCut
from clerkship.formats.phone_tree.session import FarEndSession, RejectionReason
from clerkship.model.conversation_key import build_place
from clerkship.simulators.voice.records import CallOutcome, CallParty, DialOutcome, Direction, DueKind, Speaker

CHANNEL = "phone"
VoicemailChange = Literal["read", "unread", "deleted"]
WebhookEvent = Literal["call.ringing", "voicemail.received", "call.ended"]
PAUSE_BEFORE_ANSWER = timedelta(seconds=0.5)
"""How long a person waits whether the agent goes on speaking, before they answer."""


class CallEvent(Payload):
    """Something happened in a call."""

    call: str


class CallUtterance(Utterance):
    """One side began to say something in a call."""

    call: str
    number: Annotated[int, Field(description="number of the turn in the call, from 1")]
    far_end: Annotated[str, Field(description="number of the phone at the far end")]

    @property
    def cut_key(self) -> str:
        """Call and number of the turn."""
        return f"{self.call}/{self.number}"

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with the number."""
        return (build_place(CHANNEL, self.far_end),)


class CallStarted(CallEvent):
    """A call was dialled: by the agent, or by a simulated caller to one of the agent's numbers. It rings."""

    kind: ClassVar[str] = "voice.call.started"
    direction: Direction
    from_number: str
    to_number: str
    meets: Annotated[DialOutcome, Field(description="what happens when it has rung")] = "answer"
    ring_seconds: Annotated[
        float | None, Field(description="how long it rings; None for the `ring_timeout` of the configuration")
    ] = None


class CallRefused(Payload):
    """A call was not placed, such as one to text that is no number, or one too many at once."""

    kind: ClassVar[str] = "voice.call.refused"
    to_number: str
    code: str
    reason: str


class CallAnswered(CallEvent):
    """A call was answered."""

    kind: ClassVar[str] = "voice.call.answered"
    far_end: Annotated[str, Field(description="number of the line or person; `number/name` for a representative")]
    drops_after: Annotated[float | None, Field(description="seconds after which a fault breaks the connection")] = None


class CallEnded(CallEvent):
    """A call ended."""

    kind: ClassVar[str] = "voice.call.ended"
    by: CallParty
    outcome: CallOutcome
    reason: str = ""


class CallTransferred(CallEvent):
    """The far end connected the agent to a representative or to another number."""

    kind: ClassVar[str] = "voice.call.transferred"
    far_end: str
    is_wrong: Annotated[bool, Field(description="whether a fault sent the call to the wrong place")] = False
    meets: Annotated[DialOutcome, Field(description="what happens when it has rung there")] = "answer"
    ring_seconds: Annotated[float | None, Field(description="how long it rings there; None if it does not ring")] = None


class FarEndSpoke(CallUtterance):
    """The far end began to say something: a line, a representative or a simulated person.

    `seconds` is how long the text takes; SpeechCut follows if it is interrupted.
    """

    kind: ClassVar[str] = "voice.far_end.spoke"
    speaker: Speaker
    seconds: float
    node: Annotated[str, Field(description="`tree/node` of a phone tree; empty for a person")] = ""
    starts_in: Annotated[float, Field(description="seconds until it begins, because the same side still speaks")] = 0.0
    is_incoming: ClassVar[bool] = True

    @property
    def duration(self) -> timedelta:
        """How long after the event it has been said."""
        return timedelta(seconds=self.starts_in + self.seconds)


class AgentSpoke(CallUtterance):
    """The agent began to say something in a call."""

    kind: ClassVar[str] = "voice.agent.spoke"
    seconds: float
    is_heard: Annotated[bool, Field(description="whether the far end hears it; not while a line plays on hold")] = True
    starts_in: Annotated[float, Field(description="seconds until it begins, because the same side still speaks")] = 0.0
    is_greeting: Annotated[
        bool, Field(description="whether a caller has not spoken yet, and then says why they call, whatever it is")
    ] = False
    is_outgoing: ClassVar[bool] = True

    @property
    def duration(self) -> timedelta:
        """How long after the event it has been said, and a person may answer."""
        return timedelta(seconds=self.starts_in + self.seconds) + PAUSE_BEFORE_ANSWER

    @property
    def expects_answer(self) -> bool:
        """Whether a person hears it and answers."""
        return self.is_heard and not self.is_greeting


class SpeechCut(UtteranceCut):
    """A turn was interrupted: the agent pressed keys or spoke before a prompt ended, or the call ended."""

    kind: ClassVar[str] = "voice.speech.cut"
    call: str
    number: int
    after_seconds: float
    heard: Annotated[str, Field(description="what had been said of it")]

    @property
    def cut_key(self) -> str:
        """Call and number of the turn."""
        return f"{self.call}/{self.number}"


class SpeechRefused(Payload):
    """What an agent that takes turns replied was not said, such as text without words or after the call ended."""

    kind: ClassVar[str] = "voice.speech.refused"
    far_end: str
    code: str
    reason: str
    text: Annotated[str, Field(description="its beginning")] = ""

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with the number."""
        return (build_place(CHANNEL, self.far_end),)


class MusicStarted(CallEvent):
    """Music or another sound without words plays."""

    kind: ClassVar[str] = "voice.music.started"
    music: str


class CallEntry(CallEvent):
    """The agent entered something in a call, by keys or by speech."""


class DigitsSent(CallEntry):
    """The agent pressed keys."""

    kind: ClassVar[str] = "voice.digits.sent"
    digits: str
    understood: Annotated[str, Field(description="what the line understood; a fault may change a digit")]


class DigitsSpoken(CallEntry):
    """The agent has said digits where a line asked for an entry."""

    kind: ClassVar[str] = "voice.digits.spoken"
    text: str
    understood: Annotated[str, Field(description="what the line understood; a fault may change a digit")]


class NodeEntered(CallEvent):
    """A call came to a node of a phone tree."""

    kind: ClassVar[str] = "voice.node.entered"
    tree: str
    node: str
    version: str = "1"


class InputRejected(CallEvent):
    """A line rejected what the agent said or pressed, or heard nothing."""

    kind: ClassVar[str] = "voice.input.rejected"
    node: str
    reason: RejectionReason
    attempt: int
    text: str = ""


class ValueCollected(CallEvent):
    """A line accepted an entry."""

    kind: ClassVar[str] = "voice.value.collected"
    node: str
    name: str
    value: str


class HookRun(CallEvent):
    """A line or representative looked something up or changed something."""

    kind: ClassVar[str] = "voice.hook.run"
    node: str
    hook: str
    arguments: dict[str, str]
    outcome: str
    values: dict[str, str] = {}


class ChartAsked(CallEvent):
    """A line looked up records of a type in the chart. A reaction of a chart answers with its records as they are."""

    kind: ClassVar[str] = "voice.chart.asked"
    resource_type: str


class IdentityVerified(CallEvent):
    """The far end accepted that it may speak about a person, or the agent's caller proved who they are."""

    kind: ClassVar[str] = "voice.identity.verified"
    member_id: str


class HoldStarted(CallEvent):
    """The call was put on hold."""

    kind: ClassVar[str] = "voice.hold.started"
    by: CallParty
    position: Annotated[int | None, Field(description="the caller's position in the queue")] = None
    seconds: Annotated[
        float | None, Field(description="how long the wait in the queue is to last; a fault may change it")
    ] = None
    number: Annotated[str, Field(description="number of the line with the queue; empty for a hold of the agent")] = ""
    node: Annotated[str, Field(description="`tree/node` of the queue")] = ""


class HoldEnded(CallEvent):
    """The call was taken off hold."""

    kind: ClassVar[str] = "voice.hold.ended"
    by: CallParty


class BeepPlayed(CallEvent):
    """A recorder of messages beeped: what is said from now on is recorded."""

    kind: ClassVar[str] = "voice.beep.played"
    mailbox: str


class SessionChanged(CallEvent):
    """What the far end of a call remembers has changed, and when it is to be called again."""

    kind: ClassVar[str] = "voice.session.changed"
    session: FarEndSession | None
    timer_seconds: float | None = None
    done: Annotated[DueKind | None, Field(description="the work of the call that led to it, if it was due")] = None


class CallHeard(CallEvent):
    """The agent listened to a call, up to now."""

    kind: ClassVar[str] = "voice.call.heard"
    sums_up: ClassVar[bool] = True


class MenuChanged(Payload):
    """The phone tree of a line was replaced."""

    kind: ClassVar[str] = "voice.menu.changed"
    number: str
    tree: Annotated[str, Field(description="name of the tree")]
    version: str
    definition: Annotated[dict[str, Any], Field(description="the whole tree, as a file has it")]


class LineChanged(Payload):
    """What later calls to a line meet was changed."""

    kind: ClassVar[str] = "voice.line.changed"
    number: str
    outcomes: Annotated[
        tuple[DialOutcome, ...] | None, Field(description="what each call meets, in order; None if unchanged")
    ] = None
    ring_seconds: Annotated[float | None, Field(description="how long it rings; None if unchanged")] = None
    calls_before: Annotated[int, Field(description="how many calls the line had before")] = 0


class CaseOpened(CallEvent):
    """A line or representative opened a case."""

    kind: ClassVar[str] = "voice.case.opened"
    reference: str
    subject: str
    member_id: str = ""


class CallbackBooked(CallEvent):
    """A line or representative promised to call back."""

    kind: ClassVar[str] = "voice.callback.booked"
    number: str
    at: Annotated[str, Field(description="when, as it was asked for; empty for as soon as possible")] = ""


class VoicemailLeft(Payload):
    """A message was left in a mailbox."""

    kind: ClassVar[str] = "voice.voicemail.left"
    id: str
    mailbox: str
    from_number: str
    text: str
    seconds: float
    before_beep: str = ""
    call: str | None = None
    received_at: Annotated[datetime | None, Field(description="when it was left, if that was before the event")] = None


class VoicemailChanged(Payload):
    """The agent read a voicemail, marked it as read or unread, or deleted it."""

    kind: ClassVar[str] = "voice.voicemail.changed"
    id: str
    change: VoicemailChange
    call: Annotated[str | None, Field(description="the call in which it was done, if by phone")] = None


class MessageWaitingChanged(Payload):
    """The number of unread messages of a mailbox changed."""

    kind: ClassVar[str] = "voice.message_waiting.changed"
    mailbox: str
    unread: int


class MailboxPinEntered(CallEvent):
    """A PIN was entered in a call to a mailbox; without the PIN."""

    kind: ClassVar[str] = "voice.mailbox.pin_entered"
    mailbox: str
    is_right: bool
    is_locked: Annotated[bool, Field(description="whether the mailbox takes no further PIN by phone")] = False


class VoiceWebhookRegistered(Payload):
    """The agent registered where it is called for calls and voicemails, or removed it; without the address."""

    kind: ClassVar[str] = "voice.webhook.registered"
    registered: bool = True
    events: tuple[WebhookEvent, ...] = ("call.ringing",)


class PhoneConversationStarted(Payload):
    """A simulated person can be reached at a number, and may call."""

    kind: ClassVar[str] = "voice.conversation.started"
    person: str
    number: str
    greeting: Annotated[str, Field(description="what they say when they first answer; empty for a usual greeting")] = ""

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation."""
        return (build_place(CHANNEL, self.number),)


class PersonPaused(PauseStarted):
    """A simulated person is silent for a while before they speak, call or hang up."""

    kind: ClassVar[str] = "voice.person.paused"
    number: str
    seconds: float

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation."""
        return (build_place(CHANNEL, self.number),)


class PersonResumed(PauseEnded):
    """The pause of a simulated person is over."""

    kind: ClassVar[str] = "voice.person.resumed"
    number: str

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation."""
        return (build_place(CHANNEL, self.number),)


class PhoneConversationEnded(Payload):
    """A simulated person no longer answers at a number."""

    kind: ClassVar[str] = "voice.conversation.ended"
    number: str
    reason: str
    detail: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation."""
        return (build_place(CHANNEL, self.number),)


EVENTS: tuple[type[Payload], ...] = (
    CallStarted,
    CallRefused,
    CallAnswered,
    CallEnded,
    CallTransferred,
    FarEndSpoke,
    AgentSpoke,
    SpeechCut,
    SpeechRefused,
    MusicStarted,
    DigitsSent,
    DigitsSpoken,
    NodeEntered,
    InputRejected,
    ValueCollected,
    HookRun,
    ChartAsked,
    IdentityVerified,
    HoldStarted,
    HoldEnded,
    BeepPlayed,
    SessionChanged,
    CallHeard,
    MenuChanged,
    LineChanged,
    CaseOpened,
    CallbackBooked,
    VoicemailLeft,
    VoicemailChanged,
    MessageWaitingChanged,
    MailboxPinEntered,
    VoiceWebhookRegistered,
    PhoneConversationStarted,
    PersonPaused,
    PersonResumed,
    PhoneConversationEnded,
)
