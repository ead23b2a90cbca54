"""`fhir.put`, `fhir.patch`, `fhir.delete`: before the agent starts, and while it works."""

from typing import Any

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library
from tests.simulators.fhir.task_suite import write_task
from tests.workbench import Workbench

BEFORE = """
  scenario:
    steps:
      - fhir.put: {resource: {resourceType: Patient, id: new, name: [{family: Okafor}]}}
      - fhir.put: {resource: {resourceType: Basic, code: {text: without an id}}}
      - fhir.put:
          sandbox: ehr
          resource:
            resourceType: Observation
            id: k1
            status: amended
            code: {text: Potassium}
            subject: {reference: "Patient/{{ patient.id }}"}
            effectiveDateTime: "{{ now | minus('1d') | date }}"
            valueQuantity: {value: 4.10, unit: mmol/L}
      - fhir.patch:
          resource: Patient/eva
          set: {name.family: Souza, "telecom[0].value": "555", "telecom[0].system": phone, active: null}
      - fhir.patch: {type: Patient, id: eva, operations: [{op: replace, path: /birthDate, value: "1972-07-01"}]}
      - fhir.delete: {resource: Patient/new}
  criteria:
    - label: amended
      assertion:
        fhir_resource_state:
          resource_type: Observation
          fields:
            - {path: status, expected: amended}
            - {path: effective, expected: "2026-03-01"}
            - {path: value.value, expected: 4.1}
    - label: changed
      assertion:
        fhir_resource_state:
          resource_type: Patient
          search: {_id: eva}
          fields:
            - {path: name.family, expected: Souza}
            - {path: telecom.value, expected: "555"}
            - {path: active, expected: null}
            - {path: birthDate, expected: "1972-07-01"}
    - label: gone
      assertion: {fhir_resource_state: {resource_type: Patient, search: {_id: new}, none: true}}
    - label: numbered
      assertion: {fhir_resource_state: {resource_type: Basic, count: 1}}
    - label: nothing by the agent
      assertion: {fhir_no_other_changes: {}}
"""


def test_steps_change_chart_before_agent_starts(bench: Workbench) -> None:
    write_task(bench, BEFORE)
    run = bench.run_one(lambda task_item, sandboxes: "done")
    assert run.error == ""
    assert {each.label: each.detail for each in run.criteria if not each.passed} == {}
    assert run.verdict == "pass"
    written = [event for event in bench.events(run) if event["kind"].startswith("fhir.resource.")]
    assert {event["actor"] for event in written} == {"scenario"}


WHILE = """
  scenario:
    steps:
      - at: +10m
        fhir.put:
          resource:
            resourceType: Observation
            id: late
            status: final
            code: {coding: [{system: http://loinc.org, code: 2823-3}]}
            subject: {reference: "Patient/{{ patient.id }}"}
            effectiveDateTime: "{{ now | plus('10m') }}"
            valueQuantity: {value: 6.2, unit: mmol/L}
      - at: +20m
        fhir.patch: {resource: Observation/late, set: {status: corrected, valueQuantity.value: 5.2}}
      - at: +30m
        fhir.delete: {resource: Observation/k1}
  criteria:
    - label: read
      input_entity_id: patient
      assertion: {fhir_was_read: {resource_type: Observation, where: {value.value: 6.2}}}
    - label: read once corrected
      assertion: {fhir_was_read: {id: Observation/late, where: {status: corrected}}}
    - label: nothing else
      assertion: {fhir_no_other_changes: {}}
"""


def test_scheduled_steps_run_while_agent_works(bench: Workbench) -> None:
    seen: list[list[Any]] = []

    def on_task(task_item: Any, sandboxes: Any) -> None:
        for _ in range(4):
            found = sandboxes["ehr"].search("Observation", {"patient": "Patient/ana"})
            seen.append(sorted((each["id"], each["valueQuantity"]["value"]) for each in found))
            sandboxes.wait()

    write_task(bench, WHILE)
    run = bench.run_one(on_task)
    assert seen == [[("k1", 4.1)], [("k1", 4.1), ("late", 6.2)], [("k1", 4.1), ("late", 5.2)], [("late", 5.2)]]
    assert {each.label: each.detail for each in run.criteria if not each.passed} == {}


