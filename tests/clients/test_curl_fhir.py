"""curl drives a FHIR server over HTTP."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.clients.conftest import MRN, Ehr, patient

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
FHIR = "Content-Type: application/fhir+json"


def curl(ehr: Ehr, path: str, *arguments: str, token: str | None = None) -> tuple[int, Any, dict[str, str]]:
    """Return status, JSON body and headers."""
    given = ehr.token if token is None else token
    command = ["curl", "-sS", "-g", "-D", "-", "-H", f"Authorization: Bearer {given}", *arguments, f"{ehr.url}{path}"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=20)
    head, _, body = done.stdout.rpartition(b"\r\n\r\n")
    while body.startswith(b"HTTP/"):
        head, _, body = body.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n\r\n")[-1].decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(status.split()[1]), json.loads(body) if body else None, headers


def test_curl_creates_reads_updates_and_deletes(ehr: Ehr, tmp_path: Path) -> None:
    status, read, headers = curl(ehr, "/Patient/p1")
    assert (status, read, headers["etag"]) == (200, patient(1), 'W/"1"')
    assert headers["content-type"].startswith("application/fhir+json")
    status, nothing, headers = curl(ehr, "/Patient/p1", "--head")
    assert (status, nothing, headers["etag"], headers.get("content-length")) == (200, None, 'W/"1"', None)
    body = tmp_path / "patient.json"
    body.write_text(json.dumps({"resourceType": "Patient", "name": [{"family": "Hébert"}]}))
    status, made, headers = curl(ehr, "/Patient", "-H", FHIR, "--data-binary", f"@{body}")
    assert (status, headers["location"]) == (201, f"{ehr.url}/Patient/{made['id']}/_history/1")
    once = ("-H", FHIR, "-H", f"If-None-Exist: identifier={MRN}|MRN3", "-d", '{"resourceType": "Patient"}')
    assert curl(ehr, "/Patient", *once)[1]["id"] == "p3"
    patching = ("-X", "PATCH", "-H", "Content-Type: application/json-patch+json")
    status, changed, _ = curl(
        ehr, f"/Patient/{made['id']}", *patching, "-d", '[{"op": "add", "path": "/active", "value": true}]'
    )
    assert (status, changed["active"]) == (200, True)
    put = ("-X", "PUT", "-H", FHIR, "-d", json.dumps({**changed, "gender": "other"}))
    assert curl(ehr, f"/Patient/{made['id']}", "-H", 'If-Match: W/"1"', *put)[0] == 412
    assert curl(ehr, f"/Patient/{made['id']}", "-H", 'If-Match: W/"2"', *put)[0] == 200
    assert curl(ehr, f"/Patient/{made['id']}", "-X", "DELETE")[0] in (200, 204)
    assert curl(ehr, f"/Patient/{made['id']}")[0] == 410


def test_curl_follows_page_links_and_posts_search_forms(ehr: Ehr) -> None:
    status, page, _ = curl(ehr, "/Observation?code=2823-3&_count=10")
    found: list[str] = []
    while True:
        found += [entry["resource"]["id"] for entry in page["entry"]]
        following = [link["url"] for link in page["link"] if link["relation"] == "next"]
        if not following:
            break
        status, page, _ = curl(ehr, following[0].removeprefix(ehr.url))
        assert status == 200
    assert sorted(found) == sorted(f"o{number}" for number in range(25))
    form = ("--data-urlencode", f"patient:Patient.identifier={MRN}|MRN2", "-d", "date=ge2026-02-05")
    found = [entry["resource"]["id"] for entry in curl(ehr, "/Observation/_search", *form)[1]["entry"]]
    assert set(found) == {"o9", "o16", "o23"}


@pytest.mark.parametrize(
    ("path", "arguments", "statuses"),
    [
        ("/Patient", ("-H", FHIR, "-d", '{"resourceType": "Patient",'), {400}),
        ("/Patient", ("-H", "Content-Type: text/plain", "-d", "hello"), {415}),
        ("/Patient", ("-H", FHIR, "-d", '{"resourceType": "Patient", "birthDate": "1970-02-30"}'), {400, 422}),
        ("/Patient", ("-H", FHIR, "-d", '{"resourceType": "Observation"}'), {400, 422}),
        ("/Nonsense", (), {404}),
        ("/Nonsense/1", (), {404}),
        ("/Patient/..%2f..%2fetc", (), {400, 404}),
        ("/Patient?family:sounds-like=x", (), {400}),
        ("/Patient?birthdate=soon", (), {400}),
        ("/Patient/p1", ("-X", "BREW"), {501}),
        ("/Patient/p1", ("-X", "TRACE"), {405}),
        ("/Patient/%ff", (), {400}),
    ],
)
def test_invalid_requests_return_operation_outcome(
    ehr: Ehr, path: str, arguments: tuple[str, ...], statuses: set[int]
) -> None:
    before = ehr.playground.sandboxes["ehr"].state.dump()
    status, body, headers = curl(ehr, path, *arguments)
    assert status in statuses, body
    assert body["resourceType"] == "OperationOutcome"
    assert body["issue"][0]["severity"] in ("error", "fatal")
    assert headers["content-type"].startswith("application/fhir+json")
    assert ehr.playground.sandboxes["ehr"].state.dump() == before


def test_oversized_body_is_refused(ehr: Ehr, tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b'{"resourceType": "Patient", "x": "' + b"y" * 21_000_000 + b'"}')
    status, body, _ = curl(ehr, "/Patient", "-H", FHIR, "--data-binary", f"@{large}")
    assert (status, body["resourceType"], body["issue"][0]["code"]) == (413, "OperationOutcome", "too-long")
    deep = tmp_path / "deep.json"
    deep.write_text('{"resourceType": "Patient", "extension": ' + "[" * 5000 + "]" * 5000 + "}")
    status, body, _ = curl(ehr, "/Patient", "-H", FHIR, "--data-binary", f"@{deep}")
    assert (status // 100, body["resourceType"]) == (4, "OperationOutcome")


def test_search_with_ten_thousand_values_is_answered(ehr: Ehr, tmp_path: Path) -> None:
    wanted = ",".join(["p1", *(f"nobody-with-quite-a-long-id-{number}" for number in range(10_000))])
    query = tmp_path / "query"
    query.write_text(f"_id={wanted}")
    _, body, _ = curl(ehr, "/Patient", "-G", "-d", f"@{query}")
    if body["resourceType"] == "Bundle":
        assert [entry["resource"]["id"] for entry in body["entry"]] == ["p1"]
    else:
        assert body["issue"][0]["code"] in ("too-costly", "too-long")


def test_invalid_token_returns_operation_outcome(ehr: Ehr) -> None:
    for token in ("", "wrong"):
        status, body, headers = curl(ehr, "/Patient/p1", token=token)
        assert (status, body["issue"][0]["code"]) == (401, "login")
        assert headers["www-authenticate"].startswith("Bearer")
    assert ehr.kinds() == []
    ehr.end()
    status, body, headers = curl(ehr, "/Patient/p1")
    assert (status, body["resourceType"], body["issue"][0]["code"]) == (401, "OperationOutcome", "expired")
    assert 'error="invalid_token"' in headers["www-authenticate"]
