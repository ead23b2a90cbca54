"""`cds_called`: the agent called a CDS service as expected and heeded its cards, or did not call it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from clerkship.assertions.cds_cards import ExpectedCard, compare_any
from clerkship.assertions.field_rows import compare_field, share_passed
from clerkship.assertions.narrowing import ItemContent, narrow
from clerkship.assertions.occurrence import CountExpectation, allows_zero
from clerkship.assertions.selection import Compared, EventWindow, SelectionAssertion, build_time_row
from clerkship.events.event import Event
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import RequestRefused
from clerkship.events.query import describe_match, select
from clerkship.events.tables import read_tables
from clerkship.formats.cds_hooks.hooks import HookName
from clerkship.formats.fhir.names import PATIENT
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import matches_expected
from clerkship.model.path import MISSING, lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch, Expected
from clerkship.sandbox.assertion import compare_given, compare_value
from clerkship.simulators.cds_service.calls import LoggedCall, ServiceCallTable
from clerkship.simulators.cds_service.config import SERVICE
from clerkship.simulators.cds_service.events import FeedbackReceived
from clerkship.simulators.cds_service.operations import call_service
from clerkship.simulators.cds_service.state import CdsServiceState

UNKNOWN_SUGGESTION = "accepted a suggestion that the card does not have"


def list_calls(evidence: Evidence, sandbox: str | None = None) -> list[LoggedCall]:
    """Return the answered calls of the agent, in order. Refused calls are left out: they were not answered."""
    return [call for call in evidence.cached(_read_calls) if sandbox in (None, call.event.source)]


def list_refused_calls(evidence: Evidence, sandbox: str | None = None) -> list[RequestRefused]:
    """Return the refusals of calls, in order."""
    return [
        event.payload
        for event in evidence.of_kind(RequestRefused.kind)
        if isinstance(event.payload, RequestRefused)
        and event.payload.operation == call_service.name
        and sandbox in (None, event.source)
        and isinstance(evidence.states.get(event.source), CdsServiceState)
    ]


def _read_calls(evidence: Evidence) -> list[LoggedCall]:
    calls = [call for table in read_tables(evidence, ServiceCallTable).values() for call in table.in_order]
    answered = [call for call in calls if call.is_answered and evidence.find_originator(call.event) == "agent"]
    return sorted(answered, key=lambda call: (call.event.at, call.event.seq))


class ExpectedFeedback(Frozen):
    """What the agent reported about a card. The last feedback on the card counts."""

    outcome: Annotated[
        Literal["accepted", "overridden", "ignored"] | None,
        Field(description="accepted, overridden, or ignored for no feedback; accepted or overridden if not given"),
    ] = None
    reason: Annotated[
        Expected | None, Field(description="literal or matcher for the code or display text of the override reason")
    ] = None
    comment: Annotated[Expected | None, Field(description="literal or matcher for the comment on an override")] = None
    suggestion: Annotated[
        Expected | None, Field(description="literal or matcher for the label of an accepted suggestion")
    ] = None

    def compare(self, card: Mapping[str, Any], event: Event | None) -> Iterator[FieldCheck]:
        """Yield a row for each expected property of the feedback on a card, which is None if there is none."""
        payload = event.payload if event is not None else None
        received = payload if isinstance(payload, FeedbackReceived) else None
        seq = event.seq if event is not None else None
        feedback: Mapping[str, Any] = received.feedback if received is not None else {}
        labels = {str(each.get("uuid")): str(each.get("label")) for each in card.get("suggestions", ())}
        ids = [each.get("id") for each in feedback.get("acceptedSuggestions", ())]
        outcome = received.outcome if received is not None else "ignored"
        if outcome == "accepted" and not all(id in labels for id in ids):
            outcome = UNKNOWN_SUGGESTION
        wanted: Any = self.outcome or {"in": ["accepted", "overridden"]}
        yield compare_value("feedback outcome", wanted, outcome, seq)
        if self.reason is not None:
            reasons = [lookup(feedback, f"overrideReason.reason.{name}") for name in ("code", "display")]
            passed = any(matches_expected(self.reason, each) for each in reasons)
            actual = [each for each in reasons if each is not MISSING]
            yield FieldCheck(path="feedback reason", expected=self.reason, actual=actual, passed=passed, seq=seq)
        if self.comment is not None:
            yield compare_value("feedback comment", self.comment, lookup(feedback, "overrideReason.userComment"), seq)
        if self.suggestion is not None:
            accepted = [labels[id] for id in ids if id in labels]
            yield compare_any("feedback suggestion", self.suggestion, accepted, seq)


ContextFields = dict[str, Expected]


class CdsServiceWasCalled(SelectionAssertion, EventWindow):
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
    not_followed_by: Annotated[
        EventMatch | None,
        Field(description="no event like this after the call, such as the order that a card warns of"),
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; any if not given")] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.feedback is not None and allows_zero(self.cards):
            raise ValueError("`cards` must exclude 0: without a card there is no `feedback`")
        return self

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each call that was answered."""
        calls = narrow(
            evidence,
            list_calls(evidence, self.sandbox),
            lambda call: ItemContent(data=(call.called.context, call.cards)),
            forbids=self.passes_on_inaction,
        )
        limits = self.find_limits(evidence)
        return (Compared(str(each), tuple(self._compare(each, evidence, limits))) for each in calls)

    def describe_selection(self, evidence: Evidence) -> str:
        return f"call of {self.service or 'a service'}"

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield how many calls were refused, and why the last."""
        refusals = list_refused_calls(evidence, self.sandbox)
        if refusals:
            yield f"{len(refusals)} calls were refused, the last because: {refusals[-1].reason}"

    def _compare(
        self, call: LoggedCall, evidence: Evidence, limits: tuple[Event | None, Event | None]
    ) -> Iterator[FieldCheck]:
        called, seq = call.called, call.event.seq
        yield FieldCheck(
            path="service",
            expected=self.service or "any",
            actual=called.service,
            passed=self.service in (None, called.service),
            seq=seq,
        )
        yield from compare_given([("hook", self.hook, called.hook)], seq)
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
        yield from self.compare_time(call.event, limits)
        if self.not_followed_by is not None:
            later = next((each for each in select(evidence.events, self.not_followed_by) if each.seq > seq), None)
            expected = f"no {describe_match(self.not_followed_by)} afterwards"
            yield build_time_row("not_followed_by", expected, later, call.event, passed=later is None)

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
            yield compare_value("cards", self.cards, len(matching), seq)
        elif (self.card is not None or self.feedback is not None) and not call.cards:
            yield FieldCheck(path="cards", expected={"gte": 1}, actual=0, passed=False, seq=seq)
        if self.card is not None and call.cards and not allows_zero(self.cards):
            yield from max((self._compare_card(card, seq) for card in call.cards), key=share_passed)
        if self.feedback is not None:
            rows = [tuple(self.feedback.compare(card, call.feedback.get(str(card.get("uuid"))))) for card in matching]
            yield from min(rows, key=share_passed, default=())

    def _compare_card(self, card: Mapping[str, Any], seq: int) -> tuple[FieldCheck, ...]:
        return tuple(self.card.compare_card(card, seq, "card ")) if self.card is not None else ()
