"""The events of the payers."""

from typing import Any, ClassVar, Literal

from clerkship.events.event import Payload
from clerkship.payer.answer import (
    Appeal,
    Authorization,
    AuthorizationAnswer,
    ClaimAnswer,
    EligibilityAnswer,
    Member,
    PayerClaim,
    Rejection,
)
from clerkship.payer.config import Accumulators
from clerkship.payer.inquiry import AuthorizationQuery, ClaimQuery, EligibilityInquiry, PartyQuery

RequestKind = Literal["requested", "updated", "cancelled"]


class PayerEvent(Payload):
    """What most events have: the payer, and the member if it was identified."""

    payer_id: str
    member_id: str | None = None
    """The id of the member; None if the person was not identified."""
    patient: str | None = None
    """The patient of the chart, such as `Patient/pat-0013`."""


class EligibilityChecked(PayerEvent):
    """A provider asked whether a person is covered, and got an answer or a rejection."""

    kind: ClassVar[str] = "payer.eligibility.checked"
    status: Literal["active", "terminated", "future"] | None = None
    rejection: str | None = None
    """The reason of the rejection."""
    reference: str | None = None
    """The request that caused it, such as `CoverageEligibilityRequest/12`."""
    inquiry: EligibilityInquiry
    answer: dict[str, Any]
    """The EligibilityAnswer as JSON, without values that are as by default: an answer has dozens of benefits."""

    def read_answer(self) -> EligibilityAnswer:
        """Return the answer as a model."""
        return EligibilityAnswer.model_validate(self.answer)


class EligibilityChanged(PayerEvent):
    """The scenario changed the coverage of a member, or what the member has used."""

    kind: ClassVar[str] = "payer.eligibility.changed"
    member: Member
    accumulators: Accumulators


class AuthorizationEvent(PayerEvent):
    """What events about one authorization have."""

    reference: str
    """The reference number of the request."""
    number: str | None = None
    """The authorization number."""
    status: str
    reason: str = ""
    procedure_codes: tuple[str, ...] = ()
    authorization: Authorization
    """The record after the event."""


class AuthorizationRequested(AuthorizationEvent):
    """A provider requested an authorization, and the payer accepted the request. It is pending until it is decided."""

    kind: ClassVar[str] = "payer.authorization.requested"


class AuthorizationUpdated(AuthorizationEvent):
    """A provider sent more information, or changed what it requests."""

    kind: ClassVar[str] = "payer.authorization.updated"


class AuthorizationDetermined(AuthorizationEvent):
    """The payer decided, asked for more information, or set a time for its decision."""

    kind: ClassVar[str] = "payer.authorization.determined"


class AuthorizationCancelled(AuthorizationEvent):
    """A provider cancelled its request."""

    kind: ClassVar[str] = "payer.authorization.cancelled"


class AuthorizationSet(AuthorizationEvent):
    """The scenario recorded an authorization."""

    kind: ClassVar[str] = "payer.authorization.set"


class AuthorizationNotRequired(PayerEvent):
    """A provider requested services that need no authorization. Nothing is stored."""

    kind: ClassVar[str] = "payer.authorization.not_required"
    procedure_codes: tuple[str, ...] = ()
    query: AuthorizationQuery


class AuthorizationRejected(PayerEvent):
    """The payer did not process a request, an update or a cancellation. Nothing is stored."""

    kind: ClassVar[str] = "payer.authorization.rejected"
    request: RequestKind
    """What was asked for."""
    rejection: str
    """The reason."""
    reference: str | None = None
    """The authorization that the request names, if it names one."""
    procedure_codes: tuple[str, ...] = ()
    query: PartyQuery | AuthorizationQuery
    answer: Rejection


class AuthorizationInquired(PayerEvent):
    """A provider asked about authorizations."""

    kind: ClassVar[str] = "payer.authorization.inquired"
    reference: str | None = None
    """The authorization that it asked about; None for all of the person."""
    references: tuple[str, ...] = ()
    """The authorizations in the answer."""
    statuses: tuple[str, ...] = ()
    rejection: str | None = None
    query: PartyQuery


class DeterminationSet(Payload):
    """The scenario set a decision, for requests that are open or that come later."""

    kind: ClassVar[str] = "payer.determination.set"
    rule: dict[str, Any]
    """The rule, as the config writes it."""
    references: tuple[str, ...] = ()
    """The open requests that it decides."""
    is_lasting: bool
    """Whether it decides later requests too."""


class ClaimInquired(PayerEvent):
    """A provider asked about claims."""

    kind: ClassVar[str] = "payer.claim.inquired"
    numbers: tuple[str, ...] = ()
    """The claims in the answer."""
    statuses: tuple[str, ...] = ()
    rejection: str | None = None
    query: ClaimQuery


