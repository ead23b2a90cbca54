"""The pages about payers."""

from collections.abc import Iterator

from clerkship.payer.answer import Rejection
from clerkship.payer.config import PayerConfig
from clerkship.payer.determination_rule import AuthorizationRule, ClaimRule
from clerkship.payer.eligibility import MAX_FUTURE, MAX_PAST
from clerkship.payer.plan import NetworkTerms, PlanAmounts, load_shipped_plans
from clerkship.payer.policies.policy import RANKS
from clerkship.reactions.payer_codes import (
    REJECTION_REASONS,
    SERVICE_TYPES,
    get_rejection_code,
    list_category_codes,
)
from scripts.reference.render import render_page
from scripts.reference.tables import rows


def fhir_to_payer_page() -> str:
    """Return the page about eligibility requests in a chart."""
    return render_page(
        "fhir_to_payer.md",
        rejections=rows(_list_rejections()),
        service_types=rows(
            (f"`{name}`", ", ".join(f"`{code}`" for code in list_category_codes(name))) for name in SERVICE_TYPES
        ),
    )


def _list_rejections() -> Iterator[tuple[str, str]]:
    for reason in REJECTION_REASONS:
        code = get_rejection_code(Rejection(reason=reason, subject="subscriber", text=""))
        dependent_code = get_rejection_code(Rejection(reason=reason, subject="dependent", text=""))
        of_dependent = f"; `{dependent_code}` for a dependent" if dependent_code != code else ""
        yield f"`{reason}`", f"`{code}`{of_dependent}"


_REJECTIONS = {
    "unknown_payer": "no payer has this number",
    "inactive_payer": "the payer is inactive",
    "payer_unavailable": "the payer cannot answer at the moment",
    "unknown_provider": "the provider is not on file",
    "provider_not_allowed": "the authorization or claim belongs to another provider",
    "missing_member_data": "more is needed to identify the person",
    "unknown_member": "no member has this id, or this name and birth date",
    "birth_date_mismatch": "the birth date is another one",
    "name_mismatch": "the name is another one",
    "member_id_mismatch": "name and birth date are both those of another person",
    "unknown_dependent": "the subscriber has no such dependent",
    "not_eligible": "the member is not covered on the day, or has no policy",
    "service_date_too_early": "the day of service is too long ago",
    "service_date_too_late": "the day of service is too far ahead",
    "invalid_service": "a period ends before it starts",
    "duplicate_request": "the same request or appeal exists",
    "unknown_authorization": "the member has no authorization with this number",
    "authorization_closed": "it is denied, cancelled or expired",
    "missing_request_data": "there is no service, nothing new, or no reason",
    "unknown_reference": "there is no authorization or claim to appeal against",
}


def payer_page() -> str:
    """Return the page about the rules of payers."""
    config = PayerConfig.model_validate({})
    return render_page(
        "payer.md",
        kinds=", ".join(f"`{kind}`" for kind in RANKS),
        allowed_share=config.allowed_share,
        claim_rules=rows(map(_describe_claim_rule, config.claim_rules)),
        future_days=MAX_FUTURE.days,
        past_days=MAX_PAST.days,
        plans=rows(_list_plans()),
        rejections=rows((f"`{reason}`", _REJECTIONS[reason]) for reason in REJECTION_REASONS),
        required=rows(map(_describe_authorization_rule, config.authorization_required)),
    )


def _list_plans() -> Iterator[tuple[str, ...]]:
    for id, plan in load_shipped_plans().items():
        copay = plan.in_network.copays.get("office_visit")
        outside = _describe_share(plan.out_of_network) if plan.out_of_network else "only emergencies"
        yield (
            f"`{id}`",
            _describe_amounts(plan.deductible),
            _describe_amounts(plan.out_of_pocket),
            f"{_describe_share(plan.in_network)}, {outside}",
            f"{copay:g}" if copay is not None else "–",
            ", ".join(f"`{name}`" for name in plan.not_covered) or "–",
        )


def _describe_amounts(amounts: PlanAmounts | None) -> str:
    if amounts is None:
        return "–"
    family = f", family {amounts.family:g}" if amounts.family is not None else ""
    return f"{amounts.individual:g}{family}"


def _describe_share(terms: NetworkTerms) -> str:
    return f"{terms.coinsurance:.0%}"


def _describe_authorization_rule(rule: AuthorizationRule) -> tuple[str, str]:
    parts = {"": rule.service_types, "codes ": rule.procedure_codes, "requests for ": rule.reviews, "plan ": rule.plans}
    texts = [name + ", ".join(f"`{each}`" for each in values) for name, values in parts.items() if values]
    return "; ".join(texts), "yes" if rule.required else "no"


def _describe_claim_rule(rule: ClaimRule) -> tuple[str, str]:
    parts = [
        f"over {rule.charge_over:g} dollars" if rule.charge_over is not None else "",
        f"received less than {rule.younger_than.days} days ago" if rule.younger_than is not None else "",
    ]
    reason = f", `{rule.reason}`" if rule.reason else ""
    return ", ".join(filter(None, parts)) or "all others", f"`{rule.status}`{reason}"
