"""Objections of the chart to a message are in its acknowledgment."""

from typing import Any

import pytest

from clerkship.formats.hl7.message import parse_message
from clerkship.sandbox.request import Refusal
from clerkship.simulators.hl7.intake import build_objection_flaw
from tests.workbench import Workbench

PLACE = """
environment:
  name: ward
  now: 2026-03-02T09:00:00Z
  datasets: [chart]
  simulators:
    ehr: {kind: fhir}
    engine: {kind: hl7}
  reactions: [engine.adt.sent -> ehr]
dataset:
  name: chart
  type: fhir
  records:
    - resourceType: Patient
      id: p1
      active: true
      identifier: [{type: {coding: [{system: http://terminology.hl7.org/CodeSystem/v2-0203, code: MR}]}, value: "4711"}]
      name: [{family: Okafor, given: [Ada]}]
      birthDate: "1965-03-15"
task:
  name: Send an update
  task_item: {instruction: Send it.}
  criteria: [{label: Sent, assertion: {hl7_structural: {type: ADT^A08, count: 1}}}]
"""


def update(mrn: str, control_id: str, enhanced: str = "") -> str:
    """Build an ADT^A08 with a new phone number."""
    return "\r".join(
        [
            f"MSH|^~\\&|A|B|LAB|CLERKSHIP|20260302090000||ADT^A08^ADT_A01|{control_id}|P|2.5.1{enhanced}",
            "EVN|A08|20260302090000",
            f"PID|1||{mrn}^^^CLINIC^MR||Okafor^Ada||19650315|F|||||5550177",
            "PV1|1|N",
        ]
    )


def test_message_about_unknown_patient_is_answered_with_error(bench: Workbench) -> None:
    bench.write("ward.yml", PLACE)
    answers: dict[str, Any] = {}

    def on_task(task_item: Any, sandboxes: Any) -> None:
        engine = sandboxes["engine"]
        answers["unknown"] = parse_message(engine.send(update("9999", "M1")))
        answers["again"] = parse_message(engine.send(update("9999", "M1")))
        answers["sent"] = engine.sent()
        answers["known"] = parse_message(engine.send(update("4711", "M1")))

    run = bench.run_one(on_task)
    assert [answers[which].value("MSA.1") for which in ("unknown", "again", "known")] == ["AE", "AE", "AA"]
    assert (answers["unknown"].value("ERR.3.1"), answers["unknown"].value("ERR.2")) == ("204", "PID^1^3")
    assert "9999" in str(answers["unknown"].first("ERR").render())
    assert [entry["ack"] for entry in answers["sent"]] == ["AE", "AE"]
    kinds = bench.kinds(run)
    first = kinds.index("hl7.adt.sent")
    assert kinds[first : first + 3] == ["hl7.adt.sent", "sandbox.refused", "hl7.message.objected"]
    assert run.verdict == "pass"  # one accepted message counts


@pytest.mark.parametrize(
    ("status", "reason", "code", "place"),
    [
        (404, "no patient here has the number PAT-77", "204", ("PID", 3)),
        (404, "no patient in this chart has the number `7` of PV1-7", "204", ("PV1", 7)),
        (501, "ADT^A08 is not filed, nor is PV1-7", "201", ("MSH", 9)),
        (409, "a visit is over already", "205", ("", None)),
        (409, "PV1-19 is another patient's", "205", ("PV1", 19)),
        (422, "PID-7: `x` is no date", "207", ("PID", 7)),
        (500, "it is down", "207", ("", None)),
    ],
)
def test_objection_has_error_code_and_location(
    status: int, reason: str, code: str, place: tuple[str, int | None]
) -> None:
    found = build_objection_flaw(parse_message(update("1", "M1")), Refusal(status, "no", reason))
    assert (found.code, (found.segment, found.field), found.text) == (code, place, reason)


def test_objection_follows_accept_acknowledgment_in_enhanced_mode(bench: Workbench) -> None:
    bench.write("ward.yml", PLACE)
    answers: dict[str, Any] = {}

    def on_task(task_item: Any, sandboxes: Any) -> None:
        engine = sandboxes["engine"]
        answers["now"] = parse_message(engine.send(update("9999", "M1", "|||AL|AL")))
        [answers["later"]] = engine.inbox()

    run = bench.run_one(on_task)
    assert answers["now"].value("MSA.1") == "CA"
    later = parse_message(answers["later"]["message"])
    assert (later.value("MSA.1"), later.value("MSA.2")) == ("AE", "M1")
    assert run.verdict != "pass"
