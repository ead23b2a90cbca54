"""What steps of a scenario change: decisions, authorizations, coverage, and claims."""

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen
from clerkship.model.names import did_you_mean
from clerkship.payer.adjudication import deny_claim, pay_claim
from clerkship.payer.answer import Authorization, DecidedService, Member, PayerClaim
from clerkship.payer.authorizations import (
    OPEN_STATUSES,
    Moment,
    decide_authorization,
    find_plan_id,
    list_contexts,
)
from clerkship.payer.book import name_plan
from clerkship.payer.config import Accumulators
from clerkship.payer.determination import matches_request
from clerkship.payer.determination_rule import Determination
from clerkship.payer.eligibility import find_coverage
from clerkship.payer.events import (
    AuthorizationDetermined,
    AuthorizationSet,
    ClaimChanged,
    DeterminationSet,
    EligibilityChanged,
    describe_authorization,
    describe_claim,
)
from clerkship.payer.inquiry import AuthorizationQuery, PersonQuery, RequestedService, ReviewType
from clerkship.payer.members import order_coverages
from clerkship.payer.money import find_sum_mistake
from clerkship.payer.name_sorts import normalize_member_id
from clerkship.payer.records import PayerRecords
from clerkship.sandbox.state import ActionContext

NOON = time(12)
"""The time of requests and decisions of which only the day is known."""


class RecordedAuthorization(Frozen):
    """A request from an earlier day, with its decision, as a scenario describes it."""

    reference: Annotated[str, Field(min_length=1, max_length=50, description="the payer's reference number")]
    provider_id: Annotated[str, Field(min_length=1, description="NPI of the provider that requested it")]
    status: Annotated[Literal["approved", "denied", "pending", "cancelled"], Field(description="its status")]
    number: Annotated[
        str | None, Field(min_length=1, max_length=50, description="the authorization number, if it was approved")
    ] = None
    services: Annotated[tuple[RequestedService, ...], Field(min_length=1, description="the requested services")]
    diagnoses: Annotated[tuple[str, ...], Field(description="ICD-10 codes without dots")] = ()
    review: Annotated[ReviewType, Field(description="what was requested")] = "services"
    reason: Annotated[str, Field(description="why it was denied, such as not_medically_necessary")] = ""
    text: Annotated[str, Field(description="an explanation for people")] = ""
    requested: Annotated[date | None, Field(description="day of the request; by default the current day")] = None
    decided: Annotated[date | None, Field(description="day of the decision; by default that of the request")] = None
    valid_from: Annotated[date | None, Field(description="first day of an approval; by default that of `decided`")] = (
        None
    )
    valid_to: Annotated[date | None, Field(description="last day of an approval")] = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.status == "approved" and (self.number is None or self.valid_to is None):
            raise ValueError("an approved request has a `number` and a `valid_to`")
        if self.status in ("denied", "pending") and (self.number or self.valid_from or self.valid_to):
            raise ValueError(f"a {self.status} request has no `number`, `valid_from` and `valid_to`")
        for start, end in (("requested", "decided"), ("valid_from", "valid_to")):
            first, last = getattr(self, start), getattr(self, end)
            if first is not None and last is not None and last < first:
                raise ValueError(f"`{end}` ({last}) is before `{start}` ({first})")
        return self


def set_authorization(
    records: PayerRecords, action: ActionContext, member: Member, recorded: RecordedAuthorization, today: date
) -> None:
    """Record an authorization of a member, in place of the one with the same reference number."""
    same_number = records.find_authorization(recorded.number) if recorded.number else None
    if same_number is not None and same_number.id != recorded.reference:
        raise InputError.of(f"{same_number.id} has the authorization number {recorded.number} already")
    authorization = _build_authorization(records, member, recorded, today)
    action.emit(AuthorizationSet(**describe_authorization(authorization, member)))


def _build_authorization(
    records: PayerRecords, member: Member, recorded: RecordedAuthorization, today: date
) -> Authorization:
    requested = recorded.requested or today
    decided = None if recorded.status == "pending" else recorded.decided or requested
    zone = records.config.local_zone
    valid_from = (recorded.valid_from or decided) if recorded.number else None
    return Authorization(
        id=recorded.reference,
        number=recorded.number,
        payer_id=member.payer_id,
        member_key=member.key,
        query=_build_query(member, recorded),
        status=recorded.status,
        services=tuple(_build_service(service, recorded, valid_from) for service in recorded.services),
        reason=recorded.reason,
        text=recorded.text,
        requested=datetime.combine(requested, NOON, zone),
        decided=datetime.combine(decided, NOON, zone) if decided else None,
        valid_from=valid_from,
        valid_to=recorded.valid_to,
    )


