"""A letter with any text."""

from typing import Annotated

from pydantic import Field

from clerkship.formats.fax_pages.layout import PageFlow
from clerkship.kit.rng import Rng
from clerkship.simulators.fax.templates.blocks import add_address, add_patient, add_signature, continue_pages
from clerkship.simulators.fax.templates.contract import FaxTemplate
from clerkship.simulators.fax.templates.fields import (
    FaxedClinician,
    FaxedInsurance,
    FaxedPatient,
    FaxFields,
    RecipientFields,
    ShortText,
)
from clerkship.simulators.fax.templates.look import Look, draw_letterhead


class PlainLetterFields(FaxFields):
    """A letter."""

    recipient: RecipientFields
    subject: ShortText = ""
    patient: FaxedPatient | None = None
    insurance: FaxedInsurance | None = None
    salutation: ShortText = "To whom it may concern:"
    body: Annotated[str, Field(min_length=1, max_length=40_000, description="text; empty lines divide paragraphs")]
    closing: ShortText = "Sincerely,"
    signer: FaxedClinician
    enclosures: Annotated[tuple[ShortText, ...], Field(max_length=20)] = ()


def lay_out(fields: PlainLetterFields, flow: PageFlow, look: Look, rng: Rng) -> None:
    """Lay out the letter."""
    draw_letterhead(flow, look, fields.sender)
    about = [fields.sender.name, fields.subject, fields.patient.name if fields.patient else ""]
    continue_pages(flow, ", ".join(part for part in about if part))
    if fields.date:
        flow.paragraph(fields.date, after=24)
    add_address(flow, fields.recipient)
    if fields.subject:
        flow.pairs([("Subject:", fields.subject)], 190)
    if fields.patient:
        add_patient(flow, look, fields.patient, fields.insurance)
    if fields.salutation:
        flow.paragraph(fields.salutation, after=20)
    for paragraph in fields.body.split("\n\n"):
        flow.paragraph(paragraph.strip("\n"), after=20)
    add_signature(flow, look, fields.signer, rng, fields.closing)
    flow.pairs([("Encl.:", "; ".join(fields.enclosures))], 150)


TEMPLATE = FaxTemplate("plain_letter", "A letter with any text.", PlainLetterFields, lay_out)
