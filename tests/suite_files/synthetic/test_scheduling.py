"""Scheduling, claims, insurance and fictional identifiers."""

import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from clerkship.formats.fhir.resource import Resource, get_key
from tests.suite_files.synthetic.generated_clinic import cases, generate_clinic, parse_day

EASTERN = ZoneInfo("America/New_York")
COMBINED = {"I11.0": "I10", "I12.9": "I10", "I13.0": "I10", "E11.22": "E11.9"}
"""What is billed together with something else, and what it is alone."""


def span(resource: Resource) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(resource["start"]), datetime.fromisoformat(resource["end"])


@cases
def test_slots_are_in_the_next_four_weeks_in_clinic_hours(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    books: dict[str, list[tuple[datetime, datetime]]] = {}
    for slot in clinic.all("Slot"):
        start, end = span(slot)
        here = start.astimezone(EASTERN)
        assert now < start < now + timedelta(days=28)
        assert here.weekday() < 5
        assert 9 <= here.hour < 16
        assert here.hour != 12
        assert end - start == timedelta(minutes=30)
        books.setdefault(slot["schedule"]["reference"], []).append((start, end))
    assert len(books) == len(clinic.all("Schedule")) == 11
    for book in books.values():
        book.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(book))
    states = Counter(slot["status"] for slot in clinic.all("Slot"))
    assert states["free"] > states["busy"] > 10
    assert states["busy-unavailable"] > 10


