"""Mistakes in FHIR criteria are reported at load, with their line."""

import pytest

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library
from tests.simulators.fhir.task_suite import write_task
from tests.workbench import Workbench

CATALOG = RegisteredCatalog()


def list_mistakes(bench: Workbench, criteria: str) -> list[str]:
    """Return the problems that `validate` reports."""
    write_task(bench, criteria)
    with pytest.raises(InputError) as told:
        load_library(bench.folder, CATALOG)
    return [f"{problem.line}: {problem.message}; {problem.hint}" for problem in told.value.problems]


def test_mistakes_in_criterion_are_reported_with_line(bench: Workbench) -> None:
    criteria = """
  criteria:
    - label: a
      assertion:
        fhir_resource_state:
          resource_type: Observation
          search:
            patient: "{{ patient.id }}"
            stauts: final
          fields:
            - {path: status, expected: final}
            - {path: valeu.value, expected: 1}
    - label: b
      assertion:
        fhir_no_other_changes:
          may:
            - {type: Patient}
            - type: Patient
              fields: [adress]
    - label: c
      assertion:
        fhir_resource_state:
          resource_type: Patient
          fields:
            - path: name.where(
              expected: x
"""
    lines = list_mistakes(bench, criteria)
    assert [line.partition(":")[0] for line in lines] == ["14", "17", "24", "30"], lines
    assert "stauts" in lines[0]
    assert "did you mean `value`?" in lines[1]
    assert "did you mean `address`?" in lines[2]
    assert "is not valid FHIRPath" in lines[3]


def test_mistake_in_elements_is_reported_with_line(bench: Workbench) -> None:
    criteria = """
  criteria:
    - label: a
      assertion:
        fhir_no_other_changes:
          ever: true
          must:
            - change: created
              type: MedicationRequest
              elements:
                status: active
                medicationCodeableConcpt.coding.code: "1801294"
                intent: ordre
"""
    lines = list_mistakes(bench, criteria)
    assert [line.partition(":")[0] for line in lines] == ["17", "18"], lines
    assert "did you mean `medicationCodeableConcept`?" in lines[0]
    assert "`ordre` is not a code that R4 allows here; did you mean `order`?" in lines[1]


def test_unknown_entity_is_rejected(bench: Workbench) -> None:
    one = "criteria: [{label: a, assertion: {fhir_was_not_read: {patient_other_than: %s}}}]"
    [line] = list_mistakes(bench, f"  {one % 'pateint'}")
    assert "no entity `pateint`; did you mean `patient`?" in line
    [line] = list_mistakes(bench, f"  {one % '[patient, nobody]'}")
    assert "no entity `nobody`" in line


@pytest.mark.parametrize(
    "assertion",
    [
        "{fhir_resource_state: {resource_type: Patient}}",
        "{fhir_was_read: Patient}",
        "{never: {event: fhir.resource.deleted}}",
        "{never: {event: fhir.resource.deleted, where: {id: '{{ patient.id }}'}}}",
        "{any_of: [{fhir_was_read: Patient}, {event_occurred: fhir.resource.deleted}]}",
    ],
)
def test_input_entity_id_is_accepted_where_it_limits_the_check(bench: Workbench, assertion: str) -> None:
    other = "{label: b, assertion: {answer_matches: done}}"
    write_task(bench, f"  criteria: [{{label: a, input_entity_id: patient, assertion: {assertion}}}, {other}]")
    assert [str(warning) for warning in load_library(bench.folder, CATALOG).warnings] == []


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("{fhir_no_other_changes: {}}", "cannot limit `fhir_no_other_changes`: it looks for harm to any other record"),
        (
            "{fhir_no_other_changes: {may: [{type: Patient, id: '{{ patient.id }}'}]}}",
            "cannot limit `fhir_no_other_changes`: it looks for harm to any other record; remove `input_entity_id`",
        ),
        ("{fhir_was_read: Location}", "cannot limit `fhir_was_read`: Location has no reference to a Patient"),
        (
            "{fhir_was_not_read: {patient_other_than: patient}}",
            "`input_entity_id` and `patient_other_than` cannot be combined: limited to patient, it can never fail",
        ),
        ("{answer_matches: '{{ patient.id }}'}", "cannot limit `answer_matches`: a task has one answer"),
        ("{agent_acted: }", "cannot limit `agent_acted`"),
        ("{max_agent_actions: 3}", "cannot limit `max_agent_actions`"),
        ("{judged: The patient was told.}", "cannot limit `judged`: a model reads the whole trial"),
        ("{slot_was_set: [{name: a, value: 1}]}", "cannot limit `slot_was_set`: it checks the conversation"),
        ("{sequencing: [{event: fhir.resource.read}, {flow_started: a}]}", "cannot limit `sequencing`: step 2: it"),
        ("{any_of: [{fhir_was_read: Patient}, {agent_acted: }]}", "cannot limit `agent_acted`"),
    ],
)
def test_input_entity_id_is_a_mistake_where_it_cannot_limit_the_check(
    bench: Workbench, assertion: str, message: str
) -> None:
    [line] = list_mistakes(bench, f"  criteria: [{{label: a, input_entity_id: patient, assertion: {assertion}}}]")
    assert message in line


