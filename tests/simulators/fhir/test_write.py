"""The create, update and delete interactions, versions, and strictness."""

from collections.abc import Iterator
from typing import Any

import pytest

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import render_resource
from clerkship.playground.component import Overlay
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.events import DefectAccepted, ResourceCreated, ResourceUpdated
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import delete_resource, patch_resource, put_resource
from tests.simulators.fhir.server import ADA, BASE, BEN, CHART, POTASSIUM, Server, remove_elements

ZOE = {"resourceType": "Patient", "name": [{"family": "Zimmer"}]}


def test_create_assigns_id_version_and_location() -> None:
    server = Server()
    answer = server.send("POST", "Patient", {**ZOE, "id": "mine"})
    kept = answer.json
    assert answer.status == 201
    assert kept["id"] != "mine"
    assert kept["meta"] == {"versionId": "1", "lastUpdated": "2026-03-02T14:00:01.000+00:00"}
    assert answer.headers["Location"] == f"{BASE}/Patient/{kept['id']}/_history/1"
    assert answer.headers["ETag"] == 'W/"1"'
    assert answer.headers["Last-Modified"] == "Mon, 02 Mar 2026 14:00:01 GMT"
    assert server.get(f"Patient/{kept['id']}").body == answer.body


def test_same_seed_gives_same_ids() -> None:
    assert Server().send("POST", "Patient", ZOE).body == Server().send("POST", "Patient", ZOE).body


def test_update_writes_version_and_may_create() -> None:
    server = Server()
    changed = server.send("PUT", "Patient/ada", {**ADA, "active": True})
    assert (changed.status, changed.json["meta"]["versionId"]) == (200, "2")
    made = server.send("PUT", "Patient/zoe", {**ZOE, "id": "zoe"})
    assert (made.status, made.headers["Location"]) == (201, f"{BASE}/Patient/zoe/_history/1")
    assert [event.kind for event in server.events()] == [ResourceUpdated.kind, ResourceCreated.kind]


def test_update_of_unknown_id_is_refused_without_client_ids() -> None:
    server = Server(client_ids=False)
    assert server.send("PUT", "Patient/zoe", {**ZOE, "id": "zoe"}).status == 405
    assert server.send("PUT", "Patient/ada", ADA).status == 200


def test_deleted_resource_can_be_recreated_with_next_version() -> None:
    server = Server()
    assert server.send("DELETE", "Patient/ben").status == 204
    again = server.send("PUT", "Patient/ben", BEN)
    assert (again.status, again.headers["ETag"]) == (201, 'W/"3"')
    assert server.get("Patient/ben").status == 200


def test_delete_of_missing_resource_succeeds_and_is_logged() -> None:
    server = Server()
    for target in ("Patient/zoe", "Patient?identifier=nobody"):
        answer = server.send("DELETE", target)
        assert (answer.status, answer.codes) == (200, ["informational"])
    assert server.kinds() == ["fhir.nothing.changed"] * 2


@pytest.mark.parametrize("resource", [remove_elements(ADA, "id"), {**ADA, "id": "ben"}])
def test_update_with_other_id_than_url_is_refused(resource: Any) -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.send("PUT", "Patient/ada", resource).status == 400


def test_if_match_refuses_other_versions() -> None:
    server = Server()
    assert server.send("PUT", "Patient/ada", ADA, if_match='W/"1"').status == 200
    with server.assert_unchanged():
        for method, body in (("PUT", ADA), ("DELETE", None), ("PATCH", [{"op": "remove", "path": "/name"}])):
            answer = server.send(method, "Patient/ada", body, if_match='W/"1"')
            assert (answer.status, answer.codes) == (412, ["conflict"])
        assert server.send("PUT", "Patient/new", {**ADA, "id": "new"}, if_match='W/"1"').status == 412
        assert server.send("PUT", "Patient/ada", ADA, if_match="version two").status == 400
        assert server.send("PUT", "Patient/ada", ADA, if_none_match="*").status == 412
    assert server.send("DELETE", "Patient/ada", if_match='W/"2"').status == 204


@pytest.mark.parametrize(
    ("prefer", "shown"),
    [
        ("return=minimal", b""),
        ("return=representation", b'{"resourceType":"Pa'),
        ("return=OperationOutcome", b'{"resourceType":"Op'),
    ],
)
def test_prefer_return_selects_response_body(prefer: str, shown: bytes) -> None:
    server = Server()
    for method, target, body in (
        ("POST", "Patient", ZOE),
        ("PUT", "Patient/ada", ADA),
        ("PATCH", "Patient/ada", [{"op": "add", "path": "/active", "value": True}]),
    ):
        answer = server.send(method, target, body, prefer=prefer)
        assert answer.status in (200, 201)
        assert answer.body[: len(shown) or None] == shown
        assert "Location" in answer.headers


def test_strict_server_reports_all_issues() -> None:
    server = Server()
    wrong = {"resourceType": "Patient", "gender": "unknowable", "birthDate": "1965-02-30", "shoe": 42}
    with server.assert_unchanged():
        answer = server.send("POST", "Patient", wrong)
    assert answer.status == 400
    places = [issue["expression"][0] for issue in answer.json["issue"]]
    assert {"Patient.gender", "Patient.birthDate"} <= set(places)
    assert len(places) >= 3


