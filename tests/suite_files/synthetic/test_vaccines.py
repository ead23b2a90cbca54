"""Vaccines by the schedule: series without gaps, the right volume and route, at visits."""

from collections import defaultdict
from datetime import date, datetime

from clerkship.formats.fhir.resource import get_key
from clerkship.suite_files.synthetic.times import age_in_months, age_in_years
from tests.suite_files.synthetic.generated_clinic import cases, generate_clinic, get_code, parse_day


@cases
def test_doses_of_a_series_are_numbered_in_order(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now, 300)
    for patient in clinic.all("Patient"):
        series: dict[str, list[tuple[date, int]]] = defaultdict(list)
        for resource in clinic.of(patient, "Immunization"):
            name = resource["id"].split("-")[2]
            if name not in ("flu", "covid"):
                number = resource["protocolApplied"][0]["doseNumberPositiveInt"]
                series[name].append((parse_day(resource["occurrenceDateTime"]), number))
        for name, doses in series.items():
            assert [number for _, number in sorted(doses)] == list(range(1, len(doses) + 1)), (get_key(patient), name)


@cases
def test_dose_quantity_and_route(seed: int, now: datetime) -> None:
    seen = set()
    for resource in generate_clinic(seed, now, 300).all("Immunization"):
        code, route = get_code(resource["vaccineCode"]), get_code(resource["route"])
        seen.add(code)
        assert resource["doseQuantity"]["value"] == {"309": 0.3, "119": 1}.get(code, 0.5)
        assert route == {"119": "PO", "21": "SQ", "03": "SQ"}.get(code, "IM")
    assert {"309", "119", "21", "133"} <= seen
    assert not {"116", "114"} & seen


@cases
def test_infants_get_current_vaccines(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now, 300)
    half = 0
    for resource in clinic.all("Immunization"):
        day, code = parse_day(resource["occurrenceDateTime"]), get_code(resource["vaccineCode"])
        if "-pcv-" in resource["id"]:
            assert (code == "216") == (day >= date(2023, 7, 1)), get_key(resource)
            half += age_in_months(parse_day(clinic.at(resource["patient"])["birthDate"]), day) in (6, 7)
        if "-mening-" in resource["id"]:
            assert (code == "203") == (day.year >= 2021), get_key(resource)
    assert half


@cases
def test_meningococcal_is_boosted_at_sixteen(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now, 300), 0
    for resource in clinic.all("Immunization"):
        if resource["id"].endswith("-mening-2"):
            assert (
                age_in_years(
                    parse_day(clinic.at(resource["patient"])["birthDate"]), parse_day(resource["occurrenceDateTime"])
                )
                >= 16
            )
            seen += 1
    assert seen


@cases
def test_doses_are_given_at_a_nearby_visit(seed: int, now: datetime) -> None:
    clinic, there = generate_clinic(seed, now), 0
    for resource in clinic.all("Immunization"):
        day = parse_day(resource["occurrenceDateTime"])
        visits = [
            one for one in clinic.of(clinic.at(resource["patient"]), "Encounter") if one["class"]["code"] == "AMB"
        ]
        days = {parse_day(one["period"]["start"]) for one in visits}
        there += day in days
        if not resource["id"].endswith("-hepb-1"):  # it is given where they are born
            assert day in days or not [one for one in days if abs((one - day).days) <= 2], get_key(resource)
    assert there > 20
