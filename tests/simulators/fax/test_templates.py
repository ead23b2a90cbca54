"""Templates of faxes: the same pages for the same seed, all fields on the paper, and long ones on further pages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from clerkship.formats.fax_pages.canvas import WHITE, Canvas, DrawnPage
from clerkship.formats.fax_pages.image import to_image
from clerkship.formats.fax_pages.marks import EMBLEM_BITS, add_logo
from clerkship.formats.fax_pages.page import FaxPage, PageWords, Resolution
from clerkship.simulators.fax.templates.fields import LetterheadFields
from clerkship.simulators.fax.templates.look import LETTERHEADS, look_of
from clerkship.simulators.fax.templates.registry import TEMPLATES
from tests.choices import mark_slow_after

SENDER = {
    "name": "Riverbend Family Medicine",
    "department": "Front desk",
    "address": "410 Mill Street",
    "city": "Ashford, OR 97520",
    "phone": "(555) 010-0200",
    "fax": "(555) 010-0201",
}
RECIPIENT = {
    "name": "Lakeside Cardiology",
    "attention": "Intake",
    "address": "22 Harbor Way",
    "city": "Salem, OR 97301",
    "phone": "(555) 010-0300",
    "fax": "(555) 010-0301",
}
PATIENT = {
    "name": "Marisol Quintana",
    "date_of_birth": "04/09/1961",
    "sex": "Female",
    "mrn": "RFM-204417",
    "phone": "(555) 010-7741",
    "address": "18 Alder Court",
}
INSURANCE = {"payer": "Cascade Health", "plan": "PPO Silver", "member_id": "CHP4471902", "group": "G-88120"}
DOCTOR = {
    "name": "Elena Marsh, MD",
    "title": "Family Physician",
    "npi": "1093817465",
    "phone": "(555) 010-0299",
    "fax": "(555) 010-0298",
}
CODES = [{"code": "I20.9", "description": "Angina pectoris"}, {"code": "E11.9", "description": "Type 2 diabetes"}]
COMMON = {
    "sender": SENDER,
    "date": "March 2, 2026",
    "notes": ["prefers mornings"],
    "stamp": {"text": "RECEIVED", "date": "MAR 03 2026"},
    "circled": ["Quintana"],
}
SERVICE = {"code": "73721", "description": "MRI of a joint", "date": "01/30/2026", "amount": "$912.00"}
FULL: Mapping[str, dict[str, Any]] = {
    "cover_sheet": {
        **COMMON,
        "recipient": RECIPIENT,
        "contact": "Joanne Pike",
        "subject": "Plan of care",
        "pages": 4,
        "urgent": True,
        "message": "Please sign page three.",
        "handwritten_message": "Thanks so much",
    },
    "denial_letter": {
        **COMMON,
        "recipient": RECIPIENT,
        "patient": PATIENT,
        "member_id": "CHP4471902",
        "group": "G-88120",
        "reference": "PA-26-0047731",
        "request_date": "02/18/2026",
        "provider": DOCTOR,
        "services": [{**SERVICE, "reason_code": "CO-50"}],
        "diagnosis": "M25.561 Pain in right knee",
        "reason": "Not medically necessary.",
        "criteria": "Policy RAD-207",
        "appeal_deadline": "April 25, 2026",
        "appeal_address": "PO Box 4499\nPortland, OR 97208",
        "appeal_fax": "(555) 010-9044",
        "appeal_phone": "(555) 010-9010",
        "peer_to_peer": "(555) 010-9015",
        "signer": {"name": "Robert Lindqvist, MD", "title": "Medical Director", "npi": "1234567893"},
    },
    "laboratory_report": {
        **COMMON,
        "recipient": RECIPIENT,
        "patient": PATIENT,
        "ordering": DOCTOR,
        "accession": "T26-1187",
        "clia": "38D0000000",
        "director": "H. Okafor, MD",
        "specimen": "Serum",
        "collected": "02/28/2026 08:05",
        "received": "02/28/2026 14:40",
        "reported": "03/02/2026 06:52",
        "fasting": "Yes",
        "panels": [
            {
                "name": "METABOLIC PANEL",
                "results": [{"test": "Potassium", "value": "6.3", "unit": "mmol/L", "range": "3.5-5.3", "flag": "HH"}],
            }
        ],
        "comments": "No hemolysis.",
        "called_to": "Front desk 06:58",
    },
    "plain_letter": {
        **COMMON,
        "recipient": RECIPIENT,
        "subject": "Consultation",
        "patient": PATIENT,
        "insurance": INSURANCE,
        "salutation": "Dear colleague:",
        "body": "I saw her today.\n\nThe stress test is on March 12.",
        "closing": "Kind regards,",
        "signer": DOCTOR,
        "enclosures": ["Echo report"],
    },
    "prior_authorization_cover": {
        **COMMON,
        "recipient": RECIPIENT,
        "patient": PATIENT,
        "insurance": INSURANCE,
        "review": "expedited",
        "reference": "PA-17",
        "requesting": DOCTOR,
        "facility": "Brookline Imaging",
        "facility_npi": "1689034412",
        "tax_id": "00-1234567",
        "diagnoses": CODES,
        "services": [
            {
                "code": "L1833",
                "description": "Knee orthosis",
                "modifier": "RT",
                "units": "2",
                "from_date": "03/09/2026",
                "to_date": "04/09/2026",
            }
        ],
        "rationale": "Six weeks of therapy failed.",
        "attachments": ["Office note"],
        "pages": 7,
        "contact": "Dana, ext. 12",
    },
    "records_request": {
        **COMMON,
        "recipient": RECIPIENT,
        "patient": PATIENT,
        "insurance": INSURANCE,
        "records": ["visit_notes", "imaging"],
        "other_records": "Sleep study",
        "from_date": "01/01/2025",
        "to_date": "03/01/2026",
        "purpose": "payment",
        "needed_by": "03/16/2026",
        "return_fax": "(555) 010-1501",
        "reference": "SDR-77120",
        "remarks": "Reports only.",
        "signer": DOCTOR,
    },
    "referral_letter": {
        **COMMON,
        "recipient": RECIPIENT,
        "patient": PATIENT,
        "insurance": INSURANCE,
        "specialty": "Cardiology",
        "urgency": "urgent",
        "diagnoses": CODES,
        "reason": "Exertional chest pressure for three weeks.",
        "history": "Hypertension since 2009.",
        "medications": ["Lisinopril 20 mg daily", "Aspirin 81 mg daily"],
        "allergies": ["Penicillin"],
        "authorization": "R-00871",
        "enclosures": ["ECG of 02/27/2026"],
        "signer": DOCTOR,
    },
}
NOT_WRITTEN = {"circled", "blots", "punch_holes", "confidentiality"}
"""Fields that add no words of their own."""
PAGE_HASHES = {
    "cover_sheet": ["83e90c39d305fa1f"],
    "denial_letter": ["2edf23c3626633a3"],
    "laboratory_report": ["ce07b7a32b2ac7fc"],
    "plain_letter": ["c1f226dd84d197d0"],
    "prior_authorization_cover": ["5453198feb5f755b"],
    "records_request": ["1d4e5e5018c46cec"],
    "referral_letter": ["5e98292a98038f87"],
}
"""Of the examples with seed 7. The OCR texts that ship are found by such hashes."""
LOOKS = ["Lakeside Cardiology Associates", "Harbor Home Health", "Cedar Valley Imaging", "Northgate Orthopedics"]
"""Senders whose letterheads are all different."""


def draw(
    name: str, changes: Mapping[str, object] = {}, seed: int = 7, resolution: Resolution = "fine"
) -> list[DrawnPage]:
    """Draw a template with all its fields, some of them changed."""
    return TEMPLATES[name].draw_values({**FULL[name], **changes}, seed, resolution)


def to_folded_text(pages: list[DrawnPage]) -> str:
    """Return the words of all pages with single spaces."""
    return " ".join(word.text for _, words in pages for word in words.words)


def assert_words_are_drawn(page: FaxPage, words: PageWords) -> None:
    """Check that the box of each word is on the page and has black dots."""
    image = to_image(page).convert("L")
    for word in words.words:
        assert 0 <= word.left < word.left + word.width <= page.width, word
        assert 0 <= word.top < word.top + word.height <= page.height, word
        box = (word.left, word.top, word.left + word.width, word.top + word.height)
        assert image.crop(box).histogram()[0] > 0, word


def list_texts(value: object) -> list[str]:
    """Return all texts in a value of YAML."""
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in list_texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in value for text in list_texts(part)]
    return [str(value)] if isinstance(value, str | int) and not isinstance(value, bool) else []


def test_each_template_has_an_example_with_all_its_fields() -> None:
    assert set(FULL) == set(TEMPLATES)
    for name, template in TEMPLATES.items():
        missing = set(template.fields.model_fields) - set(FULL[name]) - NOT_WRITTEN
        # fields that have only a choice or a box to tick
        assert missing <= {"service", "status", "decision", "request", "setting", "for_review", "please_reply"}, name


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_same_seed_gives_same_bytes(name: str) -> None:
    first, second, other = draw(name), draw(name), draw(name, seed=8)

    assert [page.hash for page, _ in first] == [page.hash for page, _ in second]
    assert [words for _, words in first] == [words for _, words in second]
    assert [page.hash for page, _ in first] != [page.hash for page, _ in other]


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_pages_are_those_that_were_drawn_before(name: str) -> None:
    assert [page.hash[:16] for page, _ in draw(name)] == PAGE_HASHES[name]


@pytest.mark.parametrize("sender", mark_slow_after(1, LOOKS))
@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_every_field_appears_on_the_paper(name: str, sender: str) -> None:
    changes = {"sender": {**SENDER, "name": sender}}
    pages = draw(name, changes)
    text = to_folded_text(pages)
    values = {key: value for key, value in {**FULL[name], **changes}.items() if key not in NOT_WRITTEN}

    for page, words in pages:
        assert_words_are_drawn(page, words)
    for key in ("records", "urgency", "purpose", "review"):
        values.pop(key, None)  # boxes that are ticked
    missing = [value for value in list_texts(values) if " ".join(value.split()) not in text]
    assert missing == []


@pytest.mark.parametrize(
    ("name", "changes", "ticked"),
    [
        ("referral_letter", {"urgency": "emergent"}, "[X] Emergent"),
        ("referral_letter", {"service": "procedure"}, "[X] Procedure"),
        ("prior_authorization_cover", {"review": "standard"}, "[X] Standard"),
        ("prior_authorization_cover", {"review": "expedited"}, "[] Standard [X] Expedited"),
        ("prior_authorization_cover", {"setting": "home", "request": "appeal"}, "[X] Home"),
        ("records_request", {"records": ["immunizations"]}, "[X] Immunizations"),
        ("records_request", {"purpose": "legal"}, "[X] Legal"),
        ("cover_sheet", {"urgent": False, "please_reply": True}, "[] Urgent [] For review [X] Please reply"),
    ],
)
def test_boxes_are_ticked(name: str, changes: dict[str, object], ticked: str) -> None:
    assert ticked in to_folded_text(draw(name, changes))


def test_claims_and_authorizations_are_denied_in_their_own_words() -> None:
    claim = to_folded_text(draw("denial_letter", {"decision": "claim"}))

    assert "CLAIM DENIED" in claim
    assert "Claim no.: PA-26-0047731" in claim or "CLAIM NO. PA-26-0047731" in claim
    assert "AUTHORIZATION DENIED" in to_folded_text(draw("denial_letter"))


@pytest.mark.parametrize("sender", [LOOKS[0], pytest.param(LOOKS[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", mark_slow_after(2, sorted(TEMPLATES)))
def test_longest_texts_stay_on_the_paper(name: str, sender: str) -> None:
    longest = _lengthen(TEMPLATES[name].fields, FULL[name])
    longest["sender"] = {**longest["sender"], "name": f"{sender} " + "Würzburgsche Gesellschaft " * 6}
    pages = draw(name, longest)

    for page, words in pages:
        assert_words_are_drawn(page, words)
    assert len(pages) > 1


def _lengthen(fields: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with each text as long as its field allows, up to 2,000 letters, in wide letters."""
    longer: dict[str, Any] = {}
    for key, value in values.items():
        try:
            longer[key] = _lengthen_value(value)
            fields.model_validate({**values, **longer})
        except ValidationError:
            longer[key] = value
    return longer