def test_lenient_server_stores_and_logs_defects() -> None:
    server = Server(validation="lenient")
    answer = server.send("POST", "Patient", {"resourceType": "Patient", "gender": "unknowable"})
    assert (answer.status, answer.json["gender"]) == (201, "unknowable")
    defect = server.events()[-1].payload
    assert isinstance(defect, DefectAccepted)
    assert [issue["expression"] for issue in defect.issues] == ["Patient.gender"]
    with server.assert_unchanged():
        assert server.send("POST", "Patient", ["no", "resource"]).status == 400
        assert server.send("POST", "Patient", {"resourceType": "Practitioner"}).status == 400


def test_dangling_references_are_refused() -> None:
    server = Server()
    lost = {**remove_elements(POTASSIUM, "id"), "subject": {"reference": "Patient/zoe"}}
    with server.assert_unchanged():
        answer = server.send("POST", "Observation", lost)
        assert (answer.status, answer.codes) == (422, ["not-found"])
        assert answer.json["issue"][0]["expression"] == ["Observation.subject"]
        for reference in ("Patient/ada/_history/9", "#nobody"):
            assert server.send("POST", "Observation", {**lost, "subject": {"reference": reference}}).status in (
                400,
                422,
            )
    for reference in ("Patient/ada/_history/1", "https://elsewhere.example/fhir/Patient/1"):
        assert server.send("POST", "Observation", {**lost, "subject": {"reference": reference}}).status == 201
    assert Server(references="unchecked").send("POST", "Observation", lost).status == 201


def test_existing_dangling_reference_does_not_block_update() -> None:
    server = Server({**POTASSIUM, "id": "k9"})
    assert (
        server.send("PATCH", "Observation/k9", [{"op": "replace", "path": "/status", "value": "amended"}]).status == 200
    )
    other = {"op": "replace", "path": "/subject/reference", "value": "Patient/nobody"}
    with server.assert_unchanged():
        answer = server.send("PATCH", "Observation/k9", [other])
        assert [issue["expression"] for issue in answer.json["issue"]] == [["Observation.subject"]]


def test_fork_does_not_read_the_chart() -> None:
    class Untouchable(Chart):
        """One that says so when anybody does."""

        def __getitem__(self, key: str) -> bytes:
            raise AssertionError(key)

        def __iter__(self) -> Iterator[str]:
            raise AssertionError("all of it")

    state = FhirState(FhirConfig(), Overlay(Untouchable(map(render_resource, CHART))))
    assert state.dump() == {}
    assert state.changes() == {}


def test_absolute_reference_to_this_server_is_stored_relative() -> None:
    server = Server()
    seen = {**remove_elements(POTASSIUM, "id"), "subject": {"reference": f"{BASE}/Patient/ada"}}
    assert server.send("POST", "Observation", seen).json["subject"] == {"reference": "Patient/ada"}


def test_decimal_digits_are_preserved() -> None:
    server = Server()
    body = (
        b'{"resourceType":"Observation","id":"d","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.50}}'
    )
    assert b'"value":1.50}' in server.send("PUT", "Observation/d", body).body
    assert b'"value":1.50}' in server.get("Observation/d").body
    assert server.replay_state() == server.state.dump()


def test_read_only_server_refuses_only_the_agent() -> None:
    server = Server(read_only=True)
    with server.assert_unchanged():
        for method, target, body in (
            ("POST", "Patient", ZOE),
            ("PUT", "Patient/ada", ADA),
            ("PUT", "Patient?identifier=A-1", ADA),
            ("PATCH", "Patient/ada", [{"op": "remove", "path": "/name"}]),
            ("PATCH", "Patient?identifier=A-1", [{"op": "remove", "path": "/name"}]),
            ("DELETE", "Patient/ada", None),
            ("DELETE", "Patient?identifier=A-1", None),
        ):
            answer = server.send(method, target, body)
            assert (answer.status, answer.codes) == (403, ["forbidden"]), target
    action = server.rig.playground.context_for("box", "scenario")
    with Transaction(server.state, action) as transaction:
        operations = [{"op": "add", "path": "/active", "value": True}]
        patch_resource(transaction, "Patient/ada", operations, operation="fhir.patch")
    assert server.get("Patient/ada").json["active"] is True


def test_state_find_and_changes() -> None:
    server = Server()
    action = server.rig.playground.context_for("box", "scenario")
    with Transaction(server.state, action) as transaction:
        key = put_resource(transaction, {"resourceType": "Patient", "name": [{"family": "Zimmer"}]}, "put")
        put_resource(transaction, {**BEN, "active": True}, "put")
        delete_resource(transaction, "Observation/k1")
    changes = server.state.changes()
    assert set(changes) == {key, "Patient/ben", "Observation/k1"}
    assert changes[key][0] is None
    assert changes["Observation/k1"] == (POTASSIUM, None)
    before, now = changes["Patient/ben"]
    assert before == BEN
    assert now is not None
    assert now["active"] is True
    assert [found["id"] for found in server.state.find("Patient", [("name", "zimmer")])] == [key.partition("/")[2]]
    assert server.state.resource("Patient/ada") == ADA
    assert server.replay_state() == server.state.dump()


def test_dump_contains_only_changes() -> None:
    server = Server()
    assert server.state.dump() == {}
    server.send("PUT", "Patient/ben", BEN)
    assert list(server.state.dump()) == ["Patient/ben"]