class ClaimChanged(PayerEvent):
    """A claim has another status."""

    kind: ClassVar[str] = "payer.claim.changed"
    number: str
    account: str = ""
    status: str
    reason: str = ""
    procedure_codes: tuple[str, ...] = ()
    claim: PayerClaim
    """The record after the event."""


class AppealEvent(PayerEvent):
    """What events about one appeal have."""

    number: str
    of: str
    """The denied authorization or claim."""
    status: str
    appeal: Appeal
    """The record after the event."""


class AppealFiled(AppealEvent):
    """A provider appealed against a denial."""

    kind: ClassVar[str] = "payer.appeal.filed"


class AppealDecided(AppealEvent):
    """The payer decided an appeal."""

    kind: ClassVar[str] = "payer.appeal.decided"


class AppealRejected(PayerEvent):
    """The payer did not process an appeal. Nothing is stored."""

    kind: ClassVar[str] = "payer.appeal.rejected"
    of: str
    rejection: str
    query: PartyQuery
    answer: Rejection


EVENTS: tuple[type[Payload], ...] = (
    EligibilityChecked,
    EligibilityChanged,
    AuthorizationRequested,
    AuthorizationUpdated,
    AuthorizationDetermined,
    AuthorizationCancelled,
    AuthorizationSet,
    AuthorizationNotRequired,
    AuthorizationRejected,
    AuthorizationInquired,
    DeterminationSet,
    ClaimInquired,
    ClaimChanged,
    AppealFiled,
    AppealDecided,
    AppealRejected,
)


def describe_authorization(authorization: Authorization, member: Member) -> dict[str, Any]:
    """Return the fields of an event about an authorization."""
    return {
        "payer_id": authorization.payer_id,
        "member_id": member.member_id,
        "patient": member.patient or None,
        "reference": authorization.id,
        "number": authorization.number,
        "status": authorization.status,
        "reason": authorization.reason,
        "procedure_codes": tuple(service.procedure_code for service in authorization.query.services),
        "authorization": authorization,
    }


def describe_claim(claim: PayerClaim, member: Member | None) -> dict[str, Any]:
    """Return the fields of an event about a claim."""
    return {
        "payer_id": claim.payer_id,
        "member_id": member.member_id if member else None,
        "patient": (member.patient or None) if member else None,
        "number": claim.number,
        "account": claim.account,
        "status": claim.status,
        "reason": claim.reason,
        "procedure_codes": tuple(line.procedure_code for line in claim.lines),
        "claim": claim,
    }


def describe_appeal(appeal: Appeal, member: Member | None) -> dict[str, Any]:
    """Return the fields of an event about an appeal."""
    return {
        "payer_id": appeal.payer_id,
        "member_id": member.member_id if member else None,
        "patient": (member.patient or None) if member else None,
        "number": appeal.id,
        "of": appeal.of,
        "status": appeal.status,
        "appeal": appeal,
    }


def describe_party(query: PartyQuery, member: Member | None) -> dict[str, Any]:
    """Return the fields that every event about a request has."""
    return {
        "payer_id": query.payer_id,
        "member_id": member.member_id if member else None,
        "patient": (member.patient or None) if member else None,
    }


def build_eligibility_event(inquiry: EligibilityInquiry, answer: EligibilityAnswer, reference: str | None) -> Payload:
    """Build the event of an eligibility inquiry and its answer."""
    return EligibilityChecked(
        **describe_party(inquiry, answer.member),
        status=answer.status,
        rejection=answer.rejection.reason if answer.rejection else None,
        reference=reference,
        inquiry=inquiry,
        answer=answer.model_dump(mode="json", exclude_defaults=True),
    )


def build_authorization_inquiry(query: PartyQuery, reference: str | None, answer: AuthorizationAnswer) -> Payload:
    """Build the event of an inquiry about authorizations."""
    return AuthorizationInquired(
        **describe_party(query, answer.member),
        reference=reference,
        references=tuple(each.id for each in answer.authorizations),
        statuses=tuple(each.status for each in answer.authorizations),
        rejection=answer.rejection.reason if answer.rejection else None,
        query=query,
    )


def build_claim_inquiry(query: ClaimQuery, answer: ClaimAnswer) -> Payload:
    """Build the event of an inquiry about claims."""
    return ClaimInquired(
        **describe_party(query, answer.member),
        numbers=tuple(each.number for each in answer.claims),
        statuses=tuple(each.status for each in answer.claims),
        rejection=answer.rejection.reason if answer.rejection else None,
        query=query,
    )
