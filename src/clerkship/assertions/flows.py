"""Assertions on flows: `flow_started`, `flow_completed`, `flow_cancelled`, and what a clarification offered."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import BeforeValidator, Field, model_validator

from clerkship.assertions.occurrence import (
    CountedScope,
    HappenedAssertion,
    Name,
    NeverHappenedAssertion,
    NotEmpty,
    TurnScope,
    describe_nearest,
    describe_times,
)
from clerkship.events import agent
from clerkship.events.agent import ClarificationOffered
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.frozen import Frozen
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


def _wrap_single(value: Any) -> Any:
    return [value] if isinstance(value, str | int | float) else value


def _to_lower_case(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _allow_single(schema: dict[str, Any]) -> None:
    several = {key: schema.pop(key) for key in ("type", "items") if key in schema}
    schema["anyOf"] = [{"type": "string", "minLength": 1}, {**several, "minItems": 1}]


FlowIds = Annotated[tuple[Name, ...], BeforeValidator(_wrap_single), NotEmpty, Field(json_schema_extra=_allow_single)]
Operator = Annotated[Literal["any", "all"], BeforeValidator(_to_lower_case)]
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


class FlowNotStarted(Assertion, TurnScope):
    """None of the flows started (ours)."""

    name: ClassVar[str] = "flow_not_started"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (agent.FlowStarted,)
    shorthand: ClassVar[str | None] = "flow_ids"
    flow_ids: Annotated[FlowIds, Field(description="the flows; a bare name is that one flow")]

    def check(self, evidence: Evidence) -> Check:
        """Look for each flow; on failure, show the first that started."""
        forbidden = set(self.flow_ids)
        starts = self.select_turns(evidence, evidence.of_kind(agent.FlowStarted.kind))
        flows = [(event, str(getattr(event.payload, "flow_id", ""))) for event in starts]
        hit = next(((event, flow) for event, flow in flows if flow in forbidden), None)
        expected = {"not": {"in": list(self.flow_ids)}}
        if hit is None:
            row = FieldCheck(path="flow_id", expected=expected, actual=f"{len(starts)} others", passed=True)
            return Check.of(True, f"flow {' or '.join(self.flow_ids)} never started{self.scope_text}", row)
        event, flow = hit
        row = FieldCheck(path="flow_id", expected=expected, actual=flow, passed=False, seq=event.seq)
        return Check.of(False, f"flow {flow} started {evidence.when(event)}", row)


FIRST_END_DIFFERENCE = Difference(
    "a flow that ended several times, with `flow_step_id`",
    "any of the times may be at that step",
    "only the first time is checked",
)


class FlowEndMatch(Frozen):
    """Selects ends of a flow, optionally at one step."""

    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    about: ClassVar[str] = "flow_id"
    shorthand: ClassVar[str | None] = "flow_id"
    differences: ClassVar[tuple[Difference, ...]] = (FIRST_END_DIFFERENCE,)
    flow_id: Annotated[Name, Field(description="the flow")]
    flow_step_id: Annotated[Name | None, Field(description="the step it ended at; any if not given")] = None

    def select_as_rasa(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return only the first end of this flow."""
        return [event for event in events if getattr(event.payload, "flow_id", None) == self.flow_id][:1]


class FlowCompletedAssertion(FlowEndMatch, HappenedAssertion):
    """The flow completed at least once, at `flow_step_id` if given."""

    name: ClassVar[str] = "flow_completed"
    event: ClassVar[type[Payload]] = agent.FlowCompleted


class FlowCancelledAssertion(FlowEndMatch, HappenedAssertion):
    """The flow was cancelled at least once, at `flow_step_id` if given."""

    name: ClassVar[str] = "flow_cancelled"
    event: ClassVar[type[Payload]] = agent.FlowCancelled


class FlowNotCompleted(FlowEndMatch, NeverHappenedAssertion):
    """The flow never completed, or never at the given step (ours)."""

    name: ClassVar[str] = "flow_not_completed"
    engines: ClassVar[tuple[Engine, ...]] = ()
    differences: ClassVar[tuple[Difference, ...]] = ()
    event: ClassVar[type[Payload]] = agent.FlowCompleted


class FlowNotCancelled(FlowEndMatch, NeverHappenedAssertion):
    """The flow was never cancelled, or never at the given step (ours)."""

    name: ClassVar[str] = "flow_not_cancelled"
    engines: ClassVar[tuple[Engine, ...]] = ()
    differences: ClassVar[tuple[Difference, ...]] = ()
    event: ClassVar[type[Payload]] = agent.FlowCancelled


