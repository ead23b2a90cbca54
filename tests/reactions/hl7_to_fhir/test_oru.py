"""Tests of ORU: results are filed once, corrected in place, and filed atomically."""

from typing import Any

import pytest

from clerkship.simulators.fhir.events import NothingChanged, ResourceWritten
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import put_resource
from tests.reactions.hl7_to_fhir.clinic import PID, Clinic, build_msh

ORU = build_msh("ORU^R01^ORU_R01")


def obr(status: str = "F", *, filler: str = "L-1", placer: str = "order-1", at: str = "20260302085500") -> str:
    start = f"OBR|1|{placer}|{filler}|24323-8^Metabolic panel^LN|||20260302083000"
    return f"{start}|||||||||9999910000^May^Ida^^^^^^NPI||||||{at}||CH|{status}"


def obx(
    kind: str = "NM", value: str = "6.1", *, code: str = "2823-3^Potassium^LN", sub: str = "", more: str = ""
) -> str:
    """Build an OBX; `more` is what follows from OBX-6 on."""
    return f"OBX|1|{kind}|{code}|{sub}|{value}|{more or 'mmol/L^^UCUM|3.5-5.1|H|||F'}"


def file_observation(clinic: Clinic, *lines: str) -> dict[str, Any]:
    """File these lines and return their only Observation."""
    clinic.receive(ORU, PID, obr(), *lines, checked=False)
    return clinic.find_one("Observation")


def test_result_creates_observation_and_report_based_on_order() -> None:
    clinic = Clinic()
    keys = clinic.file(ORU, PID, obr(), obx(value="6.10"), "NTE|1||hemolysed \\T\\ late", obx(code="2951-2^Sodium^LN"))
    assert [key.partition("/")[0] for key in keys] == ["Observation", "Observation", "DiagnosticReport"]
    potassium, report = clinic.get(keys[0]), clinic.get(keys[2])
    unit = {"unit": "mmol/L", "system": "http://unitsofmeasure.org", "code": "mmol/L"}
    assert potassium["valueQuantity"] == {"value": 6.1, **unit}
    assert potassium["valueQuantity"]["value"].text == "6.10"
    assert potassium["code"]["coding"] == [{"system": "http://loinc.org", "code": "2823-3", "display": "Potassium"}]
    assert potassium["referenceRange"] == [
        {"low": {"value": 3.5, **unit}, "high": {"value": 5.1, **unit}, "text": "3.5-5.1"}
    ]
    assert potassium["interpretation"][0]["coding"][0]["code"] == "H"
    assert potassium["note"] == [{"text": "hemolysed & late"}]
    assert potassium["effectiveDateTime"] == "2026-03-02T08:30:00-05:00"
    assert potassium["category"][0]["coding"][0]["code"] == "laboratory"
    assert [each["reference"] for each in report["result"]] == keys[:2]
    assert (report["status"], report["issued"]) == ("final", "2026-03-02T08:55:00-05:00")
    assert report["basedOn"] == [{"reference": "ServiceRequest/order-1"}]
    assert report["subject"] == {"reference": "Patient/ana", "display": "Ana Maria Silva"}
    assert clinic.replay() == clinic.state.dump()


@pytest.mark.parametrize("way", ["sent", "arrived"])
def test_sent_and_arrived_results_are_filed(way: str) -> None:
    assert len(Clinic().file(ORU, PID, obr(), obx(), direction=way)) == 2


def test_corrected_result_updates_observation() -> None:
    clinic = Clinic()
    first = clinic.file(ORU, PID, obr("P"), obx(more="mmol/L|3.5-5.1|H|||P"), "NTE|1||to be repeated")
    assert clinic.get(first[0])["status"] == "preliminary"
    final = obr("F", at="20260302100000")
    assert clinic.file(ORU, PID, final, obx(more="mmol/L|3.5-5.1|H|||F")) == first
    assert "note" not in clinic.get(first[0])
    corrected = obr("C", at="20260302110000")
    assert clinic.file(ORU, PID, corrected, obx(value="4.2", more="mmol/L|3.5-5.1||||C")) == first
    now = clinic.find_one("Observation")
    assert (now["meta"]["versionId"], now["status"], now["valueQuantity"]["value"]) == ("3", "corrected", 4.2)
    assert "interpretation" not in now
    assert clinic.find_one("DiagnosticReport")["status"] == "corrected"


