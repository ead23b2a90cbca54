"""`tool_called`: a tool was called at some time, as in `goals.expected_tools`."""

from typing import ClassVar

from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, MAX_NAMES, build_arguments_row
from clerkship.assertions.tools import ReportedCall, ToolCall, find_calls, render_call
from clerkship.events.agent import ActionExecuted, ToolExecuted
from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.model.names import find_nearest_name
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


class ToolCalledAssertion(Assertion, ToolCall):
    """The tool was called without an error, with these arguments, perhaps among others. Reported actions count."""

    name: ClassVar[str] = "tool_called"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (ToolExecuted, ActionExecuted)
    shorthand: ClassVar[str | None] = "tool_name"
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE)

    def check(self, evidence: Evidence) -> Check:
        """Look for the call; on failure, show the nearest."""
        calls, rasa = find_calls(evidence, [self]), evidence.is_rasa_compatible
        hit = next((call for call in calls if call.matches(self, rasa=rasa)), None)
        if hit is not None:
            rows = self._rows(hit, passed=True, rasa=rasa)
            return Check.of(True, f"{self.description} was called {evidence.when(hit.event)}", *rows)
        nearest = self._nearest(calls)
        if nearest is None:
            row = FieldCheck(path="tool_name", expected=self.tool_name, actual="(none)", passed=False)
            return Check.of(False, f"{self.description} was never called; no tool was", row)
        nearest_text = render_call(nearest.name, nearest.arguments)
        words = f"{self.description} was never called; nearest: {nearest_text[:200]} {evidence.when(nearest.event)}"
        return Check.of(False, words, *self._rows(nearest, passed=False, rasa=rasa))

    def _nearest(self, calls: list[ReportedCall]) -> ReportedCall | None:
        same = [call for call in calls if call.name == self.tool_name]
        if same:
            return max(same, key=lambda call: sum(call.arguments.get(k) == v for k, v in self.arguments.items()))
        like = find_nearest_name(self.tool_name, sorted({call.name for call in calls})[:MAX_NAMES])
        return next((call for call in calls if like in (None, call.name)), None)

    def _rows(self, call: ReportedCall, *, passed: bool, rasa: bool) -> list[FieldCheck]:
        name = call.name == self.tool_name
        rows = [
            FieldCheck(path="tool_name", expected=self.tool_name, actual=call.name, passed=name, seq=call.event.seq)
        ]
        if self.arguments:
            rows.append(build_arguments_row(self.arguments, call.arguments, call.event, passed=passed, rasa=rasa))
        return rows
