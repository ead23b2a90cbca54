"""Authorization requests: what is rejected, what needs no authorization, and the record with its decision."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import chain, count
from typing import NamedTuple

from clerkship.payer.answer import (
    Authorization,
    AuthorizationStatus,
    DecidedService,
    Member,
    Rejection,
    RejectionSubject,
)
from clerkship.payer.determination import (
    Decision,
    ServiceContext,
    decide_service,
    matches_request,
    needs_authorization,
    read_answers,
)
from clerkship.payer.determination_rule import Determination
from clerkship.payer.eligibility import check_service_date, find_coverage
from clerkship.payer.inquiry import AuthorizationQuery, RequestedService
from clerkship.payer.matching import reject
from clerkship.payer.numbers import build_number, build_unused_number
from clerkship.payer.records import PayerRecords

OPEN_STATUSES: tuple[AuthorizationStatus, ...] = ("pending", "need_more_info")
APPROVED_STATUSES: tuple[AuthorizationStatus, ...] = ("approved", "modified")
NOT_COVERED = Determination(status="denied", reason="not_covered", text="The plan does not cover this service.")
NOT_REQUIRED = Determination(status="approved", reason="not_required", text="No authorization is needed.")


class Moment(NamedTuple):
    """The simulated time, and the day at the payer."""

    now: datetime
    today: date


def check_coverage(query: AuthorizationQuery, member: Member, today: date) -> Rejection | None:
    """Return a rejection if the member is not covered on the first day of service."""
    day = find_first_day(query) or today
    policy = find_coverage(member, day)
    if policy is not None and policy.status == "active":
        return None
    subject: RejectionSubject = "dependent" if query.dependent is not None else "subscriber"
    return reject("not_eligible", subject, f"The member is not covered on {day}.")


def check_services(query: AuthorizationQuery, today: date) -> Rejection | None:
    """Return what is missing or wrong in what a request asks for; None if nothing is."""
    if not query.services and query.review == "services":
        return reject("missing_request_data", "request", "The request names no service.")
    for service in query.services:
        if not service.procedure_code.strip():
            return reject("missing_request_data", "request", "A service has no procedure code.")
        if service.start is not None and service.end is not None and service.end < service.start:
            text = f"The period of {service.procedure_code} ends ({service.end}) before it starts ({service.start})."
            return reject("invalid_service", "request", text)
    if query.start is not None and query.end is not None and query.end < query.start:
        text = f"The period of the request ends ({query.end}) before it starts ({query.start})."
        return reject("invalid_service", "request", text)
    days = [query.start, *(service.start for service in query.services)]
    return next((rejection for day in days if (rejection := check_service_date(day, today)) is not None), None)


def find_first_day(query: AuthorizationQuery) -> date | None:
    """Return the first day of service that a request names; None if it names none."""
    days = [day for day in (query.start, *(service.start for service in query.services)) if day is not None]
    return min(days) if days else None


def find_duplicate(
    records: PayerRecords, query: AuthorizationQuery, member: Member, today: date
) -> Authorization | None:
    """Return an earlier request for the same services and days that is open or valid; None if there is none."""
    for earlier in records.list_same_requests(member.key, query):
        if earlier.status in OPEN_STATUSES or (earlier.status in APPROVED_STATUSES and not is_expired(earlier, today)):
            return earlier
    return None


def is_expired(authorization: Authorization, today: date) -> bool:
    """Return whether an approval is no longer valid."""
    return authorization.valid_to is not None and authorization.valid_to < today


def list_contexts(query: AuthorizationQuery, member: Member, plan: str) -> list[ServiceContext]:
    """Return each service of a request with what rules match on; one for the whole if the request has no services."""
    services: Sequence[RequestedService | None] = query.services or (None,)
    return [ServiceContext(query, member, plan, service, query.answers) for service in services]


def is_required(records: PayerRecords, context: ServiceContext) -> bool:
    """Return whether a service needs an authorization."""
    return needs_authorization(
        records.config.authorization_required,
        context.plan,
        context.query.review,
        context.service_type,
        context.procedure_code,
    )


def find_plan_id(member: Member, query: AuthorizationQuery, today: date) -> str:
    """Return the id of the plan on the first day of a request."""
    policy = find_coverage(member, find_first_day(query) or today)
    return policy.coverage.plan if policy else ""


def open_authorization(
    records: PayerRecords, query: AuthorizationQuery, member: Member, moment: Moment
) -> Authorization:
    """Build the record of a new request, not decided yet."""
    prefix = records.config.numbers.reference
    place = len(records.authorizations)
    reference = build_unused_number(prefix, records.authorizations, member.key, place, moment.now.isoformat())
    return Authorization(
        id=reference,
        payer_id=query.payer_id,
        member_key=member.key,
        query=query,
        status="pending",
        services=tuple(_to_pending(service) for service in query.services),
        requested=moment.now,
    )


def _to_pending(service: RequestedService) -> DecidedService:
    return DecidedService(
        procedure_code=service.procedure_code,
        status="pending",
        quantity=float(service.quantity),
        unit=service.unit,
        start=service.start,
        end=service.end,
        trace=service.trace,
    )


def list_rules(records: PayerRecords, reference: str) -> list[Determination]:
    """Return the rules for a request in order: of the scenario for it, of the scenario for all, of the config."""
    own = records.determinations_by_reference.get(reference, ())
    return [*own, *records.determinations, *records.config.determinations]


def decide_authorization(
    records: PayerRecords, authorization: Authorization, moment: Moment, *, is_due: bool = False
) -> Authorization:
    """Return a request with its decision; or pending, with the time of the decision, if its rules have a delay."""
    query, member = authorization.query, records.get_member(authorization.member_key)
    contexts = list_contexts(query, member, find_plan_id(member, query, moment.today))
    rules = list_rules(records, authorization.id)
    decisions = [_decide(records, rules, context, is_due=is_due) for context in contexts]
    delay = timedelta() if is_due else max(decision.delay for decision in decisions)
    if delay:
        return wait_for_decision(authorization, moment.now + delay)
    return _record_decisions(records, authorization, list(zip(contexts, decisions, strict=True)), moment)


def _decide(
    records: PayerRecords, rules: Sequence[Determination], context: ServiceContext, *, is_due: bool
) -> Decision:
    if not is_required(records, context):
        return Decision(NOT_REQUIRED)
    is_covered = context.service_type not in records.find_plan(context.plan).not_covered
    scenario_rules = rules[: len(rules) - len(records.config.determinations)]
    if not is_covered and not any(matches_request(rule.match, context) for rule in scenario_rules):
        return Decision(NOT_COVERED)
    return decide_service(rules, records.config.default_determination, context, is_due=is_due)


def wait_for_decision(authorization: Authorization, due: datetime | None) -> Authorization:
    """Return a request as pending, with the time of its decision if that is known."""
    return authorization.model_copy(
        update={
            "status": "pending",
            "number": None,
            "services": tuple(_to_pending(service) for service in authorization.query.services),
            "reason": "",
            "text": "",
            "questions": (),
            "decided": None,
            "valid_from": None,
            "valid_to": None,
            "decision_due": due,
            "cause": 0,
        }
    )


def _record_decisions(
    records: PayerRecords,
    authorization: Authorization,
    decided: Sequence[tuple[ServiceContext, Decision]],
    moment: Moment,
) -> Authorization:
    decisions = [decision for _, decision in decided]
    status = combine_statuses([decision.status for decision in decisions])
    is_approved = status in APPROVED_STATUSES
    first = next((each.rule for each in decisions if each.status == status), None)
    main = first or next(each.rule for each in decisions if each.status not in APPROVED_STATUSES)
    start = find_first_day(authorization.query) or moment.today
    approved = [each.rule for each in decisions if each.status in APPROVED_STATUSES]
    validity = min((rule.validity or records.config.validity for rule in approved), default=records.config.validity)
    period = (start, start + validity) if is_approved else (None, None)
    questions = {question.id: question for each in decisions for question in each.open_questions}
    is_final = status not in OPEN_STATUSES
    return authorization.model_copy(
        update={
            "status": status,
            "number": _find_number(records, authorization, approved) if is_approved else None,
            "services": tuple(_to_decided(context, each, period) for context, each in decided if context.service),
            "reason": main.reason,
            "text": main.text,
            "questions": tuple(questions.values()),
            "decided": moment.now if is_final else None,
            "valid_from": period[0],
            "valid_to": period[1],
            "decision_due": None,
            "cause": 0,
        }
    )


def _find_number(records: PayerRecords, authorization: Authorization, rules: Sequence[Determination]) -> str:
    """Return the authorization number: that of a rule, if it is not taken.

    Others follow from the reference number, so a revised approval has the same.
    """
    prefix, id = records.config.numbers.authorization, authorization.id
    given = (rule.number for rule in rules if rule.number)
    derived = (build_number(prefix, id, attempt) for attempt in count())
    return next(number for number in chain(given, derived) if records.is_number_free(number, id))


def _to_decided(context: ServiceContext, decision: Decision, period: tuple[date | None, date | None]) -> DecidedService:
    service, rule = context.service, decision.rule
    assert service is not None  # only requests with services have decided services
    is_approved = decision.status in APPROVED_STATUSES
    units = rule.units if rule.units is not None else context.quantity
    return DecidedService(
        procedure_code=service.procedure_code,
        status=decision.status,
        quantity=0.0 if decision.status == "denied" else units if is_approved else context.quantity,
        unit=service.unit,
        start=service.start or (period[0] if is_approved else None),
        end=service.end or (period[1] if is_approved else None),
        reason=rule.reason,
        trace=service.trace,
    )


def combine_statuses(statuses: Sequence[AuthorizationStatus]) -> AuthorizationStatus:
    """Return the status of a request from those of its services: open if one is, modified if they differ."""
    for status in ("need_more_info", "pending"):
        if status in statuses:
            return "need_more_info" if status == "need_more_info" else "pending"
    return statuses[0] if len(set(statuses)) == 1 else "modified"


def merge_update(authorization: Authorization, query: AuthorizationQuery) -> AuthorizationQuery:
    """Return the request with what an update adds or replaces. What an update does not give stays.

    An answer gets the type of its question: X12 has only text, and the record should be the same for every protocol.
    """
    earlier = authorization.query
    given = {
        name: getattr(query, name)
        for name in ("service_type", "services", "diagnoses", "place", "is_urgent", "start", "end", "note", "trace")
        if getattr(query, name)
    }
    attachments = tuple(dict.fromkeys((*earlier.attachments, *query.attachments)))
    typed = {**query.answers, **read_answers(authorization.questions, query.answers)}
    return earlier.model_copy(update={**given, "answers": {**earlier.answers, **typed}, "attachments": attachments})


def is_same_request(query: AuthorizationQuery, other: AuthorizationQuery) -> bool:
    """Return whether two requests differ in their traces at most."""
    return _without_traces(query) == _without_traces(other)


def _without_traces(query: AuthorizationQuery) -> AuthorizationQuery:
    services = tuple(service.model_copy(update={"trace": ""}) for service in query.services)
    return query.model_copy(update={"trace": "", "services": services})


def approve_on_appeal(records: PayerRecords, authorization: Authorization, moment: Moment) -> Authorization:
    """Return a denied request as approved."""
    rule = Determination(status="approved", reason="appeal_overturned", text="The denial was reversed on appeal.")
    member = records.get_member(authorization.member_key)
    contexts = list_contexts(authorization.query, member, find_plan_id(member, authorization.query, moment.today))
    return _record_decisions(records, authorization, [(context, Decision(rule)) for context in contexts], moment)
