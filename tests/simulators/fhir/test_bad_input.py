"""Invalid requests get the right status and an OperationOutcome, and change nothing."""

from typing import Any

import pytest

from clerkship.sandbox.request import MAX_BODY
from clerkship.simulators.fhir import write
from tests.simulators.fhir.server import ADA, POTASSIUM, Server, bundle, entry, remove_elements

NEW = remove_elements(ADA, "id")
ZONELESS = "2026-02-20T09:30:00"
"""A search may say it; a resource may not."""


def build_nested_extensions(levels: int) -> bytes:
    """Return a resource with nested extensions."""
    return (
        b'{"resourceType":"Patient","extension":'
        + b'[{"url":"x:y","extension":' * levels
        + b"[]"
        + b"}]" * levels
        + b"}"
    )


def build_nested_with_decimal(levels: int) -> bytes:
    """The same with a decimal that needs the slower parser."""
    return b'{"resourceType":"Patient","x":1.50,"extension":' + b"[" * levels + b"]" * levels + b"}"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"17",
        b'"Patient"',
        b"[]",
        b"{}",
        b'{"resourceType":null}',
        b'{"resourceType":["Patient"]}',
        b'{"resourceType":"Patient",}',
        b'{"resourceType":"Patient","active":NaN}',
        b'{"resourceType":"Patient","active":tru}',
        b'{"resourceType":"Patient","name":"\xff\xfe"}',
        b'{"resourceType":"Patient","language":"\\ud800"}',
        bytes(range(256)),
        build_nested_extensions(150),
        build_nested_extensions(100_000),
        b"[" * 1_000_000,
        build_nested_with_decimal(900),
        build_nested_with_decimal(500_000),
    ],
    ids=lambda body: repr(body[:40]),
)
@pytest.mark.parametrize(("method", "target"), [("POST", "Patient"), ("PUT", "Patient/ada"), ("POST", "")])
def test_body_that_is_not_a_resource_is_rejected(method: str, target: str, body: bytes) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send(method, target, body, content_type="application/fhir+json")
        assert answer.status == (413 if target and len(body) > 900_000 else 400), answer.body[:200]
        assert answer.codes


def test_body_is_accepted_up_to_depth_limit() -> None:
    server = Server(max_depth=200)
    with server.assert_unchanged():
        answer = server.send("POST", "Patient", build_nested_extensions(99))
        assert answer.status == 400, "an extension without a value is invalid, and too deep is another matter"
        assert "too-costly" not in answer.codes
        assert server.send("POST", "Patient", build_nested_extensions(100)).codes == ["too-costly"]


def test_too_large_body_is_rejected() -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send("POST", "Patient", b" " * (MAX_BODY + 1))
        assert (answer.status, answer.codes) == (413, ["too-long"])


