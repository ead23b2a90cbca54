"""A sandbox posts webhooks to its agent: by policy, with retries in simulated time, each attempt in the log."""

import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from clerkship.assertions.agent_acted import find_first_action
from clerkship.assertions.max_agent_actions import find_agent_actions
from clerkship.events.evidence import Evidence
from clerkship.faults.error import ErrorFault
from clerkship.model.environment import Environment, Simulator
from clerkship.model.task import Task
from clerkship.playground import clock_hold
from clerkship.playground.agent_clock import skip, wait
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.paced_clock import run_paced_clock
from clerkship.playground.playground import Playground, SavedLog
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Refused
from clerkship.transports.outbound import http
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.http import OutboundRequest
from clerkship.transports.outbound.policy import LOCAL_ONLY, OutboundPolicy, PublicPolicy, ResolvedAddress
from tests.transports.webhooks import SPEC, NoticeArrived, NoticeConfig, NoticeDelivery, NoticesHandle, sign

Answer = Callable[["AgentServer", int], tuple[int, dict[str, str], bytes]]


def wait_until(true: Callable[[], bool], within: float = 10.0) -> None:
    """Wait for something that happens in another thread."""
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end, "the condition was not met in time"
        time.sleep(0.002)


def answer_with_status(*statuses: int, headers: dict[str, str] | None = None) -> Answer:
    """Answer with these statuses in turn, and from then on with the last."""
    return lambda _, number: (statuses[min(number, len(statuses)) - 1], headers or {}, b"{}")


OK = answer_with_status(200)


class AgentServer:
    """The agent's own HTTP server: keeps what it is sent, and answers as it is told to."""

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        self.posted: list[tuple[str, dict[str, str], bytes]] = []
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                server.posted.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
                status, headers, answered = answer(server, len(server.posted))
                if not status:
                    return
                self.send_response(status)
                for name, value in {"content-length": str(len(answered)), **headers}.items():
                    self.send_header(name, value)
                with suppress(OSError):  # the sandbox waited no longer
                    self.end_headers()
                    self.wfile.write(answered)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        """Where it is, with a token that must not get into a log."""
        return f"http://127.0.0.1:{self.port}/hook?token=s3cret"

    @property
    def texts(self) -> list[str]:
        """The notices that came."""
        return [orjson.loads(body)["text"] for _, _, body in self.posted]

    def close(self) -> None:
        """Stop."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class WebhookPlayground:
    """A playground with one sandbox that posts notices, and its agent's server."""

    def __init__(self, answer: Answer = OK, policy: OutboundPolicy = LOCAL_ONLY, **how: Any) -> None:
        time = how.pop("time", "stepped")
        self.gateway = Gateway(policy)
        self.pool = ListenerPool(self.gateway)
        self.http = open_http(self.gateway)
        names = how.pop("sandboxes", ("notices",))
        simulators = {name: Simulator(kind="notices") for name in names}
        environment = Environment(name="practice", simulators=simulators, time=time)
        spec = replace(SPEC, outbound=(how.pop("delivery", NoticeDelivery),))
        room = PreparedSimulator(spec, spec.config(**how))
        self.playground = Playground(environment, dict.fromkeys(names, room), "webhooks")
        self.sandboxes = open_sandboxes(self.gateway, self.playground, self.http.url, self.pool)
        self.handle = self.sandboxes.get_as(NoticesHandle, names[0])
        self.agent = AgentServer(answer)

    def notify(self, *texts: str, sandbox: str = "notices") -> None:
        """Have notices for the agent."""
        with self.playground.lock:
            action, state = self.playground.context_for(sandbox, "scenario"), self.playground.sandboxes[sandbox].state
            for text in texts:
                action.emit(NoticeArrived(id=str(len(state.dump()) + 1), text=text))

    @property
    def attempts(self) -> list[Any]:
        """The attempts in the log."""
        return [event.payload for event in self.playground.log.events if event.kind == "outbound.attempted"]

    @property
    def outcomes(self) -> list[tuple[str, int, str, int | None]]:
        """Message, number, outcome and status of each."""
        return [(each.message, each.attempt, each.outcome, each.status) for each in self.attempts]

    def close(self) -> None:
        """All of it."""
        self.playground.close()
        self.gateway.remove_playground(self.playground)
        self.agent.close()
        self.pool.close()
        self.http.close()


