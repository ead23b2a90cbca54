"""Assertions and steps in each form that files may have."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.model.call import AssertionCall, StepCall


@pytest.mark.parametrize(
    ("written", "name", "args"),
    [
        ({"file_present": {"path": "a"}}, "file_present", {"path": "a"}),
        ({"file-present": {"path": "a"}}, "file_present", {"path": "a"}),
        ({"assert": "file-present", "path": "a"}, "file_present", {"path": "a"}),
        ({"assert": "never"}, "never", {}),
        ({"sequencing": [{"flow_started": "x"}]}, "sequencing", [{"flow_started": "x"}]),
        ({"action_executed": "look_up"}, "action_executed", "look_up"),
        ("file-present", "file_present", None),
        ({"never": None}, "never", None),
    ],
)
def test_assertion_is_a_map_with_one_key_or_uses_assert(written: Any, name: str, args: Any) -> None:
    call = AssertionCall.model_validate(written)
    assert (call.name, call.args) == (name, args)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({}, "not an empty one"),
        ({"a": 1, "b": 2}, r"not 2 \(a, b\)"),
        ([], "not a list"),
        (None, "not nothing"),
        (5, "not 5"),
    ],
)
def test_other_forms_are_rejected_with_the_actual_value(written: Any, found: str) -> None:
    with pytest.raises(ValidationError, match=f"expected a map with one key, the assertion's name, {found}"):
        AssertionCall.model_validate(written)


def test_step_can_have_a_time() -> None:
    step = StepCall.model_validate({"at": "+10m", "files.drop": {"path": "a"}})
    assert (step.name, step.args, step.at) == ("files.drop", {"path": "a"}, timedelta(minutes=10))
    assert StepCall.model_validate({"files.drop": None}).at is None


@pytest.mark.parametrize("written", [{}, {"at": "5m"}, {"a": 1, "b": 2}, {"at": "5m", "a": 1, "b": 2}])
def test_step_has_exactly_one_name(written: Any) -> None:
    with pytest.raises(ValidationError, match="expected one step name beside `at`"):
        StepCall.model_validate(written)


@pytest.mark.parametrize("written", [None, 5, "files.drop", []])
def test_step_must_be_a_map(written: Any) -> None:
    with pytest.raises(ValidationError, match="expected a map with one key, the step's name, not"):
        StepCall.model_validate(written)


@pytest.mark.parametrize("at", ["soon", -5, True, [1]])
def test_time_of_a_step_is_a_duration(at: Any) -> None:
    with pytest.raises(ValidationError, match="expected a duration"):
        StepCall.model_validate({"at": at, "clock.advance": {"by": "1s"}})


def test_call_round_trips() -> None:
    call = AssertionCall.model_validate({"assert": "never", "event": "files.*"})
    assert call.model_dump(mode="json") == {"never": {"event": "files.*"}}
    assert AssertionCall.model_validate(call.model_dump(mode="json")) == call
    step = StepCall.model_validate({"at": 90, "clock.advance": {"by": "5s"}})
    assert step.model_dump(mode="json") == {"at": "1m30s", "clock.advance": {"by": "5s"}}
    assert StepCall.model_validate(step.model_dump(mode="json")) == step