@pytest.mark.parametrize(
    ("assertion", "message"),
    [
        ("fhir_was_not_read: {where: {nmae.given: Ana}}", "no resource type has such an element"),
        ("fhir_was_not_read: {resource_type: Patient, id: Observation/k1}", "`Observation/k1` is not a Patient"),
        ("fhir_was_not_read: {id: Observaton/k1}", "unknown resource type `Observaton`"),
        ("fhir_was_not_read: {resource_type: Patient, except_types: [Patient]}", "the assertion could never fail"),
        ("fhir_was_not_read: {resource_type: Observation, search: {status: finl}}", "did you mean `final`?"),
        (
            "fhir_was_not_read: {resource_type: Observation, search: {_sort: date}}",
            "each resource is compared by itself",
        ),
        ("fhir_was_read: {resource_type: Patient, count: one}", "expected a whole number from 0"),
        ("fhir_was_read: {resource_type: Patient, where: {gender: femalle}}", "did you mean `female`?"),
        ("fhir_no_other_changes: {may: [{where: {nmae.given: Ana}}]}", "no resource type has such an element"),
        ("fhir_no_other_changes: {may: [{type: Patient, count: one}]}", "expected a whole number from 0"),
        ("fhir_no_other_changes: {may: [{type: Patient, id: Observation/k1}]}", "`Observation/k1` is not a Patient"),
        (
            "fhir_no_other_changes: {may: [{type: Observation, search: {_count: 1}}]}",
            "each resource is compared by itself",
        ),
        ("fhir_resource_state: {resource_type: Patient, count: one}", "expected a whole number from 0"),
        (
            "fhir_resource_state: {resource_type: Patient, fields: [{path: birthDate, expected: {not: {lt: 1950}}}]}",
            "a date is compared with the number 1950",
        ),
        (
            "fhir_resource_state: {resource_type: Patient, fields: [{path: name.where(usee='x'), expected: null}]}",
            "did you mean `use`?",
        ),
        (
            "fhir_resource_state: {resource_type: Observation, fields: [{path: valueQuantity.empty(), expected: 1}]}",
            "`valueQuantity` is not an element in FHIRPath; write `value`",
        ),
        ("event_count: {event: fhir.resource.read, expected: one}", "expected a whole number from 0"),
    ],
)
def test_assertion_with_fixed_result_is_rejected(bench: Workbench, assertion: str, message: str) -> None:
    lines = list_mistakes(bench, f"  criteria: [{{label: a, assertion: {{{assertion}}}}}]")
    assert any(message in line for line in lines), lines


def test_input_entity_id_with_patient_other_than_is_rejected(bench: Workbench) -> None:
    criterion = "label: a, input_entity_id: patient, assertion: {fhir_was_not_read: {patient_other_than: patient}}"
    [line] = list_mistakes(bench, f"  criteria: [{{{criterion}}}]")
    assert "`input_entity_id` and `patient_other_than` cannot be combined" in line
