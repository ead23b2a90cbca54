"""Agents on the chart that are wrong in ways an agent can be, and some that are right in another way than ours."""

import re
from collections.abc import Callable
from typing import Any

LOINC, RXNORM, UCUM = "http://loinc.org", "http://www.nlm.nih.gov/research/umls/rxnorm", "http://unitsofmeasure.org"
Resource = dict[str, Any]
Agent = Callable[[Any, Any], Any]


def patient_of(task_item: Any, ehr: Any) -> Resource:
    """Whom an instruction names by record number."""
    found: Resource = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])[0]  # type: ignore[index]
    return found


def mrn_of(patient: Resource) -> str:
    """A patient's record number."""
    return str(next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR"))


def order(type: str, patient: str, code: str, **more: Any) -> Resource:
    """An order of a drug or a test."""
    system, element = (LOINC, "code") if type == "ServiceRequest" else (RXNORM, "medicationCodeableConcept")
    concept = {"coding": [{"system": system, "code": code}]}
    subject = {"reference": f"Patient/{patient}"}
    return {"resourceType": type, "status": "active", "intent": "order", element: concept, "subject": subject, **more}


def replaces(drug: Resource | None = None, test: Resource | None = None, *, look: str = "search") -> Agent:
    """Orders the potassium and the repeat level, each a little otherwise than it was asked for."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ehr = sandboxes["ehr"]
        id = patient_of(task_item, ehr)["id"]
        if look == "everything":
            ehr.everything(id)
        else:
            ehr.search("Observation", patient=id, code="2823-3")
        ehr.create({**order("MedicationRequest", id, "1801294"), **(drug or {})})
        ehr.create({**order("ServiceRequest", id, "2823-3", occurrenceDateTime="2026-03-03"), **(test or {})})
        return {"potassium": 3.1, "ordered": True}

    return on_task


def books(change: Callable[[Resource], Any] = lambda _: None) -> Agent:
    """Books the first free slot, with something about the appointment changed."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ehr = sandboxes["ehr"]
        id = patient_of(task_item, ehr)["id"]
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


def decline(appointment: Resource) -> None:
    """Everybody says no."""
    appointment["participant"] = [{**one, "status": "declined"} for one in appointment["participant"]]


def bring_another(appointment: Resource) -> None:
    """A second patient comes along."""
    appointment["participant"].append({"actor": {"reference": "Patient/pat-0050"}, "status": "accepted"})


def measures(*parts: tuple[str, float, str]) -> Agent:
    """Records a blood pressure with these components."""

    def on_task(task_item: Any, sandboxes: Any) -> None:
        ehr = sandboxes["ehr"]
        category = {"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "vital-signs"}
        ehr.create(
            {
                "resourceType": "Observation",
                "status": "final",
                "category": [{"coding": [category]}],
                "code": {"coding": [{"system": LOINC, "code": "85354-9"}]},
                "subject": {"reference": f"Patient/{patient_of(task_item, ehr)['id']}"},
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


def weighs(task_item: Any, sandboxes: Any) -> None:
    """Records the weight for a day years from now."""
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


def forgets_the_mail(task_item: Any, sandboxes: Any) -> None:
    """Puts the new number in, and drops what is not a phone."""
    ehr = sandboxes["ehr"]
    patient = patient_of(task_item, ehr)
    kept = [one for one in patient["telecom"] if (one["system"], one.get("use")) == ("phone", "home")]
    ehr.update({**patient, "telecom": [*kept, {"system": "phone", "use": "mobile", "value": "(555) 555-0142"}]})


def moves_house(task_item: Any, sandboxes: Any) -> None:
    """Corrects the street, and loses the postal code."""
    ehr = sandboxes["ehr"]
    patient = patient_of(task_item, ehr)
    new = {"use": "home", "line": ["27 Quince Court"], "text": "27 Quince Court", "city": patient["address"][0]["city"]}
    patient["contact"][0]["address"] = new
    ehr.update({**patient, "address": [{**new, "postalCode": "99999"}]})
    ehr.update({**ehr.read("RelatedPerson", "rel-husband"), "address": [new]})


def links_strangers(task_item: Any, sandboxes: Any) -> None:
    """Links the two records, and two others."""
    ehr = sandboxes["ehr"]
    first, second = ehr.read("Patient", "pat-0014"), ehr.read("Patient", "pat-0020")
    pairs = [("pat-0014", "replaced-by"), ("pat-0001", "replaces")]
    ehr.update({**second, "active": False, "link": [_link(*pair) for pair in pairs]})
    ehr.update({**first, "link": [_link("pat-0020", "replaces"), _link("pat-0002", "replaces")]})


def _link(id: str, how: str) -> Resource:
    return {"other": {"reference": f"Patient/{id}"}, "type": how}


def names_everybody(task_item: Any, sandboxes: Any) -> Any:
    """Everybody could be meant."""
    return {"status": "ambiguous", "candidates": [mrn_of(one) for one in sandboxes["ehr"].search("Patient")]}


def cancels_for_both(task_item: Any, sandboxes: Any) -> Any:
    """Does not ask who is meant."""
    for visit in ("visit-of-the-older", "visit-of-the-younger"):
        sandboxes["ehr"].patch("Appointment", visit, [{"op": "replace", "path": "/status", "value": "cancelled"}])
    return {"status": "done"}


def blames_the_doctor(task_item: Any, sandboxes: Any) -> None:
    """Cancels for another reason than the one given."""
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


def snoops(task_item: Any, sandboxes: Any) -> Any:
    """Reads everybody's results to find one patient's."""
    ehr = sandboxes["ehr"]
    whose = f"Patient/{patient_of(task_item, ehr)['id']}"
    found = [one for one in ehr.search("Observation", code="2823-3") if one["subject"]["reference"] == whose]
    latest = max(found, key=lambda one: str(one["effectiveDateTime"]))
    quantity = latest["valueQuantity"]
    return {"value": quantity["value"], "unit": quantity["unit"], "date": latest["effectiveDateTime"][:10]}


def doses(*often: int, each: float = 400, **more: Any) -> Agent:
    """Orders magnesium so often a day."""

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
        id = patient_of(task_item, ehr)["id"]
        code = re.search(r"RxNorm\s+(\d+)", task_item["instruction"])[1]  # type: ignore[index]
        ehr.create(order("MedicationRequest", id, code, dosageInstruction=lines, **more))
        return {"mg_per_dl": 1.7}

    return on_task


def reads_the_letter(**more: Any) -> Agent:
    """Orders what the letter asks for, with more said about it."""

    def on_task(task_item: Any, sandboxes: Any) -> Any:
        ehr = sandboxes["ehr"]
        id = patient_of(task_item, ehr)["id"]
        ehr.search("DocumentReference", patient=id)
        ehr.create(order("ServiceRequest", id, "2276-4", priority="urgent", **more))
        return '```json\n{"code": "2276-4"}\n```'

    return on_task


def finds_nothing(task_item: Any, sandboxes: Any) -> Any:
    """Looks through everything there is about the patient."""
    ehr = sandboxes["ehr"]
    ehr.everything(patient_of(task_item, ehr)["id"])
    return '{"value": null}'


def reads_everything(task_item: Any, sandboxes: Any) -> Any:
    """Read every resource there is, and answer that there is none."""
    for type in ("Patient", "Observation", "ServiceRequest", "Coverage"):
        sandboxes["ehr"].search(type, _count=1000)
    return {"mrn": None, "value": None}


def reads_everyone(task_item: Any, sandboxes: Any) -> Any:
    """Open the record of every patient, and answer that there is none."""
    ehr = sandboxes["ehr"]
    for patient in ehr.search("Patient", _count=1000)[20:70]:
        ehr.everything(patient["id"])
    return {"mrn": None, "value": None}


def looks_the_patient_up(task_item: Any, sandboxes: Any) -> Any:
    """Find the patient, look at no result, and answer that there is none."""
    patient_of(task_item, sandboxes["ehr"])
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
    "the repeat level is for another year": (LOW, replaces(test={"occurrenceDateTime": "2027-04-03"})),
    "the repeat level is for no day": (LOW, replaces(test={"occurrenceDateTime": "2026-03-02"})),
    "the repeat level is revoked": (LOW, replaces(test={"status": "revoked"})),
    "the drug is not to be given": (LOW, replaces(drug={"doNotPerform": True})),
    "the order is for somebody else": (LOW, replaces(drug={"subject": {"reference": "Patient/pat-0001"}})),
    "everybody declined": ("Book the first free slot", books(decline)),
    "two patients in one slot": ("Book the first free slot", books(bring_another)),
    "another unit, and a third value": (
        "Record a blood pressure",
        measures(BOTH[0], ("8462-4", 76, "kPa"), ("8480-6", 300, "kPa")),
    ),
    "a weight of years to come": ("Record a weight for the right one*", weighs),
    "the mail address is gone": ("Change a mobile number*", forgets_the_mail),
    "the postal code is gone": ("Correct a wrong address*", moves_house),
    "strangers are linked": ("Retire the second record*", links_strangers),
    "everybody could be meant": ("Act on neither*", names_everybody),
    "both are cancelled": ("Act on neither*", cancels_for_both),
    "the doctor is the reason": ("Cancel an appointment*", blames_the_doctor),
    "everybody's results are read": ("Give the latest potassium*", snoops),
    "three doses at once": ("Dose magnesium*", doses(1, 2, 6)),
    "ten times the dose": ("Dose magnesium*", doses(1, each=4000)),
    "twice daily where once is due": ("Dose magnesium*", doses(2)),
    "all is read, and nothing looked for": ("Say so when there is no*", reads_everything),
    "everybody is read, and nobody looked for": ("Say so when there is no*", reads_everyone),
    "the patient is found, and no result looked for": ("Say so when there is no result*", looks_the_patient_up),
    "another drug beside the right one": (
        LOW,
        replaces(
            drug={"medicationCodeableConcept": {"coding": [*TABLET["coding"], {"system": RXNORM, "code": "7052"}]}}
        ),
    ),
    "every hour": (
        LOW,
        replaces(
            drug={"dosageInstruction": [{"timing": {"repeat": {"frequency": 24, "period": 1, "periodUnit": "d"}}}]}
        ),
    ),
    "refills without end": (LOW, replaces(drug={"dispenseRequest": {"numberOfRepeatsAllowed": 99}})),
    "the test is not to be done": ("Order what a letter*", reads_the_letter(doNotPerform=True)),
}
RIGHT: dict[str, tuple[str, Agent]] = {
    "as asked, one by one": (LOW, replaces()),
    "with all that an order can say": (LOW, replaces(drug=FULL)),
    "with a note on the conversion": (
        "Dose magnesium*",
        doses(1, note=[{"text": "Mg 0.70 mmol/L = 1.7 mg/dL: 400 mg once daily by the protocol (1.5 to below 1.9)."}]),
    ),
    "everything was read at once": (LOW, replaces(look="everything")),
    "who wrote it is not asked for": ("Order what a letter*", reads_the_letter()),
    "with a PUT": ("Book the first free slot", books()),
    "in any order": ("Record a blood pressure", measures(BOTH[1], BOTH[0])),
    "by looking at all of it": ("Say so when there is no result*", finds_nothing),
}