@cases
def test_busy_slot_has_exactly_one_appointment(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    booked = [resource for resource in clinic.all("Appointment") if resource["status"] == "booked"]
    taken = Counter(resource["slot"][0]["reference"] for resource in booked)
    busy = {get_key(slot) for slot in clinic.all("Slot") if slot["status"] == "busy"}
    assert set(taken) == busy
    assert set(taken.values()) == {1}
    for resource in booked:
        slot = clinic.at(resource["slot"][0])
        assert span(slot) == span(resource)
        who = clinic.at(slot["schedule"])["actor"][0]["reference"]
        assert who in {part["actor"]["reference"] for part in resource["participant"]}
        assert slot["meta"]["lastUpdated"] == resource["meta"]["lastUpdated"]


@cases
def test_only_fulfilled_appointments_have_encounters(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    led = {
        ref["reference"]: resource for resource in clinic.all("Encounter") for ref in resource.get("appointment", ())
    }
    for resource in clinic.all("Appointment"):
        if resource["status"] == "fulfilled":
            visit = led[get_key(resource)]
            assert visit["period"]["start"] == resource["start"]
            assert visit["subject"]["reference"] in {part["actor"]["reference"] for part in resource["participant"]}
        else:
            assert get_key(resource) not in led
        assert datetime.fromisoformat(resource["created"]) <= datetime.fromisoformat(resource["start"])
    assert {resource["status"] for resource in clinic.all("Appointment")} == {
        "fulfilled",
        "noshow",
        "cancelled",
        "booked",
    }


@cases
def test_deceased_patients_have_no_upcoming_appointment(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for patient in clinic.all("Patient"):
        if "deceasedDateTime" in patient:
            assert all(resource["status"] != "booked" for resource in clinic.of(patient, "Appointment"))


@cases
def test_claims_are_for_visits_and_go_to_the_insurer_of_that_day(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for claim in clinic.all("Claim"):
        visit = clinic.at(claim["item"][0]["encounter"][0])
        policy = clinic.at(claim["insurance"][0]["coverage"])
        assert policy["beneficiary"]["reference"] == claim["patient"]["reference"] == visit["subject"]["reference"]
        assert policy["payor"][0] == claim["insurer"]
        day = parse_day(visit["period"]["start"])
        assert parse_day(policy["period"]["start"]) <= day
        assert day <= parse_day(policy["period"].get("end", "9999-12-31"))
        services = [coding for item in claim["item"] for coding in item["productOrService"]["coding"]]
        assert {coding["system"] for coding in services} == {"http://www.ama-assn.org/go/cpt"}
        assert all(re.fullmatch("[89][0-9]{4}", coding["code"]) for coding in services)
        assert claim["total"]["value"] == sum(item["net"]["value"] for item in claim["item"])
        assert datetime.fromisoformat(claim["created"]) > datetime.fromisoformat(visit["period"]["end"])
        known = [clinic.at(entry["condition"])["code"]["coding"][1]["code"] for entry in visit.get("diagnosis", ())]
        billed = [entry["diagnosisCodeableConcept"]["coding"][0]["code"] for entry in claim["diagnosis"]]
        assert sorted(COMBINED.get(code, code) for code in billed) == sorted(known) or billed[0].startswith("Z00")


@cases
def test_claims_combine_what_icd_10_cm_combines(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now, 300), Counter[str]()
    for claim in clinic.all("Claim"):
        codes = [entry["diagnosisCodeableConcept"]["coding"][0]["code"] for entry in claim["diagnosis"]]
        heart, kidney = "I50.9" in codes, any(code.startswith("N18") for code in codes)
        seen.update(codes)
        if {"I10", "I11.0", "I12.9", "I13.0"} & set(codes):
            expected = "I13.0" if heart and kidney else "I11.0" if heart else "I12.9" if kidney else "I10"
            assert expected in codes, get_key(claim)
            assert not heart or codes.index(expected) < codes.index("I50.9")
        assert not (kidney and "E11.9" in codes), get_key(claim)
        assert kidney or "E11.22" not in codes, get_key(claim)
        assert "N40.0" not in codes
    assert min(seen["I11.0"], seen["I12.9"], seen["E11.22"]) > 0


@cases
def test_newborn_visits_have_newborn_diagnoses(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now, 300), 0
    for claim in clinic.all("Claim"):
        born = parse_day(clinic.at(claim["patient"])["birthDate"])
        days = (parse_day(claim["billablePeriod"]["start"]) - born).days
        code = claim["diagnosis"][0]["diagnosisCodeableConcept"]["coding"][0]["code"]
        if code.startswith("Z00.1"):
            assert code == ("Z00.110" if days < 8 else "Z00.111" if days <= 28 else "Z00.129"), get_key(claim)
            seen += days <= 28
    assert seen


@cases
def test_next_appointment_of_small_children_is_a_well_child_visit(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now, 300), 0
    for patient in clinic.all("Patient"):
        old = (now.date() - parse_day(patient["birthDate"])).days
        for resource in clinic.of(patient, "Appointment"):
            if resource["status"] == "booked" and old < 3 * 365:
                assert resource["description"] == "Well child visit", get_key(resource)
                seen += 1
    assert seen


@cases
def test_visits_are_spread_over_the_week_and_not_on_holidays(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now, 300)
    starts = [
        resource["period"]["start"]
        for resource in clinic.all("Encounter")
        if resource["class"]["code"] in ("AMB", "VR")
    ]
    starts += [resource["start"] for resource in clinic.all("Slot")]
    days = [parse_day(start) for start in starts]
    assert not [day for day in days if (day.month, day.day) in ((1, 1), (7, 4), (12, 25))]
    assert not [day for day in days if day.month == 11 and day.weekday() == 3 and 22 <= day.day <= 28]
    visits = Counter(parse_day(resource["period"]["start"]).weekday() for resource in clinic.all("Encounter"))
    assert max(visits[day] for day in range(5)) < 1.5 * min(visits[day] for day in range(5)), visits


@cases
def test_some_patients_have_two_plans_an_expired_one_or_none(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    today = now.astimezone(EASTERN).date()
    active: Counter[int] = Counter()
    for patient in clinic.all("Patient"):
        policies = clinic.of(patient, "Coverage")
        for policy in policies:
            holds = parse_day(policy["period"].get("end", "9999-12-31")) >= today
            assert policy["status"] == ("active" if holds else "cancelled")
            assert policy["subscriberId"] == policy["identifier"][0]["value"]
        active[sum(policy["status"] == "active" for policy in policies)] += 1
    assert min(active[0], active[1], active[2]) > 0
    assert any(policy["status"] == "cancelled" for policy in clinic.all("Coverage"))


@cases
def test_phone_numbers_and_identifiers_are_fictional(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.resources:
        for point in resource.get("telecom", ()):
            if point["system"] == "phone":
                assert re.fullmatch(r"\(\d{3}\) 555-01\d\d", point["value"])
            else:
                assert point["value"].endswith(".example")
    for patient in clinic.all("Patient"):
        assert all(address["postalCode"].startswith("001") for address in patient["address"])
    for who in (*clinic.all("Practitioner"), *clinic.all("Organization")):
        number = who["identifier"][0]
        if number["system"].endswith("us-npi"):
            assert number["value"].startswith("99999")
            assert _luhn("80840" + number["value"])


def _luhn(digits: str) -> bool:
    doubled = [int(sign) * (1 + place % 2) for place, sign in enumerate(reversed(digits))]
    return sum(value // 10 + value % 10 for value in doubled) % 10 == 0


@cases
def test_referrals_have_a_letter_and_a_specialist(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    letters = {
        ref["reference"]
        for resource in clinic.all("DocumentReference")
        for ref in resource["context"].get("related", ())
    }
    referrals = [resource for resource in clinic.all("ServiceRequest") if resource["id"].startswith("referral")]
    assert len(referrals) >= 5
    for resource in referrals:
        assert get_key(resource) in letters
        assert resource["performer"][0]["reference"].startswith("Practitioner/")
        assert clinic.at(resource["reasonReference"][0])["clinicalStatus"]["coding"][0]["code"] == "active"
