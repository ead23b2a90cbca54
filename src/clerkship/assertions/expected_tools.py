"""`tool_called`, `tool_group` and `tools_within_one_turn`: the tools of `goals.expected_tools` were called."""

from typing import Annotated, Any, ClassVar, cast

from pydantic import Field, model_validator

from clerkship.assertions.occurrence import (
    EQUALITY_DIFFERENCE,
    MATCHER_DIFFERENCE,
    MAX_NAMES,
    NotEmptyTuple,
    TurnScope,
    build_arguments_row,
    join_first,
)
from clerkship.assertions.tools import (
    ReportedCall,
    ToolCall,
    ToolMatch,
    ToolTurn,
    find_calls,
    group_by_turn,
    pair_calls,
    pair_greedily,
    render_call,
)
from clerkship.events.agent import ActionExecuted, ToolExecuted
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected
from clerkship.model.names import find_similar_name
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
        like = find_similar_name(self.tool_name, sorted({call.name for call in calls})[:MAX_NAMES])
        return next((call for call in calls if like in (None, call.name)), None)

    def _rows(self, call: ReportedCall, *, passed: bool, rasa: bool) -> list[FieldCheck]:
        name = call.name == self.tool_name
        rows = [
            FieldCheck(path="tool_name", expected=self.tool_name, actual=call.name, passed=name, seq=call.event.seq)
        ]
        if self.arguments:
            rows.append(build_arguments_row(self.arguments, call.arguments, call.event, passed=passed, rasa=rasa))
        return rows


class ToolGroup(Assertion):
    """All calls were made in one turn, each separately, and no others. Calls that ended in an error are ignored. The
    score is the share of correct calls among all made or expected, in the nearest turn.
    """

    name: ClassVar[str] = "tool_group"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (ToolExecuted, ActionExecuted)
    engines: ClassVar[tuple[Engine, ...]] = ("calm", "mantle")
    differences: ClassVar[tuple[Difference, ...]] = (EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE)
    calls: Annotated[NotEmptyTuple[ToolCall], Field(description="the calls")]
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


class CallInTurn(ToolMatch):
    """One of the calls, with the fields of `tool_executed`, with or without that key."""

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, value: Any) -> Any:
        inner = value["tool_executed"] if isinstance(value, dict) and value.keys() == {"tool_executed"} else value
        return {"tool_name": inner} if isinstance(inner, str) else inner

    @property
    def description(self) -> str:
        details = [
            f"{name} {describe_expected(value)}" for name, value in self.expected_fields.items() if name != "tool_name"
        ]
        return self.tool_name + (f" ({', '.join(details)})" if details else "")


class ToolsWithinOneTurn(Assertion, TurnScope):
    """All calls were made in one turn, each separately; with `allow_extra_calls: false`, no others were."""

    name: ClassVar[str] = "tools_within_one_turn"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (ToolExecuted,)
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference(
            "a call that could be either of two expected",
            "is paired so that both are found",
            "is paired with the first of them",
        ),
        EQUALITY_DIFFERENCE,
        MATCHER_DIFFERENCE,
    )
    calls: Annotated[tuple[CallInTurn, ...], Field(min_length=2, description="the calls, two or more")]
    allow_extra_calls: Annotated[Flag, Field(description="whether other tools may be called in that turn")]
    ordered: Annotated[Flag, Field(description="whether they must be in this order")] = False

    def check(self, evidence: Evidence) -> Check:
        """Compare every turn; on failure, show the nearest."""
        rasa = evidence.is_rasa_compatible
        pairing = pair_greedily if rasa else pair_calls

        def is_one(expected: CallInTurn, call: ReportedCall) -> bool:
            return expected.matches_event(call.event, rasa=rasa)

        reported = [_to_call(event) for event in self.select_turns(evidence, evidence.of_kind(ToolExecuted.kind))]
        best = ToolTurn(0, [], {})
        for number, calls in group_by_turn(evidence, reported).items():
            turn = ToolTurn(number, calls, pairing(self.calls, calls, is_one, ordered=self.ordered))
            if self._is_complete(turn):
                seqs = join_first(calls, lambda call: f"#{call.event.seq}")
                return Check.of(
                    True, f"{join_first(self._descriptions)} were called in turn {number} ({seqs})", *self._rows(turn)
                )
            if not best.calls or len(turn.pairs) > len(best.pairs):
                best = turn
        return Check.of(False, self._describe_miss(best), *self._rows(best))

    def _is_complete(self, turn: ToolTurn) -> bool:
        paired = len(turn.pairs)
        return paired == len(self.calls) and (self.allow_extra_calls or len(turn.calls) == paired)

    @property
    def _descriptions(self) -> list[str]:
        return [call.description for call in self.calls]

    def _describe_miss(self, turn: ToolTurn) -> str:
        order = " in this order" if self.ordered else ""
        never = f"{join_first(self._descriptions)} were never called{order} in one turn{self.scope_text}"
        if not turn.calls:
            return f"{never}; no tool was"
        if missing := turn.missing(self._descriptions):
            return f"{never}; nearest: turn {turn.number}, without {join_first(missing)}"
        return f"{never} without others; nearest: turn {turn.number}, with {join_first(turn.extra())} too"

    def _rows(self, turn: ToolTurn) -> list[FieldCheck]:
        rows = turn.rows(self._descriptions)
        if not self.allow_extra_calls:
            extra = len(turn.calls) - len(turn.pairs)
            rows.append(FieldCheck(path="extra calls", expected=0, actual=extra, passed=extra == 0))
        return rows


def _to_call(event: Event) -> ReportedCall:
    payload = cast(ToolExecuted, event.payload)
    return ReportedCall(event, payload.tool_name, payload.arguments)
