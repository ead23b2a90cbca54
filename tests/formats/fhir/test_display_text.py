"""FHIR datatypes as text, and derived fields for templates."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clerkship.formats.fhir.display_text import format_title, to_text
from clerkship.formats.fhir.exact import loads
from clerkship.formats.fhir.resource_view import DERIVED_FIELDS, ResourceView

NOW = datetime(2026, 3, 2, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"family": "Lopez", "given": ["Maria", "Elena"], "prefix": ["Dr."]}, "Dr. Maria Elena Lopez"),
        ({"text": "Lopez, Maria"}, "Lopez, Maria"),
        ([{"use": "old", "family": "A"}, {"use": "usual", "family": "B"}, {"use": "official", "family": "C"}], "C"),
        (
            {"line": ["1 Main", "Apt 2"], "city": "Lowell", "state": "MA", "postalCode": "01850"},
            "1 Main, Apt 2, Lowell, MA 01850",
        ),
        ([{"use": "old", "city": "A"}, {"use": "home", "city": "B"}], "B"),
        ({"coding": [{"code": "x"}, {"code": "y", "display": "Why"}], "text": "Said"}, "Said"),
        ({"coding": [{"system": "s", "code": "x", "display": "Ex"}]}, "Ex"),
        ({"system": "s", "code": "x"}, "x"),
        ({"value": 71.5, "unit": "kg", "code": "kg"}, "71.5 kg"),
        ({"value": 5, "comparator": "<", "code": "mg/dL"}, "less than 5 mg/dL"),
        ({"value": 40, "unit": "%"}, "40%"),
        ({"value": 12.5, "currency": "USD"}, "12.5 USD"),
        ({"low": {"value": 1}, "high": {"value": 2, "unit": "g"}}, "1 to 2 g"),
        ({"numerator": {"value": 1}, "denominator": {"value": 8}}, "1 / 8"),
        ({"start": "2024-01-01"}, "since 2024-01-01"),
        ({"start": "2024", "end": "2025"}, "2024 to 2025"),
        ({"system": "phone", "value": "555"}, "555"),
        ([{"system": "phone", "value": "555"}, {"system": "email", "value": "a@b"}], "555, a@b"),
        ({"system": "urn:x", "value": "M1"}, "M1"),
        ({"reference": "Patient/1", "display": "Maria"}, "Maria"),
        ({"reference": "Patient/1"}, "Patient/1"),
        ({"text": "Take one", "timing": {"repeat": {"frequency": 1}}}, "Take one"),
        ({"contentType": "text/plain", "title": "Note"}, "Note"),
        (True, "true"),
        (None, ""),
        (["a", "b"], "a, b"),
        ({"odd": 1}, '{"odd":1}'),
        ({}, "{}"),
    ],
)
def test_value_is_formatted_as_text(value: Any, expected: str) -> None:
    assert to_text(value) == expected


def test_decimal_text_keeps_its_digits() -> None:
    assert to_text(loads(b'{"value":1.50,"unit":"mg"}')) == "1.50 mg"


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (
            {"resourceType": "Patient", "id": "p", "name": [{"family": "Kim"}], "birthDate": "1990"},
            "Patient/p Kim, born 1990",
        ),
        ({"resourceType": "Patient", "id": "p", "birthDate": "1990"}, "Patient/p, born 1990"),
        ({"resourceType": "Patient", "id": "p"}, "Patient/p"),
        ({"resourceType": "Organization", "id": "o", "name": "Riverside"}, "Organization/o Riverside"),
        (
            {
                "resourceType": "Observation",
                "id": "w",
                "status": "final",
                "code": {"text": "Weight"},
                "valueQuantity": {"value": 70, "unit": "kg"},
                "effectiveDateTime": "2026-01-01",
            },
            "Observation/w Weight, 70 kg, final, 2026-01-01",
        ),
    ],
)
def test_title_of_a_resource(resource: Any, expected: str) -> None:
    assert format_title(resource) == expected


def build_patient_view(**more: Any) -> ResourceView:
    """Return the view of a patient."""
    return ResourceView({"resourceType": "Patient", "id": "p", **more}, NOW)


@pytest.mark.parametrize(
    ("born", "age"), [("1965-03-02", 61), ("1965-03-03", 60), ("2026-03-02", 0), ("1965", None), ("soon", None)]
)
def test_an_age_is_in_whole_years_on_the_day(born: str, age: int | None) -> None:
    assert build_patient_view(birthDate=born).get("age") == age


def test_mrn_is_the_identifier_of_type_mr() -> None:
    typed = {"type": {"coding": [{"code": "MR"}]}, "value": "1"}
    assert build_patient_view(identifier=[{"system": "urn:ssn", "value": "0"}, typed]).get("mrn") == "1"
    assert build_patient_view(identifier=[{"system": "http://x/MRN", "value": "2"}]).get("mrn") == "2"
    assert build_patient_view(identifier=[{"value": "3", "use": "usual"}]).get("mrn") == "3"
    assert build_patient_view(identifier=[{"system": "urn:ssn", "value": "0"}]).get("mrn") is None


def test_resource_view_as_data_is_the_resource_only() -> None:
    own = {"name": [{"family": "Kim"}], "valueQuantity": {"value": 1}}
    found = build_patient_view(**own)
    assert dict(found) == {"resourceType": "Patient", "id": "p", **own}
    assert found.get("value") == {"value": 1}
    assert found.get("reference") == "Patient/p"
    assert found.get("nothing", 7) == 7
    assert "full_name" in found.names()
    assert "mrn" not in found.names()


@pytest.mark.parametrize("name", DERIVED_FIELDS)
def test_derived_fields_tolerate_malformed_resources(name: str) -> None:
    odd: list[Any] = [7, "x", [], [7], [{}], {}, None, [{"value": 7, "type": 7}], [{"coding": "x"}]]
    for value in odd:
        fields = dict.fromkeys(("name", "identifier", "telecom", "address", "birthDate"), value)
        build_patient_view(**fields).get(name)
