"""A whole task over an hl7 and a fhir sandbox, with an in-process agent."""

from typing import Any

from clerkship.formats.hl7.ack import parse_ack
from clerkship.formats.hl7.message import parse_message
from clerkship.service.rescore import rescore
from clerkship.simulators.hl7.handle import Hl7
from tests.simulators.hl7.interface import admission, results
from tests.simulators.hl7.lab import CATALOG, task
from tests.workbench import Workbench, written

BODY = """
  scenario:
    steps:
      - hl7.send:
          type: ORU^R01^ORU_R01
          control_id: K1
          segments: |
            PID|1||{{ patient.mrn }}^^^CLINIC^MR||Silva^Ana
            OBR|1|O-1|L-1|24323-8^Metabolic panel^LN|||20260302083000|||||||||1234^May||||||20260302085500||CH|F
            OBX|1|NM|2823-3^Potassium^LN||6.2|mmol/L|3.5-5.1|H|||F
  criteria:
    - label: in order
      assertion:
        sequencing:
          - {event: hl7.oru.arrived, where: {control_id: K1}}
          - {event: hl7.inbox.listed}
          - {event: fhir.resources.searched, actor: agent}
          - {event: hl7.message.acknowledged, where: {ack: AA}, within: 5m}
          - {event: hl7.adt.sent, where: {trigger: A08}}
    - label: acknowledged
      input_entity_id: patient
      assertion: {hl7-acknowledged: {type: ORU^R01, within: 1h}}
    - label: update sent
      input_entity_id: patient
      assertion:
        hl7_structural:
          type: ADT^A08
          fields: [{path: PID.5.1, expected: Okafor}]
"""


def careful(task_item: Any, sandboxes: Any) -> None:
    """Read, file and acknowledge correctly."""
    lab = sandboxes.get_as(Hl7)
    [entry] = lab.inbox()
    assert parse_message(lab.take(entry["id"])).value("OBX.5") == "6.2"
    assert sandboxes["ehr"].search("Patient", {"identifier": parse_message(entry["message"]).value("PID.3.1")})
    lab.acknowledge(entry["id"])
    assert parse_ack(parse_message(lab.send(admission("A8").replace("ADT^A01", "ADT^A08")))).code == "AA"
    assert lab.inbox() == []
    assert len(lab.inbox(all=True)) == len(lab.sent()) == 1


def careless(task_item: Any, sandboxes: Any) -> None:
    """Acknowledge before reading, and send a message that is refused."""
    lab = sandboxes["lab"]
    lab.acknowledge("1", "AE", "later")
    assert parse_ack(parse_message(lab.send(results("R1").replace("4711^^^CLINIC^MR", "")))).code == "AE"
    assert lab.send(admission("A8", accept="NE|NE", mrn="4712").replace("ADT^A01", "ADT^A08")) == ""
    lab.listen("127.0.0.1", 7654)
    lab.stop_listening()


def test_sequencing_spans_hl7_and_fhir_sandboxes(bench: Workbench) -> None:
    task(bench, BODY)
    run = bench.run_one(careful)
    assert run.verdict == "pass", [(each.label, each.detail) for each in run.criteria]
    [again] = bench.store.task_runs(rescore(bench.store, run.run, CATALOG).run.id)
    assert again.criteria == run.criteria


def test_failed_criteria_explain_what_is_missing(bench: Workbench) -> None:
    task(bench, BODY)
    run = bench.run_one(careless)
    order, acknowledged, structural = written(run)
    assert not order.passed
    assert "AE (later) after" in acknowledged.detail
    assert "about other patients: ADT^A08 A8" in structural.detail
    assert run.verdict == "fail"