@pytest.mark.parametrize(
    "id",
    [
        "..",
        "../../etc/passwd",
        "a b",
        "a_b",
        "x" * 65,
        "ada%2f..",
        "ada\x00",
        "ädä",
        "a/../ada",
        "$everything",
        "_history",
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_hostile_ids_are_rejected(method: str, id: str) -> None:
    server = Server()
    body: Any = {"PUT": {**ADA, "id": id}, "PATCH": [{"op": "remove", "path": "/name"}]}.get(method)
    before = server.state.dump()
    answer = server.send(method, f"Patient/{id}", body)
    assert answer.status in (400, 404, 405) or (method, answer.status) in {("DELETE", 200), ("GET", 200)}, answer.body
    assert answer.json["resourceType"] in ("OperationOutcome", "Bundle")
    assert server.state.dump() == before
    assert server.rig.playground.broken is None


@pytest.mark.parametrize(
    "type", ["patient", "Patients", "Resource", "DomainResource", "Patient ", "%", "metadata2", "../Patient"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_types_are_rejected(method: str, type: str) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send(method, type, NEW if method == "POST" else None)
        assert answer.status in (404, 405), answer.body
        assert answer.codes[0] in ("not-supported", "not-found")


@pytest.mark.parametrize(
    "date",
    ["2026-02-30", "2026-13-01", "01/02/2026", "2026-1-1", "", "today", "2026-02-20T25:00:00Z", ZONELESS],
)
def test_invalid_dates_are_rejected(date: str) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send("POST", "Observation", {**remove_elements(POTASSIUM, "id"), "effectiveDateTime": date})
        assert answer.status == 400
        assert answer.json["issue"][0]["expression"][0].startswith("Observation.effective")
        if date not in ("", ZONELESS):
            assert server.get(f"Observation?value-date={date}").status == 400


def test_unknown_modifiers_and_prefixes_are_rejected() -> None:
    server = Server()
    with server.assert_unchanged():
        for query in ("name:fuzzy=a", "birthdate:exact=2026", "gender:contains=f", "birthdate=zz2026", "_id:above=x"):
            answer = server.get(f"Patient?{query}")
            assert answer.status == 400, query
            assert answer.codes


def test_search_with_ten_thousand_values_is_answered() -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.get(f"Patient?_id={','.join(f'p{number}' for number in range(10_000))}")
        assert (answer.status, answer.codes) == (400, ["too-costly"])
        answer = server.get("Patient?" + "&".join(f"name=p{number}" for number in range(10_000)))
        assert (answer.status, answer.codes) == (400, ["too-costly"])
        form = "application/x-www-form-urlencoded"
        body = ("name=" + ",".join("x" for _ in range(10_000))).encode()
        assert server.send("POST", "Patient/_search", body, content_type=form).status == 400
        assert server.send("POST", "Patient", NEW, if_none_exist="_id=" + ",".join(["a"] * 10_000)).status == 400


def test_form_that_is_not_utf8_is_rejected() -> None:
    server = Server()
    with server.assert_unchanged():
        form = "application/x-www-form-urlencoded"
        assert server.send("POST", "Patient/_search", b"name=\xff", content_type=form).status == 400
        assert server.send("POST", "Patient/_search", b"name=%ff", content_type=form).status == 400


@pytest.mark.parametrize(
    "url",
    [
        "../Patient/ada",
        "//Patient/ada",
        "http://elsewhere.example/Patient",
        "Patient/ada/../ben",
        "",
        "?",
        "Patient?name",
    ],
)
def test_bundle_entry_with_hostile_url_is_rejected(url: str) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send("POST", "", bundle("transaction", entry("DELETE", url), entry("POST", "Patient", NEW)))
        assert answer.status in (400, 404, 405, 412), answer.body


@pytest.mark.parametrize(
    "data",
    [
        {"request": {"method": "POST", "url": "Patient", "ifNoneExist": 5}, "resource": NEW},
        {"request": {"method": "POST", "url": ["Patient"]}, "resource": NEW},
        {"request": {"method": ["POST"], "url": "Patient"}, "resource": NEW},
        {"request": {"method": "POST", "url": "Patient"}, "resource": NEW, "fullUrl": 5},
        {"request": {"method": "POST", "url": "Patient"}, "resource": "NEW"},
        {"request": {"method": "PUT", "url": "Patient?identifier=A-1"}, "resource": []},
        {
            "request": {"method": "PUT", "url": "Patient?identifier=none"},
            "resource": {"resourceType": "Patient", "id": 5},
        },
        {
            "request": {"method": "PUT", "url": "Patient?identifier=none"},
            "resource": {"resourceType": "Patient", "id": "../x"},
        },
        {"request": "POST Patient"},
        {
            "request": {"method": "PATCH", "url": "Patient/ada"},
            "resource": {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": "%%%"},
        },
        {
            "request": {"method": "PATCH", "url": "Patient/ada"},
            "resource": {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": "ew=="},
        },
        None,
        7,
    ],
)
def test_malformed_bundle_entry_is_rejected(data: Any) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send(
            "POST",
            "",
            {"resourceType": "Bundle", "type": "transaction", "entry": [entry("POST", "Patient", NEW), data]},
        )
        assert 400 <= answer.status < 500, answer.body
    batch = server.send("POST", "", {"resourceType": "Bundle", "type": "batch", "entry": [data]})
    assert batch.entries[0]["response"]["status"][0] == "4"


def test_malformed_headers_are_rejected() -> None:
    server = Server()
    with server.assert_unchanged():
        assert server.get("Patient/ada", if_none_match="x").status == 400
        assert server.send("DELETE", "Patient/ada", if_match='W/"').status == 400
        assert server.send("POST", "Patient", NEW, if_none_exist="identifier:odd=1").status == 400
        assert server.send("POST", "Patient", NEW, if_none_exist="").status == 412


@pytest.mark.parametrize(
    ("date", "status"),
    [
        ("Thu, 01 Jan 2026 08:00:00", 304),
        ("Thu, 01 Jan 2026 08:00:00 -0000", 304),
        ("Thu, 01 Jan 2026 07:59:59 -0000", 200),
        ("Thu, 01 Jan 2026 09:00:00 +0100", 304),
        ("2026-01-01T08:00:00Z", 304),
        ("2025-12-31", 200),
        ("Thu, 01 Jan 2026 08:00:00 +99999999999999", 200),
        ("Thu, 99 Jan 2026 08:00:00", 200),
        ("never", 200),
        ("", 200),
    ],
)
def test_if_modified_since_without_zone_or_invalid_is_tolerated(date: str, status: int) -> None:
    server = Server()
    assert server.get("Patient/ada", if_modified_since=date).status == status
    batch = server.send("POST", "", bundle("batch", entry("GET", "Patient/ada", ifModifiedSince=date)))
    assert batch.entries[0]["response"]["status"].startswith(str(status))
    assert server.rig.playground.broken is None


@pytest.mark.parametrize("data", ["é", "\u0000", "no base64", "W10", "====", "7w=="])
@pytest.mark.parametrize("type", ["batch", "transaction"])
def test_patch_in_bundle_with_invalid_base64_is_rejected(type: str, data: str) -> None:
    server = Server()
    binary = {"resourceType": "Binary", "contentType": "application/json-patch+json", "data": data}
    answer = server.send("POST", "", bundle(type, entry("PATCH", "Patient/ada", binary)))
    status = answer.entries[0]["response"]["status"] if type == "batch" else str(answer.status)
    assert status.startswith("400")
    assert server.rig.playground.broken is None


def test_parameters_resource_cannot_be_stored() -> None:
    server = Server()
    body = {"resourceType": "Parameters", "parameter": [{"name": "x", "valueString": "y"}]}
    with server.assert_unchanged():
        assert server.send("POST", "Parameters", body).codes == ["not-supported"]
        assert server.send("PUT", "Parameters/1", {**body, "id": "1"}).status == 404
        assert server.get("Parameters").status == 404
        assert server.send("POST", "", bundle("transaction", entry("POST", "Parameters", body))).status == 404
    assert server.send("POST", "Parameters/$validate", body).status == 200


def test_recursion_error_is_a_client_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(resource: Any) -> Any:
        return endless(resource)

    monkeypatch.setattr(write, "validate", endless)
    server = Server()
    with server.assert_unchanged():
        answer = server.send("POST", "Patient", {"resourceType": "Patient"})
        assert (answer.status, answer.codes) == (400, ["too-costly"])
