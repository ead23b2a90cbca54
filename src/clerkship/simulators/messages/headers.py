"""The headers of new messages: ids, threads, stored attachments, and what follows from the message that they answer."""

import hashlib
from collections.abc import Mapping
from typing import Any

from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.events import AttachmentStored
from clerkship.simulators.messages.mailbox import Mailbox
from clerkship.simulators.messages.outgoing import IncomingMessage, NewAttachment, OutgoingMessage
from clerkship.simulators.messages.records import Channel, MessageAttachment, MessageHeader, MessageRecord


def build_header(
    action: ActionContext, mailbox: Mailbox, message: OutgoingMessage | IncomingMessage, config: MessagesConfig
) -> MessageHeader:
    """Store the attachments of a message, and return its header with a new id and its thread."""
    channel, is_inbound = message.channel, isinstance(message, IncomingMessage)
    id = new_message_id(action, mailbox, channel, has_media=bool(message.attachments))
    domain = config.addresses[0].rpartition("@")[2]
    header = MessageHeader(
        id=id,
        channel=channel,
        sender=message.sender,
        to=message.to,
        cc=message.cc,
        bcc=message.bcc,
        subject=message.subject,
        thread="",
        in_reply_to=_find_answered(mailbox, message),
        message_id=(message.message_id or f"<{id}@{domain}>") if channel == "email" else None,
        attachments=tuple(_store(action, mailbox, channel, attachment) for attachment in message.attachments),
        reference=message.reference,
    )
    thread = message.thread or mailbox.find_thread_id(header, message.references, is_inbound=is_inbound)
    return header.model_copy(update={"thread": thread or action.ids.new("thread")})


def new_message_id(action: ActionContext, mailbox: Mailbox, channel: Channel, *, has_media: bool = False) -> str:
    """Return the id of a new message; that of a text message is a Twilio SID, which begins with MM if it has media."""
    if channel == "sms":
        return _new_sid(action, "MM" if has_media else "SM", mailbox.messages)
    return action.ids.new(channel)


def _new_sid(action: ActionContext, prefix: str, used: Mapping[str, Any]) -> str:
    """Return a new id in the form of a Twilio SID: two letters and 32 hexadecimal digits."""
    while True:
        seed = action.ids.new(prefix.lower())
        sid = f"{prefix}{hashlib.blake2b(seed.encode(), digest_size=16).hexdigest()}"
        # A fork numbers from the start, because a SID does not show the number that it was made from.
        if sid not in used:
            return sid


def _store(action: ActionContext, mailbox: Mailbox, channel: Channel, attachment: NewAttachment) -> MessageAttachment:
    id = _new_sid(action, "ME", mailbox.attachments) if channel == "sms" else action.ids.new("attachment")
    name, content_type, data = attachment.name, attachment.content_type, attachment.data
    action.emit(AttachmentStored(id=id, name=name, content_type=content_type, size=len(data), data=data))
    return MessageAttachment(id=id, name=name, content_type=content_type, size=len(data))


def _find_answered(mailbox: Mailbox, message: OutgoingMessage | IncomingMessage) -> str | None:
    if message.in_reply_to is not None or not message.references:
        return message.in_reply_to
    answered = mailbox.by_message_id(message.references[0])
    return None if answered is None else answered.id


def complete_answer(mailbox: Mailbox, message: OutgoingMessage | IncomingMessage) -> dict[str, Any]:
    """Return the fields that follow from the message or the patient portal thread that a message answers."""
    fields: dict[str, Any] = {}
    if message.in_reply_to is not None:
        answered = mailbox.find_message(message.in_reply_to)
        if answered.header.channel != message.channel:
            channel = answered.header.channel
            raise Refusal(400, "wrong_channel", f"message {answered.id} is on {channel}, not on {message.channel}")
        if isinstance(message, OutgoingMessage):
            fields = _address_answer(answered, message)
        if message.channel == "portal":
            fields["thread"] = answered.header.thread
    thread_id = fields.get("thread", message.thread)
    if message.channel == "portal" and thread_id is not None:
        thread = mailbox.find_thread(thread_id)
        if thread.channel != "portal":
            raise Refusal(400, "wrong_channel", f"thread {thread.id} is on {thread.channel}, not on the portal")
        if message.thread not in (None, thread.id):
            raise Refusal(400, "wrong_thread", f"in_reply_to is a message of thread {thread.id}")
        fields["subject"] = message.subject or thread.subject
        if isinstance(message, OutgoingMessage) and not message.to:
            fields["to"] = tuple(thread.correspondents)
    return fields


def _address_answer(answered: MessageRecord, message: OutgoingMessage) -> dict[str, Any]:
    """Return the recipients, the sender and the subject of an answer, as far as it does not state them."""
    header = answered.header
    fields: dict[str, Any] = {}
    if not message.to:
        fields["to"] = (header.sender,) if answered.is_inbound else header.to
    if not message.sender and message.channel == "sms":
        fields["sender"] = header.to[0] if answered.is_inbound else header.sender
    if message.channel == "email" and message.subject is None:
        subject = header.subject or ""
        fields["subject"] = subject if subject.casefold().startswith("re:") else f"Re: {subject}".strip()
    return fields
