"""`$everything` and `$validate`."""

from typing import Any

import pytest

from clerkship.formats.fhir.resource import Resource
from tests.simulators.fhir.server import ADA, BASE, BEN, CHART, MAY, POTASSIUM, Server, bundle, entry, remove_elements
from tests.simulators.fhir.test_history import follow_pages

MED: Resource = {"resourceType": "Medication", "id": "kcl", "code": {"text": "potassium chloride"}}
ORDER: Resource = {
    "resourceType": "MedicationRequest",
    "id": "m1",
    "status": "active",
    "intent": "order",
    "medicationReference": {"reference": "Medication/kcl"},
    "subject": {"reference": "Patient/ada"},
    "authoredOn": "2026-02-21",
}
BENS: Resource = {**POTASSIUM, "id": "k2", "subject": {"reference": "Patient/ben"}}


def build_server(**config: Any) -> Server:
    """Return a server with the records of two patients."""
    return Server(*CHART, MED, ORDER, BENS, **config)


def test_everything_returns_compartment_and_referenced_resources() -> None:
    answer = build_server().get("Patient/ada/$everything")
    modes = {entry["fullUrl"].removeprefix(f"{BASE}/"): entry["search"]["mode"] for entry in answer.entries}
    assert modes == {
        "Patient/ada": "match",
        "MedicationRequest/m1": "match",
        "Observation/k1": "match",
        "Medication/kcl": "include",
        "Practitioner/may": "include",
    }
    assert answer.entries[0]["resource"] == ADA
    assert answer.json["total"] == 5


def test_everything_filters_by_type_period_and_since_with_paging() -> None:
    server = build_server()
    whole = server.get("Patient/ada/$everything").keys
    pages = follow_pages(server, server.get("Patient/ada/$everything?_count=2"))
    assert [len(page.entries) for page in pages] == [2, 2, 1]
    assert [key for page in pages for key in page.keys] == whole
    assert server.get("Patient/ada/$everything?_type=Observation").keys == ["Observation/k1"]
    assert "Observation/k1" not in server.get("Patient/ada/$everything?start=2026-02-21").keys
    assert "MedicationRequest/m1" not in server.get("Patient/ada/$everything?end=2026-02-20").keys
    assert server.get("Patient/ada/$everything?_since=2026-03-01").keys == []
    server.send("PUT", "Observation/k1", POTASSIUM)
    assert server.get("Patient/ada/$everything?_since=2026-03-01").keys == ["Observation/k1"]


def test_everything_is_logged_with_returned_resources() -> None:
    server = build_server()
    server.get("Patient/ada/$everything?_type=Observation,Practitioner")
    said = server.events()[-1].payload.model_dump()
    assert said["operation"] == "$everything"
    assert said["within"] == "Patient/ada"
    assert (said["found"], said["included"]) == (("Observation/k1",), ("Practitioner/may",))


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("Patient/zoe/$everything", 404),
        ("Patient/$everything", 404),
        ("Practitioner/may/$everything", 404),
        ("Patient/ada/$everything?_type=Nonsense", 404),
        ("Patient/ada/$everything?start=soon", 400),
        ("Patient/ada/$everything?colour=red", 400),
        ("Patient/ada/$everything?_cursor=x", 400),
        ("Patient/ada/$everything?_count=x", 400),
    ],
)
def test_invalid_everything_requests_are_rejected(target: str, status: int) -> None:
    server = build_server()
    with server.assert_unchanged():
        answer = server.get(target)
        assert answer.status == status
        if target in ("Patient/$everything", "Practitioner/may/$everything"):
            assert answer.codes == ["not-supported"]


def build_parameters(resource: Any, **more: str) -> Resource:
    """Return a Parameters resource."""
    listed: list[dict[str, Any]] = [{"name": "resource", "resource": resource}] if resource is not None else []
    listed += [{"name": name, "valueCode" if name == "mode" else "valueUri": value} for name, value in more.items()]
    return {"resourceType": "Parameters", "parameter": listed}


