"""`any_of`: at least one of several assertions passes."""

from pathlib import Path
from typing import Any, ClassVar

import jsonschema
import pytest
from pydantic import ValidationError

from clerkship.assertions.any_of import AnyOf
from clerkship.assertions.evaluation import evaluate
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.score import check_criteria
from clerkship.events.evidence import Evidence
from clerkship.model.call import AssertionCall
from clerkship.model.errors import InputError
from clerkship.model.run import Ending, PagePicture
from clerkship.model.task import Criterion
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.service.schemas import build_schema
from clerkship.suite_files.load import load_library
from tests.assertions.judge import FakeJudge
from tests.assertions.log_builder import LogBuilder
from tests.workbench import CATALOG, Workbench, written

ORDER = {"event_occurred": {"event": "files.file.written", "where": {"path": "order"}}}
NOTE = {"event_occurred": {"event": "files.file.written", "where": {"path": "note"}}}
BREAKS: dict[str, Any] = {"breaks": {}}
JUDGED = {"judged": "The agent was polite."}
NO = {"passed": False, "reasoning": "It was not.", "citations": []}

SUITE = """\
environment:
  name: clinic
  simulators:
    drop: {kind: files}
task:
  name: Write
  task_item: {instruction: Write a note.}
  criteria:
    - label: An order or a note
      assertion:
        any_of:
          - file_present: {path: order}
          - file_present: {path: note}
"""


def build_any_of(*nested: Any) -> Assertion:
    """Build `any_of` as a run does."""
    return _build(AssertionCall.model_validate({"any_of": list(nested)}))


def _build(call: AssertionCall) -> Assertion:
    return CATALOG.assertion(call.name).model_validate(call.args).resolve(_build)


def test_passes_if_one_passes_and_shows_all_results() -> None:
    log_builder = LogBuilder()
    log_builder.add_write("note")
    found = build_any_of(ORDER, NOTE).check(log_builder.evidence())
    assert (found.passed, found.score, found.detail) == (True, 1.0, "passed: 2. event_occurred")
    assert [(row.path, row.passed) for row in found.evidence] == [
        ("1. event_occurred", False),
        ("2. event_occurred", True),
    ]


def test_fails_if_all_fail_and_shows_evidence_of_each() -> None:
    log_builder = LogBuilder()
    log_builder.add_write("other")
    found = build_any_of(ORDER, NOTE).check(log_builder.evidence())
    assert (found.passed, found.score) == (False, 0.0)
    assert found.detail == "none of 2 assertions passed"
    assert [row.path for row in found.evidence] == [
        *("1. event_occurred", "1. event_occurred: path"),
        *("2. event_occurred", "2. event_occurred: path"),
    ]
    rows = {row.path: row for row in found.evidence}
    assert rows["1. event_occurred"].actual.startswith("failed: `files.file.written` where path is 'order' did not")
    assert (rows["1. event_occurred: path"].expected, rows["1. event_occurred: path"].actual) == ("order", "other")
    assert rows["2. event_occurred: path"].expected == "note"


def test_error_beside_a_pass_is_a_pass() -> None:
    log_builder = LogBuilder()
    log_builder.add_write("note")
    found = build_any_of(BREAKS, NOTE).check(log_builder.evidence())
    assert found.passed
    assert found.evidence[0].actual.startswith("error: ZeroDivisionError: a bug of ours")


def test_error_without_a_pass_is_an_error_with_traceback() -> None:
    found = evaluate(build_any_of(BREAKS, NOTE), LogBuilder().evidence())
    assert (found.status, found.check.passed) == ("error", False)
    assert "none passed, and 1 of 2 could not be checked: 1. breaks: error: ZeroDivisionError" in found.check.detail
    assert "workbench.py" in found.traceback


def test_score_is_best_nested_score() -> None:
    fields = [{"path": "a", "expected": 1}, {"path": "b", "expected": 2}]
    evidence = LogBuilder().evidence(answer={"a": 1, "b": 3}, answered=True)
    assert build_any_of(ORDER, {"answer_matches": {"fields": fields}}).check(evidence).score == 0.5


def test_a_model_is_asked_only_if_no_other_assertion_passes() -> None:
    log_builder, judge = LogBuilder(), FakeJudge(NO)
    log_builder.add_message("Hello", actor="person")
    log_builder.add_message("Good morning.")
    log_builder.add_write("note")
    assert build_any_of(JUDGED, NOTE).check(log_builder.evidence(model=judge)).passed
    assert judge.asked == []
    found = build_any_of(JUDGED, ORDER)
    assert found.asks_model
    found.check(log_builder.evidence(model=judge))
    assert len(judge.asked) == 1


@pytest.mark.parametrize("nested", [[], [NOTE]])
def test_fewer_than_two_assertions_are_refused(nested: list[Any]) -> None:
    with pytest.raises(ValidationError, match="expected at least two assertions"):
        AnyOf.model_validate(nested)


