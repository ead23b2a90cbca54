"""Assertions on slots and memory: matchers, turns, counts, and the texts of failures."""

from typing import Any

import pytest

from clerkship.assertions.registry import load_assertions
from clerkship.events import agent
from clerkship.sandbox.assertion import Check
from tests.assertions.log_builder import LogBuilder

BY_NAME = {assertion.name: assertion for assertion in load_assertions()}


def check(log_builder: LogBuilder, name: str, *entries: Any) -> Check:
    """One assertion on a log."""
    return BY_NAME[name].model_validate(list(entries)).check(log_builder.evidence())


@pytest.fixture
def log_builder() -> LogBuilder:
    """A slot that the scenario set, one that changed, one that was taken back, a memory that was lost."""
    log_builder = LogBuilder()
    log_builder.add_event(agent.SlotSet(name="account", value="123"), actor="scenario")  # 1, turn 0
    log_builder.add_message("Hello", actor="person")  # 2
    log_builder.add_event(agent.SlotSet(name="order_id", value="ORD-1"))  # 3
    log_builder.add_event(agent.SlotSet(name="amount", value=500))  # 4
    log_builder.add_message("No, the other.", actor="person")  # 5
    log_builder.add_event(agent.SlotSet(name="order_id", value="ORD-2"))  # 6
    log_builder.add_event(agent.SlotSet(name="amount", value=None))  # 7
    log_builder.add_event(agent.MemorySet(name="likes", value=["tea"]))  # 8
    log_builder.add_event(agent.MemoryCleared(name="likes"))  # 9
    return log_builder


@pytest.mark.parametrize(
    ("name", "entry", "passed"),
    [
        ("slot_was_set", {"name": "account"}, True),
        ("slot_was_set", {"name": "account", "turn": {"gte": 1}}, False),
        ("slot_was_set", {"name": "order_id", "count": 2}, True),
        ("slot_was_set", {"name": "order_id", "value": {"matches": "^ORD-"}, "count": {"gte": 2}}, True),
        ("slot_was_set", {"name": "order_id", "value": "ORD-1", "turn": 1}, True),
        ("slot_was_set", {"name": "order_id", "value": "ORD-1", "turn": 2}, False),
        ("slot_was_set", {"name": "amount", "value": {"gt": 400, "lt": 600}}, True),
        ("slot_was_set", {"name": "amount", "value": {"not": None}, "count": 0}, False),
        ("slot_was_set", {"name": "transfer", "value": {"not": None}, "count": 0}, True),
        ("slot_was_set", {"name": "amount", "count": 1}, True),
        ("slot_was_set", {"name": "amount", "at": "end"}, False),
        ("slot_was_set", {"name": "amount", "turn": 1, "at": "end"}, True),
        ("slot_was_set", {"name": "order_id", "value": "ORD-2", "at": "end"}, True),
        ("slot_was_not_set", {"name": "amount"}, False),
        ("slot_was_not_set", {"name": "amount", "at": "end"}, True),
        ("slot_was_not_set", {"name": "amount", "turn": 1}, False),
        ("slot_was_not_set", {"name": "amount", "turn": 2}, True),
        ("slot_was_not_set", {"name": "account", "turn": {"gte": 1}}, True),
        ("slot_was_not_set", {"name": "order_id", "value": {"matches": "2$"}}, False),
        ("slot_was_not_set", {"name": "order_id", "value": {"matches": "1$"}}, False),
        ("slot_was_not_set", {"name": "order_id", "value": {"matches": "1$"}, "at": "end"}, True),
        ("memory_was_set", {"name": "likes", "value": {"contains": "tea"}, "turn": 2, "count": 1}, True),
        ("memory_was_set", {"name": "likes", "turn": 1}, False),
        ("memory_was_not_set", {"name": "likes", "turn": 1}, True),
        ("memory_was_not_set", {"name": "likes"}, False),
        ("memory_was_cleared", {"name": "likes", "turn": 2, "count": 1}, True),
        ("memory_was_cleared", {"name": "likes", "turn": 1}, False),
        ("memory_was_cleared", {"name": "hates", "count": 0}, True),
    ],
)
def test_entry_result(log_builder: LogBuilder, name: str, entry: Any, passed: bool) -> None:
    found = check(log_builder, name, entry)
    assert found.passed is passed, found.detail
    assert [row.passed for row in found.evidence] == [passed]