@pytest.mark.parametrize(
    ("target", "body", "errors"),
    [
        ("Patient/$validate", ADA, 0),
        ("Patient/$validate", {**ADA, "birthDate": "soon", "gender": "x"}, 2),
        ("Patient/$validate", build_parameters(BEN), 0),
        ("Patient/$validate", build_parameters({**BEN, "gender": "x"}, mode="create"), 1),
        ("Patient/$validate", MAY, 1),
        ("Patient/$validate?mode=delete", None, 0),
        ("Patient/ada/$validate", ADA, 0),
        ("Patient/ada/$validate", BEN, 1),
        ("Patient/ada/$validate?mode=update", ADA, 0),
        ("Patient/ada/$validate?mode=create", ADA, 1),
        ("Patient/ada/$validate?mode=delete", None, 0),
        ("Patient/zoe/$validate?mode=delete", None, 1),
        ("Observation/$validate", {**POTASSIUM, "subject": {"reference": "Patient/zoe"}}, 1),
    ],
)
def test_validate_reports_issues_and_stores_nothing(target: str, body: Any, errors: int) -> None:
    server = Server()
    before = server.state.dump()
    answer = server.send("POST", target, body)
    assert answer.status == 200, answer.body
    assert [issue["severity"] for issue in answer.json["issue"]].count("error") == errors
    assert server.state.dump() == before
    assert server.events()[-1].payload.model_dump()["errors"] == errors


def test_validate_warns_that_profiles_are_not_checked() -> None:
    answer = Server().send("POST", "Patient/$validate", build_parameters(ADA, profile="http://example.org/p"))
    assert answer.codes == ["not-supported"]
    claiming = {**ADA, "meta": {"profile": ["http://example.org/p"]}}
    assert Server().send("POST", "Patient/$validate", claiming).codes == ["not-supported"]


@pytest.mark.parametrize(
    ("target", "body", "status"),
    [
        ("Patient/$validate", None, 400),
        ("Patient/$validate", build_parameters(None), 400),
        ("Patient/$validate", b"{", 400),
        ("Patient/$validate?mode=dream", ADA, 400),
        ("Patents/$validate", ADA, 404),
        ("Patient/$frobnicate", ADA, 405),
    ],
)
def test_invalid_validate_requests_are_rejected(target: str, body: Any, status: int) -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.send("POST", target, body).status == status


def test_validate_works_in_batch() -> None:
    server = Server()
    asked = {
        "resourceType": "Bundle",
        "type": "batch",
        "entry": [{"request": {"method": "POST", "url": "Patient/$validate"}, "resource": remove_elements(ADA, "id")}],
    }
    assert server.send("POST", "", asked).entries[0]["resource"]["issue"][0]["severity"] == "information"


def test_everything_by_post_reads_parameters_resource() -> None:
    server = build_server()
    whole = server.get("Patient/ada/$everything").keys
    assert server.send("POST", "Patient/ada/$everything").keys == whole
    assert server.send("POST", "Patient/ada/$everything", {"resourceType": "Parameters"}).keys == whole
    asked = [{"name": "_type", "valueCode": "MedicationRequest"}, {"name": "_count", "valueInteger": 1}]
    parameters = {"resourceType": "Parameters", "parameter": asked}
    answer = server.send("POST", "Patient/ada/$everything", parameters)
    assert answer.keys == ["MedicationRequest/m1"]
    assert answer.json["link"][0]["url"] == f"{BASE}/Patient/ada/$everything?_type=MedicationRequest&_count=1"
    batch = server.send("POST", "", bundle("batch", entry("POST", "Patient/ada/$everything", parameters)))
    assert batch.entries[0]["resource"]["total"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {"resourceType": "Patient"},
        [],
        {"resourceType": "Parameters", "parameter": 5},
        {"resourceType": "Parameters", "parameter": [5]},
        {"resourceType": "Parameters", "parameter": [{"name": "start", "valuePeriod": {}}]},
        {"resourceType": "Parameters", "parameter": [{"name": "start"}]},
        {"resourceType": "Parameters", "parameter": [{"name": "colour", "valueString": "red"}]},
    ],
)
def test_invalid_everything_by_post_is_rejected(body: Any) -> None:
    server = build_server()
    with server.assert_unchanged():
        assert server.send("POST", "Patient/ada/$everything", body).status == 400
