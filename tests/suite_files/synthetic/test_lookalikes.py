"""Look-alike patients exist and are listed."""

from datetime import date, datetime
from itertools import product

import pytest

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.addresses import PHONE_NUMBERS
from clerkship.suite_files.synthetic.lookalikes import LOOK_ALIKE_RULES, LookAlike, list_look_alikes
from clerkship.suite_files.synthetic.organizations import ORGANIZATIONS
from clerkship.suite_files.synthetic.people import PatientRegister, SyntheticPerson
from clerkship.suite_files.synthetic.times import age_in_years
from clerkship.text.known_names import ORIGINS
from tests.choices import mark_slow_after
from tests.suite_files.synthetic.generated_clinic import GeneratedClinic, cases, generate_clinic, parse_day

NAMES = {
    "female": {name for origin in ORIGINS for name in origin.female},
    "male": {name for origin in ORIGINS for name in origin.male},
}


def pairs(clinic: GeneratedClinic, kind: str) -> list[tuple[Resource, Resource]]:
    listed: list[LookAlike] = [pair for pair in list_look_alikes(100) if pair.kind == kind]
    assert len(listed) == 2
    return [(clinic.by_key[pair.first], clinic.by_key[pair.second]) for pair in listed]


def called(patient: Resource) -> tuple[str, str]:
    name = patient["name"][0]
    return name["given"][0], name["family"]


def number(patient: Resource) -> str:
    value: str = patient["identifier"][0]["value"]
    return value


def apart(first: Resource, second: Resource) -> int:
    return abs((parse_day(first["birthDate"]) - parse_day(second["birthDate"])).days)


def test_every_kind_is_in_the_list_and_the_list_grows_with_the_patients() -> None:
    assert {pair.kind for pair in list_look_alikes(50)} == {planted.kind for planted in LOOK_ALIKE_RULES.values()}
    assert list_look_alikes(3) == ()
    assert list_look_alikes(100)[: len(list_look_alikes(50))] == list_look_alikes(50)