@pytest.mark.parametrize(
    ("name", "entry", "detail"),
    [
        ("slot_was_set", {"name": "order_id", "value": "ORD-2"}, "slot order_id was set to 'ORD-2' in turn 2 (#6)"),
        ("slot_was_set", {"name": "account"}, "slot account was set in turn 0 (#1)"),
        (
            "slot_was_set",
            {"name": "order_id", "value": "ORD-3"},
            "slot order_id was never set to 'ORD-3'; it got 'ORD-2' in turn 2 (#6), 'ORD-1' in turn 1 (#3)",
        ),
        ("slot_was_set", {"name": "orderid"}, "slot orderid was never set; nearest: order_id was set in turn 1 (#3)"),
        (
            "slot_was_set",
            {"name": "account", "turn": 1},
            "slot account was never set in turn 1; it got '123' in turn 0 (#1)",
        ),
        (
            "slot_was_set",
            {"name": "order_id", "count": 1},
            "slot order_id was set 2 times (turn 1 (#3), turn 2 (#6)); expected 1",
        ),
        (
            "slot_was_set",
            {"name": "amount", "at": "end"},
            "slot amount was last set to null in turn 2 (#7); expected a value at the end",
        ),
        (
            "slot_was_set",
            {"name": "order_id", "value": "ORD-1", "at": "end"},
            "slot order_id was last set to 'ORD-2' in turn 2 (#6); expected 'ORD-1' at the end",
        ),
        (
            "slot_was_set",
            {"name": "order_id", "at": "end"},
            "slot order_id was last set to 'ORD-2' in turn 2 (#6)",
        ),
        ("slot_was_set", {"name": "account", "turn": 1, "at": "end"}, "slot account was never set in turn 1"),
        (
            "slot_was_not_set",
            {"name": "order_id"},
            "slot order_id was set to 'ORD-1' in turn 1 (#3); expected never set",
        ),
        (
            "slot_was_not_set",
            {"name": "amount"},
            "slot amount was set to 500 in turn 1 (#4); expected never set (`at: end` checks the last value only)",
        ),
        (
            "slot_was_not_set",
            {"name": "order_id", "value": "ORD-2", "turn": 2},
            "slot order_id was set to 'ORD-2' in turn 2 (#6); expected never set to 'ORD-2' in turn 2",
        ),
        (
            "slot_was_not_set",
            {"name": "order_id", "value": "ORD-3"},
            "slot order_id was never set to 'ORD-3'",
        ),
        ("slot_was_not_set", {"name": "amount", "turn": 2}, "slot amount was never set in turn 2"),
        ("slot_was_not_set", {"name": "amount", "at": "end"}, "slot amount was last set to null in turn 2 (#7)"),
        (
            "slot_was_not_set",
            {"name": "order_id", "value": "ORD-2", "at": "end"},
            "slot order_id was last set to 'ORD-2' in turn 2 (#6); expected not 'ORD-2' at the end",
        ),
        (
            "slot_was_not_set",
            {"name": "order_id", "at": "end"},
            "slot order_id was last set to 'ORD-2' in turn 2 (#6); expected no value at the end",
        ),
        (
            "memory_was_not_set",
            {"name": "likes"},
            'memory likes was set to ["tea"] in turn 2 (#8); expected never set (`at: end` checks the last value only)',
        ),
        ("memory_was_not_set", {"name": "likes", "at": "end"}, "memory likes was cleared in turn 2 (#9)"),
        ("memory_was_cleared", {"name": "likes"}, "memory likes was cleared in turn 2 (#9)"),
        (
            "memory_was_cleared",
            {"name": "likes", "turn": 1},
            "memory likes was never cleared in turn 1; it was cleared in turn 2 (#9)",
        ),
    ],
)
def test_detail_of_entry(log_builder: LogBuilder, name: str, entry: Any, detail: str) -> None:
    assert check(log_builder, name, entry).detail == detail


def test_detail_names_failed_entries_and_score_is_share_passed(log_builder: LogBuilder) -> None:
    found = check(
        log_builder, "slot_was_set", {"name": "account"}, {"name": "x"}, {"name": "amount"}, {"name": "order_id"}
    )
    assert (found.passed, found.score) == (False, 0.75)
    assert found.detail.startswith("slot x was never set; nearest: ")
    assert [(row.path, row.actual, row.seq) for row in found.evidence][:2] == [
        ("account", "123", 1),
        ("x", "(never set)", None),
    ]


def test_long_value_is_shortened() -> None:
    log_builder = LogBuilder()
    log_builder.add_event(agent.SlotSet(name="s", value="x" * 5000))
    found = check(log_builder, "slot_was_set", {"name": "s", "value": "y"})
    assert len(found.detail) < 200
    assert len(str(found.evidence[0].actual)) < 2100


def test_detail_names_a_value_that_the_scenario_replaced() -> None:
    log_builder = LogBuilder()
    log_builder.add_event(agent.SlotSet(name="tier", value="silver"))
    log_builder.add_event(agent.SlotSet(name="tier", value="gold"), actor="scenario")
    log_builder.add_message("Hello", actor="person")
    entry = {"name": "tier", "value": "silver"}
    assert check(log_builder, "slot_was_set", entry).detail == (
        "slot tier was never set to 'silver'; it got 'gold' in turn 0 (#2), 'silver' in turn 0 (#1), which "
        "`initial_slots` replaced"
    )
    assert check(log_builder, "slot_was_not_set", entry).detail == (
        "slot tier was never set to 'silver'; `initial_slots` replaced 'silver' in turn 0 (#1)"
    )
