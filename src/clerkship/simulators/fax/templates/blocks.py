"""Parts of letters and forms that several templates have."""

from collections.abc import Sequence

from clerkship.formats.fax_pages.fonts import FontStyle, wrap
from clerkship.formats.fax_pages.handwriting import sign
from clerkship.formats.fax_pages.layout import PageFlow
from clerkship.kit.rng import Rng
from clerkship.simulators.fax.templates.fields import (
    FaxedClinician,
    FaxedInsurance,
    FaxedPatient,
    RecipientFields,
)
from clerkship.simulators.fax.templates.look import Look


def continue_pages(flow: PageFlow, about: str) -> None:
    """Have each further page begin with what the document is about."""

    def draw_top(flow: PageFlow) -> None:
        small = flow.style.sized(8).italics()
        for line in wrap(f"{about} (continued)", small, flow.width):
            flow.canvas.text(flow.left, flow.y, line, small)
            flow.y += small.line_height
        flow.canvas.rule(flow.left, flow.y + 4, flow.right, 1)
        flow.skip(26)

    flow.on_new_page = draw_top


def add_address(flow: PageFlow, recipient: RecipientFields) -> None:
    """Add the address of a recipient."""
    numbers = (("Phone", recipient.phone), ("Fax", recipient.fax))
    lines = [recipient.name, f"Attn: {recipient.attention}" if recipient.attention else ""]
    lines += [recipient.address, recipient.city]
    lines.append("   ".join(f"{label}: {number}" for label, number in numbers if number))
    written = [line for line in lines if line]
    for line in written:
        flow.paragraph(line, after=0)
    flow.skip(24 if written else 0)


def add_patient(
    flow: PageFlow,
    look: Look,
    patient: FaxedPatient,
    insurance: FaxedInsurance | None,
    more: Sequence[tuple[str, str]] = (),
) -> None:
    """Add the block that says whom a letter is about: lines beside a rule, or the boxes of a form."""
    if look.has_boxed_patient:
        _add_patient_boxes(flow, patient, insurance, more)
        return
    flow.canvas.text(flow.left, flow.y, "RE:", flow.style.bolder())
    start, left, sheet = flow.y, flow.left, flow.canvas.sheet
    flow.left += 90
    flow.pairs([*patient_pairs(patient, insurance), *((f"{label}:", value) for label, value in more)], 260, after=8)
    flow.left = left
    if flow.canvas.sheet is sheet:
        flow.canvas.upright(left + 70, start, flow.y - 6, 3)
    flow.skip(18)


def patient_pairs(patient: FaxedPatient, insurance: FaxedInsurance | None) -> list[tuple[str, str]]:
    """Return labels and values of a patient and the insurance."""
    pairs = [
        ("Patient:", patient.name),
        ("DOB:", patient.date_of_birth + (f"   Sex: {patient.sex}" if patient.sex else "")),
        ("MRN:", patient.mrn),
        ("Phone:", patient.phone),
        ("Address:", patient.address),
    ]
    if insurance:
        member = insurance.member_id + (f"   Group: {insurance.group}" if insurance.group else "")
        pairs += [("Insurance:", _payer_and_plan(insurance)), ("Member ID:", member)]
    return pairs


def _payer_and_plan(insurance: FaxedInsurance) -> str:
    return " - ".join(part for part in (insurance.payer, insurance.plan) if part)


def _add_patient_boxes(
    flow: PageFlow, patient: FaxedPatient, insurance: FaxedInsurance | None, more: Sequence[tuple[str, str]]
) -> None:
    rows = [
        [("PATIENT NAME", patient.name, 6), ("DATE OF BIRTH", patient.date_of_birth, 3), ("SEX", patient.sex, 2)],
        [("ADDRESS", patient.address, 6), ("PHONE", patient.phone, 3), ("MRN", patient.mrn, 2)],
    ]
    if insurance:
        payer = _payer_and_plan(insurance)
        rows.append([("INSURANCE", payer, 6), ("MEMBER ID", insurance.member_id, 3), ("GROUP", insurance.group, 2)])
    shown = [(label.upper(), value, 1) for label, value in more if value]
    if shown:
        rows.append(shown)
    flow.form_rows([row for row in rows if any(value for _, value, _ in row)])


def tick_boxes(flow: PageFlow, label: str, options: Sequence[tuple[str, bool]], gap: int = 50) -> None:
    """Add a row of boxes to tick, on more rows where they do not fit."""
    style = flow.style
    flow.ensure_space(style.line_height)
    x = flow.left
    if label:
        x += flow.canvas.text(x, flow.y, label, style.bolder()) + 30
    start = x
    for option, is_ticked in options:
        needed = style.dots * 2 + len(option) * style.dots * 3 // 5
        if x > start and x + needed > flow.right:
            flow.y += style.line_height + 6
            flow.ensure_space(style.line_height)
            x = start
        x += flow.canvas.tick_box(x, flow.y, option, style, is_ticked=is_ticked) + gap
    flow.y += style.line_height + 10


def tick_grid(flow: PageFlow, options: Sequence[tuple[str, bool]], columns: int = 2) -> None:
    """Add boxes to tick, below each other in columns."""
    for start in range(0, len(options), columns):
        flow.ensure_space(flow.style.line_height)
        for place, (option, is_ticked) in enumerate(options[start : start + columns]):
            x = flow.left + 20 + place * flow.width // columns
            flow.canvas.tick_box(x, flow.y, option, flow.style, is_ticked=is_ticked)
        flow.y += flow.style.line_height + 6
    flow.skip(6)


def add_signature(flow: PageFlow, look: Look, clinician: FaxedClinician, rng: Rng, closing: str = "Sincerely,") -> None:
    """Add a closing, a signature by hand, and the name with its NPI below a line."""
    numbers = (("NPI", clinician.npi), ("Direct", clinician.phone), ("Fax", clinician.fax))
    lines = [clinician.name, clinician.title, *(f"{label}: {number}" for label, number in numbers if number)]
    lines = [line for line in lines if line]
    flow.ensure_space((len(lines) + 2) * look.body.line_height + 110)
    if closing:
        flow.paragraph(closing, after=0)
    family_and_given = clinician.name.split(",")[0]
    if family_and_given:
        sign(flow.canvas, flow.left + 20, flow.y + 80, family_and_given, rng.stream("signature"))
    flow.skip(104)
    flow.canvas.rule(flow.left, flow.y, flow.left + 560, 2)
    flow.skip(6)
    for line in lines:
        flow.paragraph(line, after=0)
    flow.skip(20)


def describe_clinician(clinician: FaxedClinician) -> str:
    """Return what is known of a clinician in one line."""
    person = ", ".join(part for part in (clinician.name, clinician.title) if part)
    numbers = (("NPI", clinician.npi), ("Phone", clinician.phone), ("Fax", clinician.fax))
    return "   ".join([person, *(f"{label}: {number}" for label, number in numbers if number)]).strip()


def centered(flow: PageFlow, text: str, style: FontStyle, after: int = 14) -> None:
    """Add lines in the middle."""
    for line in wrap(text, style, flow.width):
        flow.ensure_space(style.line_height)
        flow.canvas.text((flow.left + flow.right) // 2, flow.y, line, style, "center")
        flow.y += style.line_height
    flow.skip(after)
