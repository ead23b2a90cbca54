"""Messages before they have an id and a thread: what a protocol, a step or a person hands to the state."""

from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.simulators.messages.records import Channel

TEXT_TYPE = "text/plain"
BINARY_TYPE = "application/octet-stream"


class NewAttachment(Frozen):
    """A file of a message that is not stored yet."""

    name: str
    content_type: str = BINARY_TYPE
    data: bytes = b""


class MessageContent(Frozen):
    """The fields that outgoing and incoming messages have in common."""

    channel: Channel
    to: Annotated[
        tuple[str, ...],
        Field(description="empty in an answer: to its sender; to the organization: to its first number or address"),
    ] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    subject: str | None = None
    text: str = ""
    html: str | None = None
    attachments: tuple[NewAttachment, ...] = ()
    thread: Annotated[str | None, Field(description="portal: the thread to continue; a new one if not given")] = None
    in_reply_to: Annotated[str | None, Field(description="id of the message in the sandbox that it answers")] = None
    message_id: Annotated[str | None, Field(description="e-mail: its Message-ID; generated if not given")] = None
    references: Annotated[
        tuple[str, ...], Field(description="e-mail: the Message-IDs of In-Reply-To and References, newest first")
    ] = ()
    reference: Annotated[str | None, Field(description="key of the Communication in a chart that it is sent for")] = (
        None
    )

    @property
    def recipients(self) -> tuple[str, ...]:
        """All addresses to which it goes."""
        return (*self.to, *self.cc, *self.bcc)


class OutgoingMessage(MessageContent):
    """A message that the organization wants to send. `MessagesState.send` checks it and gives it an id and a thread."""

    raw: Annotated[bytes | None, Field(description="an e-mail as it came over SMTP")] = None
    sender: Annotated[
        str, Field(description="one of its own numbers or addresses; empty for the first, and on the portal")
    ] = ""


class IncomingMessage(MessageContent):
    """A message to the organization. `MessagesState.receive` gives it an id and a thread."""

    sender: str
