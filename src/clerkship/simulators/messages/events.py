"""Events of messages."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from clerkship.events.event import Payload, Utterance
from clerkship.model.conversation_key import build_place
from clerkship.simulators.messages.records import Channel, DeliveryStatus, MessageHeader


class MessageSent(Utterance):
    """The organization sent a message; the actor is `agent`, or `scenario` for one that lies in the past.

    An automatic reply to STOP, START or HELP has the actor `system`.

    `text` is the body as the recipient reads it. `turn` is the turn of the conversation with a simulated person, and 0
    outside of one.
    """

    kind: ClassVar[str] = "messages.message.sent"
    header: MessageHeader
    html: str | None = None
    segments: Annotated[int | None, Field(description="SMS only: in how many parts it is sent")] = None
    status: DeliveryStatus = "queued"
    is_outgoing: ClassVar[bool] = True

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with each recipient."""
        return tuple(build_place(self.header.channel, address) for address in self.header.recipients)

    automatic: Annotated[bool, Field(description="whether it is the automatic reply to STOP, START or HELP")] = False


class MessageArrived(Utterance):
    """A message to the organization arrived: from a simulated person, or by a step."""

    kind: ClassVar[str] = "messages.message.arrived"
    header: MessageHeader
    html: str | None = None
    segments: int | None = None

    @property
    def subject(self) -> str | None:
        """The subject of an e-mail or a portal message."""
        return self.header.subject

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation with the sender."""
        return (build_place(self.header.channel, self.header.sender),)


class MessageRefused(Payload):
    """A message was not accepted for sending, with the code of the protocol (Twilio's 21610, SMTP's 550)."""

    kind: ClassVar[str] = "messages.message.refused"
    channel: Channel
    code: str
    reason: str
    sender: str = ""
    to: tuple[str, ...] = ()
    text: str = ""


class MessageStatusChanged(Payload):
    """A sent message was delivered, or could not be."""

    kind: ClassVar[str] = "messages.message.status_changed"
    id: str
    status: DeliveryStatus
    error_code: str | None = None


class MessageRead(Payload):
    """The agent read a message, or marked it as read or unread."""

    kind: ClassVar[str] = "messages.message.read"
    id: str
    unread: bool = False


class ThreadClosed(Payload):
    """The agent closed a portal thread, or opened it again."""

    kind: ClassVar[str] = "messages.thread.closed"
    thread: str
    closed: bool = True


class AttachmentStored(Payload):
    """A file came with a message; comes before the event of the message."""

    kind: ClassVar[str] = "messages.attachment.stored"
    holds_body: ClassVar[bool] = True
    id: str
    name: str
    content_type: str
    size: int
    data: bytes


class ConsentChanged(Payload):
    """A phone number opted out of text messages, or in again."""

    kind: ClassVar[str] = "messages.consent.changed"
    number: Annotated[str, Field(description="the number of the contact")]
    own_number: Annotated[str, Field(description="the number of the organization")]
    consent: Literal["opted_in", "opted_out"]
    keyword: Annotated[str, Field(description="what they wrote, such as STOP; empty if set by a step or config")] = ""


class ConversationStarted(Payload):
    """A simulated person can be reached at an address."""

    kind: ClassVar[str] = "messages.conversation.started"
    person: str
    channel: Channel
    address: str

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation."""
        return (build_place(self.channel, self.address),)


class ConversationEnded(Payload):
    """A simulated person no longer answers at an address, with the reason."""

    kind: ClassVar[str] = "messages.conversation.ended"
    channel: Channel
    address: str
    reason: str
    detail: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """The conversation."""
        return (build_place(self.channel, self.address),)


EVENTS: tuple[type[Payload], ...] = (
    MessageSent,
    MessageArrived,
    MessageRefused,
    MessageStatusChanged,
    MessageRead,
    ThreadClosed,
    AttachmentStored,
    ConsentChanged,
    ConversationStarted,
    ConversationEnded,
)
