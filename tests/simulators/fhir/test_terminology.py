"""Terminology operations: `$expand`, `$validate-code` and `$lookup`."""

from typing import Any

import pytest

from clerkship.formats.fhir.definitions import _load_table, get_value_set
from clerkship.formats.fhir.terminology import load_table
from clerkship.formats.fhir.validation import validate
from tests.simulators.fhir.server import CHART, Server, ServerResponse, bundle, entry

GENDER = "http://hl7.org/fhir/administrative-gender"
GENDERS = "http://hl7.org/fhir/ValueSet/administrative-gender"
LOINC, SNOMED = "http://loinc.org", "http://snomed.info/sct"
ASTHMA = {"coding": [{"system": SNOMED, "code": "195967001", "display": "Asthma"}], "text": "Asthma"}
COUGH = {"coding": [{"system": SNOMED, "code": "49727002"}], "text": "Cough at night"}
PROBLEMS: tuple[dict[str, Any], ...] = tuple(
    {"resourceType": "Condition", "id": f"c{number}", "subject": {"reference": "Patient/ada"}, "code": code}
    for number, code in enumerate((ASTHMA, COUGH))
)
TRIAGE: dict[str, Any] = {
    "resourceType": "CodeSystem",
    "id": "triage",
    "url": "http://clinic.example/triage",
    "name": "Triage",
    "status": "active",
    "content": "complete",
    "concept": [{"code": "now", "display": "At once", "concept": [{"code": "day", "display": "Today"}]}],
}
CHOICE: dict[str, Any] = {
    "resourceType": "ValueSet",
    "id": "choice",
    "url": "http://clinic.example/choice",
    "status": "active",
    "compose": {
        "include": [
            {"system": "http://clinic.example/triage"},
            {"system": GENDER, "concept": [{"code": "other"}, {"code": "male", "display": "Man"}]},
            {"system": GENDER, "valueSet": [GENDERS]},
        ],
        "exclude": [{"system": GENDER, "concept": [{"code": "unknown"}]}],
    },
}


def serve() -> Server:
    return Server(*CHART, *PROBLEMS, TRIAGE, CHOICE)


def expand(answer: ServerResponse) -> list[tuple[str, str]]:
    """Return the codes and names of an expansion."""
    assert answer.status == 200, answer.body
    assert [issue for issue in validate(answer.json) if issue.severity == "error"] == []
    return [(each["code"], each.get("display", "")) for each in answer.json["expansion"].get("contains", [])]


def read_parameters(answer: ServerResponse) -> dict[str, Any]:
    assert answer.status == 200, answer.body
    assert [issue for issue in validate(answer.json) if issue.severity == "error"] == []
    parts = answer.json["parameter"]
    return {each["name"]: next(each[name] for name in each if name != "name") for each in parts}


def build_parameters(**values: Any) -> dict[str, Any]:
    parts = [{"name": name, _name_value(value): value} for name, value in values.items()]
    return {"resourceType": "Parameters", "parameter": parts}


def _name_value(value: Any) -> str:
    if not isinstance(value, dict):
        return "valueInteger" if isinstance(value, int) else "valueString"
    return "resource" if "resourceType" in value else "valueCodeableConcept" if "coding" in value else "valueCoding"


def test_value_sets_of_required_bindings_are_expanded_with_the_codes_of_the_validator() -> None:
    server = serve()
    assert expand(server.get(f"ValueSet/$expand?url={GENDERS}|4.0.1"))[0] == ("male", "Male")
    known, unlisted = (load_table()[name] for name in ("sets", "unlisted"))
    names = {url.removeprefix("http://hl7.org/fhir/ValueSet/"): url for url in known}
    required = _load_table()["codes"]
    assert set(required) <= set(names)
    assert not set(known) & set(unlisted)
    for name in ("task-intent", "event-timing", "units-of-time", "immunization-status"):
        codes = {code for codes in get_value_set(name).values() for code in codes}
        assert {code for code, _ in expand(server.get(f"ValueSet/$expand?url={names[name]}"))} == codes


