"""`cds_card`: the agent's services answered with the expected cards, or stayed silent."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from clerkship.assertions.cds_cards import ExpectedCard
from clerkship.assertions.field_rows import MAX_NAMES, compare_field, share_passed
from clerkship.assertions.occurrence import join_first
from clerkship.assertions.selection import Compared, SelectionAssertion
from clerkship.events.evidence import Evidence
from clerkship.formats.cds_hooks.card import ActionType, Card, SuggestedAction, Suggestion
from clerkship.formats.fhir.names import ResourceTypeName
from clerkship.model.frozen import Frozen, Whole
from clerkship.model.matcher import matches_expected
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import compare_given, compare_value
from clerkship.simulators.cds.assertions.selection import CallAssertion, ResourceFields
from clerkship.simulators.cds.events import ActionRefused, HookAnswered
from clerkship.simulators.cds.records import ServiceCall, TriggeredHook


class ExpectedResource(Frozen):
    """The resource that an action of a suggestion leads to: its type, and values at paths in it."""

    type: Annotated[ResourceTypeName, Field(description="resource type, such as MedicationRequest")]
    action: Annotated[ActionType | None, Field(description="what the action does; any if not given")] = None
    fields: Annotated[ResourceFields, Field(description="path -> literal or matcher, such as {status: active}")] = {}


class ReceivedCard(NamedTuple):
    """A card with the call that it answers."""

    call: ServiceCall
    number: int
    card: Card
    seq: int | None

    @property
    def outcome(self) -> str:
        """What the clinician did with it; `ignored` if nothing."""
        return next((each.outcome for each in self.call.decided if each.card == self.number), "ignored")

    @property
    def accepted(self) -> tuple[int, ...]:
        """The numbers of the accepted suggestions."""
        return next((each.suggestions for each in self.call.decided if each.card == self.number), ())

    def __str__(self) -> str:
        at = f" (#{self.seq})" if self.seq is not None else ""
        return f"{self.card.indicator} {self.card.summary[:60]!r} of {self.call.service.id}{at}"


class CdsCard(ExpectedCard, CallAssertion, SelectionAssertion):
    """A card that answers a hook is as expected; or, with `count` or `none`, the number of such cards is. It fails if
    a selected service was not called, did not answer in time, or sent invalid cards: silence is a valid answer without
    such cards.
    """

    name: ClassVar[str] = "cds_card"
    resource: Annotated[
        ExpectedResource | None, Field(description="what the chart has after one of its suggestions is accepted")
    ] = None
    outcome: Annotated[
        Literal["accepted", "overridden", "ignored"] | None,
        Field(description="what the clinician did; a resource of an accepted card must have been applied"),
    ] = None
    max_cards: Annotated[
        Whole | None, Field(ge=0, description="most cards of all selected answers together, whatever they say")
    ] = None

    @property
    def passes_on_inaction(self) -> bool:
        """Never: with `none`, too, the services must answer."""
        return False

    def compare(self, evidence: Evidence) -> Iterator[Compared]:
        """Yield each card of the selected calls."""
        for card in _list_cards(evidence, self.select_calls(self.select_hooks(evidence))):
            yield Compared(f"card {card}", tuple(self._compare(card, evidence)))

    def compare_conditions(self, evidence: Evidence) -> Iterator[FieldCheck]:
        """Yield whether the selected calls have valid answers, and not too many cards."""
        hooks = self.select_hooks(evidence)
        calls = self.select_calls(hooks)
        yield self._compare_answers(hooks, calls)
        if self.max_cards is not None:
            yield compare_value("max_cards", {"lte": self.max_cards}, sum(len(call.cards) for call in calls))

    def describe_selection(self, evidence: Evidence) -> str:
        return f"card for {self.describe_calls()}"

    def explain_failure(self, evidence: Evidence, compared: Sequence[Compared]) -> Iterator[str]:
        """Yield the conditions that are not met."""
        if self.is_counted or not compared:
            yield from (f"{row.path}: {row.actual}" for row in self.compare_conditions(evidence) if not row.passed)

    def _compare_answers(self, hooks: Sequence[TriggeredHook], calls: Sequence[ServiceCall]) -> FieldCheck:
        """Compare the answers to the selected calls: every hook led to a call, and every call to valid cards."""
        called = {call.instance for call in calls}
        flaws = [f"{hook.hook} called no such service" for hook in hooks if hook.instance not in called]
        flaws += [flaw for call in calls for flaw in _find_flaws(call)]
        if not hooks:
            flaws.append("no such hook fired")
        actual = join_first(flaws, most=MAX_NAMES) if flaws else "valid"
        return FieldCheck(path="answers", expected="valid", actual=actual, passed=not flaws)

    def _compare(self, received: ReceivedCard, evidence: Evidence) -> Iterator[FieldCheck]:
        seq = received.seq
        yield from self.compare_card(received.card.to_wire(), seq)
        yield from compare_given([("outcome", self.outcome, received.outcome)], seq)
        if self.resource is not None:
            yield from self._compare_resource(self.resource, received, evidence)
        if not self._has_conditions:
            yield FieldCheck(path="card", expected="any", actual=received.card.summary, passed=True, seq=seq)

    @property
    def _has_conditions(self) -> bool:
        return any(getattr(self, name) is not None for name in (*ExpectedCard.model_fields, "resource", "outcome"))

    def _compare_resource(
        self, expected: ExpectedResource, received: ReceivedCard, evidence: Evidence
    ) -> Iterator[FieldCheck]:
        """Compare the resources of the card's actions; the nearest one decides."""
        actions = [
            action
            for number, suggestion in enumerate(received.card.suggestions)
            if self._offers(suggestion) and (self.outcome != "accepted" or number in received.accepted)
            for action in suggestion.actions
        ]
        rows = [tuple(_compare_action(expected, action, received.seq)) for action in actions]
        if not rows:
            yield FieldCheck(path="resource", expected=expected.type, actual=None, passed=False, seq=received.seq)
            return
        yield from max(rows, key=share_passed)
        if self.outcome == "accepted":
            refused = _find_refusal(evidence, received)
            yield FieldCheck(
                path="resource applied", expected=True, actual=refused or True, passed=not refused, seq=received.seq
            )

    def _offers(self, suggestion: Suggestion) -> bool:
        return self.suggestion is None or matches_expected(self.suggestion, suggestion.label)


