"""`voice_path`: the nodes that calls came to."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.sandbox.assertion import Check
from clerkship.simulators.voice.assertions.voice_path import VoicePath
from tests.simulators.voice.call_log_builder import PAYER, PHARMACY, CallLogBuilder


def check(log: CallLogBuilder, **fields: Any) -> Check:
    """Check a criterion on a log."""
    return VoicePath.model_validate(fields).check(log.evidence())


def build_call(*nodes: str) -> CallLogBuilder:
    """Return a log with one call that came to nodes."""
    log = CallLogBuilder()
    call = log.start()
    log.visit(call, *nodes)
    log.end(call)
    return log


def test_nodes_are_visited_in_order_with_others_between() -> None:
    log = build_call("welcome", "member", "birth_date", "status")
    result = check(log, number=PAYER, nodes=["welcome", "provider_line/status"])
    assert result.passed
    assert [row.seq for row in result.evidence] == [3, 6]
    assert check(log, nodes=["welcome", "status"], exactly=True).passed is False
    assert check(log, nodes=["welcome", "member", "birth_date", "status"], exactly=True).passed


def test_wrong_order_fails_and_says_so() -> None:
    result = check(build_call("status", "welcome"), nodes=["welcome", "status"])
    assert (result.passed, result.score) == (False, 0.5)
    assert "nodes[1]: expected 'status', actual (only earlier)" in result.detail
    assert "went status > welcome" in result.detail


def test_node_of_another_tree_or_another_call_does_not_count() -> None:
    log = build_call("welcome")
    other = log.start(PHARMACY)
    log.visit(other, "welcome", "refill", tree="pharmacy")
    log.end(other)
    assert not check(log, number=PAYER, nodes=["refill"]).passed
    assert not check(log, nodes=["provider_line/refill"]).passed
    assert not check(log, tree="provider_line", nodes=["refill"]).passed
    assert check(log, tree="pharmacy", nodes=["welcome", "refill"], exactly=True).passed


def test_nodes_of_two_calls_are_not_one_path() -> None:
    log = build_call("welcome")
    call = log.start()
    log.visit(call, "status")
    assert not check(log, nodes=["welcome", "status"]).passed


def test_forbidden_node_fails_in_any_call_and_is_worth_nothing() -> None:
    log = build_call("welcome", "status")
    call = log.start()
    log.visit(call, "operator")
    result = check(log, nodes=["welcome", "status"], never=["operator"])
    assert (result.passed, result.score) == (False, 0.0)
    assert result.evidence[-1].seq == 8
    assert check(log, nodes=["welcome", "status"], never=["billing"]).passed


def test_visits_are_counted_over_all_calls() -> None:
    log = build_call("member", "member", "status")
    assert check(log, count={"member": 2, "status": {"lte": 1}}).passed
    result = check(log, count={"member": 1})
    assert not result.passed
    assert result.evidence[0].actual == 2


def test_without_a_call_expected_nodes_fail_and_forbidden_ones_hold() -> None:
    log = CallLogBuilder()
    assert check(log, nodes=["welcome"], never=["operator"]).passed is False
    assert check(log, count={"welcome": {"gte": 1}}).passed is False
    assert check(log, never=["operator"]).passed
    assert VoicePath.model_validate({"never": ["a"]}).passes_on_inaction
    assert not VoicePath.model_validate({"nodes": ["a"]}).passes_on_inaction
    assert not VoicePath.model_validate({"count": {"a": 1}}).passes_on_inaction


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "expected `nodes`"),
        ({"never": ["a"], "exactly": True}, "`exactly` needs `nodes`"),
        ({"never": ["a"], "nodes": ["a"]}, "is in `nodes` and in `never`"),
        ({"count": {"a": -1}}, "whole number"),
    ],
)
def test_impossible_options_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        VoicePath.model_validate(fields)
