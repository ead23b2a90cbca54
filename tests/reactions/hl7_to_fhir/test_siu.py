"""Tests of SIU: appointments and their slots."""

import pytest

from clerkship.simulators.fhir.events import NothingChanged
from tests.reactions.hl7_to_fhir.clinic import PID, Clinic, build_msh

AIP = "AIP|1||9999910000^May^Ida^^^^^^NPI"
AIL = "AIL|1||W3"


def siu(trigger: str) -> str:
    return build_msh(f"SIU^{trigger}^SIU_S12")


def sch(start: str = "20260305090000", end: str = "", *, minutes: str = "30", state: str = "", reason: str = "") -> str:
    when = f"^^^{start}^{end}".rstrip("^")
    first = f"SCH|P-1^EHR|F-1^SCHED||||{reason or 'BOOK'}|72^Check of potassium^L|FOLLOWUP|{minutes}|MIN|{when}"
    return f"{first}|||||7^Desk^Front||||7^Desk^Front|||||{state}"


def build_booking(trigger: str = "S12", line: str = "", *more: str) -> tuple[str, ...]:
    """Build an appointment with Dr May."""
    return (siu(trigger), line or sch(), PID, "RGS|1", *(more or ("AIS|1||99213^Visit^C4", AIL, AIP)))


def slot_statuses(clinic: Clinic) -> dict[str, str]:
    return {each["id"]: each["status"] for each in clinic.state.find("Slot")}


def test_booking_marks_slot_busy() -> None:
    clinic = Clinic()
    slot, key = clinic.file(*build_booking())
    assert (slot, clinic.get(slot)["status"]) == ("Slot/slot-09", "busy")
    found = clinic.get(key)
    assert (found["status"], found["start"], found["end"]) == (
        "booked",
        "2026-03-05T09:00:00-05:00",
        "2026-03-05T09:30:00-05:00",
    )
    assert [each["actor"].get("reference") for each in found["participant"]] == [
        "Patient/ana",
        "Practitioner/may",
        "Location/ward",
    ]
    assert found["slot"] == [{"reference": "Slot/slot-09"}]
    assert [each["value"] for each in found["identifier"]] == ["F-1", "P-1"]
    assert found["reasonCode"][0]["text"] == "Check of potassium"
    assert found["appointmentType"]["coding"][0]["system"].endswith("v2-0276")
    assert found["minutesDuration"] == 30
    [event] = clinic.receive(*build_booking())
    assert isinstance(event.payload, NothingChanged)
    assert clinic.replay() == clinic.state.dump()


def test_appointment_is_rescheduled_and_cancelled() -> None:
    clinic = Clinic()
    key = clinic.file(*build_booking())[-1]
    clinic.file(*build_booking("S13", sch("20260305100000")))
    assert slot_statuses(clinic) == {"slot-09": "free", "slot-10": "busy", "slot-11": "busy"}
    assert clinic.get(key)["start"] == "2026-03-05T10:00:00-05:00"
    clinic.file(*build_booking("S14", sch("", minutes=""), "AIL|1||ICU"))
    found = clinic.get(key)
    assert (found["start"], found["slot"]) == ("2026-03-05T10:00:00-05:00", [{"reference": "Slot/slot-10"}])
    assert [each["actor"].get("reference", "?") for each in found["participant"]] == [
        "Patient/ana",
        "?",
        "Practitioner/may",
    ]
    clinic.file(*build_booking("S15", sch(reason="PAT^Patient called^L")))
    found = clinic.get(key)
    assert (found["status"], "slot" in found) == ("cancelled", False)
    assert found["cancelationReason"]["text"] == "Patient called"
    assert slot_statuses(clinic) == {"slot-09": "free", "slot-10": "free", "slot-11": "busy"}
    [event] = clinic.receive(*build_booking("S15", sch(reason="PAT^Patient called^L")))
    assert isinstance(event.payload, NothingChanged)
    assert "is cancelled" in clinic.refusal_text(*build_booking("S13", sch("20260305090000")))


@pytest.mark.parametrize(
    ("trigger", "status", "slot"), [("S17", "entered-in-error", "free"), ("S26", "noshow", "busy")]
)
def test_deletion_and_no_show_set_status(trigger: str, status: str, slot: str) -> None:
    clinic = Clinic()
    key = clinic.file(*build_booking())[-1]
    clinic.file(*build_booking(trigger))
    assert (clinic.get(key)["status"], slot_statuses(clinic)["slot-09"]) == (status, slot)


def test_long_appointment_takes_all_its_slots() -> None:
    clinic = Clinic()
    keys = clinic.file(*build_booking(line=sch("20260305090000", "20260305103000")))
    assert keys[:2] == ["Slot/slot-09", "Slot/slot-10"]


def test_busy_slot_is_refused() -> None:
    clinic = Clinic()
    reason = clinic.refusal_text(*build_booking(line=sch("20260305110000")))
    assert reason == "Slot/slot-11 is busy: no free slot at 2026-03-05T11:00:00-05:00"
    clinic.file(*build_booking(line=sch("20260305110000", state="Overbook")))
    assert clinic.find_one("Appointment")["slot"] == [{"reference": "Slot/slot-11"}]


def test_time_is_read_from_other_segments_and_duration_from_slot() -> None:
    clinic = Clinic()
    clinic.file(*build_booking("S12", sch("", minutes=""), "AIS|1||99213^Visit^C4|20260305090000|||45|MIN", AIP))
    assert clinic.find_one("Appointment")["end"] == "2026-03-05T09:45:00-05:00"
    other = Clinic()
    other.file(*build_booking("S12", sch(minutes=""), AIP))
    assert other.find_one("Appointment")["end"] == "2026-03-05T09:30:00-05:00"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (build_booking("S13"), "Patient/ana has no appointment `F-1` (SCHED, FILL) or `P-1` (EHR, PLAC) of SCH"),
        (build_booking(line=sch("20260305")), "the start of an appointment needs a time of day"),
        (build_booking(line=sch("", minutes="")), "SCH-11, TQ1-7 and AIS-4 (start) are missing"),
        (
            build_booking("S12", sch("20260307090000", minutes=""), AIP),
            "SCH-9 (duration) and the end in SCH-11 are missing",
        ),
        (build_booking(line=sch("20260305090000", "20260305080000")), "is not possible"),
        (build_booking(line=sch(state="Maybe")), "unknown status `MAYBE`"),
        (build_booking(line=sch(minutes="x")), "is not a duration"),
        (build_booking("S18"), "unsupported trigger event SIU^S18"),
    ],
)
def test_invalid_appointment_is_refused(lines: tuple[str, ...], why: str) -> None:
    assert why in Clinic().refusal_text(*lines, checked=False)


def test_appointment_of_other_patient_is_refused() -> None:
    clinic = Clinic()
    clinic.file(*build_booking())
    eva = "PID|1||4712^^^CLINIC^MR||Brandt^Eva||19710701|F"
    assert "does not belong to Patient/eva" in clinic.refusal_text(
        *(eva if line == PID else line for line in build_booking("S15"))
    )
