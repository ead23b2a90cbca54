"""Count, turn and negation of assertions on agent events, and the texts of their failures."""

from typing import Any

import pytest

from clerkship.assertions.registry import load_assertions
from clerkship.events import agent
from clerkship.sandbox.assertion import Check
from tests.assertions.log_builder import LogBuilder

BY_NAME = {assertion.name: assertion for assertion in load_assertions()}


def check(log_builder: LogBuilder, name: str, args: Any, compat: str | None = None) -> Check:
    """One assertion on a log."""
    return BY_NAME[name].model_validate(args).check(log_builder.evidence(compat=compat))


@pytest.fixture
def log_builder() -> LogBuilder:
    """A greeting, then two turns: an order is looked up twice, and a refund is called off."""
    log_builder = LogBuilder()
    log_builder.add_message("Welcome.", utter_name="utter_welcome")  # 1, turn 0
    log_builder.add_message("Where is my order?", actor="person")  # 2, turn 1
    log_builder.add_event(agent.FlowStarted(flow_id="check_order_status"))  # 3
    log_builder.add_event(agent.ActionExecuted(name="action_look_up", arguments={"order": "A1", "tries": 1}))  # 4
    log_builder.add_event(agent.FlowCompleted(flow_id="check_order_status", flow_step_id="tell"))  # 5
    log_builder.add_event(agent.ClarificationOffered(flow_ids=("refund", "exchange")))  # 6
    log_builder.add_message("Refund it?", buttons=({"title": "Yes", "payload": "/yes"},))  # 7
    log_builder.add_message("Yes; and the other one?", actor="person")  # 8, turn 2
    log_builder.add_event(agent.FlowStarted(flow_id="refund"))  # 9
    log_builder.add_event(agent.FlowCancelled(flow_id="refund", flow_step_id="ask_amount"))  # 10
    log_builder.add_event(agent.FlowStarted(flow_id="check_order_status"))  # 11
    log_builder.add_event(agent.ActionExecuted(name="action_look_up", arguments={"order": "B2", "tries": 3}))  # 12
    log_builder.add_message("It comes on Monday.", utter_name="utter_date")  # 13
    return log_builder