def _lengthen_value(value: Any) -> Any:
    if isinstance(value, str):
        return ("WÓÄ WWWWWWWWWWWW " * 12)[:160]
    if isinstance(value, Mapping):
        return {
            key: _lengthen_value(part) if key not in ("flag", "modifier", "units") else part
            for key, part in value.items()
        }
    return [_lengthen_value(part) for part in value] * 3 if isinstance(value, list) else value


def test_many_results_flow_to_further_pages_below_their_titles() -> None:
    results = [{"test": f"Analyte {number}", "value": f"{number}.5", "unit": "mg/dL"} for number in range(150)]
    pages = draw("laboratory_report", {"panels": [{"name": "EVERYTHING", "results": results}]})
    text = to_folded_text(pages)

    assert len(pages) >= 3
    assert all(f"Analyte {number} {number}.5 mg/dL" in text for number in range(150))
    assert all("Test Result Flag Units Reference range" in to_folded_text([page]) for page in pages[1:-1])
    assert "Marisol Quintana, DOB 04/09/1961" in to_folded_text(pages[-1:]), "further pages say whose they are"
    assert f"Page {len(pages)} of {len(pages)}" in to_folded_text(pages[-1:])


def test_letter_of_many_words_flows_to_a_second_page() -> None:
    sentence = "The patient reports that the symptoms began in January and are worse in the morning."
    pages = draw("plain_letter", {"body": "\n\n".join([sentence * 5] * 12)})

    assert len(pages) >= 2
    assert to_folded_text(pages).count("symptoms") == 60
    assert "Elena Marsh, MD" in to_folded_text(pages[-1:])


