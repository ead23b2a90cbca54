"""What the operations of the REST API return. Texts are those of the pages; days and times are in ISO format."""

from datetime import date, datetime
from typing import Annotated, Any

from pydantic import Field

from clerkship.model.frozen import Frozen
from clerkship.payer.answer import Adjustment, ClaimLine, ClinicalQuestion
from clerkship.simulators.portal.records import RequestDraft


class ApiCode(Frozen):
    """A code with its description."""

    code: str
    description: str
    note: Annotated[str, Field(description="such as when it ended, and what is used instead")] = ""


class ApiCodeList(Frozen):
    """Codes of a list."""

    codes: tuple[ApiCode, ...]


class ApiFact(Frozen):
    """A fact as a page shows it."""

    label: str
    value: str


class ApiProblem(Frozen):
    """What is wrong with one field."""

    field: Annotated[str, Field(description="the field; empty if it is about the whole")]
    text: Annotated[str, Field(description="what is wrong, and what to do")]


class ApiErrorDetail(Frozen):
    """Why a request was refused. Nothing was changed."""

    code: str
    message: str
    problems: tuple[ApiProblem, ...] = ()
    reason: Annotated[str, Field(description="the payer's reason, such as duplicate_request")] = ""


class ApiError(Frozen):
    """A refusal."""

    error: ApiErrorDetail


class ApiPlan(Frozen):
    """A plan."""

    id: str
    name: str


class ApiPayer(Frozen):
    """A payer of the portal."""

    id: str
    name: str


class ApiPayers(Frozen):
    """The payers of the portal, and the plans of their members."""

    payers: tuple[ApiPayer, ...]
    plans: tuple[ApiPlan, ...]


class ApiMember(Frozen):
    """A member, with the policy on a day."""

    ref: Annotated[str, Field(description="the portal's number of the member, which requests and drafts name")]
    name: str
    birth_date: date
    gender: str
    member_id: str
    relationship: str
    payer_id: str
    payer_name: str
    plan_name: str
    group: str
    status: Annotated[str, Field(description="active, terminated or future")]
    start: date | None
    end: date | None


class ApiBenefit(Frozen):
    """What a plan pays for a service."""

    service: str
    in_network: str
    out_of_network: str
    authorization: str


class ApiEligibility(Frozen):
    """Coverage and benefits of a member on a day."""

    member: ApiMember
    amounts: tuple[ApiFact, ...]
    benefits: tuple[ApiBenefit, ...]
    limits: tuple[ApiFact, ...]
    other_coverages: tuple[ApiFact, ...]
    rejection: Annotated[str, Field(description="why the payer does not answer")] = ""


class ApiNeed(Frozen):
    """Whether a service needs an authorization."""

    result: Annotated[str, Field(description="required, not_required, not_covered, unknown_code; empty with `matches`")]
    text: str
    code: ApiCode | None
    plan: str
    matches: tuple[ApiCode, ...] = ()


class ApiProvider(Frozen):
    """A provider of the directory."""

    npi: str
    name: str
    kind: str
    organization: str
    in_network: str


class ApiProviders(Frozen):
    """Providers that match a search."""

    providers: tuple[ApiProvider, ...]


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


class ApiLetter(Frozen):
    """A letter in the inbox."""

    id: str
    subject: str
    payer_name: str
    member_name: str
    reference: str
    received: datetime
    is_read: bool
    paragraphs: tuple[str, ...] = ()


class ApiInbox(Frozen):
    """The letters, newest first, without their texts."""

    letters: tuple[ApiLetter, ...]


class ApiRequestRow(Frozen):
    """A request in a list."""

    reference: str
    number: Annotated[str, Field(description="the authorization number; empty before an approval")]
    member_name: str
    member_id: str
    payer_name: str
    services: Annotated[str, Field(description="procedure codes")]
    status: Annotated[str, Field(description="pending, need_more_info, approved, modified, denied or cancelled")]
    status_label: str
    requested: datetime
    decided: datetime | None
    valid_to: date | None
    requested_by: str


class ApiRequestPage(Frozen):
    """One page of the list of requests."""

    requests: tuple[ApiRequestRow, ...]
    page: int
    pages: int
    total: int


class ApiService(Frozen):
    """A procedure of a request, with its decision."""

    code: str
    description: str
    modifiers: str
    quantity: str
    frequency: str
    start: date | None
    end: date | None
    status: str
    approved: str
    reason: str


class ApiAppeal(Frozen):
    """An appeal."""

    id: str
    status: str
    filed: datetime
    reason: str
    text: str


class ApiRequest(ApiRequestRow):
    """Everything about a request."""

    member: ApiMember
    review: str
    urgency: str
    place: str
    requesting_npi: str
    servicing_npi: str
    diagnoses: tuple[ApiCode, ...]
    lines: Annotated[tuple[ApiService, ...], Field(description="the procedures, in the order that `change` counts")]
    answers: dict[str, str | bool | float]
    note: str
    documents: tuple[ApiDocument, ...]
    valid_from: date | None
    reason: str
    text: str
    questions: Annotated[tuple[ClinicalQuestion, ...], Field(description="what the payer asks for")]
    appeals: tuple[ApiAppeal, ...]
    appeal_deadline: date | None
    letters: tuple[ApiLetter, ...]
    actions: Annotated[tuple[str, ...], Field(description="what can be done now: reply, change, withdraw, appeal")]


class ApiSubmission(Frozen):
    """What became of a submission."""

    is_needed: Annotated[bool, Field(description="false if no authorization is needed: then nothing was filed")]
    text: str = ""
    request: ApiRequest | None = None


class ApiDraft(RequestDraft):
    """A draft, with what is missing or wrong in it."""

    problems: tuple[ApiProblem, ...]


class ApiDraftRow(Frozen):
    """A draft in a list."""

    id: str
    member_name: str
    services: str
    owner: str
    updated: datetime
    updated_by: str


class ApiDrafts(Frozen):
    """The drafts of the practice, newest first."""

    drafts: tuple[ApiDraftRow, ...]


class ApiQuestion(Frozen):
    """A clinical question that is asked."""

    id: str
    text: str
    type: str
    choices: tuple[str, ...]
    value: Annotated[str, Field(description="the answer given")]
    hint: str
    is_required: bool
    problem: Annotated[str, Field(description="what is wrong with the answer, or missing")]


class ApiQuestions(Frozen):
    """The clinical questions about procedures, given the answers so far."""

    title: str
    questions: tuple[ApiQuestion, ...]


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


def to_dict(row: Any) -> dict[str, Any]:
    """Return the fields of a row of a page."""
    fields: dict[str, Any] = row._asdict()
    return fields