def test_impossible_step_is_an_author_error(bench: Workbench) -> None:
    operations = "[{op: remove, path: /photo}]"
    write_task(
        bench, f"  scenario: [{{fhir.patch: {{resource: Patient/ana, operations: {operations}}}}}]\n  criteria: []"
    )
    run = bench.run_one(lambda task_item, sandboxes: None)
    assert run.status == "errored"
    assert "step fhir.patch" in run.error
    assert "/photo" in run.error


def list_problems(bench: Workbench) -> list[str]:
    """Return the problems that `validate` reports."""
    with pytest.raises(InputError) as told:
        load_library(bench.folder, RegisteredCatalog())
    return [f"{problem.line}: {problem.message}; {problem.hint}" for problem in told.value.problems]


def test_invalid_resource_is_reported_with_lines(bench: Workbench) -> None:
    write_task(
        bench,
        """
  scenario:
    steps:
      - fhir.put:
          resource:
            resourceType: Observation
            status: finished
            code: {text: x}
            component:
              - code: {text: y}
                valueQuantity: {value: high}
            valeu: 1
""",
    )
    lines = list_problems(bench)
    assert [line.partition(":")[0] for line in lines] == ["12", "16", "17"], lines
    assert "finished" in lines[0]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("fhir.put: {resource: {resourceType: Pateint}}", "Pateint"),
        ("fhir.put: {resource: {id: x}}", "resourceType"),
        ("fhir.delete: {}", "expected `resource`, such as Patient/42, or `type` and `id`"),
        ("fhir.delete: {resource: ana}", "`ana` is not a resource"),
        ("fhir.delete: {resource: Patient/ana, type: Patient}", "expected `resource`"),
        ("fhir.delete: {type: Patient}", "expected `resource`"),
        ("fhir.delete: {resource: Pateint/ana}", "did you mean `Patient`?"),
        ("fhir.patch: {resource: Patient/ana}", "expected `operations` or `set`"),
        ("fhir.patch: {resource: Patient/ana, set: {birthdate: x}}", "did you mean `birthDate`?"),
        ("fhir.patch: {resource: Patient/ana, set: {name.first(): x}}", "is not a plain path"),
        ("fhir.patch: {resource: Patient/ana, operations: [{op: put, path: /a}]}", "expected add or remove"),
        ("fhir.patch: {resource: Patient/ana, operations: [{op: add, path: /a}]}", "`add` needs `value`"),
        ("fhir.patch: {resource: Patient/ana, operations: [{op: move, path: /a}]}", "`move` needs `from`"),
        ("fhir.patch: {resource: Patient/ana, operations: [{op: remove, path: a}]}", "`a` is not a JSON pointer"),
        ("fhir.put: {sandbox: other, resource: {resourceType: Patient}}", "no sandbox `other`"),
    ],
)
def test_invalid_step_is_rejected(bench: Workbench, step: str, message: str) -> None:
    write_task(bench, f"  scenario: [{{{step}}}]")
    assert any(message in line for line in list_problems(bench)), list_problems(bench)


def test_wrong_template_is_reported_once(bench: Workbench) -> None:
    resource = (
        "{resourceType: Basic, code: {text: x}, created: '{{ nwo | date }}', subject: {reference: 'X/{{ p.id }}'}}"
    )
    write_task(bench, f"  scenario: [{{fhir.put: {{resource: {resource}}}}}]")
    lines = list_problems(bench)
    assert ["nwo" in lines[0], "p" in lines[1], len(lines)] == [True, True, 2], lines


LATER = """
  scenario:
    steps:
      - at: +10m
        %s
  criteria:
    - label: no other changes
      assertion: {fhir_no_other_changes: {}}
"""


def build_deleting_agent(*keys: str) -> Any:
    """Return an agent that deletes these resources and waits for the next step."""

    def on_task(task_item: Any, sandboxes: Any) -> None:
        for key in keys:
            sandboxes["ehr"].delete(*key.split("/"))
        sandboxes.wait()

    return on_task