@pytest.mark.parametrize(
    ("name", "args", "passed"),
    [
        ("flow_started", {"flow_ids": ["check_order_status"], "count": 2}, True),
        ("flow_started", {"flow_ids": ["check_order_status"], "count": 1}, False),
        ("flow_started", {"flow_ids": ["check_order_status"], "count": {"lte": 2}}, True),
        ("flow_started", {"flow_ids": ["check_order_status", "refund"], "count": 2}, False),
        ("flow_started", {"flow_ids": ["check_order_status", "refund"], "count": 3, "operator": "any"}, True),
        ("flow_started", {"flow_ids": ["exchange"], "count": 0}, True),
        ("flow_started", {"flow_ids": ["refund"], "count": 0}, False),
        ("flow_started", {"flow_ids": ["refund"], "turn": 2}, True),
        ("flow_started", {"flow_ids": ["refund"], "turn": 1}, False),
        ("flow_started", {"flow_ids": ["refund"], "turn": {"lte": 1}}, False),
        ("flow_started", {"flow_ids": ["refund"], "turn": 1, "count": 0}, True),
        ("flow_completed", {"flow_id": "check_order_status", "count": 1}, True),
        ("flow_completed", {"flow_id": "check_order_status", "turn": 2}, False),
        ("flow_completed", {"flow_id": "refund", "count": 0}, True),
        ("flow_cancelled", {"flow_id": "refund", "turn": {"gte": 2}, "count": {"gt": 0}}, True),
        ("action_executed", {"name": "action_look_up", "count": 2}, True),
        ("action_executed", {"name": "action_look_up", "turn": 0}, False),
        ("action_executed", {"name": "action_look_up", "arguments": {"order": "B2"}, "turn": 2}, True),
        ("action_executed", {"name": "action_look_up", "arguments": {"order": "B2"}, "turn": 1}, False),
        ("action_executed", {"name": "action_look_up", "arguments": {"tries": {"gte": 2}}, "count": 1}, True),
        ("pattern_clarification_contains", {"flow_ids": ["refund"], "count": 1, "turn": 1}, True),
        ("pattern_clarification_contains", {"flow_ids": ["refund"], "turn": 2}, False),
        ("pattern_clarification_contains", {"flow_ids": ["refund"], "turn": 2, "count": 0}, True),
        ("pattern_clarification_contains", {"names": ["Refund"], "count": 0}, True),
        ("bot_uttered", {"text_matches": ".", "count": 3}, True),
        ("bot_uttered", {"text_matches": ".", "count": {"lt": 3}}, False),
        ("bot_uttered", {"utter_name": "utter_welcome", "turn": 0}, True),
        ("bot_uttered", {"utter_name": "utter_welcome", "turn": {"gte": 1}}, False),
        ("bot_uttered", {"text_matches": "Monday", "count": 0}, False),
        ("bot_did_not_utter", {"text_matches": "Monday", "turn": 1}, True),
        ("bot_did_not_utter", {"text_matches": "Monday", "turn": 2}, False),
        ("flow_not_started", "exchange", True),
        ("flow_not_started", {"flow_ids": ["exchange", "refund"]}, False),
        ("flow_not_started", {"flow_ids": ["refund"], "turn": 1}, True),
        ("flow_not_completed", "refund", True),
        ("flow_not_completed", "check_order_status", False),
        ("flow_not_completed", {"flow_id": "check_order_status", "flow_step_id": "ask"}, True),
        ("flow_not_cancelled", "check_order_status", True),
        ("flow_not_cancelled", {"flow_id": "refund", "flow_step_id": "ask_amount"}, False),
        ("flow_not_cancelled", {"flow_id": "refund", "turn": {"in": [0, 1]}}, True),
        ("action_not_executed", "action_refund", True),
        ("action_not_executed", "action_look_up", False),
        ("action_not_executed", {"name": "action_look_up", "arguments": {"order": "C3"}}, True),
        ("action_not_executed", {"name": "action_look_up", "turn": 0}, True),
        ("sequencing", {"steps": [{"flow_started": "refund"}, {"flow_cancelled": "refund"}], "turn": 2}, True),
        ("sequencing", {"steps": [{"flow_completed": "check_order_status"}], "turn": 2}, False),
        ("sequencing", {"steps": [{"flow_started": "check_order_status"}] * 2, "turn": {"gte": 1}}, True),
        ("sequencing", {"steps": [{"flow_started": "check_order_status"}] * 2, "turn": 1}, False),
    ],
)
@pytest.mark.parametrize("compat", [None, "rasa"])
def test_count_turn_and_negation(
    log_builder: LogBuilder, name: str, args: Any, passed: bool, compat: str | None
) -> None:
    if compat and name == "flow_started" and len(args["flow_ids"]) > 1 and args.get("operator") != "any":
        passed = False
    found = check(log_builder, name, args, compat)
    assert found.passed is passed, found.detail
    assert found.passed == all(row.passed for row in found.evidence)


