"""Paths into resources: plain paths, which must agree with FHIRPath, and FHIRPath expressions."""

import copy
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.evaluation.collection import EvaluationError
from clerkship.formats.fhir.expression import MAX_EXPRESSION_LENGTH, InvalidFhirPath, compile_expression
from clerkship.formats.fhir.fhirpath import compile_path, find_values, resource_matches, values_match
from clerkship.model import pattern
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
BEN: dict[str, Any] = {
    "resourceType": "Patient",
    "birthDate": "1970-05-01",
    "_birthDate": {"extension": [{"url": "time", "valueDateTime": "1970-05-01T06:30:00Z"}]},
    "name": [{"given": ["Ben", None], "_given": [None, {"extension": [{"url": "x", "valueString": "y"}]}]}],
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
        (POTASSIUM, "value.value = 5.4", [True]),
        (POTASSIUM, "value.value != 5.4", [False]),
        (POTASSIUM, "value.value + 0.1 = 5.5", [True]),
        (POTASSIUM, "value > 5 'mmol/L'", [True]),
        (POTASSIUM, "value = 0.0054 'mol/L'", [True]),
        (POTASSIUM, "value = 5.4 'mg'", [False]),
        (POTASSIUM, "value < 6 'xyz'", []),  # a unit that is not known
        (POTASSIUM, "value * 2 'L' = 10.8 'mmol'", [True]),
        (POTASSIUM, "37 'Cel' = 98.6 '[degF]'", []),  # such a unit has no factor
        (POTASSIUM, "37 'Cel' < 38.5 'Cel'", [True]),
        (POTASSIUM, "component.value.ofType(Quantity).value.sum()", [1]),
        (POTASSIUM, "(3 | 1.5 | 2).sum()", [6.5]),
        (POTASSIUM, "(3 | 1.5 | 2).max()", [3]),
        (POTASSIUM, "(3 | 1.5 | 2).min()", [1.5]),
        (POTASSIUM, "(3 | 1.5 | 1.5).avg()", [2.25]),
        (POTASSIUM, "{}.exists() | status.empty()", [False]),
        (POTASSIUM, "(1 | 2) ~ (2 | 1)", [True]),
        (POTASSIUM, "true.toString()", ["true"]),
        (POTASSIUM, "1.50.toString()", ["1.50"]),
        (POTASSIUM, "'a\nb'.matches('a.b')", [True]),
        (POTASSIUM, "'ab'.replaceMatches('(a)(b)', '$2$1')", ["ba"]),
        (POTASSIUM, "effective < @2026-03-02T10:00:00", []),  # it may be later on that day
        (POTASSIUM, "effective <= @2026-04", [True]),
        (POTASSIUM, "@2026-01-31 + 1 month", ["2026-02-28"]),
        (POTASSIUM, "@2026-03-02T23:30:00Z + 45 minutes", ["2026-03-03T00:15:00Z"]),
        (POTASSIUM, "@T23:30 + 45 minutes", ["00:15"]),
        (POTASSIUM, "code.coding.select($this.code.where($this = 'K').combine($this.system))", ["loinc", "K", "local"]),
        (ANA, "name.given.count()", [3]),
        (ANA, "name.select(given.first() & ' ' & family)", ["Ana Silva", "Nana "]),
        (ANA, "birthDate.toString()", ["1965-03-15"]),
        (BEN, "birthDate.count()", [1]),
        (BEN, "birthDate.extension('time').value", ["1970-05-01T06:30:00Z"]),
        (BEN, "name.given.select(hasValue())", [True, False]),
        (BEN, "name.given.count() = name.given.where(hasValue()).count()", [False]),
    ],
)
def test_path_finds_values(resource: dict[str, Any], path: str, found: list[Any]) -> None:
    before = copy.deepcopy(resource)
    assert find_values(resource, path) == found
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
        ("status |", "is not valid FHIRPath"),
        ("'never closed", "is not valid FHIRPath"),
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
        ("value is Quantitty", "unknown type `Quantitty`"),
        ("birthDate > @2026-02-30", "is not a date"),
        ("status > 1 is Integer and 'a' > 1", "cannot compare `a` with `1`"),
        ("$this.status", "`$this`"),
        ("(" * 400 + "1" + ")" * 400, "nested too deeply"),
        ("1" + "+1" * 490, "nested too deeply"),
        ("a" * MAX_EXPRESSION_LENGTH + "+1", f"{MAX_EXPRESSION_LENGTH} characters"),
    ],
)
def test_invalid_path_is_refused_when_compiled(path: str, words: str) -> None:
    with pytest.raises(InvalidFhirPath) as refused:
        compile_path(path)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "path",
    [
        "name.single()",
        "name.given > 'A'",
        "name.family + 1",
        "birthDate + 1 'mo'",
        "(name | name.given).allTrue()",
        "name.as(HumanName)",
        "name.first().startsWith('x')",
        "1 > (active is boolean)",
    ],
)
def test_an_expression_that_has_no_value_raises_an_error(path: str) -> None:
    with pytest.raises(EvaluationError):
        find_values(ANA, path)


