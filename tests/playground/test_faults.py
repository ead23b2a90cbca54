"""The effect of each fault over HTTP and in process, and its event in the log."""

import asyncio
import http.client
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from clerkship.actors.contract import Message
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.handlers import RequestContext
from clerkship.playground.http import GatewayApplication, open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.faults.contract import Fault
from clerkship.sandbox.faults.registry import load_faults
from clerkship.sandbox.faults.request_faults import (
    DripFault,
    DropFault,
    DuplicateFault,
    ErrorFault,
    ExpiredFault,
    LatencyFault,
    TruncatedFault,
)
from clerkship.sandbox.handle import Dropped, Incomplete, Refused
from clerkship.sandbox.request import Reply, Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators import chat, files
from clerkship.simulators.files.handle import Files
from clerkship.transports import http_connection
from clerkship.transports.http_connection import HttpConnection
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.loop_thread import WorkerPool
from clerkship.transports.tcp import TcpListener
from tests.waiting import wait_until
from tests.workbench import Workbench

SECONDS = timedelta(seconds=1)
BODY = bytes(range(200)) * 5


class Desk:
    """A playground with one file drop that contains a file of a thousand bytes, over HTTP and in process."""

    def __init__(
        self, *faults: Fault, time: str = "stepped", seed: str = "desk", gateway: Gateway | None = None
    ) -> None:
        environment = Environment.model_validate(
            {"name": "desk", "time": time, "simulators": {"drop": Simulator(kind="files")}}
        )
        self.playground = Playground(environment, {"drop": PreparedSimulator(files.SPEC, files.SPEC.config())}, seed)
        gateway = gateway or Gateway()
        self.listener = open_http(gateway)
        self.connections: list[http.client.HTTPConnection] = []
        self.drop = open_sandboxes(gateway, self.playground, self.listener.url).get_as(Files)
        self.drop.write("a.bin", BODY)
        for fault in faults:
            self.playground.inject(fault)

    def injected(self) -> list[tuple[str, str, dict[str, Any]]]:
        results = [event.payload.model_dump() for event in self.playground.log.events if event.kind == "fault.injected"]
        return [(payload["fault"], payload["operation"], payload["details"]) for payload in results]

    def kinds(self) -> list[str]:
        return [event.kind for event in self.playground.log.events[1:]]

    def connect(self) -> http.client.HTTPConnection:
        address = urlsplit(self.drop.url)
        self.connections.append(http.client.HTTPConnection(address.hostname or "", address.port, timeout=10))
        return self.connections[-1]

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        self.listener.close()

    def get(
        self, path: str = "/files/a.bin", method: str = "GET", body: bytes | None = None
    ) -> http.client.HTTPResponse:
        connection = self.connect()
        headers = {"Authorization": f"Bearer {self.drop.token}"}
        connection.request(method, urlsplit(self.drop.url).path + path, body, headers)
        return connection.getresponse()


@pytest.fixture
def desks() -> Iterator[list[Desk]]:
    opened: list[Desk] = []
    yield opened
    for desk in opened:
        desk.close()


@pytest.fixture
def at(desks: list[Desk]) -> Any:
    def opens(*faults: Fault, **options: Any) -> Desk:
        desks.append(Desk(*faults, **options))
        return desks[-1]

    return opens


def test_a_dropped_request_closes_the_connection_and_the_sandbox_never_saw_it(at: Any) -> None:
    near, far = at(DropFault(times=1)), at(DropFault(times=1))
    with pytest.raises(Dropped, match="the connection to drop broke") as caught:
        near.drop.write("b.txt", "x")
    assert isinstance(caught.value, ConnectionError)
    with pytest.raises(http.client.RemoteDisconnected):
        far.get("/files/b.txt", "PUT", b"x")
    for desk in (near, far):
        assert desk.kinds() == ["fault.injected"]
        assert desk.injected() == [("drop", "write_file", {"when": "request"})]
        desk.drop.write("b.txt", "again")
        assert desk.drop.read_text("b.txt") == "again"
    assert near.playground.log.lines == far.playground.log.lines


