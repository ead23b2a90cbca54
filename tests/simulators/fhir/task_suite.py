"""A suite with one task on a small chart."""

from clerkship.model.run import CriterionRun, TaskRun
from tests.workbench import Workbench

ENVIRONMENT = """
environment:
  name: ward
  now: 2026-03-02T09:00:00-05:00
  datasets: [chart]
  simulators:
    ehr: {kind: fhir}
dataset:
  name: chart
  type: fhir
  records:
    - {resourceType: Patient, id: ana, active: true, birthDate: "1965-03-15", name: [{family: Silva, given: [Ana]}]}
    - {resourceType: Patient, id: eva, active: true, birthDate: "1971-07-01", name: [{family: Silva, given: [Eva]}]}
    - resourceType: Observation
      id: k1
      status: final
      code: {coding: [{system: http://loinc.org, code: 2823-3}], text: Potassium}
      subject: {reference: Patient/ana}
      effectiveDateTime: "2026-02-20"
      valueQuantity: {value: 4.1, unit: mmol/L}
"""
TASK = """
task:
  name: {name}
  environment: ward
  entities:
    - {{id: patient, dataset: chart, type: Patient, where: {{birthDate: "1965-03-15"}}}}
{body}
"""


def write_task(bench: Workbench, body: str, name: str = "A task") -> None:
    """Write a task with its scenario and criteria, indented by two."""
    bench.write("ward.yml", ENVIRONMENT)
    bench.write("task.yml", TASK.format(name=name, body=body.strip("\n")))


def find_criterion(run: TaskRun, label: str) -> CriterionRun:
    """Return the criterion with a label."""
    [found] = [each for each in run.criteria if each.label == label]
    return found
