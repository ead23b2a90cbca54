"""`tool_group`: some tools were called in one turn, and no others, as `goals.expected_tools` has it."""

from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field

from clerkship.assertions.contract import Assertion, Check, Difference, Engine
from clerkship.assertions.occurrence import BY_EQUALITY, NO_MATCHER, NotEmpty, listed
from clerkship.assertions.tools import Called, Pairs, ToolCall, by_turn, calls_made, pair
from clerkship.events.agent import ActionExecuted, ToolExecuted
from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.run import FieldCheck


class Turn(NamedTuple):
    """The calls of one turn, and which of those expected they are."""

    number: int
    calls: list[Called]
    pairs: Pairs
    expected: int

    @property
    def accuracy(self) -> float:
        """The share of calls that are right among all that were made or expected."""
        return len(self.pairs) / (self.expected + len(self.calls) - len(self.pairs))


class ToolGroup(Assertion):
    """All of the calls were made in one turn, each by itself, and no others. Calls that came to an error are not
    looked at. The score is the share of right calls among those made or expected, in the turn nearest to it."""

    name: ClassVar[str] = "tool_group"
    events: ClassVar[tuple[type[Payload], ...]] = (ToolExecuted, ActionExecuted)
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (BY_EQUALITY, NO_MATCHER)
    calls: Annotated[tuple[ToolCall, ...], NotEmpty, Field(description="the calls", json_schema_extra={"minItems": 1})]
    ordered: Annotated[Flag, Field(description="whether they must be in this order")] = False

    def check(self, evidence: Evidence) -> Check:
        """Compare every turn; show the nearest."""
        made, rasa = calls_made(evidence, self.calls), evidence.as_rasa

        def is_one(expected: ToolCall, call: Called) -> bool:
            return call.fits(expected, rasa=rasa)

        turns = [
            Turn(number, calls, pair(self.calls, calls, is_one, ordered=self.ordered), len(self.calls))
            for number, calls in by_turn(evidence, made, lambda call: call.event).items()
        ]
        best = max(turns, key=lambda turn: turn.accuracy, default=Turn(0, [], {}, len(self.calls)))
        passed = best.accuracy == 1
        return Check(passed, best.accuracy, self._words(best, passed=passed), tuple(self._rows(best)))

    def _words(self, turn: Turn, *, passed: bool) -> str:
        wanted = listed([call.words for call in self.calls])
        if passed:
            return f"{wanted} were called in turn {turn.number}{' in this order' if self.ordered else ''}"
        if not turn.calls:
            return f"{wanted} were never called; no tool was"
        missing = [call.words for number, call in enumerate(self.calls) if number not in turn.pairs]
        used = set(turn.pairs.values())
        extra = [f"{call.name} (#{call.event.seq})" for place, call in enumerate(turn.calls) if place not in used]
        parts = [f"without {listed(missing)}"] if missing else []
        parts += [f"with {listed(extra)} too"] if extra else []
        order = " in this order" if self.ordered else ""
        return f"{wanted} were never called{order} in one turn; nearest: turn {turn.number}, {' and '.join(parts)}"

    def _rows(self, turn: Turn) -> list[FieldCheck]:
        found = []
        for number, call in enumerate(self.calls):
            place = turn.pairs.get(number)
            hit = turn.calls[place] if place is not None else None
            actual = f"#{hit.event.seq} {hit.name}" if hit is not None else "(not called)"
            seq = hit.event.seq if hit is not None else None
            found.append(
                FieldCheck(
                    path=f"call {number + 1}", expected=call.words, actual=actual, passed=hit is not None, seq=seq
                )
            )
        right = len(turn.pairs)
        for path, of in (("precision", len(turn.calls)), ("recall", turn.expected)):
            share = right / of if of else 0.0
            found.append(FieldCheck(path=path, expected=1.0, actual=round(share, 4), passed=right == of))
        return found
