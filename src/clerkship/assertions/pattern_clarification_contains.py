"""`pattern_clarification_contains`: the agent asked the user to choose between these flows."""

from typing import Annotated, ClassVar, cast

from pydantic import Field, model_validator

from clerkship.assertions.flows import Operator
from clerkship.assertions.occurrence import CountedScope, Name, NotEmpty
from clerkship.events.agent import ClarificationOffered
from clerkship.events.event import Event, Payload
from clerkship.events.evidence import Evidence
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import UNSCOPED_CONVERSATION, Assertion, Check, Difference, Engine


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
