"""What searches find."""

from clerkship.fhir.chart import Chart, Untouched
from clerkship.fhir.resource import Resource, render
from clerkship.fhir.search import find_keys

ANN: Resource = {
    "resourceType": "Patient",
    "id": "ann",
    "name": [{"family": "Müller", "given": ["Ann"]}],
    "birthDate": "1965-03-15",
    "gender": "female",
    "identifier": [{"system": "urn:mrn", "value": "A1"}],
}
SUGAR: Resource = {
    "resourceType": "Observation",
    "id": "sugar",
    "status": "final",
    "subject": {"reference": "Patient/ann"},
    "code": {"coding": [{"system": "http://loinc.org", "code": "2339-0"}]},
    "effectiveDateTime": "2026-01-14T10:00:00Z",
}


def test_the_sorts_of_parameters_that_most_searches_use() -> None:
    view = Untouched(Chart(map(render, [ANN, SUGAR])))
    assert find_keys(view, "Patient", [("family", "mul")]) == ["Patient/ann"]
    assert find_keys(view, "Patient", [("identifier", "urn:mrn|A1"), ("birthdate", "lt1970")]) == ["Patient/ann"]
    assert find_keys(view, "Observation", [("patient.gender", "female"), ("date", "2026-01-14")]) == [
        "Observation/sugar"
    ]
    assert find_keys(view, "Patient", [("_has:Observation:patient:code", "2339-0")]) == ["Patient/ann"]
    assert find_keys(view, "Patient", [("family", "ller")]) == []
