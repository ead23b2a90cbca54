"""`cds_called`: the agent called a CDS service as expected and heeded its cards, or did not call it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import compare_count, compare_field, prefix_paths, share_passed
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.occurrence import CountExpectation, allows_zero, join_first
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.query import describe_match, select
from clerkship.formats.cds_hooks.hooks import HookName
from clerkship.formats.fhir.names import PATIENT
from clerkship.model.frozen import Flag
from clerkship.model.matcher import describe_expected
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch, Expected
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.cds_service.assertions.expected_card import ExpectedCard, ExpectedFeedback
from clerkship.simulators.cds_service.assertions.logged_calls import LoggedCall, list_calls, list_refused_calls
from clerkship.simulators.cds_service.config import SERVICE

MAX_ROWS = 100
"""Rows of evidence about calls that do not match."""
ContextFields = dict[str, Expected]


class CdsServiceWasCalled(Assertion):
    """The agent called a service like this; or the number of such calls is as expected. Refused calls do not count.
    With `patient`, no resource of the context or the prefetch may belong to another patient. `feedback` must hold for
    every card like `card`. To check that a card was heeded, add `not_followed_by`: feedback does not change the chart.
    """

    name: ClassVar[str] = "cds_called"
    simulator: ClassVar[str | None] = "cds_service"
    scoped: ClassVar[bool] = True
    shorthand: ClassVar[str | None] = "service"
    service: Annotated[str | None, SERVICE, Field(description="id of the service; any if not given")] = None
    hook: Annotated[HookName | None, Field(description="the hook; any if not given")] = None
    patient: Annotated[
        str | None,
        PATIENT,
        Field(description="the patient, by id or reference, whom all data of the call must belong to"),
    ] = None
    order: Annotated[
        ContextFields,
        Field(description="a draft order or appointment of the context must have: path -> literal or matcher"),
    ] = {}
    context: Annotated[ContextFields, Field(description="the context must have: path -> literal or matcher")] = {}
    prefetch: Annotated[
        ContextFields,
        Field(
            description="the prefetch must have: path -> literal or matcher, such as {allergies.entry.*.resource.id: a}"
        ),
    ] = {}
    card: Annotated[ExpectedCard | None, Field(description="a card of the answer must be like this")] = None
    cards: Annotated[
        CountExpectation | None, Field(description="expected number of cards in the answer; of such cards with `card`")
    ] = None
    feedback: Annotated[ExpectedFeedback | None, Field(description="what the agent reported about each such card")] = (
        None
    )
    before: Annotated[
        EventMatch | None, Field(description="only before the first event like this, such as an order in the chart")
    ] = None
    after: Annotated[EventMatch | None, Field(description="only after the first event like this; it must happen")] = (
        None
    )
    not_followed_by: Annotated[
        EventMatch | None,
        Field(description="no event like this after the call, such as the order that a card warns of"),
    ] = None
    count: Annotated[CountExpectation | None, Field(description="expected number of such calls")] = None
    none: Annotated[Flag, Field(description="whether there must be no such call")] = False
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        if self.feedback is not None and allows_zero(self.cards):
            raise ValueError("`cards` must exclude 0: without a card there is no `feedback`")
        return self

    @property
    def passes_on_inaction(self) -> bool:
        """Whether it can pass when the agent does nothing."""
        return self.none or allows_zero(self.count)

    def check(self, evidence: Evidence) -> Check:
        """Compare every call; the best one decides."""
        calls = narrow(
            evidence,
            list_calls(evidence, self.sandbox),
            lambda call: ItemContent(data=(call.called.context, call.cards)),
            forbids=self.passes_on_inaction,
        )
        compared = [(each, tuple(self._compare(each, evidence))) for each in calls]
        refused = self._describe_refusals(evidence)
        if self.none or self.count is not None:
            return self._check_count(compared, refused)
        if not compared:
            row = FieldCheck(path="calls", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"the agent called no service{refused}", row)
        best, rows = max(compared, key=lambda pair: share_passed(pair[1]))
        failed = [row.path for row in rows if not row.passed]
        if not failed:
            return Check.of_fields(rows, f"called: {best}")
        nearest = f"the nearest of {len(compared)} calls is {best}" if len(compared) > 1 else f"it called {best}"
        return Check.of_fields(rows, f"no such call; {nearest}, but not as expected: {', '.join(failed)}{refused}")

    def _describe_refusals(self, evidence: Evidence) -> str:
        """Return the refused calls as the end of a sentence; empty if there are none."""
        refusals = list_refused_calls(evidence, self.sandbox)
        return f"; {len(refusals)} calls were refused, the last because: {refusals[-1].reason}" if refusals else ""

    def _compare(self, call: LoggedCall, evidence: Evidence) -> Iterator[FieldCheck]:
        called, seq = call.called, call.event.seq
        yield FieldCheck(
            path="service",
            expected=self.service or "any",
            actual=called.service,
            passed=self.service in (None, called.service),
            seq=seq,
        )
        if self.hook is not None:
            yield FieldCheck(
                path="hook", expected=self.hook, actual=called.hook, passed=called.hook == self.hook, seq=seq
            )
        if self.patient is not None:
            id = self.patient.removeprefix("Patient/")
            passed = call.patients == [id] and called.context.get("patientId") == id
            yield FieldCheck(path="patient", expected=id, actual=", ".join(call.patients), passed=passed, seq=seq)
        yield from self._compare_order(call)
        for name, data, fields in (
            ("context", called.context, self.context),
            ("prefetch", called.prefetch, self.prefetch),
        ):
            for path, expected in fields.items():
                yield compare_field(data, path, expected, f"{name} {path}", seq)
        yield from self._compare_cards(call)
        yield from self._compare_time(call.event, evidence)

    def _compare_order(self, call: LoggedCall) -> Iterator[FieldCheck]:
        """Compare the resources of the context; the nearest one decides."""
        if not self.order:
            return
        yield from max(
            (
                tuple(
                    compare_field(resource, path, expected, f"order {path}", call.event.seq)
                    for path, expected in self.order.items()
                )
                for resource in call.resources or [{}]
            ),
            key=share_passed,
        )

    def _compare_cards(self, call: LoggedCall) -> Iterator[FieldCheck]:
        seq = call.event.seq
        matching = [card for card in call.cards if all(row.passed for row in self._compare_card(card, seq))]
        if self.cards is not None:
            yield compare_count(self.cards, len(matching), seq).model_copy(update={"path": "cards"})
        elif (self.card is not None or self.feedback is not None) and not call.cards:
            yield FieldCheck(path="cards", expected={"gte": 1}, actual=0, passed=False, seq=seq)
        if self.card is not None and call.cards and not allows_zero(self.cards):
            yield from max((self._compare_card(card, seq) for card in call.cards), key=share_passed)
        if self.feedback is not None:
            rows = [tuple(self.feedback.compare(card, call.feedback.get(str(card.get("uuid"))))) for card in matching]
            yield from min(rows, key=share_passed, default=())

    def _compare_card(self, card: Mapping[str, Any], seq: int) -> tuple[FieldCheck, ...]:
        return tuple(self.card.compare(card, seq)) if self.card is not None else ()

    def _compare_time(self, event: Event, evidence: Evidence) -> Iterator[FieldCheck]:
        if self.before is not None:
            first = next(select(evidence.events, self.before), None)
            passed = first is None or event.seq < first.seq
            yield _build_time_row("before", f"before {describe_match(self.before)}", first, event, passed=passed)
        if self.after is not None:
            first = next(select(evidence.events, self.after), None)
            passed = first is not None and event.seq > first.seq
            yield _build_time_row("after", f"after {describe_match(self.after)}", first, event, passed=passed)
        if self.not_followed_by is not None:
            later = next((each for each in select(evidence.events, self.not_followed_by) if each.seq > event.seq), None)
            expected = f"no {describe_match(self.not_followed_by)} afterwards"
            yield _build_time_row("not_followed_by", expected, later, event, passed=later is None)

    def _check_count(self, compared: Sequence[tuple[LoggedCall, tuple[FieldCheck, ...]]], refused: str) -> Check:
        expected: Any = 0 if self.none else self.count
        matching = [call for call, rows in compared if all(row.passed for row in rows)]
        row = compare_count(expected, len(matching), matching[0].event.seq if matching else None)
        listed = join_first([str(call) for call in matching]) or "none"
        detail = f"such calls: {listed} (expected {describe_expected(expected)}){refused}"
        others = (
            [] if row.passed or self.none else [c for call, rows in compared for c in prefix_paths(str(call), rows)]
        )
        return Check.of(row.passed, detail, row, *others[:MAX_ROWS])


def _build_time_row(path: str, expected: str, found: Event | None, event: Event, *, passed: bool) -> FieldCheck:
    actual = "(never happened)" if found is None else f"#{found.seq}"
    return FieldCheck(path=path, expected=expected, actual=actual, passed=passed, seq=event.seq)
