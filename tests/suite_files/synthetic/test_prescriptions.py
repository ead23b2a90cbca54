"""Consistency of orders: dose, instructions, quantity, days and refills."""

import re
from datetime import datetime

import pytest

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.suite_files.synthetic.conditions import ILLNESSES
from clerkship.suite_files.synthetic.drugs import DRUGS, compute_dose
from clerkship.suite_files.synthetic.terms import SNOMED
from clerkship.suite_files.synthetic.times import age_in_years
from tests.suite_files.synthetic.generated_clinic import (
    CASES,
    GeneratedClinic,
    cases,
    generate_clinic,
    get_code,
    parse_day,
)

BY_SNOMED = {illness.snomed.code: illness for illness in ILLNESSES.values()}
BY_RXNORM = {drug.term.code: drug for drug in DRUGS.values()}
PER_DAY = {
    ("amoxicillin_liquid", "otitis"): (70, 90),
    ("amoxicillin_liquid", "strep"): (35, 50),
    ("cefdinir_liquid", "otitis"): (10, 14.1),
    ("cefdinir_liquid", "strep"): (10, 14.1),
}
"""Milligrams for each kilogram a day."""
STRENGTH = {"amoxicillin_liquid": 80, "cefdinir_liquid": 50}
NUMBER = re.compile(r"for (\d+) days")


def dose(instruction: Resource) -> float:
    found: float = instruction["doseAndRate"][0]["doseQuantity"]["value"]
    return found


def drug_key(resource: Resource) -> str:
    return BY_RXNORM[get_code(resource["medicationCodeableConcept"])].key


def find_measurement(clinic: GeneratedClinic, resource: Resource, key: str) -> Resource | None:
    """Return a measurement of the visit of an order."""
    visit = resource["encounter"]["reference"].rpartition("-")[2]
    tag = resource["subject"]["reference"].rpartition("-")[2]
    return clinic.by_key.get(f"Observation/obs-{tag}-{key}-{visit}")


@cases
def test_every_infection_that_is_treated_with_drugs_has_an_order(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now, 300), 0
    for patient in clinic.all("Patient"):
        treated = {one["reasonReference"][0]["reference"] for one in clinic.of(patient, "MedicationRequest")}
        for condition in clinic.of(patient, "Condition"):
            illness = BY_SNOMED[get_code(condition["code"], SNOMED)]
            if illness.complaint and illness.regimens:
                assert get_key(condition) in treated, get_key(condition)
                seen += 1
    assert seen > 15


@cases
def test_instructions_match_the_structured_dosage(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).all("MedicationRequest"):
        first, *more = resource["dosageInstruction"]
        supply = resource["dispenseRequest"]["expectedSupplyDuration"]["value"]
        drug = BY_RXNORM[get_code(resource["medicationCodeableConcept"])]
        assert "{" not in first["text"]
        if match := NUMBER.search(first["text"]):
            assert int(match[1]) == supply, get_key(resource)
        if match := re.search(r"(?:Take|Give|Inhale|Inject) ([\d.]+) ", first["text"]):
            assert float(match[1]) == dose(first), get_key(resource)
        bounds = [one["timing"]["repeat"].get("boundsDuration", {"value": 0})["value"] for one in (first, *more)]
        assert sum(bounds) in (0, supply), get_key(resource)
        if "quantity" in resource["dispenseRequest"] and not drug.supply:
            total = sum(
                dose(one) * one["timing"]["repeat"]["frequency"] * (days or supply)
                for one, days in zip((first, *more), bounds, strict=True)
            )
            assert resource["dispenseRequest"]["quantity"]["value"] == total, get_key(resource)


@cases
def test_azithromycin_starts_with_two_tablets_of_six(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now, 300).all("MedicationRequest"):
        if drug_key(resource) == "azithromycin":
            assert [dose(one) for one in resource["dosageInstruction"]] == [2, 1]
            assert resource["dispenseRequest"]["quantity"]["value"] == 6


@cases
def test_stimulants_and_courses_have_no_refills(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now, 300)
    for resource in clinic.all("MedicationRequest"):
        illness = BY_SNOMED[get_code(clinic.at(resource["reasonReference"][0])["code"], SNOMED)]
        if drug_key(resource) == "methylphenidate" or illness.complaint:
            assert resource["dispenseRequest"]["numberOfRepeatsAllowed"] == 0, get_key(resource)


@pytest.mark.slow
def test_children_get_liquids_dosed_by_weight() -> None:
    assert sum(count_weighed_doses(generate_clinic(seed, now, 300)) for seed, now in CASES) > 5


def count_weighed_doses(clinic: GeneratedClinic) -> int:
    """Check that liquids are dosed by weight; return their number."""
    seen = 0
    for resource in clinic.all("MedicationRequest"):
        key, born = drug_key(resource), parse_day(clinic.at(resource["subject"])["birthDate"])
        illness = BY_SNOMED[get_code(clinic.at(resource["reasonReference"][0])["code"], SNOMED)]
        if illness.key not in ("strep", "otitis") or age_in_years(born, parse_day(resource["authoredOn"])) >= 12:
            continue
        assert key in STRENGTH, get_key(resource)
        weighed = find_measurement(clinic, resource, "weight")
        assert weighed is not None
        kilos = weighed["valueQuantity"]["value"]
        dosage = resource["dosageInstruction"][0]
        daily = dose(dosage) * dosage["timing"]["repeat"]["frequency"] * STRENGTH[key] / kilos
        low, high = PER_DAY[key, illness.key]
        heaviest = dose(dosage) in (12.5, 6, 12)
        assert low <= daily or heaviest, (get_key(resource), daily)
        assert daily <= high, (get_key(resource), daily)
        seen += 1
    return seen


def test_dose_by_weight_has_a_maximum() -> None:
    assert compute_dose(DRUGS["amoxicillin_liquid"], "otitis", 9.1) == 5
    assert compute_dose(DRUGS["amoxicillin_liquid"], "otitis", 60) == 12.5
    assert compute_dose(DRUGS["amoxicillin"], "strep", 60) == 1


@cases
def test_spironolactone_and_potassium_are_never_prescribed_together(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now, 300)
    for patient in clinic.all("Patient"):
        keys = {drug_key(one) for one in clinic.of(patient, "MedicationRequest")}
        assert not {"spironolactone", "potassium"} <= keys, get_key(patient)


@cases
def test_pneumonia_affects_white_cells_and_oxygen_saturation(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now, 300), 0
    for resource in clinic.all("Condition"):
        if get_code(resource["code"], SNOMED) == ILLNESSES["pneumonia"].snomed.code:
            cells, oxygen = (
                find_measurement(clinic, resource, "leukocytes"),
                find_measurement(clinic, resource, "oxygen"),
            )
            assert cells is not None
            assert oxygen is not None
            assert cells["valueQuantity"]["value"] > 11, get_key(resource)
            assert oxygen["valueQuantity"]["value"] < 93, get_key(resource)
            seen += 1
    assert seen
