"""Events of a `voice` sandbox."""

from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from clerkship.events.event import (
    EffectType,
    PauseEnded,
    PauseStarted,
    Payload,
    Utterance,
    UtteranceCut,
    collect_events,
)
from clerkship.formats.phone_tree.session import FarEndSession, RejectionReason
from clerkship.model.conversation_key import build_place
from clerkship.model.frozen import Frozen
from clerkship.simulators.voice.records import CallOutcome, CallParty, DialOutcome, Direction, DueKind, Speaker

CHANNEL = "phone"
VoicemailChange = Literal["read", "unread", "deleted"]
WebhookEvent = Literal["call.ringing", "voicemail.received", "call.ended"]
PAUSE_BEFORE_ANSWER = timedelta(seconds=0.5)
"""How long a person waits whether the agent goes on speaking, before they answer."""


class FarEndChange(Frozen):
    """What the far end of a call remembers from an event on, and when it is to be called again."""

    session: FarEndSession | None
    timer_seconds: Annotated[float | None, Field(description="after how long it is to be called again")] = None
    listen_seconds: Annotated[
        float | None, Field(description="how long it listens after that before it is called, if it speaks now")
    ] = None
    done: Annotated[DueKind | None, Field(description="the work of the call that led to it, if it was due")] = None
    omitted_when_empty: ClassVar[frozenset[str]] = frozenset({"done"})


Change = Annotated[
    FarEndChange | None, Field(description="what the far end remembers from now on, if the event has changed it")
]


class CallEvent(Payload):
    """Something happened in a call."""

    call: str
    change: Change = None
    state_fields: ClassVar[frozenset[str]] = frozenset({"change"})


class CallUtterance(Utterance):
    """One side began to say something in a call."""

    call: str
    change: Change = None
    state_fields: ClassVar[frozenset[str]] = frozenset({"change"})
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


class _AtNumber:
    """An event of the conversation with the person at its `number`."""

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with the number."""
        return (build_place(CHANNEL, vars(self)["number"]),)


class CallStarted(CallEvent, kind="voice.call.started"):
    """A call was dialled: by the agent, or by a simulated caller to one of the agent's numbers. It rings."""

    direction: Direction
    from_number: str
    to_number: str
    meets: Annotated[DialOutcome, Field(description="what happens when it has rung")] = "answer"
    ring_seconds: Annotated[
        float | None, Field(description="how long it rings; None for the `ring_timeout` of the configuration")
    ] = None


class CallRefused(Payload, kind="voice.call.refused"):
    """A call was not placed, such as one to text that is no number, or one too many at once."""

    effect: ClassVar[EffectType] = "none"
    to_number: str
    code: str
    reason: str
    service: Annotated[str, Field(description="what a short number reaches, such as `emergency services` for 911")] = ""


class CallAnswered(CallEvent, kind="voice.call.answered"):
    """A call was answered."""

    far_end: Annotated[str, Field(description="number of the line or person; `number/name` for a representative")]
    drops_after: Annotated[float | None, Field(description="seconds after which a fault breaks the connection")] = None


class CallEnded(CallEvent, kind="voice.call.ended"):
    """A call ended."""

    effect: ClassVar[EffectType] = "talk"
    by: CallParty
    outcome: CallOutcome
    reason: str = ""


class CallTransferred(CallEvent, kind="voice.call.transferred"):
    """The far end connected the agent to a representative or to another number."""

    is_by_sandbox: ClassVar[bool] = True
    far_end: str
    is_wrong: Annotated[bool, Field(description="whether a fault sent the call to the wrong place")] = False
    meets: Annotated[DialOutcome, Field(description="what happens when it has rung there")] = "answer"
    ring_seconds: Annotated[float | None, Field(description="how long it rings there; None if it does not ring")] = None


