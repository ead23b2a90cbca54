"""Tables that events fill: a state has them, and criteria and reports fill the same ones from a log."""

from collections.abc import Iterable
from typing import ClassVar, Protocol, TypeVar

from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence


class EventTable(Protocol):
    """Records of one sandbox that follow from its events alone."""

    applied_events: ClassVar[tuple[type[Payload], ...]]
    """The events that change it."""

    def apply(self, event: Event) -> None:
        """Change it by one of `applied_events`."""


T = TypeVar("T", bound=EventTable)


def read_tables(evidence: Evidence, table: type[T]) -> dict[str, T]:
    """Return the table of each sandbox, filled with the events of the run."""
    return fill_tables(evidence.of_kind(*(payload.kind for payload in table.applied_events)), table)


def fill_tables(events: Iterable[Event], table: type[T]) -> dict[str, T]:
    """Return a table for each sandbox, to which events were applied in the order in which they were logged."""
    tables: dict[str, T] = {}
    for event in sorted(events, key=lambda event: event.seq):
        if isinstance(event.payload, table.applied_events):
            if event.source not in tables:
                tables[event.source] = table()
            tables[event.source].apply(event)
    return tables
