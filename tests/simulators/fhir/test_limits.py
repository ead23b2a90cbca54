"""Limits on the cost of a request: more is refused as `too-costly` before the work is done."""

from typing import Any

import pytest

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.search import include
from clerkship.formats.fhir.search.parse import MAX_SORT_KEYS, MAX_VALUES
from clerkship.sandbox.request import QueryParams, Request
from clerkship.sandbox.route import find_route
from clerkship.simulators.fhir import body as bodies
from clerkship.simulators.fhir.body import MAX_RESOURCE_ELEMENTS, check_elements, count_elements
from clerkship.simulators.fhir.bundle_entries import MAX_CONDITIONS
from clerkship.simulators.fhir.outcome import FhirRefusal
from clerkship.simulators.fhir.routes import ROUTES
from tests.simulators.fhir.server import ADA, Server, bundle, entry, remove_elements


def build_patient(names: int) -> dict[str, Any]:
    """Return a patient with two elements per name."""
    return {"resourceType": "Patient", "name": [{"text": "ab"}] * names}


# Elements.


@pytest.mark.parametrize(
    ("method", "target"), [("POST", "Patient"), ("PUT", "Patient/ada"), ("POST", "Patient/$validate")]
)
def test_resource_with_too_many_elements_is_refused_with_413_before_parsing(method: str, target: str) -> None:
    server = Server()
    with server.assert_unchanged():
        answer = server.send(method, target, exact.dumps(build_patient(50_000))[:-1])  # not even JSON
        assert (answer.status, answer.codes) == (413, ["too-costly"])
        assert "more than 100,000 elements" in str(answer.json)


def test_delimiters_in_texts_do_not_count_as_elements() -> None:
    div = '<div xmlns="http://www.w3.org/1999/xhtml">' + '[," ' * 120_000 + "</div>"
    text = {"status": "generated", "div": div}
    answer = Server().send("POST", "Patient", {"resourceType": "Patient", "text": text})
    assert answer.status == 201, answer.body[:300]


def test_transaction_may_have_more_elements_but_each_resource_is_limited() -> None:
    server = Server()
    half = entry("POST", "Patient", build_patient(30_000))
    assert server.send("POST", "", bundle("transaction", half, half)).status == 200
    with server.assert_unchanged():
        answer = server.send("POST", "", bundle("transaction", half, entry("POST", "Patient", build_patient(50_000))))
        assert (answer.status, answer.codes) == (413, ["too-costly"])
        assert answer.json["issue"][0]["expression"] == ["Bundle.entry[1]"]


def test_stored_bundle_may_have_more_elements_than_other_resources() -> None:
    names = [{"resource": {"resourceType": "Basic", "code": {"text": "x"}, "id": str(n)}} for n in range(30_000)]
    answer = Server().send("POST", "Bundle", {"resourceType": "Bundle", "type": "collection", "entry": names})
    assert answer.status == 201, answer.json


@pytest.mark.parametrize("type", ["batch", "transaction"])
def test_bundle_with_too_many_conditions_is_refused(type: str) -> None:
    conditional = entry("PUT", "Patient?identifier=A-1", ADA)
    created = entry("POST", "Patient", remove_elements(ADA, "id"))
    created["request"]["ifNoneExist"] = "identifier=A-1"
    server = Server()
    with server.assert_unchanged():
        answer = server.send("POST", "", bundle(type, *[conditional, created] * (MAX_CONDITIONS // 2 + 1)))
        assert (answer.status, answer.codes) == (413, ["too-costly"])


def test_patch_cannot_exceed_element_limit() -> None:
    server = Server()
    assert server.send("PUT", "Patient/ada", {**build_patient(30_000), "id": "ada"}).status == 200
    with server.assert_unchanged():
        patch = [{"op": "add", "path": "/contact", "value": [{"name": {"text": "x"}}] * 20_000}]
        answer = server.send("PATCH", "Patient/ada", patch)
        assert (answer.status, answer.codes) == (422, ["too-costly"])


@pytest.mark.parametrize("size", [5, 7, 64])
def test_elements_counted_by_chunk_equal_those_of_parsed_data(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_CHUNK_BYTES", size)
    data = {"a": ['x,"[{', "\\", "\\\\", '\\"', 1, None, {"b,": [True, ["{"]]}], "ü": "[" * 9}
    body = exact.dumps(data)
    count = count_elements(data, 1000)
    check_elements(body, count)
    with pytest.raises(FhirRefusal):
        check_elements(body, count - 1)


@pytest.mark.parametrize("number", ["1.50", "100000000000000000000", "1e5", "0.10"])
def test_decimal_keeps_digits_at_any_slice_boundary(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in range(1, 20):
        monkeypatch.setattr(exact, "_SLICE_BYTES", size)
        body = f'{{"a":"xyz","value":{number},"z":[1,2,3]}}'.encode()
        assert exact.dumps(exact.loads(body)) == body


# Searches.


def test_repeated_include_runs_once() -> None:
    once = Server().get("Observation?_include=Observation:subject&_include:iterate=Patient:general-practitioner")
    repeated = "&".join(["_include=Observation:subject&_include:iterate=Patient:general-practitioner"] * 95)
    answer = Server().get(f"Observation?{repeated}")
    assert answer.status == 200
    assert answer.keys == once.keys == ["Observation/k1", "Patient/ada", "Practitioner/may"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("_sort=" + ",".join(["_id"] * (MAX_SORT_KEYS + 1)), f"at most {MAX_SORT_KEYS} are allowed"),
        ("&".join(["_id=" + ",".join(["x"] * 900)] * 3), f"at most {MAX_VALUES} are allowed"),
    ],
    ids=["sort", "values"],
)
def test_too_expensive_search_is_refused(query: str, reason: str) -> None:
    answer = Server().get(f"Observation?{query}")
    assert answer.status == 400
    assert "too-costly" in answer.codes
    assert reason in str(answer.json)


def test_number_of_included_resources_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(include, "MAX_INCLUDED", 1)
    answer = Server().get("Observation?_include=Observation:subject&_include:iterate=Patient:general-practitioner")
    assert (answer.status, answer.codes) == (400, ["too-costly"])
    assert "more than 1 resources would be included" in str(answer.json)


# Where they are answered.


@pytest.mark.parametrize(
    ("request_", "heavy"),
    [
        (Request("GET", "/Patient/ada"), False),
        (Request("GET", "/Patient", QueryParams((("name", "ada"), ("_count", "50")))), False),
        (Request("GET", "/Patient", QueryParams((("_count", "500"),))), True),
        (Request("GET", "/Patient", QueryParams((("_revinclude:iterate", "Observation:subject"),))), True),
        (Request("GET", "/Patient", QueryParams((("_has:Observation:patient:code", "x"),))), True),
        (Request("POST", "/Patient/_search"), True),
        (Request("GET", "/Patient/ada/$everything"), True),
        (Request("POST", "/"), True),
        (Request("POST", "/Patient"), False),
    ],
)
def test_heavy_requests_run_off_the_event_loop(request_: Request, heavy: bool) -> None:
    route, _ = find_route(ROUTES, request_)
    assert (route.is_heavy is not None and route.is_heavy(request_)) == heavy


def test_resource_within_element_limit_is_stored() -> None:
    answer = Server().send("POST", "Patient", {**remove_elements(ADA, "id"), **build_patient(5_000)})
    assert answer.status == 201
    assert 2 * 5_000 < count_elements(answer.json, MAX_RESOURCE_ELEMENTS) < MAX_RESOURCE_ELEMENTS