@pytest.mark.parametrize(
    ("name", "args", "detail"),
    [
        ("flow_started", "refund", "flow refund started in turn 2 (#9)"),
        (
            "flow_started",
            "check_order",
            "flow check_order never started; nearest: check_order_status started in turn 1 (#3)",
        ),
        (
            "flow_started",
            {"flow_ids": ["refund", "exchange"]},
            "flow exchange never started; nearest: check_order_status started in turn 1 (#3)",
        ),
        (
            "flow_started",
            {"flow_ids": ["refund"], "turn": 1},
            "flow refund never started in turn 1; nearest: it started in turn 2 (#9)",
        ),
        (
            "flow_started",
            {"flow_ids": ["refund"], "count": {"gte": 2}},
            "flow refund started once (turn 2 (#9)); expected at least 2",
        ),
        ("flow_completed", "refund", "flow refund never completed; nearest: it was cancelled in turn 2 (#10)"),
        (
            "flow_completed",
            {"flow_id": "check_order_status", "flow_step_id": "ask"},
            "flow check_order_status (flow_step_id 'ask') never completed; "
            "nearest: it completed in turn 1 (#5) with flow_step_id 'tell'",
        ),
        ("flow_cancelled", "refund", "flow refund was cancelled in turn 2 (#10)"),
        (
            "action_executed",
            "action_lookup",
            "action action_lookup was never executed; nearest: action_look_up was executed in turn 1 (#4)",
        ),
        (
            "action_executed",
            {"name": "action_look_up", "arguments": {"order": "C3"}},
            'action action_look_up (arguments {"order":"C3"}) was never executed; nearest: it was executed in '
            'turn 1 (#4) with arguments {"order":"A1","tries":1}',
        ),
        (
            "pattern_clarification_contains",
            {"flow_ids": ["refund", "other"]},
            "no clarification with refund and other was offered; nearest: refund, exchange in turn 1 (#6)",
        ),
        (
            "pattern_clarification_contains",
            ["refund"],
            "no clarification with refund was offered; nearest: no names in turn 1 (#6); "
            "a bare list contains names, but these are ids: write {flow_ids: […]}",
        ),
        (
            "bot_uttered",
            {"text_matches": "comes on Tuesday"},
            "the agent never said it; nearest: 'It comes on Monday.' in turn 2 (#13)",
        ),
        (
            "bot_uttered",
            {"utter_name": "utter_dates"},
            "the agent never said it; nearest: 'It comes on Monday.' in turn 2 (#13)",
        ),
        (
            "bot_uttered",
            {"buttons": [{"title": "Yes"}, {"title": "No"}]},
            "the agent never said it; nearest: 'Refund it?' in turn 1 (#7)",
        ),
        ("bot_uttered", {"text_matches": ".", "turn": 5}, "the agent said nothing in turn 5"),
        (
            "bot_uttered",
            {"text_matches": ".", "count": 1},
            "the agent said it 3 times (turn 0 (#1), turn 1 (#7), turn 2 (#13)); expected 1",
        ),
        ("bot_did_not_utter", {"text_matches": "Monday"}, "the agent said it in turn 2 (#13)"),
        ("flow_not_started", {"flow_ids": ["x", "refund"]}, "flow refund started in turn 2 (#9)"),
        ("flow_not_completed", "check_order_status", "flow check_order_status completed in turn 1 (#5)"),
        ("action_not_executed", "x", "action x was never executed"),
        (
            "sequencing",
            [{"flow_started": "refund"}, {"flow_completed": "check_order_status"}],
            "step 2, flow_completed check_order_status, happened only in turn 1 (#5), "
            "not after the step before (turn 2 (#9))",
        ),
        (
            "sequencing",
            [{"flow_started": "check_order_status"}, {"flow_cancelled": "refund"}],
            "in order: turn 1 (#3) → turn 2 (#10)",
        ),
        ("skill_activated", "x", "skill x was never activated; no skill was activated"),
    ],
)
def test_detail_names_expectation_nearest_event_and_time(
    log_builder: LogBuilder, name: str, args: Any, detail: str
) -> None:
    assert check(log_builder, name, args).detail == detail


def test_detail_has_no_turn_without_conversation() -> None:
    log_builder = LogBuilder()
    log_builder.add_event(agent.FlowStarted(flow_id="a"))
    assert check(log_builder, "flow_started", "a").detail == "flow a started at #1"
    assert check(log_builder, "sequencing", [{"flow_started": "a"}]).detail == "in order: #1"
    assert check(log_builder, "flow_started", {"flow_ids": ["a"], "turn": 0}).passed


def test_partial_match_gives_partial_score(log_builder: LogBuilder) -> None:
    assert check(log_builder, "flow_started", {"flow_ids": ["refund", "exchange"]}).score == 0.5


def test_rows_of_failure_show_nearest_event(log_builder: LogBuilder) -> None:
    [row] = check(log_builder, "flow_completed", "refund").evidence
    assert (row.path, row.expected, row.actual, row.seq) == (
        "flow_id",
        "refund completed",
        "refund was cancelled in turn 2 (#10)",
        10,
    )


def test_number_of_compared_names_is_limited() -> None:
    log_builder = LogBuilder()
    for number in range(3000):
        log_builder.add_event(agent.FlowStarted(flow_id=f"flow_{number}"))
    assert check(log_builder, "flow_started", "flow_x").detail.startswith("flow flow_x never started; nearest: flow_")