RESULT = (
    "{resourceType: Observation, id: late, status: final, code: {text: x}, subject: {reference: Patient/eva},"
    " effectiveDateTime: '2026-03-02'}"
)


@pytest.mark.parametrize(
    ("step", "deleted"),
    [
        ("fhir.patch: {resource: Observation/k1, set: {status: amended}}", "Observation/k1"),
        ("fhir.patch: {resource: Observation/k1, operations: [{op: remove, path: /value}]}", "Observation/k1"),
        ("fhir.delete: {resource: Observation/k1}", "Observation/k1"),
        (f"fhir.put: {{resource: {RESULT}}}", "Patient/eva"),
    ],
)
def test_agent_that_makes_a_step_fail_is_still_graded(bench: Workbench, step: str, deleted: str) -> None:
    step = step.replace("/value}", "/valueQuantity}")
    write_task(bench, LATER % step)
    run = bench.run_one(build_deleting_agent(deleted))
    assert [run.status, run.verdict, run.error] == ["completed", "fail", ""]
    [failed] = [event["payload"] for event in bench.events(run) if event["kind"] == "scenario.step.failed"]
    assert failed["by_agent"]
    assert failed["step"] == step.partition(":")[0]


def test_step_that_depends_on_failed_step_is_blamed_on_agent(bench: Workbench) -> None:
    then = f"fhir.put: {{resource: {RESULT}}}\n      - at: +20m\n        fhir.delete: {{resource: Observation/late}}"
    write_task(bench, LATER % then)
    run = bench.run_one(build_deleting_agent("Patient/eva"))
    assert [run.status, run.verdict] == ["completed", "fail"]


def test_step_impossible_for_any_agent_is_an_author_error(bench: Workbench) -> None:
    write_task(bench, LATER % "fhir.patch: {resource: Patient/ana, operations: [{op: remove, path: /photo}]}")
    run = bench.run_one(build_deleting_agent("Observation/k1"))
    assert run.status == "errored"
    assert run.verdict is None


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("[{fhir.patch: {resource: Patient/ana, set: {active: 'yes'}}}]", "the value is true or false"),
        ("[{fhir.patch: {resource: Patient/ana, set: {name: Silva}}}]", "the element has child elements"),
        ("[{fhir.patch: {resource: Patient/ana, set: {birthDate: {year: 1965}}}}]", "without child elements"),
        ("[{fhir.patch: {resource: Observation/k1, set: {status: amnded}}}]", "did you mean `amended`?"),
        ("[{fhir.patch: {resource: Patient/eve, set: {active: true}}}]", "there is no Patient/eve"),
        ("[{fhir.delete: {type: Patient, id: eve}}]", "there is no Patient/eve"),
        ("[{at: +1m, fhir.delete: {resource: Patient/eve}}]", "there is no Patient/eve"),
        (
            "[{fhir.delete: {resource: Observation/k1}}, {at: +1m, fhir.delete: {resource: Observation/k1}}]",
            "there is no Observation/k1",
        ),
        (
            f"[{{fhir.put: {{resource: {RESULT.replace('Patient/eva', 'Patient/eve')}}}}}]",
            "there is no Patient/eve",
        ),
        (
            "[{fhir.delete: {resource: Patient/new}},"
            " {fhir.put: {resource: {resourceType: Patient, id: new, active: true}}}]",
            "there is no Patient/new",
        ),
    ],
)
def test_impossible_step_is_reported_at_load(bench: Workbench, steps: str, message: str) -> None:
    write_task(bench, f"  scenario: {{steps: {steps}}}")
    assert any(message in line for line in list_problems(bench)), list_problems(bench)


def test_step_may_use_resource_of_earlier_step(bench: Workbench) -> None:
    put = "{fhir.put: {resource: {resourceType: Patient, id: new, active: true}}}"
    refers = "{fhir.put: {resource: {resourceType: Basic, code: {text: x}, subject: {reference: Patient/new}}}}"
    write_task(bench, f"  scenario: [{{at: +2m, fhir.delete: {{resource: Observation/k1}}}}, {put}, {refers}]")
    assert load_library(bench.folder, RegisteredCatalog()).tasks
