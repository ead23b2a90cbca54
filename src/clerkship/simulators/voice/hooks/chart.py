"""Hooks that look into the chart of the organization that answers.

The chart is that of a `fhir` sandbox, as it is now, if the environment has the reaction `phone.chart.asked -> ehr`;
else the records of the FHIR datasets.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from clerkship.formats.fhir.chart import ChartView, UnchangedView
from clerkship.formats.fhir.resource import Resource, get_key, list_objects
from clerkship.formats.fhir.search import search_keys
from clerkship.model.conversation_key import normalize_phone
from clerkship.payer.members import NPI
from clerkship.payer.person_name import normalize_name
from clerkship.simulators.voice.events import ChartAsked
from clerkship.simulators.voice.hooks.contract import Hook, HookContext, HookResult, is_same_reference, read_date

NOT_FOUND = HookResult("not_found")
_UPCOMING_STATUSES = ("booked", "pending", "proposed", "waitlist")


class ChartAnswer(NamedTuple):
    """The chart of a sandbox, as a reaction returns it."""

    chart: ChartView


def find_patient(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find a patient by name, birth date, phone number and record number. All that are given must be right."""
    wanted = {name: arguments.get(name, "").strip() for name in ("name", "birth_date", "phone", "mrn")}
    birth_date = read_date(wanted["birth_date"])
    if not any(wanted.values()) or (wanted["birth_date"] and birth_date is None):
        return NOT_FOUND
    pairs = [("birthdate", birth_date.isoformat())] if birth_date else []
    patients = [each for each in _find(context, "Patient", pairs) if _is_wanted(each, wanted)]
    if len(patients) != 1:
        return HookResult("several") if patients else NOT_FOUND
    return HookResult("found", {"patient": get_key(patients[0]), "patient_name": _read_name(patients[0])})


