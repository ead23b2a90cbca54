"""What providers do with authorizations: request, update, cancel, inquire. Each call is logged."""

from clerkship.payer.answer import Authorization, AuthorizationAnswer, Member, Rejection
from clerkship.payer.authorizations import (
    Moment,
    check_coverage,
    check_services,
    decide_authorization,
    find_duplicate,
    find_plan_id,
    is_expired,
    is_required,
    is_same_request,
    list_contexts,
    merge_update,
    open_authorization,
    wait_for_decision,
)
from clerkship.payer.events import (
    AuthorizationCancelled,
    AuthorizationDetermined,
    AuthorizationEvent,
    AuthorizationNotRequired,
    AuthorizationRejected,
    AuthorizationRequested,
    AuthorizationUpdated,
    RequestKind,
    build_authorization_inquiry,
    describe_authorization,
    describe_party,
)
from clerkship.payer.inquiry import AuthorizationQuery, PartyQuery
from clerkship.payer.matching import Parties, identify_parties, reject
from clerkship.payer.records import PayerRecords
from clerkship.sandbox.state import ActionContext

_CLOSED_STATUSES = ("denied", "cancelled")


def request_authorization(
    records: PayerRecords, action: ActionContext, query: AuthorizationQuery, moment: Moment
) -> AuthorizationAnswer:
    """Accept, decide or reject a request."""
    parties = identify_parties(records, query)
    member = parties.member
    if member is None:
        return _reject(action, "requested", query, parties)
    rejection = check_services(query, moment.today) or check_coverage(query, member, moment.today)
    rejection = rejection or _check_duplicate(records, query, member, moment)
    if rejection is not None:
        return _reject(action, "requested", query, parties._replace(rejection=rejection))
    plan = find_plan_id(member, query, moment.today)
    if not any(is_required(records, context) for context in list_contexts(query, member, plan)):
        return _report_not_required(action, query, parties, member)
    authorization = open_authorization(records, query, member, moment)
    return _answer(parties, _log_decision(records, action, AuthorizationRequested, authorization, moment))


def _check_duplicate(
    records: PayerRecords, query: AuthorizationQuery, member: Member, moment: Moment
) -> Rejection | None:
    earlier = find_duplicate(records, query, member, moment.today)
    if earlier is None:
        return None
    text = f"The same request exists already: {earlier.id} ({earlier.status})."
    if not records.may_read_authorization(query.provider_id, earlier):
        text = "The same request of another provider exists already."
    return reject("duplicate_request", "request", text)


def _log_decision(
    records: PayerRecords,
    action: ActionContext,
    event: type[AuthorizationEvent],
    authorization: Authorization,
    moment: Moment,
) -> Authorization:
    """Log what the provider did, and the decision if there is one at once; return the record after both."""
    member = records.get_member(authorization.member_key)
    decided = decide_authorization(records, authorization, moment)
    if decided.status == "pending":
        action.emit(event(**describe_authorization(decided, member)))
    else:
        action.emit(event(**describe_authorization(authorization, member)))
        action.emit(AuthorizationDetermined(**describe_authorization(decided, member)))
    return records.authorizations[authorization.id]


def _report_not_required(
    action: ActionContext, query: AuthorizationQuery, parties: Parties, member: Member
) -> AuthorizationAnswer:
    codes = tuple(service.procedure_code for service in query.services)
    action.emit(AuthorizationNotRequired(**describe_party(query, member), procedure_codes=codes, query=query))
    text = f"No authorization is needed for {', '.join(codes) or 'this request'}."
    return _answer(parties).model_copy(update={"is_required": False, "text": text})


def _answer(parties: Parties, *authorizations: Authorization) -> AuthorizationAnswer:
    return AuthorizationAnswer(
        payer_name=parties.payer_name,
        provider_name=parties.provider_name,
        rejection=parties.rejection,
        member=parties.member,
        authorizations=authorizations,
    )


def _reject(
    action: ActionContext, request: RequestKind, query: PartyQuery, parties: Parties, reference: str | None = None
) -> AuthorizationAnswer:
    if parties.rejection is not None:
        services = query.services if isinstance(query, AuthorizationQuery) else ()
        action.emit(
            AuthorizationRejected(
                **describe_party(query, parties.member),
                request=request,
                rejection=parties.rejection.reason,
                reference=reference,
                procedure_codes=tuple(service.procedure_code for service in services),
                query=query,
                answer=parties.rejection,
            )
        )
    return _answer(parties)


