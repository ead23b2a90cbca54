"""Access tokens with SMART scopes: what they read, and what they must not reveal."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.sandbox.authentication.scope import BadScope
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.fhir import SPEC

JSON = {"content-type": "application/fhir+json"}


def entry(resource: dict[str, Any]) -> dict[str, Any]:
    url = f"{resource['resourceType']}/{resource['id']}"
    return {"resource": resource, "request": {"method": "PUT", "url": url}}


def build_observation(id: str, patient: str) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": id,
        "status": "final",
        "code": {"text": "weight"},
        "subject": {"reference": f"Patient/{patient}"},
        "performer": [{"reference": "Practitioner/doc"}],
    }


def build_condition(id: str, patient: str) -> dict[str, Any]:
    subject = {"reference": f"Patient/{patient}"}
    return {"resourceType": "Condition", "id": id, "subject": subject, "code": {"text": "secret"}}


def build_task(id: str, patient: str) -> dict[str, Any]:
    reference = {"reference": f"Patient/{patient}"}
    return {"resourceType": "Task", "id": id, "status": "requested", "intent": "order", "for": reference}


RESOURCES: list[dict[str, Any]] = [
    {"resourceType": "Patient", "id": "own"},
    {"resourceType": "Patient", "id": "other", "link": [{"other": {"reference": "Patient/own"}, "type": "seealso"}]},
    {"resourceType": "Practitioner", "id": "doc"},
    build_observation("mine", "own"),
    build_observation("theirs", "other"),
    build_observation("moved", "other"),
    build_condition("c-own", "own"),
    build_condition("c-other", "other"),
    build_task("t-own", "own"),
    build_task("t-other", "other"),
    {"resourceType": "Device", "id": "d-other", "patient": {"reference": "Patient/other"}},
    {"resourceType": "Binary", "id": "scan", "contentType": "text/plain", "data": "c2VjcmV0"},
    {
        "resourceType": "Group",
        "id": "all",
        "type": "person",
        "actual": True,
        "member": [{"entity": {"reference": "Patient/own"}}, {"entity": {"reference": "Patient/other"}}],
    },
]


class Client:
    """A client of a chart with two patients."""

    def __init__(self, rig: SimulatorRig) -> None:
        self.rig = rig
        bundle = {"resourceType": "Bundle", "type": "transaction", "entry": [entry(each) for each in RESOURCES]}
        assert rig.send(Request("POST", "/", {}, JSON, orjson.dumps(bundle))).status == 200
        moved = orjson.dumps(build_observation("moved", "own"))
        assert rig.send(Request("PUT", "/Observation/moved", {}, JSON, moved)).status == 200

    @property
    def credentials(self) -> Any:
        return self.rig.playground.sandboxes[self.rig.name].credentials

    def grant(self, *scopes: str, patient: str = "own") -> str:
        token: str = self.credentials.grant(scopes, patient, timedelta(hours=1))[0]
        return token

    def send(self, token: str, path: str, method: str = "GET", data: Any = None, **query: str) -> Reply:
        headers = {**JSON, "authorization": f"Bearer {token}"}
        body = b"" if data is None else orjson.dumps(data)
        return self.rig.send(Request(method, path, query, headers, body), token="")

    def list_keys(self, token: str, path: str, **query: str) -> set[str]:
        reply = self.send(token, path, **query)
        assert reply.status == 200, reply.body
        resources = [each["resource"] for each in orjson.loads(reply.body).get("entry", ())]
        return {f"{each['resourceType']}/{each['id']}" for each in resources}


@pytest.fixture
def client() -> Iterator[Client]:
    with SimulatorRig(SPEC) as rig:
        yield Client(rig)


@pytest.mark.parametrize("scope", ["patient/Observation.read", "patient/Observation.rs", "patient/*.read"])
def test_a_token_reads_and_searches_the_record_of_its_patient(client: Client, scope: str) -> None:
    token = client.grant(scope)
    assert client.send(token, "/Observation/mine").status == 200
    assert client.list_keys(token, "/Observation") == {"Observation/mine", "Observation/moved"}
    assert client.list_keys(token, "/Patient/own/Observation") == {"Observation/mine", "Observation/moved"}


def test_a_search_counts_only_the_record_of_the_patient(client: Client) -> None:
    reply = client.send(client.grant("patient/*.read"), "/Observation", _summary="count")
    assert orjson.loads(reply.body)["total"] == 2


@pytest.mark.parametrize(
    "path",
    [
        "/Observation/theirs",
        "/Observation/missing",
        "/Patient/other",
        "/Group/all",
        "/Task/t-other",
        "/Device/d-other",
        "/Binary/scan",
        "/Binary",
        "/Observation/moved/_history/1",
        "/Observation/moved/_history",
        "/Observation/_history",
        "/_history",
        "/Patient/other/Observation",
        "/Patient/other/$everything",
        "/Practitioner/doc/Observation",
        "/Group",
        "/",
    ],
)
def test_other_patients_and_histories_are_refused_as_insufficient_scope(client: Client, path: str) -> None:
    reply = client.send(client.grant("patient/*.read"), path)
    assert reply.status == 403
    assert orjson.loads(reply.body)["resourceType"] == "OperationOutcome"
    assert 'error="insufficient_scope"' in reply.headers["WWW-Authenticate"]


def test_tasks_and_devices_of_other_patients_are_not_found(client: Client) -> None:
    token = client.grant("patient/*.read")
    assert client.send(token, "/Task/t-own").status == 200
    assert client.list_keys(token, "/Task") == {"Task/t-own"}
    assert client.list_keys(token, "/Device") == set()
    assert client.list_keys(token, "/Practitioner") == {"Practitioner/doc"}


def test_a_linked_patient_is_not_part_of_the_record(client: Client) -> None:
    token = client.grant("patient/*.read")
    assert client.list_keys(token, "/Patient") == {"Patient/own"}
    assert "Patient/other" not in client.list_keys(token, "/Patient/own/$everything")


def test_includes_leave_out_what_the_token_does_not_cover(client: Client) -> None:
    token = client.grant("patient/Observation.read")
    keys = client.list_keys(token, "/Observation", _include="*")
    assert keys == {"Observation/mine", "Observation/moved"}
    wide = client.grant("patient/Practitioner.read", "user/Patient.read")
    found = client.list_keys(wide, "/Practitioner", _revinclude="Observation:performer")
    assert found == {"Practitioner/doc"}


@pytest.mark.parametrize(
    "query",
    [{"subject:Patient.name": "x"}, {"performer:Practitioner.name": "x"}, {"_has:Provenance:target:agent": "x"}],
)
def test_chained_parameters_are_refused(client: Client, query: dict[str, str]) -> None:
    assert client.send(client.grant("patient/*.read"), "/Observation", **query).status == 403


def test_everything_returns_only_the_types_of_the_scopes(client: Client) -> None:
    token = client.grant("patient/Condition.read", "patient/Patient.read")
    assert client.list_keys(token, "/Patient/own/$everything") == {"Patient/own", "Condition/c-own"}


def test_a_type_without_a_scope_is_refused(client: Client) -> None:
    token = client.grant("patient/Observation.read")
    assert client.send(token, "/Condition/c-own").status == 403
    assert client.send(token, "/Condition").status == 403
    assert client.send(token, "/", _type="Observation,Condition").status == 403


def test_a_search_scope_does_not_allow_reading(client: Client) -> None:
    assert client.send(client.grant("patient/Observation.s"), "/Observation/mine").status == 403


def test_a_user_scope_reads_all_patients(client: Client) -> None:
    token = client.grant("user/Observation.read", patient="")
    assert client.send(token, "/Observation/theirs").status == 200
    assert client.send(token, "/Condition/c-own").status == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/Observation"),
        ("PUT", "/Observation/mine"),
        ("DELETE", "/Observation/mine"),
        ("POST", "/Observation/$validate"),
    ],
)
def test_writes_and_validation_are_refused(client: Client, method: str, path: str) -> None:
    reply = client.send(client.grant("user/*.read", patient=""), path, method, build_observation("mine", "own"))
    assert reply.status == 403


def test_batch_entries_are_checked_one_by_one(client: Client) -> None:
    urls = ["Observation/mine", "Observation/theirs", "Observation?subject:Patient.name=x", "_history"]
    entries: list[dict[str, Any]] = [{"request": {"method": "GET", "url": url}} for url in urls]
    entries.append({"request": {"method": "DELETE", "url": "Observation?subject=Patient/other"}})
    batch = {"resourceType": "Bundle", "type": "batch", "entry": entries}
    reply = client.send(client.grant("patient/*.read"), "/", "POST", batch)
    statuses = [each["response"]["status"][:3] for each in orjson.loads(reply.body)["entry"]]
    assert statuses == ["200", "403", "403", "403", "403"]
    assert client.send(client.grant("patient/*.read"), "/", "POST", batch | {"type": "transaction"}).status == 403


def test_an_expired_token_is_refused_as_invalid(client: Client) -> None:
    token = client.grant("patient/*.read")
    now = client.credentials.wall_now()
    client.credentials.wall_now = lambda: now + timedelta(hours=2)
    reply = client.send(token, "/Observation")
    assert reply.status == 401
    assert 'error="invalid_token"' in reply.headers["WWW-Authenticate"]
    assert "expired" in reply.headers["WWW-Authenticate"]


def test_a_token_of_another_run_is_refused(client: Client) -> None:
    with SimulatorRig(SPEC) as other:
        foreign = Client(other).grant("user/*.read", patient="")
    assert client.send(foreign, "/Observation").status == 401


def test_a_request_with_a_token_is_logged_with_its_scopes_and_without_the_token(client: Client) -> None:
    token = client.grant("patient/Observation.read")
    client.send(token, "/Observation/mine")
    client.send(token, "/Condition/c-own")
    read, refused = client.rig.playground.log.events[-2:]
    assert (read.actor, refused.actor) == ("agent", "agent")
    assert read.request is not None
    assert refused.request is not None
    assert read.request.scope == refused.request.scope == "patient/Observation.read"
    assert token not in b"".join(client.rig.lines).decode()


@pytest.mark.parametrize(
    "scope", ["", "patient/Observation.write", "patient/*.*", "launch", "patient/observation.read"]
)
def test_unsupported_scopes_are_not_granted(client: Client, scope: str) -> None:
    with pytest.raises(BadScope):
        client.grant(scope)


def test_a_patient_scope_needs_a_patient(client: Client) -> None:
    with pytest.raises(BadScope):
        client.grant("patient/*.read", patient="")
