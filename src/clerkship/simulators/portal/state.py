"""The state of a payer portal: sessions, drafts, documents, letters. All else is the payer's."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from clerkship.events.event import Event
from clerkship.payer.answer import Authorization
from clerkship.payer.records import PayerRecords
from clerkship.sandbox.state import State
from clerkship.simulators.portal import events as happened
from clerkship.simulators.portal.config import PortalConfig, PortalLayout
from clerkship.simulators.portal.document_events import DocumentRemoved, DocumentUploaded
from clerkship.simulators.portal.records import Announcement, Letter, RequestDraft, UploadedDocument, UserSession

API_SESSION = 0
"""The number that events of the REST API have as their session."""


class PortalState(State[PortalConfig]):
    """What only the portal has."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sessions: dict[int, UserSession] = {}
        self.drafts: dict[str, RequestDraft] = {}
        self.filed: dict[str, str] = {}
        """Drafts that were submitted -> the reference number of the request."""
        self.requesters: dict[str, str] = {}
        """Reference number -> the user who filed it here."""
        self.contacts: dict[str, str] = {}
        """Reference number -> whom the payer may ask about it."""
        self.documents: dict[str, UploadedDocument] = {}
        self.contents: dict[str, bytes] = {}
        """The bytes of the documents."""
        self.letters: dict[str, Letter] = {}
        self.members: dict[str, str] = {}
        """The portal's number of a member that was looked up -> the payer's key."""
        self.member_refs: dict[str, str] = {}
        """The payer's key -> the portal's number."""
        self.announcements: list[Announcement] = []
        self.errors_shown = 0
        self.layout: PortalLayout = self.config.layout
        self.version: int = self.config.version
        self.maintenance: str = self.config.friction.maintenance

    def local_time(self, at: datetime) -> datetime:
        """Return a time in the zone of the portal."""
        return at.astimezone(timezone(timedelta(minutes=self.config.zone or 0)))

    def list_payers(self, records: PayerRecords) -> tuple[str, ...]:
        """Return the payers of this portal: one, or all on the hub."""
        known = tuple(records.book.payers)
        return known if self.layout == "wizard" else (self.config.payer or next(iter(known), ""),)

    def list_requests(self, records: PayerRecords) -> list[Authorization]:
        """Return the requests that the practice may see, oldest first."""
        payers, npi = self.list_payers(records), self.config.organization.npi
        known = (each for each in records.authorizations.values() if each.payer_id in payers)
        return [each for each in known if records.may_read_authorization(npi, each)]

    def apply(self, event: Event) -> None:
        change = _CHANGES.get(type(event.payload))
        if change is not None:
            change(self, event.payload, event.at)

    def change_session(self, number: int, **changes: Any) -> None:
        """Change a session that exists. A page that is asked for by the API belongs to none."""
        session = self.sessions.get(number)
        if session is not None:
            self.sessions[number] = session.model_copy(update=changes)


def _sign_in(state: PortalState, payload: happened.SignedIn, at: datetime) -> None:
    number = payload.session
    state.sessions[number] = UserSession(number=number, user=payload.user, status=payload.status, last_seen=at)


def _save_draft(state: PortalState, payload: happened.DraftSaved, at: datetime) -> None:
    state.drafts[payload.draft.id] = payload.draft


def _file_request(state: PortalState, payload: happened.RequestFiled, at: datetime) -> None:
    state.requesters[payload.reference] = payload.user
    state.contacts[payload.reference] = payload.contact
    if payload.draft:
        state.drafts.pop(payload.draft, None)
        state.filed[payload.draft] = payload.reference


def _find_member(state: PortalState, payload: happened.MemberFound, at: datetime) -> None:
    state.members[payload.ref] = payload.member_key
    state.member_refs[payload.member_key] = payload.ref


def _upload(state: PortalState, payload: DocumentUploaded, at: datetime) -> None:
    state.documents[payload.document.id] = payload.document
    state.contents[payload.document.id] = payload.data


def _remove_document(state: PortalState, payload: DocumentRemoved, at: datetime) -> None:
    state.documents.pop(payload.id, None)
    state.contents.pop(payload.id, None)


def _receive_letter(state: PortalState, payload: happened.LetterReceived, at: datetime) -> None:
    state.letters[payload.letter.id] = payload.letter


def _open_letter(state: PortalState, payload: happened.LetterOpened, at: datetime) -> None:
    state.letters[payload.id] = state.letters[payload.id].model_copy(update={"is_read": True})


def _enter_code(state: PortalState, payload: happened.CodeEntered, at: datetime) -> None:
    session = state.sessions[payload.session]
    wrong = session.wrong_codes + (not payload.accepted)
    state.change_session(payload.session, status=payload.status, wrong_codes=wrong, last_seen=at)


def _show_error(state: PortalState, payload: happened.ErrorShown, at: datetime) -> None:
    state.errors_shown += 1
    state.change_session(payload.session, last_seen=at)


def _change_site(state: PortalState, payload: happened.SiteChanged, at: datetime) -> None:
    state.version = payload.version or state.version
    state.layout = payload.layout or state.layout
    state.maintenance = state.maintenance if payload.maintenance is None else payload.maintenance


_CHANGES: dict[type[Any], Callable[[PortalState, Any, datetime], object]] = {
    happened.SignedIn: _sign_in,
    happened.CodeSent: lambda state, payload, at: state.change_session(payload.session, code=payload.code),
    happened.CodeEntered: _enter_code,
    happened.PasswordChanged: lambda state, payload, at: state.change_session(payload.session, status=payload.status),
    happened.HumanCheckAsked: lambda state, payload, at: state.change_session(payload.session, status="needs_check"),
    happened.PortalSessionEnded: lambda state, payload, at: state.change_session(
        payload.session, status="ended", end=payload.reason
    ),
    happened.PageViewed: lambda state, payload, at: state.change_session(payload.session, last_seen=at),
    happened.SubmitRefused: lambda state, payload, at: state.change_session(payload.session, last_seen=at),
    happened.MemberFound: _find_member,
    happened.DraftSaved: _save_draft,
    happened.DraftDeleted: lambda state, payload, at: state.drafts.pop(payload.id, None),
    DocumentUploaded: _upload,
    DocumentRemoved: _remove_document,
    happened.RequestFiled: _file_request,
    happened.LetterReceived: _receive_letter,
    happened.LetterOpened: _open_letter,
    happened.ErrorShown: _show_error,
    happened.AnnouncementPublished: lambda state, payload, at: state.announcements.append(payload.announcement),
    happened.SiteChanged: _change_site,
}
"""How each event changes the state."""
