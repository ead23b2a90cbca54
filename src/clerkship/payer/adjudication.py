"""What a payer pays for a claim: the status by the rules of the config, the amounts by the plan."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Literal

from clerkship.payer.answer import Adjustment, ClaimLine, Member, PayerClaim
from clerkship.payer.code_pattern import matches_any_code
from clerkship.payer.config import PayerConfig
from clerkship.payer.determination_rule import ClaimRule
from clerkship.payer.members import ChartClaim
from clerkship.payer.money import to_cents
from clerkship.payer.numbers import build_number
from clerkship.payer.plan import BenefitPlan, find_service_type

PAYMENT_DAYS = 14
"""Days from the receipt of a claim to its payment, at most."""
REVIEW_DAYS = 3
"""Days from the receipt of a claim to its review."""
PAID = ClaimRule(status="paid")


def adjudicate(claim: ChartClaim, config: PayerConfig, plan: BenefitPlan, member: Member, as_of: date) -> PayerClaim:
    """Return a claim of the dataset with the status that it has on a day."""
    rule = next((rule for rule in config.claim_rules if _matches(rule, claim, member, as_of)), PAID)
    number = build_number(config.numbers.claim, claim.payer_id, claim.key)
    received = PayerClaim(
        number=number,
        payer_id=claim.payer_id,
        member_key=claim.member_key,
        provider_id=claim.provider_id,
        account=claim.account,
        status="received",
        charge=claim.charge,
        start=claim.start,
        end=claim.end,
        received=claim.received,
        status_date=claim.received,
        lines=tuple(
            ClaimLine(procedure_code=line.procedure_code, charge=line.charge, service_date=line.service_date)
            for line in claim.lines
        ),
    )
    days = {"received": 0, "pended": REVIEW_DAYS, "denied": PAYMENT_DAYS, "paid": PAYMENT_DAYS}[rule.status]
    on = min(claim.received + timedelta(days=days), max(as_of, claim.received))
    if rule.status == "paid":
        return pay_claim(received, plan, config, on)
    if rule.status == "denied":
        return deny_claim(received, rule.reason, rule.text, on)
    return received.model_copy(
        update={"status": rule.status, "reason": rule.reason, "text": rule.text, "status_date": on}
    )


def _matches(rule: ClaimRule, claim: ChartClaim, member: Member, as_of: date) -> bool:
    codes = [line.procedure_code for line in claim.lines]
    pairs: Sequence[tuple[tuple[str, ...] | None, Sequence[str]]] = (
        (rule.procedure_code, codes),
        (rule.diagnosis, claim.diagnoses),
        (rule.account, (claim.account,)),
        (rule.member_id, (member.member_id,)),
    )
    return (
        all(patterns is None or matches_any_code(patterns, values) for patterns, values in pairs)
        and (rule.charge_over is None or claim.charge > rule.charge_over)
        and (rule.younger_than is None or as_of - claim.received < rule.younger_than)
    )


def pay_claim(claim: PayerClaim, plan: BenefitPlan, config: PayerConfig, on: date) -> PayerClaim:
    """Return a claim as paid: the allowed part of each charge, less what the member pays by the plan."""
    lines = tuple(_pay_line(line, plan, config.allowed_share) for line in claim.lines)
    bare = () if lines else _split(claim.charge, "medical", plan, config.allowed_share)
    adjustments = _add_up([item for line in lines for item in line.adjustments] if lines else bare)
    paid = to_cents(claim.charge - sum(item.amount for item in adjustments))
    return claim.model_copy(
        update={
            "status": "paid",
            "reason": "",
            "text": "",
            "paid": paid,
            "status_date": on,
            "paid_date": on,
            "payment_number": build_number(config.numbers.payment, claim.payer_id, claim.provider_id, on),
            "adjustments": adjustments if not lines else (),
            "lines": lines,
        }
    )


def deny_claim(claim: PayerClaim, reason: str, text: str, on: date) -> PayerClaim:
    """Return a claim as denied: nothing is paid, and one adjustment explains the whole of each charge."""
    lines = tuple(
        line.model_copy(update={"paid": 0.0, "status": "denied", "adjustments": (_deny(reason, line.charge),)})
        for line in claim.lines
    )
    return claim.model_copy(
        update={
            "status": "denied",
            "reason": reason,
            "text": text,
            "paid": 0.0,
            "status_date": on,
            "paid_date": None,
            "payment_number": None,
            "adjustments": () if lines else (_deny(reason, claim.charge),),
            "lines": lines,
        }
    )


def _deny(reason: str, amount: float) -> Adjustment:
    return Adjustment(group="other", reason=reason or "denied", amount=amount)


def _pay_line(line: ClaimLine, plan: BenefitPlan, allowed_share: float) -> ClaimLine:
    adjustments = _split(line.charge, line.procedure_code, plan, allowed_share)
    paid = to_cents(line.charge - sum(item.amount for item in adjustments))
    return line.model_copy(update={"status": "paid", "paid": paid, "adjustments": adjustments})


def _split(charge: float, procedure_code: str, plan: BenefitPlan, allowed_share: float) -> tuple[Adjustment, ...]:
    """Return what is not paid of a charge: the contractual part, and the member's part of the rest."""
    allowed = to_cents(charge * allowed_share)
    copay = plan.in_network.copays.get(find_service_type(procedure_code))
    share = to_cents(allowed * plan.in_network.coinsurance)
    rows: list[tuple[Literal["contractual", "patient_responsibility"], str, float]] = [
        ("contractual", "fee_schedule", to_cents(charge - allowed)),
        (
            "patient_responsibility",
            "copay" if copay is not None else "coinsurance",
            min(allowed, share if copay is None else copay),
        ),
    ]
    return tuple(Adjustment(group=group, reason=reason, amount=amount) for group, reason, amount in rows if amount)


def _add_up(adjustments: Sequence[Adjustment]) -> tuple[Adjustment, ...]:
    sums: dict[tuple[Literal["contractual", "patient_responsibility", "other"], str], float] = {}
    for item in adjustments:
        sums[item.group, item.reason] = to_cents(sums.get((item.group, item.reason), 0.0) + item.amount)
    return tuple(Adjustment(group=group, reason=reason, amount=amount) for (group, reason), amount in sums.items())
