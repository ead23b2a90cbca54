"""`messages.receive`: let a message to the organization arrive."""

import base64
import binascii
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.outgoing import BINARY_TYPE, TEXT_TYPE, IncomingMessage, NewAttachment
from clerkship.simulators.messages.records import Channel
from clerkship.simulators.messages.state import MessagesState
from clerkship.steps.contract import Step, StepHost


def _check_base64(text: str | None) -> str | None:
    try:
        base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("expected base64") from None
    return text


class StepAttachment(Frozen):
    """A file that comes with a message, as text or in base64."""

    name: str
    content_type: str | None = None
    text: str | None = None
    base64: Annotated[str | None, AfterValidator(_check_base64)] = None

    def build(self) -> NewAttachment:
        """Return the attachment with its bytes."""
        if self.base64 is not None:
            content = base64.b64decode(self.base64)
            return NewAttachment(name=self.name, content_type=self.content_type or BINARY_TYPE, data=content)
        return NewAttachment(
            name=self.name, content_type=self.content_type or TEXT_TYPE, data=(self.text or "").encode()
        )


class ReceiveMessage(Step):
    """Let a text message, an e-mail or a portal message arrive. `from` is a phone number, an e-mail address or a portal
    account such as `Patient/pat-0001`; a key of a patient stands for their first address on the channel.
    """

    name: ClassVar[str] = "messages.receive"
    simulator: ClassVar[str | None] = "messages"
    channel: Annotated[Channel, Field(description="sms, email or portal")]
    sender: Annotated[str, Field(alias="from", description="an address, or the key of a patient: Patient/pat-0001")]
    to: Annotated[str | None, Field(description="own number or address; the first by default")] = None
    text: str = ""
    subject: str | None = None
    attachments: tuple[StepAttachment, ...] = ()
    reply: Annotated[bool, Field(description="whether it continues the latest thread with the sender")] = False
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        """Let the message arrive."""
        state, action = host.state(MessagesState, self.sandbox)
        sender = self._find_address(state)
        message = IncomingMessage(
            channel=self.channel,
            sender=sender,
            to=(self.to,) if self.to else (),
            subject=self.subject,
            text=self.text,
            attachments=tuple(attachment.build() for attachment in self.attachments),
            in_reply_to=self._find_answered(state, sender) if self.reply else None,
        )
        try:
            state.receive(action, message)
        except Refusal as refusal:
            raise InputError.of(f"messages.receive: {refusal.reason}") from None

    def _find_address(self, state: MessagesState) -> str:
        """Return the address of the sender on the channel."""
        if self.channel == "portal" or not self.sender.startswith("Patient/"):
            return self.sender
        entries = state.directory.find("portal", self.sender)
        addresses = [address for entry in entries for address in entry.addresses(self.channel)]
        if not addresses:
            raise InputError.of(f"messages.receive: {self.sender} has no address for {self.channel}")
        return addresses[0]

    def _find_answered(self, state: MessagesState, sender: str) -> str:
        """Return the latest message to or from the sender on the channel."""
        threads = state.mailbox.list_threads()
        thread = next(
            (each for each in threads if each.channel == self.channel and sender in each.correspondents), None
        )
        if thread is None:
            raise InputError.of(f"messages.receive: there is no thread with {sender} to reply in")
        return state.mailbox.in_order[thread.messages[-1] - 1].header.id