def update_authorization(
    records: PayerRecords,
    action: ActionContext,
    reference: str,
    query: AuthorizationQuery,
    moment: Moment,
    *,
    is_peer_review: bool = False,
) -> AuthorizationAnswer:
    """Add information to a request, or change what it asks for, and decide it again."""
    parties = identify_parties(records, query)
    member = parties.member
    if member is None:
        return _reject(action, "updated", query, parties, reference)
    authorization = find_own(records, query, member, reference)
    if isinstance(authorization, Rejection):
        return _reject(action, "updated", query, parties._replace(rejection=authorization), reference)
    updated = authorization.model_copy(update={"query": merge_update(authorization, query)})
    rejection = _check_denial(records, authorization, moment) if is_peer_review else None
    rejection = rejection or _check_update(authorization, updated, member, moment, is_peer_review=is_peer_review)
    if rejection is not None:
        return _reject(action, "updated", query, parties._replace(rejection=rejection), reference)
    waiting = wait_for_decision(updated, None)
    return _answer(parties, _log_decision(records, action, AuthorizationUpdated, waiting, moment))


def _check_denial(records: PayerRecords, authorization: Authorization, moment: Moment) -> Rejection | None:
    """Return why a physician of the payer does not decide a denied request again; None if one does."""
    if authorization.status != "denied" or authorization.decided is None:
        return reject("authorization_closed", "request", f"{authorization.id} is {authorization.status}, not denied.")
    if moment.now - authorization.decided > records.config.peer_review_period:
        text = f"The time for a peer-to-peer review of {authorization.id} is over. Appeal against it."
        return reject("authorization_closed", "request", text)
    return None


def _check_update(
    authorization: Authorization, updated: Authorization, member: Member, moment: Moment, *, is_peer_review: bool
) -> Rejection | None:
    if authorization.status in _CLOSED_STATUSES and not is_peer_review:
        advice = " Appeal against it, or send a new request." if authorization.status == "denied" else ""
        return reject("authorization_closed", "request", f"{authorization.id} is {authorization.status}.{advice}")
    if is_expired(authorization, moment.today):
        text = f"{authorization.id} was valid until {authorization.valid_to}. Send a new request."
        return reject("authorization_closed", "request", text)
    if is_same_request(updated.query, authorization.query):
        return reject("missing_request_data", "request", "The update contains nothing new.")
    return check_services(updated.query, moment.today) or check_coverage(updated.query, member, moment.today)


def find_own(records: PayerRecords, query: PartyQuery, member: Member, reference: str) -> Authorization | Rejection:
    """Return an authorization of a member that the provider requested; or why it may not change it."""
    authorization = records.find_authorization(reference)
    if authorization is None or authorization.member_key != member.key:
        return reject("unknown_authorization", "request", f"There is no authorization {reference} for this member.")
    if not records.may_read(query.provider_id, authorization.query.provider_id):
        return reject("provider_not_allowed", "provider", f"{reference} was requested by another provider.")
    return authorization


def cancel_authorization(
    records: PayerRecords, action: ActionContext, reference: str, query: PartyQuery, moment: Moment
) -> AuthorizationAnswer:
    """Cancel a request, once."""
    parties = identify_parties(records, query)
    member = parties.member
    if member is None:
        return _reject(action, "cancelled", query, parties, reference)
    authorization = find_own(records, query, member, reference)
    if not isinstance(authorization, Rejection) and authorization.status in _CLOSED_STATUSES:
        text = f"{authorization.id} is {authorization.status} already."
        authorization = reject("authorization_closed", "request", text)
    if isinstance(authorization, Rejection):
        return _reject(action, "cancelled", query, parties._replace(rejection=authorization), reference)
    services = tuple(each.model_copy(update={"status": "cancelled"}) for each in authorization.services)
    cancelled = wait_for_decision(authorization, None).model_copy(
        update={
            "status": "cancelled",
            "services": services,
            "number": authorization.number,
            "decided": moment.now,
        }
    )
    action.emit(AuthorizationCancelled(**describe_authorization(cancelled, member)))
    return _answer(parties, records.authorizations[cancelled.id])


def find_authorizations(
    records: PayerRecords, action: ActionContext, query: PartyQuery, reference: str | None
) -> AuthorizationAnswer:
    """Return the authorizations of a person, or the one with a number, that the provider may read."""
    parties = identify_parties(records, query)
    known = records.list_authorizations(parties.member.key) if parties.member is not None else []
    matches = [
        each
        for each in known
        if records.may_read_authorization(query.provider_id, each) and reference in (None, each.id, each.number)
    ]
    answer = _answer(parties, *matches)
    action.emit(build_authorization_inquiry(query, reference, answer))
    return answer


def decide_due(records: PayerRecords, action: ActionContext, authorization: Authorization, moment: Moment) -> None:
    """Decide a pending request whose decision is due."""
    decided = decide_authorization(records, authorization, moment, is_due=True)
    member = records.get_member(authorization.member_key)
    action.emit(AuthorizationDetermined(**describe_authorization(decided, member)))
