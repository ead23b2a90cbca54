"""The codes of X12 for the words of the payer. The table is `codes.json`; its words are our own."""

import re
from pathlib import Path
from typing import Literal, NamedTuple

from clerkship.model.frozen import Frozen
from clerkship.payer.answer import AuthorizationStatus, Rejection
from clerkship.payer.inquiry import ReviewType, ServiceType, Unit

RequestKind = Literal["request", "update", "cancel", "appeal", "inquiry"]
Transaction = Literal["271", "278"]


class RejectionCodes(Frozen):
    """How a rejection is written. AAA: validity, reason and follow-up action. STC: category and status."""

    aaa: str
    dependent_aaa: str | None = None
    """Instead of `aaa`, if the dependent is at fault: some reasons have codes for subscribers and for patients."""
    review_aaa: str | None = None
    """Instead of `aaa`, in a 278."""
    stc: str


class ClaimCodes(Frozen):
    """The category and status of a claim, for STC."""

    category: str | None = None
    """None if a reason does not change the category of the claim's status."""
    status: str


class CodeTable(Frozen):
    """The content of `codes.json`."""

    service_types: dict[str, ServiceType]
    genders: dict[str, Literal["male", "female", "unknown"]]
    relationships: dict[Literal["self", "spouse", "child", "other"], str]
    benefits: dict[str, str]
    levels: dict[Literal["individual", "family"], str]
    periods: dict[Literal["calendar_year", "visit", "remaining", "lifetime"], str]
    benefit_units: dict[Unit, str]
    """For EB09."""
    service_units: dict[Unit, str]
    """For HSD01."""
    unit_days: dict[str, float]
    """How many days a unit of HSD03 has."""
    period_days: dict[str, float]
    """How many days a period of HSD05 has."""
    bill_type_places: dict[str, str]
    """Place of service codes by the first two digits of a bill type."""
    reviews: dict[str, ReviewType]
    """By UM01."""
    request_kinds: dict[str, RequestKind]
    """By UM02."""
    decisions: dict[AuthorizationStatus, str]
    """For HCR01."""
    appeal_decisions: dict[Literal["received", "upheld", "overturned", "dismissed"], str]
    """For HCR01 of an appeal."""
    decision_reasons: dict[str, str]
    """For HCR03, by the reason of the payer. A reason without a code is told in MSG only."""
    claim_statuses: dict[str, ClaimCodes]
    claim_reasons: dict[str, ClaimCodes]
    """For pended and denied claims, by the reason of the payer."""
    paid_nothing: ClaimCodes
    """For a paid claim of which the member owes everything."""
    claim_not_found: ClaimCodes
    rejections: dict[str, RejectionCodes]
    """By RejectionReason."""
    benefit_level_reasons: tuple[str, ...]
    """Rejections of a request that a 271 writes below a benefit (2110) instead of below the person (2100)."""


CODES = CodeTable.model_validate_json((Path(__file__).parent / "codes.json").read_bytes())
SERVICE_TYPE_CODES: dict[ServiceType, str] = {word: code for code, word in CODES.service_types.items()}
REVIEW_CODES: dict[ReviewType, str] = {word: code for code, word in CODES.reviews.items()}
GENDER_CODES = {word: code for code, word in CODES.genders.items()}


_PROCEDURE_FORMS = (
    (re.compile(r"D[0-9]{4}"), "AD"),
    (re.compile(r"[0-9A-Z][0-9]{3}[0-9A-Z]"), "HC"),
    (re.compile(r"[0-9]{11}"), "N4"),
)
"""The forms of dental, CPT and HCPCS, and drug codes, each with its qualifier (X12 code list 235)."""
MUTUALLY_DEFINED = "ZZ"


def find_procedure_qualifier(code: str) -> str:
    """Return the qualifier of the code system of a procedure code; that for other systems if it is of no known form."""
    return next((qualifier for form, qualifier in _PROCEDURE_FORMS if form.fullmatch(code)), MUTUALLY_DEFINED)


class AaaCodes(NamedTuple):
    """The elements of an AAA segment."""

    is_valid: str
    """AAA01: `Y` if the request is valid but refused."""
    reason: str
    """AAA03."""
    action: str
    """AAA04: what to do next."""


def to_aaa(rejection: Rejection, transaction: Transaction) -> AaaCodes:
    """Return the AAA elements for a rejection."""
    codes = CODES.rejections[rejection.reason]
    text = codes.aaa
    if transaction == "278" and codes.review_aaa:
        text = codes.review_aaa
    elif rejection.subject == "dependent" and codes.dependent_aaa:
        text = codes.dependent_aaa
    return AaaCodes(*text.split(":"))
