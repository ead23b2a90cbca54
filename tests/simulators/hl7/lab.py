"""A suite with one task on an hl7 sandbox and a small chart."""

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.errors import InputError
from clerkship.suite_files.load import load_library
from tests.workbench import Workbench

ENVIRONMENT = """
environment:
  name: lab
  now: 2026-03-02T09:00:00-05:00
  datasets: [chart]
  simulators:
    ehr: {kind: fhir}
    lab: {kind: hl7}
dataset:
  name: chart
  type: fhir
  records:
    - resourceType: Patient
      id: ana
      birthDate: "1965-03-15"
      name: [{family: "Silva & Filha", given: [Ana]}]
      identifier:
        - {type: {coding: [{code: MR}]}, value: "4711"}
        - {value: "999-99"}
    - {resourceType: Patient, id: eva, birthDate: "1971-07-01", identifier: [{value: "4712"}]}
"""
TASK = """
task:
  name: A task
  environment: lab
  entities:
    - {{id: patient, dataset: chart, type: Patient, where: {{birthDate: "1965-03-15"}}}}
{body}
"""
CATALOG = RegisteredCatalog()


def task(bench: Workbench, body: str) -> None:
    """Write a task with this scenario and criteria, indented by two."""
    bench.write("lab.yml", ENVIRONMENT)
    bench.write("task.yml", TASK.format(body=body.strip("\n")))


def find_errors(bench: Workbench, body: str) -> list[str]:
    """Return the validation errors of such a task, with lines."""
    task(bench, body)
    try:
        load_library(bench.folder, CATALOG)
    except InputError as error:
        return [f"{problem.line}: {problem.message}; {problem.hint}" for problem in error.problems]
    return []