class PatternClarificationContains(Assertion, CountedScope):
    """One clarification offered all of the flows; with `operator: any`, at least one of them. A bare list contains
    names of flows, not ids.
    """

    name: ClassVar[str] = "pattern_clarification_contains"
    unscoped_reason: ClassVar[str] = UNSCOPED_CONVERSATION
    events: ClassVar[tuple[type[Payload], ...]] = (ClarificationOffered,)
    shorthand: ClassVar[str | None] = "names"
    engines: ClassVar[tuple[Engine, ...]] = ("calm",)
    differences: ClassVar[tuple[Difference, ...]] = (
        Difference("several clarifications", "any of them counts", "only the first is checked"),
        Difference("`all`, and a bare list", "contains all of them, perhaps others", "these and no others"),
        Difference("`operator` left out", "`all`", "refused by its schema; read as `all` here"),
    )
    flow_ids: Annotated[
        tuple[Name, ...] | None,
        NotEmpty,
        Field(description="the flows by their ids", json_schema_extra={"minItems": 1}),
    ] = None
    names: Annotated[
        tuple[Name, ...] | None, NotEmpty, Field(description="the flows by their names; a bare list sets this field")
    ] = None
    operator: Annotated[Operator, Field(description="whether any of them is enough")] = "all"

    @model_validator(mode="after")
    def _check_ids_or_names(self) -> "PatternClarificationContains":
        if (self.flow_ids is None) == (self.names is None):
            raise ValueError("expected `flow_ids`, or a list of names")
        return self

    @property
    def expected_flows(self) -> tuple[str, ...]:
        """The flows that must have been offered."""
        return self.flow_ids or self.names or ()

    def check(self, evidence: Evidence) -> Check:
        """Compare every clarification; on failure, show the nearest."""
        clarifications = self.select_turns(evidence, evidence.of_kind(ClarificationOffered.kind))
        rasa = evidence.is_rasa_compatible and self.count is None
        clarifications = clarifications[:1] if rasa else clarifications
        hits = [event for event in clarifications if self._matches(event, rasa=rasa)]
        words = f"clarification with {f' {self._conjunction} '.join(self.expected_flows)}"
        if self.count is not None:
            done, undone = f"was offered{self.scope_text}", f"was never offered{self.scope_text}"
            return self.check_count(f"a {words} {self.describe_occurrences(evidence, hits, done, undone)}", hits)
        if not clarifications:
            other = next(iter(evidence.of_kind(ClarificationOffered.kind)), None)
            instead = "none was offered" if other is None else f"nearest: one was offered {evidence.when(other)}"
            row = FieldCheck(path=self._path, expected=self._expected, actual="(none)", passed=False)
            return Check.of(False, f"no {words} was offered{self.scope_text}; {instead}", row)
        event = (
            hits[0]
            if hits
            else max(clarifications, key=lambda event: len(set(self.expected_flows) & set(self._offered(event))))
        )
        row = FieldCheck(
            path=self._path, expected=self._expected, actual=self._offered(event), passed=bool(hits), seq=event.seq
        )
        if hits:
            return Check.of(True, f"a {words} was offered {evidence.when(event)}", row)
        return Check.of(
            False, f"no {words} was offered{self.scope_text}; {self._describe_nearest(evidence, event)}", row
        )

    @property
    def _conjunction(self) -> str:
        return "and" if self.operator == "all" else "or"

    @property
    def _path(self) -> str:
        return "names" if self.flow_ids is None else "flow_ids"

    @property
    def _expected(self) -> dict[str, list[str]]:
        return {self.operator: list(self.expected_flows)}

    def _offered(self, event: Event) -> list[str]:
        offer = cast(ClarificationOffered, event.payload)
        return list(offer.names if self.flow_ids is None else offer.flow_ids)

    def _matches(self, event: Event, *, rasa: bool) -> bool:
        expected, offered = set(self.expected_flows), set(self._offered(event))
        if self.operator == "any":
            return bool(expected & offered)
        return expected == offered if rasa else expected <= offered

    def _describe_nearest(self, evidence: Evidence, event: Event) -> str:
        offered = ", ".join(self._offered(event)) or f"no {self._path}"
        ids = cast(ClarificationOffered, event.payload).flow_ids
        are_ids = self.names is not None and bool(set(self.names) & set(ids))
        hint = "; a bare list contains names, but these are ids: write {flow_ids: […]}" if are_ids else ""
        alone = " (the first, which alone counts with `compat: rasa`)" if evidence.is_rasa_compatible else ""
        return f"nearest: {offered} {evidence.when(event)}{alone}{hint}"
