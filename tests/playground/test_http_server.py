"""The HTTP server: format of refusals, parsing of requests, and connections."""

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.events.request import AgentRequest
from clerkship.faults.duplicate import DuplicateFault
from clerkship.faults.latency import LatencyFault
from clerkship.model.duration import parse_duration
from clerkship.model.environment import Environment, Simulator
from clerkship.playground import gateway as gate
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import QueryParams, Refusal, Reply, Request
from clerkship.simulators import files
from clerkship.transports import http_parser
from clerkship.transports.http_parser import MAX_URL
from clerkship.transports.http_wire import parse_request, render_head
from tests.raw_routes import RawCall, raw_route

HEARD: list[Request] = []


def echo(call: RawCall) -> Reply:
    HEARD.append(call.request)
    if call.request.path == "/breaks":
        raise ZeroDivisionError
    return Reply(200, orjson.dumps({"pairs": call.request.pairs, "size": len(call.request.body)}))


def in_own_words(refusal: Refusal) -> Reply:
    return Reply(refusal.status, f"NAK {refusal.code}".encode(), "text/x-nak", {"X-Nak": "yes"})


SPEC = replace(
    files.SPEC,
    kind="echo",
    routes=(raw_route("GET", "/{path*}", "ask", echo), raw_route("POST", "/{path*}", "tell", echo)),
    refuse=in_own_words,
    handle=Handle,
)


