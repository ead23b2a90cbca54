"""The operations of messages, in terms of no protocol."""

import base64
import binascii
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field

from clerkship.model.conversation_key import normalize_address
from clerkship.model.frozen import Flag, Frozen
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.contacts import ContactEntry
from clerkship.simulators.messages.mailbox import MessageFilter, MessageThread
from clerkship.simulators.messages.outgoing import BINARY_TYPE, NewAttachment, OutgoingMessage
from clerkship.simulators.messages.records import Channel, MessageRecord
from clerkship.simulators.messages.state import MessagesState

Context = OperationContext[MessagesState]
MAX_PAGE = 1000
MAX_LISTED_TEXT = 1600
"""How many characters of a message a list shows; reading the message shows all of them."""
After = Annotated[str, Field(description="the next of the previous page")]
Count = Annotated[int, Field(ge=1, le=MAX_PAGE, description="the largest number of entries to return")]


class MessageId(Frozen):
    """A message."""

    id: Annotated[str, Field(description="id of a message")]


class ReadMark(MessageId):
    """A message to mark."""

    unread: Annotated[Flag, Field(description="true to mark it as unread again")] = False


class ThreadId(Frozen):
    """A thread."""

    id: Annotated[str, Field(description="id of a thread")]


class ThreadMark(ThreadId):
    """A thread to close or open again."""

    closed: Annotated[Flag, Field(description="false to open it again")] = True


class AttachmentId(Frozen):
    """An attachment."""

    id: Annotated[str, Field(description="id of an attachment")]


class EncodedAttachment(Frozen):
    """A file to send."""

    name: str
    content_type: str = BINARY_TYPE
    base64: Annotated[str, Field(description="its content in base64")]


class NewOutgoingMessage(Frozen):
    """A message to send."""

    channel: Annotated[Channel | None, Field(description="sms, email or portal; that of in_reply_to by default")] = None
    sender: Annotated[str, Field(alias="from", description="own number or address; the first by default")] = ""
    to: Annotated[
        tuple[str, ...],
        Field(description="numbers, e-mail addresses or patient portal accounts such as Patient/pat-0001"),
    ] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    subject: str | None = None
    text: str = ""
    html: Annotated[str | None, Field(description="e-mail: the same in HTML")] = None
    thread: Annotated[str | None, Field(description="portal: the thread to continue")] = None
    in_reply_to: Annotated[str | None, Field(description="id of the message to answer; it also sets `to`")] = None
    attachments: tuple[EncodedAttachment, ...] = ()


class MessagePage(Frozen):
    """Which messages to list."""

    channel: Annotated[Channel | None, Field(description="sms, email or portal")] = None
    direction: Annotated[Literal["inbound", "outbound"] | None, Field(description="inbound or outbound")] = None
    address: Annotated[str | None, Field(description="only messages from or to this address")] = None
    thread: Annotated[str | None, Field(description="only messages of this thread")] = None
    unread: Annotated[bool | None, Field(description="true for unread messages only")] = None
    since: Annotated[AwareDatetime | None, Field(description="only messages at or after this time")] = None
    after: After = ""
    count: Count = 100


class ThreadPage(Frozen):
    """Which threads to list."""

    channel: Annotated[Channel | None, Field(description="sms, email or portal")] = None
    unread: Annotated[bool | None, Field(description="true for threads with unread messages only")] = None
    after: After = ""
    count: Count = 100


class ContactPage(Frozen):
    """Which contacts to list."""

    name: Annotated[str, Field(description="a part of the name")] = ""
    address: Annotated[str, Field(description="a phone number, e-mail address or patient portal account")] = ""
    after: After = ""
    count: Count = 100


@operation()
def show_organization(context: Context, _: NoInput) -> dict[str, Any]:
    """Show the organization's own numbers and addresses: {"organization", "numbers", "addresses", "unread"}."""
    settings = context.state.config
    return {
        "organization": settings.organization,
        "numbers": list(settings.numbers),
        "addresses": list(settings.addresses),
        "unread": context.state.mailbox.unread,
    }


@operation(shorter_hint="give a `count`")
def list_messages(context: Context, page: MessagePage) -> dict[str, Any]:
    """List messages, oldest first: {"messages": [{"id", "channel", "direction", "from", "to", "text", …}], "next"}."""
    wanted = MessageFilter(
        page.channel,
        None if page.direction is None else page.direction == "inbound",
        page.address,
        page.thread,
        page.unread,
        page.since,
    )
    after = context.state.mailbox.find_message(page.after).number if page.after else 0
    records = list(islice(context.state.mailbox.list_messages(wanted, after), page.count))
    return _page("messages", [summarize_message(record) for record in records], page.count)


@operation()
def read_message(context: Context, message: MessageId) -> dict[str, Any]:
    """Read a message with its whole text; one that arrived is then marked as read."""
    return view_message(context.state.read(context.action, message.id))


@operation(essential=True)
def send_message(context: Context, message: NewOutgoingMessage) -> dict[str, Any]:
    """Send a text message (sms), an e-mail (email) or a patient portal message (portal). Returns it with its id."""
    state = context.state
    channel = message.channel
    if channel is None:
        if message.in_reply_to is None:
            raise Refusal(422, "invalid_input", "channel: expected sms, email or portal, or in_reply_to")
        channel = state.mailbox.find_message(message.in_reply_to).header.channel
    fields = message.model_dump(exclude={"channel", "attachments"})
    attachments = tuple(map(_decode_attachment, message.attachments))
    event = state.send(context.action, OutgoingMessage(channel=channel, attachments=attachments, **fields))
    return view_message(state.mailbox.find_message(event.payload.header.id))  # type: ignore[attr-defined]


