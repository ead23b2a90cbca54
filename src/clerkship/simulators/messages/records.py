"""Messages, their attachments and their channels, in words of no protocol."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from clerkship.events.event import Event
from clerkship.model.frozen import Frozen
from clerkship.sandbox.state import DueWork

Channel = Literal["sms", "email", "portal"]
DeliveryStatus = Literal["queued", "sent", "delivered", "undelivered", "failed", "received"]
"""The status of a message. `received` is a message to the organization; all others are messages from it."""


class MessageAttachment(Frozen):
    """A file in a message. Its content is in the AttachmentStored event with the same id."""

    id: str
    name: str
    content_type: str
    size: int


class MessageHeader(Frozen):
    """Who a message is from and to, and how it belongs to a thread."""

    id: Annotated[str, Field(description="id of the message in the sandbox; SMS have the form of a Twilio SID")]
    channel: Channel
    sender: Annotated[str, Field(description="phone number (E.164), e-mail address, or `Patient/…` on the portal")]
    to: tuple[str, ...]
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    subject: str | None = None
    thread: Annotated[str, Field(description="id of the thread")]
    in_reply_to: Annotated[str | None, Field(description="id of the message that it answers")] = None
    message_id: Annotated[str | None, Field(description="e-mail: the Message-ID of RFC 5322, with its brackets")] = None
    attachments: tuple[MessageAttachment, ...] = ()
    reference: Annotated[
        str | None, Field(description="key of the Communication in a chart that it was sent for, by a reaction")
    ] = None

    @property
    def recipients(self) -> tuple[str, ...]:
        """All addresses to which it goes."""
        return (*self.to, *self.cc, *self.bcc)


@dataclass(slots=True)
class MessageRecord:
    """A message that was sent or has arrived, with what became of it. `event` is its MessageSent or MessageArrived."""

    number: int
    """Its position among all messages of the sandbox, from 1."""
    event: Event
    header: MessageHeader
    status: DeliveryStatus
    error_code: str | None = None
    unread: bool = False
    due: DueWork | None = None
    """When its status changes next, and the seq of the event that leads to it."""
    status_at: datetime | None = None
    """When its status changed last."""
    deleted: Literal["", "text", "message"] = ""
    """What the Twilio API no longer shows."""

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def is_inbound(self) -> bool:
        """Whether it is a message to the organization."""
        return self.status == "received"

    @property
    def payload(self) -> Any:
        """The MessageSent or MessageArrived of the message."""
        return self.event.payload

    @property
    def correspondents(self) -> tuple[str, ...]:
        """The addresses at the other end: the sender of a message that arrived, the recipients of one that was sent."""
        return (self.header.sender,) if self.is_inbound else self.header.recipients
