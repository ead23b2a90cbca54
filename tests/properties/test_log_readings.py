"""Criteria and reports read from the log what the state has: both use the same rules."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.simulators.voice.random_calls import compare_calls

READINGS: Mapping[str, Callable[[st.DataObject], tuple[Any, Any]]] = {"voice": compare_calls}
"""Kind -> a function that plays random requests through a real sandbox. It returns what the state has as plain data,
and the same as criteria read it from the log."""


@pytest.mark.parametrize("kind", READINGS)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_log_is_read_as_the_state_has_it(kind: str, data: st.DataObject) -> None:
    state, read = READINGS[kind](data)
    assert read == state
