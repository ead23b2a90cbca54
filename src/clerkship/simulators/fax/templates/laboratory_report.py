"""A report of a laboratory: a table of results with flags and reference ranges."""

from typing import Annotated, Literal

from pydantic import Field

from clerkship.formats.fax_pages.layout import Column, PageFlow, TableRow
from clerkship.kit.rng import Rng
from clerkship.model.frozen import Frozen
from clerkship.simulators.fax.templates.blocks import centered, continue_pages
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

ReportStatus = Literal["final", "preliminary", "corrected"]


class LaboratoryResult(Frozen):
    """A row of the report."""

    test: ShortText
    value: ShortText
    unit: ShortText = ""
    range: Annotated[ShortText, Field(description="reference range as it is written: `70-99`")] = ""
    flag: Annotated[Literal["", "H", "L", "HH", "LL", "A"], Field(description="high, low, critical, abnormal")] = ""


class LaboratoryPanel(Frozen):
    """Results under one heading."""

    name: ShortText
    results: Annotated[tuple[LaboratoryResult, ...], Field(min_length=1, max_length=200)]


class LaboratoryReportFields(FaxFields):
    """A laboratory report."""

    recipient: Annotated[RecipientFields, Field(description="the practice that gets the report")] = RecipientFields()
    patient: FaxedPatient
    ordering: Annotated[FaxedClinician, Field(description="the clinician who ordered the tests")] = FaxedClinician()
    accession: Annotated[ShortText, Field(description="the laboratory's number of the specimen")] = ""
    clia: Annotated[ShortText, Field(description="CLIA number of the laboratory: `99D0000000`")] = ""
    director: Annotated[ShortText, Field(description="laboratory director")] = ""
    specimen: Annotated[ShortText, Field(description="`Serum`")] = ""
    collected: Annotated[ShortText, Field(description="date and time of collection, as written")] = ""
    received: ShortText = ""
    reported: ShortText = ""
    fasting: Annotated[ShortText, Field(description="`Yes`, `No`")] = ""
    status: ReportStatus = "final"
    panels: Annotated[tuple[LaboratoryPanel, ...], Field(min_length=1, max_length=40)]
    comments: LongText = ""
    called_to: Annotated[ShortText, Field(description="to whom critical results were called, and when")] = ""


def lay_out(fields: LaboratoryReportFields, flow: PageFlow, look: Look, rng: Rng) -> None:
    """Lay out the report."""
    draw_letterhead(flow, look, fields.sender)
    about = f"{fields.patient.name}, DOB {fields.patient.date_of_birth}"
    continue_pages(flow, f"Laboratory report: {about}" + (f", {fields.accession}" if fields.accession else ""))
    centered(flow, f"LABORATORY REPORT - {fields.status.upper()}", look.body.bolder().sized(13), after=4)
    identity = [f"CLIA: {fields.clia}" if fields.clia else ""]
    identity.append(f"Laboratory director: {fields.director}" if fields.director else "")
    if any(identity):
        centered(flow, "   ".join(part for part in identity if part), look.small, after=12)
    _add_header_boxes(flow, fields)
    columns = [
        Column("Test", 9),
        Column("Result", 5, bold=True),
        Column("Flag", 2, bold=True),
        Column("Units", 4),
        Column("Reference range", 5),
    ]
    rows: list[TableRow] = []
    for panel in fields.panels:
        rows.append(panel.name)
        rows += [(f"  {row.test}", row.value, row.flag, row.unit, row.range) for row in panel.results]
    flow.table(columns, rows, look.table, after=16)
    if fields.comments:
        flow.heading("Comments", look.heading, "plain")
        flow.paragraph(fields.comments)
    flow.pairs([("Critical value called to:", fields.called_to)], 420)
    flow.paragraph("Flags: H high, L low, HH/LL critical, A abnormal. Ranges are those of adults.", look.small)
    flow.ensure_space(60)
    centered(flow, "*** END OF REPORT ***", look.body.sized(8), after=0)


def _add_header_boxes(flow: PageFlow, fields: LaboratoryReportFields) -> None:
    """Add the boxes with patient, specimen and who ordered."""
    patient, ordering, recipient = fields.patient, fields.ordering, fields.recipient
    provider = ", ".join(part for part in (ordering.name, ordering.title) if part)
    client = ", ".join(part for part in (recipient.name, recipient.attention) if part)
    place = ", ".join(part for part in (recipient.address, recipient.city) if part)
    numbers = "  ".join(
        f"{label} {number}" for label, number in (("Ph", recipient.phone), ("Fax", recipient.fax)) if number
    )
    flow.form_rows(
        [
            [("PATIENT", patient.name, 5), ("DATE OF BIRTH", patient.date_of_birth, 3), ("SEX", patient.sex, 2)],
            [("PATIENT ID / MRN", patient.mrn, 5), ("PATIENT PHONE", patient.phone, 5)],
            [("ACCESSION NO.", fields.accession, 4), ("SPECIMEN", fields.specimen, 3), ("FASTING", fields.fasting, 3)],
            [("COLLECTED", fields.collected, 1), ("RECEIVED", fields.received, 1), ("REPORTED", fields.reported, 1)],
            [("ORDERING PROVIDER", provider, 5), ("NPI", ordering.npi, 3), ("DATE", fields.date, 3)],
            [("CLIENT", client, 5), ("CLIENT ADDRESS", place, 4), ("CLIENT PHONE / FAX", numbers, 4)],
        ]
    )
    pairs = [
        ("Patient address:", patient.address),
        ("Provider phone:", ordering.phone),
        ("Provider fax:", ordering.fax),
    ]
    flow.pairs(pairs, 300, after=4)


TEMPLATE = FaxTemplate(
    "laboratory_report",
    "A report of a laboratory: results with flags and reference ranges, specimen and times.",
    LaboratoryReportFields,
    lay_out,
)
