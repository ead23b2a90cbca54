"""A failed check on an agent's own events mentions if the agent reported no such events."""

from typing import Any

import pytest

from clerkship.actors.contract import Message, Say
from clerkship.events import agent
from tests.workbench import Workbench

NOTE = (
    "the agent reported no {} in this run, and only reported events can be checked: "
    "see `clerkship docs connect_an_agent`"
)


def text_only(message: Message) -> str:
    return "All right."


def reports_a_flow(message: Message) -> list[Any]:
    return [agent.FlowStarted(flow_id="other"), Say("All right.")]


def detail(bench: Workbench, answers: Any, assertion: str, **options: Any) -> tuple[str | None, str]:
    bench.write(
        "one.yml",
        f"""
        scenario:
          name: One
          simulation_context: You say hello.
          setup:
            initial_slots: {{given: 1}}
            person: {{lines: [Hello]}}
          goals:
            assertions:
              - {assertion}
        """,
    )
    run = bench.run_one(answers, **options)
    checked = next(criterion for criterion in run.criteria if criterion.assertion in assertion)
    return run.verdict, checked.detail


@pytest.mark.parametrize(
    ("assertion", "what"),
    [
        ("flow_started: check", "flows"),
        ("flow_completed: check", "flows"),
        ("action_executed: look_up", "actions"),
        ("slot_was_set: [{name: order}]", "slots"),
        ("slot_was_set: [{name: given, at: end, value: 2}]", "slots"),
        ("skill_activated: check", "skills"),
        ("memory_was_set: [{name: order}]", "memory"),
        ("tool_executed: look_up", "tool calls"),
        ("tool_called: look_up", "actions or tool calls"),
        ("sequencing: [{flow_started: a}, {slot_was_set: b}]", "flows or slots"),
        ("event_occurred: {event: agent.flow.started}", "flows"),
    ],
)
def test_failed_check_mentions_that_the_agent_reports_no_events(bench: Workbench, assertion: str, what: str) -> None:
    verdict, words = detail(bench, text_only, assertion)
    assert verdict == "fail"
    assert words.endswith(f"; {NOTE.format(what)}"), words


def test_no_mention_if_the_agent_reported_another_flow(bench: Workbench) -> None:
    verdict, words = detail(bench, reports_a_flow, "flow_completed: check")
    assert verdict == "fail"
    assert "reported no" not in words


def test_sequence_mentions_only_unreported_families(bench: Workbench) -> None:
    _, words = detail(bench, reports_a_flow, "sequencing: [{flow_started: other}, {slot_was_set: given}]")
    assert words.endswith(NOTE.format("slots"))


@pytest.mark.parametrize(
    "assertion",
    ["flow_not_started: check", "slot_was_not_set: [{name: given}]", "bot_uttered: {text_matches: never}"],
)
def test_no_mention_for_checks_that_pass_or_need_no_report(bench: Workbench, assertion: str) -> None:
    assert "reported no" not in detail(bench, text_only, assertion)[1]


NOT_SET = "slot_was_not_set: [{name: order}]"


def names_its_response(message: Message) -> list[Any]:
    return [Say("All right.", "utter_ok")]


def calls_a_tool(message: Message) -> list[Any]:
    return [agent.ActionExecuted(name="look_up"), Say("All right.")]


@pytest.mark.parametrize(
    ("answers", "assertion"),
    [(text_only, NOT_SET), (calls_a_tool, NOT_SET), (reports_a_flow, "memory_was_not_set: [{name: order}]")],
)
def test_absent_value_is_not_judged_if_the_agent_reports_no_values(
    bench: Workbench, answers: Any, assertion: str
) -> None:
    verdict, words = detail(bench, answers, assertion)
    assert verdict == "inconclusive"
    assert words.startswith("not judged: the agent reported no ")


@pytest.mark.parametrize("answers", [reports_a_flow, names_its_response])
def test_absent_value_passes_if_the_agent_reports_flows_or_names_responses(bench: Workbench, answers: Any) -> None:
    verdict, words = detail(bench, answers, NOT_SET)
    assert (verdict, words) == ("pass", "slot order was never set")


def test_value_that_the_scenario_set_fails_without_reports(bench: Workbench) -> None:
    assert detail(bench, text_only, "slot_was_not_set: [{name: given}]")[0] == "fail"


def test_absent_value_passes_without_reports_as_in_rasa(bench: Workbench) -> None:
    assert detail(bench, text_only, NOT_SET, compat="rasa")[0] == "pass"
