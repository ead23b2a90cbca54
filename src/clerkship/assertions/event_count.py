"""`event_count`: the number of matching events is as expected."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.narrowing import narrow_events
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, select
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch
from clerkship.sandbox.assertion import Assertion, Check


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
        passed = matches_expected(self.expected, len(hits))
        where = f" (at {', '.join(f'#{seq}' for seq in hits[:10])})" if hits else ""
        field = FieldCheck(path="count", expected=self.expected, actual=len(hits), passed=passed)
        times = "once" if len(hits) == 1 else f"{len(hits)} times"
        return Check.of(
            passed,
            f"{describe_match(self)} happened {times}{where}; expected {describe_expected(self.expected)}",
            field,
        )