@pytest.fixture
def practice() -> Iterator[Callable[..., WebhookPlayground]]:
    """Practices that are closed in the end."""
    made: list[WebhookPlayground] = []

    def make(*args: Any, **how: Any) -> WebhookPlayground:
        made.append(WebhookPlayground(*args, **how))
        return made[-1]

    yield make
    for each in made:
        each.close()


OpenPlayground = Callable[..., WebhookPlayground]


def test_notices_are_posted_signed_in_order_without_address_in_the_log(practice: OpenPlayground) -> None:
    there = practice()
    there.handle.register(there.agent.url)
    there.notify("one", "two")
    there.sandboxes.wait("1s")
    assert there.agent.texts == ["one", "two"]
    assert there.outcomes == [("1", 1, "delivered", None), ("2", 1, "delivered", None)]
    path, headers, body = there.agent.posted[0]
    assert path == "/hook?token=s3cret"
    assert headers["x-signature"] == sign(OutboundRequest(url=there.agent.url, body=body))["x-signature"]
    assert headers["content-type"] == "application/json"
    assert headers["host"] == f"127.0.0.1:{there.agent.port}"
    log = there.playground.log.data().decode()
    assert "s3cret" not in log
    assert str(there.agent.port) not in log
    [event] = [event for event in there.playground.log.events if event.kind == "outbound.attempted"][:1]
    assert (event.source, event.actor) == ("notices", "run")