def test_expansion_is_filtered_and_paged_by_get_and_post() -> None:
    server = serve()
    url = "http://terminology.hl7.org/ValueSet/v3-ActEncounterCode"
    got = server.get(f"ValueSet/$expand?url={url}&filter=Inp&offset=1&count=1")
    assert expand(got) == [("ACUTE", "inpatient acute")]
    assert (got.json["expansion"]["total"], got.json["expansion"]["offset"]) == (3, 1)
    posted = server.send("POST", "ValueSet/$expand", build_parameters(url=url, filter="Inp", offset=1, count=1))
    assert expand(posted) == expand(got)
    assert expand(server.get(f"ValueSet/$expand?url={url}&count=0")) == []
    [event, *_] = [event for event in server.events() if event.kind == "fhir.codes.read"]
    assert event.payload.model_dump() == {
        "operation": "$expand",
        "url": url,
        "code": "",
        "text": "Inp",
        "total": 3,
        "status": 200,
    }


def test_codes_that_the_chart_uses_are_expanded_and_looked_up() -> None:
    server = serve()
    answer = server.get(f"ValueSet/$expand?url={SNOMED}?fhir_vs&filter=cough")
    assert expand(answer) == [("49727002", "Cough at night")]
    assert {"name": "limitedExpansion", "valueBoolean": True} in answer.json["expansion"]["parameter"]
    assert expand(server.get("ValueSet/$expand?url=http://hl7.org/fhir/ValueSet/observation-codes")) == [("2823-3", "")]
    found = read_parameters(server.get(f"CodeSystem/$lookup?system={SNOMED}&code=195967001"))
    assert found == {"name": "SNOMED CT", "display": "Asthma"}
    server.send("POST", "Condition", {**PROBLEMS[0], "code": {"coding": [{"system": SNOMED, "code": "1"}]}})
    assert server.get(f"CodeSystem/$lookup?system={SNOMED}&code=1").status == 404  # written since, not of the chart


def test_stored_code_systems_and_value_sets_are_used() -> None:
    server = serve()
    expected = [("now", "At once"), ("day", "Today"), ("other", "Other"), ("male", "Male"), ("female", "Female")]
    assert expand(server.get("ValueSet/choice/$expand")) == expected
    assert expand(server.get(f"ValueSet/$expand?url={CHOICE['url']}")) == expected
    inline = {"resourceType": "ValueSet", "status": "active", "compose": {"include": [{"valueSet": [CHOICE["url"]]}]}}
    assert expand(server.send("POST", "ValueSet/$expand", build_parameters(valueSet=inline))) == expected
    assert read_parameters(server.get(f"CodeSystem/$validate-code?url={TRIAGE['url']}&code=day"))["result"] is True
    assert read_parameters(server.get("ValueSet/choice/$validate-code?code=unknown"))["result"] is False
    done = server.send("POST", "", bundle("batch", entry("GET", "ValueSet/choice/$expand?count=1")))
    assert done.entries[0]["resource"]["expansion"]["total"] == 5


@pytest.mark.parametrize(
    ("query", "result", "message"),
    [
        (f"ValueSet/$validate-code?url={GENDERS}&system={GENDER}&code=male", True, ""),
        (f"ValueSet/$validate-code?url={GENDERS}&code=male&display=MALE", True, ""),
        (f"ValueSet/$validate-code?url={GENDERS}&system={GENDER}&code=male&display=Man", False, "its name is 'Male'"),
        (f"ValueSet/$validate-code?url={GENDERS}&system={LOINC}&code=male", False, "is not in the value set"),
        (f"CodeSystem/$validate-code?url={GENDER}&code=m", False, "is not a code of"),
        (f"CodeSystem/$validate-code?url={SNOMED}&code=1", False, "one of the 2 codes that this server knows of"),
        (f"CodeSystem/$validate-code?url={SNOMED}&code=195967001&display=asthma", True, ""),
    ],
)
def test_codes_are_validated(query: str, result: bool, message: str) -> None:
    found = read_parameters(serve().get(query))
    assert found["result"] is result
    assert message in found.get("message", "")


