"""Checks of a message before it is accepted, with the codes of Twilio for text messages and of SMTP for e-mail."""

import re
from collections.abc import Callable, Iterable, Mapping

from clerkship.model.conversation_key import normalize_address, normalize_phone
from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.contacts import ContactDirectory
from clerkship.simulators.messages.mailbox import MessageThread
from clerkship.simulators.messages.outgoing import IncomingMessage, NewAttachment, OutgoingMessage
from clerkship.simulators.messages.records import Channel
from clerkship.simulators.messages.segments import MAX_SMS_LENGTH

CanReach = Callable[[Channel, str], bool]
"""Returns whether a message gets to an address."""
MAX_RECIPIENTS = 100
MAX_ATTACHMENTS = 50
MAX_MEDIA = 10
"""The attachments of one text message, as in Twilio."""
MAX_MEDIA_BYTES = 5_000_000
MAX_SUBJECT = 998
"""The longest line of an e-mail (RFC 5322 §2.1.1)."""
MAX_NAME = 255
MAX_ADDRESS = 254
"""The longest e-mail address (RFC 5321 §4.5.3.1.3, without its brackets)."""
_NOT_IN_HEADERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")
"""Line breaks would begin another header (RFC 5322 §2.2); other control characters are not allowed either."""
_EMAIL = re.compile(r"[^@\s<>,;:\"()\[\]\\]{1,64}@[^@\s<>,;:\"()\[\]\\.][^@\s<>,;:\"()\[\]\\]{0,252}")
_MESSAGE_ID = re.compile(r"<[^\s<>]{1,990}>")


def check_texts(message: OutgoingMessage | IncomingMessage) -> None:
    """Refuse text with a NUL or that is not Unicode, and line breaks and control characters where a header would have
    them.
    """
    for name, text in _list_texts(message):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Refusal(400, "invalid_text", f"{name} is not valid Unicode text") from None
    for name, text in (("text", message.text), ("html", message.html or "")):
        if "\0" in text:
            is_email = message.channel == "email"
            raise Refusal(400, "554" if is_email else "invalid_text", f"{'5.6.0 ' * is_email}{name} contains a NUL")
    for name, text in _list_header_texts(message):
        match = _NOT_IN_HEADERS.search(text)
        if match is not None:
            character = f"U+{ord(match[0]):04X}"
            raise Refusal(400, "invalid_header", f"{name} contains a line break or control character ({character})")


def _list_header_texts(message: OutgoingMessage | IncomingMessage) -> Iterable[tuple[str, str]]:
    yield "sender", message.sender
    for name, addresses in (("to", message.to), ("cc", message.cc), ("bcc", message.bcc)):
        for address in addresses[: MAX_RECIPIENTS + 1]:
            yield f"an address in {name}", address
    yield "subject", message.subject or ""
    yield "message_id", message.message_id or ""
    for reference in message.references:
        yield "references", reference
    for attachment in message.attachments[: MAX_ATTACHMENTS + 1]:
        yield "the name of an attachment", attachment.name
        yield "the content type of an attachment", attachment.content_type


def _list_texts(message: OutgoingMessage | IncomingMessage) -> Iterable[tuple[str, str]]:
    yield from _list_header_texts(message)
    yield from (("text", message.text), ("html", message.html or ""))
    yield from (("thread", message.thread or ""), ("in_reply_to", message.in_reply_to or ""))


def check_number(message: OutgoingMessage, number: int, config: MessagesConfig) -> None:
    """Refuse another message if there are too many: as Twilio for a text message, as SMTP for an e-mail."""
    if number >= config.max_messages:
        codes: Mapping[Channel, str] = {"sms": "20429", "email": "452", "portal": "too_many_messages"}
        raise Refusal(
            429, codes[message.channel], f"the limit of {config.max_messages} messages is reached (max_messages)"
        )


