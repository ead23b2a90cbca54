"""Webhooks to an agent: address policy, retries in simulated time, and the attempts in the log."""

import asyncio
import gzip
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

from clerkship.assertions.agent_acted import find_agent_actions, find_first_action
from clerkship.events.evidence import Evidence
from clerkship.model.environment import Environment, Simulator
from clerkship.model.task import Task
from clerkship.playground import clock_hold
from clerkship.playground.agent_clock import advance_by, run_paced_clock, skip_to_next_event
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground, SavedLog
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.faults.request_faults import ErrorFault
from clerkship.sandbox.handle import Refused
from clerkship.transports.outbound import http
from clerkship.transports.outbound.address import OutboundAddress
from clerkship.transports.outbound.http import OutboundRequest
from clerkship.transports.outbound.policy import (
    LOCAL_ONLY,
    LocalPolicy,
    OutboundPolicy,
    OutboundRefused,
    PublicPolicy,
    ResolvedAddress,
)
from tests.transports.webhooks import SPEC, NoticeArrived, NoticeConfig, NoticeDelivery, NoticesHandle, sign
from tests.waiting import wait_until

Answer = Callable[["AgentServer", int], tuple[int, dict[str, str], bytes]]


def answer_with_status(*statuses: int, headers: dict[str, str] | None = None) -> Answer:
    """Answer with these statuses in turn, then always with the last one."""
    return lambda _, number: (statuses[min(number, len(statuses)) - 1], headers or {}, b"{}")


OK = answer_with_status(200)


class AgentServer:
    """The agent's HTTP server, which stores the requests and answers with a function."""

    def __init__(self, answer: Answer, context: ssl.SSLContext | None = None) -> None:
        self.posted: list[tuple[str, dict[str, str], bytes]] = []
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                server.posted.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
                status, headers, response_body = answer(server, len(server.posted))
                if not status:
                    return
                self.send_response(status)
                for name, value in {"content-length": str(len(response_body)), **headers}.items():
                    self.send_header(name, value)
                with suppress(OSError):  # the sandbox waited no longer
                    self.end_headers()
                    self.wfile.write(response_body)

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
        """The address, with a token that must not appear in a log."""
        return f"http://127.0.0.1:{self.port}/hook?token=s3cret"

    @property
    def texts(self) -> list[str]:
        """The texts of the received notices."""
        return [orjson.loads(body)["text"] for _, _, body in self.posted]

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class WebhookSite:
    """A playground whose sandboxes post notices, and the agent's server."""

    def __init__(self, answer: Answer = OK, policy: OutboundPolicy = LOCAL_ONLY, **options: Any) -> None:
        time = options.pop("time", "stepped")
        self.gateway = Gateway(policy)
        self.pool = ListenerPool(self.gateway)
        self.http = open_http(self.gateway)
        names = options.pop("sandboxes", ("notices",))
        simulators = {name: Simulator(kind="notices") for name in names}
        environment = Environment(name="practice", simulators=simulators, time=time)
        spec = replace(SPEC, outbound=(options.pop("delivery", NoticeDelivery),))
        simulator = PreparedSimulator(spec, spec.config(**options))
        self.playground = Playground(environment, dict.fromkeys(names, simulator), "webhooks")
        self.sandboxes = open_sandboxes(self.gateway, self.playground, self.http.url, self.pool)
        self.handle = self.sandboxes.get_as(NoticesHandle, names[0])
        self.agent = AgentServer(answer)

    def notify(self, *texts: str, sandbox: str = "notices") -> None:
        """Log these notices for the agent."""
        with self.playground.lock:
            action, state = self.playground.context_for(sandbox, "scenario"), self.playground.sandboxes[sandbox].state
            for text in texts:
                action.emit(NoticeArrived(id=str(len(state.dump()) + 1), text=text))

    @property
    def attempts(self) -> list[Any]:
        """The delivery attempts in the log."""
        return [event.payload for event in self.playground.log.events if event.kind == "outbound.attempted"]

    @property
    def outcomes(self) -> list[tuple[str, int, str, int | None]]:
        """Message, number, outcome and status of each attempt."""
        return [(each.message, each.attempt, each.outcome, each.status) for each in self.attempts]

    def close(self) -> None:
        self.playground.close()
        self.gateway.remove_playground(self.playground)
        self.agent.close()
        self.pool.close()
        self.http.close()