def test_address_can_be_set_in_the_config(practice: OpenPlayground) -> None:
    agent = AgentServer(answer_with_status(200))
    there = practice(webhook=agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    agent.close()
    assert agent.texts == ["one"]


def find_first_action_kind(there: WebhookPlayground) -> str | None:
    """What the agent did first, as `agent_acted` sees it."""
    action = find_first_action(build_evidence(there))
    return None if action is None else action[1]


def build_evidence(there: WebhookPlayground) -> Evidence:
    states = {name: sandbox.state for name, sandbox in there.playground.sandboxes.items()}
    return Evidence(Task(name="practice"), there.playground.log.ordered(), states, "agent_done")


def test_reading_a_notice_for_delivery_is_not_an_agent_action(practice: OpenPlayground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    there = practice(webhook=f"http://127.0.0.1:{port}/")
    there.notify("one")
    wait(there.playground, timedelta(seconds=100))
    assert [each.outcome for each in there.attempts] == ["connection_refused"] * 4
    assert find_first_action_kind(there) is None
    assert find_agent_actions(build_evidence(there)) == ()
    read = [event for event in there.playground.log.events if event.kind == "sandbox.answered"]
    assert [(event.actor, event.request) for event in read] == [("run", None)] * 4


def test_failed_attempts_are_repeated_with_growing_delays_in_simulated_time(practice: OpenPlayground) -> None:
    there = practice(answer_with_status(500, 503, 429, 200))
    there.handle.register(there.agent.url)
    began = time.monotonic()
    there.notify("one")
    there.sandboxes.wait("5s")
    assert there.outcomes == [("1", 1, "rejected", 500)]
    there.sandboxes.wait("2h")
    assert there.outcomes[1:] == [("1", 2, "rejected", 503), ("1", 3, "rejected", 429), ("1", 4, "delivered", None)]
    assert [each.retry_in for each in there.attempts] == [10, 20, 40, None]
    times = [event.at for event in there.playground.log.events if event.kind == "outbound.attempted"]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    tick = there.playground.environment.tick.total_seconds()
    assert gaps == [10 + tick, 20 + tick, 40 + tick]  # one request to the sandbox in each attempt
    assert time.monotonic() - began < 5


def test_idle_run_skips_to_the_next_attempt(practice: OpenPlayground) -> None:
    there = practice(answer_with_status(500, 200))
    there.handle.register(there.agent.url)
    there.notify("one")
    assert skip(there.playground)
    assert there.outcomes == [("1", 1, "rejected", 500), ("1", 2, "delivered", None)]
    assert not skip(there.playground)


def test_later_notices_do_not_wait_for_a_retried_one(practice: OpenPlayground) -> None:
    there = practice(answer_with_status(500, 200))
    there.handle.register(there.agent.url)
    there.notify("one", "two")
    there.sandboxes.wait("1s")
    assert [(each.message, each.outcome) for each in there.attempts] == [("1", "rejected"), ("2", "delivered")]
    there.sandboxes.wait("1m")
    assert there.agent.texts == ["one", "two", "one"]


def test_message_is_given_up_after_the_last_attempt_until_the_agent_registers_again(practice: OpenPlayground) -> None:
    there = practice(answer_with_status(500, 500, 200), attempts=2)
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1d")
    assert [each.retry_in for each in there.attempts] == [10, None]
    assert there.playground.clock.next_due() is None
    there.handle.register(there.agent.url)
    there.sandboxes.wait("1s")
    assert there.outcomes[-1] == ("1", 1, "delivered", None)


@pytest.mark.parametrize("status", [400, 404, 410])
def test_4xx_response_is_not_retried(practice: OpenPlayground, status: int) -> None:
    there = practice(answer_with_status(status))
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1d")
    assert there.outcomes == [("1", 1, "rejected", status)]


def test_timed_out_attempt_is_retried(practice: OpenPlayground) -> None:
    def slow_once(server: AgentServer, number: int) -> tuple[int, dict[str, str], bytes]:
        if number == 1:
            server.released.wait(10)
        return 200, {}, b""

    there = practice(slow_once, timeout=0.5)
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1m")
    assert there.outcomes == [("1", 1, "timed_out", None), ("1", 2, "delivered", None)]


def test_lost_and_refused_connections_are_logged_as_attempts(practice: OpenPlayground) -> None:
    there = practice(answer_with_status(0), attempts=1)
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    there.handle.register(f"http://localhost:{port}/")
    there.sandboxes.wait("1s")
    assert there.outcomes == [("1", 1, "lost", None), ("1", 1, "connection_refused", None)]


def test_too_large_response_is_rejected(practice: OpenPlayground) -> None:
    there = practice(lambda *_: (200, {}, b"x" * 2000))
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    assert [(each.outcome, each.reason) for each in there.attempts] == [("rejected", "response_too_large")]


def test_fault_prevents_sending_in_one_attempt(practice: OpenPlayground) -> None:
    there = practice()
    there.playground.inject(ErrorFault(sandbox="notices", operation="read_notice", times=1))
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1m")
    assert there.outcomes == [("1", 1, "not_sent", 503), ("1", 2, "delivered", None)]
    assert there.agent.texts == ["one"]


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "https://example.org/", "http://169.254.169.254/latest"])
def test_address_refused_by_the_local_policy_is_not_registered(practice: OpenPlayground, url: str) -> None:
    there = practice()
    with pytest.raises(Refused, match="on this machine"):
        there.handle.register(url)


def test_public_policy_refuses_to_register_a_loopback_address(practice: OpenPlayground) -> None:
    there = practice(policy=PublicPolicy())
    with pytest.raises(Refused, match="only public addresses"):
        there.handle.register(there.agent.url)


def test_name_that_resolves_to_loopback_is_refused_at_delivery(practice: OpenPlayground) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    there = practice(policy=PublicPolicy(resolve))
    there.handle.register(f"http://agent.example:{there.agent.port}/")
    there.notify("one")
    there.sandboxes.wait("1d")
    [attempt] = there.attempts
    assert (attempt.outcome, attempt.reason, attempt.retry_in) == ("refused_by_policy", "not_public", None)
    assert there.agent.posted == []


def test_registering_our_own_listener_is_refused(practice: OpenPlayground) -> None:
    there = practice()
    own = there.handle.url.split("/")[2]
    with pytest.raises(Refused, match="simulators' own"):
        there.handle.register(f"http://{own}/")
    with pytest.raises(Refused, match="simulators' own"):
        there.handle.register(f"http://localhost:{own.split(':')[1]}/x")
    assert own not in there.playground.log.data().decode()