@pytest.mark.slow
def test_letter_that_is_a_little_too_long_for_one_page_has_smaller_letters() -> None:
    sentence = "The patient reports that the symptoms began in January and are worse in the morning. "
    sender = {**SENDER, "name": "Summit Reviewers"}  # its letters are large
    sizes = []
    for number in range(16, 40, 2):
        pages = draw("plain_letter", {"sender": sender, "body": sentence * number, "notes": []})
        sizes.append((len(pages), next(word.height for word in pages[0][1].words if word.text == "symptoms")))

    assert [pages for pages, _ in sizes] == sorted(pages for pages, _ in sizes)
    small, large = sorted({height for _, height in sizes})
    assert (1, large) in sizes
    assert (1, small) in sizes
    assert (2, large) in sizes
    assert (2, small) not in sizes


def test_names_with_accents_are_drawn_as_they_are_written() -> None:
    name = "Łucja Nguyễn-Åström d'Órdoñez"

    for sender in LOOKS:
        changes = {"patient": {"name": name}, "sender": {"name": sender}}
        assert name in to_folded_text(draw("referral_letter", changes))


def test_fax_needs_only_the_required_fields() -> None:
    patient, signer = {"name": "A B"}, {"name": "C D"}
    least: dict[str, dict[str, object]] = {
        "cover_sheet": {"recipient": {}},
        "denial_letter": {
            "recipient": {},
            "patient": patient,
            "reference": "1",
            "services": [{"code": "1"}],
            "reason": "no",
            "appeal_deadline": "May 1",
            "signer": signer,
        },
        "laboratory_report": {"patient": patient, "panels": [{"name": "P", "results": [{"test": "T", "value": "1"}]}]},
        "plain_letter": {"recipient": {}, "body": "Hello.", "signer": {}},
        "prior_authorization_cover": {
            "recipient": {},
            "patient": patient,
            "insurance": {},
            "requesting": {},
            "services": [{"code": "1"}],
        },
        "records_request": {"recipient": {}, "patient": patient, "records": ["imaging"], "signer": signer},
        "referral_letter": {"recipient": {}, "patient": patient, "reason": "pain", "signer": signer},
    }
    for name, values in least.items():
        [(page, words)] = TEMPLATES[name].draw_values({"sender": {"name": "S"}, **values}, 1)
        assert_words_are_drawn(page, words)


