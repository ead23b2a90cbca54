"""fhirclient (SMART) drives a FHIR server over HTTP, through its own strict models."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from fhirclient.models.bundle import Bundle
from fhirclient.models.humanname import HumanName
from fhirclient.models.observation import Observation
from fhirclient.models.patient import Patient
from fhirclient.server import FHIRNotFoundException, FHIRServer, FHIRUnauthorizedException

from tests.clients.conftest import MRN, Ehr, patient
from tests.clients.test_fhirpy import ACTIVATE, TOGETHER


@pytest.fixture
def server(ehr: Ehr) -> Iterator[Any]:
    """Return a server as a backend service uses it: with a token, without a user."""
    opened = FHIRServer(None, base_uri=ehr.url)
    opened.session.headers["Authorization"] = f"Bearer {ehr.token}"
    yield opened
    opened.session.close()


def test_fhirclient_reads_capability_statement(server: Any) -> None:
    assert server.prepare()
    assert server.capabilityStatement.fhirVersion == "4.0.1"
    offered = {resource.type for resource in server.capabilityStatement.rest[0].resource}
    assert {"Patient", "Observation", "Appointment"} <= offered


def test_fhirclient_creates_reads_updates_and_deletes(ehr: Ehr, server: Any) -> None:
    read = Patient.read("p1", server)
    assert read.as_json() == patient(1)
    made = Patient()
    made.name = [HumanName({"family": "Hébert", "given": ["Ana"]})]
    answer = made.create(server)
    assert answer["meta"]["versionId"] == "1"
    again = Patient.read(answer["id"], server)
    again.gender = "female"
    assert again.update(server)["meta"]["versionId"] == "2"
    assert again.delete(server) is None
    with pytest.raises(requests.HTTPError, match="410"):
        Patient.read(answer["id"], server)


def test_fhirclient_searches_and_pages(server: Any) -> None:
    search = Observation.where({"code": "http://loinc.org|2823-3", "_count": "10"})
    assert [len(bundle.entry) for bundle in search.perform_iter(server)] == [10, 10, 5]
    found = {found.id for found in search.perform_resources_iter(server)}
    assert found == {f"o{number}" for number in range(25)}
    [known] = Patient.where({"identifier": f"{MRN}|MRN3"}).perform_resources_iter(server)
    assert (known.id, known.birthDate.isostring) == ("p3", "1943-03-15")
    window = {"date": {"$and": ["ge2026-02-03", "lt2026-02-06"]}}
    assert {found.id for found in Observation.where(window).perform_resources_iter(server)} == {"o2", "o3", "o4"}


def test_fhirclient_patches_and_updates_with_if_match(ehr: Ehr, server: Any) -> None:
    """fhirclient has no methods for either; its session has."""
    url, media = f"{ehr.url}/Patient/p1", {"Content-Type": "application/json-patch+json"}
    patched = server.session.patch(url, data=json.dumps(ACTIVATE), headers=media)
    assert (patched.status_code, patched.headers["ETag"], patched.json()["active"]) == (200, 'W/"2"', False)
    changed = {**patched.json(), "gender": "female"}
    stale = server.session.put(url, json=changed, headers={"If-Match": 'W/"1"'})
    assert (stale.status_code, stale.json()["resourceType"]) == (412, "OperationOutcome")
    assert server.session.put(url, json=changed, headers={"If-Match": 'W/"2"'}).headers["ETag"] == 'W/"3"'


def test_fhirclient_transaction_is_atomic(ehr: Ehr, server: Any) -> None:
    sent = Bundle(TOGETHER)
    answer = Bundle(server.post_json("", sent.as_json()).json())
    assert [entry.response.status[:3] for entry in answer.entry] == ["201", "201"]
    [weight] = Observation.where({"patient:Patient.family": "Together"}).perform_resources_iter(server)
    assert weight.subject.reference == "/".join(answer.entry[0].response.location.split("/")[-4:-2])


def test_fhirclient_errors_are_operation_outcomes(ehr: Ehr, server: Any) -> None:
    with pytest.raises(FHIRNotFoundException) as missing:
        Patient.read("nobody", server)
    assert missing.value.response.json()["issue"][0]["code"] == "not-found"
    with pytest.raises(requests.HTTPError) as wrong:
        server.post_json("Patient", {"resourceType": "Patient", "birthDate": "1970-02-30"})
    assert wrong.value.response is not None
    assert wrong.value.response.json()["resourceType"] == "OperationOutcome"
    stranger = FHIRServer(None, base_uri=ehr.url)
    with pytest.raises(FHIRUnauthorizedException) as unknown:
        Patient.read("p1", stranger)
    stranger.session.close()
    assert unknown.value.response.json()["resourceType"] == "OperationOutcome"
    assert unknown.value.response.headers["Content-Type"].startswith("application/fhir+json")
    assert unknown.value.response.headers["WWW-Authenticate"].startswith("Bearer")
