"""The state of the payers, and what providers and the scenario do to it.

See docs/decisions/0019-payer-domain.md.
"""

from collections.abc import MutableMapping
from datetime import date, timedelta, timezone
from typing import Any, cast

from clerkship.domains.payer.answer import (
    Authorization,
    AuthorizationAnswer,
    ClaimAnswer,
    EligibilityAnswer,
    Member,
    Rejection,
)
from clerkship.domains.payer.authorizations import (
    Moment,
    check_request,
    decide_authorization,
    find_plan_id,
    is_required,
    list_contexts,
    open_authorization,
)
from clerkship.domains.payer.book import PayerBook, PayerDataset
from clerkship.domains.payer.claims import answer_claims
from clerkship.domains.payer.config import PayerConfig, PayerEntry
from clerkship.domains.payer.determination_rule import Determination
from clerkship.domains.payer.eligibility import answer_eligibility
from clerkship.domains.payer.events import (
    AuthorizationDetermined,
    AuthorizationEvent,
    AuthorizationNotRequired,
    AuthorizationRejected,
    AuthorizationRequested,
    ClaimChanged,
    DeterminationSet,
    EligibilityChanged,
    RequestKind,
    build_authorization_inquiry,
    build_claim_inquiry,
    build_eligibility_event,
    describe_authorization,
    describe_party,
)
from clerkship.domains.payer.inquiry import AuthorizationQuery, ClaimQuery, EligibilityInquiry, PartyQuery
from clerkship.domains.payer.matching import Parties, identify_parties
from clerkship.domains.payer.members import ProviderOnFile
from clerkship.domains.payer.records import PayerRecords
from clerkship.events.event import Event
from clerkship.model.frozen import Frozen
from clerkship.sandbox.state import ActionContext, DueWork, State


