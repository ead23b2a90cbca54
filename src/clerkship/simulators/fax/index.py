"""The faxes of an organization, and the indexes that keep lists and lookups fast."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from clerkship.model.conversation_key import normalize_phone
from clerkship.sandbox.request import Refusal
from clerkship.simulators.fax.records import Direction, FaxRecord, FaxStatus


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
    """All faxes in order."""

    def __init__(self) -> None:
        self.faxes: dict[str, FaxRecord] = {}
        self.in_order: list[FaxRecord] = []
        """All faxes; the one with number n is at n - 1."""
        self._by_address: dict[str, list[int]] = {}
        """Number at the other end -> numbers of faxes."""
        self._unread: dict[int, None] = {}

    def add(self, record: FaxRecord) -> None:
        """Add a fax that was sent or has arrived; its number is the next one."""
        self.faxes[record.id] = record
        self.in_order.append(record)
        self._by_address.setdefault(record.correspondent, []).append(record.number)
        if record.is_unread:
            self._unread[record.number] = None

    def mark(self, record: FaxRecord, *, unread: bool) -> None:
        """Mark a fax that arrived as read or unread."""
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
        """The number of unread faxes."""
        return len(self._unread)

    def find(self, id: str) -> FaxRecord:
        """Return a fax; refused if it does not exist."""
        record = self.faxes.get(id)
        if record is None:
            raise Refusal(404, "no_such_fax", f"there is no fax {id[:60]}")
        return record

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
        return self._by_address.get(_normalize(wanted.address), ())

    def _candidates(self, wanted: FaxFilter, after: int) -> Iterable[int]:
        """Return the numbers of the faxes that may be wanted, from the smallest index."""
        numbers = self._numbers(wanted)
        if wanted.unread and len(self._unread) < len(numbers):
            return (number for number in self._unread if number > after)
        return (numbers[place] for place in range(bisect_right(numbers, after), len(numbers)))


def _normalize(number: str) -> str:
    return normalize_phone(number) or number


def _is_wanted(record: FaxRecord, wanted: FaxFilter) -> bool:
    return (
        (wanted.direction is None or record.header.direction == wanted.direction)
        and (wanted.status is None or record.status == wanted.status)
        and (wanted.address is None or record.correspondent == _normalize(wanted.address))
        and (wanted.unread is None or record.is_unread == wanted.unread)
        and (wanted.since is None or record.created_at >= wanted.since)
    )