def test_repeated_result_changes_nothing() -> None:
    clinic = Clinic()
    lines = (ORU, PID, obr(), obx(value="6.10"), obx("CWE", "260373001^Detected^SCT", code="X^Y^L"))
    clinic.file(*lines)
    before = clinic.state.dump()
    [event] = clinic.receive(*lines)
    assert isinstance(event.payload, NothingChanged)
    assert clinic.state.dump() == before


def test_outdated_result_is_refused() -> None:
    clinic = Clinic()
    clinic.file(ORU, PID, obr("F"), obx())
    assert "is final and this is preliminary" in clinic.refusal_text(ORU, PID, obr("P", at=""), obx(value="9"))
    late = clinic.refusal_text(ORU, PID, obr("F", at="20260302080000"), obx(value="9"))
    assert "an outdated result is not filed" in late
    clinic.file(ORU, PID, obr("C", at="20260302110000"), obx(value="4", more="|||||C"))
    assert "is corrected and this is final" in clinic.refusal_text(ORU, PID, obr("F", at=""), obx(value="9"))
    mixed = clinic.refusal_text(ORU, PID, obr("F", at="20260302120000"), obx(value="9", more="|||||P"))
    assert "OBX-11 is preliminary" in mixed
    assert clinic.find_one("Observation")["valueQuantity"]["value"] == 4


def test_withdrawn_result_keeps_value() -> None:
    clinic = Clinic()
    clinic.file(ORU, PID, obr(), obx())
    clinic.file(ORU, PID, obr("X"), obx(value="", more="|||||W"))
    now = clinic.find_one("Observation")
    assert (now["status"], now["valueQuantity"]["value"]) == ("entered-in-error", 6.1)
    assert now["interpretation"]
    assert clinic.find_one("DiagnosticReport")["status"] == "cancelled"


def test_reports_with_same_number_differ_by_code() -> None:
    clinic = Clinic()
    other = obr().replace("24323-8^Metabolic panel", "58410-2^Blood count").replace("OBR|1|", "OBR|2|")
    clinic.file(ORU, PID, obr(), obx(), other, obx(code="718-7^Hemoglobin^LN"))
    assert len(clinic.state.find("DiagnosticReport")) == 2
    assert len(clinic.file(ORU, PID, obr("C"), obx(value="5", more="|||||C"))) == 2
    assert len(clinic.state.find("Observation")) == 2


def test_report_without_number_is_found_by_time() -> None:
    clinic = Clinic()
    lines = (ORU, PID, obr(placer="", filler=""))
    clinic.receive(*lines, obx(), checked=False)
    clinic.receive(*lines, obx(value="6.2"), checked=False)
    assert clinic.find_one("Observation")["valueQuantity"]["value"] == 6.2


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("NM", "<5", {"valueQuantity": {"comparator": "<", "value": 5}}),
        ("NM", "+.50", {"valueQuantity": {"value": 0.5}}),
        ("NM", "-007", {"valueQuantity": {"value": -7}}),
        ("SN", ">=^100", {"valueQuantity": {"comparator": ">=", "value": 100}}),
        ("SN", "=^3", {"valueQuantity": {"value": 3}}),
        ("SN", "^10^-^20", {"valueRange": {"low": {"value": 10}, "high": {"value": 20}}}),
        ("SN", "^1^:^128", {"valueRatio": {"numerator": {"value": 1}, "denominator": {"value": 128}}}),
        ("SN", "^2^+", {"valueString": "2+"}),
        ("ST", "pale \\F\\ clear", {"valueString": "pale | clear"}),
        ("TX", "one~two", {"valueString": "one\ntwo"}),
        ("FT", "one\\.br\\two", {"valueString": "one\ntwo"}),
        ("DT", "20260301", {"valueDateTime": "2026-03-01"}),
        ("DTM", "202603011015", {"valueDateTime": "2026-03-01T10:15:00-05:00"}),
        ("TS", "20260301101500.25+0100", {"valueDateTime": "2026-03-01T10:15:00.25+01:00"}),
        ("TM", "0930", {"valueTime": "09:30:00"}),
        (
            "CWE",
            "260373001^Detected^SCT^POS^Pos^L",
            {
                "valueCodeableConcept": {
                    "coding": [
                        {"system": "http://snomed.info/sct", "code": "260373001", "display": "Detected"},
                        {"code": "POS", "display": "Pos"},
                    ],
                    "text": "Detected",
                }
            },
        ),
        ("IS", "A", {"valueCodeableConcept": {"coding": [{"code": "A"}], "text": "A"}}),
    ],
)
def test_value_type_follows_obx_2(kind: str, value: str, expected: dict[str, Any]) -> None:
    found = file_observation(Clinic(), obx(kind, value, more="|||||F"))
    assert {name: item for name, item in found.items() if name.startswith("value")} == expected


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("3.5-5.1", 3.5, 5.1),
        ("3.5 - 5.1", 3.5, 5.1),
        ("-2-2", -2, 2),
        ("-3 to -1", -3, -1),
        ("<5", None, 5),
        (">= 10", 10, None),
        ("5-3", None, None),
        ("negative", None, None),
    ],
)
def test_reference_range_is_parsed_if_possible(text: str, low: float | None, high: float | None) -> None:
    [found] = file_observation(Clinic(), obx(more=f"|{text}||||F"))["referenceRange"]
    assert found["text"] == text
    assert (found.get("low", {}).get("value"), found.get("high", {}).get("value")) == (low, high)


