"""Assertions on tool calls: at any time, or together in one turn."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from clerkship.assertions.expected_tools import ToolCalledAssertion, ToolGroup, ToolsWithinOneTurn
from clerkship.assertions.tools import pair_calls, pair_greedily
from clerkship.events import agent
from clerkship.model.scenario_file import ScenarioFile
from clerkship.sandbox.assertion import Assertion, Check
from tests.assertions.log_builder import LogBuilder
from tests.examples import examples


@pytest.fixture
def log_builder() -> LogBuilder:
    """Two turns: in the first a search that fails, then succeeds; in the second an action with arguments."""
    log_builder = LogBuilder()
    log_builder.add_message("Find it", actor="person")
    log_builder.add_event(
        agent.ToolExecuted(tool_name="search", arguments={"q": "shoes"}, is_error=True, error_message="no")
    )
    log_builder.add_event(agent.ToolExecuted(tool_name="search", arguments={"q": "shoes", "page": 1}))
    log_builder.add_event(agent.ToolExecuted(tool_name="price", arguments={"item": 7}))
    log_builder.add_message("Buy it", actor="person")
    log_builder.add_event(agent.ActionExecuted(name="action_listen"))
    log_builder.add_event(agent.ActionExecuted(name="buy", arguments={"item": 7}))
    return log_builder


@pytest.mark.parametrize(
    ("args", "passed", "detail"),
    [
        ("search", True, "search() was called in turn 1 (#3)"),
        ({"tool_name": "search", "arguments": {}}, True, "search() was called in turn 1 (#3)"),
        ({"tool_name": "search", "arguments": {"q": "shoes"}}, True, "search(q='shoes') was called in turn 1 (#3)"),
        (
            {"tool_name": "buy", "arguments": {"item": {"gte": 7}}},
            True,
            "buy(item={'gte': 7}) was called in turn 2 (#7)",
        ),
        ("action_listen", True, "action_listen() was called in turn 2 (#6)"),
        (
            {"tool_name": "search", "arguments": {"q": "hats"}},
            False,
            "search(q='hats') was never called; nearest: search(q='shoes', page=1) in turn 1 (#3)",
        ),
        ("prices", False, "prices() was never called; nearest: price(item=7) in turn 1 (#4)"),
    ],
)
def test_tool_called_matches_any_call(log_builder: LogBuilder, args: Any, passed: bool, detail: str) -> None:
    found = ToolCalledAssertion.model_validate(args).check(log_builder.evidence())
    assert (found.passed, found.score, found.detail) == (passed, float(passed), detail)


def test_argument_that_looks_like_matcher_is_data() -> None:
    log_builder = LogBuilder()
    log_builder.add_event(agent.ToolExecuted(tool_name="find", arguments={"filter": {"note": "x"}, "by": {"gte": 1}}))
    found = ToolCalledAssertion.model_validate("search").check(log_builder.evidence())
    assert not found.passed
    assert "nearest: find(filter={'note': 'x'}, by={'gte': 1})" in found.detail


def test_call_with_error_does_not_count() -> None:
    log_builder = LogBuilder()
    log_builder.add_event(agent.ToolExecuted(tool_name="search", is_error=True))
    found = ToolCalledAssertion.model_validate("search").check(log_builder.evidence())
    assert (found.passed, found.detail) == (False, "search() was never called; no tool was")


def check_group(log_builder: LogBuilder, *names: str, ordered: bool = False) -> Check:
    """A group of tools by name."""
    args = {"calls": [{"tool_name": name} for name in names], "ordered": ordered}
    return ToolGroup.model_validate(args).check(log_builder.evidence())


def test_group_needs_exactly_its_calls_in_one_turn(log_builder: LogBuilder) -> None:
    assert check_group(log_builder, "price", "search").detail == "price(), search() were called in turn 1"
    assert check_group(log_builder, "search", "price", ordered=True).passed
    assert check_group(log_builder, "buy").passed
    assert check_group(log_builder, "buy", "action_listen").passed
    assert not check_group(log_builder, "price", "search", ordered=True).passed
    assert not check_group(log_builder, "search", "buy").passed
    assert not check_group(log_builder, "search").passed


def test_group_score_is_share_of_correct_calls(log_builder: LogBuilder) -> None:
    extra = check_group(log_builder, "search")
    assert extra.score == 0.5
    assert extra.detail == "search() were never called in one turn; nearest: turn 1, with price (#4) too"
    assert {row.path: row.actual for row in extra.evidence if row.path in ("precision", "recall")} == {
        "precision": 0.5,
        "recall": 1.0,
    }
    other = check_group(log_builder, "search", "hat")
    assert other.score == pytest.approx(1 / 3)
    assert other.detail.endswith("nearest: turn 1, without hat() and with price (#4) too")
    backwards = check_group(log_builder, "price", "search", ordered=True)
    assert backwards.score == pytest.approx(1 / 3)
    assert check_group(LogBuilder(), "search").detail == "search() were never called; no tool was"


def test_expected_tools_of_scenario_file_are_accepted(log_builder: LogBuilder) -> None:
    expected = [
        {"tool_called": "search"},
        {"tool_called": {"tool_name": "search", "arguments": {"q": "hats"}}, "gate": True},
        {"tool_group": [{"ordered": True}, {"gate": True}, {"tool_called": "search"}, {"tool_called": "price"}]},
    ]
    scenario = {"name": "x", "simulation_context": "x", "goals": {"expected_tools": expected}}
    criteria = ScenarioFile.model_validate(scenario).to_task("x").criteria
    checks: dict[str, type[Assertion]] = {"tool_called": ToolCalledAssertion, "tool_group": ToolGroup}
    made = [checks[criterion.assertion.name].model_validate(criterion.assertion.args) for criterion in criteria]
    assert [check.check(log_builder.evidence()).passed for check in made] == [True, False, True]


def test_detail_names_missing_and_extra_calls(log_builder: LogBuilder) -> None:
    def detail(*names: str, extra: bool) -> str:
        args = {"calls": list(names), "allow_extra_calls": extra}
        return ToolsWithinOneTurn.model_validate(args).check(log_builder.evidence()).detail

    assert detail("search", "price", extra=True) == "search, price were called in turn 1 (#2, #3, #4)"
    assert detail("search", "hat", extra=True).endswith("nearest: turn 1, without hat")
    assert detail("search", "price", extra=False).endswith("without others; nearest: turn 1, with search (#3) too")


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sets(st.integers(0, 3), max_size=4), max_size=4), st.integers(0, 5), st.booleans())
def test_maximum_number_of_calls_is_paired(expected: list[set[int]], calls: int, ordered: bool) -> None:
    places = list(range(calls))

    def fits(one: set[int], place: int) -> bool:
        return place in one

    found = pair_calls(expected, places, fits, ordered=ordered)
    assert all(found[number] in expected[number] for number in found)
    assert len(set(found.values())) == len(found)
    if ordered:
        assert sorted(found.values()) == [found[number] for number in sorted(found)]
    # every way to give each expected one a place, or none
    slots = [*places, *([None] * len(expected))]
    best = 0
    for choice in set(permutations(slots, len(expected))):
        taken = [place for place in choice if place is not None]
        right = all(place is None or place in one for one, place in zip(expected, choice, strict=True))
        if right and (not ordered or taken == sorted(taken)):
            best = max(best, len(taken))
    assert len(found) == best
    assert len(pair_greedily(expected, places, fits, ordered=ordered)) <= best


@pytest.mark.parametrize(
    ("model", "args"),
    [
        (ToolCalledAssertion, {}),
        (ToolCalledAssertion, " "),
        (ToolCalledAssertion, {"tool_name": "x", "argumets": {}}),
        (ToolGroup, {"calls": []}),
        (ToolGroup, {"calls": [{"tool_name": 5}]}),
        (ToolsWithinOneTurn, {"calls": ["a"], "allow_extra_calls": True}),
        (ToolsWithinOneTurn, {"calls": ["a", "b"]}),
        (ToolsWithinOneTurn, {"calls": ["a", {"tool_name": "b", "source": "mcp"}], "allow_extra_calls": True}),
        (ToolsWithinOneTurn, {"calls": ["a", {"tool_name": "b", "mcp_server": "s"}], "allow_extra_calls": True}),
    ],
)
def test_invalid_arguments_are_rejected(model: Any, args: Any) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(args)