class FarEndSpoke(CallUtterance, kind="voice.far_end.spoke"):
    """The far end began to say something: a line, a representative or a simulated person.

    `seconds` is how long the text takes; SpeechCut follows if it is interrupted.
    """

    effect: ClassVar[EffectType] = "none"
    speaker: Speaker
    seconds: float
    node: Annotated[str, Field(description="`tree/node` of a phone tree; empty for a person")] = ""
    starts_in: Annotated[float, Field(description="seconds until it begins, because the same side still speaks")] = 0.0
    is_by_sandbox: ClassVar[bool] = True

    @property
    def duration(self) -> timedelta:
        """How long after the event it has been said."""
        return timedelta(seconds=self.starts_in + self.seconds)


class AgentSpoke(CallUtterance, kind="voice.agent.spoke"):
    """The agent began to say something in a call."""

    effect: ClassVar[EffectType] = "talk"
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


class SpeechCut(UtteranceCut, kind="voice.speech.cut"):
    """A turn was interrupted: the agent pressed keys or spoke before a prompt ended, or the call ended."""

    effect: ClassVar[EffectType] = "talk"
    call: str
    change: Change = None
    state_fields: ClassVar[frozenset[str]] = frozenset({"change"})
    number: int
    after_seconds: float
    heard: Annotated[str, Field(description="what had been said of it")]

    @property
    def cut_key(self) -> str:
        """Call and number of the turn."""
        return f"{self.call}/{self.number}"


class SpeechRefused(Payload, kind="voice.speech.refused"):
    """What an agent that takes turns replied was not said, such as text without words or after the call ended."""

    effect: ClassVar[EffectType] = "none"
    far_end: str
    code: str
    reason: str
    text: Annotated[str, Field(description="its beginning")] = ""

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with the number."""
        return (build_place(CHANNEL, self.far_end),)


class MusicStarted(CallEvent, kind="voice.music.started"):
    """Music or another sound without words plays."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    music: str


class CallEntry(CallEvent):
    """The agent entered something in a call, by keys or by speech."""


class DigitsSent(CallEntry, kind="voice.digits.sent"):
    """The agent pressed keys."""

    effect: ClassVar[EffectType] = "talk"
    digits: str
    understood: Annotated[str, Field(description="what the line understood; a fault may change a digit")]


class DigitsSpoken(CallEntry, kind="voice.digits.spoken"):
    """The agent has said digits where a line asked for an entry."""

    effect: ClassVar[EffectType] = "talk"
    text: str
    understood: Annotated[str, Field(description="what the line understood; a fault may change a digit")]


class NodeEntered(CallEvent, kind="voice.node.entered"):
    """A call came to a node of a phone tree."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    tree: str
    node: str
    version: str = "1"


class InputRejected(CallEvent, kind="voice.input.rejected"):
    """A line rejected what the agent said or pressed, or heard nothing."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    node: str
    reason: RejectionReason
    attempt: int
    text: str = ""


class ValueCollected(CallEvent, kind="voice.value.collected"):
    """A line accepted an entry."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "talk"
    node: str
    name: str
    value: str


class HookRun(CallEvent, kind="voice.hook.run"):
    """A line or representative looked something up or changed something."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "talk"
    node: str
    hook: str
    arguments: dict[str, str]
    outcome: str
    values: dict[str, str] = {}


class ChartAsked(CallEvent, kind="voice.chart.asked"):
    """A line looked up records of a type in the chart. A reaction of a chart answers with its records as they are."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    resource_type: str


class IdentityVerified(CallEvent, kind="voice.identity.verified"):
    """The far end accepted that it may speak about a person, or the agent's caller proved who they are."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "talk"
    member_id: str


class HoldStarted(CallEvent, kind="voice.hold.started"):
    """The call was put on hold."""

    effect: ClassVar[EffectType] = "talk"
    by: CallParty
    position: Annotated[int | None, Field(description="the caller's position in the queue")] = None
    seconds: Annotated[
        float | None, Field(description="how long the wait in the queue is to last; a fault may change it")
    ] = None
    number: Annotated[str, Field(description="number of the line with the queue; empty for a hold of the agent")] = ""
    node: Annotated[str, Field(description="`tree/node` of the queue")] = ""


class HoldEnded(CallEvent, kind="voice.hold.ended"):
    """The call was taken off hold."""

    by: CallParty


class BeepPlayed(CallEvent, kind="voice.beep.played"):
    """A recorder of messages beeped: what is said from now on is recorded."""

    is_by_sandbox: ClassVar[bool] = True
    mailbox: str


