"""A request for medical records."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.formats.fax_pages.layout import PageFlow
from clerkship.kit.rng import Rng
from clerkship.simulators.fax.templates.blocks import (
    add_address,
    add_patient,
    add_signature,
    centered,
    continue_pages,
    tick_boxes,
    tick_grid,
)
from clerkship.simulators.fax.templates.contract import FaxTemplate
from clerkship.simulators.fax.templates.fields import (
    FaxedClinician,
    FaxedInsurance,
    FaxedPatient,
    FaxFields,
    LongText,
    RecipientFields,
    ShortText,
)
from clerkship.simulators.fax.templates.look import Look, draw_letterhead

RecordKind = Literal[
    "visit_notes", "laboratory", "imaging", "medications", "immunizations", "discharge_summary", "operative_report"
]
RecordPurpose = Literal["treatment", "payment", "legal", "patient"]
RECORDS: dict[RecordKind, str] = {
    "visit_notes": "Visit notes",
    "laboratory": "Laboratory results",
    "imaging": "Imaging reports",
    "medications": "Medication list",
    "immunizations": "Immunizations",
    "discharge_summary": "Discharge summary",
    "operative_report": "Operative report",
}
PURPOSES: dict[RecordPurpose, str] = {
    "treatment": "Continuing care",
    "payment": "Claim / payment",
    "legal": "Legal",
    "patient": "Patient's request",
}


class RecordsRequestFields(FaxFields):
    """A request for records of a patient."""

    recipient: Annotated[RecipientFields, Field(description="who holds the records")]
    patient: FaxedPatient
    insurance: FaxedInsurance | None = None
    records: Annotated[tuple[RecordKind, ...], Field(min_length=1, max_length=7)]
    other_records: Annotated[ShortText, Field(description="records that the form has no box for")] = ""
    from_date: Annotated[ShortText, Field(description="first date of service")] = ""
    to_date: Annotated[ShortText, Field(description="last date of service")] = ""
    purpose: RecordPurpose = "treatment"
    needed_by: ShortText = ""
    return_fax: Annotated[ShortText, Field(description="fax number for the records")] = ""
    reference: Annotated[ShortText, Field(description="number of the case or of the request")] = ""
    remarks: LongText = ""
    signer: FaxedClinician


def lay_out(fields: RecordsRequestFields, flow: PageFlow, look: Look, rng: Rng) -> None:
    """Lay out the form."""
    draw_letterhead(flow, look, fields.sender)
    continue_pages(flow, f"Records request: {fields.patient.name}, DOB {fields.patient.date_of_birth}")
    centered(flow, "REQUEST FOR MEDICAL RECORDS", look.body.bolder().sized(14), after=10)
    if fields.date:
        flow.paragraph(fields.date)
    add_address(flow, fields.recipient)
    more = [("Reference", fields.reference)]
    add_patient(flow, look, fields.patient, fields.insurance, more)
    flow.heading("Records requested", look.heading, look.headings)
    tick_grid(flow, [(text, key in fields.records) for key, text in RECORDS.items()])
    flow.pairs([("Other:", fields.other_records)], 300, after=0)
    dates = " to ".join(part for part in (fields.from_date, fields.to_date) if part)
    flow.pairs([("Dates of service:", dates or "All")], 300)
    flow.heading("Purpose and delivery", look.heading, look.headings)
    tick_boxes(flow, "Purpose:", [(text, key == fields.purpose) for key, text in PURPOSES.items()])
    flow.pairs([("Needed by:", fields.needed_by), ("Fax records to:", fields.return_fax)], 300)
    if fields.remarks:
        flow.paragraph(fields.remarks)
    flow.paragraph(
        "Send only what is asked for above. If you have no records of this patient, please mark this page and"
        " fax it back.",
        look.small.sized(8),
    )
    add_signature(flow, look, fields.signer, rng, "Requested by:")
    flow.ensure_space(4 * look.body.line_height + 150)
    flow.heading("For the office that holds the records", look.heading, look.headings)
    tick_boxes(flow, "", [("Records enclosed", False), ("No records found", False), ("Not our patient", False)])
    flow.form_rows([[("COMPLETED BY", "", 5), ("DATE", "", 3), ("NUMBER OF PAGES", "", 3)]])


TEMPLATE = FaxTemplate("records_request", "A form that asks for medical records.", RecordsRequestFields, lay_out)
