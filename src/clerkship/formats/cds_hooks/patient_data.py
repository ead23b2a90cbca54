"""What a request says about its patient: draft orders, allergies, medication and earlier orders."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from clerkship.formats.cds_hooks.drugs import (
    find_allergens,
    find_named_substances,
    find_substances,
    list_codes,
    list_objects,
    list_texts,
)
from clerkship.formats.cds_hooks.patient import list_resources

Resource = Mapping[str, Any]
MEDICATION = "Medication"
MAX_NAME = 45
"""Characters of the name of an order in the summary of a card."""
_ENDED = frozenset({"cancelled", "stopped", "completed", "entered-in-error"})
_NO_ALLERGY = frozenset({"inactive", "resolved", "refuted", "entered-in-error"})


class PatientDrug(NamedTuple):
    """A drug that the patient takes, or that is ordered."""

    request: Resource
    name: str
    substances: frozenset[str]
    """Its ingredients, and classes that are named instead of one; empty if the table does not have it."""


class PatientAllergy(NamedTuple):
    """An allergy of the patient."""

    name: str
    allergens: frozenset[str]
    """What the patient should not take; empty if the table does not have it."""
    is_drug: bool
    """Whether its category says that it is an allergy to a drug."""


class PatientData(NamedTuple):
    """What is known about the patient of a request."""

    orders: list[Resource]
    """The draft orders."""
    drafts: list[PatientDrug]
    """The drugs among the draft orders."""
    taken: list[PatientDrug]
    allergies: list[PatientAllergy]
    earlier: list[Resource]
    """Earlier ServiceRequests."""


def read_patient_data(context: Mapping[str, Any], prefetch: Mapping[str, Any]) -> PatientData:
    """Read the context and the prefetch of a request. Elements of the wrong type are ignored."""
    known = {key: list(list_resources(value)) for key, value in prefetch.items()}
    drafted = list(list_resources(context.get("draftOrders")))
    medications = index_medications([*drafted, *(resource for group in known.values() for resource in group)])
    prescribed = [each for each in known.get("medications", []) if each["resourceType"] == "MedicationRequest"]
    return PatientData(
        orders=[each for each in drafted if each["resourceType"] != MEDICATION],
        drafts=[read_drug(each, medications) for each in drafted if each["resourceType"] == "MedicationRequest"],
        taken=[read_drug(each, medications) for each in prescribed if not _has_status(each, _ENDED | {"draft"})],
        allergies=list(read_allergies(known.get("allergies", []))),
        earlier=[each for each in known.get("orders", []) if each["resourceType"] == "ServiceRequest"],
    )


def without_medications(context: dict[str, Any]) -> dict[str, Any]:
    """Return a context without the Medications to which its draft orders refer, which are no orders themselves."""
    bundle = context.get("draftOrders")
    if not isinstance(bundle, dict):
        return context
    entries = bundle.get("entry")
    if not isinstance(entries, list):
        return context
    orders = [each for each in entries if not _is_medication(each)]
    return {**context, "draftOrders": {**bundle, "entry": orders}}


def _is_medication(entry: object) -> bool:
    resource = entry.get("resource") if isinstance(entry, dict) else None
    return isinstance(resource, dict) and resource.get("resourceType") == MEDICATION


def read_drug(request: Resource, medications: Mapping[str, Resource]) -> PatientDrug:
    """Return the drug of a MedicationRequest: its concept, or the Medication that it refers to."""
    concepts = list(list_concepts(request, medications))
    substances = frozenset[str]().union(*map(find_substances, concepts))
    texts = [text for concept in concepts for text in list_texts(concept)]
    reference = request.get("medicationReference")
    display = reference.get("display") if isinstance(reference, Mapping) else None
    if isinstance(display, str) and display:
        texts.append(display)
        substances = substances or find_named_substances(display)
    return PatientDrug(request, (texts or ["the drug"])[0][:MAX_NAME], substances)


def list_concepts(request: Resource, medications: Mapping[str, Resource]) -> Iterator[object]:
    """Yield the concepts that say which drug a MedicationRequest is for."""
    if "medicationCodeableConcept" in request:
        yield request["medicationCodeableConcept"]
    reference = request.get("medicationReference")
    target = reference.get("reference") if isinstance(reference, Mapping) else None
    if not isinstance(target, str):
        return
    contained = {f"#{each.get('id')}": each for each in list_objects(request.get("contained"))}
    medication = contained.get(target) or medications.get("/".join(target.split("/_history")[0].split("/")[-2:]))
    if medication is not None:
        yield medication.get("code")
        for ingredient in list_objects(medication.get("ingredient")):
            yield ingredient.get("itemCodeableConcept")


def index_medications(resources: Iterable[Resource]) -> dict[str, Resource]:
    """Return the Medications among resources by key."""
    return {f"{MEDICATION}/{each.get('id')}": each for each in resources if each["resourceType"] == MEDICATION}


def read_allergies(resources: Iterable[Resource]) -> Iterator[PatientAllergy]:
    """Yield the allergies among resources that are neither resolved nor refuted."""
    for resource in resources:
        if resource["resourceType"] != "AllergyIntolerance":
            continue
        statuses = list_codes(resource.get("clinicalStatus")) | list_codes(resource.get("verificationStatus"))
        name = next(list_texts(resource.get("code")), "a drug")
        if _NO_ALLERGY & {code for _, code in statuses} or name.lower().startswith("no known"):
            continue
        category = resource.get("category")
        is_drug = isinstance(category, list) and "medication" in category
        yield PatientAllergy(name[:MAX_NAME], find_allergens(resource.get("code")), is_drug)


def _has_status(resource: Resource, statuses: frozenset[str]) -> bool:
    return str(resource.get("status")) in statuses


def is_same(one: Resource, other: Resource) -> bool:
    """Return whether two resources are the same one: of the same type, with the same id."""
    if one is other:
        return True
    return one.get("id") is not None and (one["resourceType"], one["id"]) == (other["resourceType"], other.get("id"))


def name_order(order: Resource) -> str:
    """Return what an order other than a drug is for, short enough for a summary."""
    return next(list_texts(order.get("code")), "the order")[:MAX_NAME]