class SessionChanged(CallEvent, kind="voice.session.changed"):
    """What the far end of a call remembers has changed without another event.

    Logs of earlier versions have one after each step of a far end, with the fields of `change` beside it.
    """

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    session: FarEndSession | None = None
    timer_seconds: float | None = None
    done: DueKind | None = None
    state_fields: ClassVar[frozenset[str]] = frozenset({"change", "session", "timer_seconds", "done"})


class CallHeard(CallEvent, kind="voice.call.heard"):
    """The agent listened to a call, up to now."""

    effect: ClassVar[EffectType] = "none"
    sums_up: ClassVar[bool] = True


class MenuChanged(Payload, kind="voice.menu.changed"):
    """The phone tree of a line was replaced."""

    number: str
    tree: Annotated[str, Field(description="name of the tree")]
    version: str
    definition: Annotated[dict[str, Any], Field(description="the whole tree, as a file has it")]


class LineChanged(Payload, kind="voice.line.changed"):
    """What later calls to a line meet was changed."""

    number: str
    outcomes: Annotated[
        tuple[DialOutcome, ...] | None, Field(description="what each call meets, in order; None if unchanged")
    ] = None
    ring_seconds: Annotated[float | None, Field(description="how long it rings; None if unchanged")] = None
    calls_before: Annotated[int, Field(description="how many calls the line had before")] = 0


class CaseOpened(CallEvent, kind="voice.case.opened"):
    """A line or representative opened a case."""

    is_by_sandbox: ClassVar[bool] = True
    reference: str
    subject: str
    member_id: str = ""


class CallbackBooked(CallEvent, kind="voice.callback.booked"):
    """A line or representative promised to call back."""

    is_by_sandbox: ClassVar[bool] = True
    number: str
    at: Annotated[str, Field(description="when, as it was asked for; empty for as soon as possible")] = ""


class VoicemailLeft(Payload, kind="voice.voicemail.left"):
    """A message was left in a mailbox."""

    id: str
    mailbox: str
    from_number: str
    text: str
    seconds: float
    before_beep: str = ""
    call: str | None = None
    received_at: Annotated[datetime | None, Field(description="when it was left, if that was before the event")] = None


class VoicemailChanged(Payload, kind="voice.voicemail.changed"):
    """The agent read a voicemail, marked it as read or unread, or deleted it."""

    effect: ClassVar[EffectType] = "state"
    id: str
    change: VoicemailChange
    call: Annotated[str | None, Field(description="the call in which it was done, if by phone")] = None


class MessageWaitingChanged(Payload, kind="voice.message_waiting.changed"):
    """The number of unread messages of a mailbox changed."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    mailbox: str
    unread: int


class MailboxPinEntered(CallEvent, kind="voice.mailbox.pin_entered"):
    """A PIN was entered in a call to a mailbox; without the PIN."""

    mailbox: str
    is_right: bool
    is_locked: Annotated[bool, Field(description="whether the mailbox takes no further PIN by phone")] = False


class VoiceWebhookRegistered(Payload, kind="voice.webhook.registered"):
    """The agent registered where it is called for calls and voicemails, or removed it; without the address."""

    registered: bool = True
    events: tuple[WebhookEvent, ...] = ("call.ringing",)


class PhoneConversationStarted(_AtNumber, Payload, kind="voice.conversation.started"):
    """A simulated person can be reached at a number, and may call."""

    person: str
    number: str
    greeting: Annotated[str, Field(description="what they say when they first answer; empty for a usual greeting")] = ""


class PersonPaused(_AtNumber, PauseStarted, kind="voice.person.paused"):
    """A simulated person is silent for a while before they speak, call or hang up."""

    number: str
    seconds: float


class PersonResumed(_AtNumber, PauseEnded, kind="voice.person.resumed"):
    """The pause of a simulated person is over."""

    number: str


class PhoneConversationEnded(_AtNumber, Payload, kind="voice.conversation.ended"):
    """A simulated person no longer answers at a number."""

    number: str
    reason: str
    detail: str | None = None


EVENTS = collect_events(globals())
