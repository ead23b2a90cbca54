"""The gate `agent_acted`: an agent that never did anything fails, whatever else holds."""

from typing import Any

import pytest

from clerkship.events.agent import ActionExecuted, FlowStarted
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.sandbox.handle import Refused
from clerkship.service.rescore import rescore
from tests.workbench import CATALOG, Workbench, written

ENVIRONMENT = """
    environment:
      name: desk
      simulators: {drop: {kind: files}}
"""
NO_WRITE = "{never: files.file.written}"
NEGATIVE_TASKS = {
    "never": NO_WRITE,
    "event_count": "{event_count: {event: files.file.written, expected: 0}}",
    "event_at_most": "{event_count: {event: files.*, expected: {lte: 3}}}",
    "answer_is_null": "{answer_matches: {expected: null}}",
}
NEGATIVE_SCENARIOS = {
    "bot_did_not_utter": "{bot_did_not_utter: {text_matches: sorry}}",
    "slot_was_not_set": "{slot_was_not_set: [{name: transfer_amount}]}",
    "flow_not_started": "{flow_not_started: {flow_ids: [transfer]}}",
    "flow_not_completed": "{flow_not_completed: {flow_id: transfer}}",
    "flow_not_cancelled": "{flow_not_cancelled: {flow_id: transfer}}",
    "action_not_executed": "{action_not_executed: action_pay}",
    "memory_was_not_set": "{memory_was_not_set: [{name: plan}]}",
}


def task(assertion: str, more: str = "") -> str:
    return f"""
    task:
      name: Leave everything as it is
      task_item: {{instruction: look and change nothing}}
      {more}
      criteria: [{{label: nothing, assertion: {assertion}}}]
    """


def scenario(assertion: str, setup: str = "") -> str:
    return f"""
    scenario:
      name: Do not do it
      simulation_context: You want it done.
      setup: {{person: {{lines: ["Do it.", "Please."]}}{setup}}}
      goals: {{assertions: [{assertion}]}}
    """


def gate(task_run: TaskRun) -> CriterionRun:
    [results] = [criterion for criterion in task_run.criteria if criterion.assertion == "agent_acted"]
    return results


@pytest.mark.parametrize("assertion", NEGATIVE_TASKS.values(), ids=NEGATIVE_TASKS)
def test_nop_fails_a_task_whose_right_outcome_is_no_change(bench: Workbench, assertion: str) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(assertion))
    task_run = bench.run_one("nop")
    assert (task_run.verdict, task_run.score, bench.exit_code()) == ("fail", 1.0, 1)
    assert (gate(task_run).gate, gate(task_run).weight, gate(task_run).passed) == (True, 0.0, False)


@pytest.mark.parametrize("assertion", NEGATIVE_SCENARIOS.values(), ids=NEGATIVE_SCENARIOS)
def test_nop_fails_a_conversation_whose_assertions_are_all_negative(bench: Workbench, assertion: str) -> None:
    bench.write("scenario.yml", scenario(assertion))
    task_run = bench.run_one("nop")
    is_judged = "_was_not_set" not in assertion
    assert (task_run.verdict, task_run.score) == ("fail", 1.0 if is_judged else None)
    assert "never replied" in gate(task_run).detail


def reads(task_item: Any, sandboxes: Any) -> None:
    sandboxes["drop"].list()


def is_refused(task_item: Any, sandboxes: Any) -> None:
    with pytest.raises(Refused):
        sandboxes["drop"].read("no/such/file")


def answers(task_item: Any, sandboxes: Any) -> Any:
    return []


def reports(task_item: Any, sandboxes: Any) -> None:
    sandboxes.report(FlowStarted(flow_id="look"))


@pytest.mark.parametrize("agent", [reads, is_refused, answers, reports])
def test_single_request_answer_or_report_passes_the_gate(bench: Workbench, agent: Any) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(NO_WRITE))
    task_run = bench.run_one(agent)
    assert (task_run.verdict, gate(task_run).passed) == ("pass", True)
    assert gate(task_run).evidence[0].seq is not None


def waits(task_item: Any, sandboxes: Any) -> None:
    sandboxes.wait(60)


def answers_nothing(task_item: Any, sandboxes: Any) -> Any:
    return "  "


def reports_session_events(task_item: Any, sandboxes: Any) -> None:
    sandboxes.report(ActionExecuted(name="action_session_start"))
    sandboxes.report(ActionExecuted(name="action_listen"))


@pytest.mark.parametrize("agent", [waits, answers_nothing, reports_session_events])
def test_waiting_blank_answers_and_session_events_do_not_pass_the_gate(bench: Workbench, agent: Any) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(NO_WRITE))
    task_run = bench.run_one(agent)
    assert (task_run.agent_error, task_run.verdict) == ("", "fail")


def test_task_with_allow_inaction_has_no_gate(bench: Workbench) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(NO_WRITE, "allow_inaction: true"))
    task_run = bench.run_one("nop")
    assert (task_run.verdict, len(written(task_run))) == ("pass", 1)


def test_scenario_file_with_allow_inaction_in_setup_has_no_gate(bench: Workbench) -> None:
    bench.write("scenario.yml", scenario(NEGATIVE_SCENARIOS["flow_not_started"], ", allow_inaction: true"))
    assert bench.run_one("nop").verdict == "pass"


def test_the_gate_is_not_applied_under_compat_rasa(bench: Workbench) -> None:
    bench.write("scenario.yml", scenario(NEGATIVE_SCENARIOS["flow_not_started"]))
    task_run = bench.run_one("nop", compat="rasa")
    assert (task_run.verdict, len(written(task_run))) == ("pass", 1)


def test_a_silent_agent_fails_a_task_without_criteria(bench: Workbench) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", "task: {name: No criteria, task_item: {instruction: look}}")
    assert bench.run_one("nop").verdict == "fail"
    assert bench.run_one(reads).verdict == "ungraded"


def test_rescored_run_has_the_gate(bench: Workbench) -> None:
    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", task(NO_WRITE))
    bench.run_one("nop")
    rescored = rescore(bench.store, "latest", CATALOG)
    [task_run] = bench.store.task_runs(rescored.run.id)
    assert (task_run.verdict, gate(task_run).passed) == ("fail", False)


def says_hello(message: Any) -> str:
    return "Hello."


def test_agent_that_did_nothing_gets_no_score_for_what_the_scenario_set(bench: Workbench) -> None:
    slots = "{slot_was_set: [{name: tier, value: gold}, {name: order, value: 7}]}"
    bench.write("scenario.yml", scenario(slots, ", initial_slots: {tier: gold}"))
    scores = [
        [each.score for each in bench.run_one(agent).criteria if not each.monitor] for agent in ("nop", says_hello)
    ]
    assert scores == [[0.0, 0.0], [0.5, 1.0]]
