"""`event_occurred`: an event happened at least once."""

from collections.abc import Sequence
from typing import ClassVar

from clerkship.assertions.narrowing import narrow_events
from clerkship.events.evidence import Evidence
from clerkship.events.query import compare_fields, describe_match, find_nearest, select
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch
from clerkship.sandbox.assertion import Assertion, Check


class EventOccurred(Assertion, EventMatch):
    """An event of this kind, with this payload, is in the log."""

    name: ClassVar[str] = "event_occurred"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "event"

    def needs(self) -> Sequence[frozenset[str]]:
        return (frozenset({self.event}),)

    def check(self, evidence: Evidence) -> Check:
        """Look for the event; on failure, show the nearest one."""
        hit = next(iter(narrow_events(evidence, select(evidence.events, self))), None)
        if hit is not None:
            field = FieldCheck(path="event", expected=self.event, actual=hit.kind, passed=True, seq=hit.seq)
            return Check.of(True, f"{describe_match(self)} happened at #{hit.seq}", field, *compare_fields(hit, self))
        nearest = find_nearest(evidence.events, self)
        if nearest is None:
            field = FieldCheck(path="event", expected=self.event, actual="(none)", passed=False)
            return Check.of(False, f"{describe_match(self)} did not happen", field)
        return Check.of(
            False, f"{describe_match(self)} did not happen; nearest is #{nearest.seq}", *compare_fields(nearest, self)
        )
