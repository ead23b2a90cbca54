"""Whole tasks with a clearinghouse: the assertions `x12_response` and `x12_request`."""

from typing import Any

import pytest
import yaml

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.model.run import CriterionRun
from clerkship.service.rescore import rescore
from clerkship.simulators.x12.assertions.transactions import X12RequestSent, X12ResponseReceived
from clerkship.simulators.x12.handle import X12
from clerkship.suite_files.load import load_library
from tests.simulators.x12.clearinghouse import MEMBERS, authorization, eligibility, group, interchange, one
from tests.workbench import Workbench, written

ENVIRONMENT = {
    "name": "payers",
    "now": "2026-03-02T09:00:00-05:00",
    "simulators": {"clearing": {"kind": "x12"}, "drop": {"kind": "files"}},
    "domains": {"payer": {"kind": "payer", "config": MEMBERS}},
    "reactions": ["drop.file.written -> clearing", "clearing.batch.replied -> drop"],
}
CATALOG = RegisteredCatalog()


def write_task(bench: Workbench, *assertions: dict[str, Any]) -> None:
    """Write a task with these criteria."""
    criteria = [{"label": str(number), "assertion": assertion} for number, assertion in enumerate(assertions)]
    task = {"name": "Ask the payer", "environment": "payers", "criteria": criteria}
    bench.write("task.yml", yaml.safe_dump({"environment": ENVIRONMENT, "task": task}))


def check(bench: Workbench, *assertions: dict[str, Any]) -> list[CriterionRun]:
    """Run the task with an agent that asks about one member twice and requests an authorization."""
    write_task(bench, *assertions)
    return written(bench.run_one(ask))


def ask(task_item: Any, sandboxes: Any) -> None:
    """Send two inquiries, one of them faulty, an authorization request, and a duplicate."""
    clearing = sandboxes.get_as(X12)
    faulty = [segment.replace("DMG*D8", "DMG*D9") for segment in eligibility("BAD1")]
    answer = clearing.exchange(interchange(group("270", eligibility("ELG1T"), faulty)))
    assert [each["transaction"] for each in answer["replies"][0]["transactions"]] == ["999", "271"]
    assert "HCR*A1" in clearing.send(one("278", authorization(), 102))
    assert "TA1*" in clearing.send(one("278", authorization(), 102))
    [request] = clearing.transactions("278", "PA1E")[:1]
    assert clearing.transaction(request["id"])["edi"].startswith("ST*278")
    assert len(clearing.interchanges()) == 3
    assert clearing.interchange("1")["replies"][0]["edi"].startswith("ISA*")


PASSING: list[dict[str, Any]] = [
    {"x12_response": {"transaction": 271, "correlate_by": {"TRN*2": "ELG1T"}}},
    {"x12-response": {"transaction": "271", "fields": [{"path": "2110C/EB[1=1]*3", "expected": "30"}]}},
    {"x12_response": {"transaction": 278, "fields": [{"path": "2000E/HCR*1", "expected": {"in": ["A1", "A6"]}}]}},
    {"x12_response": {"transaction": "TA1", "fields": [{"path": "TA1*5", "expected": "025"}], "count": 1}},
    {"x12_response": {"transaction": 999, "fields": [{"path": "IK5*1", "expected": "R"}]}},
    {"x12_response": "271"},
    {"x12_response": {"transaction": 277, "none": True}},
    {"x12_request": {"transaction": 270, "count": 1, "sandbox": "clearing"}},
    {"x12_request": {"transaction": 270, "outcome": "refused", "correlate_by": {"TRN*2": {"matches": "BAD.*"}}}},
    {"x12_request": {"transaction": 270, "outcome": "any", "count": {"gte": 2}}},
    {"x12-request": {"transaction": 278, "fields": [{"path": "2000F/SV1*1:2", "expected": "72148"}], "count": 1}},
    {"x12_request": {"correlate_by": {"2100C/NM1*9": {"not": "NW55501"}}, "transaction": 270, "none": True}},
]


