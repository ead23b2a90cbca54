"""The benefits of a plan as items of a CoverageEligibilityResponse (R4 CoverageEligibilityResponse.insurance.item)."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from clerkship.payer.answer import Benefit
from clerkship.payer.inquiry import ServiceType
from clerkship.reactions.payer_codes import HL7_SYSTEM, build_category

CPT = "http://www.ama-assn.org/go/cpt"
HCPCS = "http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets"
_TERMS = {"calendar_year": "annual", "lifetime": "lifetime"}
"""R4 has no term for a visit."""
_BENEFIT_TYPES = {"copay": "copay", "coinsurance": "copay-percent", "deductible": "deductible"}
OUT_OF_POCKET_TEXT = "Out-of-pocket maximum"
"""R4's list of benefit types has no code for it."""


class ItemKey(NamedTuple):
    """What the benefits of one item have in common."""

    service_type: ServiceType
    procedure_code: str | None = None
    in_network: bool | None = None
    level: str | None = None
    term: str | None = None


def build_money(dollars: float) -> dict[str, Any]:
    """Return an amount in dollars and cents as Money."""
    cents = round(dollars * 100)
    return {"value": cents // 100 if cents % 100 == 0 else cents / 100, "currency": "USD"}


def build_procedure(code: str) -> dict[str, Any]:
    """Return a procedure code as a CodeableConcept: HCPCS level II starts with a letter, CPT with a digit."""
    return {"coding": [{"system": HCPCS if code[:1].isalpha() else CPT, "code": code}]}


def build_items(benefits: Sequence[Benefit]) -> list[dict[str, Any]]:
    """Return an item for each service type, network, level and term that the benefits name, in their order."""
    groups: dict[ItemKey, list[Benefit]] = {}
    for benefit in benefits:
        if benefit.kind != "other_payer":
            for service_type in benefit.service_types:
                groups.setdefault(_get_item_key(service_type, benefit, benefits), []).append(benefit)
    return [_build_item(key, group, benefits) for key, group in groups.items()]


def build_authorization_items(benefits: Sequence[Benefit]) -> list[dict[str, Any]]:
    """Return an item for each service of which the payer says whether it needs an authorization, without amounts."""
    items: list[dict[str, Any]] = []
    for item in build_items(benefits):
        shown = {name: value for name, value in item.items() if name not in ("benefit", "unit", "term", "description")}
        if "authorizationRequired" in item and shown not in items:
            items.append(shown)
    return items


def _get_item_key(service_type: ServiceType, benefit: Benefit, benefits: Iterable[Benefit]) -> ItemKey:
    """Return the item that a benefit belongs to. What remains of an amount belongs to the item of the amount."""
    period = benefit.period
    if period == "remaining":
        amounts = [other for other in benefits if _is_amount_of(other, benefit) and service_type in other.service_types]
        period = amounts[0].period if amounts else "calendar_year"
    term = _TERMS.get(period) if period is not None else None
    return ItemKey(service_type, benefit.procedure_code, benefit.in_network, benefit.level, term)


def _is_amount_of(benefit: Benefit, remaining: Benefit) -> bool:
    """Return whether one benefit states the amount, and the other what remains of it."""
    return benefit.period != "remaining" and all(
        getattr(benefit, name) == getattr(remaining, name)
        for name in ("kind", "procedure_code", "in_network", "level", "unit")
    )


def _build_item(key: ItemKey, benefits: Sequence[Benefit], all_benefits: Sequence[Benefit]) -> dict[str, Any]:
    item: dict[str, Any] = {"category": build_category(key.service_type)}
    if key.procedure_code is not None:
        item["productOrService"] = build_procedure(key.procedure_code)
    if any(benefit.kind == "not_covered" for benefit in benefits):
        item["excluded"] = True
    text = " ".join(dict.fromkeys(benefit.text for benefit in benefits if benefit.text))
    if text:
        item["description"] = text
    if key.in_network is not None:
        item["network"] = _build_coding("benefit-network", "in" if key.in_network else "out")
    if key.level is not None:
        item["unit"] = _build_coding("benefit-unit", key.level)
    if key.term is not None:
        item["term"] = _build_coding("benefit-term", key.term)
    statements = _build_statements(benefits)
    if statements:
        item["benefit"] = statements
    required = _needs_authorization(key, all_benefits)
    if required is not None:
        item["authorizationRequired"] = required
    return item


def _build_coding(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": f"{HL7_SYSTEM}/{system}", "code": code}]}


def _needs_authorization(key: ItemKey, benefits: Iterable[Benefit]) -> bool | None:
    """Return whether the service of an item needs an authorization; None if the payer does not say.

    An authorization belongs to the service, not to one of its amounts, so each item of the service states it.
    """
    stated = [
        benefit.authorization_required
        for benefit in benefits
        if benefit.authorization_required is not None
        and key.service_type in benefit.service_types
        and benefit.procedure_code == key.procedure_code
        and (benefit.in_network is None or key.in_network is None or benefit.in_network == key.in_network)
    ]
    return any(stated) if stated else None


def _build_statements(benefits: Sequence[Benefit]) -> list[dict[str, Any]]:
    """Return the amounts of one item. What remains of an amount becomes the part that is used."""
    amounts = [benefit for benefit in benefits if benefit.kind not in ("active", "inactive", "not_covered")]
    remainders = [benefit for benefit in amounts if benefit.period == "remaining"]
    statements: list[dict[str, Any]] = []
    for benefit in amounts:
        if benefit.period != "remaining":
            remaining = next((other for other in remainders if _is_amount_of(benefit, other)), None)
            statements.append(_build_statement(benefit, remaining))
        elif not any(_is_amount_of(other, benefit) for other in amounts):
            kind = benefit.kind.replace("_", " ")
            statements.append(_build_statement(benefit, None) | {"type": {"text": f"Remaining {kind}"}})
    return statements


def _build_statement(benefit: Benefit, remaining: Benefit | None) -> dict[str, Any]:
    statement: dict[str, Any] = {"type": _build_benefit_type(benefit)}
    if benefit.share is not None:
        statement |= _build_number("allowed", benefit.share * 100)
    elif benefit.amount is not None:
        statement["allowedMoney"] = build_money(benefit.amount)
        if remaining is not None and remaining.amount is not None:
            statement["usedMoney"] = build_money(benefit.amount - remaining.amount)
    elif benefit.quantity is not None:
        statement |= _build_number("allowed", benefit.quantity)
        if remaining is not None and remaining.quantity is not None:
            statement |= _build_number("used", benefit.quantity - remaining.quantity)
    return statement


def _build_number(name: str, value: float) -> dict[str, Any]:
    """Return `allowed[x]` or `used[x]` with a number. R4 has only whole ones, so any other is written as a text."""
    number = round(float(value), 6)
    return {f"{name}UnsignedInt": int(number)} if number.is_integer() else {f"{name}String": f"{number:g}"}


def _build_benefit_type(benefit: Benefit) -> dict[str, Any]:
    if benefit.kind in _BENEFIT_TYPES:
        return _build_coding("benefit-type", _BENEFIT_TYPES[benefit.kind])
    if benefit.kind == "out_of_pocket_maximum":
        return {"text": OUT_OF_POCKET_TEXT}
    if benefit.unit == "visits":
        return _build_coding("benefit-type", "visit")
    return _build_coding("benefit-type", "benefit") | ({"text": benefit.unit} if benefit.unit is not None else {})
