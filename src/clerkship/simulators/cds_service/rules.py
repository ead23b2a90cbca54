"""The rules: compare draft orders with allergies, active medication and earlier orders."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clerkship.formats.cds_hooks.card import Card, CardSource, SuggestedAction, Suggestion
from clerkship.formats.cds_hooks.drugs import (
    RXNORM,
    DrugInteraction,
    DrugProduct,
    Indicator,
    expand,
    list_classes,
    list_codes,
    load_drugs,
)
from clerkship.formats.cds_hooks.hooks import is_reference
from clerkship.formats.cds_hooks.patient_data import (
    PatientData,
    PatientDrug,
    Resource,
    is_same,
    name_order,
    read_patient_data,
)
from clerkship.formats.cds_hooks.validation import MAX_CARDS
from clerkship.formats.cds_hooks.wire_model import CdsCoding
from clerkship.simulators.cds_service.config import RuleName, ServiceConfig

SOURCE = CardSource(label="Clerkship order safety")
OVERRIDE_REASONS = tuple(
    CdsCoding(code=code, system="urn:clerkship:override-reasons", display=display)
    for code, display in (("benefit", "The benefit outweighs the risk"), ("tolerated", "The patient tolerates it"))
)
_OF_THE_OLD_DRUG = ("medicationCodeableConcept", "medicationReference", "contained", "dosageInstruction")
_OF_ITS_SUPPLY = ("dispenseRequest", "substitution")
_URGENCY: tuple[Indicator, ...] = ("info", "warning", "critical")
_NOT_ORDERED = frozenset({"cancelled", "entered-in-error", "revoked", "draft"})


class Finding(NamedTuple):
    """Something that a rule found: the content of a card."""

    summary: str
    indicator: Indicator
    detail: str
    needs_other_drug: bool = False
    """Whether another drug would solve the problem."""


class RuleInput(NamedTuple):
    """A draft order, and what the service knows about its patient."""

    order: Resource
    drug: PatientDrug | None
    """The drug that is ordered; None for other orders."""
    others: list[PatientDrug]
    """What the patient takes, and the drugs that precede this one in the draft orders: one of those that are equal."""
    patient: PatientData
    now: datetime
    config: ServiceConfig


def apply_rules(config: ServiceConfig, request: Mapping[str, Any], now: datetime) -> list[Card]:
    """Return the cards of all rules of a service for all draft orders, without uuids.

    If there are more than `MAX_CARDS`, the most serious ones are returned.
    """
    patient = read_patient_data(request["context"], request.get("prefetch") or {})
    inputs = [_build_input(order, patient, now, config) for order in patient.orders]
    checks = (*(_RULES[rule] for rule in config.rules), _report_unknown)
    findings = [(item, finding) for check in checks for item in inputs for finding in check(item)]
    if len(findings) > MAX_CARDS:
        findings = sorted(findings, key=lambda each: -_URGENCY.index(each[1].indicator))[:MAX_CARDS]
    return [_build_card(item, finding) for item, finding in findings]


def _build_input(order: Resource, patient: PatientData, now: datetime, config: ServiceConfig) -> RuleInput:
    place = next((number for number, drug in enumerate(patient.drafts) if drug.request is order), None)
    if place is None:
        return RuleInput(order, None, [], patient, now, config)
    taken = [each for each in patient.taken if not is_same(each.request, order)]
    others = {each.substances: each for each in reversed([*taken, *patient.drafts[:place]]) if each.substances}
    return RuleInput(order, patient.drafts[place], list(reversed(others.values())), patient, now, config)


def _check_allergies(item: RuleInput) -> Iterator[Finding]:
    if item.drug is None:
        return
    detail = "The patient's record lists this allergy. Choose another drug, or give a reason."
    for allergy in item.patient.allergies:
        if find_allergy_conflict(item.drug.substances, allergy.allergens):
            yield Finding(f"Allergy to {allergy.name}: {item.drug.name}", "critical", detail, needs_other_drug=True)
            return
    for allergy in item.patient.allergies:
        for cross in load_drugs().cross_allergies:
            if cross.allergy in allergy.allergens and cross.drug in item.drug.substances:
                summary = f"Allergy to {allergy.name}: {item.drug.name} may cross-react"
                yield Finding(summary, "warning", cross.text, needs_other_drug=True)
                return


def find_allergy_conflict(substances: frozenset[str], allergens: frozenset[str]) -> frozenset[str]:
    """Return the allergens that a drug contains or belongs to."""
    return expand(substances) & allergens


def _check_interactions(item: RuleInput) -> Iterator[Finding]:
    if item.drug is None:
        return
    for other in item.others:
        if interaction := find_interaction(item.drug.substances, other.substances):
            summary = f"Interaction: {item.drug.name} with {other.name}"
            yield Finding(summary, interaction.indicator, interaction.text, needs_other_drug=True)


def find_interaction(one: frozenset[str], other: frozenset[str]) -> DrugInteraction | None:
    """Return the most serious interaction of two drugs; None if there is none.

    Two drugs with the same ingredient are a duplicate, not an interaction.
    """
    if one & other:
        return None
    left, right = expand(one), expand(other)
    matches = [
        each
        for each in load_drugs().interactions
        if (each.between[0] in left and each.between[1] in right)
        or (each.between[1] in left and each.between[0] in right)
    ]
    return max(matches, key=lambda each: _URGENCY.index(each.indicator), default=None)


def _check_duplicates(item: RuleInput) -> Iterator[Finding]:
    if item.drug is not None:
        yield from _check_duplicate_drug(item.drug, item.others)
    elif item.order["resourceType"] == "ServiceRequest":
        yield from _check_duplicate_service(item)


def _check_duplicate_drug(drug: PatientDrug, others: list[PatientDrug]) -> Iterator[Finding]:
    for other in others:
        if drug.substances & other.substances:
            detail = f"The same ingredient is in {other.name}."
            yield Finding(f"Duplicate order: {drug.name} is already prescribed", "warning", detail)
            return
    for other in others:
        if shared := find_shared_class(drug.substances, other.substances):
            detail = f"Both are of the class {shared}, of which a patient takes one at a time."
            yield Finding(f"Duplicate order: {drug.name} is like {other.name}", "warning", detail)
            return


def find_shared_class(one: frozenset[str], other: frozenset[str]) -> str:
    """Return a class of which a patient takes one drug at a time, and which two drugs have in common; or nothing."""
    classes = load_drugs().classes
    shared = sorted(each for each in list_classes(one) & list_classes(other) if classes[each].one_at_a_time)
    return shared[0] if shared else ""


def _check_duplicate_service(item: RuleInput) -> Iterator[Finding]:
    codes, orders = list_codes(item.order.get("code")), item.patient.orders
    place = next(number for number, each in enumerate(orders) if each is item.order)
    drafts = [each for each in orders[:place] if each["resourceType"] == "ServiceRequest"]
    if any(codes & list_codes(draft.get("code")) for draft in drafts):
        summary = f"Duplicate order: {name_order(item.order)} is ordered twice"
        yield Finding(summary, "warning", "Another draft order has the same code.")
        return
    for other in item.patient.earlier:
        if codes & list_codes(other.get("code")) and not is_same(other, item.order) and _is_recent(other, item):
            summary = f"Duplicate order: {name_order(item.order)} was ordered recently"
            days = item.config.duplicate_days
            yield Finding(summary, "warning", f"An order with the same code is active, or less than {days} days old.")
            return


def _is_recent(other: Resource, item: RuleInput) -> bool:
    """Return whether an earlier order is active, or was made within the days of the config."""
    status = str(other.get("status"))
    if status in _NOT_ORDERED:
        return False
    if status == "active":
        return True
    try:
        authored = datetime.fromisoformat(str(other.get("authoredOn", "")))
    except ValueError:
        return False
    authored = authored if authored.tzinfo is not None else authored.replace(tzinfo=item.now.tzinfo)
    return item.now - authored <= timedelta(days=item.config.duplicate_days)


def _report_unknown(item: RuleInput) -> Iterator[Finding]:
    """Report a drug, and with the first drug the allergies to drugs, that are not in the table.

    Without this, no card could mean that an order is safe, or that it was not checked.
    """
    if item.drug is None or not item.config.rules:
        return
    detail = "Its code and its name are not in the table of this service. Check it in another way."
    if not item.drug.substances:
        yield Finding(f"Not checked: {item.drug.name} is unknown", "info", detail)
    if "allergy" in item.config.rules and item.drug is item.patient.drafts[0]:
        for allergy in item.patient.allergies:
            if allergy.is_drug and not allergy.allergens:
                yield Finding(f"Not checked: allergy to {allergy.name} is unknown", "info", detail)


def find_alternative(item: RuleInput) -> tuple[str, DrugProduct] | None:
    """Return the code of another drug that the patient can take instead, and the drug; None if there is none.

    It has no conflict with the allergies, the medication and the draft orders of the request.
    """
    table = load_drugs()
    if item.drug is None:
        return None
    others = [*item.others, *(each for each in item.patient.drafts if each.request is not item.order)]
    keys = (*sorted(item.drug.substances), *sorted(list_classes(item.drug.substances)))
    for code in (code for key in keys for code in table.alternatives.get(key, ())):
        substances = frozenset(table.products[code].ingredients)
        is_avoided = any(_conflicts_with_allergy(substances, each.allergens) for each in item.patient.allergies)
        if not is_avoided and not any(_conflicts_with_drug(substances, each.substances) for each in others):
            return code, table.products[code]
    return None


def _conflicts_with_allergy(substances: frozenset[str], allergens: frozenset[str]) -> bool:
    crosses = any(each.allergy in allergens and each.drug in substances for each in load_drugs().cross_allergies)
    return crosses or bool(find_allergy_conflict(substances, allergens))


def _conflicts_with_drug(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & other) or bool(find_shared_class(one, other)) or find_interaction(one, other) is not None


def _build_card(item: RuleInput, finding: Finding) -> Card:
    is_problem = finding.indicator != "info"
    suggestions = tuple(_build_suggestions(item, finding)) if is_problem else ()
    return Card(
        summary=finding.summary[:139],
        indicator=finding.indicator,
        source=SOURCE,
        detail=finding.detail,
        suggestions=suggestions,
        selection_behavior="at-most-one" if suggestions else None,
        override_reasons=OVERRIDE_REASONS if is_problem else (),
    )


def _build_suggestions(item: RuleInput, finding: Finding) -> Iterator[Suggestion]:
    order, name = item.order, item.drug.name if item.drug is not None else name_order(item.order)
    reference = f"{order['resourceType']}/{order.get('id')}"
    if not isinstance(order.get("id"), str) or not is_reference(reference):
        return  # an action cannot name the order
    cancel = SuggestedAction(type="delete", description=f"Cancel {name}", resource_id=reference)
    yield Suggestion(label="Cancel the order", is_recommended=True, actions=(cancel,))
    alternative = find_alternative(item) if finding.needs_other_drug else None
    if alternative is not None:
        code, product = alternative
        # Neither the dose nor the supply of the old drug is right for the new one.
        fields = {key: value for key, value in order.items() if key not in (*_OF_THE_OLD_DRUG, *_OF_ITS_SUPPLY)}
        coding = {"system": RXNORM, "code": code, "display": product.display}
        changed = {**fields, "medicationCodeableConcept": {"coding": [coding], "text": product.display}}
        text = f"Order {product.display} instead, and choose its dose"
        action = SuggestedAction(type="update", description=text, resource=changed)
        yield Suggestion(label=f"Order {product.display} instead", actions=(action,))


_RULES: dict[RuleName, Callable[[RuleInput], Iterator[Finding]]] = {
    "allergy": _check_allergies,
    "interaction": _check_interactions,
    "duplicate_order": _check_duplicates,
}