def test_dropped_reply_leaves_the_work_done(at: Any) -> None:
    near, far = at(DropFault(times=1, when="reply")), at(DropFault(times=1, when="reply"))
    with pytest.raises(Dropped):
        near.drop.write("b.txt", "x")
    with pytest.raises(http.client.RemoteDisconnected):
        far.get("/files/b.txt", "PUT", b"x")
    for desk in (near, far):
        assert desk.kinds() == ["files.file.written", "fault.injected"]
        assert desk.injected() == [("drop", "write_file", {"when": "reply", "status": 201})]
        assert desk.drop.read_text("b.txt") == "x"


def test_drop_closes_a_raw_socket_without_a_byte(at: Any) -> None:
    desk = at(DropFault())
    address = urlsplit(desk.drop.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        head = f"GET {address.path}/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {desk.drop.token}\r\n\r\n"
        connection.sendall(head.encode())
        assert connection.recv(1000) == b""


def test_nothing_is_written_to_standard_error_when_connections_break(
    at: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = at(DropFault(times=1), TruncatedFault(times=1, keep=10))
    with pytest.raises(http.client.RemoteDisconnected):
        desk.get()
    with pytest.raises(http.client.IncompleteRead):
        desk.get().read()
    desk.listener.close()
    assert capfd.readouterr().err == ""


def test_duplicate_runs_twice_and_the_second_has_the_fault_as_cause(at: Any) -> None:
    near, far = at(DuplicateFault(times=1)), at(DuplicateFault(times=1))
    near.drop.write("b.txt", "x")
    assert far.get("/files/b.txt", "PUT", b"x").status == 204  # the second answer: it is there already
    for desk in (near, far):
        first, fault, second = desk.playground.log.events[1:]
        assert [event.kind for event in (first, fault, second)] == [
            "files.file.written",
            "fault.injected",
            "files.file.written",
        ]
        assert (first.actor, first.cause) == ("agent", None)
        assert (second.actor, second.cause) == ("agent", fault.seq)
        assert second.at - first.at == SECONDS
        assert desk.injected() == [("duplicate", "write_file", {"first_status": 201})]
    assert near.playground.log.lines == far.playground.log.lines


def test_refusal_of_the_repeated_request_has_the_fault_as_cause(at: Any) -> None:
    desk = at(DuplicateFault())
    with pytest.raises(Refused, match="404"):
        desk.drop.delete("a.bin")
    deleted, fault, refused = desk.playground.log.events[1:]
    assert (deleted.kind, refused.kind, refused.cause) == ("files.file.deleted", "sandbox.refused", fault.seq)


def test_duplicate_of_a_refused_request_is_refused_twice(at: Any) -> None:
    desk = at(DuplicateFault())
    with pytest.raises(Refused, match="404"):
        desk.drop.read("nowhere.txt")
    assert desk.kinds() == ["sandbox.refused", "fault.injected", "sandbox.refused"]


@pytest.mark.parametrize("keep", [0, 1, 999])
def test_truncated_reply_is_shorter_than_its_content_length(at: Any, keep: int) -> None:
    near, far = at(TruncatedFault(times=1, keep=keep)), at(TruncatedFault(times=1, keep=keep))
    with pytest.raises(Incomplete, match=f"{keep} of 1000 bytes") as short:
        near.drop.read("a.bin")
    assert (short.value.reply.status, short.value.reply.body) == (200, BODY[:keep])
    answer = far.get()
    assert (answer.status, answer.getheader("content-length")) == (200, "1000")
    with pytest.raises(http.client.IncompleteRead) as caught:
        answer.read()
    assert caught.value.partial == BODY[:keep]
    for desk in (near, far):
        assert desk.injected() == [("truncated", "read_file", {"kept": keep, "of": 1000})]
        assert desk.drop.read("a.bin") == BODY
    assert near.playground.log.lines == far.playground.log.lines


def test_seed_decides_where_a_reply_is_truncated(at: Any) -> None:
    def lengths(seed: str) -> list[int]:
        desk = at(TruncatedFault(), seed=seed)
        for _ in range(5):
            with pytest.raises(Incomplete):
                desk.drop.read("a.bin")
        return [details["kept"] for _, _, details in desk.injected()]

    assert lengths("one") == lengths("one") != lengths("two")
    assert len(set(lengths("one"))) > 1


def test_fault_without_effect_is_not_counted(at: Any) -> None:
    desk = at(TruncatedFault(times=1), DripFault(over=SECONDS, times=1))
    desk.drop.write("b.txt", "x")  # 201 without a body
    assert desk.injected() == []
    with pytest.raises(Incomplete):
        desk.drop.read("a.bin")
    assert [name for name, _, _ in desk.injected()] == ["truncated", "drip"]
    short = at(TruncatedFault(keep=2000))
    assert short.drop.read("a.bin") == BODY
    assert short.injected() == []


def test_expired_token_is_refused_by_rfc_6750_and_then_works_again(at: Any) -> None:
    near, far = at(ExpiredFault(skip=1, times=2)), at(ExpiredFault(skip=1, times=2))
    near.drop.list()
    for _ in range(2):
        with pytest.raises(Refused, match=r"401.*invalid_token") as caught:
            near.drop.list()
    near.drop.list()
    answers = [far.get("/files?prefix=") for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 401, 401, 200]
    assert answers[1].headers.get_all("www-authenticate") == [caught.value.reply.headers["WWW-Authenticate"]]
    assert caught.value.reply.headers["WWW-Authenticate"].startswith('Bearer realm="clerkship", error="invalid_token"')
    assert near.playground.log.lines == far.playground.log.lines
    assert "sandbox.refused" not in near.kinds()  # the agent asked for nothing wrong


def test_expired_without_times_lasts_forever(at: Any) -> None:
    desk = at(ExpiredFault())
    assert [desk.get("/files").status for _ in range(5)] == [401] * 5


def test_error_may_have_retry_after(at: Any) -> None:
    desk = at(ErrorFault(status=429, retry_after=timedelta(seconds=90.5)))
    answer = desk.get()
    assert (answer.status, answer.getheader("retry-after")) == (429, "91")
    with pytest.raises(Refused) as caught:
        desk.drop.list()
    assert caught.value.reply.headers["Retry-After"] == "91"
    assert desk.injected()[0] == ("error", "read_file", {"status": 429, "retry_after": 91})


def test_jitter_is_within_its_bounds_and_the_same_for_the_same_seed(at: Any) -> None:
    def delays(seed: str) -> list[float]:
        desk = at(LatencyFault(by=10 * SECONDS, jitter=5 * SECONDS), seed=seed)
        results = []
        for _ in range(20):
            before = desk.playground.now
            desk.drop.list()
            results.append((desk.playground.now - before).total_seconds() - 1)
        return results

    first = delays("one")
    assert first == delays("one") != delays("two")
    assert all(10 <= delay <= 15 for delay in first)
    assert len(set(first)) > 10


def test_drip_on_a_stepped_clock_takes_only_simulated_time(at: Any) -> None:
    near, far = at(DripFault(over=timedelta(hours=1))), at(DripFault(over=timedelta(hours=1)))
    before = near.playground.now
    assert near.drop.read("a.bin") == BODY
    assert near.playground.now - before == timedelta(hours=1, seconds=1)
    answer = far.get()
    assert (answer.getheader("content-length"), answer.read()) == ("1000", BODY)
    assert near.injected() == far.injected() == [("drip", "read_file", {"pieces": 8, "over": "1h"})]
    assert near.playground.log.lines == far.playground.log.lines


class Wire(asyncio.Transport):
    """Records what a connection writes, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return False


async def _sent(desk: Desk, gateway: Gateway) -> list[bytes]:
    wire = Wire()
    port = TcpListener(ConnectionLimits(), max_connections=1).open_port("127.0.0.1")
    connection = HttpConnection(GatewayApplication(gateway), WorkerPool(), port)
    connection.connection_made(wire)
    path = f"/{desk.playground.id}/drop/files/a.bin"
    connection.data_received(
        f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {desk.drop.token}\r\n\r\n".encode()
    )
    async with asyncio.timeout(10):
        while not connection.is_idle:  # noqa: ASYNC110  (nobody is told)
            await asyncio.sleep(0.001)
    port.stop()
    assert wire.written[0].startswith(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n")
    return wire.written[1:]


def test_drip_on_a_paced_clock_spreads_pieces_over_time(at: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    delays: list[float] = []
    wait_gone = HttpConnection.wait_gone

    async def record(connection: HttpConnection, seconds: float) -> bool:
        delays.append(seconds)
        return await wait_gone(connection, seconds)

    monkeypatch.setattr(HttpConnection, "wait_gone", record)
    desk = at(DripFault(over=timedelta(milliseconds=600), pieces=4), time="paced")
    address = urlsplit(desk.drop.url)
    arrivals: list[bytes] = []
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        head = f"GET {address.path}/files/a.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        connection.sendall(f"{head}Authorization: Bearer {desk.drop.token}\r\n\r\n".encode())
        while data := connection.recv(65536):
            arrivals.append(data)
    assert b"".join(arrivals).endswith(b"\r\n\r\n" + BODY)
    assert delays == [0.15] * 4


def test_drip_in_one_playground_does_not_delay_another(at: Any) -> None:
    gateway = Gateway()
    slow = at(DripFault(over=timedelta(seconds=30)), time="paced", gateway=gateway)
    quick = at(time="paced", gateway=gateway)
    slow.get()  # its head is here, its body takes half a minute
    path = f"/{quick.playground.id}/drop/files/a.bin"
    connection = slow.connect()  # the same listener
    connection.request("GET", path, headers={"Authorization": f"Bearer {quick.drop.token}"})
    assert connection.getresponse().read() == BODY
    assert quick.injected() == []


def test_closing_does_not_wait_for_a_delayed_reply_to_a_disconnected_client(
    at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "GRACE_SECONDS", 3600.0)
    started: list[float] = []
    ended: list[float] = []
    wait_gone = HttpConnection.wait_gone

    async def record(connection: HttpConnection, seconds: float) -> bool:
        started.append(seconds)
        try:
            return await wait_gone(connection, seconds)
        finally:
            ended.append(seconds)

    monkeypatch.setattr(HttpConnection, "wait_gone", record)
    desk = at(LatencyFault(by=timedelta(seconds=60)), time="paced")
    address = urlsplit(desk.drop.url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        head = f"GET {address.path}/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {desk.drop.token}\r\n\r\n"
        connection.sendall(head.encode())
        wait_until(lambda: started)
    threading.Thread(target=desk.listener.close, daemon=True).start()
    assert wait_until(lambda: ended) == [60]


def test_fault_can_be_limited_to_one_operation(at: Any) -> None:
    desk = at(ErrorFault(operation="write_file"))
    assert desk.drop.list() == ["a.bin"]
    with pytest.raises(Refused, match="503"):
        desk.drop.write("b.txt", "x")


def test_faults_combine_until_one_answers_the_request(at: Any) -> None:
    desk = at(
        TruncatedFault(), DuplicateFault(), LatencyFault(by=10 * SECONDS), ErrorFault(times=1), DripFault(over=SECONDS)
    )
    with pytest.raises(Refused, match="503"):
        desk.drop.read("a.bin")
    assert [name for name, _, _ in desk.injected()] == ["latency", "error"]
    with pytest.raises(Incomplete):
        desk.drop.read("a.bin")
    assert [name for name, _, _ in desk.injected()][2:] == ["latency", "duplicate", "truncated", "drip"]


def test_lost_reply_is_not_ok_for_any_transport() -> None:
    gateway = Gateway()
    desk = Desk(DropFault(), gateway=gateway)
    reply = gateway.handle(
        RequestContext(desk.playground.id, "drop", HttpCall(Request("GET", "/files")), desk.drop.token)
    )
    assert reply.lost
    assert not reply.ok
    assert reply.status == 0
    assert not Reply(200).lost


@pytest.mark.parametrize("fault", load_faults(), ids=lambda fault: fault.name)
def test_times_and_probability_hold_for_every_fault(at: Any, fault: type[Fault]) -> None:
    needed = {"by": "1s"} if fault is LatencyFault else {"over": "1s"} if fault is DripFault else {}

    def affected_requests(seed: str, **options: Any) -> list[int]:
        desk = at(fault.model_validate({**needed, **options}), seed=seed)
        for _ in range(60):
            try:
                desk.drop.read("a.bin")
            except (Refused, Dropped):
                continue
        return [event.seq for event in desk.playground.log.events if event.kind == "fault.injected"]

    assert len(affected_requests("one", times=3)) == 3
    assert len(affected_requests("one", probability=0.5, times=3)) == 3
    assert (
        affected_requests("one", probability=0.5)
        == affected_requests("one", probability=0.5)
        != affected_requests("two", probability=0.5)
    )
    assert 15 < len(affected_requests("one", probability=0.5)) < 45


def test_pieces_are_written_to_the_connection_one_by_one() -> None:
    gateway = Gateway()
    desk = Desk(DripFault(over=timedelta(hours=1), pieces=5), gateway=gateway)
    pieces = asyncio.run(_sent(desk, gateway))
    assert [len(piece) for piece in pieces] == [200] * 5
    assert b"".join(pieces) == BODY


CONVERSATION = """
    task:
      name: Ask
      scenario:
        starts: person
        person:
          opening: When are you open?
          script: [{{when: "from eight", say: Thanks.}}]
          end: {{when: welcome, say: Bye.}}
        steps: {steps}
      criteria: [{{label: said, assertion: {{bot_uttered: {{text_matches: "from eight"}}}}}}]
"""


def _front_desk(message: Message) -> str:
    return "You are welcome." if "Thanks" in message.text else "We open from eight."


def test_person_repeats_their_message_after_a_lost_turn(bench: Workbench) -> None:
    bench.write("a.yml", CONVERSATION.format(steps="[{fault.drop: {times: 1}}]"))
    task_run = bench.run_one(_front_desk)
    assert (task_run.verdict, task_run.ending) == ("pass", "person_done")
    events = bench.events(task_run)
    messages = [(e["actor"], e["payload"]["text"]) for e in events if e["kind"] == "chat.message.sent"]
    assert messages == [
        ("person", "When are you open?"),
        ("person", "When are you open?"),
        ("agent", "We open from eight."),
        ("person", "Thanks."),
        ("agent", "You are welcome."),
        ("person", "Bye."),
    ]
    [fault] = [event for event in events if event["kind"] == "fault.injected"]
    assert fault["source"] == "chat"
    assert fault["payload"] == {
        "fault": "drop",
        "operation": "on_turn",
        "details": {"when": "request", "lost": ["We open from eight."]},
    }
    again = events[fault["seq"]]
    assert (again["kind"], again["cause"]) == ("chat.message.sent", fault["seq"])


def test_person_with_a_newer_message_does_not_repeat_themselves(bench: Workbench) -> None:
    steps = "[{fault.drop: {times: 1}}, {at: 30s, chat.say: {text: Thanks anyway.}}]"
    bench.write("a.yml", CONVERSATION.format(steps=steps))
    task_run = bench.run_one(_front_desk)
    messages = [e["payload"]["text"] for e in bench.events(task_run) if e["kind"] == "chat.message.sent"]
    assert messages == ["When are you open?", "Thanks anyway.", "You are welcome.", "Bye."]


def test_latency_delays_a_turn(bench: Workbench) -> None:
    bench.write("a.yml", CONVERSATION.format(steps="[{fault.latency: {by: 10m, times: 1, operation: on_turn}}]"))
    task_run = bench.run_one(_front_desk)
    assert task_run.verdict == "pass"
    times = [event["at"] for event in bench.events(task_run) if event["kind"] == "chat.message.sent"]
    assert (times[0], times[1]) == ("2026-03-02T14:00:01Z", "2026-03-02T14:10:02Z")


def test_faults_for_requests_do_not_affect_turns(bench: Workbench) -> None:
    steps = ["error: {}", "expired: {}", "truncated: {}", "duplicate: {}", "drop: {when: reply}"]
    written = ", ".join(f"{{fault.{step}}}" for step in steps)
    bench.write("a.yml", CONVERSATION.format(steps=f"[{written}]"))
    task_run = bench.run_one(_front_desk)
    assert task_run.verdict == "pass"
    assert "fault.injected" not in bench.kinds(task_run)


def test_a_message_sent_twice_is_heard_twice() -> None:
    with SimulatorRig(chat.SPEC) as rig:
        rig.playground.inject(DuplicateFault(times=1))
        rig.send(Request("POST", "/messages", body=b'{"text": "hello"}'))
        messages = [event.actor for event in rig.playground.log.events if event.kind == "chat.message.sent"]
    assert messages == ["agent", "person", "agent", "person"]
