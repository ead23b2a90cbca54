"""`max_agent_actions`: a limit on the agent's actions."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.agent_acted import MaxAgentActions
from clerkship.events.agent import ActionExecuted, ToolExecuted
from tests.assertions.log_builder import LogBuilder
from tests.workbench import Workbench, written

SUITE = """\
environment:
  name: clinic
  simulators:
    drop: {{kind: files}}
    archive: {{kind: files}}
task:
  name: Read little
  scenario: [{scenario}]
  criteria:
    - label: Few actions
      assertion: {{max_agent_actions: {arguments}}}
"""


def busy(task_item: Any, sandboxes: Any) -> str:
    """Send five requests: two writes, two reads and a refused one."""
    drop = sandboxes["drop"]
    drop.write("a", b"x")
    drop.read("a")
    sandboxes["archive"].write("b", b"x")
    sandboxes["archive"].read("b")
    try:
        drop.read("missing")
    except Exception as error:
        return type(error).__name__
    return "done"


@pytest.mark.parametrize(
    ("arguments", "passed", "detail"),
    [
        ("5", True, "the agent took 5 actions (#3, #4, #5, #6, #7); at most 5 expected"),
        ("4", False, "the agent took 5 actions (#3, #4, #5, #6, #7); at most 4 expected"),
        ("{limit: 2, sandbox: archive}", True, "the agent took 2 actions (#5, #6); at most 2 expected"),
        ("{limit: 1, event: files.file.*, sandbox: drop}", False, "the agent took 2 actions (#3, #4); at most 1"),
        ("{limit: 1, method: PUT}", False, "the agent took 2 actions (#3, #5); at most 1 expected"),
        ("{limit: 0, type: message}", True, "the agent took 0 actions; at most 0 expected"),
    ],
)
def test_requests_are_counted_by_sandbox_event_and_method(
    tmp_path: Path, arguments: str, passed: bool, detail: str
) -> None:
    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE.format(scenario="", arguments=arguments))
    [criterion] = written(bench.run_one(busy))
    assert criterion.detail.startswith(detail)
    assert criterion.passed is passed


def test_evidence_shows_first_action_over_limit(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE.format(scenario="", arguments="3"))
    [row] = written(bench.run_one(busy))[0].evidence
    assert (row.path, row.expected, row.actual, row.passed, row.seq) == ("actions", {"lte": 3}, 5, False, 6)


def test_request_doubled_by_fault_counts_once(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE.format(scenario="fault.duplicate: {sandbox: drop}", arguments="5"))
    [criterion] = written(bench.run_one(busy))
    assert criterion.detail.startswith("the agent took 5 actions")


def test_bundle_is_one_action(tmp_path: Path) -> None:
    def bundle(task_item: Any, sandboxes: Any) -> str:
        entry = {"resource": {"resourceType": "Patient"}, "request": {"method": "POST", "url": "Patient"}}
        sandboxes["drop"].transaction({"resourceType": "Bundle", "type": "batch", "entry": [entry] * 3})
        return "done"

    bench = Workbench(tmp_path)
    suite = SUITE.replace("drop: {{kind: files}}", "drop: {{kind: fhir}}")
    bench.write("suite.yml", suite.format(scenario="", arguments="1"))
    task_run = bench.run_one(bundle)
    [criterion] = written(task_run)
    assert len([event for event in bench.events(task_run) if event["kind"] == "fhir.resource.created"]) == 3
    assert criterion.detail.startswith("the agent took 1 action (")
    assert criterion.passed


def test_messages_and_reports_of_agent_count() -> None:
    log_builder = LogBuilder()
    log_builder.add_message("Hello", actor="person")
    log_builder.add_event(ActionExecuted(name="action_session_start"))
    log_builder.add_event(ToolExecuted(tool_name="lookup", arguments={}))
    log_builder.add_message("Hi")
    found = MaxAgentActions.model_validate(2).check(log_builder.evidence())
    assert (found.passed, found.evidence[0].actual) == (True, 2)
    assert not MaxAgentActions.model_validate({"limit": 0, "type": "report"}).check(log_builder.evidence()).passed
    assert not MaxAgentActions.model_validate({"limit": 0, "type": "message"}).check(log_builder.evidence()).passed


@pytest.mark.parametrize("limit", [-1, "3", 1.5, True])
def test_limit_must_be_a_whole_number_from_zero(limit: Any) -> None:
    with pytest.raises(ValidationError):
        MaxAgentActions.model_validate({"limit": limit})
