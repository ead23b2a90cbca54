"""Tests of MDM: documents announced, added, changed, replaced and withdrawn."""

import base64
from typing import Any

import pytest

from clerkship.simulators.fhir.events import NothingChanged
from tests.reactions.hl7_to_fhir.clinic import PID, Clinic, build_msh

EVN = "EVN||20260302090000"
PV1 = "PV1|1|O"


def build_mdm(
    trigger: str, *lines: str, number: str = "D-1", parent: str = "", state: str = "AU", kept: str = "AV"
) -> tuple[str, ...]:
    even = int(trigger[1:]) % 2 == 0
    structure = "MDM_T02" if even else "MDM_T01"
    txa = (
        f"TXA|1|DS^Discharge summary^HL70270|TX|20260301||20260302080000||20260302083000|9999910000^May^Ida^^^^^^NPI|||"
        f"{number}^DICT|{parent}|order-1|||{state}|U|{kept}"
    )
    return (build_msh(f"MDM^{trigger}^{structure}"), EVN, PID, PV1, txa, *lines)


def obx(value: str, kind: str = "TX") -> str:
    return f"OBX|1|{kind}|DS^Summary^L||{value}||||||F"


def content(document: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Return the text of a document."""
    found = [each["attachment"] for each in document["content"]]
    return [(each.get("contentType", ""), base64.b64decode(each.get("data", ""))) for each in found]


def test_document_from_text_lines() -> None:
    clinic = Clinic()
    [key] = clinic.file(*build_mdm("T02", obx("Admitted \\T\\ treated."), obx("Went home.")))
    found = clinic.get(key)
    assert content(found) == [("text/plain", b"Admitted & treated.\nWent home.")]
    assert (found["status"], found["docStatus"]) == ("current", "final")
    assert found["masterIdentifier"]["value"] == "D-1"
    assert found["type"]["coding"][0]["system"] == "http://terminology.hl7.org/CodeSystem/v2-0270"
    assert found["author"] == [{"reference": "Practitioner/may", "display": "Ida May"}]
    assert found["date"] == "2026-03-02T08:30:00-05:00"
    assert found["context"]["related"] == [{"reference": "ServiceRequest/order-1"}]
    assert found["securityLabel"][0]["coding"][0]["code"] == "N"
    [event] = clinic.receive(*build_mdm("T02", obx("Admitted \\T\\ treated."), obx("Went home.")))
    assert isinstance(event.payload, NothingChanged)
    assert clinic.replay() == clinic.state.dump()


def test_document_from_embedded_data() -> None:
    clinic = Clinic()
    clinic.file(*build_mdm("T02", obx("DICT^application^pdf^Base64^JVBERi0=", "ED"), obx("A^TEXT^HTML^A^hello", "ED")))
    assert content(clinic.find_one("DocumentReference")) == [("application/pdf", b"%PDF-"), ("text/html", b"hello")]


def test_document_is_announced_signed_and_edited() -> None:
    clinic = Clinic()
    [key] = clinic.file(*build_mdm("T01", state="DI"))
    assert clinic.get(key)["content"] == [{"attachment": {"title": "Discharge summary"}}]
    assert clinic.get(key)["docStatus"] == "preliminary"
    clinic.file(*build_mdm("T04", obx("All well.")))
    assert (clinic.get(key)["docStatus"], content(clinic.get(key))) == ("final", [("text/plain", b"All well.")])
    clinic.file(*build_mdm("T03", state="LA"))[0:]
    assert content(clinic.get(key)) == [("text/plain", b"All well.")]
    clinic.file(*build_mdm("T08", obx("All is well.")))
    assert (clinic.get(key)["docStatus"], content(clinic.get(key))) == ("amended", [("text/plain", b"All is well.")])
    clinic.file(*build_mdm("T11"))
    assert clinic.get(key)["status"] == "entered-in-error"


def test_document_replaces_or_appends_another() -> None:
    clinic = Clinic()
    [first] = clinic.file(*build_mdm("T02", obx("One")))
    [more] = clinic.file(*build_mdm("T06", obx("And"), number="D-2", parent="D-1"))
    assert clinic.get(more)["relatesTo"] == [{"code": "appends", "target": {"reference": first}}]
    second, old = clinic.file(*build_mdm("T10", obx("Two"), number="D-3", parent="D-1"))
    assert old == first
    assert clinic.get(second)["relatesTo"] == [{"code": "replaces", "target": {"reference": first}}]
    assert (clinic.get(first)["status"], clinic.get(second)["status"]) == ("superseded", "current")
    [event] = clinic.receive(*build_mdm("T10", obx("Two"), number="D-3", parent="D-1"))
    assert isinstance(event.payload, NothingChanged)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (build_mdm("T04", obx("x")), "Patient/ana has no document `D-1` (DICT) of TXA-12"),
        (build_mdm("T10", obx("x")), "TXA-13 (document number) is missing"),
        (build_mdm("T10", obx("x"), parent="D-0"), "has no document `D-0` of TXA-13"),
        (build_mdm("T02", obx("x"), state="QQ"), "`QQ` is not a valid completion status"),
        (build_mdm("T02", obx("1", "NM")), "unsupported type `NM` (expected: TX, FT, ST, ED or RP)"),
        (build_mdm("T02", obx("x^y^z^Base64^%%", "ED")), "the document is not valid Base64"),
        (build_mdm("T02", obx("x"))[:4], "no TXA"),
    ],
)
def test_invalid_document_is_refused(lines: tuple[str, ...], why: str) -> None:
    assert why in Clinic().refusal_text(*lines, checked=False)