def find_prescription(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find a prescription by its number, and whether it has refills left."""
    number = arguments.get("prescription_number", "")
    match = next((each for each in _find(context, "MedicationRequest") if _has_number(each, number)), None)
    if match is None:
        return NOT_FOUND
    patient = match.get("subject", {}).get("reference", "")
    if arguments.get("patient") and arguments["patient"] != patient:
        return NOT_FOUND
    left = _count_refills(context, match)
    concept = match.get("medicationCodeableConcept", {})
    names = [concept.get("text"), *(each.get("display") for each in list_objects(concept, "coding"))]
    values = {
        "prescription": get_key(match),
        "medication": next((str(each) for each in names if each), "your medication"),
        "refills": str(left),
        "prescriber": str(match.get("requester", {}).get("display", "")),
        "patient": patient,
    }
    return HookResult("refillable" if left and match.get("status") == "active" else "no_refills", values)


def find_appointment(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find the next appointment of a patient."""
    patient = arguments.get("patient", "").strip()
    if not patient.startswith("Patient/"):
        return NOT_FOUND
    now = context.action.now
    coming = [
        (start, each)
        for each in _find(context, "Appointment", [("patient", patient)])
        if each.get("status") in _UPCOMING_STATUSES and (start := _read_time(each.get("start"))) and start > now
    ]
    if not coming:
        return NOT_FOUND
    start, appointment = min(coming, key=lambda item: (item[0], get_key(item[1])))
    actors = [each.get("actor", {}) for each in list_objects(appointment, "participant")]
    staff = [each for each in actors if str(each.get("reference", "")).startswith("Practitioner/")]
    values = {
        "appointment": get_key(appointment),
        "appointment_date": start.date().isoformat(),
        "appointment_time": start.strftime("%I:%M %p").lstrip("0"),
        "practitioner": str(staff[0].get("display", "")) if staff else "",
        "description": str(appointment.get("description", "")),
    }
    return HookResult("found", values)


def find_practitioner(context: HookContext, arguments: Mapping[str, str]) -> HookResult:
    """Find a practitioner by NPI."""
    npi = arguments.get("npi", "").strip()
    if not npi.isdigit():
        return NOT_FOUND
    match = next(_find(context, "Practitioner", [("identifier", f"{NPI}|{npi}")]), None)
    if match is None or match.get("active") is False:
        return NOT_FOUND
    return HookResult("found", {"practitioner": _read_name(match)})


def find_chart(context: HookContext, resource_type: str) -> ChartView:
    """Return the chart of the sandbox that reacts, or that of the datasets."""
    event = context.action.emit(ChartAsked(call=context.call.id, resource_type=resource_type))
    answers = context.action.results(event, ChartAnswer)
    return answers[0].chart if answers else UnchangedView(context.records)


def _find(context: HookContext, type: str, pairs: list[tuple[str, str]] | None = None) -> Iterator[Resource]:
    view = find_chart(context, type)
    resources = (view.resource(key) for key in search_keys(view, type, pairs or ()))
    return (resource for resource in resources if resource is not None)


def _is_wanted(patient: Resource, wanted: Mapping[str, str]) -> bool:
    if patient.get("active") is False:
        return False
    if wanted["name"] and not _has_name(patient, wanted["name"]):
        return False
    if wanted["mrn"] and not _has_number(patient, wanted["mrn"]):
        return False
    if not wanted["phone"]:
        return True
    number = normalize_phone(wanted["phone"])
    phones = [str(each.get("value", "")) for each in list_objects(patient, "telecom") if each.get("system") == "phone"]
    return number is not None and number in map(normalize_phone, phones)


def _has_name(patient: Resource, full_name: str) -> bool:
    """Return whether each word that is asked for is in one of the patient's names; a given name alone is enough."""
    words = set(normalize_name(full_name))
    for name in list_objects(patient, "name"):
        known = normalize_name(" ".join([*map(str, name.get("given", ())), str(name.get("family", ""))]))
        if words and words <= set(known):
            return True
    return False


def _has_number(resource: Resource, number: str) -> bool:
    """Return whether a resource has a number as an identifier, or as its id."""
    identifiers = [str(each.get("value", "")) for each in list_objects(resource, "identifier")]
    return any(is_same_reference(number, each) for each in identifiers) or number.strip() == resource.get("id")


def _count_refills(context: HookContext, prescription: Resource) -> int:
    """Return how many refills are left: those allowed, less the dispenses after the first (R4 MedicationRequest)."""
    allowed = prescription.get("dispenseRequest", {}).get("numberOfRepeatsAllowed", 0)
    dispenses = _find(context, "MedicationDispense", [("prescription", get_key(prescription))])
    count = sum(each.get("status") in ("completed", "in-progress") for each in dispenses)
    return max(int(allowed) - max(count - 1, 0), 0)


def _read_name(person: Resource) -> str:
    name = next(iter(list_objects(person, "name")), {})
    return str(name.get("text") or " ".join([*map(str, name.get("given", ())), str(name.get("family", ""))]))


def _read_time(text: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


HOOKS = (
    Hook(
        "chart.find_patient",
        "Find a patient of the chart by any of name, birth date, phone number and record number.",
        (),
        ("found", "several", "not_found"),
        ("patient", "patient_name"),
        find_patient,
        optional=("name", "birth_date", "phone", "mrn"),
    ),
    Hook(
        "chart.find_prescription",
        "Find a prescription by its number, and whether it can be refilled. With `patient`, only one of theirs.",
        ("prescription_number",),
        ("refillable", "no_refills", "not_found"),
        ("prescription", "medication", "refills", "prescriber", "patient"),
        find_prescription,
        optional=("patient",),
    ),
    Hook(
        "chart.find_appointment",
        "Find the next appointment of a patient, such as `Patient/pat-0001`.",
        ("patient",),
        ("found", "not_found"),
        ("appointment", "appointment_date", "appointment_time", "practitioner", "description"),
        find_appointment,
    ),
    Hook(
        "chart.find_practitioner",
        "Find a practitioner, such as a prescriber, by NPI.",
        ("npi",),
        ("found", "not_found"),
        ("practitioner",),
        find_practitioner,
    ),
)