@pytest.fixture
def open_site() -> Iterator[Callable[..., WebhookSite]]:
    """Practices that are closed in the end."""
    sites: list[WebhookSite] = []

    def make(*args: Any, **options: Any) -> WebhookSite:
        sites.append(WebhookSite(*args, **options))
        return sites[-1]

    yield make
    for each in sites:
        each.close()


OpenSite = Callable[..., WebhookSite]


def test_notices_are_posted_signed_in_order_without_address_in_the_log(open_site: OpenSite) -> None:
    site = open_site()
    site.handle.register(site.agent.url)
    site.notify("one", "two")
    site.sandboxes.wait("1s")
    assert site.agent.texts == ["one", "two"]
    assert site.outcomes == [("1", 1, "delivered", None), ("2", 1, "delivered", None)]
    path, headers, body = site.agent.posted[0]
    assert path == "/hook?token=s3cret"
    assert headers["x-signature"] == sign(OutboundRequest(url=site.agent.url, body=body))["x-signature"]
    assert headers["content-type"] == "application/json"
    assert headers["host"] == f"127.0.0.1:{site.agent.port}"
    log = site.playground.log.data().decode()
    assert "s3cret" not in log
    assert str(site.agent.port) not in log
    [event] = [event for event in site.playground.log.events if event.kind == "outbound.attempted"][:1]
    assert (event.source, event.actor) == ("notices", "run")


