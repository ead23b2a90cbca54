"""The work that messages have for later, in the order in which it is due."""

from collections.abc import Mapping
from datetime import datetime
from heapq import heappop, heappush

from clerkship.simulators.messages.records import MessageRecord


class DeliveryAgenda:
    """A heap of messages whose status changes, or to which an automatic reply is due.

    It follows from `MessageRecord.due`. What is done stays in the heap until it is the first.
    """

    def __init__(self, messages: Mapping[str, MessageRecord]) -> None:
        self._messages = messages
        self._heap: list[tuple[datetime, int, str]] = []

    def schedule(self, record: MessageRecord, at: datetime, seq: int) -> None:
        """Schedule the next work of a message; `seq` is that of the event that leads to it."""
        record.due = (at, seq)
        heappush(self._heap, (at, seq, record.id))

    def first(self) -> MessageRecord | None:
        """Return the message whose work is due first."""
        heap, messages = self._heap, self._messages
        while heap and messages[heap[0][2]].due != heap[0][:2]:
            heappop(heap)
        return messages[heap[0][2]] if heap else None
