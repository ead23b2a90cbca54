"""The faxes whose status changes later, in the order in which they are due."""

from collections.abc import Mapping
from datetime import datetime
from heapq import heappop, heappush

from clerkship.simulators.fax.records import FaxRecord


class FaxAgenda:
    """A heap of faxes that are queued, being sent, or waiting for the next attempt.

    It follows from `FaxRecord.due`. What is done stays in the heap until it is the first.
    """

    def __init__(self, faxes: Mapping[str, FaxRecord]) -> None:
        self._faxes = faxes
        self._heap: list[tuple[datetime, int, str]] = []

    def schedule(self, record: FaxRecord, at: datetime, seq: int) -> None:
        """Schedule the next change of a fax; `seq` is that of the event that leads to it."""
        record.due = (at, seq)
        heappush(self._heap, (at, seq, record.id))

    def first(self) -> FaxRecord | None:
        """Return the fax whose status changes first."""
        heap, faxes = self._heap, self._faxes
        while heap and faxes[heap[0][2]].due != heap[0][:2]:
            heappop(heap)
        return faxes[heap[0][2]] if heap else None