def test_address_can_be_set_in_the_config(open_site: OpenSite) -> None:
    agent = AgentServer(answer_with_status(200))
    site = open_site(webhook=agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    agent.close()
    assert agent.texts == ["one"]


def find_first_action_kind(site: WebhookSite) -> str | None:
    action = find_first_action(build_evidence(site))
    return None if action is None else action[1]


def build_evidence(site: WebhookSite) -> Evidence:
    states = {name: sandbox.state for name, sandbox in site.playground.sandboxes.items()}
    return Evidence(Task(name="practice"), site.playground.log.ordered(), states, "agent_done")


def test_reading_a_notice_for_delivery_is_not_an_agent_action(open_site: OpenSite) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    site = open_site(webhook=f"http://127.0.0.1:{port}/")
    site.notify("one")
    advance_by(site.playground, timedelta(seconds=100))
    assert [each.outcome for each in site.attempts] == ["connection_refused"] * 4
    assert find_first_action_kind(site) is None
    assert find_agent_actions(build_evidence(site)) == ()
    read = [event for event in site.playground.log.events if event.kind == "sandbox.answered"]
    assert [(event.actor, event.request) for event in read] == [("run", None)] * 4


def test_failed_attempts_are_repeated_with_growing_delays_in_simulated_time(open_site: OpenSite) -> None:
    site = open_site(answer_with_status(500, 503, 429, 200))
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("5s")
    assert site.outcomes == [("1", 1, "rejected", 500)]
    site.sandboxes.wait("2h")
    assert site.outcomes[1:] == [("1", 2, "rejected", 503), ("1", 3, "rejected", 429), ("1", 4, "delivered", None)]
    assert [each.retry_in for each in site.attempts] == [10, 20, 40, None]
    times = [event.at for event in site.playground.log.events if event.kind == "outbound.attempted"]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    tick = site.playground.environment.tick.total_seconds()
    assert gaps == [10 + tick, 20 + tick, 40 + tick]  # one request to the sandbox in each attempt


def test_idle_run_skips_to_the_next_attempt(open_site: OpenSite) -> None:
    site = open_site(answer_with_status(500, 200))
    site.handle.register(site.agent.url)
    site.notify("one")
    assert skip_to_next_event(site.playground)
    assert site.outcomes == [("1", 1, "rejected", 500), ("1", 2, "delivered", None)]
    assert not skip_to_next_event(site.playground)


def test_later_notices_do_not_wait_for_a_retried_one(open_site: OpenSite) -> None:
    site = open_site(answer_with_status(500, 200))
    site.handle.register(site.agent.url)
    site.notify("one", "two")
    site.sandboxes.wait("1s")
    assert [(each.message, each.outcome) for each in site.attempts] == [("1", "rejected"), ("2", "delivered")]
    site.sandboxes.wait("1m")
    assert site.agent.texts == ["one", "two", "one"]


def test_message_is_given_up_after_the_last_attempt_until_the_agent_registers_again(open_site: OpenSite) -> None:
    site = open_site(answer_with_status(500, 500, 200), attempts=2)
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1d")
    assert [each.retry_in for each in site.attempts] == [10, None]
    assert site.playground.clock.next_due() is None
    site.handle.register(site.agent.url)
    site.sandboxes.wait("1s")
    assert site.outcomes[-1] == ("1", 1, "delivered", None)


@pytest.mark.parametrize("status", [400, 404, 410])
def test_4xx_response_is_not_retried(open_site: OpenSite, status: int) -> None:
    site = open_site(answer_with_status(status))
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1d")
    assert site.outcomes == [("1", 1, "rejected", status)]


def test_timed_out_attempt_is_retried(open_site: OpenSite) -> None:
    def slow_once(server: AgentServer, number: int) -> tuple[int, dict[str, str], bytes]:
        if number == 1:
            server.released.wait(10)
        return 200, {}, b""

    site = open_site(slow_once, timeout=0.5)
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1m")
    assert site.outcomes == [("1", 1, "timed_out", None), ("1", 2, "delivered", None)]


def test_lost_and_refused_connections_are_logged_as_attempts(open_site: OpenSite) -> None:
    site = open_site(answer_with_status(0), attempts=1)
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    site.handle.register(f"http://localhost:{port}/")
    site.sandboxes.wait("1s")
    assert site.outcomes == [("1", 1, "lost", None), ("1", 1, "connection_refused", None)]


def test_too_large_response_is_rejected(open_site: OpenSite) -> None:
    site = open_site(lambda *_: (200, {}, b"x" * 2000))
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    assert [(each.outcome, each.reason) for each in site.attempts] == [("rejected", "response_too_large")]


def test_fault_prevents_sending_in_one_attempt(open_site: OpenSite) -> None:
    site = open_site()
    site.playground.inject(ErrorFault(sandbox="notices", operation="read_notice", times=1))
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1m")
    assert site.outcomes == [("1", 1, "not_sent", 503), ("1", 2, "delivered", None)]
    assert site.agent.texts == ["one"]


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "https://example.org/", "http://169.254.169.254/latest"])
def test_address_refused_by_the_local_policy_is_not_registered(open_site: OpenSite, url: str) -> None:
    site = open_site()
    with pytest.raises(Refused, match="on this machine"):
        site.handle.register(url)


def test_public_policy_refuses_to_register_a_loopback_address(open_site: OpenSite) -> None:
    site = open_site(policy=PublicPolicy())
    with pytest.raises(Refused, match="only public addresses"):
        site.handle.register(site.agent.url)


def test_name_that_resolves_to_loopback_is_refused_at_delivery(open_site: OpenSite) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    site = open_site(policy=PublicPolicy(resolve))
    site.handle.register(f"http://agent.example:{site.agent.port}/")
    site.notify("one")
    site.sandboxes.wait("1d")
    [attempt] = site.attempts
    assert (attempt.outcome, attempt.reason, attempt.retry_in) == ("refused_by_policy", "not_public", None)
    assert site.agent.posted == []


def test_registering_our_own_listener_is_refused(open_site: OpenSite) -> None:
    site = open_site()
    own = site.handle.url.split("/")[2]
    with pytest.raises(Refused, match="a simulator listens on that port"):
        site.handle.register(f"http://{own}/")
    with pytest.raises(Refused, match="a simulator listens on that port"):
        site.handle.register(f"http://localhost:{own.split(':')[1]}/x")
    assert own not in site.playground.log.data().decode()