class Hall:
    """A playground with an echo simulator, over HTTP and in process."""

    def __init__(self) -> None:
        environment = Environment(name="hall", simulators={"echo": Simulator(kind="files")})
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.playground = Playground(environment, {"echo": PreparedSimulator(SPEC, SPEC.config())}, "hall")
        self.echo = open_sandboxes(self.gateway, self.playground, self.listener.url)["echo"]
        self.place = urlsplit(self.echo.url)
        self.connections: list[http.client.HTTPConnection] = []
        HEARD.clear()

    def connect(self) -> http.client.HTTPConnection:
        self.connections.append(http.client.HTTPConnection(self.place.hostname or "", self.place.port, timeout=10))
        return self.connections[-1]

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, token: str | None = None
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        connection = self.connect()
        given = self.echo.token if token is None else token
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        connection.request(method, self.place.path + path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers

    def talk(self, data: bytes, until: bytes = b"") -> bytes:
        """Send raw bytes, and return the reply to the end or to a marker."""
        with socket.create_connection((self.place.hostname, self.place.port), timeout=10) as connection:
            connection.sendall(data)
            got = b""
            while (not until or until not in got) and (more := connection.recv(65536)):
                got += more
            return got

    def head(self, path: str, *more: str, method: str = "GET") -> bytes:
        lines = [f"{method} {self.place.path}{path} HTTP/1.1", "Host: x", f"Authorization: Bearer {self.echo.token}"]
        return "\r\n".join([*lines, *more, "", ""]).encode()

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        self.listener.close()


@pytest.fixture
def hall() -> Iterator[Hall]:
    opened = Hall()
    yield opened
    opened.close()


# Whose words.


@pytest.mark.parametrize(("token", "error"), [("", False), ("wrong", True)])
def test_unauthenticated_request_is_refused_in_protocol_format_and_not_logged(
    hall: Hall, token: str, error: bool
) -> None:
    status, body, headers = hall.ask("/x", token=token)
    assert (status, body, headers["content-type"], headers["x-nak"]) == (
        401,
        b"NAK unauthorized",
        "text/x-nak",
        "yes",
    )
    [challenge] = headers.get_all("www-authenticate") or []
    assert challenge.startswith('Bearer realm="clerkship"')
    assert ('error="invalid_token"' in challenge) == error  # RFC 6750 §3.1: not where there was none
    assert hall.playground.log.events == []
    assert HEARD == []


@pytest.mark.parametrize("dismissed", [True, False])
def test_token_of_an_ended_run_is_refused_in_protocol_format(hall: Hall, dismissed: bool) -> None:
    assert hall.ask("/x")[0] == 200
    hall.playground.close()
    if dismissed:
        hall.gateway.remove_playground(hall.playground)
    status, body, headers = hall.ask("/x")
    assert (status, body) == (401, b"NAK expired")
    assert 'error="invalid_token"' in headers["www-authenticate"]
    base = hall.place.path.rpartition("/")[0]
    for name, said in (("nobody", b"404"), ("clock", b"401")):
        asked = hall.head("", "Connection: close").replace(hall.place.path.encode(), f"{base}/{name}".encode())
        assert hall.talk(asked).split(b" ")[1] == said


def test_number_of_remembered_ended_runs_is_limited(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_REMEMBERED", 2)
    hall.gateway.remove_playground(hall.playground)
    for _ in range(2):
        assert hall.ask("/x")[0] == 401
        later = Playground(hall.playground.environment, {}, "later")
        hall.gateway.add_playground(later)
        hall.gateway.remove_playground(later)
    assert hall.ask("/x")[0] == 404
    never = Playground(hall.playground.environment, {}, "never admitted")
    hall.gateway.remove_playground(never)
    assert hall.gateway._ended.keys() != {""}


def test_transport_refusal_comes_after_authentication_and_is_logged(hall: Hall) -> None:
    assert hall.ask("/%ff")[:2] == (400, b"NAK bad_path")
    assert hall.ask("/x?name=%ff")[:2] == (400, b"NAK bad_query")
    assert hall.ask("/%ff", token="wrong")[:2] == (401, b"NAK unauthorized")
    assert hall.ask("/x", "PUT")[:2] == (405, b"NAK method_not_allowed")
    told = [(event.kind, event.payload.model_dump()["code"]) for event in hall.playground.log.events]
    assert told == [(("sandbox.refused"), code) for code in ("bad_path", "bad_query", "method_not_allowed")]


def test_simulator_failure_is_answered_500_in_protocol_format(hall: Hall) -> None:
    assert hall.ask("/breaks")[:2] == (500, b"NAK internal_error")
    assert hall.playground.broken == "echo: GET /breaks: ZeroDivisionError: "


def test_full_log_is_refused_in_protocol_format_and_does_not_grow(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", -1)
    assert hall.ask("/x")[:2] == (429, b"NAK too_many_requests")
    assert hall.playground.log.events == []


@pytest.mark.parametrize("chunked", [False, True])
def test_too_large_body_is_read_to_its_end_and_refused(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    monkeypatch.setattr(http_parser, "MAX_BODY", 100_000)
    connection = hall.connect()
    headers = {"Authorization": f"Bearer {hall.echo.token}"}
    body: Any = iter([b"x" * 60_000] * 10) if chunked else b"x" * 600_000
    connection.request("POST", f"{hall.place.path}/x", body, headers, encode_chunked=chunked)
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (413, b"NAK too_large")
    connection.request("POST", f"{hall.place.path}/x", b"small", headers)  # the same connection goes on
    assert orjson.loads(connection.getresponse().read())["size"] == 5
    refused, _ = hall.playground.log.events
    assert refused.payload.model_dump()["code"] == "too_large"
    assert refused.request == AgentRequest("POST", "/x", status=413)
    assert [len(request.body) for request in HEARD] == [5]


def test_expect_continue_with_a_too_large_body_is_refused_before_the_body(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_parser, "MAX_BODY", 1000)
    got = hall.talk(hall.head("/x", "Content-Length: 2000", "Expect: 100-continue", method="POST"))
    assert got.startswith(b"HTTP/1.1 413 ")
    assert got.endswith(b"NAK too_large")
    small = hall.head("/x", "Content-Length: 5", "Expect: 100-continue", "Connection: close", method="POST") + b"hello"
    assert hall.talk(small).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_endless_body_is_cut_off(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_parser, "MAX_BODY", 1000)
    monkeypatch.setattr(http_parser, "MAX_SKIPPED", 100_000)
    got = hall.talk(hall.head("/x", "Content-Length: 99999999", method="POST") + b"x" * 200_000)
    assert (got[:13], got.endswith(b"NAK too_large")) == (b"HTTP/1.1 413 ", True)  # Pythons differ in the phrase


# Long addresses.


def test_query_with_many_values_reaches_the_sandbox(hall: Hall) -> None:
    values = ",".join(f"Patient/00000000-0000-4000-8000-{number:012d}" for number in range(10_000))
    status, body, _ = hall.ask(f"/search?subject={values}")
    assert (status, orjson.loads(body)["pairs"]) == (200, [["subject", values]])


@pytest.mark.parametrize("length", [MAX_URL + 1, 5 * MAX_URL])
def test_too_long_url_is_refused_in_protocol_format(hall: Hall, length: int) -> None:
    got = hall.talk(hall.head("/search?" + "x" * length, "Connection: close"))
    assert got.split(b" ")[1] == b"414"
    assert got.endswith(b"NAK uri_too_long")
    assert HEARD == []


def test_endless_headers_are_cut_off(hall: Hall) -> None:
    got = hall.talk(hall.head("/x", *(f"X-{number}: {'y' * 20_000}" for number in range(150))))
    assert got.split(b" ")[1] == b"431"
    assert got.endswith(b"NAK head_too_large")


# What arrives.


def test_repeated_query_parameters_arrive_twice_by_every_transport(hall: Hall) -> None:
    pairs = [("date", "ge2026-01-01"), ("code", "a b"), ("date", "lt2026-02-01"), ("empty", "")]
    hall.playground.inject(DuplicateFault())
    hall.echo.request("GET", "/x", query=pairs)
    hall.ask("/x?date=ge2026-01-01&code=a+b&date=lt2026-02-01&empty=")
    hall.echo.request("GET", "/x", query=dict(pairs[1:]))
    assert [list(request.pairs) for request in HEARD] == [pairs] * 4 + [pairs[1:]] * 2
    with pytest.raises(TypeError, match="`date` must be text, not int"):
        hall.echo.request("GET", "/x", query=[("date", 5)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a name must be text, not int"):
        hall.echo.request("GET", "/x", query=[(5, "date")])  # type: ignore[list-item]


def test_non_ascii_paths_arrive_unchanged() -> None:
    for url in (
        "/pg/box/f%C3%BCr?name=M%C3%BCller&b=1",
        "/pg/box/für?name=Müller&b=1",
        "http://h:1/pg/box/für?name=Müller&b=1",
    ):
        exchange = parse_request("GET", url.encode(), {}, b"")
        assert (exchange.playground_id, exchange.sandbox_name) == ("pg", "box")
        assert exchange.request.path == "/für"
        assert exchange.request.query == QueryParams((("name", "Müller"), ("b", "1")))


def test_repeated_header_is_joined_to_a_list(hall: Hall) -> None:
    more = ("Prefer: return=minimal", "PREFER: handling=lenient", 'If-Match: W/"3"', "Connection: close")
    hall.talk(hall.head("/x", *more))
    assert HEARD[0].headers["prefer"] == "return=minimal, handling=lenient"
    assert HEARD[0].headers["if-match"] == 'W/"3"'


def test_no_request_header_has_a_private_meaning(hall: Hall) -> None:
    hall.talk(hall.head("/x", "X-Clerkship-Over: mllp", "X-Mine: 1", "Connection: close"))
    hall.echo.request("GET", "/x", headers={"X-Clerkship-Over": "mllp", "x-mine": "1"})
    hall.echo.send_as_is(Request("GET", "/x", headers={"x-clerkship-over": "mllp", "x-mine": "1"}))
    assert len(HEARD) == 3
    for request in HEARD:
        assert request.headers["x-mine"] == "1"
        assert request.headers["x-clerkship-over"] == "mllp"
    assert not [event.request for event in hall.playground.log.events if event.request and event.request.over]


def test_queries_are_equal_only_with_all_values() -> None:
    one, other = QueryParams((("a", "1"), ("a", "2"))), QueryParams((("a", "0"), ("a", "2")))
    assert one != other
    assert one == QueryParams((("a", "1"), ("a", "2"))) == {"a": "2"}
    assert Request("GET", "/", one) != Request("GET", "/", other)
    assert "('a', '1')" in repr(one)


def test_text_in_a_reply_header_cannot_inject_headers() -> None:
    head = render_head(Reply(201, headers={"Location": "x\r\nSet-Cookie: a=b"}), keep_alive=True)
    assert head == b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\nlocation: x  Set-Cookie: a=b\r\n\r\n"
    assert render_head(Reply(200), keep_alive=True, method="HEAD") == b"HTTP/1.1 200 OK\r\n\r\n"
    assert render_head(Reply(304), keep_alive=True) == b"HTTP/1.1 304 Not Modified\r\n\r\n"


# Connections.


def test_pipelined_requests_are_answered_in_order(hall: Hall) -> None:
    hall.playground.inject(LatencyFault(by=parse_duration("1ms"), times=1))
    asked = b"".join(hall.head(f"/x?n={number}") for number in range(200))
    got = hall.talk(asked + hall.head("/x?n=last", "Connection: close"))
    answers = [orjson.loads(part.split(b"\r\n\r\n")[1]) for part in got.split(b"HTTP/1.1 200 OK")[1:]]
    assert [answer["pairs"][0][1] for answer in answers] == [*map(str, range(200)), "last"]


def test_head_has_no_body_and_http_1_0_connections_are_closed(hall: Hall) -> None:
    connection = hall.connect()
    headers = {"Authorization": f"Bearer {hall.echo.token}"}
    connection.request("HEAD", hall.place.path + "/x", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    assert int(answer.headers["content-length"]) == len(hall.ask("/x")[1])
    got = hall.talk(hall.head("/x").replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert b"\r\nconnection: close\r\n" in got


def test_upgrade_to_another_protocol_is_ignored(hall: Hall) -> None:
    """Java's HttpClient sends this with its first request."""
    offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    got = hall.talk(hall.head("/a?n=1", *offer) + hall.head("/b?n=2", "Connection: close"))
    assert got.count(b"HTTP/1.1 200 OK") == 2
    body = hall.head("/a", *offer, "Content-Length: 5", method="POST") + b"hello"
    assert b'"size":5' in hall.talk(body + hall.head("/b", "Connection: close"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"BREW /%s/echo/x HTTP/1.1\r\nHost: x\r\n\r\n", b"501 Not Implemented"),
        (b"GET /%s/echo/x NONSENSE\r\n\r\n", b"400 Bad Request"),
        (b"CONNECT /%s/echo/x HTTP/1.1\r\nHost: x\r\n\r\n", b"400 Bad Request"),
    ],
)
def test_invalid_http_is_refused_in_the_format_of_its_target(hall: Hall, data: bytes, said: bytes) -> None:
    got = hall.talk(data % hall.playground.id.encode())
    assert got.startswith(b"HTTP/1.1 " + said)
    assert b"NAK " in got
    assert hall.talk(b"\x16\x03\x01\x02\x00\x01 not HTTP at all \r\n\r\n").startswith(b"HTTP/1.1 ")


def test_request_in_progress_is_answered_when_the_server_closes(hall: Hall) -> None:
    hall.playground.clock.touch()
    environment = Environment.model_validate({"name": "p", "time": "paced", "simulators": {"echo": {"kind": "files"}}})
    paced = Playground(environment, {"echo": PreparedSimulator(SPEC, SPEC.config())}, "paced")
    paced.inject(LatencyFault(by=parse_duration("300ms")))
    handle = open_sandboxes(hall.gateway, paced, hall.listener.url)["echo"]
    place = urlsplit(handle.url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as late:
        asked = f"GET {place.path}/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {handle.token}\r\n\r\n"
        late.sendall(asked.encode())
        deadline = time.monotonic() + 5
        while not paced.log.events and time.monotonic() < deadline:
            threading.Event().wait(0.002)
        hall.listener.close()
        got = late.recv(65536)
        assert got.startswith(b"HTTP/1.1 200 OK")
        assert b"connection: close" in got
        assert late.recv(100) == b""


def test_client_that_does_not_read_is_not_answered_without_limit(hall: Hall) -> None:
    """Further requests are not answered until the client reads, so that replies do not fill the memory."""
    big = "y" * 200_000
    with socket.create_connection((hall.place.hostname, hall.place.port), timeout=10) as slow:
        slow.setblocking(False)
        asked = hall.head(f"/x?n={big}")
        for _ in range(200):
            try:
                slow.send(asked)
            except BlockingIOError:
                break
        before = -1
        while len(HEARD) != before:
            before = len(HEARD)
            threading.Event().wait(0.1)
        assert len(HEARD) < 100
    assert hall.ask("/x")[0] == 200


# Turns.


class Slow:
    """A second playground whose replies are slow."""

    def __init__(self, hall: Hall, by: str, times: int | None = 1) -> None:
        paced = {"name": "p", "time": "paced", "simulators": {"echo": {"kind": "files"}}}
        self.playground = Playground(
            Environment.model_validate(paced), {"echo": PreparedSimulator(SPEC, SPEC.config())}, "paced"
        )
        self.playground.inject(LatencyFault(by=parse_duration(by), times=times))
        self.handle = open_sandboxes(hall.gateway, self.playground, hall.listener.url)["echo"]
        self.place = urlsplit(self.handle.url)
        self.line = socket.create_connection((self.place.hostname, self.place.port), timeout=10)

    def __enter__(self) -> "Slow":
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def head(self, path: str, *more: str, method: str = "GET", version: str = "1.1") -> bytes:
        lines = [f"{method} {self.place.path}{path} HTTP/{version}", "Host: x"]
        return "\r\n".join([*lines, f"Authorization: Bearer {self.handle.token}", *more, "", ""]).encode()

    def ask(self, data: bytes) -> None:
        """Send bytes, and wait until the request is being handled."""
        self.line.sendall(data)
        deadline = time.monotonic() + 5
        while not self.playground.log.events and time.monotonic() < deadline:
            threading.Event().wait(0.002)

    def hear(self, until: bytes = b"") -> bytes:
        got = b""
        while (not until or until not in got) and (more := self.line.recv(65536)):
            got += more
        return got


def said(got: bytes) -> list[bytes]:
    return [part[:3] for part in got.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    "garbage", [b"BREW /x HTTP/1.1\r\n\r\n", b"GET / NONSENSE\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n"]
)
def test_requests_before_garbage_are_answered_first(hall: Hall, garbage: bytes) -> None:
    asked = hall.head("/a?n=1") + hall.head("/b", "Content-Length: 5", method="POST") + b"hello"
    got = hall.talk(asked + garbage)
    assert said(got) in ([b"200", b"200", b"400"], [b"200", b"200", b"501"])
    assert [request.path for request in HEARD] == ["/a", "/b"]


def test_refusal_of_garbage_waits_for_earlier_replies(hall: Hall) -> None:
    with Slow(hall, "200ms") as slow:
        slow.ask(slow.head("/a") + slow.head("/b"))
        slow.line.sendall(b"GET / NONSENSE\r\n\r\n" + slow.head("/never"))
        got = slow.hear()
        assert said(got) == [b"200", b"200", b"400"]
        assert [request.path for request in HEARD] == ["/a", "/b"]


def test_half_closed_client_still_gets_its_replies(hall: Hall) -> None:
    with Slow(hall, "200ms") as slow:
        slow.ask(slow.head("/a") + slow.head("/b"))
        slow.line.shutdown(socket.SHUT_WR)
        got = slow.hear()
        assert said(got) == [b"200", b"200"]
        assert got.count(b"connection: close") == 1
    with Slow(hall, "1ms") as slow:
        slow.line.sendall(slow.head("/a")[:-2])  # half a request is no request
        slow.line.shutdown(socket.SHUT_WR)
        assert slow.hear() == b""


def test_expect_continue_is_answered_in_order(hall: Hall) -> None:
    with Slow(hall, "200ms") as slow:
        slow.ask(slow.head("/a"))
        asks = ("Content-Length: 5", "Expect: 100-continue", "Connection: close")
        slow.line.sendall(slow.head("/b", *asks, method="POST"))
        got = slow.hear(b"100 Continue\r\n\r\n")
        assert said(got) == [b"200", b"100"]
        slow.line.sendall(b"hello")
        assert b'"size":5' in slow.hear()


def test_expect_continue_refusal_is_sent_in_order(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_parser, "MAX_BODY", 1000)
    with Slow(hall, "100ms") as slow:
        slow.ask(slow.head("/a"))
        slow.line.sendall(slow.head("/b", "Content-Length: 2000", "Expect: 100-continue", method="POST"))
        assert said(slow.hear()) == [b"200", b"413"]


def test_http_1_0_client_never_gets_100_continue(hall: Hall) -> None:
    old = hall.head("/x", "Content-Length: 5", "Expect: 100-continue", method="POST").replace(b"/1.1", b"/1.0", 1)
    assert said(hall.talk(old + b"hello")) == [b"200"]


def test_trailers_are_not_headers(hall: Hall) -> None:
    trailer = b'5\r\nhello\r\n0\r\nIf-Match: W/"9"\r\nAuthorization: Bearer other\r\nHost: y\r\n\r\n'
    asked = hall.head("/a", "Transfer-Encoding: chunked", method="POST") + trailer
    assert said(hall.talk(asked + hall.head("/b", "Connection: close"))) == [b"200", b"200"]
    assert [("if-match" in request.headers, len(request.body)) for request in HEARD] == [(False, 5), (False, 0)]


def test_request_has_exactly_one_host_header(hall: Hall) -> None:
    close = "Connection: close"
    none, two = hall.head("/x", close).replace(b"Host: x\r\n", b""), hall.head("/x", "Host: y", close)
    assert hall.talk(none).startswith(b"HTTP/1.1 400 ")
    assert hall.talk(two).endswith(b"NAK bad_request")
    assert hall.talk(none.replace(b"HTTP/1.1", b"HTTP/1.0")).startswith(b"HTTP/1.1 200 ")
    assert len(HEARD) == 1


def test_limit_of_a_head_counts_from_its_first_byte(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_parser, "MAX_HEAD", 20_000)
    assert said(hall.talk(hall.head("/x", "X: " + "y" * 15_000, "Connection: close"))) == [b"200"]
    with socket.create_connection((hall.place.hostname, hall.place.port), timeout=10) as line:
        line.sendall(hall.head("/x", "X: " + "y" * 25_000)[:-2])  # in one read, and without its end
        got = b""
        while more := line.recv(65536):
            got += more
    assert got.split(b" ")[1] == b"431"


def test_method_not_allowed_has_an_allow_header(hall: Hall) -> None:
    status, _, headers = hall.ask("/x", "DELETE")
    assert (status, headers["allow"], headers["x-nak"]) == (405, "GET, HEAD, POST", "yes")
