"""`never`: something did not happen, at any time."""

from typing import ClassVar

from clerkship.assertions.contract import Assertion, Check
from clerkship.events.evidence import Evidence
from clerkship.events.query import compare, phrase, select
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch


class Never(Assertion, EventMatch):
    """No event of this kind, with this payload, is in the log."""

    name: ClassVar[str] = "never"
    shorthand: ClassVar[str | None] = "event"

    def check(self, evidence: Evidence) -> Check:
        """Look for it; on failure show the first time it happened."""
        hit = next(select(evidence.events, self), None)
        if hit is None:
            field = FieldCheck(path="event", expected=f"no {self.event}", actual="(none)", passed=True)
            return Check.of(True, f"{phrase(self)} never happened", field)
        field = FieldCheck(path="event", expected=f"no {self.event}", actual=hit.kind, passed=False, seq=hit.seq)
        seen = (check.forbidden() for check in compare(hit, self))
        return Check.of(False, f"{phrase(self)} happened at #{hit.seq}", field, *seen)
