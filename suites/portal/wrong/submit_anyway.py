"""Wrong solutions of tasks in which nothing is to be filed: they fill in the form and submit it."""

import re
from datetime import date


def submit(task_item, sandboxes, reference):
    """Submit a request for the order."""
    return _submit(task_item, sandboxes, reference)


def for_the_spine(task_item, sandboxes, reference):
    """File the denied request again."""
    order = {"code": "72148", "diagnosis": "M54.16", "day": "03/04/2026"}
    return _submit(task_item, sandboxes, reference, order)


def _submit(task_item, sandboxes, reference, order=None):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    answer = reference(task_item, sandboxes)
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    if order is None:
        [found] = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
        order = {
            "code": found["code"]["coding"][0]["code"],
            "diagnosis": found["reasonCode"][0]["coding"][0]["code"],
            "day": f"{date.fromisoformat(found['occurrenceDateTime']):%m/%d/%Y}",
        }
    day = order["day"]
    member = {"payer": payer["identifier"][0]["value"], "member_id": coverage["subscriberId"]}
    portal.sign_in()
    portal.post("/drafts", {})
    portal.send("find_member", {**member, "birth_date": f"{date.fromisoformat(patient['birthDate']):%m/%d/%Y}"})
    portal.send("next")
    portal.send("next", {"review": "services", "urgency": "standard", "place": "22"})
    portal.send("next", {"servicing_npi": "9999900027"})
    portal.send("add_diagnosis", {"diagnosis_code": order["diagnosis"]})
    portal.send("next")
    portal.send(
        "add_service", {"procedure_code": order["code"], "units": "1", "unit": "units", "start": day, "end": day}
    )
    portal.send("next")
    _answer(portal)
    portal.send("next")
    portal.send("next")
    portal.send("submit", {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140", "attest": "yes"})
    return answer


def _answer(portal):
    """Answer the questions with anything that the form takes."""
    answers = {}
    while True:
        form = portal.page.find_form("update")
        asked = [name for name in {**form.fields, **form.choices} if name.startswith("answer_") and name not in answers]
        if not asked:
            return
        for name in asked:
            choices = [each for each in form.choices.get(name, ()) if each]
            other = "02/10/2026" if "date" in name or "onset" in name else "9"
            answers[name] = choices[-1] if choices else other
        portal.send("update", answers)
