"""Tests of the inbox: listing, reading and acknowledging messages."""

import pytest

from clerkship.formats.hl7.ack import parse_ack
from clerkship.formats.hl7.message import parse_message
from clerkship.simulators.hl7.events import MessageAcknowledged, MessageTaken
from clerkship.simulators.hl7.mllp_call import build_read_call
from tests.simulators.hl7.interface import Interface, admission, build_msh, results


def build_filled_interface() -> Interface:
    """Return an interface with two messages in its inbox."""
    engine = Interface()
    engine.arrive(message=results("IN-1"))
    engine.arrive(message=admission("IN-2"))
    return engine


def test_inbox_lists_messages_in_order_until_acknowledged() -> None:
    engine = build_filled_interface()
    assert [(entry["id"], entry["control_id"], entry["type"]) for entry in engine.inbox()] == [
        ("1", "IN-1", "ORU^R01"),
        ("2", "IN-2", "ADT^A01"),
    ]
    assert engine.last.payload.model_dump() == {"ids": ("1", "2")}
    assert engine.ask("POST", "/hl7/inbox/1/ack").status == 204
    assert engine.ask("POST", "/hl7/inbox/2/ack", code="AE", text="who is this?").status == 204
    assert engine.inbox() == []
    assert [entry["acknowledged"] for entry in engine.inbox(all="true")] == ["AA", "AE"]
    assert engine.replays_to_same_state()


def test_single_message_is_read_over_http_and_mllp() -> None:
    engine = build_filled_interface()
    reply = engine.ask("GET", "/hl7/inbox/1")
    assert (reply.status, reply.body.decode()) == (200, results("IN-1"))
    assert isinstance(engine.last.payload, MessageTaken)
    assert engine.last.payload.over == "http"
    engine.rig.call(build_read_call("1"))
    assert isinstance(engine.last.payload, MessageTaken)
    assert engine.last.payload.over == "mllp"
    assert len(engine.inbox()) == 2


def test_listing_the_inbox_is_logged() -> None:
    engine = build_filled_interface()
    events = len(engine.kinds)
    engine.ask("GET", "/hl7/inbox")
    assert engine.kinds[events:] == ["hl7.inbox.listed"]


def test_complete_acknowledgment_is_logged_unchanged() -> None:
    engine = build_filled_interface()
    ack = f"{build_msh('X1', 'ACK^R01^ACK')}\rMSA|AR|IN-1|no such patient\r"
    assert engine.ask("POST", "/hl7/inbox/1/ack", ack.replace("\r", "\n")).status == 204
    said = engine.last.payload
    assert isinstance(said, MessageAcknowledged)
    assert (said.ack, said.text, said.message) == ("AR", "no such patient", ack)


@pytest.mark.parametrize("version", ["2.3", "2.5.1", "2.8"])
def test_acknowledgment_from_code_and_text_contains_both(version: str) -> None:
    engine = Interface()
    engine.arrive(message=results("IN-1", version=version), invalid=True)
    assert engine.ask("POST", "/hl7/inbox/1/ack", code="AE", text="no such patient & no order").status == 204
    said = engine.last.payload
    assert isinstance(said, MessageAcknowledged)
    assert (said.ack, said.text) == ("AE", "no such patient & no order")
    assert parse_ack(parse_message(said.message)).control_id == "IN-1"


@pytest.mark.parametrize(
    ("path", "body", "query", "status", "code"),
    [
        ("1", f"{build_msh('X1', 'ACK')}\rMSA|AA|IN-2\r", {}, 409, "another_message"),
        ("1", f"{build_msh('X1', 'ACK')}\rMSA|AA\r", {}, 409, "another_message"),
        ("1", f"{build_msh('X1', 'ACK')}\rMSA|OK|IN-1\r", {}, 400, "bad_code"),
        ("1", f"{build_msh('X1', 'ACK')}\r", {}, 400, "not_an_ack"),
        ("1", "fine, thank you", {}, 400, "not_hl7"),
        ("1", "", {"code": "OK"}, 400, "bad_code"),
        ("3", "", {}, 404, "no_such_message"),
        ("x", "", {}, 404, "no_such_message"),
        ("2", "", {"code": "AE"}, 409, "acknowledged"),
    ],
)
def test_acknowledgment_of_no_message_is_refused(
    path: str, body: str, query: dict[str, str], status: int, code: str
) -> None:
    engine = build_filled_interface()
    engine.ask("POST", "/hl7/inbox/2/ack")
    before = engine.state.dump()
    reply = engine.ask("POST", f"/hl7/inbox/{path}/ack", body, **query)
    assert (reply.status, code.encode() in reply.body) == (status, True), reply.body
    assert engine.state.dump() == before


def test_repeated_acknowledgment_changes_nothing() -> None:
    engine = build_filled_interface()
    for _ in range(2):
        assert engine.ask("POST", "/hl7/inbox/1/ack", code="AE").status == 204
    assert engine.kinds.count("hl7.message.acknowledged") == 1


def test_acknowledgment_in_inbox_is_done_when_read() -> None:
    engine = Interface()
    engine.send(admission("A1", accept="AL|AL"))
    assert [entry["type"] for entry in engine.inbox()] == ["ACK^A01"]
    engine.ask("GET", "/hl7/inbox/1")
    assert engine.inbox() == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"port": 7654}', 204),
        ('{"host": "localhost", "port": 7654}', 204),
        ('{"host": "::1", "port": 7654}', 204),
        ('{"host": "127.9.9.9", "port": 7654}', 204),
        ('{"host": "10.0.0.1", "port": 7654}', 400),
        ('{"host": "lab.example", "port": 7654}', 400),
        ('{"port": 0}', 400),
        ('{"port": "7654"}', 400),
        ("{}", 400),
        ("nonsense", 400),
    ],
)
def test_listener_address_is_not_logged(body: str, status: int) -> None:
    engine = Interface()
    assert engine.ask("PUT", "/hl7/listener", body).status == status
    callbacks = engine.rig.playground.sandboxes[engine.rig.name].callbacks
    assert bool(callbacks) is engine.state.is_listening is (status == 204)
    assert b"7654" not in b"".join(engine.rig.lines)
    assert engine.ask("DELETE", "/hl7/listener").status == 204
    assert not any(callbacks.values())
    assert not engine.state.is_listening
