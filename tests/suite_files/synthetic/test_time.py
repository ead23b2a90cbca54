"""Order of time: nothing before birth, nothing after death, and only planned things after now."""

from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from clerkship.formats.fhir.resource import get_key
from clerkship.suite_files.synthetic.times import clinic_time, to_local
from tests.suite_files.synthetic.generated_clinic import cases, generate_clinic, list_dates, parse_day

EASTERN = ZoneInfo("America/New_York")
PLANNED = {"Slot": {".start", ".end"}, "Schedule": {".planningHorizon.end", ".planningHorizon.start"}}
CLINICAL = (
    "Encounter",
    "Condition",
    "Observation",
    "DiagnosticReport",
    "MedicationRequest",
    "Immunization",
    "Procedure",
    "AllergyIntolerance",
    "ServiceRequest",
    "DocumentReference",
    "Appointment",
)


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


@cases
def test_only_planned_things_are_in_the_future(seed: int, now: datetime) -> None:
    today = now.astimezone(EASTERN).date()
    for resource in generate_clinic(seed, now).resources:
        allowed = PLANNED.get(resource["resourceType"], set())
        if resource["resourceType"] == "Appointment" and resource["status"] == "booked":
            allowed = {".start", ".end"}
        for path, text in list_dates(resource):
            if path not in allowed:
                assert (instant(text) <= now) if "T" in text else (parse_day(text) <= today), (
                    get_key(resource),
                    path,
                    text,
                )


@cases
def test_nothing_is_before_birth(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for patient in clinic.all("Patient"):
        born = parse_day(patient["birthDate"])
        for type in (*CLINICAL, "Coverage", "Claim"):
            for resource in clinic.of(patient, type):
                for path, text in list_dates(resource):
                    assert parse_day(text) >= born, (get_key(resource), path, text)


@cases
def test_nothing_is_done_after_death(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    dead = [patient for patient in clinic.all("Patient") if "deceasedDateTime" in patient]
    assert 2 <= len(dead) <= 12
    for patient in dead:
        died = instant(patient["deceasedDateTime"])
        assert not patient["active"]
        for type in CLINICAL:
            for resource in clinic.of(patient, type):
                for path, text in list_dates(resource):
                    late = instant(text) > died if "T" in text else parse_day(text) > died.astimezone(EASTERN).date()
                    assert not late, (get_key(resource), path, text)
        assert all(resource["status"] != "active" for resource in clinic.of(patient, "MedicationRequest"))


@cases
def test_measurements_are_taken_during_their_visit(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.all("Observation"):
        period = clinic.at(resource["encounter"])["period"]
        assert instant(period["start"]) <= instant(resource["effectiveDateTime"]) <= instant(period["end"])
        assert instant(resource["effectiveDateTime"]) <= instant(resource["issued"])


@cases
def test_visits_overlap_for_no_patient_and_no_clinician(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for whose in ("subject", "participant"):
        spans: dict[str, list[tuple[datetime, datetime]]] = {}
        for resource in clinic.all("Encounter"):
            who = resource["subject"] if whose == "subject" else resource["participant"][0]["individual"]
            if whose == "participant" and resource["class"]["code"] in ("EMER", "IMP"):
                continue  # a ward is full of people
            spans.setdefault(who["reference"], []).append(
                (instant(resource["period"]["start"]), instant(resource["period"]["end"]))
            )
        for taken in spans.values():
            taken.sort()
            assert all(before[1] <= after[0] for before, after in pairwise(taken))


@cases
def test_the_clinic_keeps_office_hours(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).all("Encounter"):
        start = instant(resource["period"]["start"]).astimezone(EASTERN)
        if resource["class"]["code"] in ("AMB", "VR"):
            assert start.weekday() < 5
            assert 9 <= start.hour < 16


@cases
def test_times_are_those_of_the_clinics_zone(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).resources:
        for path, text in list_dates(resource):
            if "T" in text and not text.endswith("Z"):
                moment = instant(text)
                assert moment.utcoffset() == moment.astimezone(EASTERN).utcoffset(), (get_key(resource), path, text)


def test_local_time_matches_the_time_zone_database() -> None:
    moment = datetime.fromisoformat("1998-01-01T00:00:00+00:00")
    for hours in range(0, 24 * 366 * 28, 11):
        there = moment + timedelta(hours=hours)
        assert to_local(there).utcoffset() == there.astimezone(EASTERN).utcoffset()
        day = there.date()
        assert (
            clinic_time(day, 12).utcoffset() == datetime(day.year, day.month, day.day, 12, tzinfo=EASTERN).utcoffset()
        )


@cases
def test_conditions_begin_before_they_are_recorded_and_end_after(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).all("Condition"):
        assert parse_day(resource["onsetDateTime"]) <= parse_day(resource["recordedDate"])
        resolved = resource["clinicalStatus"]["coding"][0]["code"] == "resolved"
        assert resolved == ("abatementDateTime" in resource)
        if resolved:
            assert parse_day(resource["recordedDate"]) <= parse_day(resource["abatementDateTime"])


@cases
def test_last_updated_is_not_before_the_dates_of_a_resource(seed: int, now: datetime) -> None:
    """A result is recorded when it is issued, a visit when it ends."""
    for resource in generate_clinic(seed, now).resources:
        updated = instant(resource["meta"]["lastUpdated"])
        if resource["resourceType"] in ("Observation", "DiagnosticReport"):
            assert updated == instant(resource["issued"])
        elif resource["resourceType"] == "Encounter":
            assert updated == instant(resource["period"]["end"])
        elif resource["resourceType"] == "MedicationRequest":
            assert updated >= instant(resource["authoredOn"])
