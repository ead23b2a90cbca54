"""Exactly one of `slot_was_set` and `slot_was_not_set` holds for any history."""

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.assertions.registry import load_assertions
from clerkship.events import agent
from clerkship.events.event import Payload
from tests.assertions.log_builder import LogBuilder
from tests.examples import examples

BY_NAME = {assertion.name: assertion for assertion in load_assertions()}
NAMES = st.sampled_from("ab")
VALUES = st.sampled_from([None, "", "v", 0, 1, True, ["v"], {"gte": 1}])
MATCHERS = st.sampled_from([{"not": None}, {"not": "v"}, {"gte": 1}, {"in": ["v", None]}, {"equals": None}])
TURNS = st.none() | st.integers(0, 2) | st.just({"gte": 1})

slots = st.builds(agent.SlotSet, name=NAMES, value=VALUES)
memories = st.builds(agent.MemorySet, name=NAMES, value=VALUES) | st.builds(agent.MemoryCleared, name=NAMES)


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": draw(NAMES)}
    if draw(st.booleans()):
        entry["value"] = draw(VALUES | MATCHERS)
    if (turn := draw(TURNS)) is not None:
        entry["turn"] = turn
    return entry


def passes(name: str, entry: dict[str, Any], history: list[Payload | None], compat: Literal["rasa"] | None) -> bool:
    """Return whether an assertion with one entry holds. None in the history begins a turn."""
    log_builder = LogBuilder()
    for payload in history:
        if payload is None:
            log_builder.add_message("Go on.", actor="person")
        else:
            log_builder.add_event(payload)
    return BY_NAME[name].model_validate([entry]).check(log_builder.evidence(compat=compat)).passed


@pytest.mark.parametrize("at", [{}, {"at": "end"}])
@settings(max_examples=examples(100), deadline=None)
@given(st.lists(slots | st.none(), max_size=8), entries())
def test_exactly_one_slot_assertion_holds(at: dict[str, str], history: list[Any], entry: dict[str, Any]) -> None:
    entry = entry | at
    assert passes("slot_was_set", entry, history, None) != passes("slot_was_not_set", entry, history, None)


@pytest.mark.parametrize("at", [{}, {"at": "end"}])
@settings(max_examples=examples(100), deadline=None)
@given(st.lists(memories | st.none(), max_size=8), entries().filter(lambda entry: entry.get("value", 0) is not None))
def test_exactly_one_memory_assertion_holds(at: dict[str, str], history: list[Any], entry: dict[str, Any]) -> None:
    entry = entry | at
    assert passes("memory_was_set", entry, history, None) != passes("memory_was_not_set", entry, history, None)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(slots | st.none(), max_size=8), entries())
def test_under_rasa_slot_was_not_set_is_the_negation_of_the_last_value(
    history: list[Any], entry: dict[str, Any]
) -> None:
    at_end = entry | {"at": "end"}
    not_set = passes("slot_was_not_set", entry, history, "rasa")
    assert not_set != passes("slot_was_set", at_end, history, "rasa")
    assert not_set == passes("slot_was_not_set", at_end, history, "rasa")


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(slots, max_size=8), NAMES)
def test_a_reset_to_null_never_counts_as_set(history: list[Any], name: str) -> None:
    without = [payload for payload in history if payload.value is not None]
    entry = {"name": name}
    assert passes("slot_was_set", entry, history, None) == passes("slot_was_set", entry, without, None)
