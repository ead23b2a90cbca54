"""What pages and the REST API have in common: who asks, what they may see, and the words of refusals."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from functools import cached_property

from clerkship.payer.answer import Authorization, EligibilityAnswer, Member, Rejection
from clerkship.payer.authorizations import is_expired
from clerkship.payer.inquiry import EligibilityInquiry, PartyQuery, PersonQuery, ServiceType
from clerkship.payer.matching import find_person
from clerkship.payer.records import PayerRecords
from clerkship.payer.state import PayerState
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.portal.config import PortalRight, PortalUser
from clerkship.simulators.portal.events import MemberFound, Searched
from clerkship.simulators.portal.records import RequestDraft
from clerkship.simulators.portal.state import API_SESSION, PortalState
from clerkship.simulators.portal.views import FieldMistake

HUB_NAME = "Lindenway"
NOT_FOUND, FORBIDDEN, CONFLICT, INVALID = 404, 403, 409, 422
RIGHT_NAMES: dict[PortalRight, str] = {
    "eligibility": "eligibility and benefits",
    "authorizations": "authorizations",
    "claims": "claims",
}


class DeskRefusal(Exception):
    """Why something is not done, in the words of the portal. Nothing was changed."""

    def __init__(self, status: int, text: str, what_to_do: str = "") -> None:
        super().__init__(text)
        self.status, self.text, self.what_to_do = status, text, what_to_do


class InvalidForm(DeskRefusal):
    """A form, or the data of an API request, with problems in its fields."""

    def __init__(self, problems: Sequence[FieldMistake], reason: str = "") -> None:
        super().__init__(INVALID, " ".join(problem.text for problem in problems))
        self.problems = tuple(problems)
        self.reason = reason
        """The payer's reason, if the payer rejected it."""


def refuse_field(field: str, text: str, reason: str = "") -> InvalidForm:
    """Build the refusal of one field."""
    return InvalidForm([FieldMistake(field, text)], reason)


