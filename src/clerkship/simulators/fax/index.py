"""The faxes of an organization, and the indexes that keep lists and lookups fast."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple

from clerkship.events.event import Event, Payload
from clerkship.model.conversation_key import normalize_any_address
from clerkship.sandbox.request import find_record
from clerkship.simulators.fax.events import (
    FaxArrived,
    FaxContentDeleted,
    FaxMarked,
    FaxQueued,
    FaxRead,
    FaxStatusChanged,
    PageStored,
)
from clerkship.simulators.fax.records import Direction, FaxHeader, FaxRecord, FaxStatus


class FaxFilter(NamedTuple):
    """Which faxes to list; what is None is not asked for."""

    direction: Direction | None = None
    status: FaxStatus | None = None
    address: str | None = None
    """A number at the other end."""
    unread: bool | None = None
    since: datetime | None = None
    """Faxes that were sent or arrived at or after this simulated time."""


class FaxIndex:
    """All faxes in order, their pages, and how each event changes them."""

    applied_events: ClassVar[tuple[type[Payload], ...]] = (
        *(PageStored, FaxQueued, FaxArrived, FaxStatusChanged, FaxRead, FaxMarked, FaxContentDeleted),
    )

    def __init__(self) -> None:
        self.faxes: dict[str, FaxRecord] = {}
        self.pages: dict[str, PageStored] = {}
        """Pages by their hash, with their true words. The agent must not get the words."""
        self.stored_bytes = 0
        self.calls: dict[str, int] = {}
        """Number -> how many calls to it were made."""
        self.in_order: list[FaxRecord] = []
        """All faxes; the one with number n is at n - 1."""
        self._by_address: dict[str, list[int]] = {}
        """Number at the other end -> numbers of faxes."""
        self._unread: dict[int, None] = {}

    def apply(self, event: Event) -> None:
        """Change a fax by one of `applied_events`."""
        match event.payload:
            case PageStored() as page:
                if page.hash not in self.pages:
                    self.stored_bytes += len(page.data)
                self.pages[page.hash] = page
            case FaxQueued(header=header):
                self._add(event, header, "queued")
            case FaxArrived(header=header):
                self._add(event, header, "received")
            case FaxStatusChanged() as changed:
                self._change_status(event, changed)
            case FaxRead(id=id):
                self._mark(self.faxes[id], unread=False)
            case FaxMarked(id=id, unread=unread):
                self._mark(self.faxes[id], unread=unread)
            case FaxContentDeleted(id=id):
                self.faxes[id].is_content_deleted = True

    def _add(self, event: Event, header: FaxHeader, status: FaxStatus) -> None:
        record = FaxRecord(event, header, len(self.in_order) + 1, status, event.at)
        answered = self.faxes.get(header.in_reply_to or "")
        record.answered = answered.header if answered is not None and answered.is_inbound else None
        self.faxes[record.id] = record
        self.in_order.append(record)
        self._by_address.setdefault(record.correspondent, []).append(record.number)
        if record.is_unread:
            self._unread[record.number] = None

    def _change_status(self, event: Event, changed: FaxStatusChanged) -> None:
        record = self.faxes[changed.id]
        if record.status != "sending":
            record.line_call = self.calls[record.header.to] = self.calls.get(record.header.to, 0) + 1
        record.status, record.status_at = changed.status, event.at
        record.attempts, record.pages_sent, record.error = changed.attempt, changed.pages_sent, changed.error

    def _mark(self, record: FaxRecord, *, unread: bool) -> None:
        if record.is_unread == unread or not record.is_inbound:
            return
        record.is_read = not unread
        if unread:
            # Kept in the order of the faxes; marking as unread is rare.
            self._unread = dict.fromkeys(sorted((*self._unread, record.number)))
        else:
            del self._unread[record.number]

    @property
    def unread(self) -> int:
        return len(self._unread)

    def find(self, id: str) -> FaxRecord:
        """Return a fax; refused if it does not exist."""
        return find_record(self.faxes, "fax", id)

    def list_faxes(self, wanted: FaxFilter, after: int = 0) -> Iterator[FaxRecord]:
        """Iterate over the faxes with a number greater than `after` that a filter selects, oldest first."""
        for number in self._candidates(wanted, after):
            record = self.in_order[number - 1]
            if _is_wanted(record, wanted):
                yield record

    def list_newest_faxes(self, wanted: FaxFilter, before: int | None = None) -> Iterator[FaxRecord]:
        """Iterate over the faxes with a number less than `before` that a filter selects, newest first."""
        numbers = self._numbers(wanted)
        end = len(numbers) if before is None else bisect_left(numbers, before)
        for place in range(end - 1, -1, -1):
            record = self.in_order[numbers[place] - 1]
            if _is_wanted(record, wanted):
                yield record

    def _numbers(self, wanted: FaxFilter) -> Sequence[int]:
        if wanted.address is None:
            return range(1, len(self.in_order) + 1)
        return self._by_address.get(normalize_any_address(wanted.address), ())

    def _candidates(self, wanted: FaxFilter, after: int) -> Iterable[int]:
        """Return the numbers of the faxes that may be wanted, from the smallest index."""
        numbers = self._numbers(wanted)
        if wanted.unread and len(self._unread) < len(numbers):
            return (number for number in self._unread if number > after)
        return (numbers[place] for place in range(bisect_right(numbers, after), len(numbers)))


def _is_wanted(record: FaxRecord, wanted: FaxFilter) -> bool:
    return (
        (wanted.direction is None or record.header.direction == wanted.direction)
        and (wanted.status is None or record.status == wanted.status)
        and (wanted.address is None or record.correspondent == normalize_any_address(wanted.address))
        and (wanted.unread is None or record.is_unread == wanted.unread)
        and (wanted.since is None or record.created_at >= wanted.since)
    )
