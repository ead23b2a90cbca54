"""The messages of an organization with their threads, and the indexes that keep lists and lookups fast.

A thread of text messages is a pair of numbers. An e-mail belongs to the thread of a message that its In-Reply-To or
References name (RFC 5322 §3.6.4), or else to the thread with the same subject and correspondent. A thread of portal
messages is explicit.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, NamedTuple

from clerkship.events.event import Event, Payload
from clerkship.model.conversation_key import normalize_address
from clerkship.sandbox.request import find_record
from clerkship.simulators.messages.events import (
    AttachmentStored,
    MessageArrived,
    MessageRead,
    MessageSent,
    MessageStatusChanged,
    SmsDeleted,
    ThreadClosed,
)
from clerkship.simulators.messages.records import Channel, MessageHeader, MessageRecord

_REPLY_PREFIX = re.compile(r"^\s*(?:(?:re|fw|fwd|aw|wg)\s*(?:\[\d{1,3}\])?\s*:\s*)+", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
ThreadKey = tuple[str, str, str]
"""A channel, and two texts: numbers of a text message; a subject and a correspondent of an e-mail."""


@dataclass(slots=True)
class MessageThread:
    """Messages that belong together."""

    id: str
    channel: Channel
    subject: str | None
    correspondents: dict[str, None] = field(default_factory=dict)
    """The addresses at the other end, in order of their first message."""
    messages: list[int] = field(default_factory=list)
    """The numbers of its messages, in order."""
    unread: int = 0
    is_closed: bool = False

    @property
    def addresses(self) -> list[str]:
        """The addresses at the other end, as they are compared."""
        return [normalize_address(self.channel, address) for address in self.correspondents]


def normalize_subject(subject: str | None) -> str:
    """Return a subject without the prefixes of replies, in lower case, with single spaces."""
    return _SPACES.sub(" ", _REPLY_PREFIX.sub("", subject or "")).strip().casefold()


class MessageFilter(NamedTuple):
    """Which messages to list; what is None is not asked for."""

    channel: Channel | None = None
    inbound: bool | None = None
    address: str | None = None
    """An address at the other end."""
    thread: str | None = None
    unread: bool | None = None
    since: datetime | None = None
    """Messages at or after this simulated time."""


class Mailbox:
    """All messages in order, their threads and attachments, and how each event changes them."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (
        *(MessageSent, MessageArrived, MessageStatusChanged, MessageRead, SmsDeleted, ThreadClosed, AttachmentStored),
    )

    def __init__(self) -> None:
        self.messages: dict[str, MessageRecord] = {}
        self.threads: dict[str, MessageThread] = {}
        """Threads by id; the one with the latest message is the last."""
        self.attachments: dict[str, AttachmentStored] = {}
        self.in_order: list[MessageRecord] = []
        """All messages; the one with number n is at n - 1."""
        self._by_address: dict[tuple[str, str], list[int]] = {}
        """Channel and normalized address of the other end -> numbers of messages."""
        self._writers: set[tuple[str, str]] = set()
        """Channel and normalized address of those from whom a message has arrived."""
        self._unread: dict[int, None] = {}
        self._thread_keys: dict[ThreadKey, str] = {}
        self._message_ids: dict[str, str] = {}
        """Message-ID of an e-mail -> id of the message."""
        self.references: dict[str, str] = {}
        """Key of a Communication in a chart -> id of the message that was sent for it."""

    def apply(self, event: Event) -> None:
        """Change a message, a thread or an attachment by one of `applied_events`."""
        match event.payload:
            case MessageSent(header=header, status=status):
                self._add(MessageRecord(len(self.in_order) + 1, event, header, status))
            case MessageArrived(header=header):
                self._add(MessageRecord(len(self.in_order) + 1, event, header, "received", unread=True))
            case MessageStatusChanged() as changed:
                record = self.messages[changed.id]
                record.status, record.error_code, record.status_at = changed.status, changed.error_code, event.at
            case SmsDeleted(id=id, only_text=only_text):
                self.messages[id].deleted = "text" if only_text else "message"
            case MessageRead(id=id, unread=unread):
                self._mark(self.messages[id], unread=unread)
            case ThreadClosed(thread=id, closed=closed):
                self.threads[id].is_closed = closed
            case AttachmentStored() as attachment:
                self.attachments[attachment.id] = attachment

    def _add(self, record: MessageRecord) -> None:
        header = record.header
        self.in_order.append(record)
        self.messages[header.id] = record
        if header.message_id:
            self._message_ids.setdefault(header.message_id, header.id)
        if header.reference:
            self.references[header.reference] = header.id
        for address in dict.fromkeys(record.correspondents):
            key = (header.channel, normalize_address(header.channel, address))
            self._by_address.setdefault(key, []).append(record.number)
            if record.is_inbound:
                self._writers.add(key)
        self._add_to_thread(record)

    def _add_to_thread(self, record: MessageRecord) -> None:
        header = record.header
        # Moved to the end, so that listing the latest threads needs no sorting.
        thread = self.threads.pop(header.thread, None)
        if thread is None:
            thread = MessageThread(header.thread, header.channel, header.subject)
        self.threads[thread.id] = thread
        thread.messages.append(record.number)
        thread.correspondents.update(dict.fromkeys(record.correspondents))
        for key in _build_thread_keys(header, is_inbound=record.is_inbound):
            self._thread_keys[key] = thread.id
        if record.unread:
            thread.unread += 1
            thread.is_closed = False
            self._unread[record.number] = None

    def _mark(self, record: MessageRecord, *, unread: bool) -> None:
        if record.unread == unread:
            return
        record.unread = unread
        self.threads[record.header.thread].unread += 1 if unread else -1
        if unread:
            # Kept in the order of the messages; marking as unread is rare.
            self._unread = dict.fromkeys(sorted((*self._unread, record.number)))
        else:
            del self._unread[record.number]

    def find_message(self, id: str) -> MessageRecord:
        """Return a message; refused if it does not exist."""
        return find_record(self.messages, "message", id)

    def find_thread(self, id: str) -> MessageThread:
        """Return a thread; refused if it does not exist."""
        return find_record(self.threads, "thread", id)

    @property
    def unread(self) -> int:
        """The number of unread messages."""
        return len(self._unread)

    def has_written(self, channel: Channel, address: str) -> bool:
        """Return whether a message from an address has arrived."""
        return (channel, normalize_address(channel, address)) in self._writers

    def by_message_id(self, message_id: str) -> MessageRecord | None:
        """Return the e-mail with a Message-ID."""
        id = self._message_ids.get(message_id)
        return None if id is None else self.messages[id]

    def find_thread_id(self, header: MessageHeader, references: Sequence[str], *, is_inbound: bool) -> str | None:
        """Return the id of the thread to which a message belongs; None if it begins one."""
        if header.channel != "sms" and header.in_reply_to is not None:
            return self.messages[header.in_reply_to].header.thread
        for reference in references if header.channel == "email" else ():
            record = self.by_message_id(reference)
            if record is not None:
                return record.header.thread
        keys = _build_thread_keys(header, is_inbound=is_inbound)
        return self._thread_keys.get(keys[0]) if keys else None

    def list_messages(self, wanted: MessageFilter, after: int = 0) -> Iterator[MessageRecord]:
        """Iterate over the messages with a number greater than `after` that a filter selects, oldest first."""
        for number in self._candidates(wanted, after):
            record = self.in_order[number - 1]
            if _is_wanted(record, wanted):
                yield record

    def _candidates(self, wanted: MessageFilter, after: int) -> Iterable[int]:
        """Return the numbers of the messages that may be wanted, from the smallest index."""
        lists: list[Sequence[int]] = [range(1, len(self.in_order) + 1)]
        if wanted.thread is not None:
            thread = self.threads.get(wanted.thread)
            lists.append(thread.messages if thread is not None else ())
        if wanted.address is not None:
            channels: tuple[Channel, ...] = (wanted.channel,) if wanted.channel else ("sms", "email", "portal")
            keys = [(channel, normalize_address(channel, wanted.address)) for channel in channels]
            matches = [self._by_address[key] for key in keys if key in self._by_address]
            lists.append(matches[0] if len(matches) == 1 else sorted({number for each in matches for number in each}))
        smallest = min(lists, key=len)
        if wanted.unread and len(self._unread) < len(smallest):
            return (number for number in self._unread if number > after)
        return (smallest[place] for place in range(bisect_right(smallest, after), len(smallest)))

    def list_newest_messages(
        self, before: int | None = None, channel: Channel | None = None, address: str | None = None
    ) -> Iterator[MessageRecord]:
        """Iterate over messages, the newest first: with a number less than `before`, and to or from an address."""
        numbers: Sequence[int] = range(1, len(self.in_order) + 1)
        if channel is not None and address is not None:
            numbers = self._by_address.get((channel, normalize_address(channel, address)), ())
        end = len(numbers) if before is None else bisect_left(numbers, before)
        for place in range(end - 1, -1, -1):
            record = self.in_order[numbers[place] - 1]
            if channel in (None, record.header.channel):
                yield record

    def list_threads(self, after: MessageThread | None = None) -> Iterator[MessageThread]:
        """Iterate over the threads, the one with the latest message first, from the one after a thread."""
        if after is None:
            yield from reversed(self.threads.values())
            return
        for record in self.list_newest_messages(after.messages[-1]):
            thread = self.threads[record.header.thread]
            if thread.messages[-1] == record.number:
                yield thread


def _build_thread_keys(header: MessageHeader, *, is_inbound: bool) -> list[ThreadKey]:
    """Return one key for the numbers of a text message, and one for each correspondent of an e-mail with a subject."""
    if header.channel == "sms":
        return [("sms", *((header.to[0], header.sender) if is_inbound else (header.sender, header.to[0])))]
    subject = normalize_subject(header.subject) if header.channel == "email" else ""
    others = (header.sender,) if is_inbound else header.recipients
    return [("email", subject, address.casefold()) for address in others] if subject else []


def _is_wanted(record: MessageRecord, wanted: MessageFilter) -> bool:
    header = record.header
    if wanted.address is not None:
        address = normalize_address(header.channel, wanted.address)
        if all(normalize_address(header.channel, each) != address for each in record.correspondents):
            return False
    return (
        (wanted.channel is None or header.channel == wanted.channel)
        and (wanted.inbound is None or record.is_inbound == wanted.inbound)
        and (wanted.thread is None or header.thread == wanted.thread)
        and (wanted.unread is None or record.unread == wanted.unread)
        and (wanted.since is None or record.event.at >= wanted.since)
    )