def _build_query(member: Member, recorded: RecordedAuthorization) -> AuthorizationQuery:
    subscriber = PersonQuery(
        member_id=member.member_id, family=member.family, given=" ".join(member.given), birth_date=member.birth_date
    )
    return AuthorizationQuery(
        payer_id=member.payer_id,
        provider_id=recorded.provider_id,
        subscriber=subscriber,
        review=recorded.review,
        services=recorded.services,
        diagnoses=recorded.diagnoses,
    )


def _build_service(
    service: RequestedService, recorded: RecordedAuthorization, valid_from: date | None
) -> DecidedService:
    return DecidedService(
        procedure_code=service.procedure_code,
        status=recorded.status,
        quantity=0.0 if recorded.status == "denied" else float(service.quantity),
        unit=service.unit,
        start=service.start or valid_from,
        end=service.end or recorded.valid_to,
        reason=recorded.reason,
        trace=service.trace,
    )


def set_determination(
    records: PayerRecords,
    action: ActionContext,
    rule: Determination,
    moment: Moment,
    *,
    is_open: bool,
    is_lasting: bool,
) -> None:
    """Decide the open requests that a rule matches, if `is_open`, and later ones, if `is_lasting`."""
    references = tuple(_find_open(records, rule, moment)) if is_open else ()
    action.emit(DeterminationSet(rule=rule.model_dump(mode="json"), references=references, is_lasting=is_lasting))
    for reference in references:
        authorization = records.authorizations[reference]
        decided = decide_authorization(records, authorization, moment)
        member = records.get_member(decided.member_key)
        action.emit(AuthorizationDetermined(**describe_authorization(decided, member)))


def _find_open(records: PayerRecords, rule: Determination, moment: Moment) -> list[str]:
    """Return the open requests of which a rule matches a service."""
    references: list[str] = []
    for authorization in records.authorizations.values():
        member = records.get_member(authorization.member_key)
        plan = find_plan_id(member, authorization.query, moment.today)
        contexts = list_contexts(authorization.query, member, plan)
        if authorization.status in OPEN_STATUSES and any(matches_request(rule.match, each) for each in contexts):
            references.append(authorization.id)
    return references


def select_member(records: PayerRecords, payer: str | None, member_id: str | None, patient: str | None) -> Member:
    """Return the one member with an id, or for a patient of the chart; raise InputError if there is not exactly one."""
    book = records.book
    if member_id is not None:
        payers = [payer] if payer is not None else list(book.payers)
        groups = [book.keys_by_id.get((each, normalize_member_id(member_id)), ()) for each in payers]
        keys = [key for group in groups for key in group]
        keys = [key for key in keys if patient in (None, book.members[key].patient)]
        keys = keys if patient is not None else [key for key in keys if key.endswith("/0")]
    else:
        keys = [
            key for key in book.keys_by_patient.get(patient or "", ()) if payer in (None, book.members[key].payer_id)
        ]
    if len(keys) == 1:
        return records.get_member(keys[0])
    wanted = ", ".join(
        f"{name} {value}" for name, value in (("payer", payer), ("member id", member_id), ("patient", patient)) if value
    )
    if not keys:
        raise InputError.of(f"there is no member with {wanted}")
    raise InputError.of(f"{wanted} is a member of several payers: {', '.join(keys)}", hint="add `payer`")


def change_coverage(records: PayerRecords, member: Member, changes: Mapping[str, Any], today: date) -> Member:
    """Return a member with changes to the policy in force today, or else to the last one."""
    policy = find_coverage(member, today)
    if policy is None:
        raise InputError.of(f"{member.key} has no policy to change")
    updated = policy.coverage.model_copy(update=dict(changes))
    if "plan" in changes:
        if changes["plan"] not in records.book.plans:
            hint = did_you_mean(changes["plan"], records.book.plans)
            raise InputError.of(f"there is no plan {changes['plan']}", hint=hint or "add it to `plans`")
        updated = updated.model_copy(update={"plan_name": name_plan(records.book.plans, changes["plan"])})
    if updated.end is not None and updated.end < updated.start:
        raise InputError.of(f"the policy of {member.key} would end ({updated.end}) before it starts ({updated.start})")
    others = [each for each in member.coverages if each.id != updated.id]
    return member.model_copy(update={"coverages": order_coverages([updated, *others])})


