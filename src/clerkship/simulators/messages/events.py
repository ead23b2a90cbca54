"""Events of messages."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.events.event import EffectType, Payload, Utterance, collect_events
from clerkship.model.conversation_key import build_place
from clerkship.simulators.messages.records import Channel, DeliveryStatus, MessageHeader

RawEmail = Annotated[bytes | None, Field(description="an e-mail sent over SMTP, as it came")]
RAW_FIELD = frozenset({"raw"})


class MessageSent(Utterance, kind="messages.message.sent"):
    """The organization sent a message; the actor is `agent`, or `scenario` for one that lies in the past.

    An automatic reply to STOP, START or HELP has the actor `system`.

    `text` is the body as the recipient reads it. `turn` is the turn of the conversation with a simulated person, and 0
    outside of one.
    """

    header: MessageHeader
    html: str | None = None
    segments: Annotated[int | None, Field(description="SMS only: in how many parts it is sent")] = None
    status: DeliveryStatus = "queued"
    raw: RawEmail = None
    is_outgoing: ClassVar[bool] = True
    state_fields: ClassVar[frozenset[str]] = RAW_FIELD

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with each recipient."""
        return tuple(build_place(self.header.channel, address) for address in self.header.recipients)

    automatic: Annotated[bool, Field(description="whether it is the automatic reply to STOP, START or HELP")] = False


class MessageArrived(Utterance, kind="messages.message.arrived"):
    """A message to the organization arrived: from a simulated person, or by a step."""

    header: MessageHeader
    html: str | None = None
    segments: int | None = None
    raw: RawEmail = None
    state_fields: ClassVar[frozenset[str]] = RAW_FIELD

    @property
    def subject(self) -> str | None:
        """The subject of an e-mail or a patient portal message."""
        return self.header.subject

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with the sender."""
        return (build_place(self.header.channel, self.header.sender),)


class MessageRefused(Payload, kind="messages.message.refused"):
    """A message was not accepted for sending, with the code of the protocol (Twilio's 21610, SMTP's 550)."""

    effect: ClassVar[EffectType] = "none"
    channel: Channel
    code: str
    reason: str
    sender: str = ""
    to: tuple[str, ...] = ()
    text: str = ""


class MessageStatusChanged(Payload, kind="messages.message.status_changed"):
    """A sent message was delivered, or could not be."""

    is_by_sandbox: ClassVar[bool] = True
    id: str
    status: DeliveryStatus
    error_code: str | None = None


class MessageRead(Payload, kind="messages.message.read"):
    """The agent read a message, or marked it as read or unread."""

    effect: ClassVar[EffectType] = "none"
    id: str
    unread: bool = False


class ThreadClosed(Payload, kind="messages.thread.closed"):
    """The agent closed a patient portal thread, or opened it again."""

    effect: ClassVar[EffectType] = "state"
    thread: str
    closed: bool = True


class AttachmentStored(Payload, kind="messages.attachment.stored"):
    """A file came with a message; comes before the event of the message."""

    holds_body: ClassVar[bool] = True
    id: str
    name: str
    content_type: str
    size: int
    data: bytes


class ConsentChanged(Payload, kind="messages.consent.changed"):
    """A phone number opted out of text messages, or in again."""

    number: Annotated[str, Field(description="the number of the contact")]
    own_number: Annotated[str, Field(description="the number of the organization")]
    consent: Literal["opted_in", "opted_out"]
    keyword: Annotated[str, Field(description="what they wrote, such as STOP; empty if set by a step or config")] = ""


class ConversationStarted(Payload, kind="messages.conversation.started"):
    """A simulated person can be reached at an address."""

    is_by_sandbox: ClassVar[bool] = True
    person: str
    channel: Channel
    address: str

    @property
    def places(self) -> tuple[str, ...]:
        return (build_place(self.channel, self.address),)


class ConversationEnded(Payload, kind="messages.conversation.ended"):
    """A simulated person no longer answers at an address, with the reason."""

    is_by_sandbox: ClassVar[bool] = True
    channel: Channel
    address: str
    reason: str
    detail: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        return (build_place(self.channel, self.address),)


class WebhookRegistered(Payload, kind="messages.webhook.registered"):
    """The agent registered where it is called for text messages to a number, or removed it; without the address."""

    number: str
    registered: bool = True


class SmsDeleted(Payload, kind="messages.sms.deleted"):
    """The agent deleted a text message at Twilio, or only its text. The organization and the log keep the message."""

    id: str
    only_text: bool = False


EVENTS = collect_events(globals())