def check_size(message: OutgoingMessage | IncomingMessage, config: MessagesConfig) -> None:
    """Refuse a message with too many recipients or attachments, or that is too large."""
    is_email = message.channel == "email"
    code = "452" if is_email else "too_many_recipients"
    _check_limit(len(message.recipients), MAX_RECIPIENTS, code, "a message", "recipients")
    _check_limit(len(message.attachments), MAX_ATTACHMENTS, "too_many_attachments", "a message", "attachments")
    _check_limit(len(message.subject or ""), MAX_SUBJECT, "too_long", "a subject", "characters")
    for attachment in message.attachments:
        _check_attachment(attachment)
    size, code = measure_message(message), "552" if is_email else "too_large"
    _check_limit(size, config.max_message_bytes, code, "a message", "bytes with attachments", 413)


def _check_limit(count: int, limit: int, code: str, subject: str, unit: str, status: int = 400) -> None:
    if count > limit:
        raise Refusal(status, code, f"{subject} may have at most {limit} {unit}, not {count}")


def measure_message(message: OutgoingMessage | IncomingMessage) -> int:
    """Return the bytes of the text, the HTML and the attachments of a message."""
    texts = len(message.text.encode()) + len((message.html or "").encode())
    return texts + sum(len(attachment.data) for attachment in message.attachments)


def _check_attachment(attachment: NewAttachment) -> None:
    if not attachment.name.strip() or len(attachment.name) > MAX_NAME:
        raise Refusal(400, "invalid_name", f"the name of an attachment has 1 to {MAX_NAME} characters")
    if "/" not in attachment.content_type or len(attachment.content_type) > MAX_NAME:
        raise Refusal(400, "invalid_type", "the content type of an attachment has the form type/subtype")


def check_sms(message: OutgoingMessage, config: MessagesConfig) -> OutgoingMessage:
    """Refuse what Twilio refuses, in its order; return the message with both numbers in E.164."""
    if not message.to:
        raise Refusal(400, "21604", "a 'To' phone number is required")
    if len(message.recipients) > 1 or message.cc or message.bcc:
        raise Refusal(400, "one_recipient", "a text message has one recipient; send one message to each")
    number = normalize_phone(message.to[0])
    if number is None:
        raise Refusal(400, "21211", f"the 'To' number {message.to[0][:40]} is not a valid phone number")
    sender = normalize_phone(message.sender or config.numbers[0])
    if sender is None:
        raise Refusal(400, "21212", f"the 'From' number {message.sender[:40]} is not a valid phone number")
    if sender not in config.numbers:
        owned = ", ".join(config.numbers)
        raise Refusal(400, "21659", f"the 'From' number {sender} is not a number of this account (expected: {owned})")
    if sender == number:
        raise Refusal(400, "21266", "the 'To' and 'From' numbers are the same")
    if not message.text and not message.attachments:
        raise Refusal(400, "21602", "a message body is required")
    if len(message.text) > MAX_SMS_LENGTH:
        raise Refusal(400, "21617", f"the body has {len(message.text)} characters; the limit is {MAX_SMS_LENGTH}")
    _check_limit(len(message.attachments), MAX_MEDIA, "21623", "a text message", "attachments")
    media = sum(len(attachment.data) for attachment in message.attachments)
    _check_limit(media, MAX_MEDIA_BYTES, "11751", "the attachments of a text message", "bytes")
    if message.subject is not None or message.html is not None or message.thread is not None:
        raise Refusal(400, "not_in_sms", "a text message has no subject, HTML or explicit thread")
    return message.model_copy(update={"sender": sender, "to": (number,)})


def check_email(message: OutgoingMessage, config: MessagesConfig, directory: ContactDirectory) -> OutgoingMessage:
    """Refuse what an SMTP server refuses (RFC 5321 §4.2.3, RFC 3463); return the message with its sender."""
    sender = message.sender or config.addresses[0]
    if not is_email_address(sender):
        raise Refusal(400, "553", f"5.1.7 the sender {sender[:80]} is not an e-mail address")
    if not config.owns_email(sender):
        listed = ", ".join(config.addresses)
        raise Refusal(400, "550", f"5.7.1 {sender[:80]} is not an address of this organization (expected: {listed})")
    if not message.recipients:
        raise Refusal(400, "503", "5.5.1 an e-mail needs a recipient")
    for address in message.recipients:
        if not is_email_address(address):
            raise Refusal(400, "553", f"5.1.3 {address[:80]} is not an e-mail address")
        if not has_mailbox(address, config, directory):
            raise Refusal(400, "550", f"5.1.1 there is no mailbox {address[:80]}")
    if message.thread is not None:
        raise Refusal(400, "not_in_email", "an e-mail has no explicit thread; set in_reply_to")
    for id in filter(None, (message.message_id, *message.references)):
        if not _MESSAGE_ID.fullmatch(id):
            raise Refusal(400, "553", f"5.6.0 {id[:80]} is not a Message-ID")
    return message.model_copy(update={"sender": sender})


