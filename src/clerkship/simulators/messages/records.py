"""Messages, their attachments and their channels, in words of no protocol."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.model.frozen import Frozen

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
    attachments: tuple[MessageAttachment, ...] = ()

    @property
    def recipients(self) -> tuple[str, ...]:
        """All addresses to which it goes."""
        return (*self.to, *self.cc, *self.bcc)
