"""The read and vread interactions."""

import base64

import pytest

from clerkship.formats.fhir.exact import dumps
from clerkship.formats.fhir.resource import ID_PATTERN, render_resource
from clerkship.simulators.fhir.events import ResourceRead
from tests.simulators.fhir.server import ADA, BEN, Server, bundle, entry


def test_read_returns_bytes_of_dataset() -> None:
    answer = Server().get("Patient/ada")
    assert (answer.status, answer.body) == (200, render_resource(ADA))
    assert answer.headers["ETag"] == 'W/"1"'
    assert answer.headers["Last-Modified"] == "Thu, 01 Jan 2026 08:00:00 GMT"


def test_resource_without_meta_has_version_1() -> None:
    answer = Server().get("Practitioner/may")
    assert answer.headers == {"ETag": 'W/"1"'}


def test_meta_with_tags_and_unusual_versions_is_read() -> None:
    meta = {
        "tag": [{"code": "x", "display": '"versionId":"9"'}],
        "versionId": "abc",
        "lastUpdated": "2026-01-01T00:00:00Z",
    }
    server = Server({"resourceType": "Basic", "id": "b", "meta": meta, "code": {"text": "c"}})
    assert server.get("Basic/b").headers["ETag"] == 'W/"abc"'
    assert server.get("Basic/b/_history/abc").status == 200
    changed = server.send("PUT", "Basic/b", {"resourceType": "Basic", "id": "b", "code": {"text": "d"}})
    assert changed.headers["ETag"] == 'W/"abc.1"'


def test_missing_resource_is_404_and_deleted_is_410() -> None:
    server = Server()
    assert (server.get("Patient/zoe").status, server.get("Patient/zoe").codes) == (404, ["not-found"])
    assert server.send("DELETE", "Patient/ben").status == 204
    assert (server.get("Patient/ben").status, server.get("Patient/ben").codes) == (410, ["deleted"])
    assert server.get("Patient/ben/_history/1").body == render_resource(BEN)
    assert server.get("Patient/ben/_history/2").codes == ["deleted"]
    assert server.get("Patient/ben/_history/3").status == 404


def test_unknown_type_is_404_with_operation_outcome() -> None:
    answer = Server().get("Patents/1")
    assert (answer.status, answer.codes) == (404, ["not-supported"])


def test_conditional_read_returns_304() -> None:
    server = Server()
    assert server.get("Patient/ada", if_none_match='W/"1"').status == 304
    assert server.get("Patient/ada", if_none_match='W/"2"').status == 200
    assert server.get("Patient/ada", if_modified_since="Thu, 01 Jan 2026 08:00:00 GMT").status == 304
    assert server.get("Patient/ada", if_modified_since="Thu, 01 Jan 2026 07:59:59 GMT").status == 200
    assert server.get("Patient/ada", if_modified_since="some day").status == 200


def test_head_returns_no_body() -> None:
    answer = Server().send("HEAD", "Patient/ada")
    assert (answer.status, answer.body, answer.headers["ETag"]) == (200, b"", 'W/"1"')


def test_reads_are_logged() -> None:
    server = Server()
    server.get("Patient/ada")
    server.get("Patient/ada/_history/1")
    server.get("Patient/zoe")
    seen = [(event.kind, event.actor) for event in server.events()]
    assert seen == [("fhir.resource.read", "agent"), ("fhir.resource.read", "agent"), ("sandbox.refused", "agent")]
    assert server.events()[1].payload.model_dump() == {
        "type": "Patient",
        "id": "ada",
        "version": "1",
        "operation": "vread",
        "status": 200,
    }


def test_unknown_parameter_of_read_is_refused_or_ignored() -> None:
    server = Server()
    assert server.get("Patient/ada?colour=red").codes == ["not-supported"]
    assert server.get("Patient/ada?colour=red", prefer="handling=lenient").status == 200


def test_if_none_match_with_several_versions() -> None:
    server = Server()
    assert server.get("Patient/ada", if_none_match='W/"7", "1"').status == 304
    assert server.get("Patient/ada", if_none_match='W/"7","8"').status == 200
    for wrong in ('W/"1",', "1, 2", ',"1"', '"1" "2"'):
        assert server.get("Patient/ada", if_none_match=wrong).status == 400
    assert server.send("PUT", "Patient/ada", ADA, if_match='W/"2", W/"3"').status == 412
    assert server.send("PUT", "Patient/ada", ADA, if_match='W/"2", W/"1"').status == 200
    assert server.send("PUT", "Patient/ada", ADA, if_none_match='W/"1", W/"2"').status == 412
    assert server.send("PUT", "Patient/ada", ADA, if_none_match='W/"1"').status == 200


