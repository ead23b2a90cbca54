"""Feedback: what became of a card, sent to the service that returned it."""

from typing import Any, Literal, Self

from pydantic import model_validator

from clerkship.formats.cds_hooks.coding import CdsCoding
from clerkship.formats.cds_hooks.wire_model import Extension, Text, WireModel

Outcome = Literal["accepted", "overridden"]
"""A card that the user ignores gets no feedback."""


class AcceptedSuggestion(WireModel):
    """A suggestion that the user accepted, by its uuid."""

    id: Text
    extension: Extension | None = None


class OverrideReason(WireModel):
    """Why the user did not follow a card: one of its reasons, a comment, or both."""

    reason: CdsCoding | None = None
    user_comment: Text | None = None
    extension: Extension | None = None


class CardFeedback(WireModel):
    """What the user did with one card."""

    card: Text
    """The uuid of the card."""
    outcome: Outcome
    outcome_timestamp: Text
    """When, in UTC and ISO 8601."""
    accepted_suggestions: tuple[AcceptedSuggestion, ...] = ()
    override_reason: OverrideReason | None = None
    extension: Extension | None = None

    @model_validator(mode="after")
    def _check_outcome(self) -> Self:
        if self.outcome == "accepted" and not self.accepted_suggestions:
            raise ValueError("acceptedSuggestions is required if the outcome is accepted")
        if self.outcome == "accepted" and self.override_reason is not None:
            raise ValueError("overrideReason is only for the outcome overridden")
        return self


class FeedbackRequest(WireModel):
    """The body of a call of the feedback endpoint."""

    feedback: tuple[CardFeedback, ...]


def build_feedback_body(feedback: tuple[CardFeedback, ...]) -> dict[str, Any]:
    """Return the body of a call of the feedback endpoint as JSON data."""
    return FeedbackRequest(feedback=feedback).to_wire()
