"""Tests of `hl7_structural`."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.states import NoSuchState
from clerkship.sandbox.assertion import Check
from clerkship.simulators.hl7.assertions.hl7_structural import Hl7Structural
from tests.simulators.hl7.assertions.ledger import evidence
from tests.simulators.hl7.interface import Interface, admission, results
from tests.simulators.hl7.lab import find_errors
from tests.workbench import Workbench


def build_engine() -> Interface:
    """Build an engine with two sent results, a sent admission, a refused result, and two results in its inbox."""
    engine = Interface()
    engine.send(results("R1", "4.2", "6.1"))
    engine.send(results("R2", "3.9", mrn="4712"))
    engine.send(admission("A1", name="O\\T\\Hara^Ada"))
    engine.send(results("R3", mrn="").replace("^^^CLINIC^MR", ""))
    engine.arrive(message=results("IN-1", "7.0"))
    engine.arrive(message=results("IN-2", mrn="").replace("^^^CLINIC^MR", ""), invalid=True)
    return engine


ENGINE = build_engine()


def check(args: Any, about: str = "") -> Check:
    return Hl7Structural.model_validate(args).check(evidence(ENGINE, about))


def expect(path: str, expected: Any) -> dict[str, Any]:
    return {"type": "ORU", "fields": [{"path": path, "expected": expected}]}


@pytest.mark.parametrize(
    "args",
    [
        None,
        "ORU^R01",
        "ORU",
        {"type": "ORU", "sandbox": "lab", "valid": False},
        {"type": "ORU^R01", "correlate_by": {"PID.3.1": "4712"}, "fields": [{"path": "OBX.5", "expected": "3.9"}]},
        {"correlate_by": {"MSH.10": {"matches": "^R"}, "OBX[*].5": "6.1"}, "segments": {"OBX": 2, "NTE": 0}},
        expect("OBX[2].5", 6.1),
        expect("OBX[2].5", {"gt": 6}),
        expect("OBX[*].5", {"lt": 4}),
        expect("OBX[*].5", {"not": "9.9"}),
        expect("OBX[2].5", {"approx": {"value": 6.0, "tolerance": 0.2}}),
        expect("OBX[3].5", {"exists": False}),
        expect("PID.9", ""),
        expect("PID.9", None),
        expect("PID.8", {"exists": True, "in": ["F", "M"]}),
        expect("PID.7", {"lt": "1970-01-01", "gte": "1965-03-15"}),
        expect("OBR.7", {"within": {"of": "2026-03-02T08:30:00", "by": "1m"}}),
        expect("PID-5.1", {"contains": "kaf"}),
        {"type": "ADT", "fields": [{"path": "PID.5.1", "expected": "O&Hara"}]},
        {"type": "ORU", "count": 2},
        {"type": "ORU", "count": {"gte": 1, "lt": 3}},
        {"type": "ORU", "fields": [{"path": "OBX.5", "expected": 4.2}], "count": 1},
        {"type": "SIU", "none": True},
        {"type": "ORU", "fields": [{"path": "PID.3.1", "expected": "4713"}], "none": True},
        {"direction": "arrived", "type": "ORU", "fields": [{"path": "OBX.5", "expected": 7}]},
        {"direction": "arrived", "type": "ORU", "count": 1},
        {"direction": "arrived", "type": "ORU", "valid": False, "count": 2},
    ],
)
def test_expected_message_passes(args: Any) -> None:
    result = check(args)
    assert result.passed, result
    assert result.score == 1


@pytest.mark.parametrize(
    ("args", "score", "detail"),
    [
        ("SIU", 0, "there is no sent SIU; there is ORU^R01 R1 (#1), ORU^R01 R2 (#2), ADT^A01 A1 (#3)"),
        (
            {"type": "ORU", "fields": [{"path": "PID.3.1", "expected": "4711"}, {"path": "OBX.5", "expected": "9"}]},
            2 / 3,
            "ORU^R01 R1 (#1) is there (the nearest of 2), but not as expected: OBX.5 is '4.2', expected '9'; the agent "
            "sent ORU^R01 R3 (#4), which was refused with AE: PID-3 is missing",
        ),
        (
            {"type": "ORU", "correlate_by": {"PID.3.1": "4713"}},
            0,
            "there is no sent ORU where PID.3.1 is '4713'; without the condition PID.3.1 '4713': ORU^R01 R1 (#1), "
            "ORU^R01 R2 (#2), with '4711'",
        ),
        ({"type": "ORU", "count": 1}, 0, "sent ORU: ORU^R01 R1 (#1), ORU^R01 R2 (#2) (expected 1)"),
        ({"type": "ADT", "none": True}, 0, "sent ADT: ADT^A01 A1 (#3) (expected 0)"),
        ({"type": "ORU", "correlate_by": {"MSH.10": "R3"}}, 0, "agent sent ORU^R01 R3 (#4), which was refused with AE"),
        ({"direction": "arrived", "type": "ADT"}, 0, "there is no arrived ADT; there is ORU^R01 IN-1 (#5)"),
        ({"direction": "arrived", "correlate_by": {"MSH.10": "IN-2"}}, 0, "but not as expected: valid"),
        (expect("OBX[*].5", {"not": {"lt": 10}}), 0.5, "not as expected: OBX[*].5"),
        ({"type": "ORU", "segments": {"OBX": {"gte": 3}}}, 0.5, "not as expected: OBX segments"),
    ],
)
def test_failure_detail_names_nearest_message(args: Any, score: float, detail: str) -> None:
    result = check(args)
    assert not result.passed
    assert result.score == pytest.approx(score)
    assert detail in result.detail


def test_each_field_has_field_check_with_event_number() -> None:
    result = check(
        {"type": "ORU", "fields": [{"path": "OBX[*].5", "expected": "4.2"}, {"path": "PID.9", "expected": "x"}]}
    )
    own, others = result.evidence[:3], result.evidence[3:]
    rows = [(row.path, row.actual, row.passed, row.seq) for row in own]
    assert rows == [
        ("OBX[*].5", ["4.2", "6.1"], True, 1),
        ("PID.9", "(absent)", False, 1),
        ("valid", True, True, 1),
    ]
    assert others[0].path == "ORU^R01 R2 (#2): OBX[*].5"


def test_patient_criterion_selects_only_messages_of_patient() -> None:
    assert check({"type": "ORU", "count": 1}, "ana").passed
    assert check(expect("OBX.5", 4.2), "ana").passed
    result = check(expect("OBX.5", 3.9), "ana")
    assert not result.passed
    missing = check("MDM", "ana")
    assert "there is no sent MDM about ana (PID-3 4711, 999-99, ana)" in missing.detail
    assert "there is no sent ORU about may (Practitioner/may)" in check("ORU", "may").detail


@pytest.mark.parametrize(("answer", "passed"), [({"id": "R1"}, True), ('{"id": "R1"}', True), ({"id": "R2"}, False)])
def test_answer_has_the_control_id_of_the_message(answer: Any, passed: bool) -> None:
    args = {"type": "ORU", "correlate_by": {"PID.3.1": "4711"}, "answer": "id"}
    found = replace(evidence(ENGINE), answer=answer, answered=True)
    result = Hl7Structural.model_validate(args).check(found)
    assert result.passed == passed
    assert [row.passed for row in result.evidence if row.path == "answer.id"] == [passed]


def test_unknown_sandbox_is_an_error() -> None:
    with pytest.raises(NoSuchState):
        check({"type": "ORU", "sandbox": "other"})


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ("ORX", "unknown message type ORX; did you mean"),
        ("ORU^R99", "unknown trigger event R99 of ORU; known: R01"),
        ("ORU-R01", "is not a message type (expected: ORU or ORU^R01"),
        ({"fields": [{"path": "PID.x", "expected": 1}]}, "`PID.x` is not a path into a message"),
        ({"correlate_by": {"pid.3": "1"}}, "`pid.3` is not a path into a message"),
        ({"segments": {"OBX.5": 1}}, "is not a segment (expected: a name"),
        ({"segments": {"OBX": "many"}}, "expected a whole number"),
        ({"count": 1, "none": True}, "do not go together"),
        ({"fields": [{"path": "PID.3", "expected": {"matches": "("}}]}, "regular expression"),
    ],
)
def test_invalid_options_are_rejected(args: Any, expected: str) -> None:
    with pytest.raises(ValidationError) as error:
        Hl7Structural.model_validate(args)
    assert expected in str(error.value)


def test_error_has_line_and_name_accepts_hyphens(bench: Workbench) -> None:
    lines = find_errors(
        bench,
        """
  criteria:
    - label: a
      assertion:
        hl7-structural:
          type: ORU
          correlate_by:
            PID.3.1: "{{ patient.mrn }}"
            PID3: x
          fields:
            - {path: "OBX[0].5", expected: 1}
""",
    )
    assert [line.partition(":")[0] for line in lines] == ["14", "16"], lines
    assert RegisteredCatalog().assertions.get("hl7-structural") is Hl7Structural
