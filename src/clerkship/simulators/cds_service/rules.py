"""The rules: compare draft orders with allergies, active medication and earlier orders."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clerkship.cds.card import Card, CardSource, SuggestedAction, Suggestion
from clerkship.cds.coding import CdsCoding
from clerkship.cds.hooks import is_reference, list_bundle_resources
from clerkship.simulators.cds_service.config import RuleName, ServiceConfig
from clerkship.simulators.cds_service.drugs import (
    expand,
    find_allergens,
    find_ingredients,
    list_codes,
    list_texts,
    load_drugs,
)

Resource = Mapping[str, Any]
SOURCE = CardSource(label="Clerkship order safety")
OVERRIDE_REASONS = tuple(
    CdsCoding(code=code, system="urn:clerkship:override-reasons", display=display)
    for code, display in (("benefit", "The benefit outweighs the risk"), ("tolerated", "The patient tolerates it"))
)
_INACTIVE = frozenset({"cancelled", "stopped", "completed", "entered-in-error", "revoked", "draft"})


class RuleInput(NamedTuple):
    """A draft order, and what the service knows about the patient."""

    order: Resource
    known: Mapping[str, list[Resource]]
    now: datetime
    config: ServiceConfig


def list_resources(value: object) -> list[Resource]:
    """Return the resources of a prefetch value: a Bundle, one resource, or None."""
    resources = list_bundle_resources(value)
    items = [value] if resources is None else resources
    return [each for each in items if isinstance(each, Mapping) and "resourceType" in each]


def apply_rules(config: ServiceConfig, request: Mapping[str, Any], now: datetime) -> list[Card]:
    """Return the cards of all rules of a service for all draft orders, without uuids."""
    context, prefetch = request["context"], request.get("prefetch") or {}
    known = {key: list_resources(value) for key, value in prefetch.items()}
    orders = list_resources(context.get("draftOrders"))
    inputs = [RuleInput(order, known, now, config) for order in orders]
    return [card for rule in config.rules for item in inputs for card in _RULES[rule](item)]


def _check_allergies(item: RuleInput) -> Iterator[Card]:
    ordered = expand(find_ingredients(item.order.get("medicationCodeableConcept")))
    for allergy in item.known.get("allergies", ()):
        statuses = {
            code for field in ("clinicalStatus", "verificationStatus") for _, code in list_codes(allergy.get(field))
        }
        if statuses & {"inactive", "resolved", "refuted", "entered-in-error"}:
            continue
        matches = sorted(ordered & find_allergens(allergy.get("code")))
        if matches:
            summary = f"Allergy to {matches[0]}: {_name(item.order)}"
            detail = "The patient's record lists this allergy. Choose another drug, or give a reason."
            yield _build_card(item.order, summary, "critical", detail, ordered)
            return


def _check_interactions(item: RuleInput) -> Iterator[Card]:
    ordered = expand(find_ingredients(item.order.get("medicationCodeableConcept")))
    for other in item.known.get("medications", ()):
        if str(other.get("status")) in _INACTIVE or _is_same(other, item.order):
            continue
        taken = expand(find_ingredients(other.get("medicationCodeableConcept")))
        for interaction in load_drugs().interactions:
            one, two = interaction.between
            if (one in ordered and two in taken) or (two in ordered and one in taken):
                summary = f"Interaction: {_name(item.order)} with {_name(other)}"
                yield _build_card(item.order, summary, interaction.indicator, interaction.text, ordered)
                break


def _check_duplicates(item: RuleInput) -> Iterator[Card]:
    ordered = find_ingredients(item.order.get("medicationCodeableConcept"))
    for other in item.known.get("medications", ()):
        same = ordered & find_ingredients(other.get("medicationCodeableConcept"))
        if same and str(other.get("status")) not in _INACTIVE and not _is_same(other, item.order):
            summary = f"Duplicate order: {_name(item.order)} is already prescribed"
            yield _build_card(item.order, summary, "warning", "An active prescription has the same ingredient.", set())
            return
    codes = list_codes(item.order.get("code")) if item.order.get("resourceType") == "ServiceRequest" else set()
    for other in item.known.get("orders", ()):
        if codes & list_codes(other.get("code")) and not _is_same(other, item.order) and _is_recent(other, item):
            summary = f"Duplicate order: {_name(item.order)} was ordered recently"
            yield _build_card(item.order, summary, "warning", "An earlier order has the same code.", set())
            return


def _is_recent(other: Resource, item: RuleInput) -> bool:
    """Return whether an earlier order is active, or was made within the days of the config."""
    if other.get("status") in ("cancelled", "entered-in-error", "revoked", "draft"):
        return False
    if other.get("status") == "active":
        return True
    try:
        authored = datetime.fromisoformat(str(other.get("authoredOn", "")))
    except ValueError:
        return False
    authored = authored if authored.tzinfo is not None else authored.replace(tzinfo=item.now.tzinfo)
    return item.now - authored <= timedelta(days=item.config.duplicate_days)


def _is_same(one: Resource, other: Resource) -> bool:
    return one.get("id") is not None and (one.get("resourceType"), one["id"]) == (
        other.get("resourceType"),
        other.get("id"),
    )


def _name(order: Resource) -> str:
    """Return what an order is for, short enough for a summary."""
    texts = [text for field in ("medicationCodeableConcept", "code") for text in list_texts(order.get(field))]
    return (texts or ["the order"])[0][:45]


def _build_card(order: Resource, summary: str, indicator: Any, detail: str, avoided: set[str]) -> Card:
    reference = f"{order['resourceType']}/{order.get('id')}"
    is_named = isinstance(order.get("id"), str) and is_reference(reference)  # else an action cannot name it
    suggestions = []
    if is_named:
        action = SuggestedAction(type="delete", description=f"Cancel {_name(order)}", resource_id=reference)
        suggestions.append(Suggestion(label="Cancel the order", is_recommended=True, actions=(action,)))
    alternatives = load_drugs().alternatives
    instead = next((alternatives[each] for each in sorted(avoided) if each in alternatives), "")
    if instead and is_named and instead not in avoided:
        changed = {**order, "medicationCodeableConcept": {"text": instead}}
        action = SuggestedAction(type="update", description=f"Order {instead} instead", resource=changed)
        suggestions.append(Suggestion(label=f"Order {instead} instead", actions=(action,)))
    return Card(
        summary=summary[:139],
        indicator=indicator,
        source=SOURCE,
        detail=detail,
        suggestions=tuple(suggestions),
        selection_behavior="at-most-one" if suggestions else None,
        override_reasons=OVERRIDE_REASONS,
    )


_RULES: dict[RuleName, Callable[[RuleInput], Iterator[Card]]] = {
    "allergy": _check_allergies,
    "interaction": _check_interactions,
    "duplicate_order": _check_duplicates,
}
