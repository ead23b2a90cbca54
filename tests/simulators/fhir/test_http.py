"""FHIR over HTTP: media types, Prefer, and refusals."""

import http.client
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.sandbox.request import Request
from clerkship.simulators.fhir.outcome import FHIR_JSON
from tests.simulators.fhir.server import ADA, Server


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        FHIR_JSON,
        "application/json",
        "text/html, application/json;q=0.9",
        "application/fhir+json; fhirVersion=4.0",
        "application/*",
    ],
)
def test_json_formats_are_accepted(accept: str) -> None:
    assert Server().get("Patient/ada", accept=accept).status == 200


@pytest.mark.parametrize(
    "accept", ["application/fhir+xml", "text/turtle", "application/fhir+json; fhirVersion=5.0", "text/html"]
)
def test_unsupported_accept_is_406(accept: str) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.get("Patient/ada", accept=accept)
        assert (answer.status, answer.codes) == (406, ["not-supported"])
        assert server.send("PUT", "Patient/ada", ADA, accept=accept).status == 406


def test_format_parameter_overrides_accept() -> None:
    server = Server()
    for format in ("json", "application/json", "application/fhir%2Bjson", "application/fhir+json"):
        assert server.get(f"Patient/ada?_format={format}", accept="application/fhir+xml").status == 200
    assert server.get("Patient/ada?_format=xml").status == 406
    assert server.get("Patient?_format=xml").status == 406


@pytest.mark.parametrize(
    "media",
    [
        "application/fhir+xml",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/fhir+json; fhirVersion=3.0",
    ],
)
def test_unsupported_content_type_is_415(media: str) -> None:
    server = Server()
    with server.assert_unchanged():
        for method, target in (
            ("POST", "Patient"),
            ("PUT", "Patient/ada"),
            ("POST", ""),
            ("POST", "Patient/$validate"),
        ):
            answer = server.send(method, target, ADA, content_type=media)
            assert (answer.status, answer.codes) == (415, ["not-supported"])


def test_pretty_indents_response() -> None:
    answer = Server().get("Patient/ada?_pretty=true")
    assert answer.body.startswith(b'{\n  "resourceType": "Patient",\n  "id": "ada",')
    assert answer.json == ADA


def test_gateway_refusals_are_operation_outcomes() -> None:
    server = Server()
    assert server.send("DELETE", "metadata").codes == ["not-supported"] or server.send("PUT", "_history").status == 405
    assert server.get("a/b/c/d/e/f").codes == ["not-found"]


def test_urls_in_replies_have_address_of_request(served: Server) -> None:
    address = urlsplit(served.rig.url())
    connection = http.client.HTTPConnection("localhost", address.port, timeout=10)
    headers = {"Authorization": f"Bearer {served.rig.token}", "Content-Type": FHIR_JSON}
    base = f"http://localhost:{address.port}{address.path}"
    seen = {"resourceType": "Basic", "code": {"text": "x"}, "subject": {"reference": f"{base}/Patient/ada"}}
    connection.request("POST", f"{address.path}/Basic", orjson.dumps(seen), headers)
    answer = connection.getresponse()
    made = orjson.loads(answer.read())
    assert made["subject"]["reference"] == "Patient/ada"
    assert answer.headers["Location"] == f"{base}/Basic/{made['id']}/_history/1"
    assert answer.headers["Content-Type"] == FHIR_JSON
    connection.request("GET", f"{address.path}?_type=Patient", headers=headers)
    found = orjson.loads(connection.getresponse().read())
    assert found["entry"][0]["fullUrl"] == f"{base}/Patient/ada"
    assert found["link"][0]["url"] == f"{base}/?_type=Patient"
    connection.close()
    assert base.encode() not in served.rig.playground.log.data()


def test_invalid_host_header_is_not_repeated(served: Server) -> None:
    address = urlsplit(served.rig.url())
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    connection.putrequest("GET", f"{address.path}/Patient", skip_host=True)
    connection.putheader("Host", 'evil"host')
    connection.putheader("Authorization", f"Bearer {served.rig.token}")
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert b"evil" not in body


def test_reply_is_same_over_both_transports(served: Server) -> None:
    request = Request("GET", "/Patient", {"_count": "1"})
    near = served.rig.send(request, base=served.rig.url())
    assert near.body == served.rig.send_http(request).body
