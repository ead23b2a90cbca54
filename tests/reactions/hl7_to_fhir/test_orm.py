"""Tests of ORM: orders created, changed, held and cancelled."""

import pytest

from clerkship.simulators.fhir.events import NothingChanged
from tests.reactions.hl7_to_fhir.clinic import PID, Clinic, build_msh

ORM = build_msh("ORM^O01^ORM_O01")


def order(
    control: str = "NW",
    *,
    placer: str = "O-9^EHR",
    filler: str = "",
    status: str = "",
    code: str = "2823-3^Potassium^LN",
) -> tuple[str, ...]:
    orc = (
        f"ORC|{control}|{placer}|{filler}||{status}||^^^20260303080000^^S||20260302084000|||9999910000^May^Ida^^^^^^NPI"
    )
    obr = f"OBR|1|{placer}|{filler}|{code}{'|' * 27}N18.3^CKD 3^I10C"
    return (ORM, PID, orc, obr, "NTE|1||fasting", "DG1|1||I10^Hypertension^I10C||20260301|W")


def test_new_order_creates_service_request() -> None:
    clinic = Clinic()
    [key] = clinic.file(*order())
    found = clinic.get(key)
    assert (found["status"], found["intent"], found["priority"]) == ("active", "order", "stat")
    assert found["code"]["coding"][0]["code"] == "2823-3"
    assert found["authoredOn"] == "2026-03-02T08:40:00-05:00"
    assert found["occurrenceDateTime"] == "2026-03-03T08:00:00-05:00"
    assert found["requester"] == {"reference": "Practitioner/may", "display": "Ida May"}
    assert [each["coding"][0]["code"] for each in found["reasonCode"]] == ["N18.3", "I10"]
    assert found["note"] == [{"text": "fasting"}]
    [event] = clinic.receive(*order())
    assert isinstance(event.payload, NothingChanged)
    assert clinic.replay() == clinic.state.dump()


def test_order_control_changes_status() -> None:
    clinic = Clinic()
    [key] = clinic.file(*order())
    for control, status, expected in (
        ("HD", "", "on-hold"),
        ("RL", "", "active"),
        ("SC", "IP", "active"),
        ("SC", "CM", "completed"),
    ):
        clinic.receive(*order(control, status=status, filler="L-7^LAB"))
        assert clinic.get(key)["status"] == expected
    assert [each["value"] for each in clinic.get(key)["identifier"]] == ["O-9", "L-7"]
    assert "is completed: ORC-1 CA cannot change it" in clinic.refusal_text(*order("CA"))


@pytest.mark.parametrize("control", ["CA", "DC", "OC"])
def test_order_is_cancelled_without_obr(control: str) -> None:
    clinic = Clinic()
    [key] = clinic.file(*order())
    assert clinic.file(ORM, PID, f"ORC|{control}|O-9^EHR") == [key]
    found = clinic.get(key)
    assert (found["status"], found["code"]["text"]) == ("revoked", "Potassium")
    assert "is revoked" in clinic.refusal_text(*order("XO"))


def test_order_is_changed_and_found_by_id() -> None:
    clinic = Clinic()
    assert clinic.file(*order("XO", placer="order-1", code="2951-2^Sodium^LN")) == ["ServiceRequest/order-1"]
    assert clinic.get("ServiceRequest/order-1")["code"]["text"] == "Sodium"
    assert clinic.file(ORM, PID, "ORC|CA|order-1") == ["ServiceRequest/order-1"]


def test_orders_of_message_are_filed_atomically() -> None:
    clinic = Clinic()
    first, second = order(), order(placer="O-10")
    assert len(clinic.file(*first[:4], *second[2:4])) == 2
    bad = ("ORC|CA|O-77", "OBR|1|O-77||X^Y^L")
    assert "has no order `O-77` (PLAC)" in clinic.refusal_text(*order(placer="O-11")[:4], *bad)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((ORM, PID, "ORC|NW|O-1", "RXO|1^Drug^L|1||MG"), "unsupported segment RXO in the order"),
        (order("ZZ"), "unsupported ORC-1 `ZZ`"),
        (order(code=""), "OBR-4 (ordered service) is missing"),
        (order(placer=""), "ORC-2 and ORC-3 (order numbers) are missing"),
        ((ORM, PID), "the message has no ORC"),
        ((ORM, "PID|1||4712^^^CLINIC^MR||Brandt^Eva||19710701", "ORC|CA|order-1"), "is Patient/ana's"),
    ],
)
def test_invalid_order_is_refused(lines: tuple[str, ...], why: str) -> None:
    assert why in Clinic().refusal_text(*lines, checked=False)
