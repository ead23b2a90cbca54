"""Differences of nested values in every report."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import orjson

from clerkship.assertions.expected_tools import ToolCalledAssertion
from clerkship.assertions.tools import ToolExecutedAssertion
from clerkship.cli.console import out
from clerkship.cli.verdicts import print_criterion
from clerkship.events.agent import ToolExecuted
from clerkship.model.run import CriterionRun, FieldCheck, TaskRun
from clerkship.report.detail import TaskDetail
from clerkship.report.plain_text import explain_failure
from clerkship.report.trial_card import build_body
from clerkship.service.exporting import write_reports
from clerkship.service.report_targets import ReportTargets
from tests.assertions.log_builder import LogBuilder
from tests.workbench import Workbench, written

ORDERS = [{"drug": f"drug-{number}", "dose": {"value": number, "unit": "mg"}} for number in range(100)]
SUITE = f"""\
environment: {{name: desk, simulators: {{drop: {{kind: files}}}}}}
task:
  name: Orders
  criteria:
    - label: The orders
      assertion: {{answer_matches: {orjson.dumps({"expected": {"orders": ORDERS}}).decode()}}}
"""
DIFFERENCE = {"path": "orders[70].dose.value", "expected": 70, "actual": 7}


def run(bench: Workbench) -> TaskRun:
    """Run an agent whose answer, of 5,000 characters, has one wrong number."""

    def answers(task_item: Any) -> Any:
        orders: Any = orjson.loads(orjson.dumps(ORDERS))
        orders[70]["dose"]["value"] = 7
        return {"orders": orders}

    bench.write("suite.yml", SUITE)
    return bench.run_one(answers)


def terminal(criterion: CriterionRun) -> str:
    """Return what the terminal shows of a criterion."""
    console = out()
    with console.capture() as captured:
        print_criterion(console, criterion)
    return captured.get()


def test_the_record_of_a_trial_has_the_differences(bench: Workbench) -> None:
    [criterion] = written(run(bench))
    [row] = criterion.evidence
    assert [one.model_dump() for one in row.differences] == [DIFFERENCE]
    assert isinstance(row.actual, str)  # cut: the differences were found before


def test_the_terminal_and_junit_show_the_path_and_both_values(bench: Workbench, tmp_path: Path) -> None:
    task_run = run(bench)
    assert [line.strip() for line in explain_failure(task_run)][2:6] == [
        "answer",
        "orders[70].dose.value",
        "expected 70",
        "actual   7",
    ]
    shown = terminal(written(task_run)[0])
    assert "orders[70].dose.value" in shown
    assert "drug-1" not in shown
    assert bench.result is not None
    targets = ReportTargets(junit=tmp_path / "junit.xml", jsonl=tmp_path / "run.jsonl", markdown=tmp_path / "run.md")
    write_reports(bench.store, bench.result.run.id, targets)
    assert "orders[70].dose.value\n        expected 70" in (tmp_path / "junit.xml").read_text()
    assert "orders[70].dose.value: expected 70, actual 7" in re.sub(
        "<[^>]*>", "", unescape((tmp_path / "run.md").read_text())
    )
    assert b'"differences":[{"path":"orders[70].dose.value"' in (tmp_path / "run.jsonl").read_bytes()


def test_the_html_report_has_the_differences_as_data(bench: Workbench) -> None:
    task_run = run(bench)
    [evidence] = build_body(TaskDetail(task_run, [], None, {}))["criteria"][0]["evidence"]
    assert evidence["differences"] == [DIFFERENCE]


def test_a_record_of_an_earlier_version_is_shown_as_before() -> None:
    old = {"path": "answer", "expected": {"a": 1}, "actual": {"a": 2}, "passed": False, "seq": None}
    row = FieldCheck.model_validate(old)
    criterion = CriterionRun(label="Old", assertion="answer_matches", status="judged", evidence=(row,))
    assert 'expected {"a":1}' in terminal(criterion)


def test_only_mismatched_arguments_of_a_call_are_differences() -> None:
    log_builder = LogBuilder()
    log_builder.add_event(
        ToolExecuted(tool_name="order", arguments={"drug": "a", "dose": {"value": 7}, "note": "n", "days": 5})
    )
    wanted = {"tool_name": "order", "arguments": {"dose": {"value": 70}, "days": {"gte": 3}, "route": "oral"}}
    for assertion in (ToolCalledAssertion, ToolExecutedAssertion):
        rows = assertion.model_validate(wanted).check(log_builder.evidence()).evidence
        [differences] = [row.differences for row in rows if row.path == "arguments"]
        assert [(one.path, one.expected, one.actual) for one in differences] == [
            ("dose.value", 70, 7),
            ("route", "oral", "(absent)"),
        ]
