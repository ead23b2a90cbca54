"""`cds_card`: the agent's services answered with the expected cards, or stayed silent."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import Field, model_validator

from clerkship.assertions.field_rows import MAX_NAMES, compare_count, compare_field, prefix_paths, share_passed
from clerkship.assertions.occurrence import CountExpectation, join_first
from clerkship.events.evidence import Evidence
from clerkship.formats.cds_hooks.card import ActionType, Card, Indicator, SuggestedAction, Suggestion
from clerkship.formats.fhir.names import ResourceTypeName
from clerkship.model.closed import OneOf
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import Check, compare_value
from clerkship.simulators.cds.assertions.selection import CallAssertion, ResourceFields
from clerkship.simulators.cds.events import ActionRefused, HookAnswered
from clerkship.simulators.cds.records import ServiceCall, TriggeredHook

MAX_ROWS = 100
"""Rows of evidence about cards that do not match."""


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


class CdsCard(CallAssertion):
    """A card that answers a hook is as expected; or, with `count` or `none`, the number of such cards is. It fails if
    a selected service was not called, did not answer in time, or sent invalid cards: silence is a valid answer without
    such cards.
    """

    name: ClassVar[str] = "cds_card"
    indicator: Annotated[
        Expected | None,
        OneOf(*get_args(Indicator)),
        Field(description="info, warning or critical, or a matcher"),
    ] = None
    summary: Annotated[Expected | None, Field(description="literal or matcher for the summary")] = None
    detail: Annotated[Expected | None, Field(description="literal or matcher for the detail")] = None
    source: Annotated[Expected | None, Field(description="literal or matcher for the label of the source")] = None
    suggestion: Annotated[Expected | None, Field(description="literal or matcher for the label of a suggestion")] = None
    resource: Annotated[
        ExpectedResource | None, Field(description="what the chart has after one of its suggestions is accepted")
    ] = None
    outcome: Annotated[
        Literal["accepted", "overridden", "ignored"] | None,
        Field(description="what the clinician did; a resource of an accepted card must have been applied"),
    ] = None
    count: Annotated[CountExpectation | None, Field(description="expected number of such cards")] = None
    none: Annotated[Flag, Field(description="whether the services must answer without such a card")] = False
    max_cards: Annotated[
        Whole | None, Field(ge=0, description="most cards of all selected answers together, whatever they say")
    ] = None

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        if self.none and self.count is not None:
            raise ValueError("`count` and `none` do not go together")
        return self

    def check(self, evidence: Evidence) -> Check:
        """Compare every card of the selected calls; the best one decides."""
        hooks = self.select_hooks(evidence)
        calls = self.select_calls(hooks)
        conditions = [self._compare_answers(hooks, calls)]
        cards = list(_list_cards(evidence, calls))
        if self.max_cards is not None:
            conditions.append(compare_value("max_cards", {"lte": self.max_cards}, len(cards)))
        compared = [(each, tuple(self._compare(each, evidence))) for each in cards]
        if self.none or self.count is not None:
            return self._check_count(compared, conditions)
        if not compared:
            row = FieldCheck(path="card", expected={"gte": 1}, actual=0, passed=False)
            return Check.of(False, f"no card answers {self.describe_selection()}{_add(conditions)}", *conditions, row)
        best, rows = max(compared, key=lambda pair: share_passed(pair[1]))
        return _report((*conditions, *rows), str(best), len(compared))

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
        card, seq = received.card, received.seq
        values = {"indicator": card.indicator, "summary": card.summary, "detail": card.detail or MISSING}
        values |= {"source": card.source.label}
        for name, actual in values.items():
            if (expected := getattr(self, name)) is not None:
                yield compare_value(name, expected, actual).model_copy(update={"seq": seq})
        if self.suggestion is not None:
            labels = [each.label for each in card.suggestions]
            passed = any(matches_expected(self.suggestion, label) for label in labels)
            yield FieldCheck(path="suggestion", expected=self.suggestion, actual=labels, passed=passed, seq=seq)
        if self.outcome is not None:
            actual = received.outcome
            yield FieldCheck(
                path="outcome", expected=self.outcome, actual=actual, passed=actual == self.outcome, seq=seq
            )
        if self.resource is not None:
            yield from self._compare_resource(self.resource, received, evidence)
        if not self._has_conditions:
            yield FieldCheck(path="card", expected="any", actual=card.summary, passed=True, seq=seq)

    @property
    def _has_conditions(self) -> bool:
        names = ("indicator", "summary", "detail", "source", "suggestion", "resource", "outcome")
        return any(getattr(self, name) is not None for name in names)

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

    def _check_count(
        self, compared: Sequence[tuple[ReceivedCard, tuple[FieldCheck, ...]]], conditions: Sequence[FieldCheck]
    ) -> Check:
        expected: Any = 0 if self.none else self.count
        matching = [each for each, rows in compared if all(row.passed for row in rows)]
        row = compare_count(expected, len(matching), matching[0].seq if matching else None)
        shown = join_first([str(each) for each in matching], most=MAX_NAMES) or "none"
        detail = f"such cards for {self.describe_selection()}: {shown} (expected {describe_expected(expected)})"
        passed = row.passed and all(each.passed for each in conditions)
        others = [] if passed or self.none else [c for each, rows in compared for c in prefix_paths(str(each), rows)]
        return Check.of(passed, detail + _add(conditions), *conditions, row, *others[:MAX_ROWS])


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


def _report(rows: tuple[FieldCheck, ...], name: str, number: int) -> Check:
    failed = [row.path for row in rows if not row.passed]
    if not failed:
        return Check.of_fields(rows, f"the card {name} is as expected")
    nearest = f" (the nearest of {number})" if number > 1 else ""
    return Check.of_fields(rows, f"there is a card {name}{nearest}, but not as expected: {', '.join(failed)}")


def _add(conditions: Sequence[FieldCheck]) -> str:
    """Return the conditions that are not met, as the end of a sentence."""
    return "".join(f"; {row.path}: {row.actual}" for row in conditions if not row.passed)
