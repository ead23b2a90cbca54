"""Realistic views of the form of a new request, and the records that other sample views use too."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from clerkship.simulators.portal.views import (
    CodeRow,
    DocumentRow,
    DraftView,
    Fact,
    FieldChoice,
    FieldMistake,
    MemberCard,
    ProviderRow,
    QuestionField,
    ServiceRow,
)

LONG_NAME = "Maximiliana Konstantinopoulou-Featherstonehaugh"
ACCEPTED = "PDF, TIFF, PNG or JPEG; at most 5 MB each and 10 files"
PAYERS = [
    FieldChoice("HL001", "Harborlight Health Plan"),
    FieldChoice("CM002", "Cedar Mutual Insurance"),
    FieldChoice("VM003", "Valley Medical Assistance Program"),
]
PLANS = [
    FieldChoice("harborlight-silver-ppo", "Harborlight Silver PPO"),
    FieldChoice("cedar-choice-hmo", "Cedar Choice HMO"),
    FieldChoice("valley-assistance", "Valley Medical Assistance"),
]
PLACES = [
    FieldChoice("11", "11 - Office"),
    FieldChoice("12", "12 - Home"),
    FieldChoice("19", "19 - Off-campus outpatient hospital"),
    FieldChoice("21", "21 - Inpatient hospital"),
    FieldChoice("22", "22 - On-campus outpatient hospital"),
    FieldChoice("24", "24 - Ambulatory surgical center"),
]
DOCUMENT_TYPES = [
    FieldChoice("clinical_note", "Clinical note"),
    FieldChoice("letter_of_medical_necessity", "Letter of medical necessity"),
    FieldChoice("lab_report", "Laboratory report"),
    FieldChoice("imaging_report", "Imaging report"),
    FieldChoice("therapy_notes", "Therapy notes"),
    FieldChoice("order", "Order"),
    FieldChoice("other", "Other"),
]
MEMBER = MemberCard(
    "M-1041", "Rosalind Alvarez", date(1986, 7, 14), "Female", "HL4471902", "Self", "HL001", "Harborlight Health Plan",
    "Harborlight Silver PPO", "GRP-20418 Riverbend Mills", "active", date(2025, 1, 1), None,
)  # fmt: skip
DEPENDENT = MemberCard(
    "M-1042", LONG_NAME, date(2014, 11, 2), "Female", "VMA-0038812-02", "Child", "VM003",
    "Valley Medical Assistance Program", "Valley Medical Assistance", "", "future", date(2026, 4, 1), None,
)  # fmt: skip
TERMINATED = MemberCard(
    "M-1043", "Theodore Brandt", date(1959, 3, 30), "Male", "CM2209518", "Self", "CM002", "Cedar Mutual Insurance",
    "Cedar Choice HMO", "GRP-00931 Quarry Hill Stoneworks", "terminated", date(2022, 1, 1), date(2025, 12, 31),
)  # fmt: skip
PROVIDERS = [
    ProviderRow(
        "9999900027", "Anneke Verhoeven, MD", "Practitioner", "Riverbend Family Health Center",
        "Harborlight PPO, Cedar HMO",
    ),
    ProviderRow("9999900134", "Quarry Hill Imaging Associates", "Organization", "", "Harborlight PPO"),
    ProviderRow(
        "9999900142", "Bartholomew Oyelaran-Fitzgerald, DPT", "Practitioner",
        "Millbrook Landing Center for Physical and Occupational Rehabilitation", "Not in a network",
    ),
]  # fmt: skip
SERVICES = [
    ServiceRow(
        "72148", "MRI of the lumbar spine without contrast", "", "1 unit", "Once", date(2026, 3, 25), date(2026, 4, 24)
    ),
    ServiceRow(
        "97110", "Therapeutic exercise, each 15 minutes", "GP", "12 visits", "2 per week", date(2026, 3, 23),
        date(2026, 5, 1),
    ),
    ServiceRow("97140", "Manual therapy techniques, each 15 minutes", "GP, 59", "6 visits", "Total", None, None),
]  # fmt: skip
DOCUMENTS = [
    DocumentRow(
        "DOC-41877", "progress-note-2026-03-04.pdf", "Clinical note", "148 KB", datetime(2026, 3, 18, 9, 51),
        "Maya Okafor",
    ),
    DocumentRow(
        "DOC-41880", "physical_therapy_visits_january_to_march_with_home_exercise_program_signed.pdf", "Therapy notes",
        "2.4 MB", datetime(2026, 3, 18, 9, 55), "Maya Okafor",
    ),
]  # fmt: skip
DIAGNOSES = [
    CodeRow("M54.16", "Radiculopathy, lumbar region"),
    CodeRow("M51.26", "Other intervertebral disc displacement, lumbar region"),
    CodeRow("E11.9", "Type 2 diabetes mellitus without complications"),
]
QUESTIONS = [
    QuestionField(
        "weeks", "How many weeks of conservative treatment were completed?", "number", (), "7", "Whole weeks"
    ),
    QuestionField("deficit", "Is there a new or progressive neurological deficit?", "boolean", (), "false"),
    QuestionField(
        "treatment", "Which treatment was given?", "choice",
        ("Physical therapy", "Home exercise", "Medication", "Injection"), "Physical therapy",
    ),
    QuestionField("xray", "When was the last X-ray of the lumbar spine?", "date", (), "", is_required=False),
    QuestionField("findings", "Describe the findings of the examination.", "text", (), "Positive straight leg raise."),
]  # fmt: skip
ATTESTATION = (
    "I confirm that the information in this request is complete and agrees with the patient's record, and that I may "
    "submit it for the requesting provider."
)
STEPS = [
    ("patient", "Patient"),
    ("request", "Request"),
    ("providers", "Providers"),
    ("diagnoses", "Diagnoses"),
    ("services", "Services"),
    ("clinical", "Clinical questions"),
    ("documents", "Documents"),
    ("review", "Review"),
]
_REVIEW = [
    ("patient", [Fact("Patient", "Rosalind Alvarez, born 07/14/1986"), Fact("Member ID", "HL4471902")]),
    ("request", [Fact("Type", "Services"), Fact("Urgency", "Standard"), Fact("Place of service", "22 - Outpatient")]),
    (
        "providers",
        [Fact("Requesting", "Anneke Verhoeven, MD, 9999900027"), Fact("Servicing", "Quarry Hill Imaging, 9999900134")],
    ),
    ("diagnoses", [Fact("Principal", "M54.16 Radiculopathy, lumbar region"), Fact("Other", "M51.26, E11.9")]),
    ("services", [Fact("72148", "MRI of the lumbar spine without contrast; 1 unit; 03/25/2026 to 04/24/2026")]),
    ("clinical", [Fact(each.text, each.value or "No answer") for each in QUESTIONS]),
    ("documents", [Fact(each.name, f"{each.type}, {each.size}") for each in DOCUMENTS]),
]
_DRAFT = DraftView(
    title="New authorization request",
    id="D-58213",
    revision=4,
    step="patient",
    steps=[],
    sections=(),
    payers=PAYERS,
    members=[FieldChoice("M-1041", "Rosalind Alvarez, born 07/14/1986, Harborlight Health Plan HL4471902")],
    member=MEMBER,
    reviews=[
        FieldChoice("services", "Services"),
        FieldChoice("admission", "Admission"),
        FieldChoice("referral", "Referral"),
    ],
    urgencies=[FieldChoice("standard", "Standard"), FieldChoice("urgent", "Urgent")],
    places=PLACES,
    requesting=None,
    servicing=None,
    provider_matches=[],
    provider_target="",
    diagnoses=[],
    diagnosis_matches=[],
    services=[],
    procedure_matches=[],
    units=[FieldChoice(each, each.capitalize()) for each in ("units", "visits", "days", "hours", "months")],
    frequencies=[
        FieldChoice("total", "In total"),
        FieldChoice("once", "Once"),
        FieldChoice("per_week", "Per week"),
        FieldChoice("per_month", "Per month"),
    ],
    question_title="",
    questions=[],
    documents=[],
    document_types=DOCUMENT_TYPES,
    required_documents=[],
    accepted=ACCEPTED,
    review_facts=[],
    attestation=ATTESTATION,
)
_PROVIDERS: dict[str, Any] = {
    "requesting": PROVIDERS[0],
    "servicing": PROVIDERS[1],
    "values": {"requesting_npi": PROVIDERS[0].npi, "servicing_npi": PROVIDERS[1].npi},
}
_DIAGNOSIS_MATCHES = [
    CodeRow("M54.16", "Radiculopathy, lumbar region"),
    CodeRow("M54.17", "Radiculopathy, lumbosacral region"),
    CodeRow("M54.1", "Radiculopathy", "not a billable code"),
]
_PROCEDURE_MATCHES = [
    CodeRow("72148", "MRI of the lumbar spine without contrast"),
    CodeRow("72149", "MRI of the lumbar spine with contrast"),
    CodeRow("72159", "MR angiography of the spinal canal", "ended 12/31/2025"),
]
_CLINICAL: dict[str, Any] = {
    "question_title": "MRI of the spine",
    "questions": QUESTIONS,
    "values": {f"answer_{each.id}": each.value for each in QUESTIONS},
}
_DOCUMENTS: dict[str, Any] = {"documents": DOCUMENTS, "required_documents": ["Therapy notes", "Order"]}
_CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "(518) 555-0100"}
DraftSample = tuple[str, DraftView, dict[str, Any]]
"""The name of a sample, its view, and what differs in its frame."""


def build_wizard_drafts() -> Iterator[DraftSample]:
    """Yield the steps of the wizard."""
    yield "draft-patient-first", _at("patient", members=[], member=None), {}
    yield "draft-patient", _at("patient", values={"member": "M-1041"}), {"notices": ("The member was found.",)}
    yield (
        "draft-patient-problem",
        _at(
            "patient",
            member=None,
            values={"payer": "HL001", "member_id": "HL447190", "birth_date": "14.7.86", "family": '"/><b>Alvarez'},
            problems=[
                FieldMistake("birth_date", "Enter the birth date as MM/DD/YYYY, such as 03/18/1980."),
                FieldMistake("", "Harborlight Health Plan has no member with this number."),
            ],
        ),
        {},
    )
    yield "draft-request", _at("request"), {}
    chosen = {"review": "services", "urgency": "urgent", "place": "22"}
    yield "draft-request-saved", _at("request", values=chosen), {"notices": ("The draft was saved.",)}
    problems = [FieldMistake("review", "Choose what the request is for."), FieldMistake("place", "Choose a place.")]
    yield "draft-request-problem", _at("request", problems=problems), {}
    yield "draft-providers-first", _at("providers"), {}
    yield "draft-providers", _at("providers", **_PROVIDERS), {}
    search = _at("providers", **{**_PROVIDERS, "servicing": None}, searched="provider", provider_target="servicing")
    yield "draft-providers-search", replace(search, provider_matches=PROVIDERS), {}
    yield "draft-providers-no-results", replace(search, values={"provider_search": "zzyzx"}), {}
    problem = FieldMistake("servicing_npi", "No provider has this NPI. Search for the provider by name.")
    unknown = {"requesting_npi": PROVIDERS[0].npi, "servicing_npi": "1234567890"}
    yield "draft-providers-problem", _at("providers", **{**_PROVIDERS, "values": unknown}, problems=[problem]), {}
    yield "draft-diagnoses-first", _at("diagnoses"), {}
    yield "draft-diagnoses", _at("diagnoses", diagnoses=DIAGNOSES), {}
    yield (
        "draft-diagnoses-search",
        _at(
            "diagnoses",
            diagnoses=DIAGNOSES[1:],
            searched="diagnosis",
            values={"diagnosis_search": "radiculopathy"},
            diagnosis_matches=_DIAGNOSIS_MATCHES,
        ),
        {},
    )
    yield (
        "draft-diagnoses-problem",
        _at(
            "diagnoses",
            values={"diagnosis_code": "M54.99"},
            problems=[FieldMistake("diagnosis_code", "M54.99 is not an ICD-10 code. Search for the code by words.")],
        ),
        {},
    )
    yield "draft-services-first", _at("services", values={"units": "1", "unit": "units", "frequency": "total"}), {}
    yield "draft-services", _at("services", services=SERVICES), {}
    yield (
        "draft-services-search",
        _at(
            "services",
            searched="procedure",
            values={"procedure_search": "mri lumbar", "procedure_code": "72148"},
            procedure_matches=_PROCEDURE_MATCHES,
        ),
        {},
    )
    yield (
        "draft-services-problem",
        _at(
            "services",
            services=SERVICES[:1],
            values={"procedure_code": "97110", "units": "0", "start": "05/01/2026", "end": "04/01/2026"},
            problems=[
                FieldMistake("units", "Enter a number from 1 to 9999."),
                FieldMistake("end", "The last day is before the first day."),
            ],
        ),
        {},
    )
    yield "draft-clinical", _at("clinical", **_CLINICAL), {}
    yield "draft-clinical-none", _at("clinical"), {}
    problem = FieldMistake("answer_deficit", "Answer this question.")
    yield "draft-clinical-problem", _at("clinical", **{**_CLINICAL, "values": {}}, problems=[problem]), {}
    yield "draft-documents-first", _at("documents", required_documents=["Therapy notes", "Order"]), {}
    yield "draft-documents", _at("documents", **_DOCUMENTS), {}
    problem = FieldMistake("file", "scan.pdf has 7.2 MB. A file may have at most 5 MB.")
    yield "draft-documents-problem", _at("documents", **_DOCUMENTS, problems=[problem]), {}
    yield "draft-review", _at("review", review_facts=_REVIEW, values=_CONTACT), {}
    yield (
        "draft-review-problem",
        _at(
            "review",
            review_facts=_REVIEW,
            problems=[
                FieldMistake("attest", "Confirm the statement before you submit."),
                FieldMistake("diagnosis_code", "Add at least one diagnosis."),
                FieldMistake("", "A request for the same service is open: R7K2-90418."),
            ],
        ),
        {},
    )


def build_one_page_drafts() -> Iterator[DraftSample]:
    """Yield the form of one page, from its first section to all of them."""
    keys = tuple(key for key, _ in STEPS)
    draft = replace(_DRAFT, step=keys[0], steps=_mark(keys[0]))
    yield "draft-first", replace(draft, sections=keys[:1], members=[], member=None), {}
    yield "draft-request", replace(draft, sections=keys[:2], values={"member": "M-1041"}, step=keys[1]), {}
    full = replace(
        draft,
        step="review",
        steps=_mark("review"),
        sections=keys,
        **{**_PROVIDERS, **_CLINICAL, **_DOCUMENTS},
        diagnoses=DIAGNOSES,
        services=SERVICES,
    )
    values = {
        **_PROVIDERS["values"], **_CLINICAL["values"], **_CONTACT, "member": "M-1041", "review": "services",
        "urgency": "standard", "place": "22",
    }  # fmt: skip
    full = replace(full, values=values, review_facts=_REVIEW)
    yield "draft", full, {"notices": ("The draft was saved.",)}
    yield (
        "draft-search",
        replace(
            full,
            step="services",
            steps=_mark("services"),
            sections=keys[:5],
            services=[],
            searched="procedure",
            procedure_matches=_PROCEDURE_MATCHES,
        ),
        {},
    )
    diagnoses = replace(full, step="diagnoses", steps=_mark("diagnoses"), sections=keys[:4], diagnoses=[])
    yield (
        "draft-diagnosis-search",
        replace(diagnoses, searched="diagnosis", diagnosis_matches=_DIAGNOSIS_MATCHES),
        {},
    )
    providers = replace(full, step="providers", steps=_mark("providers"), sections=keys[:3], servicing=None)
    yield (
        "draft-provider-search",
        replace(providers, searched="provider", provider_target="servicing", provider_matches=PROVIDERS),
        {},
    )
    yield "draft-no-results", replace(providers, searched="provider", provider_target="servicing"), {}
    problems = [
        FieldMistake("answer_deficit", "Answer this question."),
        FieldMistake("place", "Choose a place of service."),
        FieldMistake("file", "scan.pdf has 7.2 MB. A file may have at most 5 MB."),
        FieldMistake("attest", "Confirm the statement before you submit."),
        FieldMistake("", "A request for the same service is open: R7K2-90418."),
    ]
    yield "draft-problem", replace(full, values={**values, "place": ""}, problems=problems), {}


def _at(step: str, **changes: Any) -> DraftView:
    """Return the view of a step of the wizard."""
    return replace(_DRAFT, step=step, steps=_mark(step), sections=(step,), **changes)


def _mark(step: str) -> list[tuple[str, str, str]]:
    """Return the steps with their states when one of them is shown."""
    place = [key for key, _ in STEPS].index(step)
    states = ["done"] * place + ["current"] + ["open"] * (len(STEPS) - place - 1)
    return [(key, label, state) for (key, label), state in zip(STEPS, states, strict=True)]
