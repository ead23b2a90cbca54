"""The criterion `policy_cited`: the policy and the version that decides are named, and nothing that contradicts it."""

from typing import Any

import pytest

from clerkship.events.evidence import Evidence
from clerkship.model.errors import InputError
from clerkship.model.task import Task
from clerkship.payer import SPEC
from clerkship.payer.assertions.policy_cited import PolicyCited
from clerkship.payer.config import PayerConfig
from clerkship.playground.component import PreparedComponent
from clerkship.sandbox.assertion import Check
from tests.payer.clinic import NAME, PayerClinic
from tests.payer.policy_samples import build_library
from tests.workbench import Workbench

CONFIG = PayerConfig.model_validate({"payers": {"CM002": {}}})
CLINIC = PayerClinic(prepared=PreparedComponent(SPEC, CONFIG, SPEC.prepare([build_library()])))
WANTED = {"policy": "CM-RAD-014", "version": "2026.1"}


def check(answer: Any, **fields: Any) -> Check:
    evidence = Evidence(Task(name="t"), [], {NAME: CLINIC.payer}, "agent_done", answer=answer, answered=answer != "")
    return PolicyCited.model_validate({**WANTED, **fields}).check(evidence)


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        ("CM-RAD-014 version 2026.1 asks for four weeks; version 2025.2 is superseded.", {}),
        ({"policy": "cm rad 14", "version": "2026.1"}, {}),
        ({"policy": "CM-RAD-014", "version": 2026.1}, {}),
        ("CM-RAD-014", {"version": None}),
        ("CM-RAD-014 2026.1, decided within the times of FED-PA-001", {"beside": ["FED-PA-001"]}),
        ("CM-RAD-014 2026.1, which comes after no rule: FED-PA-001 does not apply", {}),
    ],
)
def test_it_passes_if_the_right_version_is_named(answer: Any, fields: dict[str, Any]) -> None:
    result = check(answer, **fields)
    assert result.passed, result.detail
    assert result.evidence[0].path == "answer"


@pytest.mark.parametrize(
    ("answer", "fields", "detail"),
    [
        ("", {}, "the agent names CM-RAD-014 2026.1 nowhere"),
        ("Four weeks are enough.", {}, "nowhere"),
        ("CM-RAD-014 asks for four weeks.", {}, "nowhere"),
        ("CM-RAD-014 2026.1", {"in": ["chart", "fax"]}, "nowhere in chart, fax"),
        ("CM-RAD-014 version 2025.2", {}, "answer names CM-RAD-014 2025.2"),
        ("CM-RAD-014 version 2026.1, or version 2025.2", {}, "answer names CM-RAD-014 2025.2"),
        ("CM-RAD-014 version 2026.1 and FED-PA-001", {}, "answer names FED-PA-001"),
        ("CM-RAD-014 version 2027.1", {}, "answer names CM-RAD-014 2027.1"),
        ("CM-PLN-101 takes precedence over CM-RAD-014 version 2026.1", {}, "answer names CM-PLN-101"),
        ("CM-RAD-014 version 2026.1 is not in force.", {}, "CM-RAD-014 2026.1 (set aside)"),
    ],
)
def test_it_fails_if_another_is_named_or_none(answer: Any, fields: dict[str, Any], detail: str) -> None:
    result = check(answer, **fields)
    assert not result.passed
    assert detail in result.detail


def test_a_version_that_does_not_exist_is_a_mistake_of_the_author() -> None:
    with pytest.raises(ValueError, match=r"CM-RAD-014 has no version 2026\.7 \(expected: 2025\.2, 2026\.1\)"):
        check("x", version="2026.7")
    with pytest.raises(ValueError, match="there is no policy CM-RAD-15"):
        check("x", policy="CM-RAD-15")


TASK = """
    environment:
      name: desk
      datasets: [library]
      simulators: {{ehr: {{kind: fhir}}, drop: {{kind: files}}}}
      domains: {{payer: {{kind: payer, config: {{payers: {{CM002: {{}}}}}}}}}}
    dataset:
      name: library
      type: policies
      policies:
        - id: CM-RAD-014
          title: Imaging of the lumbar spine
          publisher: Cedar Mutual Insurance
          kind: medical_policy
          payer: {payer}
          versions:
            - number: "2025.2"
              effective: 2025-03-01
              until: {until}
              sections: [{{heading: Criteria, criteria: [Six weeks.]}}]
            - number: "2026.1"
              effective: 2026-01-01
              sections: [{{heading: Criteria, criteria: [Four weeks.]}}]
    task:
      name: cite
      criteria:
        - label: cited
          gate: true
          assertion: {{policy_cited: {{policy: {policy}, version: "2026.1", in: [chart, files]}}}}
"""


def write(bench: Workbench, **values: str) -> Workbench:
    bench.write("suite.yml", TASK.format(**{"payer": "CM002", "until": "2025-12-31", "policy": "CM-RAD-014", **values}))
    return bench


def test_notes_in_the_chart_and_written_files_are_read(bench: Workbench) -> None:
    def write_note(task_item: Any, sandboxes: Any) -> str:
        note = "Requested under CM-RAD-014, version 2026.1."
        task = {"status": "requested", "intent": "order", "note": [{"text": note}]}
        sandboxes["ehr"].create({"resourceType": "Task", **task})
        return "done"

    write(bench)
    assert bench.run_one(write_note).verdict == "pass"

    def write_file(task_item: Any, sandboxes: Any) -> str:
        assert b"Four weeks." in sandboxes["drop"].read("policies/CM-RAD-014_2026.1.html")
        assert sandboxes["drop"].read("policies/CM-RAD-014_2025.2.pdf").startswith(b"%PDF")
        sandboxes["drop"].write("outbound/note.txt", b"Requested under CM-RAD-014, version 2025.2.")
        return "CM-RAD-014, version 2026.1"

    assert bench.run_one(write_file).verdict == "fail"


@pytest.mark.parametrize(
    ("values", "line", "message"),
    [
        ({"until": "2026-01-31"}, 22, "version 2025.2 applies on this day, too: end it before, with `until`"),
        ({"until": "2025-02-01"}, 17, "`until` (2025-02-01) is before `effective` (2025-03-01)"),
        ({"policy": "CM-RAD-14"}, 29, "no policy `CM-RAD-14` in desk"),
    ],
)
def test_mistakes_have_their_line(bench: Workbench, values: dict[str, str], line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        write(bench, **values).run("nop")
    [problem] = caught.value.problems
    assert message in problem.message
    assert problem.line == line, problem
