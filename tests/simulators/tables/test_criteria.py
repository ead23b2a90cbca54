"""`table_state` and `table_no_other_changes`: what the records must be at the end."""

from typing import Any

import pytest

from clerkship.model.run import CriterionRun
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.tables.handle import TableFunctions
from tests.simulators.tables.library import write_files, write_task
from tests.workbench import Workbench

LEND_PUMP = ("lend_device", {"device_id": "pump-1", "ward": "A"})
LEND_BED = ("lend_device", {"device_id": "bed-1", "ward": "B"})
RETURN_PUMP = ("return_device", {"device_id": "pump-1"})
CALLS = (
    "{calls: [{name: lend_device, arguments: {device_id: pump-1, ward: A}}], ignore: [{table: loans, field: since}]}"
)
BOTH_CALLS = CALLS.replace("calls: [", "calls: [{name: lend_device, arguments: {device_id: bed-1, ward: B}}, ")
PUMP_LENT = "{table_state: {table: devices, id: pump-1, fields: [{path: loan, expected: {matches: loan_}}]}}"
FEW = "{table_no_other_changes: {may: [{table: loans, count: 1}, {table: devices, fields: [kind]}]}}"
MUST = "{must: [{table: loans, change: created, where: {ward: A}}, {table: devices, id: pump-1, fields: [loan]}]}"


def check(bench: Workbench, criterion: str, *calls: tuple[str, dict[str, Any]], steps: str = "") -> CriterionRun:
    """Return the result of a criterion after these calls of the agent."""
    write_files(bench.folder)
    bench.write("task.yml", write_task(criterion, steps))

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        desk = sandboxes.get_as(TableFunctions)
        desk.policy()
        for name, arguments in calls:
            desk.call_function(name, **arguments)

    return bench.run_one(agent).criteria[0]


@pytest.mark.parametrize(
    ("criterion", "calls", "passed"),
    [
        (f"{{table_no_other_changes: {MUST}}}", [LEND_PUMP], True),
        (f"{{table_no_other_changes: {MUST}}}", [], False),
        (f"{{table_no_other_changes: {MUST}}}", [LEND_PUMP, LEND_BED], False),
        (f"{{table_no_other_changes: {MUST}}}", [LEND_BED, ("return_device", {"device_id": "bed-1"}), LEND_PUMP], True),
        ("{table_no_other_changes: {}}", [], True),
        ("{table_no_other_changes: {}}", [LEND_PUMP], False),
        ("{table_no_other_changes: {may: [{table: loans}, {table: devices}]}}", [LEND_BED], True),
        (
            "{table_no_other_changes: {may: [{table: loans, count: 1}, {table: devices, fields: [kind]}]}}",
            [LEND_BED],
            False,
        ),
        (f"{{table_no_other_changes: {CALLS}}}", [LEND_PUMP], True),
        (f"{{table_no_other_changes: {CALLS}}}", [LEND_PUMP, RETURN_PUMP, LEND_PUMP], True),
        (f"{{table_no_other_changes: {CALLS}}}", [], False),
        (f"{{table_no_other_changes: {CALLS}}}", [("lend_device", {"device_id": "pump-1", "ward": "B"})], False),
        (f"{{table_no_other_changes: {CALLS}}}", [LEND_PUMP, LEND_BED], False),
        (f"{{table_no_other_changes: {BOTH_CALLS}}}", [LEND_PUMP, LEND_BED], True),
        (f"{{table_no_other_changes: {BOTH_CALLS}}}", [LEND_PUMP], False),
        ("{table_no_other_changes: {calls: []}}", [], True),
        ("{table_no_other_changes: {calls: []}}", [LEND_PUMP], False),
        ("{table_state: {table: devices, id: pump-1, fields: [{path: loan, expected: {exists: true}}]}}", [], True),
        (
            "{table_state: {table: devices, id: pump-1, fields: [{path: loan, expected: {matches: loan_}}]}}",
            [LEND_PUMP],
            True,
        ),
        (
            "{table_state: {table: devices, id: pump-1, fields: [{path: loan, expected: {matches: loan_}}]}}",
            [LEND_BED],
            False,
        ),
        ("{table_state: {table: loans, where: {ward: A}, none: true}}", [LEND_BED], True),
        ("{table_state: {table: loans, where: {ward: A}, none: true}}", [LEND_PUMP], False),
    ],
)
def test_criterion_holds_after_the_right_calls_only(
    bench: Workbench, criterion: str, calls: list[tuple[str, dict[str, Any]]], passed: bool
) -> None:
    result = check(bench, criterion, *calls)
    assert (result.status, result.passed) == ("judged", passed), result.detail


def test_state_after_reference_calls_includes_what_the_scenario_did(bench: Workbench) -> None:
    steps = "scenario: {steps: [{tables.call: {function: lend_device, arguments: {device_id: bed-1, ward: B}}}]}"
    assert check(bench, f"{{table_no_other_changes: {CALLS}}}", LEND_PUMP, steps=steps).passed


def test_evidence_shows_each_field_that_differs(bench: Workbench) -> None:
    wrong = ("lend_device", {"device_id": "pump-1", "ward": "B"})
    result = check(bench, f"{{table_no_other_changes: {CALLS}}}", wrong)
    assert result.detail == "not as after the reference calls: loans/loan#1"
    assert [(row.path, row.expected, row.actual) for row in result.evidence] == [("loans/loan#1: ward", "A", "B")]


def test_reference_call_that_is_refused_is_an_error_unless_it_may_be(bench: Workbench) -> None:
    refused = "{calls: [{name: return_device, arguments: {device_id: pump-1}}]}"
    result = check(bench, f"{{table_no_other_changes: {refused}}}")
    assert (result.status, "refused: pump-1 is not lent" in result.detail) == ("error", True)
    allowed = refused.replace("pump-1}", "pump-1}, may_refuse: true")
    assert check(bench, f"{{table_no_other_changes: {allowed}}}").passed


def test_entity_is_a_record_of_a_table(bench: Workbench) -> None:
    entity = "entities: [{id: pump, dataset: library, type: devices, where: {kind: pump}}]"
    state = '{table_state: {table: loans, where: {device: "{{ pump.id }}"}, count: 1}}'
    assert check(bench, state, LEND_PUMP, LEND_BED, steps=entity).passed
    assert not check(bench, state, LEND_BED, steps=entity).passed
