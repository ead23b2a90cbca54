"""The agents of the demo: one does its work, the other skips the call to the payer."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from clerkship.plugin import ActionExecuted, FlowCompleted, FlowStarted, Message, ReplyPart, Sandboxes, Say
from clerkship.plugin.fax import Fax
from clerkship.plugin.fhir import Fhir
from clerkship.plugin.portal import Portal
from clerkship.plugin.voice import Voice

CLINIC = "Riverbend Family Health Center"
CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140", "attest": "yes"}
ANSWERS = {
    "answer_spine_region": r"(?i)(cervical|thoracic|lumbar) spine",
    "answer_red_flags": r"Warning signs: (\w+)",
    "answer_conservative_therapy_weeks": r"(\d+) weeks of",
    "answer_conservative_therapy_kind": r"weeks of (physical therapy)",
    "answer_prior_spine_imaging": r"past 12 months: (\w+)",
}
"""Where the answer to each question of the form stands in the record."""
TURNS = 60
Order = Mapping[str, Any]


class Agent:
    """Answers a customer of a shop, and gets treatments authorized for a clinic."""

    def on_turn(self, message: Message) -> list[ReplyPart]:
        """Reply to a customer whose order is late."""
        if message.turn == 1:
            text = "Your order ORD-9981 is late, and I am sorry: snow has closed the carrier's depot since Friday."
            return [
                FlowStarted(flow_id="check_order_status"),
                ActionExecuted(name="action_check_order_status"),
                Say(text, utter_name="utter_order_delayed"),
            ]
        text = "The depot opens again tomorrow, so it arrives on Thursday. Shipping is on us."
        return [Say(text, utter_name="utter_order_arrival"), FlowCompleted(flow_id="check_order_status")]

    def on_task(self, task_item: Mapping[str, str], sandboxes: Sandboxes) -> Any:
        """Get an order authorized: chart, telephone, portal, fax."""
        ehr, portal, instruction = sandboxes.get_as(Fhir), sandboxes.get_as(Portal), task_item["instruction"]
        [patient] = ehr.search("Patient", identifier=_find(r"MRN (\d+)", instruction))
        [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
        orders = ehr.search("ServiceRequest", patient=patient["id"], status="active")
        [order] = [each for each in orders if each.get("supportingInfo")]
        attachment = ehr.read(*order["supportingInfo"][0]["reference"].split("/"))["content"][0]["attachment"]
        record = base64.b64decode(attachment["data"]).decode()
        number = self.find_fax_number(sandboxes, instruction, patient, coverage, order)
        portal.sign_in()
        reference = file_request(portal, ehr, patient, coverage, order, record)
        sandboxes.get_as(Fax).send(number, text=record, cover={"subject": reference})
        sandboxes.wait("3h")
        portal.sign_in()
        text = portal.open(f"/requests/{reference}").text
        decided = re.search(r"Authorization number:?\s+(\S+)", text)
        return {"status": "approved" if decided else "not approved", "number": decided and decided[1]}

    def find_fax_number(
        self, sandboxes: Sandboxes, instruction: str, patient: Order, coverage: Order, order: Order
    ) -> str:
        """Ask the payer's line whether the order needs an authorization; return its fax number for records."""
        [clinic] = sandboxes.get_as(Fhir).search("Organization", name=CLINIC)
        npi, code = clinic["identifier"][0]["value"], " ".join(order["code"]["coding"][0]["code"])
        known = {
            "provider identifier": npi,
            "To speak with a representative, press": "0",
            "May I have your NPI": " ".join(npi),
            "What is the member ID": f"The member ID is {' '.join(coverage['subscriberId'])}.",
            "date of birth?": f"Born {patient['birthDate']}.",
        }
        questions = iter([f"Does procedure code {code} need prior authorization?", "Where do we fax records?"])
        heard = talk(sandboxes.get_as(Voice), _find(r"\(800\) [\d-]+", instruction), known, questions)
        return f"+1{re.sub(r'[^0-9]', '', _find(r'fax records to ([0-9, ]+)', heard))}"


class HastyAgent(Agent):
    """Does not call, and takes the fax number from its list of contacts."""

    def find_fax_number(
        self, sandboxes: Sandboxes, instruction: str, patient: Order, coverage: Order, order: Order
    ) -> str:
        """Return the fax number of the payer's records."""
        [contact] = sandboxes.get_as(Fax).contacts(name="clinical records")
        return str(contact["number"])


def talk(phone: Voice, number: str, known: Mapping[str, str], questions: Iterator[str]) -> str:
    """Call a line, answer what it asks for, ask a representative the questions, and return all that was heard."""
    call, heard = phone.dial(number), [""]
    for _ in range(TURNS):
        heard.append(phone.listen(call))
        asked = max(known, key=heard[-1].rfind)
        if re.search(r"How can I help|[Ii]s there anything else", heard[-1]):
            question = next(questions, None)
            phone.say(call, question or "No, thank you. Goodbye.")
            if question is None:
                break
        elif asked in heard[-1]:
            (phone.press if known[asked].isdigit() else phone.say)(call, known[asked])
    phone.listen(call)
    return " ".join(heard)


def file_request(portal: Portal, ehr: Fhir, patient: Order, coverage: Order, order: Order, record: str) -> str:
    """Fill in the form of the payer portal step by step, and submit it; return the reference number."""
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))["identifier"][0]["value"]
    performer = ehr.read(*order["performer"][0]["reference"].split("/"))["identifier"][0]["value"]
    name, day = patient["name"][0], _write_day(order["occurrenceDateTime"])
    steps: Sequence[tuple[str, dict[str, str]]] = (
        ("find_member", {"payer": payer, "member_id": coverage["subscriberId"], "family": name["family"],
                         "given": name["given"][0], "birth_date": _write_day(patient["birthDate"])}),
        ("next", {}),
        ("next", {"review": "services", "urgency": "standard", "place": order["locationCode"][0]["coding"][0]["code"]}),
        ("next", {"servicing_npi": performer}),
        ("add_diagnosis", {"diagnosis_code": order["reasonCode"][0]["coding"][0]["code"]}),
        ("next", {}),
        ("add_service", {"procedure_code": order["code"]["coding"][0]["code"], "units": "1", "unit": "units",
                         "frequency": "total", "start": day, "end": day}),
        ("next", {}),
    )  # fmt: skip
    portal.post("/drafts", {})
    for button, fields in steps:
        portal.send(button, fields)
    answer_questions(portal, record)
    for button, fields in (("next", {}), ("next", {}), ("submit", CONTACT)):
        portal.send(button, fields)
    return portal.page.path.rpartition("/")[2]


def answer_questions(portal: Portal, record: str) -> None:
    """Answer the clinical questions from a record; more of them follow from the answers."""
    answered: set[str] = set()
    while True:
        form = portal.page.find_form("update")
        asked = {name for name in (*form.fields, *form.choices) if name in ANSWERS} - answered
        if not asked:
            return
        answers = {name: _choose(_find(ANSWERS[name], record), form.choices.get(name, ())) for name in sorted(asked)}
        portal.send("update", answers)
        answered |= asked


def _choose(value: str, choices: Sequence[str]) -> str:
    """Return a value as the form offers it: `none` is a no, anything else a yes."""
    if "yes" in choices:
        return "no" if value == "none" else "yes"
    return next((each for each in choices if each.lower() == value.lower()), value)


def _find(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise LookupError(f"nothing matches {pattern}")
    return match[match.lastindex or 0]


def _write_day(day: str) -> str:
    """Return a day as the forms write it."""
    return f"{date.fromisoformat(day[:10]):%m/%d/%Y}"