def test_a_concept_is_valid_if_one_of_its_codings_is() -> None:
    concept = {"coding": [{"system": LOINC, "code": "x"}, {"system": GENDER, "code": "male"}]}
    posted = build_parameters(url=GENDERS, codeableConcept=concept)
    assert read_parameters(serve().send("POST", "ValueSet/$validate-code", posted))["result"] is True
    posted = build_parameters(coding={"system": GENDER, "code": "male", "display": "Male"})
    assert read_parameters(serve().send("POST", "CodeSystem/$validate-code", posted))["result"] is True


@pytest.mark.parametrize(
    ("query", "status", "code", "named"),
    [
        ("ValueSet/$expand?url=http://clinic.example/none", 404, "not-found", "http://clinic.example/none"),
        ("ValueSet/$expand?url=http://hl7.org/fhir/ValueSet/condition-code", 422, "not-supported", SNOMED),
        (f"ValueSet/$expand?url={SNOMED}?fhir_vs=isa/1", 422, "not-supported", "hierarchy"),
        ("ValueSet/$expand", 400, "required", "url"),
        ("ValueSet/none/$expand", 404, "not-found", "ValueSet/none"),
        (f"ValueSet/$expand?url={GENDERS}&count=many", 400, "value", "count"),
        (f"ValueSet/$expand?url={GENDERS}&context=x", 400, "not-supported", "context"),
        (f"ValueSet/$expand?url={GENDERS}&valueSet=x", 400, "value", "valueSet"),
        (f"ValueSet/$validate-code?url={GENDERS}", 400, "required", "code"),
        ("CodeSystem/$lookup?system=http://clinic.example/none&code=x", 404, "not-found", "http://clinic.example/none"),
        (f"CodeSystem/$lookup?system={GENDER}&code=x", 404, "not-found", "'x'"),
        ("CodeSystem/$lookup?code=x", 400, "required", "system"),
    ],
)
def test_what_is_not_known_is_refused_by_name(query: str, status: int, code: str, named: str) -> None:
    server = serve()
    with server.assert_unchanged():
        answer = server.get(query)
        assert (answer.status, answer.codes) == (status, [code])
        assert named in answer.json["issue"][0]["diagnostics"]


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'{"resourceType":"Parameters","parameter":[{"name":"url"}]}',
        b'{"resourceType":"Parameters","parameter":[{"name":"url","valueUri":7}]}',
        b'{"resourceType":"Parameters","parameter":[{"name":"valueSet","resource":[]}]}',
        b'{"resourceType":"Parameters","parameter":[{"name":"valueSet","resource":{"compose":{"include":[{"system":"x"}]}}}]}',
    ],
)
def test_malformed_parameters_are_refused(body: bytes) -> None:
    server = serve()
    with server.assert_unchanged():
        assert server.send("POST", "ValueSet/$expand", body).status in (400, 404)


def test_value_sets_that_include_each_other_and_filters_are_refused() -> None:
    server = serve()
    for include, code in (
        ({"valueSet": ["http://clinic.example/loop"]}, "too-costly"),
        ({"system": SNOMED, "filter": [{"property": "concept", "op": "is-a", "value": "1"}]}, "not-supported"),
    ):
        made = {**CHOICE, "id": "loop", "url": "http://clinic.example/loop", "compose": {"include": [include]}}
        assert server.send("PUT", "ValueSet/loop", made).status in (200, 201)
        assert server.get("ValueSet/loop/$expand").codes == [code]


def test_statement_lists_the_operations() -> None:
    [rest] = Server().get("metadata").json["rest"]
    named = {each["type"]: {one["name"] for one in each["operation"]} for each in rest["resource"]}
    assert named["ValueSet"] == {"expand", "validate-code", "validate"}
    assert named["CodeSystem"] == {"lookup", "validate-code", "validate"}
