"""What becomes of a message after it was accepted: delivery, bounces and automatic replies."""

from collections.abc import Callable
from typing import NamedTuple

from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.consent import KeywordKind, build_automatic_reply
from clerkship.simulators.messages.contacts import ContactDirectory, Reach
from clerkship.simulators.messages.records import Channel, DeliveryStatus, MessageHeader, MessageRecord

UNDELIVERED_CODES: dict[Reach, str] = {"unreachable": "30003", "unknown": "30005", "landline": "30006"}
"""Twilio's codes: unreachable handset, unknown handset, landline."""
NO_MAILBOX = "550"


class MessageDelivery(NamedTuple):
    """The next status of a message, and what it leads to."""

    status: DeliveryStatus
    error_code: str | None = None
    bounced: tuple[str, ...] = ()
    """Addresses to which an e-mail could not be delivered."""
    copies: bool = False
    """Whether an e-mail also goes to an address of the organization itself."""


def deliver(
    record: MessageRecord,
    config: MessagesConfig,
    directory: ContactDirectory,
    can_reach: Callable[[Channel, str], bool],
) -> MessageDelivery:
    """Return the next status of a message that is queued or sent."""
    header = record.header
    if header.channel == "sms":
        if record.status == "queued":
            return MessageDelivery("sent")
        number = header.to[0]
        if can_reach("sms", number):
            return MessageDelivery("delivered")
        return MessageDelivery("undelivered", UNDELIVERED_CODES[directory.reach_by_sms(number)])
    others = [address for address in header.recipients if not config.owns_email(address)]
    bounced = tuple(address for address in others if not can_reach("email", address))
    copies = len(others) < len(header.recipients)
    if bounced and len(bounced) == len(header.recipients):
        return MessageDelivery("undelivered", NO_MAILBOX, bounced)
    return MessageDelivery("delivered", None, bounced, copies)


def build_bounce(record: MessageRecord, bounced: tuple[str, ...], id: str) -> tuple[MessageHeader, str]:
    """Return the header and the text of the message that reports unknown addresses to the sender of an e-mail."""
    header = record.header
    domain = header.sender.rpartition("@")[2]
    lines = [f"<{address}>: 550 5.1.1 there is no such mailbox" for address in bounced]
    text = "\n".join(("Your message could not be delivered to:", "", *lines, "", f"Subject: {header.subject or ''}"))
    bounce = MessageHeader(
        id=id,
        channel="email",
        sender=f"mailer-daemon@{domain}",
        to=(header.sender,),
        subject=f"Undelivered mail: {header.subject or ''}".strip(),
        thread=header.thread,
        in_reply_to=header.id,
        message_id=f"<{id}@{domain}>",
    )
    return bounce, text


def build_reply(record: MessageRecord, kind: KeywordKind, config: MessagesConfig, id: str) -> tuple[MessageHeader, str]:
    """Return the header and the text of the automatic reply to a keyword."""
    header = record.header
    reply = MessageHeader(
        id=id,
        channel="sms",
        sender=header.to[0],
        to=(header.sender,),
        thread=header.thread,
        in_reply_to=header.id,
    )
    return reply, build_automatic_reply(kind, config.organization, config.help_text)
