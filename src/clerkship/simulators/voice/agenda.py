"""The work that calls have for later, in the order in which it is due."""

from collections.abc import Mapping
from datetime import datetime
from heapq import heappop, heappush
from typing import NamedTuple

from clerkship.simulators.voice.records import DueKind, PhoneCall


class DueCallWork(NamedTuple):
    """Work of a call that is due."""

    at: datetime
    seq: int
    call: PhoneCall
    kind: DueKind


class CallAgenda:
    """A heap of the work of calls. It follows from `PhoneCall.due`; what is done stays until it is the first."""

    def __init__(self, calls: Mapping[str, PhoneCall]) -> None:
        self._calls = calls
        self._heap: list[tuple[datetime, int, str, DueKind]] = []

    def schedule(self, call: PhoneCall, kind: DueKind, at: datetime, seq: int) -> None:
        """Schedule work of a call; `seq` is that of the event that leads to it."""
        call.due[kind] = (at, seq)
        heappush(self._heap, (at, seq, call.id, kind))

    def first(self) -> DueCallWork | None:
        """Return the work that is due first."""
        heap = self._heap
        while heap:
            at, seq, id, kind = heap[0]
            call = self._calls[id]
            if call.due.get(kind) == (at, seq):
                return DueCallWork(at, seq, call, kind)
            heappop(heap)
        return None