def test_version_ids_are_never_reused() -> None:
    for first in ("x" * 64, "9" * 64, "abc", "a.7", "1.99", "7." * 32, "0007", "9" * 17, "v-" + "9" * 20 + ".9"):
        server = Server({**ADA, "meta": {"versionId": first}, "generalPractitioner": []}, validation="lenient")
        made = [first]
        for _ in range(12):
            answer = server.send("PATCH", "Patient/ada", [{"op": "add", "path": "/active", "value": True}])
            made.append(answer.json["meta"]["versionId"])
            assert server.send("PATCH", "Patient/ada", [], if_match=f'W/"{first}"').status in (400, 412)
        assert len(set(made)) == len(made)
        assert all(ID_PATTERN.fullmatch(id) for id in made)


def test_every_get_route_supports_head() -> None:
    server = Server()
    for target in ("Patient/ada", "Patient", "Patient?name=x", "", "metadata", "_history", "Patient/ada/_history/1"):
        asked, read = server.send("HEAD", target), server.get(target)
        assert (asked.status, asked.headers, asked.body) == (200, read.headers, b"")
    assert server.send("HEAD", "Patient/nobody").status == 404


def test_trailing_slash_is_ignored() -> None:
    server = Server()
    assert server.get("Patient/").json["link"] == server.get("Patient").json["link"]
    assert server.get("Patient/ada/").json == ADA
    assert server.send("POST", "Patient/", {"resourceType": "Patient"}).status == 201


def test_405_lists_allowed_methods() -> None:
    server = Server()
    answer = server.send("POST", "Patient/ada/_history")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.json["issue"][0]["diagnostics"] == "POST is not allowed here (allowed: GET, HEAD)"
    allowed = server.send("OPTIONS", "Patient/ada").headers["Allow"].split(", ")
    assert sorted(allowed) == ["DELETE", "GET", "HEAD", "PATCH", "PUT"]


SAME = {"resourceType": "Patient"}
ADAS = "identifier=http://clinic.example/mrn|A-1"
TEST = [{"op": "test", "path": "/birthDate", "value": "1965-03-15"}]


def list_reads(server: Server) -> list[tuple[str, str, str]]:
    """Return the type, version and operation of the logged reads."""
    found = [event.payload for event in server.events() if isinstance(event.payload, ResourceRead)]
    return [(f"{read.type}/{read.id}", read.version, read.operation) for read in found]


@pytest.mark.parametrize(("prefer", "shown"), [("", True), ("return=minimal", False), ("return=representation", True)])
def test_write_response_with_unsent_content_is_logged_as_read(prefer: str, shown: bool) -> None:
    server = Server()
    headers = {"prefer": prefer} if prefer else {}
    made = server.send("POST", "Patient", SAME, if_none_exist=ADAS, **headers)
    assert (b"Okafor" in made.body) is shown
    patched = server.send("PATCH", "Patient/ada", TEST, **headers)
    assert (b"Okafor" in patched.body) is shown
    assert list_reads(server) == ([("Patient/ada", "1", "create"), ("Patient/ada", "2", "patch")] if shown else [])
    server.send("PUT", "Patient/ben", {**BEN, "active": True}, **headers)
    server.send("POST", "Patient", SAME, **headers)
    assert len(list_reads(server)) == 2 * shown  # what one has sent oneself is no news


@pytest.mark.parametrize("type", ["batch", "transaction"])
@pytest.mark.parametrize(("prefer", "shown"), [("", False), ("return=representation", True)])
def test_write_in_bundle_with_unsent_content_is_logged_as_read(type: str, prefer: str, shown: bool) -> None:
    server = Server()
    data = base64.b64encode(dumps([{"op": "add", "path": "/active", "value": True}])).decode()
    patch = {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": data}
    sent = bundle(type, entry("POST", "Patient", SAME, ifNoneExist=ADAS), entry("PATCH", "Patient/ben", patch))
    answer = server.send("POST", "", sent, **({"prefer": prefer} if prefer else {}))
    assert [b"Okafor" in answer.body, b"Brandt" in answer.body] == [shown, shown]
    assert list_reads(server) == ([("Patient/ada", "1", "create"), ("Patient/ben", "2", "patch")] if shown else [])
