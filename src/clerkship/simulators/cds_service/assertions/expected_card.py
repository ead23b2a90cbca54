"""Conditions on a card that answered a call, and on the feedback about it."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from clerkship.events.event import Event
from clerkship.formats.cds_hooks.card import Indicator
from clerkship.model.closed import OneOf
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import matches_expected
from clerkship.model.path import MISSING, lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected
from clerkship.sandbox.assertion import compare_value
from clerkship.simulators.cds_service.events import FeedbackReceived

UNKNOWN_SUGGESTION = "accepted a suggestion that the card does not have"


class ExpectedCard(Frozen):
    """Properties of a card that answered a call."""

    indicator: Annotated[
        Expected | None,
        OneOf(*get_args(Indicator)),
        Field(description="info, warning or critical, or a matcher"),
    ] = None
    summary: Annotated[Expected | None, Field(description="literal or matcher for the summary")] = None
    detail: Annotated[Expected | None, Field(description="literal or matcher for the detail")] = None
    source: Annotated[Expected | None, Field(description="literal or matcher for the label of the source")] = None
    suggestion: Annotated[Expected | None, Field(description="literal or matcher for the label of a suggestion")] = None

    def compare(self, card: Mapping[str, Any], seq: int) -> Iterator[FieldCheck]:
        """Yield a row for each expected property."""
        for name in ("indicator", "summary", "detail"):
            if (expected := getattr(self, name)) is not None:
                yield compare_value(f"card {name}", expected, card.get(name, MISSING), seq)
        if self.source is not None:
            yield compare_value("card source", self.source, lookup(card, "source.label"), seq)
        if self.suggestion is not None:
            labels = list(_list_suggestions(card).values())
            passed = any(matches_expected(self.suggestion, label) for label in labels)
            yield FieldCheck(path="card suggestion", expected=self.suggestion, actual=labels, passed=passed, seq=seq)


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
        labels = _list_suggestions(card)
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
            passed = any(matches_expected(self.suggestion, label) for label in accepted)
            yield FieldCheck(
                path="feedback suggestion", expected=self.suggestion, actual=accepted, passed=passed, seq=seq
            )


def _list_suggestions(card: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of the suggestions of a card, by uuid."""
    return {str(each.get("uuid")): str(each.get("label")) for each in card.get("suggestions", ())}