class Desk:
    """One request of a user to the portal, with the payers behind it."""

    def __init__(
        self,
        state: PortalState,
        action: ActionContext,
        user: PortalUser,
        session: int = API_SESSION,
        credentials: SandboxCredentials | None = None,
    ) -> None:
        self.state, self.action, self.user, self.session = state, action, user, session
        self.credentials = credentials
        """The credentials of the sandbox, to change the password; None for a client without any."""

    @cached_property
    def payer(self) -> PayerState:
        """The payers."""
        return self.action.domain(PayerState)[0]

    @property
    def payer_action(self) -> ActionContext:
        """The context in which the payers are asked and changed. Its cause is the last event of this request."""
        return self.action.domain(PayerState)[1]

    @property
    def records(self) -> PayerRecords:
        """The records of the payers as they are now."""
        return self.payer.current

    @property
    def npi(self) -> str:
        """The NPI of the practice."""
        return self.state.config.organization.npi

    @cached_property
    def organization(self) -> str:
        """The name of the practice."""
        provider = self.records.find_provider(self.npi)
        return self.state.config.organization.name or (provider.name if provider else self.npi)

    @cached_property
    def today(self) -> date:
        return self.payer.find_today(self.action.now)

    def local_time(self, at: datetime) -> datetime:
        """Return a time in the zone of the portal."""
        return self.state.local_time(at)

    @cached_property
    def payer_ids(self) -> tuple[str, ...]:
        """The payers of this portal: one, or all on the hub."""
        return self.state.list_payers(self.records)

    @property
    def site_name(self) -> str:
        """The name of the site."""
        if self.state.layout == "wizard":
            return HUB_NAME
        return f"{self.name_payer(self.payer_ids[0])} for Providers"

    def name_payer(self, id: str) -> str:
        """Return the name of a payer, or its number."""
        return self.payer.name_payer(id) or id

    def require(self, right: PortalRight) -> None:
        """Refuse a user without a right."""
        if right not in self.user.rights:
            text = f"Your account does not have access to {RIGHT_NAMES[right]}."
            raise DeskRefusal(FORBIDDEN, text, "Ask the administrator of your organization for access.")

    # Members

    def get_member(self, ref: str) -> Member:
        """Return a member that was looked up before; any other number is not found."""
        key = self.state.members.get(ref)
        member = None if key is None else self.records.find_member(key)
        if member is None or member.payer_id not in self.payer_ids:
            raise DeskRefusal(NOT_FOUND, "There is no such member.", "Look the member up again.")
        return member

    def list_members(self) -> list[Member]:
        """Return the members of the payers of this portal that were looked up, the newest first."""
        members = filter(None, map(self.records.find_member, reversed(self.state.member_refs)))
        return [member for member in members if member.payer_id in self.payer_ids]

    def build_party(self, member: Member) -> PartyQuery:
        """Return the query that names a member to its payer."""
        person = PersonQuery(
            member_id=member.member_id,
            family=member.family,
            given=" ".join(member.given),
            birth_date=member.birth_date,
        )
        if member.key.endswith("/0"):
            return PartyQuery(payer_id=member.payer_id, provider_id=self.npi, subscriber=person)
        subscriber = PersonQuery(member_id=member.member_id)
        return PartyQuery(payer_id=member.payer_id, provider_id=self.npi, subscriber=subscriber, dependent=person)

    def find_party(self, payer_id: str, person: PersonQuery) -> PartyQuery:
        """Return the query for whom a user typed: a subscriber, or a dependent under the subscriber's id."""
        party = PartyQuery(payer_id=payer_id, provider_id=self.npi, subscriber=person)
        found = find_person(self.records, party)
        if isinstance(found, Rejection) and person.member_id and person.given and person.birth_date:
            family = party.model_copy(
                update={"subscriber": PersonQuery(member_id=person.member_id), "dependent": person}
            )
            if not isinstance(find_person(self.records, family), Rejection):
                return family
        return party

    def look_up_member(self, payer_id: str, person: PersonQuery) -> Member | Rejection:
        """Find a member by what a user typed, and log the search."""
        answer = self.check_eligibility(self.find_party(payer_id, person))
        terms = {name: str(value) for name, value in person if value is not None}
        rejection = answer.rejection
        if rejection is not None and answer.member is not None:
            rejection = None  # the person is known, and has no policy: the page of the member says so
        records = () if answer.member is None or rejection else (f"member/{answer.member.key}",)
        reason = rejection.reason if rejection else ""
        self.action.emit(
            Searched(
                session=self.session,
                subject="member",
                terms={"payer": payer_id, **terms},
                records=records,
                rejection=reason,
            )
        )
        if rejection is not None or answer.member is None:
            assert rejection is not None
            return rejection
        self.register_member(answer.member)
        return answer.member

    def register_member(self, member: Member) -> str:
        """Return the portal's number of a member, which a member gets when it is first identified."""
        ref = self.state.member_refs.get(member.key)
        if ref is None:
            ref = self.action.ids.new("m")
            self.action.emit(MemberFound(session=self.session, ref=ref, member_key=member.key, patient=member.patient))
        return ref

    def check_eligibility(
        self, party: PartyQuery, service_date: date | None = None, service_types: tuple[ServiceType, ...] = ("plan",)
    ) -> EligibilityAnswer:
        """Ask the payer about coverage and benefits of a person."""
        inquiry = EligibilityInquiry(**dict(party), service_date=service_date, service_types=service_types)
        return self.payer.check_eligibility(self.payer_action, inquiry)

    # Requests and drafts

    def list_requests(self) -> Iterator[Authorization]:
        """Yield the requests that the practice may see, newest first."""
        return reversed(self.state.list_requests(self.records))

    def get_request(self, reference: str) -> Authorization:
        """Return a request by its reference or authorization number; one that the practice may not see is not found."""
        found = self.records.find_authorization(reference)
        if found is None or found.payer_id not in self.payer_ids:
            found = None
        if found is None or not self.records.may_read_authorization(self.npi, found):
            text = f"There is no authorization request {reference[:40]}."
            raise DeskRefusal(NOT_FOUND, text, "Check the number, or search the list of requests.")
        return found

    def is_expired(self, request: Authorization) -> bool:
        """Return whether an approval is no longer valid."""
        return is_expired(request, self.today)

    def get_draft(self, id: str) -> RequestDraft:
        """Return a draft of the practice."""
        draft = self.state.drafts.get(id)
        if draft is None:
            reference = self.state.filed.get(id)
            if reference is not None:
                text = f"This request was already submitted. Its reference number is {reference}."
                raise DeskRefusal(CONFLICT, text, "Open the request to see its status. Do not submit it again.")
            raise DeskRefusal(NOT_FOUND, "There is no such draft.", "Open the list of drafts.")
        return draft
