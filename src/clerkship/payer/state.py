"""The state of the payers, and what providers and the scenario do to it.

See docs/decisions/0019-payer-domain.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from clerkship.events.event import Event
from clerkship.payer import appeals, authorization_requests, scenario_changes
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
from clerkship.payer.authorizations import Moment
from clerkship.payer.book import PayerBook, PayerDataset
from clerkship.payer.config import PayerConfig
from clerkship.payer.determination_rule import Determination
from clerkship.payer.eligibility import answer_eligibility
from clerkship.payer.events import (
    AppealEvent,
    AuthorizationEvent,
    ClaimChanged,
    DeterminationSet,
    EligibilityChanged,
    FaxUnmatched,
    build_claim_inquiry,
    build_eligibility_event,
)
from clerkship.payer.faxed_records import find_faxed_requests
from clerkship.payer.inquiry import AuthorizationQuery, ClaimQuery, EligibilityInquiry, PartyQuery
from clerkship.payer.matching import identify_parties
from clerkship.payer.money import MAX_ERROR
from clerkship.payer.records import PayerRecords
from clerkship.sandbox.agenda import find_first_due
from clerkship.sandbox.plain_data import dump_attributes
from clerkship.sandbox.state import ActionContext, DueWork, State


def answer_claims(records: PayerRecords, query: ClaimQuery) -> ClaimAnswer:
    """Return the claims of a person that match a query, oldest first; none if the provider did not send them."""
    parties = identify_parties(records, query)
    names = {"payer_name": parties.payer_name, "provider_name": parties.provider_name}
    if parties.member is None:
        return ClaimAnswer(**names, rejection=parties.rejection)
    claims = (each for each in records.list_claims(parties.member.key) if matches_claim(each, query))
    readable = tuple(each for each in claims if records.may_read(query.provider_id, each.provider_id))
    return ClaimAnswer(**names, member=parties.member, claims=readable)


def matches_claim(claim: PayerClaim, query: ClaimQuery) -> bool:
    """Return whether a claim has the numbers and the charge of a query, and a day of service in its period."""
    if query.claim_number is not None and query.claim_number.strip() != claim.number:
        return False
    if query.account is not None and query.account.strip() != claim.account:
        return False
    if query.charge is not None and abs(query.charge - claim.charge) > MAX_ERROR:
        return False
    first, last = query.start or query.end, query.end or query.start
    return (first is None or claim.end >= first) and (last is None or claim.start <= last)


class PayerState(State[PayerConfig]):
    """All payers of an environment: who is covered, what is authorized, appealed and claimed.

    A request that a payer does not process is answered with a Rejection. It is logged, and changes nothing.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        base = getattr(self.records, "base", None)
        dataset = base if isinstance(base, PayerDataset) else PayerDataset(())
        self.current = PayerRecords(dataset.open_book(self.config))
        """The records as they are now."""

    @property
    def book(self) -> PayerBook:
        """The records at the start of the trial."""
        return self.current.book

    def name_payer(self, id: str) -> str:
        """Return the name of a payer; empty if it is unknown."""
        payer = self.current.find_payer(id)
        return (payer.name or "") if payer else ""

    def find_today(self, now: datetime) -> date:
        """Return the day at the payers."""
        return now.astimezone(self.config.local_zone).date()

    def _find_moment(self, action: ActionContext) -> Moment:
        return Moment(action.now, self.find_today(action.now))

    def check_eligibility(
        self, action: ActionContext, inquiry: EligibilityInquiry, reference: str | None = None
    ) -> EligibilityAnswer:
        """Answer whether a person is covered on a day, and for what.

        `reference` names the request that asks, such as `CoverageEligibilityRequest/12`; the event has it.
        """
        answer = answer_eligibility(self.current, inquiry, self.find_today(action.now))
        action.emit(build_eligibility_event(inquiry, answer, reference))
        return answer

    def request_authorization(self, action: ActionContext, query: AuthorizationQuery) -> AuthorizationAnswer:
        """Accept, decide or reject a request.

        If none of its services needs an authorization, the answer says so (`is_required` is false) and nothing is
        stored.
        """
        return authorization_requests.request_authorization(self.current, action, query, self._find_moment(action))

    def update_authorization(
        self, action: ActionContext, reference: str, query: AuthorizationQuery
    ) -> AuthorizationAnswer:
        """Add answers, documents or other information to a request, or change its services, and decide it again.

        `reference` is the payer's reference number or the authorization number. What the update does not give stays.
        """
        return authorization_requests.update_authorization(
            self.current, action, reference, query, self._find_moment(action)
        )

    def review_denial(self, action: ActionContext, reference: str, query: AuthorizationQuery) -> AuthorizationAnswer:
        """Decide a denied request again, with what its clinician told a physician of the payer.

        Rejected if nothing new was told, or the denial is older than `peer_review_period`.
        """
        return authorization_requests.update_authorization(
            self.current, action, reference, query, self._find_moment(action), is_peer_review=True
        )

    def file_fax(self, action: ActionContext, payer_id: str, fax: str, pages: Iterable[str]) -> None:
        """Add faxed records to the request whose number is on their pages, and decide it again.

        A fax that names no request, or several, is filed with none.
        """
        matches = find_faxed_requests(self.current, payer_id, pages)
        if len(matches) != 1:
            action.emit(FaxUnmatched(payer_id=payer_id, fax=fax, references=tuple(each.id for each in matches)))
            return
        [request] = matches
        party = {name: getattr(request.query, name) for name in PartyQuery.model_fields}
        self.update_authorization(action, request.id, AuthorizationQuery(**party, attachments=(fax,)))

    def cancel_authorization(self, action: ActionContext, reference: str, query: PartyQuery) -> AuthorizationAnswer:
        """Cancel a request of the provider, or of its organization. It can be cancelled once."""
        return authorization_requests.cancel_authorization(
            self.current, action, reference, query, self._find_moment(action)
        )

    def find_authorizations(
        self, action: ActionContext, query: PartyQuery, reference: str | None = None
    ) -> AuthorizationAnswer:
        """Return the authorizations of a person, or the one with a number, that the provider may read."""
        return authorization_requests.find_authorizations(self.current, action, query, reference)

    def appeal(
        self, action: ActionContext, query: PartyQuery, of: str, reason: str, attachments: Sequence[str] = ()
    ) -> Appeal | Rejection:
        """File an appeal against a denied authorization or claim, by its number."""
        moment = self._find_moment(action)
        appeal = appeals.build_appeal(self.current, query, of, reason, tuple(attachments), moment)
        return appeals.file_appeal(self.current, action, query, appeal, moment)

    def find_claims(self, action: ActionContext, query: ClaimQuery) -> ClaimAnswer:
        """Return the claims of a person that match and that the provider may read, oldest first."""
        answer = answer_claims(self.current, query)
        action.emit(build_claim_inquiry(query, answer))
        return answer

    def set_determination(
        self, action: ActionContext, rule: Determination, *, is_open: bool = True, is_lasting: bool = True
    ) -> None:
        """Decide by a rule: the requests that are open now, and those that come later."""
        moment = self._find_moment(action)
        scenario_changes.set_determination(self.current, action, rule, moment, is_open=is_open, is_lasting=is_lasting)

    def set_authorization(
        self, action: ActionContext, member: Member, recorded: scenario_changes.RecordedAuthorization
    ) -> None:
        """Record an authorization from an earlier day."""
        scenario_changes.set_authorization(self.current, action, member, recorded, self.find_today(action.now))

    def set_eligibility(
        self, action: ActionContext, member: Member, changes: Mapping[str, Any], used: Mapping[str, Any]
    ) -> None:
        """Change fields of the policy in force, and what the member has used this year."""
        today = self.find_today(action.now)
        scenario_changes.set_eligibility(self.current, action, member, changes, used, today)

    def set_claim(self, action: ActionContext, claim: PayerClaim, changes: Mapping[str, Any]) -> None:
        """Change the status and the amounts of a claim."""
        scenario_changes.set_claim(self.current, action, claim, changes, self.find_today(action.now))

    def next_due(self) -> DueWork | None:
        """Return the earliest decision on a pending request or an appeal."""
        return find_first_due(self.current.agenda)

    def run_due(self, action: ActionContext) -> None:
        """Make the earliest decision."""
        first, moment = self.current.agenda.first(), self._find_moment(action)
        record = None if first is None else self.current.waiting[first[1]]
        if isinstance(record, Authorization):
            authorization_requests.decide_due(self.current, action, record, moment)
        elif record is not None:
            appeals.decide_appeal(self.current, action, record, moment)

    def apply(self, event: Event) -> None:
        payload, current = event.payload, self.current
        if isinstance(payload, AuthorizationEvent):
            current.store_authorization(payload.authorization, event.seq)
        elif isinstance(payload, AppealEvent):
            current.store_appeal(payload.appeal, event.seq)
        elif isinstance(payload, ClaimChanged):
            current.claims[payload.number] = payload.claim
        elif isinstance(payload, EligibilityChanged):
            current.members[payload.member.key] = payload.member
            current.accumulators[payload.member.key] = payload.accumulators
        elif isinstance(payload, DeterminationSet):
            rule = Determination.model_validate(payload.rule)
            current.add_determination(rule, payload.references, is_lasting=payload.is_lasting)

    def dump(self) -> Any:
        """Return everything that differs from the start, as plain data."""
        return dump_attributes(self.current, without=("book", "waiting"))
