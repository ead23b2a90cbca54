"""The MLLP listener against faulty and hostile clients: protocol errors, bounded time and memory, no side effects."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from clerkship.kit.wall import monotonic
from clerkship.simulators.hl7.mllp import LIMITS
from clerkship.simulators.hl7.mllp_connection import MAX_UNFRAMED_BYTES
from tests.choices import mark_slow_after
from tests.simulators.hl7.feed import END, START, Feed, Lab, RawConnection, frame_bytes, message, read_msa
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]
LONG_MESSAGES = Path(__file__).with_name("long_messages.py")
PIECE = b"A" * 1_000_000
MAX_OVERTAKEN = 8 * 4
"""Messages of eight flooding connections that may be answered while one of another connection waits, on average."""


@pytest.fixture
def strict() -> Iterator[Feed]:
    """Return a feed with small limits."""
    made = Feed(replace(LIMITS, idle=0.6, request=0.4, connections=20))
    yield made
    made.close()


def memory() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def still_serves(lab: Lab, control_id: str = "after") -> None:
    assert read_msa(lab.ask(control_id=control_id)) == ("AA", control_id)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r",
        b"hello",
        b"MSH",
        b"MSH|",
        b"MSH||||||",
        b"PID|1||1",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00\xff\xfe\x80" * 100,
        bytes(number for number in range(256) if number not in (0x0B, 0x1C)) * 40,
        b"\xff\xfe",
        "MSH".encode("utf-16"),
    ],
)
def test_non_message_is_rejected_and_connection_closed(feed: Feed, data: bytes) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        ack = connection.ask(data)
        assert ack.value("MSA.1") == "AR"
        assert "MSH" in (ack.value("ERR.8") or "")
        assert connection.frame() is None
    assert lab.kinds() == []
    still_serves(lab)


def test_non_message_on_own_port_is_rejected(feed: Feed) -> None:
    lab = feed.lab(own_port=True)
    with lab.connect() as connection:
        assert connection.ask(b"hello").value("MSA.1") == "AR"
        assert connection.frame() is None
    assert lab.kinds() == []
    still_serves(lab)


def test_acknowledgment_uses_charset_of_message(feed: Feed) -> None:
    lab = feed.lab()
    text = message("KRANKENHAUS-SÜD").decode().replace("|2.5.1\r", "|2.5.1||||||8859/1\r", 1)
    with lab.connect() as connection:
        connection.send(frame_bytes(text.encode("latin-1")))
        assert "KRANKENHAUS-SÜD".encode("latin-1") in (connection.frame() or b"")


def test_minimal_msh_is_answered(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        for data in (b"MSH|^~\\&", b"MSH|^~\\&|||||||||", b"MSH|^", b"MSH|^~\\&|A|B|C"):
            assert read_msa(connection.ask(data)) == ("AR", "")
        assert read_msa(connection.ask(message(lab.facility))) == ("AA", "1")
    assert lab.kinds() == ["hl7.oru.sent"]


def test_garbage_after_valid_msh_is_refused_by_sandbox(feed: Feed) -> None:
    lab = feed.lab()
    head = message(lab.facility).split(b"\r")[0]
    with lab.connect() as connection:
        for noise in (b"\x00\x01\x02\r\xff\xfe|||", b"P" * 60_000, b"|" * 60_000):
            assert (connection.ask(head + b"\r" + noise).value("MSA.1")) == "AE"
        assert read_msa(connection.ask(message(lab.facility, control_id="2"))) == ("AA", "2")


def test_unframed_bytes_are_ignored_up_to_limit(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        connection.send(
            b"noise\r\n"
            + frame_bytes(message(lab.facility))
            + b"\n\n"
            + frame_bytes(message(lab.facility, control_id="2"))
        )
        assert [read_msa(connection.answer()) for _ in range(2)] == [("AA", "1"), ("AA", "2")]
        connection.send(b"x" * (MAX_UNFRAMED_BYTES + 1))
        assert "not MLLP" in (connection.answer().value("ERR.8") or "")
        assert connection.frame() is None


def test_restarted_frame_discards_first_one(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        connection.send(START + message(lab.facility, control_id="1")[:90])
        assert read_msa(connection.ask(message(lab.facility, control_id="2"))) == ("AA", "2")
    assert len(lab.kinds()) == 1


def test_unfinished_frame_is_reported_at_end_of_input(feed: Feed) -> None:
    lab = feed.lab()
    for ending in (b"", b"\r"):
        with lab.connect() as connection:
            connection.send(START + message(lab.facility, control_id="1") + ending)
            connection.socket.shutdown(socket.SHUT_WR)
            ack = connection.answer()
            assert read_msa(ack) == ("AR", "1")
            assert "unfinished" in (ack.value("ERR.8") or "")
            assert connection.frame() is None
    assert lab.kinds() == []


def test_missing_final_carriage_return_is_accepted(feed: Feed) -> None:
    lab = feed.lab()
    with lab.connect() as connection:
        connection.send(START + message(lab.facility) + END[:1])
        assert read_msa(connection.answer()) == ("AA", "1")


def test_client_that_disconnects_mid_frame_is_removed(feed: Feed) -> None:
    lab = feed.lab()
    for cut in (1, 3, 50, 200):
        with lab.connect() as connection:
            connection.send(frame_bytes(message(lab.facility))[:cut])
    still_serves(lab)
    wait_until(lambda: not feed.listener.tcp.ports[""].connections)
    assert lab.kinds() == ["hl7.oru.sent"]


@pytest.mark.parametrize(
    ("change", "code", "error"),
    [
        ((b"|2.5.1\r", b"|1.7\r"), "AR", "203"),
        ((b"|2.5.1\r", b"|3.0\r"), "AR", "203"),
        ((b"ORU^R01^ORU_R01", b"XXX^Y01"), "AR", "200"),
        ((b"|1|P|", b"||P|"), "AR", "101"),
    ],
)
def test_unsupported_message_is_rejected(feed: Feed, change: tuple[bytes, bytes], code: str, error: str) -> None:
    lab = feed.lab()
    ack = lab.ask(message(lab.facility).replace(*change))
    assert (ack.value("MSA.1"), ack.value("ERR.3.1")) == (code, error)
    assert lab.kinds() == ["hl7.message.refused"]


def test_misordered_segments_are_an_error(feed: Feed) -> None:
    lab = feed.lab()
    head, pid, obr, *rest = message(lab.facility).split(b"\r")
    ack = lab.ask(b"\r".join([head, obr, pid, *rest]))
    assert (ack.value("MSA.1"), ack.value("ERR.3.1")) == ("AE", "100")


@pytest.mark.parametrize("known", mark_slow_after(1, [True, False]))
def test_fifty_megabyte_message_is_rejected_and_not_buffered(feed: Feed, known: bool) -> None:
    lab, other = feed.lab(), feed.lab()
    head = message(lab.facility if known else "NOBODY", control_id="BIG")
    still_serves(lab)  # warm up
    before = memory()
    with lab.connect() as connection:
        connection.send(START + head + b"OBX|6|TX|1^x||")
        most = before
        for _ in range(50):
            connection.send(PIECE)
            most = max(most, memory())
        connection.send(b"\r" + END)
        ack = connection.answer()
        assert read_msa(ack) == ("AR", "BIG")
        assert not known or "5000000 bytes" in (ack.value("ERR.8") or "")
        assert read_msa(connection.ask(message(lab.facility, control_id="2"))) == (
            "AA",
            "2",
        )  # the connection stays open
    assert most - before < 30_000_000
    still_serves(other)
    refused = lab.payloads("hl7.message.refused")
    assert len(refused) == known
    assert lab.playground.log.size < 100_000


def test_message_limit_is_per_sandbox(feed: Feed) -> None:
    small, large = feed.lab(max_message=2000), feed.lab(max_message=20_000_000, validation="lenient")
    note = b"NTE|1||" + b"A" * 100_000 + b"\r"
    ack = small.ask(message(small.facility) + note)
    assert read_msa(ack) == ("AR", "1")
    assert "2000 bytes" in (ack.value("ERR.8") or "")
    assert read_msa(large.ask(message(large.facility) + note * 150)) == ("AA", "1")


def test_slow_frame_times_out(strict: Feed) -> None:
    lab = strict.lab()
    with lab.connect() as slow, lab.connect() as quick:
        slow.socket.settimeout(0.01)
        for byte in frame_bytes(message(lab.facility) * 100):
            try:
                slow.send(bytes([byte]))
                if not slow.socket.recv(1):
                    break
            except TimeoutError:
                quick.ask(message(lab.facility))
            except OSError:
                break
        else:
            pytest.fail("the whole frame was accepted")
    assert set(lab.kinds()) == {"hl7.oru.sent", "hl7.message.repeated"}


def test_idle_connection_is_closed(strict: Feed) -> None:
    lab = strict.lab()
    with lab.connect() as connection, lab.connect() as silent:
        connection.ask(message(lab.facility))
        assert silent.frame() is None
        assert connection.frame() is None


def test_longest_idle_connection_is_evicted_when_full() -> None:
    feed = Feed(replace(LIMITS, connections=20))
    greedy, other = feed.lab(), feed.lab()
    with ExitStack() as stack:
        first = stack.enter_context(other.connect())
        assert read_msa(first.ask(message(other.facility)))[0] == "AA"
        silent = [stack.enter_context(greedy.connect()) for _ in range(19)]
        wait_until(lambda: len(feed.listener.tcp.table) == 20)
        extra = stack.enter_context(other.connect())
        assert read_msa(extra.ask(message(other.facility, control_id="2"))) == ("AA", "2")
        assert silent[0].frame() is None
        for number, connection in enumerate(silent[1:]):
            assert read_msa(connection.ask(message(greedy.facility, control_id=str(number))))[0] == "AA"
        third = stack.enter_context(other.connect())  # evicts from the sandbox with the most connections
        assert read_msa(third.ask(message(other.facility, control_id="3"))) == ("AA", "3")
        assert silent[1].frame() is None
        assert read_msa(first.ask(message(other.facility, control_id="4"))) == ("AA", "4")
    wait_until(lambda: len(feed.listener.tcp.table) == 0)
    feed.close()


def test_connection_over_limit_is_refused_with_reason() -> None:
    feed = Feed(replace(LIMITS, connections=5))
    lab = feed.lab(time="paced")
    with ExitStack() as stack:
        lab.playground.lock.acquire()
        wires = [stack.enter_context(lab.connect()) for _ in range(5)]
        for number, connection in enumerate(wires):
            connection.send(frame_bytes(message(lab.facility, control_id=str(number))))
        wait_until(lambda: len(feed.listener.tcp.table._sandbox) == 5)
        extra = stack.enter_context(lab.connect())
        assert "too many connections (5)" in (extra.answer().value("ERR.8") or "")
        assert extra.frame() is None
        lab.playground.lock.release()
        assert [read_msa(connection.answer())[0] for connection in wires] == ["AA"] * 5
    feed.close()


def test_connections_per_sandbox_are_limited() -> None:
    feed = Feed(replace(LIMITS, per_sandbox=3))
    lab, other = feed.lab(), feed.lab()
    with ExitStack() as stack:
        wires = [stack.enter_context(lab.connect()) for _ in range(4)]
        for number, connection in enumerate(wires):
            assert read_msa(connection.ask(message(lab.facility, control_id=str(number))))[0] == "AA"
        assert wires[0].frame() is None
        lab.playground.lock.acquire()
        for connection in wires[1:]:
            connection.send(frame_bytes(message(lab.facility, control_id="x")))
        wait_until(lambda: not any(each.is_evictable for each in feed.listener.tcp.table._sandbox))
        extra = stack.enter_context(lab.connect())
        ack = extra.ask(message(lab.facility, control_id="y"))
        assert (read_msa(ack), "sandbox (3)" in (ack.value("ERR.8") or "")) == (("AR", "y"), True)
        still_serves(other)
        lab.playground.lock.release()
    feed.close()


def test_silent_new_connection_is_closed_when_half_full() -> None:
    feed = Feed(replace(LIMITS, first=0.2, connections=10))
    lab = feed.lab()
    with ExitStack() as stack:
        few = [stack.enter_context(lab.connect()) for _ in range(5)]
        wait_until(lambda: len(feed.listener.tcp.table) == 5)
        for connection in list(feed.listener.tcp.table):
            connection.sweep(monotonic() + 0.3)  # longer than the limit that applies when half full
        assert len(feed.listener.tcp.table) == 5
        more = [stack.enter_context(lab.connect()) for _ in range(2)]
        speaker = stack.enter_context(lab.connect())
        assert read_msa(speaker.ask(message(lab.facility))) == ("AA", "1")
        assert few[0].frame() is None
        wait_until(lambda: len(feed.listener.tcp.table) <= 5)
        assert read_msa(speaker.ask(message(lab.facility, control_id="2"))) == ("AA", "2")
        assert more
    feed.close()


def test_buffered_bytes_are_limited() -> None:
    feed = Feed(replace(LIMITS, held=30_000_000, held_per_sandbox=20_000_000))
    greedy, other = feed.lab(), feed.lab()
    half = START + message(greedy.facility) + b"ZZZ|" + b"x" * 4_900_000
    still_serves(other)
    before = memory()
    with ExitStack() as stack:
        wires = [stack.enter_context(greedy.connect()) for _ in range(30)]
        for connection in wires:
            connection.send(half)
        wait_until(lambda: feed.listener.tcp.table.held > 15_000_000)
        assert memory() - before < 70_000_000  # not 150 MB
        whole = message(other.facility) + b"ZZZ|" + b"x" * 4_900_000 + b"\r"
        assert read_msa(other.ask(whole)) == ("AA", "1")  # another sandbox has its own share
        for connection in wires:
            connection.send(b"\r" + END)
        codes = [connection.answer() for connection in wires]
    assert {read_msa(ack)[0] for ack in codes} == {"AA", "AR"}
    refused = next(ack for ack in codes if read_msa(ack)[0] == "AR")
    assert "send it again later" in (refused.value("ERR.8") or "")
    wait_until(lambda: feed.listener.tcp.table.held == 0)
    assert read_msa(greedy.ask(message(greedy.facility, control_id="after") + b"ZZZ|" + b"x" * 4_900_000)) == (
        "AA",
        "after",
    )
    wait_until(lambda: not feed.listener.tcp.table._held and not feed.listener.tcp.table._holding)
    feed.close()


def test_five_hundred_connections_are_answered(feed: Feed) -> None:
    labs = [feed.lab() for _ in range(5)]
    with ExitStack() as stack:
        wires = [stack.enter_context(labs[number % 5].connect()) for number in range(500)]
        for number, connection in enumerate(wires):
            connection.send(frame_bytes(message(labs[number % 5].facility, control_id=str(number))))
        answers = [read_msa(connection.answer()) for connection in wires]
    assert answers == [("AA", str(number)) for number in range(500)]
    assert [len(lab.kinds()) for lab in labs] == [100] * 5


@pytest.mark.slow
def test_client_that_never_reads_is_paused_then_closed(strict: Feed) -> None:
    lab, other = strict.lab(), strict.lab()
    flood = frame_bytes(message("NOBODY")) * 100_000
    before = memory()
    with lab.connect() as deaf, pytest.raises((TimeoutError, ConnectionError)):
        deaf.send(flood)
    assert memory() - before < 30_000_000
    still_serves(other)
    wait_until(lambda: not strict.listener.tcp.ports[""].connections)


def test_other_playgrounds_are_served_during_flood(feed: Feed) -> None:
    flooded, other = feed.lab(), feed.lab()
    over = threading.Event()
    sent = threading.Semaphore(0)
    answered = [0] * 8

    def flood(number: int) -> None:
        with flooded.connect() as connection:
            while not over.is_set():
                connection.ask(message(flooded.facility, control_id=f"{number}-{answered[number]}"))
                answered[number] += 1
                sent.release()

    flooding = [threading.Thread(target=flood, args=(number,)) for number in range(8)]
    for thread in flooding:
        thread.start()
    overtaken = []
    with other.connect() as connection:
        for number in range(50):
            sent.acquire(timeout=10)
            before = sum(answered)
            assert read_msa(connection.ask(message(other.facility, control_id=str(number))))[0] == "AA"
            overtaken.append(sum(answered) - before)
    over.set()
    for thread in flooding:
        thread.join(10)
    # Counted in answers, not in seconds: a busy machine slows all clients alike.
    assert sum(overtaken) < 50 * MAX_OVERTAKEN
    assert len(other.kinds()) == 50


def test_other_clients_are_served_while_long_message_is_validated() -> None:
    # In its own interpreter: it measures how long a client waits, which leftovers of other tests would distort.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", str(LONG_MESSAGES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_garbage_on_many_connections_leaves_listener_working(feed: Feed) -> None:
    lab = feed.lab()
    with ExitStack() as stack:
        wires: list[RawConnection] = [stack.enter_context(lab.connect()) for _ in range(100)]
        for number, connection in enumerate(wires):
            connection.send(bytes((number * step) % 256 for step in range(5000)))
        still_serves(lab)
    wait_until(lambda: not feed.listener.tcp.ports[""].connections)
    assert lab.kinds() == ["hl7.oru.sent"]
