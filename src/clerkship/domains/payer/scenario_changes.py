"""What steps of a scenario change: decisions, coverage, and claims."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from clerkship.domains.payer.adjudication import deny_claim, pay_claim
from clerkship.domains.payer.answer import Member, PayerClaim
from clerkship.domains.payer.authorizations import (
    OPEN_STATUSES,
    Moment,
    decide_authorization,
    find_plan_id,
    list_contexts,
)
from clerkship.domains.payer.book import name_plan, normalise_member_id
from clerkship.domains.payer.config import Accumulators
from clerkship.domains.payer.coverage import find_coverage
from clerkship.domains.payer.determination import matches_request
from clerkship.domains.payer.determination_rule import Determination
from clerkship.domains.payer.events import (
    AuthorizationDetermined,
    ClaimChanged,
    DeterminationSet,
    EligibilityChanged,
    describe_authorization,
    describe_claim,
)
from clerkship.domains.payer.members import order_coverages
from clerkship.domains.payer.money import find_sum_mistake
from clerkship.domains.payer.records import PayerRecords
from clerkship.model.errors import InputError
from clerkship.sandbox.state import ActionContext


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
        groups = [book.keys_by_id.get((each, normalise_member_id(member_id)), ()) for each in payers]
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
        f"{name} {value}" for name, value in (("payer", payer), ("member", member_id), ("patient", patient)) if value
    )
    if not keys:
        raise InputError.of(f"there is no member for {wanted}")
    raise InputError.of(f"{wanted} is a member of several payers: {', '.join(keys)}", hint="add `payer`")


def change_coverage(records: PayerRecords, member: Member, changes: Mapping[str, Any], today: date) -> Member:
    """Return a member with changes to the policy in force today, or else to the last one."""
    found = find_coverage(member, today)
    if found is None:
        raise InputError.of(f"{member.key} has no policy to change")
    updated = found[0].model_copy(update=dict(changes))
    if "plan" in changes:
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
    """Change a policy of a member, and what the member has used this year."""
    changed = change_coverage(records, member, changes, today) if changes else member
    earlier = records.get_accumulators(member.key)
    accumulators = Accumulators.model_validate(
        {**earlier.model_dump(), **used, "used": {**earlier.used, **used.get("used", {})}}
    )
    action.emit(
        EligibilityChanged(
            payer_id=member.payer_id,
            member_id=member.member_id,
            patient=member.patient or None,
            member=changed,
            accumulators=accumulators,
        )
    )


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
        coverage = find_coverage(member, claim.start) if member else None
        changed = pay_claim(claim, records.find_plan(coverage[0].plan if coverage else ""), records.config, today)
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