def test_assertions_hold_for_what_was_sent_and_received(bench: Workbench) -> None:
    criteria = check(bench, *PASSING)
    assert [each.detail for each in criteria if not each.passed] == []
    run = bench.result
    assert run is not None
    [again] = bench.store.task_runs(rescore(bench.store, run.run.id, CATALOG).run.id)
    assert written(again) == criteria


FAILING: list[tuple[dict[str, Any], str]] = [
    ({"x12_response": {"transaction": 277}}, "there is no received 277; there is 271 0001 with trace ELG1T"),
    (
        {"x12_response": {"transaction": 271, "correlate_by": {"TRN*2": "OTHER"}}},
        "without the condition TRN*2 'OTHER': 271 0001 with trace ELG1T",
    ),
    (
        {"x12_response": {"transaction": 271, "fields": [{"path": "2110C/EB*1", "expected": "6"}]}},
        "but not as expected: 2110C/EB*1",
    ),
    ({"x12_response": {"transaction": "TA1", "none": True}}, "(expected 0)"),
    ({"x12_request": {"transaction": 276}}, "there is no accepted 276"),
    ({"x12_request": {"transaction": 270, "count": 2}}, "(expected 2)"),
]


@pytest.mark.parametrize(("assertion", "detail"), FAILING)
def test_failed_assertion_explains_what_is_missing(bench: Workbench, assertion: dict[str, Any], detail: str) -> None:
    [criterion] = check(bench, assertion)
    assert not criterion.passed
    assert detail in criterion.detail


def test_evidence_names_value_and_event(bench: Workbench) -> None:
    [criterion] = check(bench, {"x12_response": {"transaction": 278, "fields": [{"path": "HCR*1", "expected": "A3"}]}})
    [row] = criterion.evidence
    assert (row.path, row.expected, row.actual, row.passed) == ("HCR*1", "A3", ["A1", "A1"], False)
    assert row.seq is not None


def test_reply_to_a_batch_counts_once_it_is_delivered(bench: Workbench) -> None:
    def batch(task_item: Any, sandboxes: Any, minutes: int) -> None:
        sandboxes["drop"].write("outbound/a.edi", one("270", eligibility()))
        sandboxes.wait(f"{minutes}m")

    write_task(bench, {"x12_response": {"transaction": 271}}, {"x12_response": {"transaction": 999}})
    for minutes, expected in ((0, [False, False]), (5, [False, True]), (11, [True, True])):
        run = bench.run_one(lambda task_item, sandboxes, minutes=minutes: batch(task_item, sandboxes, minutes))
        assert [each.passed for each in written(run)] == expected


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ({"x12_response": {"transaction": 270}}, "unknown transaction '270'"),
        ({"x12_response": {"fields": [{"path": "2100C-EB", "expected": 1}]}}, "is not a path into a transaction set"),
        ({"x12_request": {"correlate_by": {"TRN": 1, "oops": 2}}}, "`oops` is not a path"),
        (
            {"x12_request": {"transaction": 276, "correlate_by": {"2200Z/REF*2": "x"}, "none": True}},
            "transaction 276 has no loop 2200Z",
        ),
        (
            {"x12_request": {"transaction": 270, "fields": [{"path": "2100C/UM*2", "expected": "I"}]}},
            "loop 2100C of transaction 270 has no segment UM",
        ),
        ({"x12_response": {"fields": [{"path": "UM*99", "expected": 1}]}}, "has no segment UM"),
        ({"x12_request": {"count": 1, "none": True}}, "`count` and `none` do not go together"),
    ],
)
def test_wrong_arguments_are_errors_of_the_file(bench: Workbench, assertion: dict[str, Any], message: str) -> None:
    write_task(bench, assertion)
    with pytest.raises(InputError) as error:
        load_library(bench.folder, CATALOG)
    assert message in str(error.value)


def test_only_assertions_that_allow_none_pass_on_inaction() -> None:
    assert not X12ResponseReceived(transaction="271").passes_on_inaction
    assert X12ResponseReceived(none=True).passes_on_inaction
    assert X12RequestSent(count={"lte": 1}).passes_on_inaction
    assert not X12RequestSent(count=1).passes_on_inaction