@cases
def test_namesakes(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for first, second in pairs(clinic, "same name"):
        assert called(first) == called(second)
        assert first["gender"] == second["gender"]
        assert apart(first, second) > 365
    for first, second in pairs(clinic, "same name, born days apart"):
        assert called(first) == called(second)
        assert 1 <= apart(first, second) <= 9


@cases
def test_twins(seed: int, now: datetime) -> None:
    for first, second in pairs(generate_clinic(seed, now), "twins"):
        assert called(first)[1] == called(second)[1]
        assert called(first)[0] != called(second)[0]
        assert first["birthDate"] == second["birthDate"]
        assert first["address"][0]["text"] == second["address"][0]["text"]


@cases
def test_record_numbers_with_two_digits_transposed(seed: int, now: datetime) -> None:
    for first, second in pairs(generate_clinic(seed, now), "record numbers transposed"):
        assert number(first) != number(second)
        assert sorted(number(first)) == sorted(number(second))
        assert sum(a != b for a, b in zip(number(first), number(second), strict=True)) == 2


@cases
def test_maiden_name_that_is_the_name_of_another_patient(seed: int, now: datetime) -> None:
    for first, second in pairs(generate_clinic(seed, now), "maiden name"):
        maiden = next(name for name in second["name"] if name["use"] == "maiden")
        assert (maiden["given"][0], maiden["family"]) == called(first)
        assert second["name"][0]["family"] != maiden["family"]


@cases
def test_one_person_registered_twice(seed: int, now: datetime) -> None:
    for first, second in pairs(generate_clinic(seed, now), "registered twice"):
        assert first["birthDate"] == second["birthDate"]
        assert called(first) != called(second)
        assert first["address"][0]["line"][0] == second["address"][0]["line"][0]
        assert number(first) != number(second)


@cases
def test_father_and_son(seed: int, now: datetime) -> None:
    for first, second in pairs(generate_clinic(seed, now), "father and son"):
        assert called(first) == called(second)
        assert second["name"][0]["suffix"] == ["Jr."]
        assert 21 * 365 < apart(first, second) < 33 * 366
        assert first["birthDate"] < second["birthDate"]


@cases
def test_look_alikes_are_alive_and_record_numbers_are_unique(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for pair in list_look_alikes(100):
        assert "deceasedDateTime" not in clinic.by_key[pair.first]
        assert "deceasedDateTime" not in clinic.by_key[pair.second]
    numbers = [number(patient) for patient in clinic.all("Patient")]
    assert len(set(numbers)) == len(numbers)


@cases
def test_two_records_of_one_person_have_the_same_body(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for first, second in pairs(clinic, "registered twice"):
        both = [get_body(clinic, patient) for patient in (first, second)]
        for sign in both[0].keys() & both[1].keys():
            apart_by = abs(float(both[0][sign]) - float(both[1][sign])) if sign != "smoking" else 0
            grows = age_in_years(parse_day(first["birthDate"]), parse_day(now.isoformat())) < 20
            assert apart_by <= ({"height": 8, "bmi": 1.5} if grows else {"height": 0, "bmi": 1.5}).get(sign, 0), both
            assert sign != "smoking" or both[0][sign] == both[1][sign]
        allergies = [{m["code"]["text"] for m in clinic.of(p, "AllergyIntolerance")} for p in (first, second)]
        none = "No known allergies"
        assert allergies[0] - {none} == allergies[1] - {none}


def get_body(clinic: GeneratedClinic, patient: Resource) -> dict[str, str]:
    """Return height, build and smoking status of one record."""
    resource = {one["id"].split("-")[2]: one for one in clinic.of(patient, "Observation")}
    signs = {key: str(resource[key]["valueQuantity"]["value"]) for key in ("height", "bmi") if key in resource}
    return signs | ({"smoking": resource["smoking"]["valueCodeableConcept"]["text"]} if "smoking" in resource else {})


@cases
def test_contact_fits_age_and_marital_status(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now, 300)
    for patient in clinic.all("Patient"):
        contact = patient["contact"][0]
        relation = contact["relationship"][0]["coding"][0]["code"]
        age = age_in_years(parse_day(patient["birthDate"]), parse_day(now.isoformat()))
        marital = patient.get("maritalStatus", {"coding": [{"code": ""}]})["coding"][0]["code"]
        assert (relation == "SPS") == (marital == "M"), patient["id"]
        assert (relation in ("MTH", "FTH")) == (age < 18), patient["id"]
        assert marital != "W" or age >= 50
        assert patient["name"][0]["given"][0] != contact["name"]["given"][0]
        if relation == "SPS":
            assert contact["name"]["given"][0] not in NAMES[patient["gender"]], patient["id"]


@cases
def test_middle_names_fit_and_differ_from_given_names(seed: int, now: datetime) -> None:
    seen = 0
    for patient in generate_clinic(seed, now, 300).all("Patient"):
        first, *more = patient["name"][0]["given"]
        for name in more:
            assert name != first
            assert name in NAMES[patient["gender"]], patient["id"]
            seen += 1
    assert seen > 100


@cases
def test_twins_do_not_share_a_spouse(seed: int, now: datetime) -> None:
    for first, second in pairs(generate_clinic(seed, now), "twins"):
        assert all(len(patient["name"]) == 1 for patient in (first, second))  # both have the name they were born with
        spouses = [p["contact"][0]["name"]["text"] for p in (first, second) if "maritalStatus" in p]
        assert len(set(spouses)) == len(spouses)


@pytest.mark.parametrize("seed", mark_slow_after(1, [7, 1, 2]))
def test_names_are_unique_among_a_thousand_patients_except_for_look_alikes(seed: int) -> None:
    register = PatientRegister(seed, date(2026, 3, 2))
    people = [register.draw(number) for number in range(1, 1001)]
    planned = {(pair.first, pair.second) for pair in list_look_alikes(1000)}
    known: dict[tuple[str, str], SyntheticPerson] = {}
    for person in people:
        for given, family in product({person.given, person.middle} - {""}, {person.family, person.maiden} - {""}):
            other = known.setdefault((given, family), person)
            assert other is person or (other.key, person.key) in planned, (other.key, person.key)


@pytest.mark.parametrize("seed", mark_slow_after(1, [7, 1, 2]))
def test_phone_numbers_are_unique_while_any_are_left(seed: int) -> None:
    register = PatientRegister(seed, date(2026, 3, 2))
    people = [register.draw(number) for number in range(1, 1001)]
    twins = {pair.second for pair in list_look_alikes(1000) if pair.kind == "twins"}
    numbers = [n for p in people for n in (p.phone if p.key not in twins else "", p.mobile) if n]
    assert len(set(numbers)) == len(numbers) > 1300
    assert not set(numbers) & {organization.phone for organization in ORGANIZATIONS}
    more = [register.draw(number) for number in range(1001, 2501)]
    assert all(person.phone in PHONE_NUMBERS for person in more)
