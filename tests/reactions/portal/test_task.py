"""A simulated person on the patient portal, whom the agent answers through the chart."""

from pathlib import Path

import pytest

from clerkship.actors.contract import Message
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.fhir.handle import Fhir
from tests.workbench import Workbench, written

TASK = """
    environment:
      name: clinic
      datasets: [chart]
      simulators: {ehr: {kind: fhir}, portal: {kind: messages}}
      reactions: [portal.message -> ehr, ehr.resource.created -> portal]
    datasets:
      - name: chart
        type: fhir
        records: [{resourceType: Patient, id: ana, name: [{family: Silva, given: [Ana]}]}]
    task:
      name: Answer through the chart
      scenario:
        starts: person
        people:
          - {name: Ana, channel: portal, address: Patient/ana, subject: Refill, lines: [I need a refill., Thanks.]}
      criteria:
        - {label: sent, assertion: {message_sent: {only_to: Patient/ana, text: It is ready., count: 1}}}
        - label: thread
          assertion:
            message_thread:
              - {from: contact, text: {contains: refill}}
              - {event: fhir.resource.created, actor: agent, where: {type: Communication}}
              - {from: agent, text: It is ready.}
              - {from: contact, text: Thanks.}
        - {label: chart, assertion: {fhir_no_other_changes: {must: [{type: Communication, count: 1}]}}}
"""


class ChartClerk:
    """Answers the first message with a Communication in the chart."""

    def on_turn(self, message: Message, sandboxes: Sandboxes) -> None:
        if message.turn > 1:
            return
        ehr = sandboxes.get_as(Fhir)
        [asked] = ehr.search("Communication", sender="Patient/ana")
        ehr.create(
            {
                "resourceType": "Communication",
                "status": "completed",
                "recipient": [{"reference": "Patient/ana"}],
                "inResponseTo": [{"reference": f"Communication/{asked['id']}"}],
                "payload": [{"contentString": "It is ready."}],
            }
        )


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path)


def test_person_hears_an_answer_that_the_agent_creates_in_the_chart(bench: Workbench) -> None:
    bench.write("task.yml", TASK)
    task_run = bench.run_one(ChartClerk)
    assert task_run.status == "completed", task_run.error
    assert [(criterion.label, criterion.passed) for criterion in written(task_run)] == [
        ("sent", True),
        ("thread", True),
        ("chart", True),
    ], [criterion.detail for criterion in written(task_run)]
    assert task_run.ending == "person_done"
