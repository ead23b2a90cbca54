"""Events of a payer portal. Session 0 is the REST API."""

from typing import Any, ClassVar, Literal

from clerkship.events.event import EffectType, Payload
from clerkship.simulators.portal.document_events import DocumentRemoved, DocumentUploaded
from clerkship.simulators.portal.records import Announcement, Letter, RequestDraft, SessionEnd, SessionStatus

SearchSubject = Literal[
    "member", "authorization_need", "provider", "procedure", "diagnosis", "request", "claim", "policy"
]


class SignedIn(Payload, kind="portal.signed_in"):
    """The user gave the right password."""

    effect: ClassVar[EffectType] = "none"
    session: int
    user: str
    status: SessionStatus
    """What is needed before pages are shown."""


class CodeSent(Payload, kind="portal.code.sent"):
    """A one-time code was sent to the user."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    session: int
    channel: Literal["text", "email"]
    to: str
    code: str


class CodeEntered(Payload, kind="portal.code.entered"):
    """The user typed a one-time code."""

    effect: ClassVar[EffectType] = "none"
    session: int
    accepted: bool
    status: SessionStatus


class PasswordChanged(Payload, kind="portal.password.changed"):
    """The user chose a new password. It is not logged."""

    session: int
    status: SessionStatus


class HumanCheckAsked(Payload, kind="portal.human_check.asked"):
    """A submission was held back until a person passes a check."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    session: int


class HumanCheckFailed(Payload, kind="portal.human_check.failed"):
    """Someone tried to pass the check that only a person may do."""

    session: int
    letters: str


class PortalSessionEnded(Payload, kind="portal.session.ended"):
    """A session ended."""

    effect: ClassVar[EffectType] = "none"
    session: int
    reason: SessionEnd


class PageViewed(Payload, kind="portal.page.viewed"):
    """A page was sent, as the user saw it then."""

    effect: ClassVar[EffectType] = "none"
    sums_up: ClassVar[bool] = True
    state_fields: ClassVar[frozenset[str]] = frozenset({"html"})
    session: int
    page: str
    title: str
    records: tuple[str, ...] = ()
    """What it showed: `member/CM002/CM974622051/0`, `request/R123456789`, `claim/…`, `draft/…`, `letter/…`,
    `policy/CM-RAD-014/2026.1`."""
    shown: dict[str, Any] = {}
    """Values that matter, such as the status of a request."""
    html: bytes = b""
    """The page without session and CSRF token, with paths relative to the sandbox."""


class SubmitRefused(Payload, kind="portal.submit.refused"):
    """What a user sent was refused, and nothing was changed."""

    effect: ClassVar[EffectType] = "none"
    sums_up: ClassVar[bool] = True
    state_fields: ClassVar[frozenset[str]] = frozenset({"html"})
    session: int
    page: str
    action: str = ""
    """The button."""
    problems: tuple[dict[str, str], ...]
    """Field and text of each."""
    reason: str = ""
    """Why the payer rejected it, such as `duplicate_request`."""
    html: bytes = b""


class Searched(Payload, kind="portal.searched"):
    """A user searched."""

    effect: ClassVar[EffectType] = "none"
    session: int
    subject: SearchSubject
    terms: dict[str, str]
    records: tuple[str, ...] = ()
    """What was found."""
    rejection: str = ""
    """Why the payer did not answer."""


class MemberFound(Payload, kind="portal.member.found"):
    """A user identified a member, who gets a number of the portal."""

    is_by_sandbox: ClassVar[bool] = True
    effect: ClassVar[EffectType] = "none"
    session: int
    ref: str
    member_key: str
    patient: str = ""


class DraftSaved(Payload, kind="portal.draft.saved"):
    """A draft was begun or saved."""

    effect: ClassVar[EffectType] = "state"
    session: int
    draft: RequestDraft


class DraftDeleted(Payload, kind="portal.draft.deleted"):
    """A draft was deleted."""

    session: int
    id: str


class RequestFiled(Payload, kind="portal.request.filed"):
    """A request was submitted, and the payer has it."""

    session: int
    user: str
    draft: str
    """The id of its draft; empty if it was submitted at once by the API."""
    reference: str
    status: str
    number: str | None = None
    member_key: str
    patient: str = ""
    procedure_codes: tuple[str, ...] = ()
    contact: str = ""
    """Whom the payer may ask: name and phone number."""


class RequestNotNeeded(Payload, kind="portal.request.not_needed"):
    """A request was submitted for services that need no authorization. Nothing was filed."""

    session: int
    user: str
    draft: str
    member_key: str
    procedure_codes: tuple[str, ...] = ()


class RequestReplied(Payload, kind="portal.request.replied"):
    """A user answered questions of the payer, or sent documents, for a request."""

    session: int
    user: str
    reference: str
    answers: dict[str, str | bool | float] = {}
    documents: tuple[str, ...] = ()
    note: str = ""
    status: str


class RequestChanged(Payload, kind="portal.request.changed"):
    """A user changed what a request asks for."""

    session: int
    user: str
    reference: str
    changes: dict[str, Any]
    status: str


class RequestWithdrawn(Payload, kind="portal.request.withdrawn"):
    """A user withdrew a request."""

    session: int
    user: str
    reference: str


class AppealSubmitted(Payload, kind="portal.appeal.submitted"):
    """A user appealed against the denial of a request."""

    session: int
    user: str
    reference: str
    appeal: str
    reason: str
    documents: tuple[str, ...] = ()


class LetterReceived(Payload, kind="portal.letter.received"):
    """A letter of a payer arrived in the inbox."""

    is_by_sandbox: ClassVar[bool] = True
    letter: Letter


class LetterOpened(Payload, kind="portal.letter.opened"):
    """A user opened a letter."""

    effect: ClassVar[EffectType] = "state"
    session: int
    id: str


class Downloaded(Payload, kind="portal.downloaded"):
    """A user downloaded a letter, a document or a policy."""

    effect: ClassVar[EffectType] = "none"
    session: int
    what: Literal["letter", "document", "policy"]
    id: str


class ErrorShown(Payload, kind="portal.error.shown"):
    """A submission was answered with an error page."""

    effect: ClassVar[EffectType] = "none"
    sums_up: ClassVar[bool] = True
    state_fields: ClassVar[frozenset[str]] = frozenset({"html"})
    session: int
    page: str
    is_filed: bool
    """Whether the submission was carried out all the same."""
    number: str
    """The number of the error on the page."""
    html: bytes = b""


class AnnouncementPublished(Payload, kind="portal.announcement.published"):
    """An announcement was published."""

    announcement: Announcement


class SiteChanged(Payload, kind="portal.site.changed"):
    """The portal looks or works otherwise from now on. What is None stays."""

    version: int | None = None
    layout: Literal["wizard", "one_page"] | None = None
    maintenance: str | None = None


EVENTS = (
    SignedIn,
    CodeSent,
    CodeEntered,
    PasswordChanged,
    HumanCheckAsked,
    HumanCheckFailed,
    PortalSessionEnded,
    PageViewed,
    SubmitRefused,
    Searched,
    MemberFound,
    DraftSaved,
    DraftDeleted,
    DocumentUploaded,
    DocumentRemoved,
    RequestFiled,
    RequestNotNeeded,
    RequestReplied,
    RequestChanged,
    RequestWithdrawn,
    AppealSubmitted,
    LetterReceived,
    LetterOpened,
    Downloaded,
    ErrorShown,
    AnnouncementPublished,
    SiteChanged,
)