def test_run_passes_with_either_assertion(tmp_path: Path) -> None:
    def writes(task_item: Any, sandboxes: Any) -> str:
        sandboxes["drop"].write("note", b"x")
        return "done"

    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE)
    assert bench.run_one(writes).verdict == "pass"
    [criterion] = written(bench.run_one("nop"))
    assert (criterion.status, criterion.passed, criterion.assertion) == ("judged", False, "any_of")


def test_criterion_with_judged_assertion_is_skipped_without_judge(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE.replace("file_present: {path: order}", "judged: It wrote an order."))
    [criterion] = written(bench.run_one("nop", judge="none"))
    assert (criterion.status, criterion.passed) == ("skipped", False)


@pytest.mark.parametrize("ending", ["agent_done", "timed_out"])
@pytest.mark.parametrize("nested", [[JUDGED, NOTE], [{"any_of": [BREAKS, JUDGED, NOTE]}, ORDER, JUDGED]])
def test_passes_without_judge_if_other_assertion_passes(ending: Ending, nested: list[Any]) -> None:
    criterion = Criterion(label="One", assertion=AssertionCall.model_validate({"any_of": nested}))
    log_builder, judge_model = LogBuilder(), FakeJudge(NO)
    skips = ending == "agent_done"
    evidence = log_builder.evidence(ending=ending, model=judge_model)
    [found] = check_criteria([(criterion, build_any_of(*nested))], evidence, skip_judged=skips)
    reason = "judging was turned off" if skips else "no model was asked, because the trial is timed out"
    assert (found.status, found.passed, found.detail) == ("skipped", False, reason)
    log_builder.add_write("note")
    evidence = log_builder.evidence(ending=ending, model=judge_model)
    [found] = check_criteria([(criterion, build_any_of(*nested))], evidence, skip_judged=skips)
    assert (found.status, found.passed, found.score) == ("judged", True, 1.0)
    assert found.evidence[-1].path in ("2. event_occurred", "3. judged")
    assert judge_model.asked == []


def test_run_without_judge_passes_by_other_assertion(tmp_path: Path) -> None:
    def writes(task_item: Any, sandboxes: Any) -> str:
        sandboxes["drop"].write("note", b"x")
        return "done"

    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE.replace("file_present: {path: order}", "judged: It wrote an order."))
    task_run = bench.run_one(writes, judge="none")
    assert [(one.status, one.passed) for one in written(task_run)] == [("judged", True)]
    assert task_run.verdict == "pass"


