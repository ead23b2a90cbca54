"""Paths into resources: plain ones by our own walk, which must agree with FHIRPath's, and expressions."""

import copy
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.fhir import exact
from clerkship.fhir.expectation import all_fit, fits
from clerkship.fhir.expression import LONGEST, BadPath, compile_expression
from clerkship.fhir.fhirpath import compile_path, values_at
from clerkship.model.pattern import PatternTooSlow

POTASSIUM: dict[str, Any] = {
    "resourceType": "Observation",
    "id": "k",
    "status": "final",
    "code": {"coding": [{"system": "loinc", "code": "2823-3"}, {"system": "local", "code": "K"}], "text": "Potassium"},
    "subject": {"reference": "Patient/1"},
    "effectiveDateTime": "2026-03-02",
    "valueQuantity": {"value": 5.4, "unit": "mmol/L"},
    "component": [{"valueString": "hemolysed"}, {"valueQuantity": {"value": 1}}],
}
ANA: dict[str, Any] = {
    "resourceType": "Patient",
    "id": "1",
    "active": True,
    "birthDate": "1965-03-15",
    "name": [{"family": "Silva", "given": ["Ana", "Maria"]}, {"use": "nickname", "given": ["Nana", None]}],
    "deceasedBoolean": False,
    "multipleBirthInteger": 2,
    "contact": [{"name": {"family": "Silva"}}],
}


@pytest.mark.parametrize(
    ("resource", "path", "found"),
    [
        (ANA, "active", [True]),
        (ANA, "Patient.active", [True]),
        (ANA, "Resource.id", ["1"]),
        (ANA, "Observation.active", []),
        (ANA, "name.family", ["Silva"]),
        (ANA, "name.given", ["Ana", "Maria", "Nana"]),
        (ANA, "name[0].given[1]", ["Maria"]),
        (ANA, "name.0.given.1", ["Maria"]),
        (ANA, "name[*].given", ["Ana", "Maria", "Nana"]),
        (ANA, "name.*.given", ["Ana", "Maria", "Nana"]),
        (ANA, "name.given[0]", ["Ana"]),
        (ANA, "name[7].given", []),
        (ANA, "deceased", [False]),
        (ANA, "multipleBirth", [2]),
        (ANA, "birth", []),  # `birthDate` is no choice
        (ANA, "active.value", []),
        (ANA, "nothing.of.it", []),
        (POTASSIUM, "value.value", [5.4]),
        (POTASSIUM, "valueQuantity.value", [5.4]),
        (POTASSIUM, "component.value", ["hemolysed", {"value": 1}]),
        (POTASSIUM, "code.coding.code", ["2823-3", "K"]),
        (POTASSIUM, "effective", ["2026-03-02"]),
        (POTASSIUM, "code.coding.where(system = 'loinc').code", ["2823-3"]),
        (POTASSIUM, "code.coding.count()", [2]),
        (POTASSIUM, "value.value > 5.5", [False]),
        (POTASSIUM, "(value as Quantity).unit", ["mmol/L"]),
        (POTASSIUM, "component.where(value is Quantity).value.value", [1]),
        (POTASSIUM, "effective + 1 day", ["2026-03-03"]),
        (POTASSIUM, "subject.reference.substring(8)", ["1"]),
        (POTASSIUM, "status.matches('^fin')", [True]),
        (POTASSIUM, "status.replaceMatches('^fin', 'f')", ["fal"]),
        (POTASSIUM, "%resource.id", ["k"]),
        (POTASSIUM, "note.where(text.exists())", []),
    ],
)
def test_a_path_leads_to_its_values(resource: dict[str, Any], path: str, found: list[Any]) -> None:
    before = copy.deepcopy(resource)
    assert values_at(resource, path) == found
    assert resource == before


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "expected a path"),
        ("  ", "expected a path"),
        ("*", "names no element"),
        ("0", "names no element"),
        ("a..b", "at character 3"),
        ("status status", "at character 8"),
        ("name.where(", "at character 12"),
        ("status |", "is no FHIRPath"),
        ("'never closed", "is no FHIRPath"),
        ("name.wher(use = 'x')", "unknown function `wher()`; did you mean `where`?"),
        ("name.select(x.where(y.nonsense()))", "unknown function `nonsense()`"),
        ("name.where()", "`where()` takes 1 arguments, not 0"),
        ("subject.resolve()", "unknown function `resolve()`"),
        ("birthDate < now()", "a check has no clock"),
        ("birthDate < today()", "a check has no clock"),
        ("name.trace('x')", "it prints"),
        ("status.matches('^(a|aa)+$(?<=b)')", "the pattern is too slow"),
        ("status.replaceMatches('(', 'x')", "not a regular expression"),
        ("%patient.name", "unknown variable `%patient`"),
        ("$this.status", "`$this`"),
        ("(" * 400 + "1" + ")" * 400, "nested too deeply"),
        ("a" * LONGEST + "+1", f"{LONGEST} characters"),
    ],
)
def test_what_is_no_path_is_refused_before_anything_runs(path: str, words: str) -> None:
    with pytest.raises(BadPath) as refused:
        compile_path(path)
    assert words in str(refused.value)


