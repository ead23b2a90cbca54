"""The events of the payers."""

from typing import Any, ClassVar, Literal

from clerkship.events.event import EffectType, Payload, collect_events
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


class EligibilityChecked(PayerEvent, kind="payer.eligibility.checked"):
    """A provider asked whether a person is covered, and got an answer or a rejection."""

    effect: ClassVar[EffectType] = "none"
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


class EligibilityChanged(PayerEvent, kind="payer.eligibility.changed"):
    """The scenario changed the coverage of a member, or what the member has used."""

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


class AuthorizationRequested(AuthorizationEvent, kind="payer.authorization.requested"):
    """A provider requested an authorization, and the payer accepted the request. It is pending until it is decided."""


class AuthorizationUpdated(AuthorizationEvent, kind="payer.authorization.updated"):
    """A provider sent more information, or changed what it requests."""


class AuthorizationDetermined(AuthorizationEvent, kind="payer.authorization.determined"):
    """The payer decided, asked for more information, or set a time for its decision."""

    is_by_sandbox: ClassVar[bool] = True


class AuthorizationCancelled(AuthorizationEvent, kind="payer.authorization.cancelled"):
    """A provider cancelled its request."""


class AuthorizationSet(AuthorizationEvent, kind="payer.authorization.set"):
    """The scenario recorded an authorization."""


class AuthorizationNotRequired(PayerEvent, kind="payer.authorization.not_required"):
    """A provider requested services that need no authorization. Nothing is stored."""

    procedure_codes: tuple[str, ...] = ()
    query: AuthorizationQuery


class AuthorizationRejected(PayerEvent, kind="payer.authorization.rejected"):
    """The payer did not process a request, an update or a cancellation. Nothing is stored."""

    is_by_sandbox: ClassVar[bool] = True
    request: RequestKind
    """What was asked for."""
    rejection: str
    """The reason."""
    reference: str | None = None
    """The authorization that the request names, if it names one."""
    procedure_codes: tuple[str, ...] = ()
    query: PartyQuery | AuthorizationQuery
    answer: Rejection


class AuthorizationInquired(PayerEvent, kind="payer.authorization.inquired"):
    """A provider asked about authorizations."""

    effect: ClassVar[EffectType] = "none"
    reference: str | None = None
    """The authorization that it asked about; None for all of the person."""
    references: tuple[str, ...] = ()
    """The authorizations in the answer."""
    statuses: tuple[str, ...] = ()
    rejection: str | None = None
    query: PartyQuery | AuthorizationQuery | ClaimQuery


class FaxUnmatched(PayerEvent, kind="payer.fax.unmatched"):
    """A fax arrived at a payer that names no request, or several. It is filed with none."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    fax: str
    """The id of the fax."""
    references: tuple[str, ...] = ()
    """The requests that it names."""


class DeterminationSet(Payload, kind="payer.determination.set"):
    """The scenario set a decision, for requests that are open or that come later."""

    rule: dict[str, Any]
    """The rule, as the config writes it."""
    references: tuple[str, ...] = ()
    """The open requests that it decides."""
    is_lasting: bool
    """Whether it decides later requests too."""


class ClaimInquired(PayerEvent, kind="payer.claim.inquired"):
    """A provider asked about claims."""

    effect: ClassVar[EffectType] = "none"
    numbers: tuple[str, ...] = ()
    """The claims in the answer."""
    statuses: tuple[str, ...] = ()
    rejection: str | None = None
    query: ClaimQuery


class ClaimChanged(PayerEvent, kind="payer.claim.changed"):
    """A claim has another status."""

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


class AppealFiled(AppealEvent, kind="payer.appeal.filed"):
    """A provider appealed against a denial."""


class AppealDecided(AppealEvent, kind="payer.appeal.decided"):
    """The payer decided an appeal."""

    is_by_sandbox: ClassVar[bool] = True


class AppealRejected(PayerEvent, kind="payer.appeal.rejected"):
    """The payer did not process an appeal. Nothing is stored."""

    is_by_sandbox: ClassVar[bool] = True
    of: str
    rejection: str
    query: PartyQuery | AuthorizationQuery | ClaimQuery
    answer: Rejection


EVENTS = collect_events(globals())


def describe_authorization(authorization: Authorization, member: Member) -> dict[str, Any]:
    """Return the fields of an event about an authorization."""
    return {
        **_describe_member(authorization.payer_id, member),
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
        **_describe_member(claim.payer_id, member),
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
        **_describe_member(appeal.payer_id, member),
        "number": appeal.id,
        "of": appeal.of,
        "status": appeal.status,
        "appeal": appeal,
    }


def describe_party(query: PartyQuery, member: Member | None) -> dict[str, Any]:
    """Return the fields that every event about a request has."""
    return _describe_member(query.payer_id, member)


def _describe_member(payer_id: str, member: Member | None) -> dict[str, Any]:
    if member is None:
        return {"payer_id": payer_id, "member_id": None, "patient": None}
    return {"payer_id": payer_id, "member_id": member.member_id, "patient": member.patient or None}


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
