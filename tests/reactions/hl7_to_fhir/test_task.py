"""A whole task: messages of the scenario and of the agent are filed, each with its cause."""

from typing import Any

from clerkship.simulators.hl7.handle import Hl7
from tests.simulators.hl7.lab import ENVIRONMENT, TASK
from tests.workbench import Workbench

BODY = """
  scenario:
    steps:
      - hl7.send:
          type: ADT^A08^ADT_A01
          segments: |
            EVN||{{ now | hl7date }}
            {{ patient.pid }}
            PV1|1|O
      - hl7.send:
          type: ADT^A08^ADT_A01
          segments: |
            EVN||{{ now | hl7date }}
            PID|1||{{ patient.mrn }}^^^CLINIC^MR||{{ patient.family | hl7 }}^Anna||{{ patient.birthDate | hl7date }}|F
            PV1|1|O
  criteria:
    - label: filed
      assertion:
        fhir_resource_state:
          resource_type: Observation
          search: {patient: "{{ patient.id }}", code: "2823-3"}
          fields: [{path: value.value, expected: 6.2}, {path: status, expected: final}]
    - label: named
      input_entity_id: patient
      assertion:
        fhir_resource_state:
          resource_type: Patient
          fields: [{path: name.given, expected: Anna}, {path: gender, expected: female}]
    - label: in order
      assertion:
        sequencing:
          - {event: hl7.adt.arrived}
          - {event: fhir.resource.updated, actor: reaction, where: {operation: ADT^A08}}
          - {event: hl7.oru.sent, actor: agent}
          - {event: fhir.resource.created, actor: reaction, where: {type: Observation}}
          - {event: fhir.resource.created, actor: reaction, where: {type: DiagnosticReport}}
"""
RESULT = (
    "MSH|^~\\&|A|B|LAB|CLERKSHIP|20260302090000||ORU^R01^ORU_R01|{id}|P|2.5.1\r"
    "PID|1||{mrn}^^^CLINIC^MR||Silva^Ana\r"
    "OBR|1|O-1|L-1|24323-8^Metabolic panel^LN|||20260302083000|||||||||1234^May||||||20260302085500||CH|F\r"
    "OBX|1|NM|2823-3^Potassium^LN||6.2|mmol/L|3.5-5.1|H|||F\r"
)


def sends(task_item: Any, sandboxes: Any) -> None:
    """Send one result of a known patient and one of an unknown patient."""
    lab = sandboxes.get_as(Hl7)
    lab.send(RESULT.format(id="1", mrn="4711"))
    lab.send(RESULT.format(id="2", mrn="99"))


def test_sent_and_arrived_messages_change_chart_with_cause(bench: Workbench) -> None:
    simulators = "    lab: {kind: hl7}\n"
    bench.write(
        "lab.yml", ENVIRONMENT.replace(simulators, f"{simulators}  reactions: [lab.adt -> ehr, lab.oru.sent -> ehr]\n")
    )
    bench.write("task.yml", TASK.format(body=BODY.strip("\n")))
    task_run = bench.run_one(sends)
    assert [(each.label, each.passed) for each in task_run.criteria if not each.passed] == []
    events = {event["seq"]: event for event in bench.events(task_run)}
    reactions = [event for event in events.values() if event["actor"] == "reaction"]
    causes = [(events[each["cause"]]["kind"], each["kind"]) for each in reactions]
    assert causes == [
        ("hl7.adt.arrived", "fhir.nothing.changed"),
        ("hl7.adt.arrived", "fhir.resource.updated"),
        ("hl7.oru.sent", "fhir.resource.created"),
        ("hl7.oru.sent", "fhir.resource.created"),
        ("hl7.oru.sent", "sandbox.refused"),
    ]
    assert all(each["cause"] < each["seq"] for each in reactions)
    assert reactions[-1]["payload"]["operation"] == "react to hl7.oru.sent"
    assert "no patient in this chart has the number `99`" in reactions[-1]["payload"]["reason"]
