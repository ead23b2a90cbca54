"""`tools_within_one_turn`: some tools were called in answer to one line of the person."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from clerkship.assertions.contract import Assertion, Check, Difference, Engine
from clerkship.assertions.occurrence import BY_EQUALITY, NO_MATCHER, Scope, listed
from clerkship.assertions.tools import Pairs, ToolMatch, by_turn, pair, pair_greedily
from clerkship.events.agent import ToolExecuted
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe
from clerkship.model.run import FieldCheck


class CallInTurn(ToolMatch):
    """One of the calls, as `tool_executed` has it, with or without that word."""

    @model_validator(mode="before")
    @classmethod
    def _unwrapped(cls, value: Any) -> Any:
        inner = value["tool_executed"] if isinstance(value, dict) and value.keys() == {"tool_executed"} else value
        return {"tool_name": inner} if isinstance(inner, str) else inner

    @property
    def words(self) -> str:
        """It in words."""
        rest = [f"{name} {describe(value)}" for name, value in self.wanted.items() if name != "tool_name"]
        return self.tool_name + (f" ({', '.join(rest)})" if rest else "")


class ToolsWithinOneTurn(Assertion, Scope):
    """All of the calls were made in one turn, each by itself; and with `allow_extra_calls: false` no others."""

    name: ClassVar[str] = "tools_within_one_turn"
    events: ClassVar[tuple[type[Payload], ...]] = (ToolExecuted,)
    engines: ClassVar[tuple[Engine, ...]] = ("mantle",)
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference(
            "a call that could be either of two expected",
            "is taken for the one that lets both be found",
            "is taken for the first of them",
        ),
        BY_EQUALITY,
        NO_MATCHER,
    )
    calls: Annotated[tuple[CallInTurn, ...], Field(min_length=2, description="the calls, two or more")]
    allow_extra_calls: Annotated[Flag, Field(description="whether other tools may be called in that turn")]
    ordered: Annotated[Flag, Field(description="whether they must be in this order")] = False

    def check(self, evidence: Evidence) -> Check:
        """Compare every turn; on failure show the nearest."""
        rasa = evidence.as_rasa
        pairing = pair_greedily if rasa else pair

        def is_one(expected: CallInTurn, event: Event) -> bool:
            return expected.is_meant(event, rasa=rasa)

        found = self.in_turns(evidence, evidence.of_kind(ToolExecuted.kind))
        best: tuple[int, Sequence[Event], Pairs] = (0, [], {})
        for number, events in by_turn(evidence, found, lambda event: event).items():
            pairs = pairing(self.calls, events, is_one, ordered=self.ordered)
            if self._is_all(events, pairs):
                words = f"{self._wanted} were called in turn {number} ({listed(events, lambda event: f'#{event.seq}')})"
                return Check.of(True, words, *self._rows(events, pairs))
            if not best[1] or len(pairs) > len(best[2]):
                best = (number, events, pairs)
        return Check.of(False, self._missed(*best), *self._rows(*best[1:]))

    def _is_all(self, events: Sequence[Event], pairs: Pairs) -> bool:
        return len(pairs) == len(self.calls) and (self.allow_extra_calls or len(events) == len(pairs))

    @property
    def _wanted(self) -> str:
        return listed([call.words for call in self.calls])

    def _missed(self, number: int, events: Sequence[Event], pairs: Pairs) -> str:
        order = " in this order" if self.ordered else ""
        never = f"{self._wanted} were never called{order} in one turn{self.scope}"
        if not events:
            return f"{never}; no tool was"
        missing = [call.words for place, call in enumerate(self.calls) if place not in pairs]
        if missing:
            return f"{never}; nearest: turn {number}, without {listed(missing)}"
        used = set(pairs.values())
        extra = [
            f"{getattr(event.payload, 'tool_name', '')} (#{event.seq})"
            for place, event in enumerate(events)
            if place not in used
        ]
        return f"{never} without others; nearest: turn {number}, with {listed(extra)} too"

    def _rows(self, events: Sequence[Event], pairs: Pairs) -> list[FieldCheck]:
        rows = []
        for number, call in enumerate(self.calls):
            hit = events[pairs[number]] if number in pairs else None
            actual = "(not called)" if hit is None else f"#{hit.seq} {getattr(hit.payload, 'tool_name', '')}"
            seq = None if hit is None else hit.seq
            path = f"call {number + 1}"
            rows.append(FieldCheck(path=path, expected=call.words, actual=actual, passed=hit is not None, seq=seq))
        if not self.allow_extra_calls:
            extra = len(events) - len(pairs)
            rows.append(FieldCheck(path="extra calls", expected=0, actual=extra, passed=extra == 0))
        return rows
