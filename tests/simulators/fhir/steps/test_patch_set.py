"""`set` in `fhir.patch`: values at dotted paths, as JSON Patch."""

from typing import Any

import pytest

from clerkship.model.errors import InputError
from clerkship.simulators.fhir.steps import build_set_operations

ANA: dict[str, Any] = {
    "resourceType": "Patient",
    "id": "ana",
    "active": True,
    "name": [{"family": "Silva", "given": ["Ana", "Maria"]}],
    "telecom": [{"value": "1"}, {"value": "2"}],
}


@pytest.mark.parametrize(
    ("values", "operations"),
    [
        ({"active": False}, [{"op": "add", "path": "/active", "value": False}]),
        ({"Patient.active": False}, [{"op": "add", "path": "/active", "value": False}]),
        ({"active": True}, []),
        ({"active": None}, [{"op": "remove", "path": "/active"}]),
        ({"gender": "female"}, [{"op": "add", "path": "/gender", "value": "female"}]),
        (
            {"name.family": "Souza"},  # there is one alone
            [{"op": "add", "path": "/name", "value": [{"family": "Souza", "given": ["Ana", "Maria"]}]}],
        ),
        (
            {"name[0].given[1]": None},
            [{"op": "add", "path": "/name", "value": [{"family": "Silva", "given": ["Ana"]}]}],
        ),
        (
            {"telecom[2].value": "3"},
            [{"op": "add", "path": "/telecom", "value": [{"value": "1"}, {"value": "2"}, {"value": "3"}]}],
        ),
        ({"telecom.1": None, "telecom.0": None}, [{"op": "remove", "path": "/telecom"}]),
        ({"maritalStatus.text": "single"}, [{"op": "add", "path": "/maritalStatus", "value": {"text": "single"}}]),
        (
            {"address[0].city": "X", "address[0].line[0]": "1 Elm"},
            [{"op": "add", "path": "/address", "value": [{"city": "X", "line": ["1 Elm"]}]}],
        ),
    ],
)
def test_set_builds_operations_for_top_level_elements(values: dict[str, Any], operations: list[Any]) -> None:
    assert build_set_operations(ANA, values) == operations


@pytest.mark.parametrize(
    ("path", "message"),
    [("telecom.value", "ambiguous: the list before `value` has 2 items"), ("telecom[3].value", "would leave a gap")],
)
def test_ambiguous_or_missing_path_is_an_input_error(path: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_set_operations(ANA, {path: "x"})
