"""Tests of the step `hl7.send`."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.formats.hl7.message import parse_message
from clerkship.simulators.hl7.steps.send import Hl7Send
from tests.simulators.hl7.interface import Interface, results
from tests.simulators.hl7.lab import find_errors, task
from tests.workbench import Workbench

SEGMENTS = results().partition("\r")[2].replace("\r", "\n")
STEPS = """
  scenario:
    steps:
      - hl7.send:
          type: ORU^R01^ORU_R01
          control_id: K1
          segments: |
            PID|1||{{ patient.mrn }}^^^CLINIC^MR||Silva^Ana
            OBR|1|O-1|L-1|24323-8^Metabolic panel^LN|||20260302083000|||||||||1234^May||||||20260302085500||CH|F
            OBX|1|NM|2823-3^Potassium^LN||6.2|mmol/L|3.5-5.1|H|||F
      - at: +10m
        hl7.send:
          sandbox: lab
          times: 2
          message: |
            MSH|^~\\&|LAB|CLERKSHIP|EHR|CLINIC|||ADT^A08^ADT_A01||P|2.5.1
            EVN||20260302090000
            PID|1||{{ patient.mrn }}^^^CLINIC^MR||Silva^Ana
            PV1|1|O
"""


def test_messages_arrive_before_and_during_agent_work(bench: Workbench) -> None:
    seen: list[list[dict[str, Any]]] = []

    def looks(task_item: Any, sandboxes: Any) -> None:
        seen.append(sandboxes["lab"].inbox())
        assert sandboxes.wait("15m")
        seen.append(sandboxes["lab"].inbox())

    task(bench, STEPS)
    run = bench.run_one(looks)
    assert run.status == "completed", run.error
    assert [entry["control_id"] for entry in seen[0]] == ["K1"]
    first = parse_message(seen[0][0]["message"])
    assert [first.value(path) for path in ("MSH.3", "MSH.4", "MSH.12", "PID.3.1")] == [
        "LAB",
        "CLERKSHIP",
        "2.5.1",
        "4711",
    ]
    assert first.value("MSH.7") == "20260302090000-0500"
    _, once, twice = (entry["message"] for entry in seen[1])
    assert once == twice
    assert parse_message(once).control_id.startswith("msg_")
    assert parse_message(once).value("MSH.7") == "20260302091000-0500"
    again = bench.run_one(looks)
    assert again.head == run.head


def test_generated_ids_differ_per_message_and_repeat_per_run() -> None:
    one, other = Interface(application="SENDER", facility="NORTH"), Interface(application="SENDER", facility="NORTH")
    for engine in (one, other):
        engine.arrive(type="ORU^R01^ORU_R01", segments=SEGMENTS)
        engine.arrive(type="ORU^R01^ORU_R01", segments=SEGMENTS.replace("Okafor", "Öztürk"), version="2.4")
    assert one.rig.lines == other.rig.lines
    first, second = (entry.message for entry in one.state.inbox.values())
    assert first.control_id != second.control_id
    assert [second.value(path) for path in ("MSH.3", "MSH.4", "MSH.12", "MSH.18")] == [
        *("SENDER", "NORTH", "2.4", "UNICODE UTF-8")
    ]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({}, "expected `message`, `template`, or `type` with `segments`"),
        ({"type": "ORU^R01"}, "expected `message`, `template`, or `type` with `segments`"),
        ({"segments": SEGMENTS}, "`type` and `segments` go together"),
        ({"message": results(), "segments": SEGMENTS, "type": "ORU^R01"}, "expected `message`"),
        ({"message": results(), "version": "2.4"}, "MSH-12"),
        ({"message": "PID|1"}, "not an HL7 v2 message: a message starts with MSH"),
        ({"message": results().replace("ORU^R01^ORU_R01", "QRY^A19")}, "unsupported message type QRY"),
        ({"message": results().replace("ORU^R01^ORU_R01", "QRY^A19"), "invalid": True}, "message type QRY"),
        ({"type": "ORU^R01^ORU_R01", "segments": "PID|1||"}, "PID-3"),
        ({"message": results().replace("4711^^^CLINIC^MR", "")}, "PID-3"),
        ({"message": results(), "times": 0}, "greater than or equal to 1"),
        ({"message": results(), "control_id": ""}, "at least 1 character"),
    ],
)
def test_invalid_step_is_rejected(step: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError) as error:
        Hl7Send(**step)
    assert expected in str(error.value)


def test_invalid_message_is_sent_if_allowed() -> None:
    engine = Interface()
    engine.arrive(message=results("X").replace("4711^^^CLINIC^MR", ""), invalid=True, control_id="MINE")
    assert (engine.state.inbox["1"].control_id, engine.state.inbox["1"].message.value("PID.3")) == ("MINE", "")


def test_step_errors_have_lines(bench: Workbench) -> None:
    body = (
        STEPS.replace("|P|2.5.1", "|P|1.0").replace("OBX|1|NM", "QQQ|1|NM").replace("{{ patient.mrn }}^^^CLINIC^MR", "")
    )
    lines = find_errors(bench, body)
    assert {int(line.partition(":")[0]) for line in lines} == {12, 20}, lines


def test_unread_template_is_an_error() -> None:
    engine = Interface()
    engine.rig.playground.steps.run(Hl7Send(template="oru.hl7"))
    assert engine.kinds == ["scenario.step.failed"]
    assert engine.rig.playground.steps.errors[0].startswith("step hl7.send: oru.hl7 was not read")
