"""Notes, letters and summaries name the drugs of the chart, and no others."""

import base64
import re
from datetime import datetime

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.suite_files.synthetic.conditions import ALLERGENS, ILLNESSES
from clerkship.suite_files.synthetic.drugs import DRUGS, Drug
from tests.suite_files.synthetic.generated_clinic import (
    GeneratedClinic,
    cases,
    generate_clinic,
    get_code,
    parse_day,
)

BY_RXNORM = {drug.term.code: drug for drug in DRUGS.values()}
BY_ALLERGEN = {allergen.term.code: allergen for allergen in ALLERGENS}
CLASSES = ("statin", "antibiotic", "anticoag", "antihistamine", "nsaid", "iron", "continue", "insulin", "taper")


def get_drug_name(drug: Drug) -> str:
    """Return the name of a drug: `lisinopril`, `potassium chloride`."""
    return re.split(r" \d|/| inhaler", drug.name)[0].lower()


def text_of(resource: Resource) -> str:
    return base64.b64decode(resource["content"][0]["attachment"]["data"]).decode()


def without_allergies(text: str) -> str:
    return re.sub(r"Allergies: [^.]*\.", "", text).lower()


def list_prescriptions(clinic: GeneratedClinic, resource: Resource) -> list[tuple[Drug, Resource]]:
    """Return all prescriptions of the patient of a note."""
    given = clinic.of(clinic.at(resource["subject"]), "MedicationRequest")
    return [(BY_RXNORM[get_code(one["medicationCodeableConcept"])], one) for one in given]


def visit_of(clinic: GeneratedClinic, resource: Resource) -> Resource:
    return clinic.at(resource["context"]["encounter"][0])


def test_plans_of_illnesses_name_no_drugs() -> None:
    for illness in ILLNESSES.values():
        if illness.regimens:
            named = [name for name in (*map(get_drug_name, DRUGS.values()), *CLASSES) if name in illness.plan.lower()]
            assert set(named) <= ({"nsaid"} if illness.plan.find("void NSAIDs") > 0 else set()), illness.key


@cases
def test_note_names_only_drugs_prescribed_by_then(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now), 0
    for resource in clinic.all("DocumentReference"):
        end = datetime.fromisoformat(visit_of(clinic, resource)["period"]["end"])
        known = {
            get_drug_name(drug)
            for drug, one in list_prescriptions(clinic, resource)
            if datetime.fromisoformat(one["authoredOn"]) <= end
        }
        named = {
            get_drug_name(drug)
            for drug in DRUGS.values()
            if get_drug_name(drug) in without_allergies(text_of(resource))
        }
        assert named <= known, get_key(resource)
        seen += len(named)
    assert seen > 100


@cases
def test_note_mentions_allergens_only_in_the_list_of_allergies(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.all("DocumentReference"):
        codes = {get_code(one["code"]) for one in clinic.of(clinic.at(resource["subject"]), "AllergyIntolerance")}
        allergens = [BY_ALLERGEN[code] for code in codes if code in BY_ALLERGEN]
        text = without_allergies(text_of(resource))
        for allergen in allergens:
            assert f" {allergen.name.lower()}" not in text, get_key(resource)
            if allergen.ingredient:
                barred = [drug for drug in DRUGS.values() if allergen.ingredient in drug.ingredients]
                assert not [drug.name for drug in barred if get_drug_name(drug) in text], get_key(resource)


@cases
def test_note_lists_previous_continued_and_started_drugs(seed: int, now: datetime) -> None:
    clinic, seen = generate_clinic(seed, now), {"goes on": 0, "begins": 0, "stops": 0}
    for resource in clinic.all("DocumentReference"):
        if get_code(resource["type"]) != "11506-3":
            continue
        visit, text = visit_of(clinic, resource), text_of(resource)
        day, start = parse_day(visit["period"]["start"]), datetime.fromisoformat(visit["period"]["start"])
        before = [
            (d, one)
            for d, one in list_prescriptions(clinic, resource)
            if datetime.fromisoformat(one["authoredOn"]) < start
        ]
        had = [
            (drug, one)
            for drug, one in before
            if one["status"] == "active" or parse_day(one["meta"]["lastUpdated"]) >= day
        ]
        assert ("Takes no regular medication" in text) == (not had), get_key(resource)
        for drug, one in had:
            assert drug.name in text.partition("Objective")[0], get_key(resource)
            goes_on = one["status"] == "active" or parse_day(one["meta"]["lastUpdated"]) > day
            treats = (
                one["reasonReference"][0]["reference"] in str(visit["diagnosis"]) if "diagnosis" in visit else False
            )
            assert bool(re.search(rf"Continue [^.]*{re.escape(drug.name)}", text)) == (goes_on and treats), get_key(
                resource
            )
            seen["goes on"] += goes_on and treats
            seen["stops"] += f"Stop {drug.name}" in text
        for drug in DRUGS.values():
            begun = [
                one
                for d, one in list_prescriptions(clinic, resource)
                if d is drug and one["encounter"]["reference"] == get_key(visit)
            ]
            assert (f"Start {drug.name}: " in text) == bool(begun), (get_key(resource), drug.name)
            seen["begins"] += len(begun)
    assert seen["goes on"] > 30
    assert seen["begins"] > 10


@cases
def test_discharge_summary_lists_medication_at_discharge(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.all("DocumentReference"):
        if get_code(resource["type"]) != "18842-5":
            continue
        visit = visit_of(clinic, resource)
        end = datetime.fromisoformat(visit["period"]["end"])
        listed = set(re.findall(r"^- ([^:\n]+): ", text_of(resource), re.MULTILINE))
        taken = {
            drug.name
            for drug, one in list_prescriptions(clinic, resource)
            if datetime.fromisoformat(one["authoredOn"]) <= end
            and (one["status"] == "active" or parse_day(one["meta"]["lastUpdated"]) > end.date())
        }
        assert listed == taken, get_key(resource)