def test_a_number_with_a_huge_exponent_does_not_hang() -> None:
    resource = exact.loads(b'{"resourceType":"Observation","valueQuantity":{"value":1e-999999999}}')
    assert find_values(resource, "value.value < 5") == [True]
    assert find_values(resource, "value.value ~ 5") == [False]
    assert find_values(resource, "value.value.toString()") == ["0.0"]


def test_an_expression_with_a_clock_reads_the_time_it_is_given() -> None:
    now = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    expected = {"now()": "2026-03-02T09:30:00.000+00:00", "today()": "2026-03-02", "timeOfDay()": "09:30:00.000"}
    assert {path: find_values(ANA, path, now) for path in expected} == {
        path: [value] for path, value in expected.items()
    }
    assert find_values(POTASSIUM, "effective > today() - 1 week", now) == [True]
    with pytest.raises(InvalidFhirPath, match="no clock"):
        find_values(POTASSIUM, "effective > today() - 1 week")


def test_exact_numbers_are_compared_by_all_their_digits() -> None:
    resource = exact.loads(b'{"resourceType":"Observation","valueQuantity":{"value":0.1000000000000000000001}}')
    assert find_values(resource, "value.value = 0.1") == [False]
    assert find_values(resource, "value.value = 0.1000000000000000000001") == [True]
    assert find_values(resource, "value.value ~ 0.1") == [True]


def test_a_regular_expression_that_backtracks_without_end_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "TIME_LIMIT", 0.1)
    slow = compile_path("status.matches(id)")  # a literal pattern would be refused before anything runs
    with pytest.raises(PatternTooSlow):
        slow({"resourceType": "Basic", "status": "a" * 60, "id": "^(a|aa)+$(?<=b)"})


def test_exact_decimals_are_returned_as_plain_numbers() -> None:
    resource = exact.loads(b'{"resourceType":"Observation","valueQuantity":{"value":1.50},"x":[{"y":[2.10]}]}')
    for path, found in [("value.value", [1.5]), ("value", [{"value": 1.5}]), ("x", [{"y": [2.1]}])]:
        assert find_values(resource, path) == found
        assert not exact.has_exact_decimals(find_values(resource, path))


def flatten(items: list[Any]) -> list[Any]:
    """Flatten lists of lists, which FHIR does not have."""
    return [part for item in items for part in (item if isinstance(item, list) else [item])]


NAMES = st.sampled_from(["status", "name", "given", "coding", "code", "subject", "use"])
DATA = st.recursive(
    st.text("ab", min_size=1, max_size=2) | st.integers(0, 3) | st.booleans(),
    lambda inner: st.dictionaries(NAMES, inner, min_size=1) | st.lists(inner, min_size=1, max_size=3).map(flatten),
    max_leaves=12,
)


@given(
    st.dictionaries(NAMES, DATA, min_size=1),
    st.lists(st.tuples(NAMES, st.none() | st.integers(0, 2)), min_size=1, max_size=4),
)
def test_plain_path_finds_the_same_values_as_fhirpath(
    body: dict[str, Any], steps: list[tuple[str, int | None]]
) -> None:
    resource = {"resourceType": "Parameters", **body}
    path = ".".join(name + (f"[{index}]" if index is not None else "") for name, index in steps)
    assert find_values(resource, path) == compile_expression(path)(resource)


def test_plain_paths_do_not_import_the_parser() -> None:
    code = """import sys
from clerkship.formats.fhir.fhirpath import find_values
find_values({}, "a.b[0]")
print("fhirpathpy" in sys.modules)"""
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
        == "False\n"
    )


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
def test_expectations_on_several_values(expected: Any, values: list[Any], passed: bool) -> None:
    assert values_match(expected, values) is passed


def test_resource_must_match_all_paths() -> None:
    assert resource_matches(ANA, {"name.family": "Silva", "name.given": {"not": "Eva"}, "deceased": False})
    assert not resource_matches(ANA, {"name.family": "Silva", "deceased": True})
