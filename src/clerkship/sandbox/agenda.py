"""The work that a state has for later, in the order in which it is due."""

from collections.abc import Callable
from datetime import datetime
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from clerkship.sandbox.state import DueWork

K = TypeVar("K")


class Agenda(Generic[K]):
    """A heap of the work of records, by a key such as the id of the record.

    `find_due` returns when the work with a key is due, and None when it is done. Work that was done or postponed stays
    in the heap until it is the first.
    """

    def __init__(self, find_due: Callable[[K], DueWork | None]) -> None:
        self._find_due = find_due
        self._heap: list[tuple[DueWork, K]] = []

    def schedule(self, key: K, at: datetime, seq: int) -> DueWork:
        """Schedule work, and return what `find_due` has to return for it; `seq` is that of the event that led to it."""
        due = DueWork(at, seq)
        heappush(self._heap, (due, key))
        return due

    def first(self) -> tuple[DueWork, K] | None:
        """Return the work that is due first, and its key."""
        heap = self._heap
        while heap:
            first = heap[0]
            if self._find_due(first[1]) == first[0]:
                return first
            heappop(heap)
        return None


def find_first_due(*agendas: Agenda[Any]) -> DueWork | None:
    """Return the first work of several agendas."""
    earliest = None
    for agenda in agendas:
        if agenda._heap:
            first = agenda.first()
            if first is not None and (earliest is None or first[0] < earliest):
                earliest = first[0]
    return earliest
