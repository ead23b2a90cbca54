"""Appeals against denied authorizations and claims."""

from datetime import date, timedelta
from typing import NamedTuple

from clerkship.model.matcher import matches_expected
from clerkship.payer.adjudication import pay_claim
from clerkship.payer.answer import Appeal, Authorization, Member, PayerClaim, Rejection
from clerkship.payer.authorizations import Moment, approve_on_appeal
from clerkship.payer.code_pattern import matches_any_code
from clerkship.payer.determination_rule import AppealMatch, AppealRule
from clerkship.payer.eligibility import find_coverage
from clerkship.payer.events import (
    AppealDecided,
    AppealFiled,
    AppealRejected,
    AuthorizationDetermined,
    ClaimChanged,
    describe_appeal,
    describe_authorization,
    describe_claim,
    describe_party,
)
from clerkship.payer.inquiry import PartyQuery
from clerkship.payer.matching import identify_parties, reject
from clerkship.payer.numbers import build_unused_number
from clerkship.payer.records import PayerRecords
from clerkship.sandbox.state import ActionContext

UPHELD = AppealRule(outcome="upheld", text="The denial is upheld.")
_DENIED = ("denied", "modified")


class DeniedRecord(NamedTuple):
    """What an appeal is about."""

    record: Authorization | PayerClaim
    decided: date
    """The day of the denial."""
    procedure_codes: tuple[str, ...]

    @property
    def is_denied(self) -> bool:
        """Whether it is denied, as a whole or in part."""
        return self.record.status in _DENIED


def find_denied(records: PayerRecords, of: str, today: date) -> DeniedRecord | None:
    """Return the authorization or claim with a number; None if there is none."""
    authorization = records.find_authorization(of)
    if authorization is not None:
        codes = tuple(service.procedure_code for service in authorization.query.services)
        zone = records.config.local_zone
        decided = authorization.decided.astimezone(zone).date() if authorization.decided else today
        return DeniedRecord(authorization, decided, codes)
    claim = records.find_claim(of)
    if claim is None:
        return None
    return DeniedRecord(claim, claim.status_date, tuple(line.procedure_code for line in claim.lines))


def file_appeal(
    records: PayerRecords, action: ActionContext, query: PartyQuery, appeal: Appeal, moment: Moment
) -> Appeal | Rejection:
    """Accept or reject an appeal. One that is too late, or against no denial, is dismissed."""
    parties = identify_parties(records, query)
    rejection = parties.rejection or _check_appeal(records, query, parties.member, appeal, moment.today)
    if rejection is not None:
        party = describe_party(query, parties.member)
        action.emit(AppealRejected(**party, of=appeal.of, rejection=rejection.reason, query=query, answer=rejection))
        return rejection
    denied = find_denied(records, appeal.of, moment.today)
    assert denied is not None  # it was checked
    dismissal = _find_dismissal(records, denied, moment.today)
    rule = find_rule(records, appeal, denied)
    delay = timedelta() if dismissal else records.config.appeals.delay if rule.delay is None else rule.delay
    due = moment.now + delay if delay else None
    filed = appeal.model_copy(update={"decision_due": due})
    action.emit(AppealFiled(**describe_appeal(filed, parties.member)))
    if due is None:
        decide_appeal(records, action, records.appeals[filed.id], moment, dismissal)
    return records.appeals[filed.id]


def build_appeal(
    records: PayerRecords, query: PartyQuery, of: str, reason: str, attachments: tuple[str, ...], moment: Moment
) -> Appeal:
    """Build the record of a new appeal."""
    authorization = records.find_authorization(of)
    prefix = records.config.numbers.appeal
    return Appeal(
        id=build_unused_number(prefix, records.appeals, of, len(records.appeals), moment.now.isoformat()),
        payer_id=query.payer_id,
        of=authorization.id if authorization else of,
        reason=reason,
        attachments=attachments,
        filed=moment.now,
    )


