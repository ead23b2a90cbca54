"""A letter that refers a patient to a specialist."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.formats.fax_pages.layout import Column, PageFlow
from clerkship.kit.rng import Rng
from clerkship.simulators.fax.templates.blocks import (
    add_address,
    add_patient,
    add_signature,
    continue_pages,
    tick_boxes,
)
from clerkship.simulators.fax.templates.contract import FaxTemplate
from clerkship.simulators.fax.templates.fields import (
    FaxedClinician,
    FaxedCode,
    FaxedInsurance,
    FaxedPatient,
    FaxFields,
    LongText,
    RecipientFields,
    ShortText,
)
from clerkship.simulators.fax.templates.look import Look, draw_letterhead

Urgency = Literal["routine", "urgent", "emergent"]
Service = Literal["consult", "consult_and_treat", "procedure", "second_opinion"]
URGENCIES: dict[Urgency, str] = {
    "routine": "Routine",
    "urgent": "Urgent (within 1 week)",
    "emergent": "Emergent (24 hours)",
}
SERVICES: dict[Service, str] = {
    "consult": "Consult only",
    "consult_and_treat": "Consult and treat",
    "procedure": "Procedure",
    "second_opinion": "Second opinion",
}


class ReferralLetterFields(FaxFields):
    """A referral: who, to whom, why, how urgent, and what the specialist needs to know."""

    recipient: RecipientFields
    patient: FaxedPatient
    insurance: FaxedInsurance | None = None
    specialty: Annotated[ShortText, Field(description="`Cardiology`")] = ""
    urgency: Urgency = "routine"
    service: Service = "consult_and_treat"
    diagnoses: Annotated[tuple[FaxedCode, ...], Field(max_length=30, description="ICD-10 codes")] = ()
    reason: Annotated[LongText, Field(description="why the patient is referred")]
    history: LongText = ""
    medications: Annotated[tuple[ShortText, ...], Field(max_length=60)] = ()
    allergies: Annotated[tuple[ShortText, ...], Field(max_length=30)] = ()
    authorization: Annotated[ShortText, Field(description="number of the payer's referral or authorization")] = ""
    enclosures: Annotated[tuple[ShortText, ...], Field(max_length=20)] = ()
    signer: FaxedClinician


def lay_out(fields: ReferralLetterFields, flow: PageFlow, look: Look, rng: Rng) -> None:
    """Lay out the letter."""
    draw_letterhead(flow, look, fields.sender)
    continue_pages(flow, f"Referral of {fields.patient.name}, DOB {fields.patient.date_of_birth}")
    flow.heading("REFERRAL" + (f" - {fields.specialty}" if fields.specialty else ""), look.heading.sized(12), "plain")
    if fields.date:
        flow.paragraph(fields.date, after=20)
    add_address(flow, fields.recipient)
    add_patient(flow, look, fields.patient, fields.insurance, [("Auth/Referral #", fields.authorization)])
    tick_boxes(flow, "Priority:", [(text, key == fields.urgency) for key, text in URGENCIES.items()])
    tick_boxes(flow, "Service:", [(text, key == fields.service) for key, text in SERVICES.items()])
    flow.skip(8)
    if fields.diagnoses:
        flow.heading("Diagnoses (ICD-10)", look.heading, look.headings)
        rows = [(diagnosis.code, diagnosis.description) for diagnosis in fields.diagnoses]
        flow.table([Column("Code", 2, bold=True), Column("Description", 9)], rows, look.table)
    flow.heading("Reason for referral", look.heading, look.headings)
    flow.paragraph(fields.reason)
    if fields.history:
        flow.heading("History", look.heading, look.headings)
        flow.paragraph(fields.history)
    flow.heading("Current medications", look.heading, look.headings)
    flow.bullets(fields.medications or ("None reported",))
    pairs = [("Allergies:", "; ".join(fields.allergies) or "NKDA"), ("Enclosures:", "; ".join(fields.enclosures))]
    flow.pairs(pairs, 210)
    add_signature(flow, look, fields.signer, rng, "Thank you for seeing this patient.")


TEMPLATE = FaxTemplate(
    "referral_letter", "A letter that refers a patient to a specialist.", ReferralLetterFields, lay_out
)
