"""What members have used this year: as the scenario, the config or the plan states it, else an amount of their own.

The amounts of a member's own are derived from its key. The key has the member id, which the seed of the dataset draws.
"""

from typing import NamedTuple

from clerkship.payer.answer import Member
from clerkship.payer.money import to_cents
from clerkship.payer.name_sorts import normalize_member_id
from clerkship.payer.numbers import draw_share
from clerkship.payer.plan import BenefitPlan, PlanAmounts, VisitLimit
from clerkship.payer.records import PayerRecords


class MetAmounts(NamedTuple):
    """What was paid toward a deductible and toward an out-of-pocket maximum."""

    deductible: float
    out_of_pocket: float


def find_met(records: PayerRecords, key: str, plan: BenefitPlan) -> MetAmounts:
    """Return what a member has paid. What it paid toward the deductible counts toward the maximum too."""
    used, deductible, maximum = records.get_accumulators(key), plan.deductible, plan.out_of_pocket
    met = _find_stated(used.deductible_met, deductible)
    if met is None:
        met = to_cents(deductible.individual * (0.05 + 0.9 * draw_share("deductible", key)))
    if maximum is None:
        return MetAmounts(met, 0.0)
    maximum_met = _find_stated(used.out_of_pocket_met, maximum)
    if maximum_met is None:
        beyond = max(maximum.individual - deductible.individual, 0.0) * (0.02 + 0.4 * draw_share("maximum", key))
        maximum_met = min(to_cents(met + beyond), maximum.individual)
    return MetAmounts(met, maximum_met)


def _find_stated(of_member: float | None, amounts: PlanAmounts) -> float | None:
    return amounts.individual_met if of_member is None else of_member


def sum_met(records: PayerRecords, member: Member, plan: BenefitPlan, own: MetAmounts) -> MetAmounts:
    """Return what a member and the others with its id have paid together."""
    keys = records.book.keys_by_id[member.payer_id, normalize_member_id(member.member_id)]
    others = [find_met(records, key, plan) for key in keys if key != member.key]
    deductibles, maxima = zip(own, *others, strict=True)
    return MetAmounts(sum(deductibles), sum(maxima))


def find_used_quantity(records: PayerRecords, key: str, limit: VisitLimit) -> float:
    """Return how much of a limited service a member has used."""
    stated = records.get_accumulators(key).used.get(limit.service_type, limit.used)
    if stated is not None:
        return stated
    return float(int((limit.quantity + 1) * 0.6 * draw_share(limit.service_type, key)))
