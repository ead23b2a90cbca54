"""Tests of the MLLP listener: routing, replies, faults, limits and the end of a run."""

import socket
import subprocess
import threading
from datetime import timedelta

import pytest

from clerkship.events.request_line import render_event_request
from clerkship.sandbox.faults.request_faults import (
    DripFault,
    DropFault,
    DuplicateFault,
    ErrorFault,
    ExpiredFault,
    LatencyFault,
    TruncatedFault,
)
from tests.simulators.hl7.feed import BODIES, START, Feed, RawConnection, frame_bytes, message, read_msa
from tests.waiting import wait_until


@pytest.mark.parametrize("type", BODIES)
def test_message_is_accepted_and_acknowledged(feed: Feed, type: str) -> None:
    lab = feed.lab()
    ack = lab.ask(type=type, control_id="C1")
    assert read_msa(ack) == ("AA", "C1"), ack.render
    assert ack.value("MSH.4") == lab.facility
    assert lab.kinds() == [f"hl7.{type[:3].lower()}.sent"]
    assert lab.facility not in lab.playground.log.data().decode()


def test_msh_6_selects_sandbox_on_shared_port(feed: Feed) -> None:
    labs = [feed.lab() for _ in range(3)]
    assert len({lab.connection_info["port"] for lab in labs}) == 1
    with labs[0].connect() as connection:  # one connection may carry messages for several sandboxes
        for number, lab in enumerate([*labs, *labs]):
            assert read_msa(connection.ask(message(lab.facility, control_id=str(number)))) == ("AA", str(number))
        lower = message(labs[0].facility.lower() + "^1.2.3^ISO", control_id="low")
        assert read_msa(connection.ask(lower)) == ("AA", "low")
    assert [len(lab.kinds()) for lab in labs] == [3, 2, 2]


@pytest.mark.parametrize("prefix", [b"\xef\xbb\xbf", b"\r\n", b" "])
def test_facility_is_found_after_leading_characters(feed: Feed, prefix: bytes) -> None:
    lab = feed.lab()
    assert read_msa(lab.ask(prefix + message(lab.facility)))[0] == "AA"


def test_utf_16_and_custom_delimiters_are_parsed(feed: Feed) -> None:
    lab = feed.lab()
    text = message(lab.facility, control_id="U").decode()
    assert read_msa(lab.ask(text.encode("utf-16")))[1] == "U"
    other = text.replace("|", "!").replace("^", "$")
    assert read_msa(lab.ask(other.replace("!U!", "!D!").encode())) == ("AA", "D")


def test_batch_is_routed_by_header_or_first_message(feed: Feed) -> None:
    lab = feed.lab()
    one, two = (message(lab.facility, control_id=number) for number in ("1", "2"))
    for header in (rf"FHS|^~\&|AGENT|CLINIC|LAB|{lab.facility}", r"FHS|^~\&|AGENT|CLINIC"):
        batch = f"{header}\rBHS|^~\\&|AGENT|CLINIC\r".encode() + one + two + b"BTS|2\rFTS|1\r"
        with lab.connect() as connection:
            connection.send(frame_bytes(batch))
            data = connection.frame() or b""
        assert data.count(b"MSA|AA|") == 2, data
    assert lab.kinds() == ["hl7.oru.sent"] * 2 + ["hl7.message.repeated"] * 2


