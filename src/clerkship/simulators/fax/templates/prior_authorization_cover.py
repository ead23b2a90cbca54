"""The cover sheet of a request for prior authorization: a form with boxes."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.formats.fax_pages.layout import Column, PageFlow
from clerkship.kit.rng import Rng
from clerkship.model.frozen import Frozen, Whole
from clerkship.simulators.fax.templates.blocks import add_signature, centered, continue_pages, tick_boxes
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

Setting = Literal["office", "outpatient", "inpatient", "home", "ambulatory_surgery"]
SETTINGS: dict[Setting, str] = {
    "office": "Office",
    "outpatient": "Outpatient hospital",
    "inpatient": "Inpatient",
    "home": "Home",
    "ambulatory_surgery": "Ambulatory surgery",
}


class RequestedProcedure(Frozen):
    """A row of the services that are asked for."""

    code: Annotated[ShortText, Field(description="CPT or HCPCS code")]
    description: ShortText = ""
    modifier: Annotated[str, Field(max_length=12)] = ""
    units: Annotated[str, Field(max_length=12)] = "1"
    from_date: ShortText = ""
    to_date: ShortText = ""


class PriorAuthorizationCoverFields(FaxFields):
    """A request for prior authorization."""

    recipient: Annotated[RecipientFields, Field(description="the payer's department of utilization management")]
    patient: FaxedPatient
    insurance: FaxedInsurance
    review: Literal["standard", "expedited"] = "standard"
    request: Literal["initial", "extension", "appeal"] = "initial"
    reference: Annotated[ShortText, Field(description="number of an earlier request or of the case")] = ""
    setting: Setting = "outpatient"
    requesting: Annotated[FaxedClinician, Field(description="the clinician who asks")]
    facility: Annotated[ShortText, Field(description="where the service is rendered")] = ""
    facility_npi: ShortText = ""
    tax_id: ShortText = ""
    diagnoses: Annotated[tuple[FaxedCode, ...], Field(max_length=30, description="ICD-10 codes")] = ()
    services: Annotated[tuple[RequestedProcedure, ...], Field(min_length=1, max_length=60)]
    rationale: Annotated[LongText, Field(description="clinical summary and why the service is needed")] = ""
    attachments: Annotated[tuple[ShortText, ...], Field(max_length=20)] = ()
    pages: Annotated[Whole | None, Field(ge=1, description="number of pages with this one, as it is written")] = None
    contact: Annotated[ShortText, Field(description="person to call with questions")] = ""


def lay_out(fields: PriorAuthorizationCoverFields, flow: PageFlow, look: Look, rng: Rng) -> None:
    """Lay out the form."""
    draw_letterhead(flow, look, fields.sender)
    continue_pages(flow, f"Prior authorization request: {fields.patient.name}, ID {fields.insurance.member_id}")
    centered(flow, "PRIOR AUTHORIZATION REQUEST", look.body.bolder().sized(14), after=2)
    centered(flow, "Fax cover sheet. Please complete all sections; attach clinical notes.", look.small.italics(), 10)
    _add_routing(flow, fields)
    reviews = [("Standard", fields.review == "standard"), ("Expedited / urgent", fields.review == "expedited")]
    tick_boxes(flow, "Review:", reviews)
    requests = [(name.capitalize(), name == fields.request) for name in ("initial", "extension", "appeal")]
    tick_boxes(flow, "Request:", requests)
    headings = "black" if look.headings == "plain" else look.headings
    flow.heading("SECTION A - MEMBER", look.heading, headings)
    _add_member(flow, fields)
    flow.heading("SECTION B - REQUESTING PROVIDER AND FACILITY", look.heading, headings)
    _add_provider(flow, fields)
    flow.heading("SECTION C - SERVICES", look.heading, headings)
    tick_boxes(flow, "Setting:", [(text, key == fields.setting) for key, text in SETTINGS.items()], gap=26)
    _add_services(flow, fields)
    if fields.rationale:
        flow.heading("SECTION D - CLINICAL SUMMARY", look.heading, headings)
        flow.paragraph(fields.rationale)
    flow.pairs([("Attached:", "; ".join(fields.attachments))], 190, after=4)
    add_signature(flow, look, fields.requesting, rng, "I certify that the information above is correct.")


def _add_routing(flow: PageFlow, fields: PriorAuthorizationCoverFields) -> None:
    """Add to whom the form goes, and from where."""
    recipient = fields.recipient
    to = ", ".join(part for part in (recipient.name, recipient.attention) if part)
    place = ", ".join(part for part in (recipient.address, recipient.city) if part)
    pages = "" if fields.pages is None else str(fields.pages)
    flow.form_rows(
        [
            [("TO", to, 6), ("FAX", recipient.fax, 3), ("PHONE", recipient.phone, 3)],
            [("ADDRESS", place, 6), ("DATE", fields.date, 3), ("PAGES INCL. COVER", pages, 3)],
            [("FROM (CONTACT)", fields.contact, 6), ("REFERENCE / CASE NO.", fields.reference, 6)],
        ],
        after=14,
    )


def _add_member(flow: PageFlow, fields: PriorAuthorizationCoverFields) -> None:
    patient, insurance = fields.patient, fields.insurance
    flow.form_rows(
        [
            [("MEMBER NAME", patient.name, 6), ("DATE OF BIRTH", patient.date_of_birth, 3), ("SEX", patient.sex, 2)],
            [("HEALTH PLAN", insurance.payer, 4), ("PLAN / PRODUCT", insurance.plan, 3), ("GROUP", insurance.group, 2)],
            [("MEMBER ID", insurance.member_id, 4), ("PHONE", patient.phone, 3), ("MRN", patient.mrn, 2)],
            [("ADDRESS", patient.address, 1)],
        ],
        after=12,
    )


def _add_provider(flow: PageFlow, fields: PriorAuthorizationCoverFields) -> None:
    provider = fields.requesting
    flow.form_rows(
        [
            [("REQUESTING PROVIDER", provider.name, 5), ("NPI", provider.npi, 3), ("TAX ID", fields.tax_id, 3)],
            [("SPECIALTY", provider.title, 5), ("PHONE", provider.phone, 3), ("FAX", provider.fax, 3)],
            [("SERVICING FACILITY", fields.facility, 8), ("FACILITY NPI", fields.facility_npi, 3)],
        ],
        after=12,
    )


def _add_services(flow: PageFlow, fields: PriorAuthorizationCoverFields) -> None:
    """Add the table of services, and the diagnoses they are for."""
    columns = [
        Column("CPT/HCPCS", 5, bold=True),
        Column("Mod", 2),
        Column("Description", 13),
        Column("Units", 2),
        Column("From", 4),
        Column("To", 4),
    ]
    rows = [
        (service.code, service.modifier, service.description, service.units, service.from_date, service.to_date)
        for service in fields.services
    ]
    flow.table(columns, rows, "grid", after=10)
    diagnoses = "; ".join(f"{diagnosis.code} {diagnosis.description}".strip() for diagnosis in fields.diagnoses)
    flow.pairs([("ICD-10:", diagnoses)], 150)


TEMPLATE = FaxTemplate(
    "prior_authorization_cover",
    "The cover sheet of a request for prior authorization: a form with boxes and rows of services.",
    PriorAuthorizationCoverFields,
    lay_out,
)