def test_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="adress"):
        draw("referral_letter", {"patient": {"name": "A B", "adress": "x"}})


def test_every_field_that_needs_one_has_a_description() -> None:
    described = [TEMPLATES[name].fields.model_json_schema() for name in TEMPLATES]

    assert all(schema["description"] for schema in described)
    assert len({template.description for template in TEMPLATES.values()}) == len(TEMPLATES)


def test_look_follows_from_the_name_of_the_sender() -> None:
    names = [f"Clinic {number}" for number in range(40)]
    looks = [look_of(LetterheadFields(name=name)) for name in names]

    assert looks == [look_of(LetterheadFields(name=name.upper(), phone="1")) for name in names]
    assert {look_of(LetterheadFields(name=name)).letterhead for name in LOOKS} == set(LETTERHEADS)
    assert len(set(looks)) > 35
    assert {look.letterhead for look in looks} == set(LETTERHEADS)


def test_standard_resolution_has_half_the_lines_and_the_same_words() -> None:
    fine, standard = draw("referral_letter"), draw("referral_letter", resolution="standard")

    assert to_folded_text(fine) == to_folded_text(standard)
    assert [page.height for page, _ in standard] == [page.height // 2 for page, _ in fine]
    for page, words in standard:
        assert_words_are_drawn(page, words)


def test_confidentiality_notice_can_be_left_out() -> None:
    assert "CONFIDENTIAL:" in to_folded_text(draw("referral_letter"))
    assert "CONFIDENTIAL:" not in to_folded_text(draw("referral_letter", {"confidentiality": False}))


@pytest.mark.parametrize("holes", [2, 3])
def test_punch_holes_are_at_the_left_edge(holes: int) -> None:
    [(page, _), *_] = draw("records_request", {"punch_holes": holes, "notes": []})
    edge = to_image(page).convert("L").crop((62, 0, 63, page.height)).tobytes()

    runs = [run for run in edge.replace(b"\xff", b" ").split() if len(run) > 20]
    assert len(runs) == holes


def test_logos_of_two_thousand_senders_differ() -> None:
    canvas, drawn = Canvas(), set()
    for number in range(2000):
        look = look_of(LetterheadFields(name=f"Practice {number}"))
        canvas.fill(0, 0, 24, 24, WHITE)
        add_logo(canvas, look.logo, 0, 0, 24, look.emblem)
        drawn.add(canvas.sheet.image.crop((0, 0, 24, 24)).tobytes())

    assert len(drawn) == 2000


@pytest.mark.parametrize("size", [96, 120, 130])
def test_each_bit_of_an_emblem_changes_the_logo(size: int) -> None:
    def draw_logo(emblem: int) -> bytes:
        canvas = Canvas(height=200)
        add_logo(canvas, "leaf", 0, 0, size, emblem)
        return canvas.sheet.image.crop((0, 0, size, size)).tobytes()

    plain = draw_logo(0)
    for bit in range(EMBLEM_BITS):
        changed = sum(one != other for one, other in zip(plain, draw_logo(1 << bit), strict=True))
        assert changed >= 36  # a square of six dots each way


def test_page_lists_the_fields_of_each_field() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "fax.md").read_text(encoding="utf-8")
    [rows] = [table for table in page.split("\n\n") if table.startswith("| field | its fields |")]
    for template in TEMPLATES.values():
        definitions = template.fields.model_json_schema().get("$defs", {})
        for model in definitions.values():
            names = model["properties"]
            assert any(all(f"`{name}`" in row for name in names) for row in rows.splitlines()), names
