"""`flow_started`: all of the flows, or one of them, started."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, cast

from pydantic import Field

from clerkship.assertions.flows import FlowIds, Operator
from clerkship.assertions.occurrence import CountedScope, describe_nearest, describe_times
from clerkship.events import agent
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine

_KIND = agent.FlowStarted.kind


class FlowStartedAssertion(Assertion, CountedScope):
    """Each of the flows started; with `operator: any`, at least one did. `count` applies to each flow, or with `any` to
    all of them together.
    """

    name: ClassVar[str] = "flow_started"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (agent.FlowStarted,)
    shorthand: ClassVar[str | None] = "flow_ids"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("`all` with several flows", "each of them started", "refused, so it fails"),
        Difference("`operator` left out", "`all`", "refused by its schema; read as `all` here"),
    )
    flow_ids: Annotated[FlowIds, Field(description="the flows; a bare name is that one flow")]
    operator: Annotated[Operator, Field(description="whether any of them is enough")] = "all"

    def check(self, evidence: Evidence) -> Check:
        """Look for each flow; on failure, show the nearest one that started."""
        if evidence.is_rasa_compatible and self.operator == "all" and len(self.flow_ids) > 1:
            return self._refused_by_rasa()
        starts = self.find_starts(evidence)
        if self.operator == "all":
            return self._check_each(evidence, starts)
        together = sorted(
            (event for hits in starts.values() for event in hits), key=lambda event: (event.at, event.seq)
        )
        name = " or ".join(starts)
        words = self._describe(evidence, name, together, passed=self.is_satisfied(together))
        if self.count is not None:
            return self.check_count(words, together)
        first = together[0] if together else None
        row = FieldCheck(
            path="flow_id",
            expected={"in": list(starts)},
            actual=_get_flow_id(first) if first is not None else "(none)",
            passed=first is not None,
            seq=first.seq if first is not None else None,
        )
        return Check.of(row.passed, words, row)

    def find_starts(self, evidence: Evidence) -> dict[str, list[Event]]:
        """Return the start events of each flow."""
        starts: dict[str, list[Event]] = {flow: [] for flow in self.flow_ids}
        for event in self.select_turns(evidence, evidence.of_kind(_KIND)):
            if (flow := _get_flow_id(event)) in starts:
                starts[flow].append(event)
        return starts

    def _check_each(self, evidence: Evidence, starts: Mapping[str, Sequence[Event]]) -> Check:
        rows: list[FieldCheck] = []
        words: dict[bool, list[str]] = {True: [], False: []}
        for flow, hits in starts.items():
            passed = self.is_satisfied(hits)
            words[passed].append(self._describe(evidence, flow, hits, passed=passed))
            expected = "started" if self.count is None else {"count": self.count}
            seq = hits[0].seq if hits else None
            actual = f"started {describe_times(len(hits))}" if hits else "(never started)"
            rows.append(FieldCheck(path=flow, expected=expected, actual=actual, passed=passed, seq=seq))
        return Check.of_fields(rows, "; ".join(words[False] or words[True]))

    def _describe(self, evidence: Evidence, name: str, hits: Sequence[Event], *, passed: bool) -> str:
        if self.count is not None:
            often = self.describe_occurrences(
                evidence, hits, f"started{self.scope_text}", f"never started{self.scope_text}"
            )
            return f"flow {name} {often}"
        if passed:
            return f"flow {name} started {evidence.when(hits[0])}"
        return f"flow {name} never started{self.scope_text}; {describe_nearest(evidence, name, _KIND, 'flow_id')[0]}"

    def _refused_by_rasa(self) -> Check:
        row = FieldCheck(path="flow_ids", expected="one flow", actual=list(self.flow_ids), passed=False)
        return Check.of(False, f"with `compat: rasa`, `all` takes one flow, not {len(self.flow_ids)}", row)


def _get_flow_id(event: Event) -> str:
    return cast(agent.FlowStarted, event.payload).flow_id
