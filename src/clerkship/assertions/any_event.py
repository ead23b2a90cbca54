"""`event_occurred`, `event_count` and `never`: whether and how often an event of any kind happened."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.narrowing import narrow_events
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.events.query import compare_fields, describe_match, find_first, find_nearest, select
from clerkship.model.matcher import describe_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch
from clerkship.sandbox.assertion import Assertion, Check, compare_value


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


class EventCount(Assertion, EventMatch):
    """The number of events of this kind, with this payload, is as expected."""

    name: ClassVar[str] = "event_count"
    scoped: ClassVar[bool] = True
    expected: Annotated[CountExpectation, Field(description="a number, or a matcher such as {lte: 3}")]

    def needs(self) -> Sequence[frozenset[str]]:
        return (frozenset({self.event}),)

    def check(self, evidence: Evidence) -> Check:
        events = narrow_events(evidence, select(evidence.events, self), forbids=allows_zero(self.expected))
        hits = [event.seq for event in events]
        where = f" (at {', '.join(f'#{seq}' for seq in hits[:10])})" if hits else ""
        row = compare_value("count", self.expected, len(hits))
        times = "once" if len(hits) == 1 else f"{len(hits)} times"
        detail = f"{describe_match(self)} happened {times}{where}; expected {describe_expected(self.expected)}"
        return Check.of(row.passed, detail, row)


class Never(Assertion, EventMatch):
    """No event of this kind, with this payload, is in the log; or none before another event."""

    name: ClassVar[str] = "never"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "event"
    before: Annotated[
        EventMatch | None,
        Field(description="only before the first event like this; at any time if there is none"),
    ] = None

    def check(self, evidence: Evidence) -> Check:
        """Look for the event; on failure, show the first."""
        until = find_first(evidence.events, self.before)
        events = takewhile(lambda event: event is not until, evidence.events)
        hit = next(iter(narrow_events(evidence, select(events, self), forbids=True)), None)
        suffix = f" before {describe_match(self.before)}" if self.before is not None else ""
        if hit is None:
            field = FieldCheck(path="event", expected=f"no {self.event}", actual="(none)", passed=True)
            return Check.of(True, f"{describe_match(self)} never happened{suffix}", field)
        field = FieldCheck(path="event", expected=f"no {self.event}", actual=hit.kind, passed=False, seq=hit.seq)
        seen = (check.forbidden() for check in compare_fields(hit, self))
        return Check.of(False, f"{describe_match(self)} happened at #{hit.seq}{suffix}", field, *seen)