def test_our_own_listener_in_a_config_is_refused_at_delivery(practice: OpenPlayground) -> None:
    there = practice()
    own = there.handle.url.split("/")[2]
    there.playground.sandboxes["notices"].state.config = NoticeConfig(webhook=f"http://{own}/")
    there.pool.prepare(there.playground)
    there.notify("one")
    there.sandboxes.wait("1d")
    assert [(each.outcome, each.reason) for each in there.attempts] == [("refused_by_policy", "not_yours")]


@pytest.mark.parametrize(
    ("location", "status", "outcome", "reason"),
    [
        ("http://10.0.0.1/", 307, "refused_by_policy", "not_this_machine"),
        ("http://169.254.169.254/latest/meta-data", 308, "refused_by_policy", "not_this_machine"),
        ("ftp://127.0.0.1/", 307, "rejected", "bad_redirect"),
        ("http://[", 307, "rejected", "bad_redirect"),
        ("//[x]/", 308, "rejected", "bad_redirect"),
        ("http://a]b/", 307, "rejected", "bad_redirect"),
        ("/elsewhere", 302, "rejected", "redirect_not_followed"),
        ("/hook", 307, "rejected", "too_many_redirects"),
    ],
)
def test_disallowed_redirect_is_not_followed(
    practice: OpenPlayground, location: str, status: int, outcome: str, reason: str
) -> None:
    there = practice(answer_with_status(status, headers={"location": location}))
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1d")
    assert [(each.outcome, each.reason) for each in there.attempts] == [(outcome, reason)]
    assert len(there.agent.posted) == (3 if reason == "too_many_redirects" else 1)
    assert there.playground.broken is None


