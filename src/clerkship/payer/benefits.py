"""The benefits of a plan, as statements about service types and procedures."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from clerkship.payer.accumulators import find_met, find_used_quantity, sum_met
from clerkship.payer.answer import Benefit, Coverage, Member
from clerkship.payer.determination import needs_authorization
from clerkship.payer.inquiry import EligibilityInquiry, ServiceType
from clerkship.payer.money import to_cents
from clerkship.payer.plan import BenefitPlan, PlanAmounts, find_service_type
from clerkship.payer.records import PayerRecords

SERVICE_TYPES: tuple[ServiceType, ...] = get_args(ServiceType)
WHOLE_PLAN: tuple[ServiceType, ...] = ("plan",)


def list_inactive_benefits(inquiry: EligibilityInquiry, coverage: Coverage) -> tuple[Benefit, ...]:
    """Return the one statement about a policy that is not in force."""
    return (Benefit(kind="inactive", service_types=inquiry.service_types or WHOLE_PLAN, text=coverage.plan_name),)


def list_benefits(
    records: PayerRecords, inquiry: EligibilityInquiry, member: Member, coverage: Coverage
) -> tuple[Benefit, ...]:
    """Return what a policy in force pays a member for what was asked."""
    plan = records.find_plan(coverage.plan)
    service_types = list(dict.fromkeys(inquiry.service_types or WHOLE_PLAN))
    named = [type for type in service_types if type != "plan"]
    types = [type for type in SERVICE_TYPES if type != "plan"] if "plan" in service_types else named
    covered = [type for type in types if type not in plan.not_covered]
    refused = [type for type in types if type in plan.not_covered]
    benefits: list[Benefit] = []
    if covered or "plan" in service_types:
        head = (*(WHOLE_PLAN if "plan" in service_types else ()), *covered)
        benefits.append(Benefit(kind="active", service_types=head, text=coverage.plan_name))
    if refused:
        benefits.append(Benefit(kind="not_covered", service_types=tuple(refused)))
    if covered or "plan" in service_types:
        met = find_met(records, member.key, plan)
        of_family = sum_met(records, member, plan, met)
        benefits += _list_amounts("deductible", plan.deductible, met.deductible, of_family.deductible)
        if plan.out_of_pocket is not None:
            maximum = plan.out_of_pocket
            benefits += _list_amounts("out_of_pocket_maximum", maximum, met.out_of_pocket, of_family.out_of_pocket)
    benefits += _list_terms(plan, covered, is_whole="plan" in service_types)
    benefits += _list_limits(records, member, plan, covered)
    benefits += (_describe_procedure(records, coverage, plan, code) for code in inquiry.procedure_codes)
    benefits += _list_authorizations(records, coverage, [type for type in named if type in covered])
    return tuple(benefits)


def _list_amounts(
    kind: Literal["deductible", "out_of_pocket_maximum"], amounts: PlanAmounts, met: float, family_met: float
) -> Iterator[Benefit]:
    """Yield an amount and what remains of it, for one person and for the family."""
    if amounts.family_met is not None:
        # What the person has paid otherwise than the plan states counts for the family too.
        differs = 0.0 if amounts.individual_met is None else met - amounts.individual_met
        family_met = max(amounts.family_met + differs, 0.0)
    levels: list[tuple[Literal["individual", "family"], float, float]] = [("individual", amounts.individual, met)]
    if amounts.family is not None:
        levels.append(("family", amounts.family, family_met))
    for level, amount, paid in levels:
        remaining = to_cents(max(amount - paid, 0.0))
        yield Benefit(kind=kind, service_types=WHOLE_PLAN, level=level, period="calendar_year", amount=amount)
        yield Benefit(kind=kind, service_types=WHOLE_PLAN, level=level, period="remaining", amount=remaining)


def _list_terms(plan: BenefitPlan, covered: Sequence[ServiceType], *, is_whole: bool) -> Iterator[Benefit]:
    """Yield copays and coinsurance, in and out of network."""
    for terms, in_network in ((plan.in_network, True), (plan.out_of_network, False)):
        if terms is None:
            emergency = [type for type in covered if type == "emergency"]
            others = tuple(type for type in covered if type != "emergency")
            if others:
                text = "Only emergencies are paid out of network." if emergency or is_whole else ""
                yield Benefit(kind="not_covered", service_types=others, in_network=False, text=text)
            continue
        for type in covered:
            copay = terms.copays.get(type)
            if copay is not None:
                yield Benefit(kind="copay", service_types=(type,), period="visit", amount=copay, in_network=in_network)
        shared = tuple(type for type in covered if type not in terms.copays)
        if shared:
            yield Benefit(kind="coinsurance", service_types=shared, share=terms.coinsurance, in_network=in_network)


def _list_limits(
    records: PayerRecords, member: Member, plan: BenefitPlan, covered: Sequence[ServiceType]
) -> Iterator[Benefit]:
    """Yield how much of a service is paid for in a year, and what remains."""
    for limit in plan.limits:
        if limit.service_type not in covered:
            continue
        remaining = max(limit.quantity - find_used_quantity(records, member.key, limit), 0.0)
        types = (limit.service_type,)
        yield Benefit(
            kind="limit", service_types=types, period="calendar_year", quantity=limit.quantity, unit=limit.unit
        )
        yield Benefit(kind="limit", service_types=types, period="remaining", quantity=remaining, unit=limit.unit)


def _describe_procedure(records: PayerRecords, coverage: Coverage, plan: BenefitPlan, code: str) -> Benefit:
    """Return whether a procedure is covered, and whether it needs an authorization."""
    type = find_service_type(code)
    if type in plan.not_covered:
        return Benefit(kind="not_covered", service_types=(type,), procedure_code=code)
    required = needs_authorization(records.config.authorization_required, coverage.plan, "services", type, code)
    return Benefit(
        kind="active",
        service_types=(type,),
        procedure_code=code,
        authorization_required=required,
        text=coverage.plan_name,
    )


def _list_authorizations(records: PayerRecords, coverage: Coverage, types: Sequence[ServiceType]) -> Iterator[Benefit]:
    """Yield the service types asked for that need an authorization."""
    for type in types:
        if needs_authorization(records.config.authorization_required, coverage.plan, "services", type, ""):
            yield Benefit(kind="active", service_types=(type,), authorization_required=True, text=coverage.plan_name)
