"""Checks of paths and expectations against the definitions."""

from typing import Any

import pytest

from clerkship.formats.fhir.definitions import RESOURCE_TYPES, get_structure
from clerkship.formats.fhir.fhirpath import CHOICE_ELEMENTS, CHOICE_TYPES
from clerkship.formats.fhir.path_check import (
    find_expectation_error,
    find_path_error,
    find_path_error_in_all_types,
    find_token_error,
)


@pytest.mark.parametrize(
    ("type", "path"),
    [
        ("Observation", "status"),
        ("Observation", "Observation.value.value"),
        ("Observation", "valueQuantity.value"),
        ("Observation", "component[1].valueString"),
        ("Patient", "name[0].given[1]"),
        ("Patient", "name.0.given"),
        ("Patient", "resourceType"),
        ("Patient", "meta.tag.code"),
        ("Patient", "_birthDate.extension.url"),
        ("Patient", "extension.value.coding.code"),
        ("Patient", "contained.anything.at.all"),
        ("Bundle", "entry.resource.name"),
        ("Questionnaire", "item.item.item.linkId"),
        ("Claim", "item.detail.subDetail.category"),
        ("Patient", "name.where(use = 'x').family"),
        ("Patient", "name.all($this.given.exists())"),
        ("Patient", "name.select(given.first() & family)"),
        ("Patient", "birthDate.extension.where(url = 'x').value"),
        ("Patient", "extension('x').value.ofType(Coding).code"),
        ("Patient", "descendants().whatever"),
        ("Patient", "%resource.name"),
        ("Observation", "(value as Quantity).value > 3"),
        ("Observation", "value.ofType(Quantity).value"),
        ("Observation", "effective > @2020-01-01"),
        ("Observation", "value > 3 'mg'"),
        ("Patient", "name.sort(-family).given"),
        ("Bundle", "entry.resource.anything.first()"),
    ],
)
def test_path_that_exists_in_r4_has_no_error(type: str, path: str) -> None:
    assert find_path_error(type, path) == ""


@pytest.mark.parametrize(
    ("type", "path", "message"),
    [
        ("Observation", "statuss", "there is no element `statuss`; did you mean `status`?"),
        ("Observation", "code.coding.cod", "no element `cod`; did you mean `code`?"),
        ("Observation", "valueQuantity.valeu", "did you mean `value`?"),
        ("Observation", "valueMoney", "no element `valueMoney`"),
        ("Patient", "name.given.x", "after a value that has no elements"),
        ("Patient", "Observation.code", "is a path in a Observation, not in a Patient"),
        ("Patient", "birthDate.extension", "after a value that has no elements"),  # a plain path does not find it
        ("Patient", "nmae.where(use = 'official')", "did you mean `name`?"),
        ("Patient", "name.where(usee = 'official').given", "did you mean `use`?"),
        ("Patient", "name.where(use = 'official').gven", "did you mean `given`?"),
        ("Patient", "name.all($this.gven.exists())", "did you mean `given`?"),
        ("Patient", "name.given.first() | nam", "did you mean `name`?"),
        ("Patient", "Observation.code.exists()", "is a path in a Observation, not in a Patient"),
        ("Observation", "(value as Quantity).valu", "did you mean `value`?"),
        ("Observation", "code.coding.exists(cod = 'x')", "did you mean `code`?"),
        ("Observation", "value > 3", "compare its `.value`"),
        ("Observation", "valueQuantity.exists()", "`valueQuantity` is not an element in FHIRPath; write `value`"),
        ("Bundle", "entry.resource.ofType(Patient).nam", "did you mean `name`?"),
    ],
)
def test_unknown_element_is_reported_with_a_suggestion(type: str, path: str, message: str) -> None:
    assert message in find_path_error(type, path)


def test_path_without_a_type_must_exist_in_some_type() -> None:
    assert (
        find_path_error_in_all_types("value.value") == find_path_error_in_all_types("name.where(use = 'x').given") == ""
    )
    assert "no resource type has such an element" in find_path_error_in_all_types("nmae.given")


@pytest.mark.parametrize(
    ("type", "path", "expected", "message"),
    [
        ("Patient", "gender", "female", ""),
        ("Patient", "gender", "femalle", "did you mean `female`?"),
        ("ServiceRequest", "status", {"not": "onhold"}, "did you mean `on-hold`?"),
        ("Observation", "status", {"in": ["final", "amnded"]}, "did you mean `amended`?"),
        ("Observation", "code.coding.code", "whatever", ""),
        ("Patient", "birthDate", {"lt": 1950}, "a date is compared with the number 1950"),
        ("Patient", "birthDate", {"lt": "1950-01-01"}, ""),
        ("Patient", "birthDate", 1950, "1950 can never match: the value is text"),
        ("Observation", "valueQuantity.value", {"lt": "2020-01-01"}, "a number is compared with the date"),
        ("Observation", "valueQuantity.value", "5", "'5' can never match: the value is a number"),
        ("Patient", "active", "true", "the value is true or false"),
        ("Patient", "active", None, ""),
        ("Patient", "name.given", ["Ana", "Maria"], ""),
        ("Patient", "name.where(use = 'official').exists()", True, ""),
        ("Patient", "nmae", "x", ""),  # reported as a path error
    ],
)
def test_expectation_that_can_never_match_is_reported(type: str, path: str, expected: Any, message: str) -> None:
    found = find_expectation_error(type, path, expected)
    assert message in found if message else found == ""


@pytest.mark.parametrize(
    ("type", "parameter", "text", "message"),
    [
        ("MedicationRequest", "status", "actve", "did you mean `active`?"),
        ("MedicationRequest", "status", "active,stopped", ""),
        ("Patient", "gender", "http://hl7.org/fhir/administrative-gender|femalle", "did you mean `female`?"),
        ("Appointment", "status:not", "canceled", "did you mean `cancelled`?"),
        ("Observation", "code", "whatever", ""),
        ("Patient", "active", "true", ""),
        ("Patient", "gender:missing", "true", ""),
    ],
)
def test_token_outside_the_value_set_is_reported(type: str, parameter: str, text: str, message: str) -> None:
    found = find_token_error(type, parameter, text)
    assert message in found if message else found == ""


def test_choice_elements_match_r4() -> None:
    seen: set[str] = set()
    waiting = {*RESOURCE_TYPES, "Extension", "ElementDefinition", "Timing", "Dosage", "DataRequirement", "UsageContext"}
    names: set[str] = set()
    tails: set[str] = set()
    while waiting:
        type = waiting.pop()
        seen.add(type)
        for element in get_structure(type).elements:
            waiting |= {kind for kind in element.spellings.values() if "." in kind and kind not in seen}
            if element.choice:
                names.add(element.name)
                tails |= {spelt.removeprefix(element.name) for spelt in element.spellings}
    assert names <= CHOICE_ELEMENTS
    assert tails <= set(CHOICE_TYPES)
    assert CHOICE_ELEMENTS - names <= {"age", "allowed", "author"}, "of datatypes that are not walked here"
