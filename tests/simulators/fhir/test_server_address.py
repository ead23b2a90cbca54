"""The URL of the server in requests, replies and the log."""

from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from clerkship.formats.fhir.exact import dumps
from clerkship.formats.fhir.resource import Resource, parse_resource
from clerkship.sandbox.request import QueryParams, Reply, Request
from clerkship.simulators.fhir.outcome import FHIR_JSON
from tests.simulators.fhir.server import Server, bundle, entry
from tests.simulators.fhir.test_bundle import build_observation

ELSEWHERE = "http://127.0.0.1:4711/pg-1f00/box"
INSIDE = "http://box.invalid"


def send_to(server: Server, base: str, method: str, path: str, body: Any = None, **query: str) -> Reply:
    """Send a request to the server under a public URL."""
    data = body if isinstance(body, bytes) else b"" if body is None else dumps(body)
    return server.rig.send(
        Request(method, path, QueryParams(tuple(query.items())), {"content-type": FHIR_JSON}, data), base=base
    )


def build_patient_with_url(base: str) -> Resource:
    """Return a patient with the URL in every possible place."""
    return {
        "resourceType": "Patient",
        "identifier": [{"system": f"{base}/ids", "value": "7"}],
        "extension": [{"url": f"{base}/StructureDefinition/e", "valueString": f"see {base}, or {base}/note"}],
        "generalPractitioner": [{"reference": f"{base}/Practitioner/may"}],
    }


@pytest.mark.parametrize("base", [ELSEWHERE, INSIDE])
def test_only_references_are_made_relative(base: str) -> None:
    server = Server()
    sent = build_patient_with_url(base)
    answer = send_to(server, base, "POST", "/Patient", sent)
    made = parse_resource(answer.body)
    assert answer.headers["Location"] == f"{base}/Patient/{made['id']}/_history/1"
    assert {name: made[name] for name in ("identifier", "extension")} == {
        name: sent[name] for name in ("identifier", "extension")
    }
    assert made["generalPractitioner"] == [{"reference": "Practitioner/may"}]
    assert send_to(server, base, "GET", f"/Patient/{made['id']}").body == answer.body
    found = parse_resource(send_to(server, base, "GET", "/Patient", identifier=f"{base}/ids|7").body)
    assert [each["resource"]["id"] for each in found["entry"]] == [made["id"]]
    assert found["link"][0]["url"] == f"{base}/Patient?identifier={base}/ids|7"


def test_stored_bundle_keeps_full_urls() -> None:
    server = Server()
    page = parse_resource(send_to(server, ELSEWHERE, "GET", "/Patient", _id="ben").body)
    kept = parse_resource(send_to(server, ELSEWHERE, "POST", "/Bundle", page).body)
    assert kept["entry"][0]["fullUrl"] == f"{ELSEWHERE}/Patient/ben"
    assert kept["link"] == page["link"]


def test_log_does_not_depend_on_server_url() -> None:
    logs = []
    for base in (ELSEWHERE, INSIDE, "http://clinic.example/other/pg-2/box"):
        server = Server()
        send_to(server, base, "POST", "/Patient", build_patient_with_url(base))
        send_to(server, base, "POST", "/Patient", dumps(build_patient_with_url(base)).replace(b"/", b"\\/"))
        send_to(server, base, "GET", "/Observation", subject=f"{base}/Patient/ada", identifier=f"{base}/ids|7")
        send_to(server, base, "GET", "/Observation", code=f"{base}/%$")
        send_to(server, base, "GET", "/Patient", foo=f"{base}/x")
        send_to(server, base, "PATCH", "/Observation/k1", b"")
        entries = [
            entry("POST", "Patient", build_patient_with_url(base), f"{base}/Patient/new"),
            entry("POST", "Observation", build_observation(f"{base}/Patient/new")),
            entry("GET", f"{base}/Patient?identifier={quote(f'{base}/ids', safe='')}|7"),
        ]
        assert send_to(server, base, "POST", "/", bundle("transaction", *entries)).status == 200
        logs.append(server.rig.playground.log.data())
        assert server.replay_state() == server.state.dump()
    assert logs[0] == logs[1] == logs[2]
    assert b"127.0.0.1" not in logs[0]


def test_patch_makes_reference_relative() -> None:
    server = Server()
    operations = [{"op": "replace", "path": "/subject/reference", "value": f"{ELSEWHERE}/Patient/ben"}]
    request = Request(
        "PATCH", "/Observation/k1", {}, {"content-type": "application/json-patch+json"}, dumps(operations)
    )
    assert parse_resource(server.rig.send(request, base=ELSEWHERE).body)["subject"] == {"reference": "Patient/ben"}


def test_url_of_another_sandbox_is_not_rewritten() -> None:
    server = Server()
    other = {"resourceType": "Basic", "code": {"text": f"{ELSEWHERE}-2/Patient/ada"}}
    made = send_to(server, ELSEWHERE, "POST", "/Basic", other)
    assert parse_resource(made.body)["code"] == other["code"]
    assert f"{ELSEWHERE}-2".encode() in server.rig.playground.log.data()


def test_url_with_any_host_name_is_rewritten() -> None:
    server = Server()
    sent = build_observation(ELSEWHERE.replace("127.0.0.1", "localhost") + "/Patient/ada")
    made = parse_resource(send_to(server, ELSEWHERE, "POST", "/Observation", sent).body)
    assert made["subject"] == {"reference": "Patient/ada"}


def test_each_transport_sees_its_own_url(served: Server) -> None:
    url = served.rig.url()
    made = parse_resource(send_to(served, ELSEWHERE, "POST", "/Patient", build_patient_with_url(ELSEWHERE)).body)
    read = parse_resource(served.rig.send_http(Request("GET", f"/Patient/{made['id']}")).body)
    assert urlsplit(url).path in read["identifier"][0]["system"]
    assert read["identifier"] == build_patient_with_url(url)["identifier"]