def _find_flaws(call: ServiceCall) -> Iterator[str]:
    """Yield what is wrong with the answer to a call."""
    if call.status == "failed":
        yield f"{call.service.id} failed ({call.failure})"
    elif call.is_open:
        yield f"{call.service.id} did not answer"
    for problem in call.problems:
        if problem.dropped:
            yield f"{call.service.id}: {problem.path} is not valid ({problem.rule})"


def _list_cards(evidence: Evidence, calls: Sequence[ServiceCall]) -> Iterator[ReceivedCard]:
    seqs = {
        event.payload.call: event.seq
        for event in evidence.of_kind(HookAnswered.kind)
        if isinstance(event.payload, HookAnswered)
    }
    for call in calls:
        for number, card in enumerate(call.cards):
            yield ReceivedCard(call, number, card, seqs.get(call.id))


def _compare_action(expected: ExpectedResource, action: SuggestedAction, seq: int | None) -> Iterator[FieldCheck]:
    resource = action.resource or {}
    type = resource.get("resourceType") or (action.target or "").partition("/")[0]
    yield FieldCheck(path="resource", expected=expected.type, actual=type, passed=type == expected.type, seq=seq)
    if expected.action is not None:
        passed = action.type == expected.action
        yield FieldCheck(path="resource action", expected=expected.action, actual=action.type, passed=passed, seq=seq)
    for path, value in expected.fields.items():
        yield compare_field(resource, path, value, f"resource {path}", seq)


def _find_refusal(evidence: Evidence, received: ReceivedCard) -> str:
    """Return why the chart refused the actions of a card; empty if it did not."""
    for event in evidence.of_kind(ActionRefused.kind):
        refused = event.payload
        if isinstance(refused, ActionRefused) and (refused.call, refused.card) == (received.call.id, received.number):
            return refused.reason
    return ""
