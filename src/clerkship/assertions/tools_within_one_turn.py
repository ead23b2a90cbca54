"""`tools_within_one_turn`: these tools were called in one turn."""

from typing import Annotated, Any, ClassVar, cast

from pydantic import Field, model_validator

from clerkship.assertions.occurrence import EQUALITY_DIFFERENCE, MATCHER_DIFFERENCE, TurnScope, join_first
from clerkship.assertions.tools import ReportedCall, ToolMatch, ToolTurn, group_by_turn, pair_calls, pair_greedily
from clerkship.events.agent import ToolExecuted
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


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