def test_our_own_listener_in_a_config_is_refused_at_delivery(open_site: OpenSite) -> None:
    site = open_site()
    own = site.handle.url.split("/")[2]
    site.playground.sandboxes["notices"].state.config = NoticeConfig(webhook=f"http://{own}/")
    site.pool.prepare(site.playground)
    site.notify("one")
    site.sandboxes.wait("1d")
    assert [(each.outcome, each.reason) for each in site.attempts] == [("refused_by_policy", "not_yours")]


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
    open_site: OpenSite, location: str, status: int, outcome: str, reason: str
) -> None:
    site = open_site(answer_with_status(status, headers={"location": location}))
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1d")
    assert [(each.outcome, each.reason) for each in site.attempts] == [(outcome, reason)]
    assert len(site.agent.posted) == (3 if reason == "too_many_redirects" else 1)
    assert site.playground.broken is None


class RawBytesServer:
    """An agent that answers every request with the same bytes."""

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
def test_malformed_response_fails_the_attempt_but_not_the_run(open_site: OpenSite, answer: bytes, outcome: str) -> None:
    site, agent = open_site(attempts=1), RawBytesServer(answer)
    site.handle.register(agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    agent.close()
    assert [each.outcome for each in site.attempts] == [outcome]
    assert site.playground.broken is None


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more",
        b"HTTP/1.0 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}", mtime=0),
    ],
)
def test_response_in_any_valid_form_is_read(open_site: OpenSite, answer: bytes) -> None:
    site, agent = open_site(attempts=1), RawBytesServer(answer)
    site.handle.register(agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    agent.close()
    assert [each.outcome for each in site.attempts] == ["delivered"]


def test_response_with_too_large_a_head_fails_the_attempt(open_site: OpenSite) -> None:
    site, agent = open_site(attempts=1), RawBytesServer(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000)
    site.handle.register(agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    agent.close()
    assert [each.outcome for each in site.attempts] == ["lost"]


def test_crashed_delivery_restarts_when_the_agent_registers_again(
    open_site: OpenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 3600.0)  # a delivery that never ends would hold the clock
    failed: list[str] = []

    class BuggyDelivery(NoticeDelivery):
        async def build(self, message_id: str) -> OutboundRequest:
            if not failed:
                failed.append(message_id)
                raise RuntimeError("a bug")
            return await super().build(message_id)

    site = open_site(delivery=BuggyDelivery)
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    assert site.playground.broken == "notices: outbound webhook: RuntimeError: a bug"
    site.handle.register(site.agent.url)
    wait_until(lambda: site.agent.texts == ["one"])
    wait_until(lambda: site.playground.clock_hold._seconds_left() == 0)
    site.sandboxes.wait("1s")
    assert site.agent.texts == ["one"]


def test_redirect_to_our_own_listener_is_refused(open_site: OpenSite) -> None:
    sites: list[WebhookSite] = []
    site = open_site(lambda *_: (307, {"location": sites[0].handle.url}, b""))
    sites.append(site)
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    assert [(each.outcome, each.reason) for each in site.attempts] == [("refused_by_policy", "not_yours")]


def test_allowed_redirect_is_followed_and_signed_again(open_site: OpenSite) -> None:
    site = open_site(lambda _, number: (307 if number == 1 else 204, {"location": "/moved"}, b""))
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    assert [path for path, _, _ in site.agent.posted] == ["/hook?token=s3cret", "/moved"]
    _, headers, body = site.agent.posted[1]
    url = f"http://127.0.0.1:{site.agent.port}/moved"
    assert headers["x-signature"] == sign(OutboundRequest(url=url, body=body))["x-signature"]
    assert site.outcomes == [("1", 1, "delivered", None)]


class EveryNameIsLoopback:
    """A policy that resolves every name to loopback."""

    def check_written(self, address: OutboundAddress) -> None:
        """Allow every address."""

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        return ResolvedAddress(address, ("127.0.0.1",))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a self-signed certificate for agent.example and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent.example")])
    started = datetime(2020, 1, 1, tzinfo=UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(started)
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
    open_site: OpenSite,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    is_trusted: bool,
    result: tuple[str, str],
) -> None:
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate)
    trust = ssl.create_default_context(cafile=certificate if is_trusted else None)
    monkeypatch.setattr(http, "_load_tls_context", lambda: trust)
    site, agent = open_site(policy=EveryNameIsLoopback(), attempts=1), AgentServer(OK, server_context)
    site.handle.register(f"https://{host}:{agent.port}/hook")
    site.notify("one")
    site.sandboxes.wait("1s")
    agent.close()
    assert [(each.outcome, each.reason) for each in site.attempts] == [result]
    posted_to = [headers["host"] for _, headers, _ in agent.posted]
    assert posted_to == ([f"agent.example:{agent.port}"] if result[0] == "delivered" else [])


def test_agent_can_call_its_sandbox_before_it_answers_a_webhook(open_site: OpenSite) -> None:
    sites: list[WebhookSite] = []
    read: list[str] = []

    def look_first(*_: Any) -> tuple[int, dict[str, str], bytes]:
        read.append(sites[0].handle.request("GET", "/notices/1").body.decode())
        return 200, {}, b""

    site = open_site(look_first)
    sites.append(site)
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1h")
    assert site.outcomes == [("1", 1, "delivered", None)]
    assert len(read) == 1


def test_clock_stops_for_deliveries_to_an_agent_in_another_process(open_site: OpenSite) -> None:
    sites: list[WebhookSite] = []

    def look_first(*_: Any) -> tuple[int, dict[str, str], bytes]:
        send_over_http(sites[0], "GET", "notices/notices/1")
        return (503 if len(sites[0].attempts) < 2 else 200), {}, b""

    site = open_site(look_first)
    sites.append(site)
    site.playground.clock.schedule(site.playground.now + timedelta(minutes=10), lambda: site.notify("one"))
    assert send_over_http(site, "PUT", "notices/webhook", site.agent.url.encode()) == 204
    assert send_over_http(site, "POST", "clock/advance?by=1h") == 200
    started, events = site.playground.started_at, site.playground.log.events
    times = [(event.at - started).total_seconds() for event in events if event.kind == "outbound.attempted"]
    assert times == [602, 614, 636]  # two requests to the sandbox in each attempt, of a second each
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len(site.playground.log.lines) == len(events)


def send_over_http(site: WebhookSite, method: str, path: str, body: bytes | None = None) -> int:
    """Send a request over HTTP, as an agent in another process does; return the status."""
    parts = urlsplit(site.handle.url.removesuffix("notices"))
    connection = HTTPConnection(parts.netloc, timeout=20)
    headers = {"Authorization": f"Bearer {site.handle.token}"}
    connection.request(method, f"{parts.path}{path}", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_agent_that_advances_the_clock_before_it_answers_is_not_blocked(
    open_site: OpenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 0.1)
    sites: list[WebhookSite] = []

    def wait_first(*_: Any) -> tuple[int, dict[str, str], bytes]:
        sites[0].sandboxes.wait("10m")
        return 200, {}, b""

    site = open_site(wait_first)
    sites.append(site)
    site.handle.register(site.agent.url)
    site.notify("one")
    wait_until(lambda: site.outcomes == [("1", 1, "delivered", None)])
    assert site.playground.now - site.playground.started_at >= timedelta(minutes=10)


class SlowRefusal(LocalPolicy):
    """Takes long to check an address, as on a busy machine, and refuses it."""

    async def check(self, address: OutboundAddress) -> ResolvedAddress:
        await asyncio.sleep(0.3)
        raise OutboundRefused("not_public", "it is slow")


def test_clock_stops_while_the_sandbox_itself_works_slowly(
    open_site: OpenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 0.01)
    site = open_site(policy=SlowRefusal())
    site.handle.register(site.agent.url)
    due = site.playground.now + timedelta(minutes=10)
    site.playground.clock.schedule(due, lambda: site.notify("one"))
    site.sandboxes.wait("1h")
    assert [event.at for event in site.playground.log.events if event.kind == "outbound.attempted"] == [due]


def test_retry_delays_on_a_paced_clock_are_wall_time(open_site: OpenSite) -> None:
    site = open_site(answer_with_status(500, 500, 200), time="paced", first_delay="50ms")
    with run_paced_clock(site.playground):
        site.handle.register(site.agent.url)
        site.notify("one")
        wait_until(lambda: len(site.attempts) == 3)
    times = [event.at for event in site.playground.log.events if event.kind == "outbound.attempted"]
    first, second = [later - earlier for earlier, later in pairwise(times)]
    assert first >= timedelta(milliseconds=50)
    assert second >= timedelta(milliseconds=100)
    assert [each.outcome for each in site.attempts] == ["rejected", "rejected", "delivered"]


def test_rewound_run_delivers_from_the_start(open_site: OpenSite) -> None:
    site = open_site(answer_with_status(500, 200))
    site.handle.register(site.agent.url)
    site.notify("one")
    site.sandboxes.wait("1s")
    site.playground.rewind(SavedLog())
    site.notify("two")
    site.sandboxes.wait("1s")
    assert site.agent.texts == ["one", "two"]
    assert site.outcomes == [("1", 1, "delivered", None)]


def record_log(open_site: OpenSite) -> bytes:
    site = open_site(answer_with_status(500, 503, 200, 500, 200), jitter=0.5)
    site.handle.register(site.agent.url)
    site.notify("one", "two")
    site.sandboxes.wait("7s")
    while site.sandboxes.wait():
        pass
    assert [each.outcome for each in site.attempts].count("delivered") == 2
    return site.playground.log.data()


def test_same_seed_gives_the_same_log(open_site: OpenSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 60.0)  # a busy machine may take longer than two seconds
    first = record_log(open_site).splitlines()
    for _ in range(4):
        assert record_log(open_site).splitlines() == first


def answer_after_random_delay(*_: Any) -> tuple[int, dict[str, str], bytes]:
    time.sleep(secrets.randbelow(10) / 1000)
    return 200, {}, b"{}"


def record_log_of_two_sandboxes(open_site: OpenSite) -> bytes:
    """Notify two sandboxes at the same simulated time, the second one first; return the log."""
    site = open_site(answer_after_random_delay, sandboxes=("beta", "alpha"))
    for name in ("alpha", "beta"):
        site.sandboxes.get_as(NoticesHandle, name).register(site.agent.url)

    def notify() -> None:
        site.notify("one", "two", "three", sandbox="alpha")
        site.notify("one", "two", "three", sandbox="beta")

    site.playground.clock.schedule(site.playground.now + timedelta(minutes=10), notify)
    site.sandboxes.wait("1h")
    attempted = [event for event in site.playground.log.events if event.kind == "outbound.attempted"]
    assert [(event.source, event.payload.message) for event in attempted] == [  # type: ignore[attr-defined]
        (name, number) for name in ("beta", "alpha") for number in "123"
    ]
    return site.playground.log.data()


def test_sandboxes_deliver_one_at_a_time_in_environment_order(
    open_site: OpenSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 60.0)
    first = record_log_of_two_sandboxes(open_site)
    assert all(record_log_of_two_sandboxes(open_site) == first for _ in range(4))


def test_slow_agent_of_one_sandbox_does_not_block_another(open_site: OpenSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_hold, "MAX_HOLD_SECONDS", 0.1)

    def never(server: AgentServer, _: int) -> tuple[int, dict[str, str], bytes]:
        server.released.wait(10)
        return 200, {}, b""

    site, slow = open_site(sandboxes=("alpha", "beta")), AgentServer(never)
    site.sandboxes.get_as(NoticesHandle, "alpha").register(slow.url)
    site.sandboxes.get_as(NoticesHandle, "beta").register(site.agent.url)
    site.notify("one", sandbox="alpha")
    site.notify("one", sandbox="beta")
    wait_until(lambda: site.agent.texts == ["one"])
    assert site.attempts == [] or site.outcomes == [("1", 1, "delivered", None)]
    slow.close()
