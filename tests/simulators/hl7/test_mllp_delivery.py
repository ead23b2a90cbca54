"""Tests of deliveries to an agent's listener: order, acknowledgments and retries."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise

import hl7
import pytest
from hl7.mllp import HL7StreamReader, HL7StreamWriter, start_hl7_server
from pydantic import ValidationError

from clerkship.events.sidecar import read_measurements
from clerkship.formats.hl7.message import Hl7Message, parse_message
from clerkship.playground.agent_clock import advance_by, run_paced_clock, skip_to_next_event
from clerkship.sandbox.faults.request_faults import DropFault, ErrorFault
from clerkship.sandbox.handle import Refused
from clerkship.simulators.hl7 import mllp_delivery as module
from clerkship.simulators.hl7.config import Hl7Config
from tests.simulators.hl7.feed import END, START, Feed, Lab
from tests.waiting import wait_until

QUICK = {"resend": "50ms", "attempts": 3}
Answer = Callable[[Hl7Message], str | None]


class RecordingListener:
    """A listener that records frames, and answers each with a code, with nothing, or by closing the connection."""

    def __init__(self, answer: Answer, port: int) -> None:
        self.heard: list[str] = []
        self.connections = 0
        self._answer = answer
        self._server = socket.create_server(("127.0.0.1", port))
        self.open: list[socket.socket] = []
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(connection)
            threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        data = b""
        with connection:
            while True:
                try:
                    more = connection.recv(65536)
                except OSError:
                    return
                if not more:
                    return
                data += more
                while END in data:
                    frame, _, data = data.partition(END)
                    message = parse_message(frame.removeprefix(START))
                    self.heard.append(message.control_id)
                    code = self._answer(message)
                    if code == "hang up":
                        return
                    if code:
                        with suppress(OSError):
                            connection.sendall(START + ack_of(message, code) + END)

    def close(self) -> None:
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for connection in self.open:
            connection.close()


def ack_of(message: Hl7Message, code: str, control_id: str = "") -> bytes:
    head = rf"MSH|^~\&|AGENT|CLINIC|LAB|X|20260302||ACK|A{message.control_id}|P|2.5.1"
    return f"{head}\rMSA|{code}|{control_id or message.control_id}|said\r".encode()


@pytest.fixture
def listen() -> Iterator[Callable[..., RecordingListener]]:
    """Return a function that opens listeners, which are closed after the test."""
    made: list[RecordingListener] = []

    def listen(answer: Answer = lambda _: "AA", port: int = 0) -> RecordingListener:
        made.append(RecordingListener(answer, port))
        return made[-1]

    yield listen
    for each in made:
        each.close()


Listen = Callable[..., RecordingListener]


def acks(lab: Lab) -> list[tuple[str, str]]:
    return [(ack.id, ack.ack) for ack in lab.payloads("hl7.message.acknowledged")]


def attempts(lab: Lab) -> list[tuple[str, int, str]]:
    made = lab.payloads("outbound.attempted")
    return [(attempt.message, attempt.attempt, attempt.outcome) for attempt in made]


def wait_while_idle(lab: Lab, true: Callable[[], bool]) -> None:
    """Wait for a condition while an idle run jumps to the next due time."""

    def check() -> bool:
        skip_to_next_event(lab.playground)
        return true()

    wait_until(check)


def test_pending_messages_are_delivered_in_order_once_agent_listens(feed: Feed, listen: Listen) -> None:
    lab, agent = feed.lab(), listen()
    for number in range(5):
        lab.arrive(f"C{number}")
    lab.handle.listen("127.0.0.1", agent.port)
    wait_until(lambda: len(acks(lab)) == 5)
    assert agent.heard == [f"C{number}" for number in range(5)]
    assert acks(lab) == [(str(number), "AA") for number in range(1, 6)]
    lab.arrive("C5")  # later messages too
    wait_until(lambda: len(acks(lab)) == 6)
    assert agent.connections == 1
    assert lab.handle.inbox() == []
    assert [taken.over for taken in lab.payloads("hl7.message.taken")] == ["mllp"] * 6
    actors = {event.kind: event.actor for event in lab.playground.log.events}
    assert (actors["hl7.message.taken"], actors["hl7.message.acknowledged"]) == ("run", "agent")
    log = lab.playground.log.data().decode()
    assert str(agent.port) not in log
    assert lab.kinds().count("hl7.inbox.listed") == 1  # by this test


def test_listener_may_be_configured(feed: Feed, listen: Listen) -> None:
    agent = listen()
    lab = feed.lab(listener=f"127.0.0.1:{agent.port}", **QUICK)
    lab.arrive("C1")
    wait_until(lambda: acks(lab) == [("1", "AA")])


def test_duplicate_message_is_delivered_and_acknowledged_twice(feed: Feed, listen: Listen) -> None:
    lab = feed.lab(**QUICK)
    agent = listen(lambda message: "AA")
    for control_id in ("C1", "C1", "C2"):
        lab.arrive(control_id)
    lab.handle.listen("127.0.0.1", agent.port)
    wait_until(lambda: not lab.handle.inbox())
    assert agent.heard == ["C1", "C1", "C2"]
    assert lab.kinds().count("hl7.message.acknowledged") == 3


@pytest.mark.parametrize("code", ["AE", "AR"])
def test_negative_acknowledgment_ends_delivery(feed: Feed, listen: Listen, code: str) -> None:
    lab, agent = feed.lab(**QUICK), listen(lambda message: code if message.control_id == "C1" else "AA")
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1")
    lab.arrive("C2")
    wait_until(lambda: len(acks(lab)) == 2)
    assert acks(lab) == [("1", code), ("2", "AA")]
    assert agent.heard == ["C1", "C2"]


@pytest.mark.parametrize("how", [None, "hang up"])
def test_unacknowledged_message_is_resent_then_given_up(
    feed: Feed, listen: Listen, how: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ACK_SECONDS", 0.1)
    lab = feed.lab(**QUICK)
    agent = listen(lambda message: how if message.control_id == "C1" else "AA")
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1")
    lab.arrive("C2")
    wait_while_idle(lab, lambda: acks(lab) == [("2", "AA")])
    assert agent.heard == ["C1", "C1", "C1", "C2"]
    outcome = "lost" if how else "timed_out"
    wait_while_idle(lab, lambda: len(attempts(lab)) == 4)
    assert attempts(lab) == [*[("1", number, outcome) for number in (1, 2, 3)], ("2", 1, "delivered")]
    assert [entry["id"] for entry in lab.handle.inbox()] == ["1"]
    lab.handle.acknowledge("1")  # it can still be acknowledged over HTTP
    assert lab.handle.inbox() == []


def test_attempts_are_spaced_in_simulated_time_and_logged(feed: Feed, listen: Listen) -> None:
    lab = feed.lab(resend="1h", attempts=3)
    heard: list[str] = []

    def answer(message: Hl7Message) -> str:
        heard.append(message.control_id)
        return "AA" if len(heard) == 3 else "hang up"

    agent = listen(answer)
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1")
    advance_by(lab.playground, timedelta(minutes=59))
    assert attempts(lab) == [("1", 1, "lost")]
    advance_by(lab.playground, timedelta(hours=3))
    assert attempts(lab) == [("1", 1, "lost"), ("1", 2, "lost"), ("1", 3, "delivered")]
    made = lab.payloads("outbound.attempted")
    assert [(attempt.channel, attempt.retry_in) for attempt in made] == [("mllp", 3600), ("mllp", 3600), ("mllp", None)]
    assert acks(lab) == [("1", "AA")]
    assert str(agent.port) not in lab.playground.log.data().decode()


def test_wall_time_of_each_attempt_is_stored_beside_the_log(feed: Feed, listen: Listen) -> None:
    lab, agent = feed.lab(), listen()
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1")
    wait_until(lambda: len(attempts(lab)) == 1)
    (attempt,) = [event for event in lab.playground.log.events if event.kind == "outbound.attempted"]
    wait_until(lambda: attempt.seq in lab.playground.sidecar.call_times)
    times = read_measurements(lab.playground.sidecar.data()).call_times
    assert times.keys() == {attempt.seq}
    assert 0 < times[attempt.seq] < 60_000
    assert "calls" not in lab.playground.sidecar.data(timed=False)


def test_attempts_are_spaced_in_wall_time_on_paced_clock(feed: Feed, listen: Listen) -> None:
    lab = feed.lab(time="paced", **QUICK)
    agent = listen(lambda _: "hang up")
    with run_paced_clock(lab.playground):
        lab.handle.listen("127.0.0.1", agent.port)
        lab.arrive("C1")
        wait_until(lambda: len(attempts(lab)) == 3)
    times = [event.at for event in lab.playground.log.events if event.kind == "outbound.attempted"]
    assert all(later - earlier >= timedelta(milliseconds=50) for earlier, later in pairwise(times))
    assert agent.heard == ["C1"] * 3


def test_returning_listener_gets_missed_messages(feed: Feed, listen: Listen) -> None:
    lab = feed.lab(resend="50ms", attempts=100)
    agent = listen()
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1")
    wait_until(lambda: len(acks(lab)) == 1)
    agent.close()
    lab.arrive("C2")
    back = listen(port=agent.port)
    wait_while_idle(lab, lambda: len(acks(lab)) == 2)
    assert back.heard == ["C2"]


def test_listener_may_be_moved_or_deregistered(feed: Feed, listen: Listen) -> None:
    lab = feed.lab(resend="1h", attempts=2)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        unused_port = closed.getsockname()[1]
    lab.handle.listen("127.0.0.1", unused_port)
    lab.arrive("C1")
    agent = listen()
    lab.handle.listen("127.0.0.1", agent.port)  # the retry delay of an hour does not apply
    wait_until(lambda: acks(lab) == [("1", "AA")])
    lab.handle.request("DELETE", "/hl7/listener")
    lab.arrive("C2")
    wait_until(lambda: "C2" in lab.handle.inbox()[0]["control_id"])
    assert agent.heard == ["C1"]


def test_agent_may_use_sandboxes_before_acknowledging(feed: Feed, listen: Listen) -> None:
    lab = feed.lab()

    def look_first(message: Hl7Message) -> str:
        assert lab.handle.inbox(), "the playground's lock must be free"
        lab.handle.send(f"MSH|^~\\&|AGENT|CLINIC|LAB|X|20260302||ACK|Q{message.control_id}|P|2.5.1\rMSA|AA|none\r")
        return "AA"

    agent = listen(look_first)
    lab.handle.listen("127.0.0.1", agent.port)
    for number in range(3):
        lab.arrive(f"C{number}")
    wait_until(lambda: len(acks(lab)) == 3)


def test_acknowledgment_of_other_message_is_not_accepted(feed: Feed, listen: Listen) -> None:
    lab, heard = feed.lab(**QUICK), list[str]()

    def answer(message: Hl7Message) -> str | None:
        heard.append(message.control_id)
        return "AA" if len(heard) > 1 else None

    agent = listen(answer)
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1")
    wait_until(lambda: heard == ["C1"])
    agent.open[0].sendall(START + ack_of(parse_message(lab.handle.take("1")), "AA", "OTHER") + END)
    wait_while_idle(lab, lambda: acks(lab) == [("1", "AA")])
    assert agent.heard == ["C1", "C1"]
    assert "sandbox.refused" in lab.kinds()


def test_application_acknowledgment_may_follow_accept_acknowledgment(feed: Feed, listen: Listen) -> None:
    lab = feed.lab(**QUICK)
    agent = listen(lambda _: "CA")
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1", **{"|P|2.5.1": "|P|2.5.1|||AL|AL"})
    wait_until(lambda: acks(lab) == [("1", "CA")])
    agent.open[0].sendall(START + ack_of(parse_message(lab.handle.take("1")), "AA") + END)
    wait_until(lambda: acks(lab) == [("1", "CA"), ("1", "AA")])
    lab.arrive("C2")
    wait_until(lambda: acks(lab)[-1] == ("2", "CA"))
    assert agent.heard == ["C1", "C2"]


def test_message_requesting_no_acknowledgment_is_delivered_once(feed: Feed, listen: Listen) -> None:
    lab, agent = feed.lab(**QUICK), listen(lambda message: None if message.control_id == "C1" else "AA")
    lab.arrive("C1", **{"|P|2.5.1": "|P|2.5.1|||NE|NE"})
    lab.arrive("C2")
    lab.handle.listen("127.0.0.1", agent.port)
    wait_until(lambda: acks(lab) == [("2", "AA")])
    assert agent.heard == ["C1", "C2"]


def test_faults_apply_to_deliveries(feed: Feed, listen: Listen) -> None:
    lab, agent = feed.lab(**QUICK), listen()
    lab.playground.inject(ErrorFault(sandbox="lab", operation="read_message", times=1))
    lab.playground.inject(DropFault.model_validate({"sandbox": "lab", "operation": "acknowledge_message", "times": 1}))
    lab.handle.listen("127.0.0.1", agent.port)
    lab.arrive("C1")
    wait_while_idle(lab, lambda: lab.payloads("hl7.message.taken") != [] and lab.handle.inbox() == [])
    assert agent.heard[0] == "C1"
    assert lab.kinds().count("fault.injected") == 2


@pytest.mark.parametrize("host", ["10.0.0.1", "example.org", "0.0.0.0", "169.254.169.254", "127.0.0.1.evil.example"])
def test_listener_on_other_host_is_refused(feed: Feed, host: str) -> None:
    lab = feed.lab()
    with pytest.raises(Refused):
        lab.handle.listen(host, 6661)
    with pytest.raises(ValidationError, match="on this machine"):
        Hl7Config(listener=f"{host}:6661")
    for here in ("127.0.0.1", "[::1]", "localhost"):
        assert Hl7Config(listener=f"{here}:6661").listener == f"{here}:6661"


def test_deregistering_also_disables_configured_listener(feed: Feed, listen: Listen) -> None:
    agent = listen()
    lab = feed.lab(listener=f"127.0.0.1:{agent.port}", **QUICK)
    lab.arrive("C1")
    wait_until(lambda: acks(lab) == [("1", "AA")])
    lab.handle.stop_listening()
    lab.arrive("C2")
    wait_until(lambda: feed.delivery(lab)._writer is None)
    assert agent.heard == ["C1"]
    lab.handle.listen("127.0.0.1", agent.port)
    wait_until(lambda: agent.heard == ["C1", "C2"])


def test_listener_may_be_removed_while_a_message_is_chosen(
    feed: Feed, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = listen()
    lab = feed.lab(listener=f"127.0.0.1:{agent.port}", **QUICK)
    choose, removed = module.MllpDelivery._next, threading.Event()

    async def choose_and_remove(delivery: module.MllpDelivery) -> str | None:
        message_id = await choose(delivery)
        if message_id is not None and not removed.is_set():
            await asyncio.to_thread(lab.handle.stop_listening)
            removed.set()
        return message_id

    monkeypatch.setattr(module.MllpDelivery, "_next", choose_and_remove)
    lab.arrive("C1")
    wait_until(removed.is_set)
    lab.handle.listen("127.0.0.1", agent.port)
    wait_until(lambda: agent.heard == ["C1"])
    assert lab.playground.broken is None


def test_own_ports_are_refused_as_listener(feed: Feed) -> None:
    lab, own = feed.lab(), feed.lab(own_port=True)
    door = int(lab.handle.url.split(":")[2].split("/")[0])
    for port in (int(lab.connection_info["port"]), int(own.connection_info["port"]), door):
        with pytest.raises(Refused, match="a simulator listens on that port"):
            lab.handle.listen("127.0.0.1", port)
        assert str(port) not in lab.playground.log.data().decode()
    assert set(lab.kinds()) == {"sandbox.refused"}
    assert feed.listener_pool._outbound._running == {}
    own_port = int(own.connection_info["port"])
    own.end()  # then the port is free again
    wait_until(lambda: own_port not in feed.listener.ports())
    lab.handle.listen("127.0.0.1", own_port)


def test_agent_that_never_reads_is_not_read_from(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SEND_SECONDS", 1.0)
    lab = feed.lab()
    with socket.create_server(("127.0.0.1", 0)) as server:
        lab.handle.listen("127.0.0.1", server.getsockname()[1])
        lab.arrive("C1")
        connection, _ = server.accept()
        with connection:
            sent = parse_message(connection.recv(65536).strip(START + END))
            connection.sendall(START + ack_of(sent, "AA") + END)
            wait_until(lambda: acks(lab) == [("1", "AA")])
            writer = feed.delivery(lab)._writer
            assert writer is not None
            flood = START + rf"MSH|^~\&|{'A' * 200_000}|B|C|D|20260302||XXX^Y|1|P|2.5.1".encode() + END
            connection.settimeout(10)
            most = 0
            with suppress(OSError):
                for _ in range(200):
                    connection.sendall(flood)
                    most = max(most, writer.transport.get_write_buffer_size())
            assert most < 1_000_000
            wait_until(writer.is_closing)


def test_delivery_ends_with_run(feed: Feed, listen: Listen) -> None:
    before = threading.active_count()
    for _ in range(30):
        lab, agent = feed.lab(), listen()
        lab.handle.listen("127.0.0.1", agent.port)
        lab.arrive("C1")
        wait_until(lambda lab=lab: len(acks(lab)) == 1)  # type: ignore[misc]
        lab.end()
        agent.close()
    wait_until(lambda: feed.listener_pool._outbound._running == {})
    pooled = [each for each in threading.enumerate() if each.name.startswith("clerkship-worker")]
    assert len(pooled) < 10  # reused, not one for each delivery
    wait_until(lambda: threading.active_count() - len(pooled) <= before + 1)


def test_delivery_works_with_hl7_library_server(feed: Feed) -> None:
    heard: list[str] = []
    ready, hung_up = threading.Event(), threading.Event()
    place: list[tuple[int, asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def answer(reader: HL7StreamReader, writer: HL7StreamWriter) -> None:
        while not writer.is_closing():
            try:
                message = await reader.readmessage()
            except asyncio.IncompleteReadError:
                break
            heard.append(str(message.segment("MSH")[10]))
            writer.writemessage(message.create_ack())
            await writer.drain()
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    async def serve() -> None:
        server = await start_hl7_server(answer, "127.0.0.1", 0)
        over = asyncio.Event()
        place.append((server.sockets[0].getsockname()[1], asyncio.get_running_loop(), over))
        ready.set()
        await over.wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    lab = feed.lab()
    [(port, loop, over)] = place
    lab.handle.listen("127.0.0.1", port)
    for number, type in enumerate(("ADT^A01^ADT_A01", "ORM^O01^ORM_O01", "ORU^R01^ORU_R01", "SIU^S12^SIU_S12")):
        lab.arrive(f"C{number}", type)
    try:
        wait_until(lambda: len(acks(lab)) == 4)
    finally:
        lab.end()
        assert hung_up.wait(10)
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
    assert heard == ["C0", "C1", "C2", "C3"]
    assert hl7.__version__


def test_slow_agent_does_not_delay_other_deliveries(feed: Feed, listen: Listen) -> None:
    released = threading.Event()

    def slow(_: Hl7Message) -> str:
        released.wait(60)
        return "AA"

    one, other = feed.lab(), feed.lab()
    one.handle.listen("127.0.0.1", listen(slow).port)
    other.handle.listen("127.0.0.1", listen().port)
    one.arrive("C1")
    for number in range(10):
        other.arrive(f"C{number}")
    wait_until(lambda: len(acks(other)) == 10)
    assert acks(one) == []
    released.set()
    wait_until(lambda: acks(one) == [("1", "AA")])
