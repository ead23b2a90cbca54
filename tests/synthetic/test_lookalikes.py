"""Namesakes and near-duplicates are planted, and listed as what they are."""

from datetime import datetime

import pytest

from clerkship.fhir.resource import Resource
from clerkship.synthetic import LookAlike, look_alikes
from clerkship.synthetic.lookalikes import PLANTED
from tests.synthetic.valley import CASES, Valley, day_of, valley

cases = pytest.mark.parametrize(("seed", "now"), CASES)


def pairs(found: Valley, kind: str) -> list[tuple[Resource, Resource]]:
    listed: list[LookAlike] = [pair for pair in look_alikes(100) if pair.kind == kind]
    assert len(listed) == 2
    return [(found.by_key[pair.first], found.by_key[pair.second]) for pair in listed]


def called(patient: Resource) -> tuple[str, str]:
    name = patient["name"][0]
    return name["given"][0], name["family"]


def number(patient: Resource) -> str:
    value: str = patient["identifier"][0]["value"]
    return value


def apart(first: Resource, second: Resource) -> int:
    return abs((day_of(first["birthDate"]) - day_of(second["birthDate"])).days)


def test_every_kind_is_in_the_list_and_the_list_grows_with_the_patients() -> None:
    assert {pair.kind for pair in look_alikes(50)} == {planted.kind for planted in PLANTED.values()}
    assert look_alikes(3) == ()
    assert look_alikes(100)[: len(look_alikes(50))] == look_alikes(50)


@cases
def test_namesakes(seed: int, now: datetime) -> None:
    found = valley(seed, now)
    for first, second in pairs(found, "same name"):
        assert called(first) == called(second)
        assert first["gender"] == second["gender"]
        assert apart(first, second) > 365
    for first, second in pairs(found, "same name, born days apart"):
        assert called(first) == called(second)
        assert 1 <= apart(first, second) <= 9


@cases
def test_twins(seed: int, now: datetime) -> None:
    for first, second in pairs(valley(seed, now), "twins"):
        assert called(first)[1] == called(second)[1]
        assert called(first)[0] != called(second)[0]
        assert first["birthDate"] == second["birthDate"]
        assert first["address"][0]["text"] == second["address"][0]["text"]


@cases
def test_record_numbers_with_two_digits_changed_about(seed: int, now: datetime) -> None:
    for first, second in pairs(valley(seed, now), "record numbers transposed"):
        assert number(first) != number(second)
        assert sorted(number(first)) == sorted(number(second))
        assert sum(a != b for a, b in zip(number(first), number(second), strict=True)) == 2


@cases
def test_a_maiden_name_that_is_somebody_elses_name(seed: int, now: datetime) -> None:
    for first, second in pairs(valley(seed, now), "maiden name"):
        maiden = next(name for name in second["name"] if name["use"] == "maiden")
        assert (maiden["given"][0], maiden["family"]) == called(first)
        assert second["name"][0]["family"] != maiden["family"]


@cases
def test_one_person_registered_twice(seed: int, now: datetime) -> None:
    for first, second in pairs(valley(seed, now), "registered twice"):
        assert first["birthDate"] == second["birthDate"]
        assert called(first) != called(second)
        assert first["address"][0]["line"][0] == second["address"][0]["line"][0]
        assert number(first) != number(second)


@cases
def test_father_and_son(seed: int, now: datetime) -> None:
    for first, second in pairs(valley(seed, now), "father and son"):
        assert called(first) == called(second)
        assert second["name"][0]["suffix"] == ["Jr."]
        assert 21 * 365 < apart(first, second) < 33 * 366
        assert first["birthDate"] < second["birthDate"]


@cases
def test_all_of_them_are_alive_and_no_number_is_given_twice(seed: int, now: datetime) -> None:
    found = valley(seed, now)
    for pair in look_alikes(100):
        assert "deceasedDateTime" not in found.by_key[pair.first]
        assert "deceasedDateTime" not in found.by_key[pair.second]
    numbers = [number(patient) for patient in found.all("Patient")]
    assert len(set(numbers)) == len(numbers)
