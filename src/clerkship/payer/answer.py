"""What a payer answers: members, benefits, authorizations, appeals and claims, in words of no protocol."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.payer.inquiry import AuthorizationQuery, ServiceType, Unit

RejectionReason = Literal[
    "unknown_payer",
    "inactive_payer",
    "payer_unavailable",
    "unknown_provider",
    "provider_not_allowed",
    "missing_member_data",
    "unknown_member",
    "birth_date_mismatch",
    "name_mismatch",
    "member_id_mismatch",
    "unknown_dependent",
    "not_eligible",
    "service_date_too_early",
    "service_date_too_late",
    "invalid_service",
    "duplicate_request",
    "unknown_authorization",
    "authorization_closed",
    "missing_request_data",
    "unknown_reference",
]
IDENTITY_REASONS: tuple[RejectionReason, ...] = (
    "unknown_member",
    "birth_date_mismatch",
    "name_mismatch",
    "member_id_mismatch",
    "unknown_dependent",
)
"""Reasons why the payer does not know which person is meant."""
RejectionSubject = Literal["payer", "provider", "subscriber", "dependent", "request"]


class Rejection(Frozen):
    """Why a payer does not process a request, and which part of the request is at fault."""

    reason: RejectionReason
    subject: RejectionSubject
    text: str
    """An explanation for people."""


class Coverage(Frozen):
    """One policy of a member with a payer."""

    id: str
    """The key of the record that it was read from, such as `Coverage/cov-0013-2`, or its number in the config."""
    payer_id: str
    plan: str
    """The id of the plan, such as `cedar-select-epo`."""
    plan_name: str
    group: str = ""
    start: date
    end: date | None = None
    """The last covered day."""
    order: int = 1
    """1 if it pays first, 2 if it pays second."""


class Member(Frozen):
    """A person whom a payer covers, or has covered."""

    key: str
    """The id of its record: payer, member id, and number of the dependent, such as `CM002/CM974622051/0`."""
    payer_id: str
    member_id: str
    family: str
    given: tuple[str, ...] = ()
    birth_date: date
    gender: Literal["male", "female", "unknown"] = "unknown"
    relationship: Literal["self", "spouse", "child", "other"] = "self"
    """To the subscriber. A dependent shares the member id of its subscriber; a person with a member id of its own is
    `self`."""
    patient: str = ""
    """The patient of the chart, such as `Patient/pat-0013`, if it is one."""
    coverages: tuple[Coverage, ...] = ()
    """Newest first."""


class Benefit(Frozen):
    """One statement about what a plan pays."""

    kind: Literal[
        "active",
        "inactive",
        "not_covered",
        "copay",
        "coinsurance",
        "deductible",
        "out_of_pocket_maximum",
        "limit",
        "other_payer",
    ]
    service_types: tuple[ServiceType, ...]
    procedure_code: str | None = None
    level: Literal["individual", "family"] | None = None
    period: Literal["calendar_year", "visit", "remaining", "lifetime"] | None = None
    amount: float | None = None
    """In dollars: a copay, a deductible, or what remains of it."""
    share: float | None = None
    """What the member pays of each bill, such as 0.2."""
    quantity: float | None = None
    unit: Unit | None = None
    authorization_required: bool | None = None
    in_network: bool | None = None
    """None if it is the same in and out of network."""
    text: str = ""


class OtherCoverage(Frozen):
    """Coverage of the same person by another payer."""

    payer_id: str
    payer_name: str
    member_id: str
    order: int


class PartyAnswer(Frozen):
    """Who answers whom about which person. Every answer has these fields."""

    payer_name: str = ""
    """Empty if the payer is unknown."""
    provider_name: str = ""
    """Empty if the provider is not on file."""
    rejection: Rejection | None = None
    member: Member | None = None
    """The person asked about; None if the request is rejected before the person is identified."""


class EligibilityAnswer(PartyAnswer):
    """The answer to an EligibilityInquiry."""

    coverage: Coverage | None = None
    """The policy that the answer is about: the one in force on the day, else the nearest one."""
    status: Literal["active", "terminated", "future"] | None = None
    service_date: date | None = None
    in_network: bool | None = None
    """Whether the asking provider is in the plan's network."""
    benefits: tuple[Benefit, ...] = ()
    other_coverages: tuple[OtherCoverage, ...] = ()


AuthorizationStatus = Literal["approved", "modified", "denied", "pending", "need_more_info", "cancelled"]