def test_text_lines_are_joined_and_sub_ids_distinguish() -> None:
    clinic = Clinic()
    text = [obx("TX", line, code="8251-1^Comment^LN", more="|||||F") for line in ("first", "second")]
    strains = [
        obx("ST", name, code="600-7^Organism^LN", sub=sub, more="|||||F") for name, sub in (("a", "1"), ("b", "2"))
    ]
    clinic.file(ORU, PID, obr(), *text, *strains)
    found = {each["valueString"] for each in clinic.state.find("Observation")}
    assert found == {"first\nsecond", "a", "b"}
    clinic.file(ORU, PID, obr("C"), obx("ST", "c", code="600-7^Organism^LN", sub="2", more="|||||C"))
    assert {each["valueString"] for each in clinic.state.find("Observation")} == {"first\nsecond", "a", "c"}
    assert "they cannot be distinguished" in clinic.refusal_text(ORU, PID, obr(filler="L-2"), obx(), obx(value="7"))


def test_embedded_document_is_presented_form() -> None:
    clinic = Clinic()
    clinic.file(ORU, PID, obr(), obx("ED", "LAB^application^pdf^Base64^JVBERi0=", code="PDF^Report^L", more="|||||F"))
    [form] = clinic.find_one("DiagnosticReport")["presentedForm"]
    assert form == {"contentType": "application/pdf", "title": "Report", "data": "JVBERi0=", "size": 5}
    assert clinic.state.find("Observation") == []


@pytest.mark.parametrize(
    ("pointer", "form"),
    [
        (
            "https://pacs.example/a b?x=1\\T\\y=2^PACS^IM^jpeg",
            {"contentType": "image/jpeg", "url": "https://pacs.example/a%20b?x=1&y=2", "title": "Report"},
        ),
        ("0815^PACS&1.2.3&ISO^application^pdf", {"contentType": "application/pdf", "title": "Report: PACS 0815"}),
        ("urn:oid:1.2.3", {"url": "urn:oid:1.2.3", "title": "Report"}),
    ],
)
def test_pointer_to_document_is_url(pointer: str, form: dict[str, Any]) -> None:
    clinic = Clinic()
    clinic.file(ORU, PID, obr(), obx(), obx("RP", pointer, code="PDF^Report^L", more="|||||F"))
    assert clinic.find_one("DiagnosticReport")["presentedForm"] == [form]
    assert clinic.find_one("Observation")["valueQuantity"]["value"] == 6.1


def test_result_without_value_has_absent_reason_and_keeps_old_value() -> None:
    clinic = Clinic()
    clinic.file(ORU, PID, obr(), obx(value=""))
    absent = {"system": "http://terminology.hl7.org/CodeSystem/data-absent-reason", "code": "unknown"}
    assert clinic.find_one("Observation")["dataAbsentReason"]["coding"] == [{**absent, "display": "Unknown"}]
    clinic.file(ORU, PID, obr(), obx())
    assert "dataAbsentReason" not in clinic.find_one("Observation")
    assert "OBX-5 is missing, OBX-11 is corrected" in clinic.refusal_text(
        ORU, PID, obr("C"), obx(value="", more="|||||C")
    )
    clinic.file(ORU, PID, obr("C"), obx(value='""', more="|||||C"))
    now = clinic.find_one("Observation")
    assert ("valueQuantity" in now, "dataAbsentReason" in now) == (False, True)