def has_mailbox(address: str, config: MessagesConfig, directory: ContactDirectory) -> bool:
    """Return whether an address may exist: at its own domains it must be that of the organization or a contact."""
    domain = normalize_address("email", address).rpartition("@")[2]
    is_local = any(own.rpartition("@")[2] == domain for own in config.own_emails)
    return not is_local or config.owns_email(address) or bool(directory.find("email", address))


def check_portal(message: OutgoingMessage, config: MessagesConfig, can_reach: CanReach) -> OutgoingMessage:
    """Refuse a patient portal message that no portal would accept; return it with its sender, the organization."""
    if message.sender not in ("", config.organization):
        reason = f"patient portal messages are from {config.organization}; leave out the sender"
        raise Refusal(400, "wrong_sender", reason)
    if message.cc or message.bcc:
        raise Refusal(400, "not_on_portal", "a patient portal message has no cc or bcc")
    if not message.to:
        raise Refusal(400, "no_recipient", "a patient portal message needs an account such as Patient/pat-0001")
    for account in message.to:
        if not can_reach("portal", account):
            raise Refusal(400, "no_such_account", f"there is no patient portal account {account[:80]}")
    if not message.text.strip() and not message.attachments:
        raise Refusal(400, "empty", "a patient portal message needs a text or an attachment")
    return message.model_copy(update={"sender": config.organization})


def check_thread(thread: MessageThread, accounts: Iterable[str]) -> None:
    """Refuse an answer in a closed patient portal thread, or to an account that is not in the thread."""
    if thread.is_closed:
        raise Refusal(409, "thread_closed", f"thread {thread.id} is closed; open it again or begin a new one")
    outsiders = [account for account in accounts if account not in thread.correspondents]
    if outsiders:
        raise Refusal(400, "not_in_thread", f"{outsiders[0][:80]} is not in thread {thread.id}")


def is_email_address(text: str) -> bool:
    """Return whether a text is a bare e-mail address."""
    return len(text) <= MAX_ADDRESS and _EMAIL.fullmatch(text) is not None


def check_incoming(message: IncomingMessage, config: MessagesConfig) -> IncomingMessage:
    """Check a message to the organization; return it with normalized addresses."""
    check_texts(message)
    check_size(message, config)
    if message.channel == "portal":
        return message.model_copy(update={"to": (config.organization,)})
    if message.channel == "email":
        return _check_incoming_email(message, config)
    sender = normalize_phone(message.sender)
    if sender is None:
        raise Refusal(400, "21211", f"{message.sender[:40]} is not a phone number")
    owned = message.to or config.numbers[:1]
    _check_owned("sms", owned, config.numbers)
    if len(owned) != 1 or message.cc:
        raise Refusal(400, "one_recipient", "a text message has one recipient")
    return message.model_copy(update={"sender": sender, "to": (normalize_address("sms", owned[0]),)})


def _check_incoming_email(message: IncomingMessage, config: MessagesConfig) -> IncomingMessage:
    if not is_email_address(message.sender):
        raise Refusal(400, "553", f"5.1.7 {message.sender[:80]} is not an e-mail address")
    owned = message.to or config.addresses[:1]
    _check_owned("email", [*owned, *message.cc], config.addresses, any_is_enough=True)
    return message.model_copy(update={"to": tuple(owned)})


def _check_owned(
    channel: Channel, addresses: Iterable[str], owned: Iterable[str], *, any_is_enough: bool = False
) -> None:
    known = {normalize_address(channel, address) for address in owned}
    matches = [normalize_address(channel, address) in known for address in addresses]
    if not (any(matches) if any_is_enough else all(matches)):
        listed = ", ".join(owned)
        raise Refusal(400, "no_such_recipient", f"none of the recipients is the organization (expected: {listed})")
