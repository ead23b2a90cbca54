"""The messages of a run, read from its events."""

from collections.abc import Iterator
from typing import NamedTuple

from clerkship.assertions.narrowing import ItemContent
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.tables import read_tables
from clerkship.sandbox.activity import TextPart
from clerkship.simulators.messages.email.text import html_to_text, read_html
from clerkship.simulators.messages.events import MessageRefused, MessageSent
from clerkship.simulators.messages.mailbox import Mailbox
from clerkship.simulators.messages.records import MessageAttachment, MessageHeader
from clerkship.text.index import Kind

ADDRESS_KINDS: tuple[Kind, ...] = ("number", "email")
"""What an address tells of a patient; the name of a colleague in an address may be that of a patient."""


class LoggedMessage(NamedTuple):
    """A message that was sent or that arrived, with what became of it."""

    event: Event
    header: MessageHeader
    text: str
    html: str | None
    status: str
    mailbox: Mailbox
    """The mailbox that has its attachments."""

    @property
    def is_sent(self) -> bool:
        """Whether the organization sent it."""
        return isinstance(self.event.payload, MessageSent)

    @property
    def shown_text(self) -> str:
        """The text, and after it that of the HTML if it says something else: readers see one or the other."""
        if not self.html:
            return self.text
        shown = html_to_text(self.html)
        return self.text if shown.split() == self.text.split() else f"{self.text}\n\n{shown}".strip()

    def read_attachment(self, attachment: MessageAttachment) -> str:
        """Return the text of an attachment; bytes that are no text become replacement characters.

        NULs are left out, so that Latin text in UTF-16 and UTF-32 without a byte order mark is read, too.
        """
        stored = self.mailbox.attachments.get(attachment.id)
        data = b"" if stored is None else stored.data
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        return data.decode(encoding, errors="replace").replace("\0", "")

    def list_texts(self) -> Iterator[TextPart]:
        """Yield all that it tells: also hidden parts of HTML, attachments, and the addresses that recipients see."""
        header = self.header
        if len(header.recipients) > 1:  # each of them sees the others
            yield TextPart("recipients", ", ".join((*header.to, *header.cc)), kinds=ADDRESS_KINDS)
        parts = [("body", self.text), ("subject", header.subject or ""), ("Message-ID", header.message_id or "")]
        if self.html:
            parts.append(("html", read_html(self.html)))
        for attachment in header.attachments:
            content = self.read_attachment(attachment)
            parts.append((f"name of attachment {attachment.id}", attachment.name))
            is_html = "html" in attachment.content_type
            parts.append((f"attachment {attachment.name}", read_html(content) if is_html else content))
        yield from (TextPart(place, text) for place, text in parts if text)

    def describe(self) -> str:
        """Return the channel, the other side and the beginning of the text."""
        other = f"to {', '.join(self.header.recipients)}" if self.is_sent else f"from {self.header.sender}"
        text = " ".join(self.text.split())
        return f"{self.header.channel} {other}: {text[:60]}{'…' if len(text) > 60 else ''}"


def read_content(*messages: LoggedMessage) -> ItemContent:
    """Return what tells whom messages are about: their addresses, and all that they say."""
    texts: list[str] = []
    addresses: list[str] = []
    for message in messages:
        header = message.header
        addresses += [*header.recipients, header.sender]
        texts += [message.shown_text, header.subject or ""]
        for attachment in header.attachments:
            texts += [attachment.name, message.read_attachment(attachment)]
    return ItemContent(texts, addresses)


def list_messages(evidence: Evidence, sandbox: str | None = None) -> list[LoggedMessage]:
    """Return what the agent sent and what arrived, in order.

    Messages that lie in the past and automatic replies are left out; those that a reaction sends because of something
    that the agent did are the agent's.
    """
    messages = evidence.cached(_read_messages)
    return [message for message in messages if sandbox in (None, message.event.source)]


def list_refused(evidence: Evidence, sandbox: str | None = None) -> list[Event]:
    """Return the events of messages that the agent tried to send and that were refused."""
    events = evidence.of_kind(MessageRefused.kind)
    return [each for each in events if sandbox in (None, each.source) and evidence.find_originator(each) == "agent"]


def read_mailboxes(evidence: Evidence) -> dict[str, Mailbox]:
    """Return the mailbox of each sandbox at the end of the run."""
    return read_tables(evidence, Mailbox)


def _read_messages(evidence: Evidence) -> list[LoggedMessage]:
    messages = [
        LoggedMessage(record.event, record.header, record.payload.text, record.payload.html, record.status, mailbox)
        for mailbox in evidence.cached(read_mailboxes).values()
        for record in mailbox.in_order
        if record.is_inbound or evidence.find_originator(record.event) == "agent"
    ]
    return sorted(messages, key=lambda message: (message.event.at, message.event.seq))
