"""The code lists of the payer portal."""

import re
from datetime import date
from pathlib import Path
from typing import get_args

import orjson
import pytest

import clerkship
from clerkship.payer.inquiry import Frequency, ReviewType, ServiceType, Unit
from clerkship.simulators.portal.codes.choices import ChoiceKind, find_label, list_choices
from clerkship.simulators.portal.codes.code_list import MAX_MATCHES, load_diagnoses, load_procedures
from clerkship.simulators.portal.records import DocumentType

DAY = date(2026, 3, 2)
PACKAGE = Path(clerkship.__file__).parent
TABLES = PACKAGE / "suite_files/synthetic/tables"
PROCEDURES, DIAGNOSES = load_procedures({}), load_diagnoses()


def test_a_code_is_found_with_or_without_its_dot_and_in_any_case() -> None:
    assert {DIAGNOSES.find(typed) for typed in ("M54.16", "m5416", " m54.16 ")} == {DIAGNOSES.find("M54.16")}
    assert DIAGNOSES.describe("m5416") == "Radiculopathy, lumbar region"
    assert DIAGNOSES.describe("M99.999") == ""


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("M54.16", ""),
        ("m545", "M54.5: Ended on 09/30/2021. Use M54.50, M54.51 or M54.59."),
        ("R51", "R51: Ended on 09/30/2020. Use R51.0 or R51.9."),
        ("M75.4", "M75.4 is not a complete diagnosis code. Choose M75.40, M75.41 or M75.42."),
        (
            "E11",
            "E11 is not a complete diagnosis code. Choose a longer one, such as "
            "E11.21, E11.22, E11.40, E11.42, E11.51 or E11.621.",
        ),
        ("M5", "M5 is not a known diagnosis code. Check it, or search by words."),
        ("Q99.9", "Q99.9 is not a known diagnosis code. Check it, or search by words."),
        ("  ", "Enter a diagnosis code."),
        ("x" * 300, "xxxxxxxxxxxxxxxxxxxx… is not a known diagnosis code. Check it, or search by words."),
    ],
)
def test_a_diagnosis_that_cannot_be_used_is_refused_with_what_to_do(code: str, problem: str) -> None:
    assert DIAGNOSES.find_problem(code, DAY) == problem


def test_an_ended_code_can_be_used_until_its_last_day() -> None:
    assert PROCEDURES.find_problem("99201", date(2020, 12, 31)) == ""
    assert PROCEDURES.find_problem("99201", date(2021, 1, 1)) == "99201: Ended on 12/31/2020. Use 99202."


def test_the_config_adds_and_renames_procedures() -> None:
    added = load_procedures({"s9999": "Own service", "72148": "Spine picture"})
    assert added.find_problem("S9999", DAY) == ""
    assert added.describe("72148") == "Spine picture"
    assert len(added) == len(PROCEDURES) + 1


def test_search_by_words_finds_all_neighbors_in_the_order_of_the_codes() -> None:
    assert [row.code for row in PROCEDURES.search("mri lumbar", DAY)] == ["72148", "72149", "72158"]
    assert [row.code for row in PROCEDURES.search("Contrast, MRI of the BRAIN", DAY)] == ["70551", "70552", "70553"]
    assert [row.code for row in DIAGNOSES.search("knee effusion", DAY)] == ["M25.461", "M25.462", "M25.469"]


def test_search_by_prefix_puts_ended_codes_last_with_a_note() -> None:
    rows = DIAGNOSES.search("m54.5", DAY)
    assert [row.code for row in rows] == ["M54.50", "M54.51", "M54.59", "M54.5"]
    assert [row.note for row in rows] == ["", "", "", "Ended on 09/30/2021. Use M54.50, M54.51 or M54.59."]


@pytest.mark.parametrize("text", ["", " . ", "no such thing", "%", "\x00", "knee " * 5000 + "xyz"])
def test_search_for_nothing_finds_nothing(text: str) -> None:
    assert [row for row in PROCEDURES.search(text, DAY) if "xyz" not in text] == []


def test_search_shows_at_most_so_many_codes() -> None:
    assert len(PROCEDURES.search("without", DAY)) == MAX_MATCHES == 25


def test_the_lists_have_the_codes_of_the_dataset_and_of_the_payer() -> None:
    conditions = re.findall(r'"icd-10-cm", "code": "([^"]+)"', (TABLES / "conditions.json").read_text())
    services = [row["term"]["code"] for row in orjson.loads((TABLES / "services.json").read_bytes())]
    rules = (PACKAGE / "payer/tables/rules.json").read_text()
    named = set(re.findall(r"\b(?:[A-Z]\d{4}|\d{5})\b", rules))
    assert [code for code in conditions if DIAGNOSES.find_problem(code, DAY)] == []
    assert [code for code in {*services, *named} if PROCEDURES.find(code) is None] == []
    assert len(PROCEDURES) >= 150
    assert len(DIAGNOSES) >= 250


def test_every_ended_code_names_codes_of_the_list() -> None:
    for codes in (PROCEDURES, DIAGNOSES):
        ended = [each for each in codes if each.end is not None]
        assert len(ended) > 10
        assert [name for each in ended for name in each.replacements if codes.find_problem(name, DAY)] == []


def test_the_choices_are_those_of_the_records() -> None:
    values: dict[ChoiceKind, set[str]] = {
        "reviews": set(get_args(ReviewType)),
        "units": set(get_args(Unit)),
        "frequencies": set(get_args(Frequency)),
        "document_types": set(get_args(DocumentType)),
        "service_types": set(get_args(ServiceType)),
        "urgencies": {"standard", "urgent"},
    }
    assert {kind: {choice.value for choice in list_choices(kind)} for kind in values} == values
    assert ("22", "22 - Outpatient hospital, on campus") in list_choices("places")
    assert find_label("places", "11") == "Office"
    assert find_label("modifiers", "zz") == ""
