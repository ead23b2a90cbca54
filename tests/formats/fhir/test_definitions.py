"""The table of definitions, compared with known facts of R4."""

import subprocess
import sys

import pytest

from clerkship.formats.fhir.definitions import (
    RESOURCE_TYPES,
    ElementDefinition,
    element_names,
    get_structure,
    get_value_set,
    is_structure,
    mandatory_elements,
    summary_elements,
)
from clerkship.formats.fhir.primitives import PRIMITIVES
from clerkship.formats.fhir.type_rules import get_type_rules


def find_element(type: str, name: str) -> ElementDefinition:
    """Return one element of a type."""
    return next(found for found in get_structure(type).elements if found.name == name)


def test_there_are_146_types_of_resource() -> None:
    assert len(RESOURCE_TYPES) == 146
    assert {"Patient", "Bundle", "Binary", "Parameters", "VisionPrescription"} <= RESOURCE_TYPES
    assert not {"Resource", "DomainResource", "Element", "NutritionIntake"} & RESOURCE_TYPES


def test_every_type_compiles_and_names_only_known_types() -> None:
    seen: set[str] = set()
    due = set(RESOURCE_TYPES)
    while due:
        name = due.pop()
        seen.add(name)
        get_type_rules(name).compile()
        for found in get_structure(name).elements:
            assert found.targets <= RESOURCE_TYPES
            for type in found.spellings.values():
                assert type in PRIMITIVES or is_structure(type), (name, found.name, type)
                if type not in PRIMITIVES:
                    due |= {type} - seen
    assert len(seen) > 600


def test_mandatory_elements() -> None:
    assert mandatory_elements("Patient") == frozenset()
    assert mandatory_elements("Observation") == {"status", "code"}
    assert mandatory_elements("MedicationRequest") == {
        *("status", "intent", "subject", "medicationCodeableConcept", "medicationReference"),
    }
    assert mandatory_elements("Binary") == {"contentType"}


def test_summary_elements() -> None:
    summary = summary_elements("Observation")
    assert {"id", "meta", "status", "code", "subject", "valueQuantity", "effectiveDateTime", "issued"} <= summary
    assert not {"text", "category", "note", "performer_", "interpretation", "referenceRange"} & summary
    for type in RESOURCE_TYPES:
        assert mandatory_elements(type) <= summary_elements(type) <= element_names(type)


def test_choice_elements_list_all_json_names() -> None:
    assert {"valueQuantity", "valueDateTime", "status", "id", "contained"} <= element_names("Observation")
    assert not {"value", "value[x]", "valueAddress", "resourceType"} & element_names("Observation")
    assert set(find_element("Patient", "deceased").spellings) == {"deceasedBoolean", "deceasedDateTime"}
    assert len(find_element("Extension", "value").spellings) == 50
    assert find_element("Range", "low").spellings == {"low": "SimpleQuantity"}
    assert "doseQuantity" in find_element("Dosage.doseAndRate", "dose").spellings


def test_cardinality_reference_targets_and_backbone_elements() -> None:
    assert find_element("Patient", "name").many
    assert not find_element("Patient", "birthDate").many
    assert find_element("Patient", "generalPractitioner").targets == {
        "Organization",
        "Practitioner",
        "PractitionerRole",
    }
    assert find_element("Observation", "focus").targets == frozenset()
    assert find_element("Questionnaire.item", "item").spellings == {"item": "Questionnaire.item"}
    assert find_element("Patient", "id").spellings == {"id": "id"}
    assert find_element("Patient", "id").bare
    assert find_element("HumanName", "id").spellings == {"id": "string"}
    assert not find_element("Patient", "birthDate").bare


def test_codes_of_required_bindings() -> None:
    assert get_value_set("administrative-gender") == {
        "http://hl7.org/fhir/administrative-gender": ("male", "female", "other", "unknown")
    }
    assert find_element("Patient", "gender").codes == "administrative-gender"
    assert find_element("Patient", "language").codes is None, "preferred, not required"
    assert find_element("Attachment", "contentType").codes is None, "media types are somebody else's to list"
    assert find_element("Condition", "clinicalStatus").codes == "condition-clinical"


@pytest.mark.parametrize("question", [element_names, mandatory_elements, summary_elements])
def test_unknown_type_has_no_elements(question: type) -> None:
    assert question("Nothing") == frozenset()
    assert question("HumanName") == frozenset()


def test_table_is_loaded_on_first_use() -> None:
    code = (
        "from clerkship.formats.fhir import definitions as d\n"
        "print(len(d.RESOURCE_TYPES), d._load_table.cache_info().misses)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "146 0"
