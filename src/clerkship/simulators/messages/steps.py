"""The steps of messages: let one arrive, add one that was sent earlier, and set the consent of a number."""

import base64
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.model.conversation_key import normalize_address
from clerkship.model.errors import InputError
from clerkship.model.frozen import Base64Text, Frozen
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.messages.config import PhoneNumber
from clerkship.simulators.messages.consent import Consent
from clerkship.simulators.messages.mailbox import MessageThread, normalize_subject
from clerkship.simulators.messages.names import OWN_ADDRESS
from clerkship.simulators.messages.outgoing import (
    BINARY_TYPE,
    TEXT_TYPE,
    IncomingMessage,
    NewAttachment,
    OutgoingMessage,
)
from clerkship.simulators.messages.records import Channel, MessageRecord
from clerkship.simulators.messages.state import MessagesState


class StepAttachment(Frozen):
    """A file that comes with a message, as text or in base64."""

    name: str
    content_type: str | None = None
    text: str | None = None
    base64: Base64Text | None = None

    def build(self) -> NewAttachment:
        data = (self.text or "").encode() if self.base64 is None else base64.b64decode(self.base64)
        default = TEXT_TYPE if self.base64 is None else BINARY_TYPE
        return NewAttachment(name=self.name, content_type=self.content_type or default, data=data)


class ReceiveMessage(Step):
    """Let a text message, an e-mail or a patient portal message arrive. `from` is a phone number, an e-mail address or
    a patient portal account such as `Patient/pat-0001`; a key of a patient stands for their first address on the
    channel.
    """

    name: ClassVar[str] = "messages.receive"
    simulator: ClassVar[str | None] = "messages"
    channel: Annotated[Channel, Field(description="sms, email or portal")]
    sender: Annotated[str, Field(alias="from", description="an address, or the key of a patient: Patient/pat-0001")]
    to: Annotated[str | None, OWN_ADDRESS, Field(description="own number or address; the first by default")] = None
    text: str = ""
    subject: str | None = None
    attachments: tuple[StepAttachment, ...] = ()
    reply: Annotated[bool, Field(description="whether it continues the latest thread with the sender")] = False
    thread: Annotated[
        str | None, Field(description="the thread with the sender that it continues: its subject, or its id")
    ] = None
    in_reply_to: Annotated[
        str | None, Field(description="the message that it answers: a part of its text (the latest such), or its id")
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_answer(self) -> Self:
        if self.reply + (self.thread is not None) + (self.in_reply_to is not None) > 1:
            raise ValueError("expected only one of `reply`, `thread` and `in_reply_to`")
        return self

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
        )
        state.receive(action, message.model_copy(update={"in_reply_to": self._find_answered(state, sender)}))

    def _find_address(self, state: MessagesState) -> str:
        """Return the address of the sender on the channel."""
        if self.channel == "portal" or not self.sender.startswith("Patient/"):
            return self.sender
        entries = state.directory.find("portal", self.sender)
        addresses = [address for entry in entries for address in entry.addresses(self.channel)]
        if not addresses:
            raise InputError.of(f"messages.receive: {self.sender} has no address for {self.channel}")
        return addresses[0]

    def _find_answered(self, state: MessagesState, sender: str) -> str | None:
        """Return the id of the message that it answers; in a thread the latest one."""
        if self.in_reply_to is not None:
            return self._find_message(state, sender, self.in_reply_to).id
        if not self.reply and self.thread is None:
            return None
        thread = state.threads.get(self.thread or "") or self._find_thread(state, sender)
        return state.mailbox.in_order[thread.messages[-1] - 1].id

    def _find_message(self, state: MessagesState, sender: str, text: str) -> MessageRecord:
        record = state.messages.get(text)
        if record is not None:
            return record
        for record in state.mailbox.list_newest_messages(None, self.channel, sender):
            if text in record.payload.text:
                return record
        raise InputError.of(f"messages.receive: no message to or from {sender} contains {text!r}")

    def _find_thread(self, state: MessagesState, sender: str) -> MessageThread:
        address, subject = normalize_address(self.channel, sender), normalize_subject(self.thread)
        for thread in state.mailbox.list_threads():
            is_with_sender = thread.channel == self.channel and address in thread.addresses
            if is_with_sender and (self.reply or normalize_subject(thread.subject) == subject):
                return thread
        wanted = "" if self.thread is None else f" and the subject {self.thread!r}"
        raise InputError.of(f"messages.receive: there is no thread with {sender}{wanted} to reply in")


class SentBefore(Step):
    """Add a message that the organization has sent earlier, such as a reminder that a patient then answers."""

    name: ClassVar[str] = "messages.sent_before"
    simulator: ClassVar[str | None] = "messages"
    channel: Annotated[Channel, Field(description="sms, email or portal")]
    to: Annotated[str, Field(description="a phone number, an e-mail address or a patient portal account")]
    sender: Annotated[
        str, OWN_ADDRESS, Field(alias="from", description="own number or address; the first by default")
    ] = ""
    text: str
    subject: str | None = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        """Add the message, as delivered."""
        state, action = host.state(MessagesState, self.sandbox)
        message = OutgoingMessage(
            channel=self.channel, to=(self.to,), sender=self.sender, text=self.text, subject=self.subject
        )
        state.send(action, message, in_past=True)


class SetConsent(Step):
    """Opt a phone number out of text messages, or in again, as if they had done so elsewhere."""

    name: ClassVar[str] = "messages.set_consent"
    simulator: ClassVar[str | None] = "messages"
    number: PhoneNumber
    consent: Annotated[Consent, Field(description="opted_out or opted_in")]
    own_number: Annotated[
        PhoneNumber | None,
        OWN_ADDRESS,
        Field(description="for one number of the organization; for all of them if not given"),
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    def run(self, host: StepHost) -> None:
        state, action = host.state(MessagesState, self.sandbox)
        state.set_consent(action, self.number, self.consent, self.own_number or "")