def test_message_for_unknown_facility_is_rejected_and_not_logged(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        for facility in ("NOBODY", "", "CLERKSHIP"):
            ack = connection.ask(message(facility, control_id="7"))
            assert read_msa(ack) == ("AR", "7")
            assert ack.value("ERR.2") == "MSH^1^6"
            assert ack.value("ERR.3.1") == "103"
        assert "NOBODY" in (connection.ask(message("NOBODY")).value("ERR.8") or "")
        assert read_msa(connection.ask(message(lab.facility)))[0] == "AA"  # the connection stays usable
    assert lab.kinds() == ["hl7.oru.sent"]
    assert feed.gateway.unmatched.count == 4


def test_listener_reject_respects_msh_15_and_msh_16(feed: Feed) -> None:
    lab = feed.lab()
    head, _, segments = message("NOBODY").decode().partition("\r")
    with lab.connect() as connection:
        connection.send(frame_bytes(f"{head}|||NE|NE\r{segments}".encode()))  # no reply
        assert read_msa(connection.ask(f"{head}|||AL|NE\r{segments}".replace("|1|P|", "|2|P|").encode())) == ("CR", "2")
        assert read_msa(connection.ask(f"{head}|||NE|AL\r{segments}".replace("|1|P|", "|3|P|").encode())) == ("AR", "3")


def test_message_requesting_no_acknowledgment_gets_none(feed: Feed) -> None:
    lab = feed.lab()
    head, _, segments = message(lab.facility).decode().partition("\r")
    with lab.connect() as connection:
        connection.send(frame_bytes(f"{head}|||NE|NE\r{segments}".encode()))
        assert read_msa(connection.ask(message(lab.facility, control_id="2"))) == ("AA", "2")
    assert lab.kinds() == ["hl7.oru.sent"] * 2


def test_frames_sent_at_once_are_answered_in_order(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        threading.Thread(
            target=connection.send,
            args=(b"".join(frame_bytes(message(lab.facility, control_id=str(n))) for n in range(500)),),
        ).start()
        assert [read_msa(connection.answer()) for _ in range(500)] == [("AA", str(n)) for n in range(500)]


def test_frame_may_arrive_byte_by_byte(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        for byte in frame_bytes(message(lab.facility, control_id="B")):
            connection.send(bytes([byte]))
        assert read_msa(connection.answer()) == ("AA", "B")


def test_log_over_mllp_equals_log_over_http(feed: Feed) -> None:
    line, http = feed.lab(), feed.lab()
    for type in BODIES:
        line.ask(type=type, control_id=type[:7])
        http.handle.send(message(http.facility, type, type[:7]).decode())
    events, others = line.playground.log.events, http.playground.log.events
    assert [event._replace(request=None) for event in events] == [event._replace(request=None) for event in others]
    assert render_event_request(events[0]) == "MLLP ADT^A01 (ADT^A01) → AA"
    assert render_event_request(others[0]) == "POST hl7/outbound → 200 AA, ADT^A01 (ADT^A01)"


# Own port.


def test_own_port_accepts_any_facility_and_closes_with_run(feed: Feed) -> None:
    own, shared = feed.lab(own_port=True), feed.lab()
    assert own.connection_info["port"] != shared.connection_info["port"]
    assert own.connection_info == own.connection_info
    with own.connect() as connection:
        for number, facility in enumerate((own.facility, "WHATEVER", "", shared.facility)):
            assert read_msa(connection.ask(message(facility, control_id=str(number)))) == ("AA", str(number))
        assert shared.kinds() == []
        port = own.connection_info["port"]
        own.end()
        assert connection.frame() is None
    with pytest.raises(ConnectionRefusedError):
        RawConnection(port)
    assert read_msa(shared.ask()) == ("AA", "1")


def test_own_port_does_not_delay_small_packets(feed: Feed) -> None:
    lab = feed.lab(own_port=True)
    with lab.connect() as connection:
        connection.ask(message("X"))
        [served] = [each for port in feed.listener.tcp.ports.values() for each in port.connections]
        # With delayed small packets each answer would take 40 ms.
        assert served._transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# Faults.


def test_unavailable_service_rejects_with_reason(feed: Feed) -> None:
    lab = feed.lab()
    lab.playground.inject(ErrorFault(sandbox="lab", times=1))
    with lab.connect() as connection:
        ack = connection.ask(message(lab.facility, control_id="9"))
        assert read_msa(ack) == ("AR", "9")
        assert ack.value("ERR.3.1") == "207"
        assert "(503)" in (ack.value("ERR.8") or "")
        assert read_msa(connection.ask(message(lab.facility, control_id="9"))) == ("AA", "9")
    assert lab.kinds() == ["fault.injected", "hl7.oru.sent"]


def test_expired_credential_is_rejected(feed: Feed) -> None:
    lab = feed.lab()
    lab.playground.inject(ExpiredFault(sandbox="lab", times=1))
    ack = lab.ask()
    assert read_msa(ack) == ("AR", "1")
    assert "(401)" in (ack.value("ERR.8") or "")


def test_lost_reply_breaks_connection(feed: Feed) -> None:
    lab = feed.lab()
    lab.playground.inject(DropFault.model_validate({"sandbox": "lab", "times": 1}))
    with lab.connect() as connection:
        connection.send(frame_bytes(message(lab.facility)))
        assert connection.frame() is None
        assert connection.unread == b""
    assert read_msa(lab.ask(control_id="2")) == ("AA", "2")


def test_truncated_reply_is_unfinished_frame(feed: Feed) -> None:
    lab = feed.lab()
    lab.playground.inject(TruncatedFault(sandbox="lab", times=1, keep=20))
    with lab.connect() as connection:
        connection.send(frame_bytes(message(lab.facility)))
        assert connection.frame() is None
        assert connection.unread[:5] == START + b"MSH|"
        assert len(connection.unread) == 21
    assert lab.kinds() == ["hl7.oru.sent", "fault.injected"]


def test_dripping_reply_arrives_completely(feed: Feed) -> None:
    lab = feed.lab(time="paced")
    lab.playground.inject(DripFault.model_validate({"sandbox": "lab", "over": "0.2s", "pieces": 10, "times": 1}))
    with lab.connect() as connection:
        before = lab.playground.now
        assert read_msa(connection.ask(message(lab.facility))) == ("AA", "1")
        assert lab.playground.now - before >= timedelta(milliseconds=200)


def test_delayed_reply_does_not_delay_other_clients(feed: Feed) -> None:
    slow, quick = feed.lab(time="paced"), feed.lab()
    slow.playground.inject(LatencyFault.model_validate({"sandbox": "lab", "by": "1h", "times": 1}))
    with slow.connect() as one, quick.connect() as other:
        one.send(frame_bytes(message(slow.facility)))
        for number in range(20):
            assert read_msa(other.ask(message(quick.facility, control_id=str(number))))[0] == "AA"
        one.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            one.socket.recv(1)


def test_delayed_reply_arrives_on_paced_clock(feed: Feed) -> None:
    lab = feed.lab(time="paced")
    lab.playground.inject(LatencyFault.model_validate({"sandbox": "lab", "by": "0.2s", "times": 1}))
    before = lab.playground.now
    assert read_msa(lab.ask()) == ("AA", "1")
    assert lab.playground.now - before >= timedelta(milliseconds=200)


def test_duplicated_message_is_logged_as_repeated(feed: Feed) -> None:
    lab = feed.lab()
    lab.playground.inject(DuplicateFault(sandbox="lab", times=1))
    assert read_msa(lab.ask()) == ("AA", "1")
    assert lab.kinds() == ["hl7.oru.sent", "fault.injected", "hl7.message.repeated"]


# End of a run.


def test_facility_of_ended_run_is_unknown(feed: Feed) -> None:
    lab, other = feed.lab(), feed.lab()
    with lab.connect() as connection:
        assert read_msa(connection.ask(message(lab.facility))) == ("AA", "1")
        facility = lab.facility
        lab.end()
        ack = connection.ask(message(facility, control_id="2"))
        assert read_msa(ack) == ("AR", "2")
        assert "its run has ended" in (ack.value("ERR.8") or "")
        assert read_msa(connection.ask(message(other.facility, control_id="3"))) == ("AA", "3")
    assert lab.kinds() == ["hl7.oru.sent"]


def test_full_log_rejects_message(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", 2)
    lab = feed.lab()
    for number in range(3):
        assert read_msa(lab.ask(control_id=str(number)))[0] == "AA"
    ack = lab.ask(control_id="full")
    assert read_msa(ack) == ("AR", "full")
    assert "log of this run is full" in (ack.value("ERR.8") or "")


def test_simulator_error_rejects_and_listener_continues(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, other = feed.lab(), feed.lab()
    monkeypatch.setattr(type(lab.playground.sandboxes["lab"].state), "receive", lambda *_: 1 / 0)
    assert read_msa(lab.ask()) == ("AR", "1")
    monkeypatch.undo()
    assert lab.playground.broken is not None
    assert read_msa(other.ask()) == ("AA", "1")


def test_closing_listener_closes_connections(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection, lab.connect() as half:
        connection.ask(message(lab.facility))
        half.send(START + b"MSH|")
        feed.listener_pool.close()
        assert connection.frame() is None
        assert half.frame() is None


def test_example_command_runs(feed: Feed) -> None:
    lab = feed.lab()
    connection_info = lab.connection_info
    done = subprocess.run(
        feed.listener.example(connection_info), shell=True, capture_output=True, text=True, timeout=20, check=True
    )
    assert "MSA|AA|1" in done.stdout
    assert lab.kinds() == ["hl7.adt.sent"]


def test_ended_playgrounds_leave_no_state(feed: Feed) -> None:
    for _ in range(100):
        lab = feed.lab(own_port=True)
        assert read_msa(lab.ask()) == ("AA", "1")
        lab.end()
    wait_until(lambda: set(feed.listener.tcp.ports) == {""})
    assert feed.listener_pool._outbound._running == {}


def test_half_closed_connection_is_answered_then_closed(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        connection.send(
            frame_bytes(message(lab.facility, control_id="1")) + frame_bytes(message(lab.facility, control_id="2"))
        )
        connection.socket.shutdown(1)
        assert [read_msa(connection.answer()) for _ in range(2)] == [("AA", "1"), ("AA", "2")]
        assert connection.frame() is None
