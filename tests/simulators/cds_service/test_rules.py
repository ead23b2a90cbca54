"""The rules of `order-safety`, on the drugs and allergies of clinic-100 and on orders in other forms."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.formats.cds_hooks.drugs import find_allergens, find_substances, load_drugs
from clerkship.simulators.cds_service import SPEC
from clerkship.suite_files.synthetic.conditions import ALLERGENS
from clerkship.suite_files.synthetic.drugs import DRUGS, Drug
from clerkship.suite_files.synthetic.terms import codeable_concept
from tests.simulators.cds_service.calls import (
    RXNORM,
    build_allergy,
    build_call,
    build_orders_call,
    build_prescription,
    list_cards,
    list_summaries,
    post,
)
from tests.suite_files.synthetic.generated_clinic import CASES, GeneratedClinic, generate_clinic

DRUG_ALLERGENS = [allergen for allergen in ALLERGENS if allergen.ingredient]
POTASSIUM = {"coding": [{"system": RXNORM, "code": "1801294"}]}
LOSARTAN = {"coding": [{"system": RXNORM, "code": "979492", "display": "losartan potassium 50 MG Oral Tablet"}]}


@pytest.fixture
def rig() -> Iterator[SimulatorRig]:
    with SimulatorRig(SPEC) as rig:
        yield rig


@pytest.fixture(scope="module")
def clinic() -> GeneratedClinic:
    return generate_clinic(*CASES[0])


def code_only(drug: Drug) -> dict[str, Any]:
    return {"coding": [{"system": drug.term.system, "code": drug.term.code}]}


def to_concept(drug: Drug) -> dict[str, Any]:
    return codeable_concept(drug.term, text=drug.name)


def build_service(id: str, code: str, status: str = "draft", **more: Any) -> dict[str, Any]:
    coding = {"system": "http://loinc.org", "code": code}
    return {"resourceType": "ServiceRequest", "id": id, "status": status, "code": {"coding": [coding]}, **more}


def test_every_prescribed_drug_of_the_clinic_is_known(clinic: GeneratedClinic) -> None:
    requests = clinic.all("MedicationRequest")
    assert len(requests) > 100
    concepts = [request["medicationCodeableConcept"] for request in requests]
    assert [concept["text"] for concept in concepts if not find_substances(concept)] == []


def test_every_drug_allergy_of_the_clinic_is_known(clinic: GeneratedClinic) -> None:
    allergies = [each for each in clinic.all("AllergyIntolerance") if each.get("category") == ["medication"]]
    assert len(allergies) > 5
    assert [each["code"]["text"] for each in allergies if not find_allergens(each["code"])] == []


def test_foods_and_other_allergies_are_no_drugs(clinic: GeneratedClinic) -> None:
    others = [each for each in clinic.all("AllergyIntolerance") if each.get("category") != ["medication"]]
    assert len(others) > 5
    assert [each["code"]["text"] for each in others if find_allergens(each["code"])] == []


@pytest.mark.parametrize("drug", DRUGS.values(), ids=DRUGS)
def test_code_and_words_of_a_drug_mean_the_same(drug: Drug) -> None:
    by_code = find_substances(code_only(drug))
    assert by_code
    assert find_substances({"text": drug.name}) == by_code
    assert find_substances({"text": drug.term.display}) == by_code


def test_a_card_warns_of_every_drug_that_the_clinic_never_gives_to_an_allergic_patient(rig: SimulatorRig) -> None:
    cases = [
        (allergen, drug)
        for allergen in DRUG_ALLERGENS
        for drug in DRUGS.values()
        if allergen.ingredient in drug.ingredients
    ]
    assert len(cases) > 10
    for allergen, drug in cases:
        allergy = build_allergy(codeable_concept(allergen.term, text=allergen.name))
        call = build_orders_call(build_prescription("draft1", to_concept(drug)), allergies=[allergy])
        assert [summary.split()[0] for summary in list_summaries(rig, call)] == ["Allergy"], (allergen.key, drug.key)


def test_a_card_warns_of_every_pair_of_drugs_that_the_clinic_never_combines(rig: SimulatorRig) -> None:
    pairs = [(one, two) for one in DRUGS.values() for two in DRUGS.values() if two.group in one.avoid]
    assert len(pairs) > 5
    for one, two in [*pairs, *((two, one) for one, two in pairs)]:
        taken = build_prescription("m1", to_concept(two), "active")
        call = build_orders_call(build_prescription("draft1", to_concept(one)), medications=[taken])
        assert any(each.startswith("Interaction") for each in list_summaries(rig, call)), (one.key, two.key)


def test_prescriptions_of_the_clinic_cause_no_critical_card(rig: SimulatorRig, clinic: GeneratedClinic) -> None:
    checked = 0
    for patient in clinic.all("Patient"):
        prescribed = [each for each in clinic.of(patient, "MedicationRequest") if each["status"] == "active"]
        if prescribed:
            orders = [{**each, "status": "draft"} for each in prescribed]
            call = build_orders_call(
                *orders, allergies=clinic.of(patient, "AllergyIntolerance"), medications=prescribed
            )
            critical = [card["summary"] for card in list_cards(rig, call) if card["indicator"] == "critical"]
            assert critical == [], patient["id"]
            checked += 1
    assert checked > 20


def test_a_code_is_preferred_to_words(rig: SimulatorRig) -> None:
    taken = build_prescription("m1", "spironolactone 25 mg", "active")
    losartan = build_orders_call(build_prescription("draft1", LOSARTAN), medications=[taken])
    potassium = build_orders_call(build_prescription("draft1", POTASSIUM), medications=[taken])
    assert [card["indicator"] for card in list_cards(rig, losartan)] == ["warning"]
    assert [card["indicator"] for card in list_cards(rig, potassium)] == ["critical"]
    misleading = {**POTASSIUM, "text": "ibuprofen"}
    assert find_substances(misleading) == {"potassium chloride"}


@pytest.mark.parametrize("place", ["contained", "bundle", "prefetch", "ingredient", "display"])
def test_a_drug_behind_a_reference_is_seen(rig: SimulatorRig, place: str) -> None:
    order = build_prescription("draft1", "")
    del order["medicationCodeableConcept"]
    medication: dict[str, Any] = {"resourceType": "Medication", "id": "ibu", "code": {"text": "ibuprofen 600 mg"}}
    if place == "ingredient":
        medication = medication | {"code": {}, "ingredient": [{"itemCodeableConcept": {"text": "ibuprofen"}}]}
    if place in ("contained", "ingredient"):
        order |= {"contained": [medication], "medicationReference": {"reference": "#ibu"}}
    elif place == "display":
        order |= {"medicationReference": {"reference": "Medication/other", "display": "Ibuprofen 600 mg"}}
    else:
        order |= {"medicationReference": {"reference": "https://ehr.example/fhir/Medication/ibu/_history/2"}}
    orders = [order, medication] if place == "bundle" else [order]
    taken = [build_prescription("m1", "warfarin", "active")]
    call = build_orders_call(*orders, medications=[*taken, medication] if place == "prefetch" else taken)
    [card] = list_cards(rig, call)
    assert card["summary"].startswith("Interaction")
    changed = card["suggestions"][1]["actions"][0]["resource"]
    assert not {"medicationReference", "contained"} & changed.keys()


def test_a_bundle_of_medications_only_has_no_order(rig: SimulatorRig) -> None:
    call = build_orders_call({"resourceType": "Medication", "id": "ibu"})
    assert post(rig, call).status == 400


def test_the_alternative_has_a_code_and_no_dose_of_the_old_drug(rig: SimulatorRig) -> None:
    order = build_prescription("draft1", "ibuprofen 600 mg") | {"dosageInstruction": [{"text": "1 tablet, 3 times"}]}
    call = build_orders_call(order, medications=[build_prescription("m1", "warfarin", "active")])
    [card] = list_cards(rig, call)
    changed = card["suggestions"][1]["actions"][0]["resource"]
    assert changed["medicationCodeableConcept"]["coding"][0] == {
        "system": RXNORM,
        "code": "198440",
        "display": "acetaminophen 500 MG Oral Tablet",
    }
    assert "dosageInstruction" not in changed
    assert changed["subject"] == order["subject"]


@pytest.mark.parametrize(
    ("allergies", "taken", "expected"),
    [
        (["Penicillin"], [], ["azithromycin"]),
        (["Penicillin", "azithromycin"], [], ["doxycycline"]),
        (["Penicillin"], ["warfarin"], ["doxycycline"]),
        (["Penicillin"], ["clarithromycin"], ["doxycycline"]),
        (["Penicillin", "macrolides", "doxycycline"], [], []),
    ],
)
def test_the_alternative_suits_allergies_and_medication(
    rig: SimulatorRig, allergies: list[str], taken: list[str], expected: list[str]
) -> None:
    call = build_orders_call(
        build_prescription("draft1", "amoxicillin 500 mg"),
        allergies=[build_allergy(each, f"a{number}") for number, each in enumerate(allergies)],
        medications=[build_prescription(f"m{number}", each, "active") for number, each in enumerate(taken)],
    )
    [card] = list_cards(rig, call)
    labels = [each["label"].split()[1] for each in card["suggestions"][1:]]
    assert labels == expected


def test_products_that_are_suggested_are_no_alternative_to_themselves() -> None:
    table = load_drugs()
    for key, codes in table.alternatives.items():
        for code in codes:
            ingredients = frozenset(table.products[code].ingredients)
            assert key not in ingredients
    assert table.alternatives.keys() <= table.ingredients.keys() | table.classes.keys()


def test_keys_of_the_table_refer_to_each_other() -> None:
    table = load_drugs()
    substances = table.ingredients.keys() | table.classes.keys()
    assert {name for each in table.ingredients.values() for name in each.classes} <= table.classes.keys()
    assert {name for each in table.interactions for name in each.between} <= substances
    assert {name for each in table.cross_allergies for name in (each.allergy, each.drug)} <= substances
    assert {name for each in table.products.values() for name in each.ingredients} <= table.ingredients.keys()


def test_drafts_of_one_call_are_compared_with_each_other_once(rig: SimulatorRig) -> None:
    orders = [build_prescription("d1", "warfarin 5 mg"), build_prescription("d2", "naproxen 500 mg")]
    assert list_summaries(rig, build_orders_call(*orders)) == ["Interaction: naproxen 500 mg with warfarin 5 mg"]


def test_two_drugs_of_a_class_are_a_duplicate(rig: SimulatorRig) -> None:
    [summary] = list_summaries(rig, build_call("simvastatin 20 mg", "atorvastatin 40 mg"))
    assert summary == "Duplicate order: simvastatin 20 mg is like atorvastatin 40 mg"


def test_a_penicillin_allergy_is_a_warning_for_cephalexin_and_none_for_cefdinir(rig: SimulatorRig) -> None:
    [card] = list_cards(rig, build_call("cephalexin 500 mg", allergy="Penicillin"))
    assert card["indicator"] == "warning"
    assert list_cards(rig, build_call("cefdinir 250 mg/5 mL", allergy="Penicillin")) == []


@pytest.mark.parametrize("status", ["inactive", "resolved"])
def test_an_allergy_of_the_past_causes_no_card(rig: SimulatorRig, status: str) -> None:
    allergy = build_allergy("Penicillin") | {"clinicalStatus": {"coding": [{"code": status}]}}
    assert list_cards(rig, build_orders_call(build_prescription("d1", "amoxicillin"), allergies=[allergy])) == []


def test_an_unknown_drug_gets_a_card_that_it_was_not_checked(rig: SimulatorRig) -> None:
    [card] = list_cards(rig, build_call("zorblaxin 5 mg", "warfarin"))
    assert (card["indicator"], card["summary"]) == ("info", "Not checked: zorblaxin 5 mg is unknown")


def test_an_unknown_drug_allergy_gets_one_card_that_it_was_not_checked(rig: SimulatorRig) -> None:
    allergies = [
        build_allergy("Zorblaxin") | {"category": ["medication"]},
        build_allergy("Peanut", "a2") | {"category": ["food"]},
        build_allergy("No known drug allergy", "a3") | {"category": ["medication"]},
        build_allergy("No known penicillin allergy", "a4") | {"category": ["medication"]},
    ]
    orders = [build_prescription("d1", "amoxicillin"), build_prescription("d2", "cetirizine")]
    [card] = list_cards(rig, build_orders_call(*orders, allergies=allergies))
    assert (card["indicator"], card["summary"]) == ("info", "Not checked: allergy to Zorblaxin is unknown")


def test_allergies_of_the_clinic_are_all_checked(rig: SimulatorRig, clinic: GeneratedClinic) -> None:
    allergies = clinic.all("AllergyIntolerance")
    call = build_orders_call(build_prescription("d1", "cetirizine"), allergies=allergies)
    assert list_cards(rig, call) == []


@pytest.mark.parametrize(
    ("status", "days", "is_duplicate"),
    [
        ("active", 400, True),
        ("completed", 10, True),
        ("completed", 40, False),
        ("revoked", 1, False),
        ("entered-in-error", 1, False),
    ],
)
def test_a_test_that_was_ordered_recently_is_a_duplicate(
    rig: SimulatorRig, status: str, days: int, is_duplicate: bool
) -> None:
    authored = (rig.playground.clock.now - timedelta(days=days)).isoformat()
    earlier = build_service("old", "4548-4", status, authoredOn=authored)
    call = build_orders_call(build_service("new", "4548-4"), earlier=[earlier])
    assert [each.split(":")[0] for each in list_summaries(rig, call)] == ["Duplicate order"] * is_duplicate


def test_orders_of_other_tests_and_the_order_itself_are_no_duplicate(rig: SimulatorRig) -> None:
    earlier = [build_service("new", "4548-4", "active"), build_service("old", "2345-7", "active")]
    assert list_cards(rig, build_orders_call(build_service("new", "4548-4"), earlier=earlier)) == []


def test_a_test_that_is_drafted_twice_is_a_duplicate(rig: SimulatorRig) -> None:
    call = build_orders_call(build_service("d1", "4548-4"), build_service("d2", "4548-4"))
    [card] = list_cards(rig, call)
    assert card["suggestions"][0]["actions"][0]["resourceId"] == "ServiceRequest/d2"


def test_lab_orders_of_the_clinic_are_duplicates_of_themselves(rig: SimulatorRig, clinic: GeneratedClinic) -> None:
    orders = [each for each in clinic.all("ServiceRequest") if each["status"] in ("active", "completed")]
    assert len(orders) > 50
    for order in orders:
        draft = {**order, "id": "new", "status": "draft"}
        call = build_orders_call(draft, earlier=[{**order, "status": "active"}])
        assert len(list_cards(rig, call)) == 1, order["id"]