class RawBytesServer:
    """An agent that answers every request with the same bytes, whatever they are."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(self._answer)

    def close(self) -> None:
        """Stop."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (b"garbage\r\n\r\n", "lost"),
        (b"HTTP/1.1 999999 x\r\n\r\n", "lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc", "lost"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", "lost"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "lost"),
        (b"HTTP/1.1 307 x\r\nLocation: //\xe2\x84\x80/\r\nContent-Length: 0\r\n\r\n", "rejected"),
        (b"HTTP/1.1 307 x\r\nLocation: \xff\xfe\r\nContent-Length: 0\r\n\r\n", "rejected"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnot JSON", "rejected"),
    ],
)
def test_malformed_response_fails_the_attempt_but_not_the_run(
    practice: OpenPlayground, answer: bytes, outcome: str
) -> None:
    there, agent = practice(attempts=1), RawBytesServer(answer)
    there.handle.register(agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    agent.close()
    assert [each.outcome for each in there.attempts] == [outcome]
    assert there.playground.broken is None


def test_crashed_delivery_restarts_when_the_agent_registers_again(practice: OpenPlayground) -> None:
    failed: list[str] = []

    class BuggyDelivery(NoticeDelivery):
        async def build(self, message_id: str) -> OutboundRequest:
            if not failed:
                failed.append(message_id)
                raise RuntimeError("a bug")
            return await super().build(message_id)

    there = practice(delivery=BuggyDelivery)
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    assert there.playground.broken == "notices: outbound webhook: RuntimeError: a bug"
    there.handle.register(there.agent.url)
    began = time.monotonic()
    there.sandboxes.wait("1s")
    assert time.monotonic() - began < 1.5  # the clock is held for two seconds by a delivery that never ends
    assert there.agent.texts == ["one"]


def test_redirect_to_our_own_listener_is_refused(practice: OpenPlayground) -> None:
    made: list[WebhookPlayground] = []
    there = practice(lambda *_: (307, {"location": made[0].handle.url}, b""))
    made.append(there)
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    assert [(each.outcome, each.reason) for each in there.attempts] == [("refused_by_policy", "not_yours")]


def test_allowed_redirect_is_followed_and_signed_again(practice: OpenPlayground) -> None:
    there = practice(lambda _, number: (307 if number == 1 else 204, {"location": "/moved"}, b""))
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    assert [path for path, _, _ in there.agent.posted] == ["/hook?token=s3cret", "/moved"]
    _, headers, body = there.agent.posted[1]
    url = f"http://127.0.0.1:{there.agent.port}/moved"
    assert headers["x-signature"] == sign(OutboundRequest(url=url, body=body))["x-signature"]
    assert there.outcomes == [("1", 1, "delivered", None)]


class EveryNameIsLoopback:
    """A policy under which every name is this machine: what a name server says of `agent.example` in these tests."""

    def check_written(self, address: OutboundAddress) -> None:
        """Allow every address."""

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        """Return the loopback address."""
        return ResolvedAddress(address, ("127.0.0.1",))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of agent.example that signs itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent.example")])
    began = datetime(2020, 1, 1, tzinfo=UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(began)
        .not_valid_after(datetime(2120, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("agent.example")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "agent.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(built.public_bytes(pem) + private)
    return path


@pytest.mark.parametrize(
    ("host", "is_trusted", "result"),
    [
        ("agent.example", True, ("delivered", "")),
        ("agent.example", False, ("lost", "tls")),
        ("other.example", True, ("lost", "tls")),
    ],
)
def test_https_connects_to_the_checked_ip_and_verifies_the_host_name(
    practice: OpenPlayground,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    is_trusted: bool,
    result: tuple[str, str],
) -> None:
    serves = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serves.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=certificate if is_trusted else None)
    monkeypatch.setattr(http, "_load_tls_context", lambda: trust)
    there, agent = practice(policy=EveryNameIsLoopback(), attempts=1), AgentServer(OK, serves)
    there.handle.register(f"https://{host}:{agent.port}/hook")
    there.notify("one")
    there.sandboxes.wait("1s")
    agent.close()
    assert [(each.outcome, each.reason) for each in there.attempts] == [result]
    posted_to = [headers["host"] for _, headers, _ in agent.posted]
    assert posted_to == ([f"agent.example:{agent.port}"] if result[0] == "delivered" else [])


def test_agent_can_call_its_sandbox_before_it_answers_a_webhook(practice: OpenPlayground) -> None:
    made: list[WebhookPlayground] = []
    read: list[str] = []

    def look_first(*_: Any) -> tuple[int, dict[str, str], bytes]:
        read.append(made[0].handle.request("GET", "/notices/1").body.decode())
        return 200, {}, b""

    there = practice(look_first)
    made.append(there)
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1h")
    assert there.outcomes == [("1", 1, "delivered", None)]
    assert len(read) == 1


def test_clock_stops_for_deliveries_to_an_agent_in_another_process(practice: OpenPlayground) -> None:
    made: list[WebhookPlayground] = []

    def look_first(*_: Any) -> tuple[int, dict[str, str], bytes]:
        send_over_http(made[0], "GET", "notices/notices/1")
        return (503 if len(made[0].attempts) < 2 else 200), {}, b""

    there = practice(look_first)
    made.append(there)
    there.playground.clock.schedule(there.playground.now + timedelta(minutes=10), lambda: there.notify("one"))
    assert send_over_http(there, "PUT", "notices/webhook", there.agent.url.encode()) == 204
    assert send_over_http(there, "POST", "clock/advance?by=1h") == 200
    started, events = there.playground.started_at, there.playground.log.events
    times = [(event.at - started).total_seconds() for event in events if event.kind == "outbound.attempted"]
    assert times == [602, 614, 636]  # two requests to the sandbox in each attempt, of a second each
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(there.playground.log.lines) == len(events)


def send_over_http(there: WebhookPlayground, method: str, path: str, body: bytes | None = None) -> int:
    """Send a request over HTTP, as an agent in another process does; return the status."""
    parts = urlsplit(there.handle.url.removesuffix("notices"))
    connection = HTTPConnection(parts.netloc, timeout=20)
    headers = {"Authorization": f"Bearer {there.handle.token}"}
    connection.request(method, f"{parts.path}{path}", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_agent_that_advances_the_clock_before_it_answers_is_not_blocked(
    practice: OpenPlayground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 0.1)
    made: list[WebhookPlayground] = []

    def wait_first(*_: Any) -> tuple[int, dict[str, str], bytes]:
        made[0].sandboxes.wait("10m")
        return 200, {}, b""

    there = practice(wait_first)
    made.append(there)
    there.handle.register(there.agent.url)
    there.notify("one")
    wait_until(lambda: there.outcomes == [("1", 1, "delivered", None)])
    assert there.playground.now - there.playground.started_at >= timedelta(minutes=10)


def test_retry_delays_on_a_paced_clock_are_wall_time(practice: OpenPlayground) -> None:
    there = practice(answer_with_status(500, 500, 200), time="paced", first_delay="50ms")
    with run_paced_clock(there.playground):
        there.handle.register(there.agent.url)
        began = time.monotonic()
        there.notify("one")
        wait_until(lambda: len(there.attempts) == 3)
        assert time.monotonic() - began >= 0.15
    assert [each.outcome for each in there.attempts] == ["rejected", "rejected", "delivered"]


def test_rewound_run_delivers_from_the_start(practice: OpenPlayground) -> None:
    there = practice(answer_with_status(500, 200))
    there.handle.register(there.agent.url)
    there.notify("one")
    there.sandboxes.wait("1s")
    there.playground.rewind(SavedLog())
    there.notify("two")
    there.sandboxes.wait("1s")
    assert there.agent.texts == ["one", "two"]
    assert there.outcomes == [("1", 1, "delivered", None)]


def record_log(practice: OpenPlayground) -> bytes:
    there = practice(answer_with_status(500, 503, 200, 500, 200), jitter=0.5)
    there.handle.register(there.agent.url)
    there.notify("one", "two")
    there.sandboxes.wait("7s")
    while there.sandboxes.wait():
        pass
    assert [each.outcome for each in there.attempts].count("delivered") == 2
    return there.playground.log.data()


def test_same_seed_gives_the_same_log(practice: OpenPlayground) -> None:
    first = record_log(practice)
    assert all(record_log(practice) == first for _ in range(4))


def answer_after_random_delay(*_: Any) -> tuple[int, dict[str, str], bytes]:
    """Answer after a time that differs from call to call, as programs do."""
    time.sleep(secrets.randbelow(10) / 1000)
    return 200, {}, b"{}"


def record_log_of_two_sandboxes(practice: OpenPlayground) -> bytes:
    """Two sandboxes get notices at the same simulated time, the second one first."""
    there = practice(answer_after_random_delay, sandboxes=("beta", "alpha"))
    for name in ("alpha", "beta"):
        there.sandboxes.get_as(NoticesHandle, name).register(there.agent.url)

    def notify() -> None:
        there.notify("one", "two", "three", sandbox="alpha")
        there.notify("one", "two", "three", sandbox="beta")

    there.playground.clock.schedule(there.playground.now + timedelta(minutes=10), notify)
    there.sandboxes.wait("1h")
    attempted = [event for event in there.playground.log.events if event.kind == "outbound.attempted"]
    assert [(event.source, event.payload.message) for event in attempted] == [  # type: ignore[attr-defined]
        (name, number) for name in ("beta", "alpha") for number in "123"
    ]
    return there.playground.log.data()


def test_sandboxes_deliver_one_at_a_time_in_environment_order(practice: OpenPlayground) -> None:
    first = record_log_of_two_sandboxes(practice)
    assert all(record_log_of_two_sandboxes(practice) == first for _ in range(4))


def test_slow_agent_of_one_sandbox_does_not_block_another(
    practice: OpenPlayground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 0.1)

    def never(server: AgentServer, _: int) -> tuple[int, dict[str, str], bytes]:
        server.released.wait(10)
        return 200, {}, b""

    there, slow = practice(sandboxes=("alpha", "beta")), AgentServer(never)
    there.sandboxes.get_as(NoticesHandle, "alpha").register(slow.url)
    there.sandboxes.get_as(NoticesHandle, "beta").register(there.agent.url)
    there.notify("one", sandbox="alpha")
    there.notify("one", sandbox="beta")
    wait_until(lambda: there.agent.texts == ["one"])
    assert there.attempts == [] or there.outcomes == [("1", 1, "delivered", None)]
    slow.close()