def test_a_regular_expression_that_backtracks_without_end_does_not_hang() -> None:
    slow = compile_path("status.matches(id)")  # a literal pattern would be refused before anything runs
    with pytest.raises(PatternTooSlow):
        slow({"resourceType": "Basic", "status": "a" * 60, "id": "^(a|aa)+$(?<=b)"})


def test_numbers_with_more_digits_than_plain_json_keeps_are_plain_here() -> None:
    resource = exact.loads(b'{"resourceType":"Observation","valueQuantity":{"value":1.50},"x":[{"y":[2.10]}]}')
    for path, found in [("value.value", [1.5]), ("value", [{"value": 1.5}]), ("x", [{"y": [2.1]}])]:
        assert values_at(resource, path) == found
        assert not exact.is_exact(values_at(resource, path))


def flat(items: list[Any]) -> list[Any]:
    """FHIR has no lists of lists."""
    return [part for item in items for part in (item if isinstance(item, list) else [item])]


NAMES = st.sampled_from(["status", "name", "given", "coding", "code", "subject", "use"])
DATA = st.recursive(
    st.text("ab", min_size=1, max_size=2) | st.integers(0, 3) | st.booleans(),
    lambda inner: st.dictionaries(NAMES, inner, min_size=1) | st.lists(inner, min_size=1, max_size=3).map(flat),
    max_leaves=12,
)


@given(
    st.dictionaries(NAMES, DATA, min_size=1),
    st.lists(st.tuples(NAMES, st.none() | st.integers(0, 2)), min_size=1, max_size=4),
)
def test_our_walk_goes_where_fhirpath_goes(body: dict[str, Any], steps: list[tuple[str, int | None]]) -> None:
    resource = {"resourceType": "Parameters", **body}
    path = ".".join(name + (f"[{index}]" if index is not None else "") for name, index in steps)
    assert values_at(resource, path) == compile_expression(path)(resource)


def test_plain_paths_cost_no_import() -> None:
    code = """import sys
from clerkship.fhir.fhirpath import values_at
values_at({}, "a.b[0]")
print("fhirpathpy" in sys.modules)"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("expected", "values", "passed"),
    [
        ("a", ["a"], True),
        ("a", ["b", "a"], True),
        ("a", [], False),
        (None, [], True),
        (None, ["a"], False),
        (True, [1], False),
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        ([], [], True),
        ({"equals": ["a", "b"]}, ["a", "b"], True),
        ({"equals": None}, [], True),
        ({"exists": True}, ["a"], True),
        ({"exists": False}, [], True),
        ({"exists": False}, ["a"], False),
        ({"not": "a"}, ["b", "a"], False),
        ({"not": "a"}, ["b"], True),
        ({"not": "a"}, [], True),
        ({"not": {"in": ["a", "b"]}}, ["c", "b"], False),
        ({"not": {"exists": True}}, [], True),
        ({"exists": True, "not": "a"}, [], False),
        ({"gte": 3, "lt": 5}, [1, 9], False),  # one value must be both
        ({"gte": 3, "lt": 5}, [1, 4, 9], True),
        ({"contains": "il"}, ["x", "Silva"], True),
        ({"contains": 7}, [6, 7], True),
        ({"in": ["a", "b"]}, ["z", "b"], True),
        ({"matches": "^S"}, ["Silva"], True),
        ({"family": "Silva"}, [{"family": "Silva"}], True),
    ],
)
def test_what_is_expected_of_several_values(expected: Any, values: list[Any], passed: bool) -> None:
    assert fits(expected, values) is passed


def test_several_paths_must_all_fit() -> None:
    assert all_fit(ANA, {"name.family": "Silva", "name.given": {"not": "Eva"}, "deceased": False})
    assert not all_fit(ANA, {"name.family": "Silva", "deceased": True})