def set_eligibility(
    records: PayerRecords,
    action: ActionContext,
    member: Member,
    changes: Mapping[str, Any],
    used: Mapping[str, Any],
    today: date,
) -> None:
    """Change a policy of a member, for all whom it covers, and what the member has used this year."""
    changed = change_coverage(records, member, changes, today) if changes else member
    earlier = records.get_accumulators(member.key)
    accumulators = Accumulators.model_validate(
        {**earlier.model_dump(), **used, "used": {**earlier.used, **used.get("used", {})}}
    )
    _log_change(action, changed, accumulators)
    for other in _find_covered(records, member) if changes else ():
        shared = {each.id: each for each in changed.coverages}
        coverages = order_coverages(shared.get(each.id, each) for each in other.coverages)
        _log_change(action, other.model_copy(update={"coverages": coverages}), records.get_accumulators(other.key))


def _find_covered(records: PayerRecords, member: Member) -> list[Member]:
    """Return the other people whom a policy of a member covers: dependents, or their subscriber."""
    policies = {each.id for each in member.coverages}
    keys = records.book.keys_by_id[member.payer_id, normalize_member_id(member.member_id)]
    others = [records.get_member(key) for key in keys if key != member.key]
    return [other for other in others if any(each.id in policies for each in other.coverages)]


def _log_change(action: ActionContext, member: Member, accumulators: Accumulators) -> None:
    party = {"payer_id": member.payer_id, "member_id": member.member_id, "patient": member.patient or None}
    action.emit(EligibilityChanged(**party, member=member, accumulators=accumulators))


def select_claim(records: PayerRecords, number: str | None, account: str | None) -> PayerClaim:
    """Return the claim with the payer's number or the provider's; raise InputError if there is not exactly one."""
    if number is not None:
        claim = records.find_claim(number)
        if claim is None or account not in (None, claim.account):
            raise InputError.of(f"there is no claim {number}" + (f" with the account {account}" if account else ""))
        return claim
    matches = [each for each in records.all_claims() if each.account == account]
    if len(matches) != 1:
        problem = "there is no claim" if not matches else "there are several claims"
        raise InputError.of(f"{problem} with the account {account}")
    return matches[0]


def set_claim(
    records: PayerRecords, action: ActionContext, claim: PayerClaim, changes: Mapping[str, Any], today: date
) -> None:
    """Change a claim. A payment or denial without amounts is calculated by the plan of the member."""
    status = changes.get("status", claim.status)
    reason, text = changes.get("reason", ""), changes.get("text", "")
    member = records.find_member(claim.member_key)
    if status == "paid" and not {"paid", "adjustments"} & changes.keys():
        policy = find_coverage(member, claim.start) if member else None
        changed = pay_claim(claim, records.find_plan(policy.coverage.plan if policy else ""), records.config, today)
    elif status == "denied" and not {"paid", "adjustments"} & changes.keys():
        changed = deny_claim(claim, reason, text, today)
    else:
        changed = _reset(claim, today).model_copy(update={"status": status, "reason": reason, "text": text})
        if status == "paid":
            changed = changed.model_copy(update={"paid_date": today})
    changed = changed.model_copy(update={name: value for name, value in changes.items() if name != "status"})
    mistake = find_sum_mistake(changed)
    if mistake:
        raise InputError.of(f"claim {claim.number}: {mistake}")
    action.emit(ClaimChanged(**describe_claim(changed, member)))


def _reset(claim: PayerClaim, today: date) -> PayerClaim:
    """Return a claim without payment, adjustments and decisions on its lines."""
    lines = tuple(line.model_copy(update={"paid": 0.0, "status": None, "adjustments": ()}) for line in claim.lines)
    cleared = {"paid": 0.0, "paid_date": None, "payment_number": None, "adjustments": (), "lines": lines}
    return claim.model_copy(update={**cleared, "status_date": today})