class PayerState(State):
    """All payers of an environment: who is covered, what is authorized, appealed and claimed."""

    def __init__(self, config: Frozen, records: MutableMapping[str, Any]) -> None:
        super().__init__(config, records)
        base = getattr(records, "base", None)
        dataset = base if isinstance(base, PayerDataset) else PayerDataset(())
        self.current = PayerRecords(dataset.open_book(self.settings))
        """The records as they are now."""

    @property
    def settings(self) -> PayerConfig:
        """The config."""
        return cast(PayerConfig, self.config)

    @property
    def book(self) -> PayerBook:
        """The records at the start of the trial."""
        return self.current.book

    def find_payer(self, id: str) -> PayerEntry | None:
        """Return a payer by its number; None if it is unknown."""
        return self.current.find_payer(id)

    def find_provider(self, npi: str) -> ProviderOnFile | None:
        """Return a provider by its NPI; None if it is not on file."""
        return self.current.find_provider(npi)

    def find_today(self, action: ActionContext) -> date:
        """Return the day at the payers."""
        return action.now.astimezone(timezone(timedelta(minutes=self.settings.zone or 0))).date()

    def check_eligibility(
        self, action: ActionContext, inquiry: EligibilityInquiry, reference: str | None = None
    ) -> EligibilityAnswer:
        """Answer whether a person is covered on a day, and for what.

        `reference` names the request that asks, such as `CoverageEligibilityRequest/12`; the event has it.
        """
        answer = answer_eligibility(self.current, inquiry, self.find_today(action))
        action.emit(build_eligibility_event(inquiry, answer, reference))
        return answer

    def request_authorization(self, action: ActionContext, query: AuthorizationQuery) -> AuthorizationAnswer:
        """Accept, decide or reject a request.

        If none of its services needs an authorization, the answer says so (`is_required` is false) and nothing is
        stored.
        """
        parties, moment = identify_parties(self.current, query), self._find_moment(action)
        if parties.member is None:
            return self._reject(action, "requested", query, parties, None)
        rejection = check_request(self.current, query, parties.member, moment.today)
        if rejection is not None:
            return self._reject(action, "requested", query, parties._replace(rejection=rejection), None)
        plan = find_plan_id(parties.member, query, moment.today)
        if not any(is_required(self.current, each) for each in list_contexts(query, parties.member, plan)):
            return self._report_not_required(action, query, parties, parties.member)
        authorization = open_authorization(self.current, query, parties.member, moment)
        action.emit(AuthorizationRequested(**describe_authorization(authorization, parties.member)))
        return self._answer(parties, self._decide(action, authorization, parties.member))

    def _report_not_required(
        self, action: ActionContext, query: AuthorizationQuery, parties: Parties, member: Member
    ) -> AuthorizationAnswer:
        codes = tuple(service.procedure_code for service in query.services)
        action.emit(AuthorizationNotRequired(**describe_party(query, member), procedure_codes=codes, query=query))
        text = f"No authorization is needed for {', '.join(codes) or 'this request'}."
        return AuthorizationAnswer(
            payer_name=parties.payer_name,
            provider_name=parties.provider_name,
            member=member,
            is_required=False,
            text=text,
        )

    def _decide(
        self, action: ActionContext, authorization: Authorization, member: Member, *, is_due: bool = False
    ) -> Authorization:
        """Decide a request and log the decision. If nothing has changed, nothing is logged."""
        decided = decide_authorization(self.current, authorization, self._find_moment(action), is_due=is_due)
        if decided != authorization:
            action.emit(AuthorizationDetermined(**describe_authorization(decided, member)))
        return self.current.authorizations[authorization.id]

    def _find_moment(self, action: ActionContext) -> Moment:
        return Moment(action.now, self.find_today(action))

    def _answer(self, parties: Parties, *authorizations: Authorization) -> AuthorizationAnswer:
        return AuthorizationAnswer(
            payer_name=parties.payer_name,
            provider_name=parties.provider_name,
            rejection=parties.rejection,
            member=parties.member,
            authorizations=authorizations,
        )

    def _reject(
        self, action: ActionContext, request: RequestKind, query: PartyQuery, parties: Parties, reference: str | None
    ) -> AuthorizationAnswer:
        rejection = cast(Rejection, parties.rejection)
        action.emit(
            AuthorizationRejected(
                **describe_party(query, parties.member),
                request=request,
                rejection=rejection.reason,
                reference=reference,
                procedure_codes=tuple(service.procedure_code for service in getattr(query, "services", ())),
                query=query,
                answer=rejection,
            )
        )
        return self._answer(parties)

    def find_authorizations(
        self, action: ActionContext, query: PartyQuery, reference: str | None = None
    ) -> AuthorizationAnswer:
        """Return the authorizations of a person, or the one with a number, that the provider may read."""
        parties = identify_parties(self.current, query)
        matches: list[Authorization] = []
        if parties.member is not None:
            matches = [
                each
                for each in self.current.list_authorizations(parties.member.key)
                if self._may_read(query.provider_id, each) and reference in (None, each.id, each.number)
            ]
        answer = self._answer(parties, *matches)
        action.emit(build_authorization_inquiry(query, reference, answer))
        return answer

    def _may_read(self, npi: str, authorization: Authorization) -> bool:
        """Return whether a provider requested an authorization, or is to perform one of its services."""
        performers = [service.performer_id for service in authorization.query.services if service.performer_id]
        owners = [authorization.query.provider_id, *performers]
        return any(self.current.may_read(npi, owner) for owner in owners)

    def find_claims(self, action: ActionContext, query: ClaimQuery) -> ClaimAnswer:
        """Return the claims of a person that match and that the provider may read, oldest first."""
        answer = answer_claims(self.current, query)
        action.emit(build_claim_inquiry(query, answer))
        return answer

    def next_due(self) -> DueWork | None:
        """Return the earliest decision of a pending request."""
        due = [
            (each.decision_due, each.cause, each.id)
            for each in self.current.authorizations.values()
            if each.decision_due is not None
        ]
        if not due:
            return None
        at, cause, _ = min(due)
        return DueWork(at, cause)

    def apply(self, event: Event) -> None:
        """Store the record that an event carries."""
        payload, current = event.payload, self.current
        if isinstance(payload, AuthorizationEvent):
            record = payload.authorization
            if record.decision_due is not None:
                record = record.model_copy(update={"cause": event.seq})
            current.authorizations[record.id] = record
        elif isinstance(payload, ClaimChanged):
            current.claims[payload.number] = payload.claim
        elif isinstance(payload, EligibilityChanged):
            current.members[payload.member.key] = payload.member
            current.accumulators[payload.member.key] = payload.accumulators
        elif isinstance(payload, DeterminationSet):
            current.add_determination(
                Determination.model_validate(payload.rule), payload.references, is_lasting=payload.is_lasting
            )

    def dump(self) -> Any:
        """Return everything that differs from the start, as plain data."""
        return self.current.dump()
