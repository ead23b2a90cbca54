"""What each page shows, as plain data for the templates of both layouts. The REST API answers with the same rows.

`templates/README.md` has the form fields.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, ClassVar, NamedTuple

from pydantic import Field


class FieldChoice(NamedTuple):
    """One choice of a select, radio group or filter."""

    value: str
    label: str


@dataclass(frozen=True)
class Fact:
    """A label with its value, for lists of facts."""

    label: str
    value: str


@dataclass(frozen=True)
class FieldMistake:
    """What is wrong with a field of a form, in words that say what to do."""

    field: str
    """The name of the form field; empty if it is about the form as a whole."""
    text: str


@dataclass(frozen=True, kw_only=True)
class PageFrame:
    """What is around every page: who is signed in, navigation, banners."""

    site_name: str
    layout: str
    version: int
    payer_name: str
    """Of a single-payer site; empty on the hub."""
    user_name: str = ""
    """Empty on pages before signing in."""
    organization: str = ""
    rights: tuple[str, ...] = ()
    has_policies: bool = False
    """Whether the portal has a library of policies."""
    unread: int = 0
    maintenance: str = ""
    now: datetime
    idle_minutes: int = 20
    notices: tuple[str, ...] = ()
    """Messages about what was just done, such as "The draft was saved."."""
    current: str = ""
    """The navigation item of the page: home, eligibility, authorizations, claims, inbox, directory, policies or
    profile."""


@dataclass(frozen=True, kw_only=True)
class View:
    """The base of all views. `page` names the template, and the page in events."""

    page: ClassVar[str]
    title: str
    values: Mapping[str, str] = field(default_factory=dict)
    """What is typed in the form fields, by name."""
    problems: Sequence[FieldMistake] = ()
    """What is wrong with the form; shown in a summary above it, and beside each field."""


@dataclass(frozen=True)
class MemberCard:
    """A member as the portal shows it."""

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


@dataclass(frozen=True)
class ProviderRow:
    """A provider of the directory."""

    npi: str
    name: str
    kind: str
    """Practitioner or Organization."""
    organization: str
    in_network: str
    """The names of the networks that it is in, or what else is to be said about it."""


@dataclass(frozen=True)
class ServiceRow:
    """One procedure of a request, with its decision."""

    code: str
    description: str
    modifiers: str
    quantity: str
    """Such as `12 visits`."""
    frequency: str
    start: date | None
    end: date | None
    status: str = ""
    approved: str = ""
    reason: str = ""


@dataclass(frozen=True)
class CodeRow:
    """A code of a code list."""

    code: str
    description: str
    note: str = ""
    """Such as `ended 2025-12-31`."""


class DocumentRow(NamedTuple):
    """An uploaded document."""

    id: str
    name: str
    type: str
    size: str
    uploaded: datetime
    user: str


@dataclass(frozen=True)
class RequestRow:
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


@dataclass(frozen=True)
class DraftRow:
    """A draft in a list."""

    id: str
    member_name: str
    services: str
    owner: str
    updated: datetime
    updated_by: str


@dataclass(frozen=True)
class LetterRow:
    """A letter in the inbox."""

    id: str
    subject: str
    payer_name: str
    member_name: str
    reference: str
    received: datetime
    is_read: bool
    paragraphs: tuple[str, ...] = ()
    """Its text; empty in a list."""


class AnnouncementRow(NamedTuple):
    """An announcement."""

    published: datetime
    text: str


@dataclass(frozen=True)
class QuestionField:
    """A clinical question in a form. Its form field is `answer_{id}`."""

    id: str
    text: str
    type: str
    """text, boolean, number, date or choice (and attachment, in a request for more information)."""
    choices: tuple[str, ...]
    value: str
    hint: str = ""
    is_required: bool = True
    problem: Annotated[str, Field(description="what is wrong with the answer, or missing")] = ""


class Paging(NamedTuple):
    """Where a page of a list is. `query` is the query string of the filters, without `page`."""

    page: int
    pages: int
    total: int
    first: int
    last: int
    query: str


@dataclass(frozen=True)
class BenefitRow:
    """A row of the table of benefits."""

    service: str
    in_network: str
    out_of_network: str
    authorization: str
    """Whether an authorization is needed: `Required`, `Not required` or empty."""


@dataclass(frozen=True, kw_only=True)
class SignInView(View):
    """GET/POST /sign-in: fields username, password. `notice` says why one is here."""

    page: ClassVar[str] = "sign_in"
    notice: str = ""
    next: str = ""


@dataclass(frozen=True, kw_only=True)
class CodeView(View):
    """GET/POST /sign-in/code: field code. A button of its own form posts to /sign-in/code/resend."""

    page: ClassVar[str] = "sign_in_code"
    sent_to: str


@dataclass(frozen=True, kw_only=True)
class PasswordView(View):
    """GET/POST /sign-in/password: fields new_password, repeat_password; `rules` say what a password must have."""

    page: ClassVar[str] = "password_expired"
    rules: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class HumanCheckView(View):
    """GET/POST /verify: a check that only a person may do. Field `statement` (checkbox), `letters` (text).

    `picture` is inline SVG with distorted letters. `contact` is whom to call.
    """

    page: ClassVar[str] = "human_check"
    picture: str
    contact: str


@dataclass(frozen=True, kw_only=True)
class HomeView(View):
    """GET /: tiles, announcements, counts by status, newest requests."""

    page: ClassVar[str] = "home"
    announcements: Sequence[AnnouncementRow]
    counts: Sequence[tuple[str, str, int]]
    """Status key, label and number of requests."""
    recent: Sequence[RequestRow]
    drafts: Sequence[DraftRow]


@dataclass(frozen=True, kw_only=True)
class MemberSearchView(View):
    """GET, POST /members: fields payer, member_id, birth_date, family, given. A member that is found redirects to
    /members/{ref}.
    """

    page: ClassVar[str] = "member_search"
    payers: Sequence[FieldChoice]
    recent: Sequence[MemberCard] = ()


@dataclass(frozen=True, kw_only=True)
class MemberView(View):
    """GET /members/{ref}: the card, benefits as of a day, other coverage; links to a new request and to the list.

    Form (GET): fields service_date, service_type.
    """

    page: ClassVar[str] = "member"
    member: MemberCard
    service_types: Sequence[FieldChoice]
    facts: Sequence[Fact]
    """Deductible, out-of-pocket maximum: amount and what remains."""
    benefits: Sequence[BenefitRow]
    limits: Sequence[Fact]
    other_coverages: Sequence[Fact]
    rejection: str = ""


@dataclass(frozen=True, kw_only=True)
class NeedCheckView(View):
    """GET /authorization-check: fields plan (or member), code. `result` is empty before a search."""

    page: ClassVar[str] = "need_check"
    plans: Sequence[FieldChoice]
    members: Sequence[FieldChoice]
    result: str = ""
    """required, not_required, not_covered or unknown_code."""
    result_text: str = ""
    code: CodeRow | None = None
    matches: Sequence[CodeRow] = ()
    """Codes whose description has the typed words, if it is not a code."""


@dataclass(frozen=True, kw_only=True)
class RequestListView(View):
    """GET /requests: fields number, member_id, status, requested_from, requested_to, sort, page."""

    page: ClassVar[str] = "request_list"
    rows: Sequence[RequestRow]
    paging: Paging
    statuses: Sequence[FieldChoice]
    sorts: Sequence[FieldChoice]
    is_filtered: bool


@dataclass(frozen=True, kw_only=True)
class RequestView(View):
    """GET /requests/{reference}: everything about one request, and what can be done with it.

    `actions` are keys of what is possible now: reply, change, withdraw, appeal. Each is a link to
    /requests/{reference}/{action}.
    """

    page: ClassVar[str] = "request"
    row: RequestRow
    member: MemberCard
    facts: Sequence[Fact]
    diagnoses: Sequence[CodeRow]
    services: Sequence[ServiceRow]
    answers: Sequence[Fact]
    documents: Sequence[DocumentRow]
    reason: str
    text: str
    open_questions: Sequence[str]
    appeals: Sequence[Fact]
    letters: Sequence[LetterRow]
    actions: tuple[str, ...]
    is_new: bool = False
    """Whether it was just submitted: the page confirms it."""


@dataclass(frozen=True, kw_only=True)
class ReplyView(View):
    """GET/POST (multipart) /requests/{reference}/reply: fields answer_{id}, note, file (several), file_type."""

    page: ClassVar[str] = "reply"
    row: RequestRow
    text: str
    questions: Sequence[QuestionField]
    documents: Sequence[DocumentRow]
    document_types: Sequence[FieldChoice]
    accepted: str
    """What files are accepted, in words."""


@dataclass(frozen=True, kw_only=True)
class ChangeView(View):
    """GET/POST /requests/{reference}/change: fields place, urgency, and units_N, start_N, end_N for each service N."""

    page: ClassVar[str] = "change"
    row: RequestRow
    services: Sequence[ServiceRow]
    places: Sequence[FieldChoice]


@dataclass(frozen=True, kw_only=True)
class WithdrawView(View):
    """GET/POST /requests/{reference}/withdraw: field confirm (checkbox)."""

    page: ClassVar[str] = "withdraw"
    row: RequestRow


@dataclass(frozen=True, kw_only=True)
class AppealView(View):
    """GET/POST (multipart) /requests/{reference}/appeal: fields reason, file (several), file_type."""

    page: ClassVar[str] = "appeal"
    row: RequestRow
    denial: str
    deadline: date | None
    document_types: Sequence[FieldChoice]
    accepted: str
    max_reason: int = 2000


@dataclass(frozen=True, kw_only=True)
class DraftListView(View):
    """GET /drafts: each row links to /drafts/{id}; a form posts to /drafts/{id}/delete."""

    page: ClassVar[str] = "draft_list"
    rows: Sequence[DraftRow]


@dataclass(frozen=True, kw_only=True)
class DraftView(View):
    """GET/POST (multipart) /drafts/{id}/{step} (wizard) and /drafts/{id} (one page): the form of a new request.

    See templates/README.md for its fields and buttons. `sections` are the sections that are shown: all of them come one
    after the other in `one_page`; in `wizard`, `step` is the one that is shown.
    """

    page: ClassVar[str] = "draft"
    id: str
    revision: int
    step: str
    steps: Sequence[tuple[str, str, str]]
    """Key, label and state (done, current, open) of each step."""
    sections: tuple[str, ...]
    payers: Sequence[FieldChoice]
    members: Sequence[FieldChoice]
    """Members that were looked up before."""
    member: MemberCard | None
    reviews: Sequence[FieldChoice]
    urgencies: Sequence[FieldChoice]
    places: Sequence[FieldChoice]
    requesting: ProviderRow | None
    servicing: ProviderRow | None
    provider_matches: Sequence[ProviderRow]
    """Results of a provider search; each has a button to choose it."""
    provider_target: str
    """For which of requesting or servicing the search was."""
    diagnoses: Sequence[CodeRow]
    diagnosis_matches: Sequence[CodeRow]
    services: Sequence[ServiceRow]
    procedure_matches: Sequence[CodeRow]
    units: Sequence[FieldChoice]
    frequencies: Sequence[FieldChoice]
    question_title: str
    questions: Sequence[QuestionField]
    documents: Sequence[DocumentRow]
    document_types: Sequence[FieldChoice]
    required_documents: Sequence[str]
    accepted: str
    review_facts: Sequence[tuple[str, Sequence[Fact]]]
    """For the review: the facts of each section, with the key of the step to go back to."""
    attestation: str
    searched: str = ""
    """diagnosis, procedure or provider, if the page shows the results of a search (maybe none)."""


@dataclass(frozen=True, kw_only=True)
class OutcomeView(View):
    """The answer to a submission that was not stored: no authorization is needed. Nothing was filed."""

    page: ClassVar[str] = "not_needed"
    text: str
    services: Sequence[ServiceRow]
    draft: str


@dataclass(frozen=True, kw_only=True)
class ClaimListView(View):
    """GET /claims: fields payer, member_id, birth_date, family, given, claim_number, from, to; results below."""

    page: ClassVar[str] = "claim_list"
    payers: Sequence[FieldChoice]
    searched: bool
    rejection: str
    rows: Sequence[tuple[str, str, str, date, str, str, str]]
    """Number, member, member id, day of service, status, charge and paid amount."""


@dataclass(frozen=True, kw_only=True)
class ClaimView(View):
    """GET /claims/{number}."""

    page: ClassVar[str] = "claim"
    number: str
    status: str
    facts: Sequence[Fact]
    lines: Sequence[tuple[str, str, str, str, str, str]]
    """Code, description, day, charge, paid, status."""
    adjustments: Sequence[Fact]
    text: str


@dataclass(frozen=True, kw_only=True)
class InboxView(View):
    """GET /inbox."""

    page: ClassVar[str] = "inbox"
    rows: Sequence[LetterRow]


@dataclass(frozen=True, kw_only=True)
class LetterView(View):
    """GET /inbox/{id}; the PDF is at /inbox/{id}/letter.pdf."""

    page: ClassVar[str] = "letter"
    row: LetterRow
    paragraphs: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class DirectoryView(View):
    """GET /providers: fields name, npi, plan; results below."""

    page: ClassVar[str] = "directory"
    plans: Sequence[FieldChoice]
    searched: bool
    rows: Sequence[ProviderRow]


@dataclass(frozen=True, kw_only=True)
class ProfileView(View):
    """GET /profile: read only."""

    page: ClassVar[str] = "profile"
    facts: Sequence[Fact]
    rights: Sequence[Fact]


@dataclass(frozen=True, kw_only=True)
class MessageView(View):
    """A page that says why something is not shown or done. `links` lead on."""

    page: ClassVar[str] = "message"
    kind: str
    """not_found, forbidden, conflict or error."""
    text: str
    what_to_do: str
    links: Sequence[FieldChoice]
    """Path and label."""
    reference: str = ""
    """The number of an error, for the help desk."""
