"""A letter in which a payer denies a claim or an authorization."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.formats.fax_pages.layout import Column, PageFlow
from clerkship.kit.rng import Rng
from clerkship.model.frozen import Frozen
from clerkship.simulators.fax.templates.blocks import (
    add_address,
    add_signature,
    continue_pages,
    describe_clinician,
)
from clerkship.simulators.fax.templates.contract import FaxTemplate
from clerkship.simulators.fax.templates.fields import (
    FaxedClinician,
    FaxedPatient,
    FaxFields,
    LongText,
    RecipientFields,
    ShortText,
)
from clerkship.simulators.fax.templates.look import Look, draw_letterhead


class DeniedService(Frozen):
    """A service that is denied."""

    code: Annotated[ShortText, Field(description="CPT or HCPCS code")]
    description: ShortText = ""
    date: Annotated[ShortText, Field(description="date of service")] = ""
    amount: ShortText = ""
    reason_code: Annotated[ShortText, Field(description="code of the payer's reason: `CO-50`")] = ""


class DenialLetterFields(FaxFields):
    """A denial: what, why, and how to appeal."""

    recipient: RecipientFields
    patient: Annotated[FaxedPatient, Field(description="the member")]
    member_id: ShortText = ""
    group: ShortText = ""
    decision: Literal["authorization", "claim"] = "authorization"
    reference: Annotated[ShortText, Field(description="number of the claim or the authorization request")]
    request_date: Annotated[ShortText, Field(description="when the claim or request was received")] = ""
    provider: Annotated[FaxedClinician, Field(description="the clinician who asked or billed")] = FaxedClinician()
    services: Annotated[tuple[DeniedService, ...], Field(min_length=1, max_length=60)]
    diagnosis: Annotated[ShortText, Field(description="ICD-10 code and text")] = ""
    reason: Annotated[LongText, Field(description="why it is denied")]
    criteria: Annotated[LongText, Field(description="the policy or the criteria that were used")] = ""
    appeal_deadline: Annotated[ShortText, Field(description="last day for an appeal, as it is written")]
    appeal_address: Annotated[LongText, Field(description="where an appeal goes; line breaks stay")] = ""
    appeal_fax: ShortText = ""
    appeal_phone: ShortText = ""
    peer_to_peer: Annotated[ShortText, Field(description="phone number for a call between physicians")] = ""
    signer: FaxedClinician


def lay_out(fields: DenialLetterFields, flow: PageFlow, look: Look, rng: Rng) -> None:
    """Lay out the letter."""
    draw_letterhead(flow, look, fields.sender)
    continue_pages(flow, f"Notice of denial, {fields.patient.name}, reference {fields.reference}")
    if fields.date:
        flow.paragraph(fields.date, after=18)
    add_address(flow, fields.recipient)
    flow.heading(f"NOTICE OF ADVERSE DETERMINATION: {fields.decision.upper()} DENIED", look.heading.sized(12), "plain")
    _add_subject(flow, fields, look)
    flow.paragraph(f"Dear {_form_of_address(fields.provider.name)}:")
    kind = "request for prior authorization" if fields.decision == "authorization" else "claim"
    flow.paragraph(f"We reviewed the {kind} named above. After this review, we do not approve the following:")
    _add_services(flow, fields, look)
    flow.heading("Reason for this decision", look.heading, look.headings)
    flow.paragraph(fields.reason)
    if fields.criteria:
        flow.pairs([("Criteria used:", fields.criteria)], 260)
    flow.heading("Your right to appeal", look.heading, look.headings)
    _add_appeal_rights(flow, fields)
    add_signature(flow, look, fields.signer, rng)


def _form_of_address(name: str) -> str:
    """Return how a letter addresses a clinician: `Dr. Nair` for `Priya Nair, MD`."""
    person, _, degrees = name.partition(",")
    is_physician = bool({"MD", "DO"} & set(degrees.replace(",", " ").split()))
    return f"Dr. {person.split()[-1]}" if is_physician and person.split() else person or "Provider"


def _add_subject(flow: PageFlow, fields: DenialLetterFields, look: Look) -> None:
    """Add the numbers that the letter is about."""
    patient = fields.patient
    number = "Authorization no." if fields.decision == "authorization" else "Claim no."
    values = [
        ("Member", patient.name),
        ("Member ID", fields.member_id),
        ("Date of birth", patient.date_of_birth),
        ("Sex", patient.sex),
        ("Group", fields.group),
        (number, fields.reference),
        ("Received", fields.request_date),
        ("Provider", describe_clinician(fields.provider)),
        ("Patient account", patient.mrn),
        ("Diagnosis", fields.diagnosis),
        ("Member phone", patient.phone),
        ("Member address", patient.address),
    ]
    shown = [(label, value) for label, value in values if value]
    if look.has_boxed_patient:
        cells = [(label.upper(), value, 1) for label, value in shown]
        flow.form_rows([cells[start : start + 2] for start in range(0, len(cells), 2)])
    else:
        flow.pairs([(f"{label}:", value) for label, value in shown], 300)


def _add_services(flow: PageFlow, fields: DenialLetterFields, look: Look) -> None:
    columns = [
        Column("Code", 3, bold=True),
        Column("Service", 10),
        Column("Date of service", 4),
        Column("Amount", 3),
        Column("Reason", 3),
    ]
    rows = [
        (service.code, service.description, service.date, service.amount, service.reason_code)
        for service in fields.services
    ]
    flow.table(columns, rows, look.table)


def _add_appeal_rights(flow: PageFlow, fields: DenialLetterFields) -> None:
    """Add until when, how and where to appeal."""
    flow.paragraph(
        "You or the member may ask us to look at this decision again. Send a written appeal with this letter, the"
        " reasons why you disagree, and the records that support it."
    )
    pairs = [
        ("Appeal must be received by:", fields.appeal_deadline),
        ("Mail to:", fields.appeal_address),
        ("Fax to:", fields.appeal_fax),
        ("Questions:", fields.appeal_phone),
        ("Peer-to-peer review:", fields.peer_to_peer),
    ]
    flow.pairs(pairs, 440)
    flow.paragraph(
        "An expedited appeal is possible when waiting could seriously harm the member's health. A reviewer who had no"
        " part in this decision decides on appeals."
    )


TEMPLATE = FaxTemplate(
    "denial_letter",
    "A payer's denial of a claim or an authorization, with the reason, and how and until when to appeal.",
    DenialLetterFields,
    lay_out,
)
