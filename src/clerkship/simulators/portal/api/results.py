"""What the operations of the REST API return. Texts are those of the pages; days and times are in ISO format."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.payer.answer import Adjustment, ClaimLine, ClinicalQuestion
from clerkship.simulators.portal.records import RequestDraft
from clerkship.simulators.portal.views import (
    BenefitRow,
    CodeRow,
    DraftRow,
    Fact,
    FieldMistake,
    LetterRow,
    MemberCard,
    ProviderRow,
    QuestionField,
    RequestRow,
    ServiceRow,
)


class ApiCodeList(Frozen):
    """Codes of a list."""

    codes: tuple[CodeRow, ...]


class ApiErrorDetail(Frozen):
    """Why a request was refused. Nothing was changed."""

    code: str
    message: str
    problems: tuple[FieldMistake, ...] = ()
    reason: Annotated[str, Field(description="the payer's reason, such as duplicate_request")] = ""


class ApiError(Frozen):
    """A refusal."""

    error: ApiErrorDetail


class ApiNamed(Frozen):
    """A payer or a plan."""

    id: str
    name: str


class ApiPayers(Frozen):
    """The payers of the portal, and the plans of their members."""

    payers: tuple[ApiNamed, ...]
    plans: tuple[ApiNamed, ...]


class ApiEligibility(Frozen):
    """Coverage and benefits of a member on a day."""

    member: MemberCard
    amounts: tuple[Fact, ...]
    benefits: tuple[BenefitRow, ...]
    limits: tuple[Fact, ...]
    other_coverages: tuple[Fact, ...]
    rejection: Annotated[str, Field(description="why the payer does not answer")] = ""


class ApiNeed(Frozen):
    """Whether a service needs an authorization."""

    result: Annotated[str, Field(description="required, not_required, not_covered, unknown_code; empty with `matches`")]
    text: str
    code: CodeRow | None
    plan: str
    matches: tuple[CodeRow, ...] = ()


class ApiProviders(Frozen):
    """Providers that match a search."""

    providers: tuple[ProviderRow, ...]


class ApiDocument(Frozen):
    """An uploaded document."""

    id: str
    name: str
    type: str
    media: str
    size: int
    pages: int
    sha256: str
    uploaded: datetime
    user: str


class ApiDocuments(Frozen):
    """Documents of a request."""

    documents: tuple[ApiDocument, ...]


class ApiInbox(Frozen):
    """The letters, newest first, without their texts."""

    letters: tuple[LetterRow, ...]


class ApiRequestPage(Frozen):
    """One page of the list of requests."""

    requests: tuple[RequestRow, ...]
    page: int
    pages: int
    total: int


class ApiAppeal(Frozen):
    """An appeal."""

    id: str
    status: str
    filed: datetime
    reason: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ApiRequest(RequestRow):
    """Everything about a request."""

    member: MemberCard
    review: str
    urgency: str
    place: str
    requesting_npi: str
    servicing_npi: str
    diagnoses: tuple[CodeRow, ...]
    lines: Annotated[tuple[ServiceRow, ...], Field(description="the procedures, in the order that `change` counts")]
    answers: dict[str, str | bool | float]
    note: str
    contact: Annotated[str, Field(description="whom the payer may ask; empty if it was not filed here")]
    documents: tuple[ApiDocument, ...]
    valid_from: date | None
    reason: str
    text: str
    questions: Annotated[tuple[ClinicalQuestion, ...], Field(description="what the payer asks for")]
    appeals: tuple[ApiAppeal, ...]
    appeal_deadline: date | None
    letters: tuple[LetterRow, ...]
    actions: Annotated[tuple[str, ...], Field(description="what can be done now: reply, change, withdraw, appeal")]


class ApiSubmission(Frozen):
    """What became of a submission."""

    is_needed: Annotated[bool, Field(description="false if no authorization is needed: then nothing was filed")]
    text: str = ""
    request: ApiRequest | None = None


class ApiDraft(RequestDraft):
    """A draft, with what is missing or wrong in it."""

    problems: tuple[FieldMistake, ...]


class ApiDrafts(Frozen):
    """The drafts of the practice, newest first."""

    drafts: tuple[DraftRow, ...]


class ApiQuestions(Frozen):
    """The clinical questions about procedures, given the answers so far."""

    title: str
    questions: tuple[QuestionField, ...]


class ApiClaimRow(Frozen):
    """A claim in a list."""

    number: str
    status: str
    status_label: str
    account: str
    start: date
    end: date
    charge: float
    paid: float


class ApiClaims(Frozen):
    """Claims that match a search."""

    claims: tuple[ApiClaimRow, ...]


class ApiClaim(ApiClaimRow):
    """Everything about a claim."""

    member_name: str
    received: date
    status_date: date
    paid_date: date | None
    payment_number: str | None
    reason: str
    text: str
    adjustments: tuple[Adjustment, ...]
    lines: tuple[ClaimLine, ...]
