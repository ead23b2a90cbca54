"""Tests of `hl7_acknowledged`."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.sandbox.assertion import Check
from clerkship.simulators.hl7.assertions.hl7_acknowledged import Hl7Acknowledged
from tests.simulators.hl7.assertions.ledger import evidence
from tests.simulators.hl7.interface import Interface, admission, build_msh, results


def build_engine() -> Interface:
    """Build an engine with three messages and an ACK in its inbox.

    One message was accepted at once and then by the application, one was rejected late, one was never read.
    """
    engine = Interface()
    engine.arrive(message=results("IN-1"))
    engine.arrive(message=results("IN-2", mrn="4712"))
    engine.arrive(message=admission("IN-3"))
    engine.send(admission("A1", accept="AL|AL"))
    engine.ask("POST", "/hl7/inbox/1/ack", code="CA")
    engine.ask("POST", "/hl7/inbox/1/ack", code="AA")
    engine.rig.playground.advance(timedelta(minutes=10))
    engine.ask("POST", "/hl7/inbox/2/ack", f"{build_msh('X', 'ACK')}\rMSA|AR|IN-2|unknown patient 4712\r")
    return engine


ENGINE = build_engine()


def check(args: Any, about: str = "") -> Check:
    return Hl7Acknowledged.model_validate(args).check(evidence(ENGINE, about))


@pytest.mark.parametrize(
    "args",
    [
        {"control_id": "IN-1"},
        {"control_id": "IN-1", "code": "CA"},
        {"control_id": "IN-1", "within": "1m", "sandbox": "lab"},
        {"control_id": "IN-2", "code": "AR", "text": {"contains": "4712"}, "within": "15m"},
        {"type": "ORU^R01", "code": {"in": ["AA", "AR"]}},
        {"correlate_by": {"PID.3.1": "4712"}, "code": {"matches": "^A[ER]$"}},
        {"count": 1},
        {"code": {"in": ["AA", "AR"]}, "count": {"lt": 3}},
        {"type": "ADT", "none": True},
        {"code": "AE", "none": True},
    ],
)
def test_expected_acknowledgment_passes(args: Any) -> None:
    result = check(args)
    assert result.passed, result
    assert result.score == 1


@pytest.mark.parametrize(
    ("args", "score", "detail"),
    [
        (
            None,
            1 / 3,
            "arrived message acknowledged with 'AA': 1 of 3 as expected; not ORU^R01 IN-2 (#3), ADT^A01 IN-3 (#5); "
            "ORU^R01 IN-2 (#3): AR (unknown patient 4712) after 10 min 4 s",
        ),
        (None, 1 / 3, "ADT^A01 IN-3 (#5): never read"),
        ({"code": "AR"}, 1 / 3, "message acknowledged with 'AR': 1 of 3 as expected"),
        (
            {"control_id": "IN-2", "code": "AR", "text": "no"},
            0,
            "with 'AR' and the text 'no': 0 of 1 as expected",
        ),
        (
            {"control_id": "IN-2", "code": "AR", "within": "5m"},
            0,
            "with 'AR' within 5 min: 0 of 1 as expected",
        ),
        ({"control_id": "IN-9"}, 0, "there is no arrived message IN-9; there is ORU^R01 IN-1 (#1)"),
        (
            {"type": "ORU", "count": 2},
            0,
            "ORU acknowledged with 'AA': ORU^R01 IN-1 (#1) (expected 2); ORU^R01 IN-2",
        ),
        ({"type": "ORU", "none": True}, 0, "ORU acknowledged with 'AA': ORU^R01 IN-1 (#1) (expected 0)"),
    ],
)
def test_failure_detail_names_actual_acknowledgment(args: Any, score: float, detail: str) -> None:
    result = check(args)
    assert not result.passed
    assert result.score == pytest.approx(score)
    assert detail in result.detail


def test_each_message_has_field_check_with_event_number() -> None:
    rows = [(row.path, row.actual, row.passed) for row in check({"code": "AR"}).evidence]
    assert rows == [
        ("ORU^R01 IN-1 (#1): acknowledged", "AA", False),
        ("ADT^A01 IN-3 (#5): acknowledged", "(absent)", False),
        ("ORU^R01 IN-2 (#3): acknowledged", "AR unknown patient 4712", True),
    ]
    seen = {row.seq: row.passed for row in check({"control_id": "IN-2", "code": "AR"}).evidence}
    assert seen == {ENGINE.state.inbox["2"].acks[0].seq: True}


def test_patient_criterion_selects_only_messages_of_patient() -> None:
    assert check({"type": "ORU"}, "ana").passed
    assert not check({"correlate_by": {"PID.3.1": "4712"}, "code": "AR"}, "ana").passed


def test_detail_distinguishes_unacknowledged_from_unread() -> None:
    engine = Interface()
    engine.arrive(message=results("IN-1"))
    engine.ask("GET", "/hl7/inbox/1")
    assert "never acknowledged" in Hl7Acknowledged().check(evidence(engine)).detail
    assert "nothing arrived" in Hl7Acknowledged().check(evidence(Interface())).detail


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"code": "OK"}, "unknown value `OK`; known: AA, AE, AR, CA, CE, CR"),
        ({"count": 1, "none": True}, "do not go together"),
        ({"within": "soon"}, "expected a duration"),
        ({"correlate_by": {"PID": {"matchs": "x"}}}, "unknown matcher"),
        ({"type": "oru"}, "is not a message type (expected: ORU or ORU^R01"),
    ],
)
def test_invalid_options_are_rejected(args: Any, expected: str) -> None:
    with pytest.raises(ValidationError) as error:
        Hl7Acknowledged.model_validate(args)
    assert expected in str(error.value)
