"""`never`: an event did not happen, at any time or before another."""

from itertools import takewhile
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.narrowing import narrow_events
from clerkship.events.evidence import Evidence
from clerkship.events.query import compare_fields, describe_match, select
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch
from clerkship.sandbox.assertion import Assertion, Check


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
        until = next(select(evidence.events, self.before), None) if self.before is not None else None
        events = takewhile(lambda event: event is not until, evidence.events)
        hit = next(iter(narrow_events(evidence, select(events, self), forbids=True)), None)
        suffix = f" before {describe_match(self.before)}" if self.before is not None else ""
        if hit is None:
            field = FieldCheck(path="event", expected=f"no {self.event}", actual="(none)", passed=True)
            return Check.of(True, f"{describe_match(self)} never happened{suffix}", field)
        field = FieldCheck(path="event", expected=f"no {self.event}", actual=hit.kind, passed=False, seq=hit.seq)
        seen = (check.forbidden() for check in compare_fields(hit, self))
        return Check.of(False, f"{describe_match(self)} happened at #{hit.seq}{suffix}", field, *seen)
