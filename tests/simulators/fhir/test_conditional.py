"""Conditional interactions with none, one and several matches."""

from typing import Any

import pytest

from tests.simulators.fhir.server import ADA, BEN, Server, remove_elements

NEW = {"resourceType": "Patient", "identifier": [{"system": "http://clinic.example/mrn", "value": "C-3"}]}
MRN = "http://clinic.example/mrn|"
EVERY = f"identifier={MRN}A-1,{MRN}B-2"
PATCH = [{"op": "add", "path": "/active", "value": True}]


def test_conditional_create_writes_only_without_match() -> None:
    server = Server()
    made = server.send("POST", "Patient", NEW, if_none_exist=f"identifier={MRN}C-3")
    assert made.status == 201
    again = server.send("POST", "Patient", NEW, if_none_exist=f"identifier={MRN}C-3")
    assert (again.status, again.headers["ETag"]) == (200, 'W/"1"')
    assert again.headers["Location"] == made.headers["Location"]
    assert server.kinds() == ["fhir.resource.created", "fhir.nothing.changed", "fhir.resource.read"]
    with server.assert_unchanged():
        several = server.send("POST", "Patient", NEW, if_none_exist=EVERY)
        assert (several.status, several.codes) == (412, ["multiple-matches"])


def test_conditional_update_by_number_of_matches() -> None:
    server = Server()
    one = server.send("PUT", f"Patient?identifier={MRN}A-1", {**remove_elements(ADA, "id"), "active": True})
    assert (one.status, one.json["id"], one.headers["ETag"]) == (200, "ada", 'W/"2"')
    same = server.send("PUT", f"Patient?identifier={MRN}A-1", ADA)
    assert same.status == 200
    none = server.send("PUT", f"Patient?identifier={MRN}C-3", NEW)
    assert none.status == 201
    named = server.send("PUT", f"Patient?identifier={MRN}D-4", {**NEW, "id": "dan"})
    assert (named.status, named.json["id"]) == (201, "dan")
    with server.assert_unchanged():
        assert server.send("PUT", f"Patient?identifier={MRN}A-1", {**ADA, "id": "ben"}).status == 400
        assert server.send("PUT", f"Patient?{EVERY}", remove_elements(ADA, "id")).status == 412


def test_conditional_patch_by_number_of_matches() -> None:
    server = Server()
    assert server.send("PATCH", f"Patient?identifier={MRN}A-1", PATCH).json["active"] is True
    with server.assert_unchanged():
        assert server.send("PATCH", f"Patient?identifier={MRN}C-3", PATCH).status == 404
        assert server.send("PATCH", f"Patient?{EVERY}", PATCH).status == 412
        assert server.send("PATCH", f"Patient?identifier={MRN}A-1", PATCH, if_match='W/"1"').status == 412


def test_conditional_delete_by_number_of_matches() -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.send("DELETE", f"Patient?{EVERY}").status == 412
    assert server.send("DELETE", f"Patient?identifier={MRN}B-2").status == 204
    assert server.get("Patient/ben").status == 410
    assert server.send("DELETE", f"Patient?identifier={MRN}B-2").status == 200


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 412), ("_format=json", 412), ("colour=red", 400), ("_count=1", 400), ("identifier:fuzzy=A-1", 400)],
)
@pytest.mark.parametrize(("method", "body"), [("PUT", BEN), ("PATCH", PATCH), ("DELETE", None)])
def test_empty_or_invalid_condition_is_rejected(method: str, body: Any, query: str, status: int) -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.send(method, f"Patient?{query}", body).status == status
