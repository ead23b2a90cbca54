"""Clinical plausibility: codes, values and drugs that fit together, checked over several datasets."""

import base64
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.suite_files.synthetic.analytes import ANALYTES
from clerkship.suite_files.synthetic.conditions import ALLERGENS, ILLNESSES
from clerkship.suite_files.synthetic.drugs import DRUGS
from clerkship.suite_files.synthetic.labs import estimate_gfr, list_affected_analytes
from clerkship.suite_files.synthetic.people import PLANTED_ILLNESSES
from clerkship.suite_files.synthetic.terms import ICD10, LOINC, RXNORM, SNOMED
from clerkship.suite_files.synthetic.times import age_in_months, age_in_years
from tests.suite_files.synthetic.generated_clinic import (
    GeneratedClinic,
    cases,
    generate_clinic,
    get_code,
    parse_day,
)

BY_SNOMED = {illness.snomed.code: illness for illness in ILLNESSES.values()}
BY_RXNORM = {drug.term.code: drug for drug in DRUGS.values()}
BY_LOINC = {analyte.term.code: analyte for analyte in ANALYTES.values()}
BY_ALLERGEN = {allergen.term.code: allergen for allergen in ALLERGENS}


def value(resource: Resource) -> float:
    found: float = resource["valueQuantity"]["value"]
    return found


def labs(clinic: GeneratedClinic, patient: Resource) -> list[Resource]:
    return [
        resource
        for resource in clinic.of(patient, "Observation")
        if resource["category"][0]["coding"][0]["code"] == "laboratory"
    ]


def list_values_by_visit(clinic: GeneratedClinic, patient: Resource, code: str) -> dict[str, float]:
    """Return the values of one code by visit."""
    return {
        resource["encounter"]["reference"]: value(resource)
        for resource in clinic.of(patient, "Observation")
        if get_code(resource["code"]) == code and "valueQuantity" in resource
    }


def illnesses(clinic: GeneratedClinic, patient: Resource) -> set[str]:
    return {BY_SNOMED[get_code(resource["code"], SNOMED)].key for resource in clinic.of(patient, "Condition")}


def test_every_code_has_one_display() -> None:
    assert len(BY_SNOMED) == len(ILLNESSES)
    assert len(BY_RXNORM) == len(DRUGS)
    assert len(BY_LOINC) == len(ANALYTES)
    assert {key for illness in ILLNESSES.values() for way in illness.regimens for key in way} <= set(DRUGS)


@cases
def test_the_two_codes_of_a_condition_belong_together(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).all("Condition"):
        illness = BY_SNOMED[get_code(resource["code"], SNOMED)]
        assert get_code(resource["code"], ICD10) == illness.icd.code


