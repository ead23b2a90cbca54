"""Agents for `suites/chart`: wrong solutions, and correct ones that differ from the reference."""

import re
from collections.abc import Callable
from typing import Any

LOINC, RXNORM, UCUM = "http://loinc.org", "http://www.nlm.nih.gov/research/umls/rxnorm", "http://unitsofmeasure.org"
Resource = dict[str, Any]
Agent = Callable[[Any, Any], Any]


def find_patient(task_item: Any, ehr: Any) -> Resource:
    """Return the patient that an instruction names by record number."""
    found: Resource = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])[0]  # type: ignore[index]
    return found


def get_mrn(patient: Resource) -> str:
    return str(next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR"))


def build_order(type: str, patient: str, code: str, **more: Any) -> Resource:
    """Return an order of a drug or a test."""
    system, element = (LOINC, "code") if type == "ServiceRequest" else (RXNORM, "medicationCodeableConcept")
    concept = {"coding": [{"system": system, "code": code}]}
    subject = {"reference": f"Patient/{patient}"}
    return {"resourceType": type, "status": "active", "intent": "order", element: concept, "subject": subject, **more}


def order_replacements(drug: Resource | None = None, test: Resource | None = None, *, look: str = "search") -> Agent:
    """Order the potassium and the repeat level, with these changes."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ehr = sandboxes["ehr"]
        id = find_patient(task_item, ehr)["id"]
        if look == "everything":
            ehr.everything(id)
        else:
            ehr.search("Observation", patient=id, code="2823-3")
        ehr.create({**build_order("MedicationRequest", id, "1801294"), **(drug or {})})
        ehr.create({**build_order("ServiceRequest", id, "2823-3", occurrenceDateTime="2026-03-03"), **(test or {})})
        return {"potassium": 3.1, "ordered": True}

    return on_task


def book_with_change(change: Callable[[Resource], Any] = lambda _: None) -> Agent:
    """Book the first free slot, with a change to the appointment."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ehr = sandboxes["ehr"]
        id = find_patient(task_item, ehr)["id"]
        query = {"schedule": "sched-01-family", "status": "free", "start": "ge2026-03-05", "_sort": "start"}
        slot = ehr.search("Slot", query)[0]
        people = [f"Patient/{id}", "Practitioner/prac-01-family"]
        appointment = {
            "resourceType": "Appointment",
            "status": "booked",
            "slot": [{"reference": f"Slot/{slot['id']}"}],
            "start": slot["start"],
            "end": slot["end"],
            "participant": [{"actor": {"reference": one}, "status": "accepted"} for one in people],
        }
        change(appointment)
        ehr.create(appointment)
        ehr.update({**slot, "status": "busy"})
        return {"start": slot["start"]}

    return on_task


def decline_all_participants(appointment: Resource) -> None:
    """Set all participants to declined."""
    appointment["participant"] = [{**one, "status": "declined"} for one in appointment["participant"]]


def add_second_patient(appointment: Resource) -> None:
    """Add a second patient."""
    appointment["participant"].append({"actor": {"reference": "Patient/pat-0050"}, "status": "accepted"})


def record_blood_pressure(*parts: tuple[str, float, str]) -> Agent:
    """Record a blood pressure with these components."""

    def on_task(task_item: Any, sandboxes: Any) -> None:
        ehr = sandboxes["ehr"]
        category = {"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "vital-signs"}
        ehr.create(
            {
                "resourceType": "Observation",
                "status": "final",
                "category": [{"coding": [category]}],
                "code": {"coding": [{"system": LOINC, "code": "85354-9"}]},
                "subject": {"reference": f"Patient/{find_patient(task_item, ehr)['id']}"},
                "effectiveDateTime": sandboxes.now.isoformat(),
                "component": [
                    {
                        "code": {"coding": [{"system": LOINC, "code": code}]},
                        "valueQuantity": {"value": value, "unit": unit, "system": UCUM, "code": unit},
                    }
                    for code, value, unit in parts
                ],
            }
        )

    return on_task


def record_weight_in_future(task_item: Any, sandboxes: Any) -> None:
    """Record the weight with a date years ahead."""
    quantity = {"value": 64.2, "unit": "lb", "system": UCUM, "code": "kg"}
    weight = {
        "resourceType": "Observation",
        "status": "final",
        "code": {"coding": [{"system": LOINC, "code": "29463-7"}]},
        "subject": {"reference": "Patient/pat-0009"},
        "effectiveDateTime": "2031-05-05",
        "valueQuantity": quantity,
    }
    sandboxes["ehr"].create(weight)


def drop_email(task_item: Any, sandboxes: Any) -> None:
    """Set the new number, and remove all contacts that are not a phone."""
    ehr = sandboxes["ehr"]
    patient = find_patient(task_item, ehr)
    kept = [one for one in patient["telecom"] if (one["system"], one.get("use")) == ("phone", "home")]
    ehr.update({**patient, "telecom": [*kept, {"system": "phone", "use": "mobile", "value": "(555) 555-0142"}]})


def drop_postal_code(task_item: Any, sandboxes: Any) -> None:
    """Correct the street, and lose the postal code."""
    ehr = sandboxes["ehr"]
    patient = find_patient(task_item, ehr)
    new = {"use": "home", "line": ["27 Quince Court"], "text": "27 Quince Court", "city": patient["address"][0]["city"]}
    patient["contact"][0]["address"] = new
    ehr.update({**patient, "address": [{**new, "postalCode": "99999"}]})
    ehr.update({**ehr.read("RelatedPerson", "rel-husband"), "address": [new]})


def link_wrong_records(task_item: Any, sandboxes: Any) -> None:
    """Link the two records, and two others."""
    ehr = sandboxes["ehr"]
    first, second = ehr.read("Patient", "pat-0014"), ehr.read("Patient", "pat-0020")
    pairs = [("pat-0014", "replaced-by"), ("pat-0001", "replaces")]
    ehr.update({**second, "active": False, "link": [_link_patient(*pair) for pair in pairs]})
    ehr.update({**first, "link": [_link_patient("pat-0020", "replaces"), _link_patient("pat-0002", "replaces")]})


def _link_patient(id: str, how: str) -> Resource:
    return {"other": {"reference": f"Patient/{id}"}, "type": how}


def answer_with_all_patients(task_item: Any, sandboxes: Any) -> Any:
    """Answer with every patient."""
    return {"status": "ambiguous", "candidates": [get_mrn(one) for one in sandboxes["ehr"].search("Patient")]}


def cancel_both_appointments(task_item: Any, sandboxes: Any) -> Any:
    """Cancel both appointments without asking."""
    for visit in ("visit-of-the-older", "visit-of-the-younger"):
        sandboxes["ehr"].patch("Appointment", visit, [{"op": "replace", "path": "/status", "value": "cancelled"}])
    return {"status": "done"}


def cancel_with_wrong_reason(task_item: Any, sandboxes: Any) -> None:
    """Cancel for another reason than the given one."""
    ehr = sandboxes["ehr"]
    born = re.search(r"born (\S+),", task_item["instruction"])[1]  # type: ignore[index]
    [patient] = ehr.search("Patient", birthdate=born)
    [visit] = ehr.search("Appointment", patient=patient["id"], status="booked", date="ge2026-03-02")
    system = "http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason"
    coding = [{"system": "http://elsewhere.example", "code": "pat"}, {"system": system, "code": "prov"}]
    ehr.update({**visit, "status": "cancelled", "cancelationReason": {"coding": coding}})
    for slot in visit["slot"]:
        id = slot["reference"].partition("/")[2]
        ehr.patch("Slot", id, [{"op": "replace", "path": "/status", "value": "free"}])


def read_all_results(task_item: Any, sandboxes: Any) -> Any:
    """Read the results of all patients to find those of one."""
    ehr = sandboxes["ehr"]
    whose = f"Patient/{find_patient(task_item, ehr)['id']}"
    found = [one for one in ehr.search("Observation", code="2823-3") if one["subject"]["reference"] == whose]
    latest = max(found, key=lambda one: str(one["effectiveDateTime"]))
    quantity = latest["valueQuantity"]
    return {"value": quantity["value"], "unit": quantity["unit"], "date": latest["effectiveDateTime"][:10]}


def order_magnesium(*often: int, each: float = 400, **more: Any) -> Agent:
    """Order magnesium with this frequency."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ehr = sandboxes["ehr"]
        quantity = {"value": each, "unit": "mg", "system": UCUM, "code": "mg"}
        lines = [
            {
                "timing": {"repeat": {"frequency": times, "period": 1, "periodUnit": "d"}},
                "doseAndRate": [{"doseQuantity": quantity}],
            }
            for times in often
        ]
        id = find_patient(task_item, ehr)["id"]
        code = re.search(r"RxNorm\s+(\d+)", task_item["instruction"])[1]  # type: ignore[index]
        ehr.create(build_order("MedicationRequest", id, code, dosageInstruction=lines, **more))
        return {"mg_per_dl": 1.7}

    return on_task


def order_from_letter(**more: Any) -> Agent:
    """Order what the letter asks for, with additional elements."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ehr = sandboxes["ehr"]
        id = find_patient(task_item, ehr)["id"]
        ehr.search("DocumentReference", patient=id)
        ehr.create(build_order("ServiceRequest", id, "2276-4", priority="urgent", **more))
        return '```json\n{"code": "2276-4"}\n```'

    return on_task


def search_whole_record(task_item: Any, sandboxes: Any) -> Any:
    """Search everything about the patient."""
    ehr = sandboxes["ehr"]
    ehr.everything(find_patient(task_item, ehr)["id"])
    return '{"value": null}'


def read_every_resource(task_item: Any, sandboxes: Any) -> Any:
    """Read every resource there is, and answer that there is none."""
    for type in ("Patient", "Observation", "ServiceRequest", "Coverage"):
        sandboxes["ehr"].search(type, _count=1000)
    return {"mrn": None, "value": None}


def read_every_patient(task_item: Any, sandboxes: Any) -> Any:
    """Open the record of every patient, and answer that there is none."""
    ehr = sandboxes["ehr"]
    for patient in ehr.search("Patient", _count=1000)[20:70]:
        ehr.everything(patient["id"])
    return {"mrn": None, "value": None}


def read_patient_only(task_item: Any, sandboxes: Any) -> Any:
    """Find the patient, look at no result, and answer that there is none."""
    find_patient(task_item, sandboxes["ehr"])
    return {"value": None}


LOW = "Order potassium only if it is low"
TABLET = {
    "coding": [{"system": RXNORM, "code": "1801294", "display": "potassium chloride 20 MEQ Oral Tablet"}],
    "text": "Potassium chloride 20 mEq oral tablet",
}
DOSAGE = {
    "text": "Take 1 tablet (20 mEq) by mouth once daily with food",
    "timing": {"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}},
    "route": {"text": "Oral"},
    "doseAndRate": [{"doseQuantity": {"value": 20, "unit": "mEq", "system": UCUM, "code": "meq"}}],
}
FULL: Resource = {
    "medicationCodeableConcept": TABLET,
    "authoredOn": "2026-03-02T09:05:00-05:00",
    "requester": {"reference": "Practitioner/prac-01-family", "display": "Solange Toussaint, MD"},
    "reasonCode": [{"text": "Hypokalemia"}],
    "reasonReference": [{"reference": "Observation/k-this-morning", "display": "Potassium 3.1 mmol/L"}],
    "note": [{"text": "K 3.1 mmol/L on 2026-03-02 at 07:10, below 3.5. Ordered for Elena Núñez; repeat on March 3."}],
    "dosageInstruction": [DOSAGE],
    "dispenseRequest": {"quantity": {"value": 30, "unit": "tablet"}, "numberOfRepeatsAllowed": 0},
}
BOTH = (("8480-6", 118.0, "mm[Hg]"), ("8462-4", 76.0, "mm[Hg]"))
WRONG: dict[str, tuple[str, Agent]] = {
    "the repeat level is for another year": (LOW, order_replacements(test={"occurrenceDateTime": "2027-04-03"})),
    "the repeat level is for no day": (LOW, order_replacements(test={"occurrenceDateTime": "2026-03-02"})),
    "the repeat level is revoked": (LOW, order_replacements(test={"status": "revoked"})),
    "the drug is not to be given": (LOW, order_replacements(drug={"doNotPerform": True})),
    "the order is for somebody else": (LOW, order_replacements(drug={"subject": {"reference": "Patient/pat-0001"}})),
    "everybody declined": ("Book the first free slot", book_with_change(decline_all_participants)),
    "two patients in one slot": ("Book the first free slot", book_with_change(add_second_patient)),
    "another unit, and a third value": (
        "Record a blood pressure",
        record_blood_pressure(BOTH[0], ("8462-4", 76, "kPa"), ("8480-6", 300, "kPa")),
    ),
    "a weight of years to come": ("Record a weight for the right one*", record_weight_in_future),
    "the mail address is gone": ("Change a mobile number*", drop_email),
    "the postal code is gone": ("Correct a wrong address*", drop_postal_code),
    "strangers are linked": ("Retire the second record*", link_wrong_records),
    "everybody could be meant": ("Act on neither*", answer_with_all_patients),
    "both are cancelled": ("Act on neither*", cancel_both_appointments),
    "the doctor is the reason": ("Cancel an appointment*", cancel_with_wrong_reason),
    "everybody's results are read": ("Give the latest potassium*", read_all_results),
    "three doses at once": ("Dose magnesium*", order_magnesium(1, 2, 6)),
    "ten times the dose": ("Dose magnesium*", order_magnesium(1, each=4000)),
    "twice daily where once is due": ("Dose magnesium*", order_magnesium(2)),
    "all is read, and nothing looked for": ("Say so when there is no*", read_every_resource),
    "everybody is read, and nobody looked for": ("Say so when there is no*", read_every_patient),
    "the patient is found, and no result looked for": ("Say so when there is no result*", read_patient_only),
    "another drug beside the right one": (
        LOW,
        order_replacements(
            drug={"medicationCodeableConcept": {"coding": [*TABLET["coding"], {"system": RXNORM, "code": "7052"}]}}
        ),
    ),
    "every hour": (
        LOW,
        order_replacements(
            drug={"dosageInstruction": [{"timing": {"repeat": {"frequency": 24, "period": 1, "periodUnit": "d"}}}]}
        ),
    ),
    "refills without end": (LOW, order_replacements(drug={"dispenseRequest": {"numberOfRepeatsAllowed": 99}})),
    "the test is not to be done": ("Order what a letter*", order_from_letter(doNotPerform=True)),
}
RIGHT: dict[str, tuple[str, Agent]] = {
    "as asked, one by one": (LOW, order_replacements()),
    "with all that an order can say": (LOW, order_replacements(drug=FULL)),
    "with a note on the conversion": (
        "Dose magnesium*",
        order_magnesium(
            1, note=[{"text": "Mg 0.70 mmol/L = 1.7 mg/dL: 400 mg once daily by the protocol (1.5 to below 1.9)."}]
        ),
    ),
    "everything was read at once": (LOW, order_replacements(look="everything")),
    "who wrote it is not asked for": ("Order what a letter*", order_from_letter()),
    "with a PUT": ("Book the first free slot", book_with_change()),
    "in any order": ("Record a blood pressure", record_blood_pressure(BOTH[1], BOTH[0])),
    "by looking at all of it": ("Say so when there is no result*", search_whole_record),
}