class ClinicalQuestion(Frozen):
    """A question that a payer asks before it decides."""

    id: Annotated[str, Field(description="its id, by which answers name it")]
    text: Annotated[str, Field(description="the question")]
    type: Annotated[
        Literal["text", "boolean", "number", "choice", "attachment"],
        Field(description="type of the answer; any document that is sent answers an `attachment`"),
    ] = "text"
    choices: Annotated[tuple[str, ...], Field(description="the possible answers, with `type: choice`")] = ()


class DecidedService(Frozen):
    """The decision on one service of an authorization."""

    procedure_code: str
    status: AuthorizationStatus
    quantity: float
    unit: Unit = "units"
    start: date | None = None
    end: date | None = None
    reason: str = ""
    trace: str = ""


class Authorization(Frozen):
    """An authorization request and its decision so far."""

    id: str
    """The payer's reference number for the request; it exists before a decision."""
    number: str | None = None
    """The authorization number; only of a request that is approved or modified, or was so when it was cancelled."""
    payer_id: str
    member_key: str
    query: AuthorizationQuery
    status: AuthorizationStatus
    services: tuple[DecidedService, ...] = ()
    reason: str = ""
    """Why it was denied, modified or not decided yet: a code of the payer, such as `not_medically_necessary`."""
    text: str = ""
    questions: tuple[ClinicalQuestion, ...] = ()
    """What the payer asks for, while the status is `need_more_info`."""
    requested: datetime
    decided: datetime | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    decision_due: datetime | None = None
    """When a pending request will be decided; not shown to agents."""
    cause: int = 0
    """The seq of the event that scheduled the decision."""


class AuthorizationAnswer(PartyAnswer):
    """The answer to a request, an update, a cancellation or an inquiry about authorizations."""

    is_required: bool = True
    """False if none of the requested services needs an authorization: then there is no rejection and no authorization,
    and nothing is stored."""
    text: str = ""
    """An explanation for people, where there is no authorization."""
    authorizations: tuple[Authorization, ...] = ()
    """One for a request, update or cancellation; any number for an inquiry."""


class Appeal(Frozen):
    """An appeal against a denied authorization or claim."""

    id: str
    payer_id: str
    of: str
    """The reference number of the authorization, or the number of the claim."""
    reason: str
    attachments: tuple[str, ...] = ()
    status: Literal["received", "upheld", "overturned", "dismissed"] = "received"
    """`upheld`: the denial stays. `overturned`: the denial is reversed. `dismissed`: too late, or nothing to appeal."""
    filed: datetime
    decided: datetime | None = None
    decision_due: datetime | None = None
    cause: int = 0
    text: str = ""


class Adjustment(Frozen):
    """A difference between what was charged and what was paid."""

    group: Annotated[
        Literal["contractual", "patient_responsibility", "other"],
        Field(description="who bears it: the provider by contract, or the patient"),
    ]
    reason: Annotated[str, Field(description="a code of the payer's own, such as deductible or missing_authorization")]
    amount: Annotated[float, Field(description="dollars that are not paid")]


class ClaimLine(Frozen):
    """One service of a claim."""

    procedure_code: Annotated[str, Field(description="code of the service")]
    charge: Annotated[float, Field(description="dollars charged")]
    paid: Annotated[float, Field(description="dollars paid")] = 0
    service_date: Annotated[date | None, Field(description="day of service")] = None
    status: Annotated[
        Literal["received", "pended", "denied", "paid"] | None, Field(description="its status, if it has its own")
    ] = None
    adjustments: Annotated[tuple[Adjustment, ...], Field(description="why less was paid than charged")] = ()


class PayerClaim(Frozen):
    """A claim that a payer has."""

    number: str
    """The payer's number."""
    payer_id: str
    member_key: str
    provider_id: str
    account: str = ""
    """The provider's own number."""
    status: Literal["received", "pended", "denied", "paid"]
    reason: str = ""
    """Why it is pended or denied, such as `missing_authorization`."""
    text: str = ""
    charge: float
    paid: float = 0
    start: date
    end: date
    received: date
    status_date: date
    paid_date: date | None = None
    payment_number: str | None = None
    adjustments: tuple[Adjustment, ...] = ()
    """Adjustments of the claim as a whole; those of single services are in `lines`."""
    lines: tuple[ClaimLine, ...] = ()


class ClaimAnswer(PartyAnswer):
    """The answer to a ClaimQuery. Without a rejection and without claims, no claim matches."""

    claims: tuple[PayerClaim, ...] = ()
