"""`{{ patient.pid }}`: a patient as an HL7 PID segment."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from clerkship.formats.hl7.message import parse_message
from clerkship.formats.hl7.tables import VERSIONS
from clerkship.formats.hl7.validation import validate_message
from clerkship.simulators.fhir.datasets.pid import RecordWithPid
from clerkship.suite_files.synthetic.generator import generate
from clerkship.suite_files.template import render

NOW = datetime(2026, 3, 2, 14, tzinfo=UTC)


def patient_with_pid(**fields: Any) -> RecordWithPid:
    return RecordWithPid({"resourceType": "Patient", "id": "p1", **fields}, NOW)


def patients() -> Iterator[RecordWithPid]:
    for resource in generate(3, 7):
        if resource["resourceType"] == "Patient":
            yield RecordWithPid(resource, NOW)


def test_pid_filter_renders_all_fields_of_a_patient() -> None:
    patient = next(patients())
    assert render("{{ patient.pid }}", {"patient": patient}) == (
        "PID|1||8525024^^^RIVERBEND&https://riverbend.example/ids/mrn&URI^MR||Northcott^Benjamin^^^^^L||19620102|M"
        "|||881 Spruce Road^^Lower Fennimore^NY^00131^US^H||^PRN^PH^^^624^5550107"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_message_with_rendered_pid_is_valid(version: str) -> None:
    for patient in patients():
        head = f"MSH|^~\\&|A|B|C|D|20260302090000||ADT^A01^ADT_A01|1|P|{version}"
        text = f"{head}\rEVN|A01|20260302090000\r{patient.get('pid')}\rPV1|1|O\r"
        assert validate_message(parse_message(text)) == []


def test_delimiters_are_escaped() -> None:
    found = patient_with_pid(
        identifier=[{"type": {"coding": [{"code": "MR"}]}, "value": "4|1", "system": "urn:oid:1.2.3"}],
        name=[{"family": "Silva & Filha", "given": ["Ana^", "Maria"], "prefix": ["Dr"]}],
        birthDate="1965-03",
        telecom=[{"system": "phone", "value": "020 7946 0000"}],
    ).get("pid")
    assert found == (
        "PID|1||4\\F\\1^^^&1.2.3&ISO^MR||Silva \\T\\ Filha^Ana\\S\\^Maria^^Dr^^L||196503||||||020 7946 0000^PRN^PH"
    )
    message = parse_message(f"MSH|^~\\&\r{found}\r")
    assert (message.value("PID.3.1"), message.value("PID.5.1"), message.value("PID.5.2")) == (
        "4|1",
        "Silva & Filha",
        "Ana^",
    )


def test_patient_without_mrn_uses_the_resource_id() -> None:
    assert patient_with_pid().get("pid") == "PID|1||p1^^^^PI"
    assert patient_with_pid(gender="other", birthDate="soon").get("pid") == "PID|1||p1^^^^PI|||||O"


def test_pid_filter_rejects_other_resources() -> None:
    assert RecordWithPid({"resourceType": "Observation", "id": "o"}, NOW).get("pid") is None
    assert "pid" not in RecordWithPid({"resourceType": "Observation", "id": "o"}, NOW).names()
    assert "pid" in patient_with_pid().names()