def test_reports_are_ordered_by_date_alone() -> None:
    clinic = Clinic()
    clinic.file(ORU, PID, obr("C", at="20260303"), obx(value="4", more="|||||C"))
    assert "issued" not in clinic.find_one("DiagnosticReport")
    late = clinic.refusal_text(ORU, PID, obr("C", at="20260302"), obx(value="9", more="|||||C"))
    assert "was reported at 2026-03-03, which is after OBR-22 (2026-03-02)" in late
    assert "which is after OBR-22" in clinic.refusal_text(
        ORU, PID, obr("C", at="20260302235900"), obx(value="9", more="|||||C")
    )
    assert "is corrected and this is final" in clinic.refusal_text(
        ORU, PID, obr("F", at="20260303100000"), obx(value="9")
    )
    clinic.file(ORU, PID, obr("C", at="20260303100000"), obx(value="5", more="|||||C"))
    report = clinic.find_one("DiagnosticReport")
    assert ("_issued" in report, report["issued"]) == (False, "2026-03-03T10:00:00-05:00")
    clinic.file(ORU, PID, obr("F", at="20260304"), obx(value="6"))
    assert "issued" not in clinic.find_one("DiagnosticReport")
    assert "issued" not in clinic.find_one("Observation")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (obx(value="see note"), "`see note` is not a number"),
        (obx(more="mmol/L|||||Q"), "`Q` is not a valid result status"),
        (obx("XCN", "1^May"), "unsupported value type `XCN`"),
        (obx("NM", "1~2"), "2 values"),
        (obx("DTM", "20261301"), "`20261301` is not a time"),
        (obx("ED", "LAB^AP^pdf^Base64^***"), "the document is not valid Base64"),
        (obx(more="mmol/L|||||F|||2026-03-02"), "OBX-14: `2026-03-02` is not a time"),
        (obx(code="^^"), "OBX-3 (observation identifier) is missing"),
    ],
)
def test_invalid_result_refuses_whole_message(line: str, why: str) -> None:
    clinic = Clinic()
    assert why in clinic.refusal_text(ORU, PID, obr(), obx(code="2951-2^Sodium^LN"), line, checked=False)


def test_report_without_number_and_time_is_refused() -> None:
    lines = obr(filler="", placer="").replace("|||20260302083000|", "||||")
    message = Clinic().refusal_text(ORU, PID, lines, obx(), checked=False)
    assert message == "OBR-2, OBR-3 (numbers) and OBR-7 (time) are missing; send one of them"


def test_result_of_other_or_unknown_patient_is_refused() -> None:
    clinic = Clinic()
    clinic.file(ORU, PID, obr(), obx())
    unknown = clinic.refusal_text(ORU, "PID|1||99^^^CLINIC^MR||Roe^Jane||19700101|F", obr(filler="L-2"), obx())
    assert unknown == "no patient in this chart has the number `99` (CLINIC, MR) of PID-3: Jane Roe, born 19700101"
    eva = "PID|1||4712^^^CLINIC^MR||Brandt^Eva||19710701|F"
    assert "results are not moved between patients" in clinic.refusal_text(ORU, eva, obr(), obx())
    assert "order `order-1` (PLAC) is Patient/ana's" in clinic.refusal_text(ORU, eva, obr(filler="L-3"), obx())


def test_results_of_two_patients_are_filed_atomically() -> None:
    clinic = Clinic()
    unknown = "PID|1||99^^^CLINIC^MR||Roe^Jane||19700101|F"
    reason = clinic.refusal_text(ORU, PID, obr(), obx(), unknown, obr(filler="L-2", placer=""), obx())
    assert "no patient in this chart" in reason
    eva = unknown.replace("99^", "4712^")
    keys = clinic.file(
        ORU,
        PID,
        obr(),
        obx(),
        eva.replace("Roe^Jane||19700101", "Brandt^Eva||19710701"),
        obr(placer="", filler="L-2"),
        obx(),
    )
    whose = [clinic.get(key)["subject"]["reference"] for key in keys]
    assert whose == ["Patient/ana", "Patient/ana", "Patient/eva", "Patient/eva"]


def test_observation_written_over_fhir_is_updated() -> None:
    clinic = Clinic()
    first = clinic.file(ORU, PID, obr("P"), obx(more="|||||P"))
    stored = {name: value for name, value in clinic.get(first[0]).items() if name != "identifier"}
    with Transaction(clinic.state, clinic.playground.context_for("ehr", "agent")) as transaction:
        put_resource(transaction, stored, "put")
    assert clinic.file(ORU, PID, obr("F"), obx(value="5", more="|||||F")) == first


def test_events_name_operation() -> None:
    clinic = Clinic()
    found = [each.payload for each in clinic.receive(ORU, PID, obr(), obx())]
    assert {each.operation for each in found if isinstance(each, ResourceWritten)} == {"ORU^R01"}