@operation()
def mark_message(context: Context, mark: ReadMark) -> dict[str, Any]:
    """Mark a message as read, or as unread again."""
    return view_message(context.state.mark_read(context.action, mark.id, unread=mark.unread))


@operation(essential=True, shorter_hint="give a `count`")
def list_threads(context: Context, page: ThreadPage) -> dict[str, Any]:
    """List threads, the one with the latest message first: {"threads": [{"id", "channel", "subject", "unread"}]}."""
    last = context.state.mailbox.find_thread(page.after) if page.after else None
    threads = context.state.mailbox.list_threads(last)
    wanted = (
        thread
        for thread in threads
        if page.channel in (None, thread.channel) and page.unread in (None, thread.unread > 0)
    )
    return _page("threads", [view_thread(thread) for thread in islice(wanted, page.count)], page.count)


@operation(essential=True)
def read_thread(context: Context, thread: ThreadId) -> dict[str, Any]:
    """Show a thread with its last messages, oldest first. It does not mark them as read."""
    state, stored = context.state, context.state.mailbox.find_thread(thread.id)
    after = stored.messages[-MAX_PAGE - 1] if len(stored.messages) > MAX_PAGE else 0
    records = state.mailbox.list_messages(MessageFilter(thread=stored.id), after)
    return {**view_thread(stored), "messages": [summarize_message(record) for record in records]}


@operation()
def close_thread(context: Context, mark: ThreadMark) -> dict[str, Any]:
    """Close a patient portal thread, or open it again."""
    return view_thread(context.state.close_thread(context.action, mark.id, closed=mark.closed))


@operation()
def read_attachment(context: Context, attachment: AttachmentId) -> bytes:
    """Return the content of an attachment."""
    return context.state.attachment(attachment.id).data


@operation(essential=True, shorter_hint="give a `name` or an `address`")
def list_contacts(context: Context, page: ContactPage) -> dict[str, Any]:
    """Search the people and offices that can be written to: {"contacts": [{"id", "name", "phones", "emails", …}]}."""
    entries = iter(context.state.directory)
    if page.address:
        channels: tuple[Channel, ...] = ("sms", "email", "portal")
        matches = (entry for channel in channels for entry in context.state.directory.find(channel, page.address))
        entries = iter({entry.id: entry for entry in matches}.values())
    if page.after:
        for entry in entries:
            if entry.id == page.after:
                break
    part = page.name.casefold()
    wanted = (entry for entry in entries if part in entry.name.casefold())
    return _page("contacts", [view_contact(entry) for entry in islice(wanted, page.count)], page.count)


@operation()
def list_consents(context: Context, _: NoInput) -> dict[str, Any]:
    """List who opted out of text messages, or in again: {"consents": [{"number", "own_number", "consent"}]}."""
    state = context.state
    initial = {(own, number): "opted_out" for number in state.directory.opted_out() for own in state.config.numbers}
    consents = initial | state.consents
    return {
        "consents": [
            {"number": number, "own_number": own, "consent": consent} for (own, number), consent in consents.items()
        ]
    }


def _decode_attachment(attachment: EncodedAttachment) -> NewAttachment:
    try:
        data = base64.b64decode(attachment.base64, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(422, "invalid_input", f"attachment {attachment.name[:60]!r}: expected base64") from None
    return NewAttachment(name=attachment.name, content_type=attachment.content_type, data=data)


def _page(name: str, entries: list[dict[str, Any]], count: int) -> dict[str, Any]:
    return {name: entries, **({"next": entries[-1]["id"]} if len(entries) == count else {})}


def summarize_message(record: MessageRecord) -> dict[str, Any]:
    """Describe a message, with the beginning of a long text."""
    view = view_message(record)
    view.pop("html", None)
    if len(view["text"]) > MAX_LISTED_TEXT:
        view |= {"text": view["text"][:MAX_LISTED_TEXT], "cut": True}
    return view


def view_message(record: MessageRecord) -> dict[str, Any]:
    """Describe a message with its whole text."""
    header, payload = record.header, record.payload
    optional = {
        "cc": list(header.cc),
        "bcc": list(header.bcc),
        "subject": header.subject,
        "in_reply_to": header.in_reply_to,
        "message_id": header.message_id,
        "html": payload.html,
        "segments": payload.segments,
        "error_code": record.error_code,
        "attachments": [each.model_dump() for each in header.attachments],
    }
    return {
        "id": header.id,
        "channel": header.channel,
        "direction": "inbound" if record.is_inbound else "outbound",
        "from": header.sender,
        "to": list(header.to),
        "at": record.event.at.isoformat(),
        "text": payload.text,
        "thread": header.thread,
        "status": record.status,
        "unread": record.unread,
        **{name: value for name, value in optional.items() if value},
    }


def view_thread(thread: MessageThread) -> dict[str, Any]:
    """Describe a thread without its messages."""
    return {
        "id": thread.id,
        "channel": thread.channel,
        "subject": thread.subject,
        "with": list(thread.correspondents),
        "count": len(thread.messages),
        "unread": thread.unread,
        "closed": thread.is_closed,
    }


def view_contact(entry: ContactEntry) -> dict[str, Any]:
    """Describe a contact."""
    return {
        "id": entry.id,
        "name": entry.name,
        "phones": list(entry.phones),
        "landlines": list(entry.landlines),
        "emails": [normalize_address("email", address) for address in entry.emails],
        "portal": entry.portal,
    }


OPERATIONS = (
    *(show_organization, list_messages, read_message, send_message, mark_message),
    *(list_threads, read_thread, close_thread, read_attachment, list_contacts, list_consents),
)