def _check_appeal(
    records: PayerRecords, query: PartyQuery, member: Member | None, appeal: Appeal, today: date
) -> Rejection | None:
    denied = find_denied(records, appeal.of, today)
    if denied is None or member is None or denied.record.member_key != member.key:
        text = f"There is no authorization and no claim {appeal.of} for this member."
        return reject("unknown_reference", "request", text)
    record = denied.record
    owner = record.query.provider_id if isinstance(record, Authorization) else record.provider_id
    if not records.may_read(query.provider_id, owner):
        return reject("provider_not_allowed", "provider", f"{appeal.of} belongs to another provider.")
    if not appeal.reason.strip():
        return reject("missing_request_data", "request", "The appeal gives no reason.")
    earlier = next(
        (each for each in records.appeals.values() if each.of == appeal.of and each.status != "dismissed"), None
    )
    if earlier is not None:
        text = f"There is an appeal against {appeal.of} already: {earlier.id} ({earlier.status})."
        return reject("duplicate_request", "request", text)
    return None


def _find_dismissal(records: PayerRecords, denied: DeniedRecord, today: date) -> str:
    """Return why an appeal is dismissed; empty if it is not."""
    if not denied.is_denied:
        return describe_no_denial(denied)
    deadline = denied.decided + timedelta(days=records.config.appeals.deadline)
    return f"The deadline for an appeal was {deadline}." if today > deadline else ""


def describe_no_denial(denied: DeniedRecord) -> str:
    """Return why there is nothing to appeal against."""
    return f"There is no denial to appeal against: the status is {denied.record.status}."


def find_rule(records: PayerRecords, appeal: Appeal, denied: DeniedRecord) -> AppealRule:
    """Return the first rule that matches an appeal; without one, the denial is upheld."""
    rules = records.config.appeals.rules
    return next((rule for rule in rules if _matches(records, rule.match, appeal, denied)), UPHELD)


def _matches(records: PayerRecords, match: AppealMatch, appeal: Appeal, denied: DeniedRecord) -> bool:
    record = denied.record
    member = records.find_member(record.member_key)
    kind = "authorization" if isinstance(record, Authorization) else "claim"
    return (
        match.of in (None, kind)
        and (match.procedure_code is None or matches_any_code(match.procedure_code, denied.procedure_codes))
        and (match.denial_reason is None or matches_any_code(match.denial_reason, (record.reason,)))
        and (match.member_id is None or (member is not None and matches_any_code(match.member_id, (member.member_id,))))
        and match.attachments in (None, bool(appeal.attachments))
        and (match.reason is None or matches_expected(match.reason, appeal.reason))
    )


def decide_appeal(
    records: PayerRecords, action: ActionContext, appeal: Appeal, moment: Moment, dismissal: str = ""
) -> None:
    """Decide an appeal; `dismissal` says why it is dismissed when it is filed.

    If the denial is reversed, the authorization is approved, or the claim is paid.
    """
    denied = find_denied(records, appeal.of, moment.today)
    assert denied is not None  # records are never deleted
    if not denied.is_denied:
        dismissal = describe_no_denial(denied)
    rule = find_rule(records, appeal, denied)
    status, text = ("dismissed", dismissal) if dismissal else (rule.outcome, rule.text)
    decided = appeal.model_copy(
        update={"status": status, "text": text, "decided": moment.now, "decision_due": None, "cause": 0}
    )
    member = records.find_member(denied.record.member_key)
    action.emit(AppealDecided(**describe_appeal(decided, member)))
    if status != "overturned":
        return
    if isinstance(denied.record, Authorization):
        approved = approve_on_appeal(records, denied.record, moment)
        action.emit(
            AuthorizationDetermined(**describe_authorization(approved, records.get_member(approved.member_key)))
        )
    else:
        policy = find_coverage(member, denied.record.start) if member else None
        plan = records.find_plan(policy.coverage.plan if policy else "")
        paid = pay_claim(denied.record, plan, records.config, moment.today)
        action.emit(ClaimChanged(**describe_claim(paid, member)))
