"""Variants of examples on which the project and healthchain disagree, with the reason."""

from typing import Literal, NamedTuple

RefusedBy = Literal["judge", "clerkship"]


class Disagreement(NamedTuple):
    """Variants that only one side refuses, all for the same reason."""

    refused_by: RefusedBy
    reason: str
    cases: dict[str, tuple[str, ...]]
    """The flaws of each example, by its name."""


DISAGREEMENTS = (
    Disagreement(
        "clerkship",
        "It makes up what is missing: an instance, an encounter, or an empty list of cards or services.",
        {
            "request-patient-view": ("hookInstance is missing",),
            "request-encounter-discharge": ("encounterId is missing",),
            "response-no-cards": ("cards are missing",),
            "discovery": ("services are missing",),
        },
    ),
    Disagreement(
        "clerkship",
        "It does not require the FHIR server with an access token; its source says that this is not done yet.",
        {"request-patient-view": ("fhirServer is missing",)},
    ),
    Disagreement(
        "clerkship",
        "It takes any object for the draft orders; they are a Bundle of orders.",
        {"request-order-sign": ("draftOrders are no Bundle", "order is a patient")},
    ),
    Disagreement(
        "clerkship",
        "It allows 140 characters in a summary, and none; the specification wants fewer than 140, and no empty values.",
        {"response-information": ("summary has 140 characters", "summary is empty")},
    ),
    Disagreement(
        "clerkship",
        "It drops fields that it does not know. The specification has them under `extension`, so we report them.",
        {"response-information": ("card has an unknown field",)},
    ),
    Disagreement(
        "clerkship",
        "It compares no ids: a uuid and the id of a service occur once.",
        {"response-suggestions": ("two suggestions have one uuid",), "discovery": ("id occurs twice",)},
    ),
    Disagreement(
        "clerkship",
        "It takes any text as a hook. We refuse a hook that we do not fire, so that a typing mistake is seen.",
        {"discovery": ("hook is unknown",)},
    ),
    Disagreement(
        "clerkship",
        "It does not require the display of an override reason, which a clinician chooses by.",
        {"response-suggestions": ("override reason has no display",)},
    ),
    Disagreement(
        "clerkship",
        "Its fields of feedback are misspelt (`acceptedSuggestion`, `overriddeReason`), so it skips the real ones.",
        {
            "feedback-accepted": ("acceptedSuggestions are missing",),
            "feedback-overridden": ("reason has no code", "comment is a number"),
        },
    ),
)


class RequiredField(NamedTuple):
    """A field that only healthchain requires, in each item of a list of a card."""

    list: str
    name: str
    reason: str


REQUIRED_BY_JUDGE = (
    RequiredField(
        "links", "autoLaunchable", "CDS Hooks 2.0 has no such field, and a later draft has it as an optional one."
    ),
    RequiredField(
        "suggestions", "isRecommended", "It is optional (CDS Hooks 2.0: Suggestion); without it, it is false."
    ),
)
