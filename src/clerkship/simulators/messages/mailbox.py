"""The messages of an organization with their threads, and the indexes that keep lists and lookups fast."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from clerkship.events.event import Event
from clerkship.model.conversation_key import normalize_address
from clerkship.sandbox.request import Refusal
from clerkship.simulators.messages.events import AttachmentStored, MessageArrived, MessageSent
from clerkship.simulators.messages.records import Channel, MessageHeader, MessageRecord
from clerkship.simulators.messages.threads import MessageThread, ThreadKey, build_email_keys, build_sms_key


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
    """All messages in order, and their threads."""

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

    def add(self, event: Event, *, is_inbound: bool) -> MessageRecord:
        """Add a message that was sent or has arrived."""
        payload = event.payload
        assert isinstance(payload, MessageSent | MessageArrived)
        header = payload.header
        status = payload.status if isinstance(payload, MessageSent) else "received"
        record = MessageRecord(len(self.in_order) + 1, event, header, status, unread=is_inbound)
        self.in_order.append(record)
        self.messages[header.id] = record
        if header.message_id:
            self._message_ids.setdefault(header.message_id, header.id)
        if header.reference:
            self.references[header.reference] = header.id
        for address in dict.fromkeys(record.correspondents):
            key = (header.channel, normalize_address(header.channel, address))
            self._by_address.setdefault(key, []).append(record.number)
            if is_inbound:
                self._writers.add(key)
        self._add_to_thread(record)
        return record

    def _add_to_thread(self, record: MessageRecord) -> None:
        header = record.header
        # Moved to the end, so that listing the latest threads needs no sorting.
        thread = self.threads.pop(header.thread, None)
        if thread is None:
            thread = MessageThread(header.thread, header.channel, header.subject)
        self.threads[thread.id] = thread
        thread.messages.append(record.number)
        thread.correspondents.update(dict.fromkeys(record.correspondents))
        for key in _build_thread_keys(record):
            self._thread_keys[key] = thread.id
        if record.unread:
            thread.unread += 1
            thread.is_closed = False
            self._unread[record.number] = None

    def mark(self, id: str, *, unread: bool) -> None:
        """Mark a message as read or unread."""
        record = self.messages[id]
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
        record = self.messages.get(id)
        if record is None:
            raise Refusal(404, "no_such_message", f"there is no message {id[:60]}")
        return record

    def find_thread(self, id: str) -> MessageThread:
        """Return a thread; refused if it does not exist."""
        thread = self.threads.get(id)
        if thread is None:
            raise Refusal(404, "no_such_thread", f"there is no thread {id[:60]}")
        return thread

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
        if header.channel == "sms":
            numbers = (header.to[0], header.sender) if is_inbound else (header.sender, header.to[0])
            return self._thread_keys.get(build_sms_key(*numbers))
        if header.in_reply_to is not None:
            return self.messages[header.in_reply_to].header.thread
        if header.channel == "portal":
            return None
        for reference in references:
            record = self.by_message_id(reference)
            if record is not None:
                return record.header.thread
        others = (header.sender,) if is_inbound else header.recipients
        keys = build_email_keys(header.subject, others[:1])
        return next((self._thread_keys[key] for key in keys if key in self._thread_keys), None)

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
            found = [self._by_address[key] for key in keys if key in self._by_address]
            lists.append(found[0] if len(found) == 1 else sorted({number for each in found for number in each}))
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


def _build_thread_keys(record: MessageRecord) -> list[ThreadKey]:
    header = record.header
    if header.channel == "sms":
        own, other = (header.to[0], header.sender) if record.is_inbound else (header.sender, header.to[0])
        return [build_sms_key(own, other)]
    return build_email_keys(header.subject, record.correspondents) if header.channel == "email" else []


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