@cases
def test_conditions_fit_age_and_sex(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.all("Condition"):
        patient = clinic.at(resource["subject"])
        illness = BY_SNOMED[get_code(resource["code"], SNOMED)]
        assert illness.sex in ("", patient["gender"])
        assert age_in_years(parse_day(patient["birthDate"]), parse_day(resource["recordedDate"])) >= illness.ages[0]
        if illness.after:
            assert illnesses(clinic, patient) & set(illness.after), get_key(resource)
        assert not illnesses(clinic, patient) & set(illness.without), get_key(resource)


def test_excluded_conditions_never_occur_together() -> None:
    clinic = generate_clinic(11, datetime(2026, 7, 5, 13, tzinfo=UTC))
    for patient in clinic.all("Patient"):
        ill = illnesses(clinic, patient)
        assert not [key for key in ill if ill & set(ILLNESSES[key].without)], get_key(patient)


@cases
def test_every_drug_is_for_a_condition_that_it_treats(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.all("MedicationRequest"):
        drug = BY_RXNORM[get_code(resource["medicationCodeableConcept"], RXNORM)]
        condition = clinic.at(resource["reasonReference"][0])
        illness = BY_SNOMED[get_code(condition["code"], SNOMED)]
        assert any(drug.key in way for way in illness.regimens)
        if resource["status"] == "active":
            assert condition["clinicalStatus"]["coding"][0]["code"] == "active"
        else:
            assert resource["status"] in ("stopped", "completed")
        age = age_in_years(parse_day(clinic.at(resource["subject"])["birthDate"]), parse_day(resource["authoredOn"]))
        assert drug.ages[0] <= age <= drug.ages[1]
        assert parse_day(condition["recordedDate"]) <= parse_day(resource["authoredOn"])


@cases
def test_no_drug_conflicts_with_allergies_or_illnesses(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for patient in clinic.all("Patient"):
        codes = {get_code(resource["code"]) for resource in clinic.of(patient, "AllergyIntolerance")}
        allergic = {BY_ALLERGEN[code].ingredient for code in codes if code in BY_ALLERGEN} - {""}
        ill = illnesses(clinic, patient)
        for resource in clinic.of(patient, "MedicationRequest"):
            drug = BY_RXNORM[get_code(resource["medicationCodeableConcept"])]
            assert not allergic & set(drug.ingredients), get_key(resource)
            assert not ill & set(drug.avoid), get_key(resource)


@cases
def test_no_patient_takes_two_drugs_of_a_group_or_interacting_drugs(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for patient in clinic.all("Patient"):
        taken = [
            BY_RXNORM[get_code(resource["medicationCodeableConcept"])]
            for resource in clinic.of(patient, "MedicationRequest")
            if resource["status"] == "active"
        ]
        groups = [drug.group for drug in taken]
        assert len(set(groups)) == len(groups), get_key(patient)
        assert not any(set(groups) & set(drug.avoid) for drug in taken), get_key(patient)


def flag(resource: Resource) -> str:
    return get_code(resource["interpretation"][0])


@cases
def test_flags_match_the_reference_range(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).all("Observation"):
        if "interpretation" not in resource:
            continue
        bounds = resource["referenceRange"][0]
        low, high = bounds.get("low", {}).get("value", -1.0), bounds.get("high", {}).get("value", 1e9)
        expected = "L" if value(resource) < low else "H" if value(resource) > high else "N"
        assert flag(resource)[0] == expected, get_key(resource)


@cases
def test_abnormal_results_are_explained_by_an_illness_or_a_drug(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    odd = 0
    for patient in clinic.all("Patient"):
        drugs = [BY_RXNORM[get_code(m["medicationCodeableConcept"])] for m in clinic.of(patient, "MedicationRequest")]
        taken = {name for drug in drugs for name in (drug.group, drug.key)}
        causes = list_affected_analytes(illnesses(clinic, patient) | taken)
        for resource in labs(clinic, patient):
            if flag(resource) != "N":
                odd += 1
                assert BY_LOINC[get_code(resource["code"])].key in causes, get_key(resource)
    assert odd > 50


@cases
def test_derived_values_match_their_formula(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    seen: Counter[str] = Counter()
    for patient in clinic.all("Patient"):
        born = parse_day(patient["birthDate"])
        creatinine = list_values_by_visit(clinic, patient, "2160-0")
        for visit, rate in list_values_by_visit(clinic, patient, "98979-8").items():
            age = age_in_years(born, parse_day(clinic.by_key[visit]["period"]["start"]))
            assert rate == round(estimate_gfr(creatinine[visit], patient["gender"], age))
            seen["egfr"] += 1
        parts = [list_values_by_visit(clinic, patient, code) for code in ("2085-9", "13457-7", "2571-8")]
        for visit, total in list_values_by_visit(clinic, patient, "2093-3").items():
            hdl, ldl, triglycerides = (part[visit] for part in parts)
            assert total == hdl + ldl + triglycerides // 5
            seen["lipids"] += 1
        seen["bmi"] += _bmi(clinic, patient)
    assert min(seen["egfr"], seen["lipids"], seen["bmi"]) > 10


def _bmi(clinic: GeneratedClinic, patient: Resource) -> int:
    weight, height = list_values_by_visit(clinic, patient, "29463-7"), list_values_by_visit(clinic, patient, "8302-2")
    for visit, bmi in list_values_by_visit(clinic, patient, "39156-5").items():
        tall = height.get(visit) or next(iter(height.values()))
        assert bmi == pytest.approx(weight[visit] / (tall / 100) ** 2, abs=0.06)
    return len(weight)


@cases
def test_filtration_rate_matches_the_stage_of_kidney_disease(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for patient in clinic.all("Patient"):
        ill = illnesses(clinic, patient)
        for resource in clinic.of(patient, "Observation"):
            if get_code(resource["code"]) == "98979-8" and not ill & {"kidney3", "kidney4"}:
                assert value(resource) >= 60, get_key(resource)
            elif get_code(resource["code"]) == "98979-8":
                begun = next(c for c in clinic.of(patient, "Condition") if "kidney" in c["id"])["recordedDate"]
                low, high = (30, 59) if "kidney3" in ill else (15, 29)
                if parse_day(begun) <= parse_day(resource["effectiveDateTime"]):
                    assert low <= value(resource) <= high, get_key(resource)


@cases
def test_diabetics_have_a_series_of_hba1c_and_those_on_warfarin_an_inr(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    longest = 0
    for patient in clinic.all("Patient"):
        series = list_values_by_visit(clinic, patient, "4548-4")
        if "diabetes" in illnesses(clinic, patient):
            longest = max(longest, len(series))
            assert all(4.0 <= one <= 12 for one in series.values())
            steps = list(series.values())
            assert all(abs(b - a) <= 2.5 for a, b in pairwise(steps))
        elif "prediabetes" not in illnesses(clinic, patient):
            assert not series
        if list_values_by_visit(clinic, patient, "6301-6"):
            assert any("warfarin" in resource["id"] for resource in clinic.of(patient, "MedicationRequest"))
    assert longest >= 3


@cases
def test_inr_is_normal_before_warfarin_and_compared_with_its_target_on_it(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now, 300), Counter[str]()
    for patient in clinic.all("Patient"):
        begun = [m["authoredOn"] for m in clinic.of(patient, "MedicationRequest") if "warfarin" in m["id"]]
        for resource in clinic.of(patient, "Observation"):
            if get_code(resource["code"]) != "6301-6":
                continue
            drawn, bounds = datetime.fromisoformat(resource["effectiveDateTime"]), resource["referenceRange"][0]
            on_it = any(datetime.fromisoformat(day) < drawn for day in begun)
            seen["on" if on_it else "before"] += 1
            assert get_code(bounds["type"]) == ("therapeutic" if on_it else "normal"), get_key(resource)
            assert (bounds["low"]["value"], bounds["high"]["value"]) == ((2, 3) if on_it else (0.9, 1.1))
            assert on_it or 0.9 <= value(resource) <= 1.1, get_key(resource)
    assert min(seen["on"], seen["before"]) > 0


@cases
def test_weight_changes_plausibly_between_visits(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now, 300)
    for patient in clinic.all("Patient"):
        born = parse_day(patient["birthDate"])
        for (first, light), (second, heavy) in pairwise(list_values_by_visit(clinic, patient, "29463-7").items()):
            before, after = (parse_day(clinic.by_key[visit]["period"]["start"]) for visit in (first, second))
            grown = 12 * (after - before).days / 365 if age_in_years(born, before) < 18 else 0
            assert abs(heavy - light) < 6 + grown, get_key(patient)


@cases
def test_oxygen_saturation_has_both_codes(seed: int, now: datetime) -> None:
    observations = [
        resource for resource in generate_clinic(seed, now).all("Observation") if "-oxygen-" in resource["id"]
    ]
    assert observations
    assert all({c["code"] for c in resource["code"]["coding"]} == {"59408-5", "2708-6"} for resource in observations)


@cases
def test_some_patients_have_low_potassium_or_magnesium(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    low = Counter(
        resource["id"].split("-")[2]
        for resource in clinic.all("Observation")
        if "interpretation" in resource and flag(resource)[0] == "L"
    )
    assert low["potassium"] >= 2
    assert low["magnesium"] >= 1
    assert low["hemoglobin"] >= 1


@cases
def test_every_fifty_patients_have_the_planted_illnesses(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for place, keys in PLANTED_ILLNESSES.items():
        for number in (place, place + 50):
            assert set(keys) <= illnesses(clinic, clinic.by_key[f"Patient/pat-{number:04}"])


@cases
def test_vital_signs_are_plausible(seed: int, now: datetime) -> None:
    limits = {"8867-4": (45, 190), "8310-5": (35.5, 40.5), "59408-5": (85, 100), "39156-5": (9, 50), "9279-1": (9, 50)}
    for resource in generate_clinic(seed, now).all("Observation"):
        code = get_code(resource["code"], LOINC)
        if code in limits:
            assert limits[code][0] <= value(resource) <= limits[code][1], (get_key(resource), value(resource))
        if code == "85354-9":
            systolic, diastolic = (part["valueQuantity"]["value"] for part in resource["component"])
            assert 75 <= systolic <= 190
            assert 40 <= diastolic < systolic - 15


@cases
def test_children_grow(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for patient in clinic.all("Patient"):
        if age_in_years(parse_day(patient["birthDate"]), parse_day(now.isoformat())) < 14:
            lengths = list(list_values_by_visit(clinic, patient, "8302-2").values())
            assert lengths == sorted(lengths), get_key(patient)


@cases
def test_heart_failure_is_treated_with_a_loop_diuretic(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for patient in clinic.all("Patient"):
        allergic = any(resource["id"].endswith("-sulfa") for resource in clinic.of(patient, "AllergyIntolerance"))
        if "failure" in illnesses(clinic, patient) and not allergic:
            assert any("furosemide" in resource["id"] for resource in clinic.of(patient, "MedicationRequest")), get_key(
                patient
            )


@cases
def test_reports_group_results_and_refer_to_an_order(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    answered = set()
    for resource in clinic.all("DiagnosticReport"):
        order = clinic.at(resource["basedOn"][0])
        assert order["status"] == "completed"
        assert order["code"]["coding"] == resource["code"]["coding"]
        answered.add(get_key(order))
        for reference in resource["result"]:
            result = clinic.at(reference)
            assert result["effectiveDateTime"] == resource["effectiveDateTime"]
            assert result["basedOn"] == resource["basedOn"]
    for order in clinic.all("ServiceRequest"):
        if order["status"] == "active":
            assert get_key(order) not in answered


@cases
def test_vaccines_fit_age_and_season(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.all("Immunization"):
        born, day = parse_day(clinic.at(resource["patient"])["birthDate"]), parse_day(resource["occurrenceDateTime"])
        code = get_code(resource["vaccineCode"])
        if code in ("140", "135"):
            assert day.month in (10, 11)
            assert age_in_months(born, day) >= 6
            assert (code == "135") == (age_in_years(born, day) >= 65)
        assert code != "187" or age_in_years(born, day) >= 50
        assert code != "03" or age_in_months(born, day) >= 11
        assert code != "309" or day.year >= 2023


@cases
def test_all_ages_and_levels_of_health_occur(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    today = parse_day(now.isoformat())
    ages = Counter(_band(parse_day(patient["birthDate"]), today) for patient in clinic.all("Patient"))
    assert set(ages) == {"newborn", "infant", "child", "teen", "adult", "old", "very old"}
    degrees: Counter[int] = Counter()
    for patient in clinic.all("Patient"):
        lasting = [key for key in illnesses(clinic, patient) if not ILLNESSES[key].complaint]
        degrees[min(len(lasting), 4)] += 1
    assert all(degrees[count] >= 3 for count in range(5)), degrees


def _band(born: Any, today: Any) -> str:
    days, age = (today - born).days, age_in_years(born, today)
    if days <= 29:
        return "newborn"
    if age < 1:
        return "infant"
    return "child" if age < 13 else "teen" if age < 18 else "adult" if age < 65 else "old" if age < 95 else "very old"


@cases
def test_notes_match_the_chart(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.all("DocumentReference"):
        attachment = resource["content"][0]["attachment"]
        body = base64.b64decode(attachment["data"])
        text = body.decode()
        patient, visit = clinic.at(resource["subject"]), clinic.at(resource["context"]["encounter"][0])
        assert attachment["size"] == len(body)
        assert patient["identifier"][0]["value"] in text
        assert patient["name"][0]["family"] in text
        assert str(parse_day(visit["period"]["start"]).year) in text
        assert "None" not in text
        for diagnosis in visit.get("diagnosis", ()):
            name = clinic.at(diagnosis["condition"])["code"]["text"]
            assert name[1:] in text or resource["type"]["coding"][0]["code"] != "11506-3", (get_key(resource), name)
        _pressure_in(clinic, resource, text)


def _pressure_in(clinic: GeneratedClinic, resource: Resource, text: str) -> None:
    """Return whether the blood pressure in a note is the one that was measured."""
    tag, visit = resource["subject"]["reference"].rpartition("-")[2], resource["context"]["encounter"][0]["reference"]
    measured = clinic.by_key.get(f"Observation/obs-{tag}-bp-{visit.rpartition('-')[2]}")
    if measured is not None:
        systolic, diastolic = (part["valueQuantity"]["value"] for part in measured["component"])
        assert f"BP {systolic}/{diastolic} mmHg" in text
