"""Vaccines by the schedule: series without gaps, the right volume and way, at visits."""

from collections import defaultdict
from datetime import date, datetime

import pytest

from clerkship.fhir.resource import get_key
from clerkship.synthetic.times import age_in_months, age_in_years
from tests.synthetic.valley import CASES, code_of, day_of, valley

cases = pytest.mark.parametrize(("seed", "now"), CASES)


@cases
def test_a_series_has_every_number_up_to_its_last_and_they_are_given_in_order(seed: int, now: datetime) -> None:
    found = valley(seed, now, 300)
    for patient in found.all("Patient"):
        series: dict[str, list[tuple[date, int]]] = defaultdict(list)
        for made in found.of(patient, "Immunization"):
            name = made["id"].split("-")[2]
            if name not in ("flu", "covid"):
                number = made["protocolApplied"][0]["doseNumberPositiveInt"]
                series[name].append((day_of(made["occurrenceDateTime"]), number))
        for name, doses in series.items():
            assert [number for _, number in sorted(doses)] == list(range(1, len(doses) + 1)), (get_key(patient), name)


@cases
def test_how_much_and_by_which_way(seed: int, now: datetime) -> None:
    seen = set()
    for made in valley(seed, now, 300).all("Immunization"):
        code, route = code_of(made["vaccineCode"]), code_of(made["route"])
        seen.add(code)
        assert made["doseQuantity"]["value"] == {"309": 0.3, "119": 1}.get(code, 0.5)
        assert route == {"119": "PO", "21": "SQ", "03": "SQ"}.get(code, "IM")
    assert {"309", "119", "21", "133"} <= seen
    assert not {"116", "114"} & seen


@cases
def test_infants_of_today_get_the_vaccines_of_today(seed: int, now: datetime) -> None:
    found = valley(seed, now, 300)
    half = 0
    for made in found.all("Immunization"):
        day, code = day_of(made["occurrenceDateTime"]), code_of(made["vaccineCode"])
        if "-pcv-" in made["id"]:
            assert (code == "216") == (day >= date(2023, 7, 1)), get_key(made)
            half += age_in_months(day_of(found.at(made["patient"])["birthDate"]), day) in (6, 7)
        if "-mening-" in made["id"]:
            assert (code == "203") == (day.year >= 2021), get_key(made)
    assert half


@cases
def test_meningococcal_is_boosted_at_sixteen(seed: int, now: datetime) -> None:
    found, seen = valley(seed, now, 300), 0
    for made in found.all("Immunization"):
        if made["id"].endswith("-mening-2"):
            assert (
                age_in_years(day_of(found.at(made["patient"])["birthDate"]), day_of(made["occurrenceDateTime"])) >= 16
            )
            seen += 1
    assert seen


@cases
def test_where_there_was_a_visit_near_it_was_at_the_visit(seed: int, now: datetime) -> None:
    found, there = valley(seed, now), 0
    for made in found.all("Immunization"):
        day = day_of(made["occurrenceDateTime"])
        visits = [one for one in found.of(found.at(made["patient"]), "Encounter") if one["class"]["code"] == "AMB"]
        days = {day_of(one["period"]["start"]) for one in visits}
        there += day in days
        if not made["id"].endswith("-hepb-1"):  # it is given where they are born
            assert day in days or not [one for one in days if abs((one - day).days) <= 2], get_key(made)
    assert there > 20
