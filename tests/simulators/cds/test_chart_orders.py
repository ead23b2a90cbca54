"""Orders from the chart in the context of a hook."""

from typing import Any

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.cds.handle import Cds
from clerkship.simulators.cds.serving import AnswerHook
from tests.workbench import Workbench

TASK = """
environment:
  name: clinic
  datasets: [chart]
  simulators: {ehr: {kind: fhir}, emr: {kind: cds}}
  reactions: [emr.* -> ehr]
dataset:
  name: chart
  type: fhir
  records:
    - {resourceType: Practitioner, id: doc}
    - {resourceType: Patient, id: ana}
    - resourceType: MedicationRequest
      id: ibuprofen
      status: draft
      intent: order
      subject: {reference: Patient/ana}
      medicationCodeableConcept: {text: ibuprofen}
task:
  name: Answer the hook
  environment: clinic
  entities:
    - {id: patient, dataset: chart, type: Patient, where: {_id: ana}}
    - {id: order, dataset: chart, type: MedicationRequest, where: {patient: "{{ patient.reference }}", status: draft}}
  task_item: {instruction: Serve.}
  scenario:
    steps:
      - cds.fire:
          hook: order-sign
          patient: "{{ patient.id }}"
          user: Practitioner/doc
          orders: ["{{ order }}"]
          accept: first
  criteria:
    - {label: called, assertion: {event_occurred: {event: cds.hook.answered}}}
"""

CARD = {"summary": "Not needed", "indicator": "info", "source": {"label": "Orders"}}
REMOVE = {"type": "delete", "description": "Remove the order", "resourceId": "MedicationRequest/ibuprofen"}


def serve(bench: Workbench, answer: AnswerHook) -> list[dict[str, Any]]:
    """Return the events of a run with one service."""

    def agent(task_item: Any, sandboxes: Sandboxes) -> None:
        with sandboxes.get_as(Cds).serve({"order-sign": answer}):
            sandboxes.wait("1m")

    bench.write("clinic.yml", TASK)
    run = bench.run_one(agent)
    assert run.verdict == "pass", run.criteria
    return bench.events(run)


def test_entity_is_given_as_a_whole_order(bench: Workbench) -> None:
    orders: list[Any] = []

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        orders.extend(entry["resource"] for entry in request["context"]["draftOrders"]["entry"])
        return []

    serve(bench, answer)
    [order] = orders
    assert (order["resourceType"], order["id"], order["subject"]) == (
        "MedicationRequest",
        "ibuprofen",
        {"reference": "Patient/ana"},
    )


def test_accepted_change_of_an_order_of_the_chart_changes_the_chart(bench: Workbench) -> None:
    suggestion = {"label": "Remove", "actions": [REMOVE]}
    card = {**CARD, "selectionBehavior": "at-most-one", "suggestions": [suggestion]}
    events = serve(bench, lambda request: [card])
    assert [event["payload"]["id"] for event in events if event["kind"] == "fhir.resource.deleted"] == ["ibuprofen"]
