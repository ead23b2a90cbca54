"""Validation: which issues are issues, where, and with which text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.formats.fhir.definitions import RESOURCE_TYPES, element_names
from clerkship.formats.fhir.resource import Resource, parse_resource, render_resource
from clerkship.formats.fhir.validation import MAX_DEPTH, MAX_ISSUES, split_lenient, validate
from tests.examples import examples
from tests.formats.fhir.cases import CASES
from tests.formats.fhir.mutations import GONE, change_value, iter_mutations
from tests.formats.fhir.samples import BUNDLE, OBSERVATION, PATIENT, QUESTIONNAIRE, SAMPLES, build_reference
from tests.waiting import processor_limit


@pytest.mark.parametrize("resource", SAMPLES, ids=lambda sample: str(sample["resourceType"]))
def test_valid_resource_has_no_issues(resource: Resource) -> None:
    before = render_resource(resource)
    assert validate(resource) == []
    assert validate(parse_resource(before)) == []
    assert render_resource(resource) == before


@pytest.mark.parametrize(("resource", "path", "value", "where", "code", "text"), CASES)
def test_issue_names_the_error_and_its_location(
    resource: Resource, path: str, value: Any, where: str, code: str, text: str
) -> None:
    changed = change_value(resource, path, value) if path else {**resource, "": value}
    issues = validate(changed)
    if not code:
        assert issues == []
        return
    assert any(issue.expression == where and issue.code == code and text in issue.text for issue in issues), issues
    assert all(issue.severity == "error" for issue in issues)


@pytest.mark.parametrize("resource", SAMPLES, ids=lambda sample: str(sample["resourceType"]))
def test_mutation_is_reported_at_its_location(resource: Resource) -> None:
    made = list(iter_mutations(resource))
    assert len(made) > 15
    for what, where, broken in made:
        issues = validate(broken)
        assert any(issue.expression.startswith(where) for issue in issues if issue.expression) or (
            what in ("unknown type", "no type") and issues
        ), (what, where, issues)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=8), below, max_size=4),
    max_leaves=12,
)


@st.composite
def draw_resource(draw: st.DrawFn) -> Any:
    """Draw a resource with arbitrary values in some elements."""
    type = draw(st.sampled_from(sorted(RESOURCE_TYPES)))
    names = st.sampled_from(sorted(element_names(type) | {"_" + name for name in element_names(type)}))
    return {"resourceType": type, **draw(st.dictionaries(names, JSON, max_size=6))}


@settings(max_examples=examples(200), deadline=None)
@given(JSON | draw_resource())
def test_validation_never_raises(value: Any) -> None:
    for issue in validate(value):
        assert issue.text
        assert len(issue.text) < 2000


@pytest.mark.parametrize("resource", SAMPLES, ids=lambda sample: str(sample["resourceType"]))
def test_element_name_that_is_not_text_is_reported(resource: Resource) -> None:
    names: dict[Any, Any] = {**resource, 5: "x", None: 1}
    assert [issue.text.partition(": ")[2] for issue in validate(names)] == [
        "5 is not a name of an element",
        "None is not a name of an element",
    ]


def test_all_issues_are_reported_at_once() -> None:
    broken = {"resourceType": "MedicationRequest", "status": "done", "priority": "soon", "note": []}
    texts = [issue.text for issue in validate(broken)]
    assert [text.partition(":")[0].removeprefix("MedicationRequest.") for text in texts] == [
        *("status", "priority", "note", "intent", "subject", "medication"),
    ]


@pytest.mark.parametrize("nothing", [None, [], "Patient", 5, {}, {"id": "x"}])
def test_data_that_is_not_a_resource_is_always_refused(nothing: Any) -> None:
    [issue] = validate(nothing)
    assert split_lenient([issue]) == ([issue], [])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("zzz", 1),
        ("gender", "girl"),
        ("link[0].other", GONE),
        ("generalPractitioner[0]", build_reference("Patient/1")),
        ("name", []),
        ("contact[0].name", GONE),
    ],
)
def test_issues_that_a_lenient_server_accepts(path: str, value: Any) -> None:
    issues = validate(change_value(PATIENT, path, value))
    assert issues
    assert split_lenient(issues) == ([], issues)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("id", "a b"),
        ("name", "Ada"),
        ("birthDate", "yesterday"),
        ("multipleBirthBoolean", True),
        ("active", "yes"),
        ("contact[0].gender", None),
        ("generalPractitioner[0].reference", "nobody"),
    ],
)
def test_issues_that_a_lenient_server_refuses(path: str, value: Any) -> None:
    issues = validate(change_value(PATIENT, path, value))
    assert issues
    assert split_lenient(issues) == (issues, [])


def build_nested_questionnaire(deep: int) -> Resource:
    """Return nested questions."""
    item: dict[str, Any] = {"linkId": "last", "type": "boolean"}
    for number in range(deep):
        item = {"linkId": str(number), "type": "group", "item": [item]}
    return {**QUESTIONNAIRE, "item": [item]}


def test_nesting_depth_is_limited() -> None:
    assert validate(build_nested_questionnaire(MAX_DEPTH - 2)) == []
    [issue] = validate(build_nested_questionnaire(5000))
    assert issue.code == "too-long"
    assert f"nested more than {MAX_DEPTH} deep" in issue.text
    assert split_lenient([issue]) == ([issue], [])


@pytest.mark.parametrize("within", ["extension", "contained", "bundle"])
def test_nesting_depth_is_limited_for_every_recursive_element(within: str) -> None:
    made: Any = {"url": "last", "valueString": "x"} if within == "extension" else {"resourceType": "Basic"}
    for _ in range(5000):
        if within == "extension":
            made = {"url": "more", "extension": [made]}
        elif within == "contained":
            made = {"resourceType": "Patient", "contained": [made]}
        else:
            made = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": made}]}
    issues = validate({"resourceType": "Patient", "extension": [made]} if within == "extension" else made)
    assert any(issue.code == "too-long" for issue in issues)


def test_number_of_listed_issues_is_limited() -> None:
    issues = validate({**PATIENT, **{f"element{number}": 1 for number in range(50_000)}})
    assert len(issues) == MAX_ISSUES + 1
    assert "more than 1000 issues" in issues[-1].text


def test_long_values_are_truncated_in_issues() -> None:
    for issue in validate({**PATIENT, "gender": "x" * 1_000_000, "y" * 1_000_000: 1, "birthDate": "1" * 1_000_000}):
        assert len(issue.text) < 300
        assert len(issue.expression) < 200


HOSTILE = {
    "code": ("gender", "a " * 100_000 + " "),
    "reference": ("managingOrganization", build_reference("http://" + "A/" * 100_000 + "?")),
    "base64": ("photo", [{"data": " " * 200_000 + "!", "contentType": "x"}]),
    "date": ("birthDate", "9" * 200_000),
    "div": ("text", {"status": "generated", "div": "<b>" * 200_000}),
    "list": ("name", [{"text": "x"}] * 20_000),
    "contained": ("contained", [{"resourceType": "Basic", "id": "x", "code": {"text": "x"}}] * 20_000),
    "extensions": ("_birthDate", {"extension": [{"url": "u", "valueString": "x"}] * 20_000}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_validation_time_of_hostile_input_is_limited(kind: str) -> None:
    name, value = HOSTILE[kind]
    with processor_limit():  # quadratic work would take minutes
        validate({**PATIENT, name: value})


def test_validation_time_of_a_large_bundle_is_limited() -> None:
    entry = {"resource": OBSERVATION, "request": {"method": "POST", "url": "Observation"}}
    with processor_limit():
        assert validate({**BUNDLE, "entry": [entry] * 2000}) == []