def test_inactive_agent_fails_although_nested_assertion_passes(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    bench.write("suite.yml", SUITE.replace("file_present: {path: order}", "never: files.file.written"))
    task_run = bench.run_one("nop")
    assert [criterion.passed for criterion in written(task_run)] == [True]
    assert task_run.verdict == "fail"


def test_mistakes_in_nested_assertions_are_reported_with_location(tmp_path: Path) -> None:
    text = SUITE.replace("file_present: {path: order}", "file_presnt: {path: order}")
    text = text.replace("file_present: {path: note}", "event_occurred: {event: files.file.writen, sandbox: drip}")
    (tmp_path / "suite.yml").write_text(text)
    with pytest.raises(InputError) as caught:
        load_library(tmp_path, CATALOG)
    problems = [str(problem) for problem in caught.value.problems]
    assert len(problems) == 3
    assert "suite.yml:12" in problems[0]
    assert "criteria.0.assertion.any_of.0.file_presnt: unknown assertion `file_presnt`" in problems[0]
    assert any("unknown event `files.file.writen`" in problem for problem in problems)
    assert any("no sandbox `drip`" in problem for problem in problems)


@pytest.mark.parametrize(
    "nested",
    ["never: files.file.written", "event_count: {event: files.file.read, expected: 0}", "max_agent_actions: 3"],
)
def test_an_assertion_that_passes_on_inaction_is_warned_about(tmp_path: Path, nested: str) -> None:
    (tmp_path / "suite.yml").write_text(SUITE.replace("file_present: {path: order}", nested))
    [_, warning] = [str(warning) for warning in load_library(tmp_path, CATALOG).warnings]
    name = nested.partition(":")[0]
    assert f"`{name}` can also pass when the agent does nothing, and then this `any_of` passes too" in warning
    assert "suite.yml:12" in warning


def list_warnings(call: Any) -> bool:
    return CATALOG.passes_on_inaction(AssertionCall.model_validate(call))


ORDERS = {"resource_type": "ServiceRequest"}
CREATED = {"type": "ServiceRequest", "change": "created"}


@pytest.mark.parametrize(
    "call",
    [
        {"fhir_no_other_changes": {}},
        {"fhir_no_other_changes": {"may": [CREATED], "must_not": [CREATED]}},
        {"fhir_no_other_changes": {"must": [{**CREATED, "count": {"lte": 2}}]}},
        {"fhir_was_not_read": "Observation"},
        {"fhir_was_read": {"resource_type": "Observation", "count": 0}},
        {"fhir_resource_state": {**ORDERS, "none": True}},
        {"fhir_resource_state": {**ORDERS, "count": {"lt": 2}}},
        {"file_present": {"path": "order", "absent": True}},
        {"file_present": {"path": "order", "none": True}},
        {"file_present": {"path": "order", "count": 0}},
        {"file_was_read": {"path": "order", "none": True}},
        {"hl7_structural": {"type": "ORU^R01", "none": True}},
        {"hl7_acknowledged": {"code": "AE", "count": {"lte": 1}}},
        {"memory_was_not_set": [{"name": "order"}]},
        {"slot_was_not_set": [{"name": "order"}]},
        {"flow_not_started": "order"},
        {"action_not_executed": "order"},
    ],
)
def test_negative_forms_can_pass_on_inaction_whether_they_read_the_log_or_a_state(call: Any) -> None:
    assert list_warnings(call)


@pytest.mark.parametrize(
    "call",
    [
        {"fhir_no_other_changes": {"must": [CREATED]}},
        {"fhir_no_other_changes": {"must": [{**CREATED, "count": {"gte": 1}}]}},
        {"fhir_was_read": "Observation"},
        {"fhir_resource_state": ORDERS},
        {"fhir_resource_state": {**ORDERS, "count": 1}},
        {"file_present": {"path": "order"}},
        {"file_present": {"path": "order", "count": 2}},
        {"hl7_structural": "ORU^R01"},
        {"hl7_acknowledged": {}},
        {"memory_was_set": [{"name": "order"}]},
        {"judged": "The agent ordered nothing."},
    ],
)
def test_positive_forms_do_not_pass_on_inaction(call: Any) -> None:
    assert CATALOG.assertion(next(iter(call))).model_validate(next(iter(call.values())))
    assert not list_warnings(call)


def test_state_assertion_that_passes_for_inactive_agent_is_warned_about(tmp_path: Path) -> None:
    text = SUITE.replace("file_present: {path: order}", "file_present: {path: draft, absent: true}")
    bench = Workbench(tmp_path)
    bench.write("suite.yml", text)
    [idle, warning] = [str(warning) for warning in load_library(tmp_path, CATALOG).warnings]
    assert "no effect, answer or message is needed for 'An order or a note'" in idle
    assert "`file_present` can also pass when the agent does nothing" in warning
    assert [one.passed for one in written(bench.run_one(lambda task_item, sandboxes: "done"))] == [True]


class StaysClosed(Assertion):
    """An assertion of a plug-in that reads a state and declares that it holds on inaction."""

    name: ClassVar[str] = "test.stays_closed"
    holds_on_inaction: ClassVar[bool] = True

    def check(self, evidence: Evidence) -> Check:
        """Fail without the state."""
        raise LookupError("no sandbox")


def test_an_assertion_class_declares_that_it_holds_on_inaction() -> None:
    catalog = RegisteredCatalog(())
    catalog.assertions.add(StaysClosed.name, StaysClosed)
    assert catalog.passes_on_inaction(AssertionCall.model_validate({StaysClosed.name: None}))


def test_task_schema_accepts_nested_assertions() -> None:
    validator = jsonschema.Draft202012Validator(build_schema("task", CATALOG))

    def errors(*nested: Any) -> list[Any]:
        criteria = [{"label": "One", "assertion": {"any_of": list(nested)}}]
        return list(validator.iter_errors({"task": {"name": "A", "criteria": criteria}}))

    assert errors(ORDER, NOTE) == []
    assert errors(ORDER, {"any_of": [ORDER, NOTE]}) == []
    assert errors(ORDER)
    assert errors(ORDER, {"no_such": {}})


class ShowsPage(Assertion):
    """An assertion that shows a page."""

    name: ClassVar[str] = "shows_page"
    passes: bool = False

    def check(self, evidence: Evidence) -> Check:
        return Check.of(self.passes, "a page")._replace(pictures=(PagePicture(source="line", page="ab"),))


@pytest.mark.parametrize("passes", [False, True])
def test_pages_of_nested_assertions_are_in_the_result_of_the_criterion(passes: bool) -> None:
    call = AssertionCall.model_validate({"any_of": [{"shows_page": {"passes": passes}}, "shows_page"]})
    assertion = AnyOf.model_validate(call.args).resolve(lambda nested: ShowsPage.model_validate(nested.args))
    [result] = check_criteria([(Criterion(label="x", assertion=call), assertion)], LogBuilder().evidence())
    assert (result.passed, result.pictures) == (passes, (PagePicture(source="line", page="ab"),) * 2)
