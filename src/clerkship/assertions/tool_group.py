"""`tool_group`: these tools and no others were called in one turn, as in `goals.expected_tools`."""

from typing import Annotated, ClassVar

from pydantic import Field

from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, NotEmpty, join_first
from clerkship.assertions.tools import ReportedCall, ToolCall, ToolTurn, find_calls, group_by_turn, pair_calls
from clerkship.events.agent import ActionExecuted, ToolExecuted
from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


class ToolGroup(Assertion):
    """All calls were made in one turn, each separately, and no others. Calls that ended in an error are ignored. The
    score is the share of correct calls among all made or expected, in the nearest turn.
    """

    name: ClassVar[str] = "tool_group"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (ToolExecuted, ActionExecuted)
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE)
    calls: Annotated[tuple[ToolCall, ...], NotEmpty, Field(description="the calls", json_schema_extra={"minItems": 1})]
    ordered: Annotated[Flag, Field(description="whether they must be in this order")] = False

    def check(self, evidence: Evidence) -> Check:
        """Compare every turn, and show the nearest."""
        reported, rasa = find_calls(evidence, self.calls), evidence.is_rasa_compatible

        def is_one(expected: ToolCall, call: ReportedCall) -> bool:
            return call.matches(expected, rasa=rasa)

        turns = [
            ToolTurn(number, calls, pair_calls(self.calls, calls, is_one, ordered=self.ordered))
            for number, calls in group_by_turn(evidence, reported).items()
        ]
        best = max(turns, key=self._accuracy, default=ToolTurn(0, [], {}))
        accuracy = self._accuracy(best)
        return Check(accuracy == 1, accuracy, self._describe(best, passed=accuracy == 1), tuple(self._rows(best)))

    def _accuracy(self, turn: ToolTurn) -> float:
        """Return the share of correct calls among all that were made or expected."""
        return len(turn.pairs) / (len(self.calls) + len(turn.calls) - len(turn.pairs))

    def _describe(self, turn: ToolTurn, *, passed: bool) -> str:
        words = [call.description for call in self.calls]
        expected = join_first(words)
        if passed:
            return f"{expected} were called in turn {turn.number}{' in this order' if self.ordered else ''}"
        if not turn.calls:
            return f"{expected} were never called; no tool was"
        missing, extra = turn.missing(words), turn.extra()
        parts = [f"without {join_first(missing)}"] if missing else []
        parts += [f"with {join_first(extra)} too"] if extra else []
        order = " in this order" if self.ordered else ""
        return f"{expected} were never called{order} in one turn; nearest: turn {turn.number}, {' and '.join(parts)}"

    def _rows(self, turn: ToolTurn) -> list[FieldCheck]:
        rows, right = turn.rows([call.description for call in self.calls]), len(turn.pairs)
        for path, of in (("precision", len(turn.calls)), ("recall", len(self.calls))):
            share = right / of if of else 0.0
            rows.append(FieldCheck(path=path, expected=1.0, actual=round(share, 4), passed=right == of))
        return rows
