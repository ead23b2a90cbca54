"""The HTTP server: format of refusals, parsing of requests, and connections."""

import http.client
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.events.event import AgentRequest
from clerkship.model.duration import parse_duration
from clerkship.model.environment import Environment, Simulator
from clerkship.playground import gateway
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.faults.request_faults import DuplicateFault, LatencyFault
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import QueryParams, Refusal, Reply, Request
from clerkship.simulators import files
from clerkship.transports import http_parser
from clerkship.transports.http_parser import MAX_URL, parse_request, render_head
from tests.raw_routes import RawCall, raw_route
from tests.waiting import wait_until, wait_until_stable

HEARD: list[Request] = []


def echo(call: RawCall) -> Reply:
    HEARD.append(call.request)
    if call.request.path == "/breaks":
        raise ZeroDivisionError
    return Reply(200, orjson.dumps({"pairs": call.request.pairs, "size": len(call.request.body)}))


def render_refusal(refusal: Refusal) -> Reply:
    return Reply(refusal.status, f"NAK {refusal.code}".encode(), "text/x-nak", {"X-Nak": "yes"})


SPEC = replace(
    files.SPEC,
    kind="echo",
    routes=(raw_route("GET", "/{path*}", "ask", echo), raw_route("POST", "/{path*}", "tell", echo)),
    refuse=render_refusal,
    handle=Handle,
)


class EchoSite:
    """A playground with an echo simulator, over HTTP and in process."""

    def __init__(self) -> None:
        environment = Environment(name="site", simulators={"echo": Simulator(kind="files")})
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.playground = Playground(environment, {"echo": PreparedSimulator(SPEC, SPEC.config())}, "site")
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
        values = self.echo.token if token is None else token
        headers = {"Authorization": f"Bearer {values}"} if values else {}
        connection.request(method, self.place.path + path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers

    def talk(self, data: bytes, until: bytes = b"") -> bytes:
        """Send raw bytes, and return the reply to the end or to a marker."""
        with socket.create_connection((self.place.hostname, self.place.port), timeout=10) as connection:
            connection.sendall(data)
            response = b""
            while (not until or until not in response) and (more := connection.recv(65536)):
                response += more
            return response

    def head(self, path: str, *more: str, method: str = "GET") -> bytes:
        lines = [f"{method} {self.place.path}{path} HTTP/1.1", "Host: x", f"Authorization: Bearer {self.echo.token}"]
        return "\r\n".join([*lines, *more, "", ""]).encode()

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        self.listener.close()


@pytest.fixture
def site() -> Iterator[EchoSite]:
    opened = EchoSite()
    yield opened
    opened.close()


# Whose words.


@pytest.mark.parametrize(("token", "error"), [("", False), ("wrong", True)])
def test_unauthenticated_request_is_refused_in_protocol_format_and_not_logged(
    site: EchoSite, token: str, error: bool
) -> None:
    status, body, headers = site.ask("/x", token=token)
    assert (status, body, headers["content-type"], headers["x-nak"]) == (
        401,
        b"NAK unauthorized",
        "text/x-nak",
        "yes",
    )
    [challenge] = headers.get_all("www-authenticate") or []
    assert challenge.startswith('Bearer realm="clerkship"')
    assert ('error="invalid_token"' in challenge) == error  # RFC 6750 §3.1: not where there was none
    assert site.playground.log.events == []
    assert HEARD == []


@pytest.mark.parametrize("dismissed", [True, False])
def test_token_of_an_ended_run_is_refused_in_protocol_format(site: EchoSite, dismissed: bool) -> None:
    assert site.ask("/x")[0] == 200
    site.playground.close()
    if dismissed:
        site.gateway.remove_playground(site.playground)
    status, body, headers = site.ask("/x")
    assert (status, body) == (401, b"NAK expired")
    assert 'error="invalid_token"' in headers["www-authenticate"]
    base = site.place.path.rpartition("/")[0]
    for name, messages in (("nobody", b"404"), ("clock", b"401")):
        requests = site.head("", "Connection: close").replace(site.place.path.encode(), f"{base}/{name}".encode())
        assert site.talk(requests).split(b" ")[1] == messages


def test_number_of_remembered_ended_runs_is_limited(site: EchoSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "MAX_ENDED_PLAYGROUNDS", 2)
    site.gateway.remove_playground(site.playground)
    for _ in range(2):
        assert site.ask("/x")[0] == 401
        later = Playground(site.playground.environment, {}, "later")
        site.gateway.add_playground(later)
        site.gateway.remove_playground(later)
    assert site.ask("/x")[0] == 404
    never = Playground(site.playground.environment, {}, "never admitted")
    site.gateway.remove_playground(never)
    assert site.gateway._ended.keys() != {""}


def test_transport_refusal_comes_after_authentication_and_is_logged(site: EchoSite) -> None:
    assert site.ask("/%ff")[:2] == (400, b"NAK bad_path")
    assert site.ask("/x?name=%ff")[:2] == (400, b"NAK bad_query")
    assert site.ask("/%ff", token="wrong")[:2] == (401, b"NAK unauthorized")
    assert site.ask("/x", "PUT")[:2] == (405, b"NAK method_not_allowed")
    received = [(event.kind, event.payload.model_dump()["code"]) for event in site.playground.log.events]
    assert received == [(("sandbox.refused"), code) for code in ("bad_path", "bad_query", "method_not_allowed")]


def test_simulator_failure_is_answered_500_in_protocol_format(site: EchoSite) -> None:
    assert site.ask("/breaks")[:2] == (500, b"NAK internal_error")
    assert site.playground.broken == "echo: GET /breaks: ZeroDivisionError: "


def test_full_log_is_refused_in_protocol_format_and_does_not_grow(
    site: EchoSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clerkship.events.log.MAX_EVENTS", -1)
    assert site.ask("/x")[:2] == (429, b"NAK too_many_requests")
    assert site.playground.log.events == []


@pytest.mark.parametrize("chunked", [False, True])
def test_too_large_body_is_read_to_its_end_and_refused(
    site: EchoSite, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    monkeypatch.setattr(http_parser, "MAX_BODY", 100_000)
    connection = site.connect()
    headers = {"Authorization": f"Bearer {site.echo.token}"}
    body: Any = iter([b"x" * 60_000] * 10) if chunked else b"x" * 600_000
    connection.request("POST", f"{site.place.path}/x", body, headers, encode_chunked=chunked)
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (413, b"NAK too_large")
    connection.request("POST", f"{site.place.path}/x", b"small", headers)  # the same connection goes on
    assert orjson.loads(connection.getresponse().read())["size"] == 5
    refused, _ = site.playground.log.events
    assert refused.payload.model_dump()["code"] == "too_large"
    assert refused.request == AgentRequest("POST", "/x", status=413)
    assert [len(request.body) for request in HEARD] == [5]


def test_expect_continue_with_a_too_large_body_is_refused_before_the_body(
    site: EchoSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_parser, "MAX_BODY", 1000)
    response = site.talk(site.head("/x", "Content-Length: 2000", "Expect: 100-continue", method="POST"))
    assert response.startswith(b"HTTP/1.1 413 ")
    assert response.endswith(b"NAK too_large")
    small = site.head("/x", "Content-Length: 5", "Expect: 100-continue", "Connection: close", method="POST") + b"hello"
    assert site.talk(small).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


# Long addresses.


def test_query_with_many_values_reaches_the_sandbox(site: EchoSite) -> None:
    values = ",".join(f"Patient/00000000-0000-4000-8000-{number:012d}" for number in range(10_000))
    status, body, _ = site.ask(f"/search?subject={values}")
    assert (status, orjson.loads(body)["pairs"]) == (200, [["subject", values]])


@pytest.mark.parametrize("length", [MAX_URL + 1, 5 * MAX_URL])
def test_too_long_url_is_refused_in_protocol_format(site: EchoSite, length: int) -> None:
    response = site.talk(site.head("/search?" + "x" * length, "Connection: close"))
    assert response.split(b" ")[1] == b"414"
    assert response.endswith(b"NAK uri_too_long")
    assert HEARD == []


def test_endless_headers_are_cut_off(site: EchoSite) -> None:
    response = site.talk(site.head("/x", *(f"X-{number}: {'y' * 20_000}" for number in range(150))))
    assert response.split(b" ")[1] == b"431"
    assert response.endswith(b"NAK head_too_large")


# What arrives.


def test_repeated_query_parameters_arrive_twice_by_every_transport(site: EchoSite) -> None:
    pairs = [("date", "ge2026-01-01"), ("code", "a b"), ("date", "lt2026-02-01"), ("empty", "")]
    site.playground.inject(DuplicateFault())
    site.echo.request("GET", "/x", query=pairs)
    site.ask("/x?date=ge2026-01-01&code=a+b&date=lt2026-02-01&empty=")
    site.echo.request("GET", "/x", query=dict(pairs[1:]))
    assert [list(request.pairs) for request in HEARD] == [pairs] * 4 + [pairs[1:]] * 2
    with pytest.raises(TypeError, match="`date` must be text, not int"):
        site.echo.request("GET", "/x", query=[("date", 5)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a name must be text, not int"):
        site.echo.request("GET", "/x", query=[(5, "date")])  # type: ignore[list-item]


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


def test_repeated_header_is_joined_to_a_list(site: EchoSite) -> None:
    more = ("Prefer: return=minimal", "PREFER: handling=lenient", 'If-Match: W/"3"', "Connection: close")
    site.talk(site.head("/x", *more))
    assert HEARD[0].headers["prefer"] == "return=minimal, handling=lenient"
    assert HEARD[0].headers["if-match"] == 'W/"3"'


def test_no_request_header_has_a_private_meaning(site: EchoSite) -> None:
    site.talk(site.head("/x", "X-Clerkship-Over: mllp", "X-Mine: 1", "Connection: close"))
    site.echo.request("GET", "/x", headers={"X-Clerkship-Over": "mllp", "x-mine": "1"})
    site.echo.send_as_is(Request("GET", "/x", headers={"x-clerkship-over": "mllp", "x-mine": "1"}))
    assert len(HEARD) == 3
    for request in HEARD:
        assert request.headers["x-mine"] == "1"
        assert request.headers["x-clerkship-over"] == "mllp"
    assert not [event.request for event in site.playground.log.events if event.request and event.request.over]


def test_queries_are_equal_only_with_all_values() -> None:
    first, other = QueryParams((("a", "1"), ("a", "2"))), QueryParams((("a", "0"), ("a", "2")))
    assert first != other
    assert first == QueryParams((("a", "1"), ("a", "2"))) == {"a": "2"}
    assert Request("GET", "/", first) != Request("GET", "/", other)
    assert "('a', '1')" in repr(first)


def test_text_in_a_reply_header_cannot_inject_headers() -> None:
    head = render_head(Reply(201, headers={"Location": "x\r\nSet-Cookie: a=b"}), keep_alive=True)
    assert head == b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\nlocation: x  Set-Cookie: a=b\r\n\r\n"
    assert render_head(Reply(200), keep_alive=True, method="HEAD") == b"HTTP/1.1 200 OK\r\n\r\n"
    assert render_head(Reply(304), keep_alive=True) == b"HTTP/1.1 304 Not Modified\r\n\r\n"


# Connections.


def test_pipelined_requests_are_answered_in_order(site: EchoSite) -> None:
    site.playground.inject(LatencyFault(by=parse_duration("1ms"), times=1))
    requests = b"".join(site.head(f"/x?n={number}") for number in range(200))
    response = site.talk(requests + site.head("/x?n=last", "Connection: close"))
    answers = [orjson.loads(part.split(b"\r\n\r\n")[1]) for part in response.split(b"HTTP/1.1 200 OK")[1:]]
    assert [answer["pairs"][0][1] for answer in answers] == [*map(str, range(200)), "last"]


def test_head_has_no_body_and_http_1_0_connections_are_closed(site: EchoSite) -> None:
    connection = site.connect()
    headers = {"Authorization": f"Bearer {site.echo.token}"}
    connection.request("HEAD", site.place.path + "/x", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    assert int(answer.headers["content-length"]) == len(site.ask("/x")[1])
    response = site.talk(site.head("/x").replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert b"\r\nconnection: close\r\n" in response


def test_upgrade_to_another_protocol_is_ignored(site: EchoSite) -> None:
    """Java's HttpClient sends this with its first request."""
    offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    response = site.talk(site.head("/a?n=1", *offer) + site.head("/b?n=2", "Connection: close"))
    assert response.count(b"HTTP/1.1 200 OK") == 2
    body = site.head("/a", *offer, "Content-Length: 5", method="POST") + b"hello"
    assert b'"size":5' in site.talk(body + site.head("/b", "Connection: close"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"BREW /%s/echo/x HTTP/1.1\r\nHost: x\r\n\r\n", b"501 Not Implemented"),
        (b"GET /%s/echo/x NONSENSE\r\n\r\n", b"400 Bad Request"),
        (b"CONNECT /%s/echo/x HTTP/1.1\r\nHost: x\r\n\r\n", b"400 Bad Request"),
    ],
)
def test_invalid_http_is_refused_in_the_format_of_its_target(site: EchoSite, data: bytes, said: bytes) -> None:
    response = site.talk(data % site.playground.id.encode())
    assert response.startswith(b"HTTP/1.1 " + said)
    assert b"NAK " in response
    assert site.talk(b"\x16\x03\x01\x02\x00\x01 not HTTP at all \r\n\r\n").startswith(b"HTTP/1.1 ")


def test_request_in_progress_is_answered_when_the_server_closes(site: EchoSite) -> None:
    site.playground.clock.tick()
    environment = Environment.model_validate({"name": "p", "time": "paced", "simulators": {"echo": {"kind": "files"}}})
    paced = Playground(environment, {"echo": PreparedSimulator(SPEC, SPEC.config())}, "paced")
    paced.inject(LatencyFault(by=parse_duration("300ms")))
    handle = open_sandboxes(site.gateway, paced, site.listener.url)["echo"]
    place = urlsplit(handle.url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as late:
        requests = f"GET {place.path}/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {handle.token}\r\n\r\n"
        late.sendall(requests.encode())
        wait_until(lambda: paced.log.events)
        site.listener.close()
        response = late.recv(65536)
        assert response.startswith(b"HTTP/1.1 200 OK")
        assert b"connection: close" in response
        assert late.recv(100) == b""


def test_client_that_does_not_read_is_not_answered_without_limit(site: EchoSite) -> None:
    """Further requests are not answered until the client reads, so that replies do not fill the memory."""
    big = "y" * 200_000
    with socket.create_connection((site.place.hostname, site.place.port), timeout=10) as slow:
        slow.setblocking(False)
        requests = site.head(f"/x?n={big}")
        for _ in range(200):
            try:
                slow.send(requests)
            except BlockingIOError:
                break
        assert wait_until_stable(lambda: len(HEARD)) < 100
    assert site.ask("/x")[0] == 200


# Turns.


class SlowSite:
    """A second playground whose replies are slow."""

    def __init__(self, site: EchoSite, by: str, times: int | None = 1) -> None:
        paced = {"name": "p", "time": "paced", "simulators": {"echo": {"kind": "files"}}}
        self.playground = Playground(
            Environment.model_validate(paced), {"echo": PreparedSimulator(SPEC, SPEC.config())}, "paced"
        )
        self.playground.inject(LatencyFault(by=parse_duration(by), times=times))
        self.handle = open_sandboxes(site.gateway, self.playground, site.listener.url)["echo"]
        self.place = urlsplit(self.handle.url)
        self.line = socket.create_connection((self.place.hostname, self.place.port), timeout=10)

    def __enter__(self) -> "SlowSite":
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def head(self, path: str, *more: str, method: str = "GET", version: str = "1.1") -> bytes:
        lines = [f"{method} {self.place.path}{path} HTTP/{version}", "Host: x"]
        return "\r\n".join([*lines, f"Authorization: Bearer {self.handle.token}", *more, "", ""]).encode()

    def ask(self, data: bytes) -> None:
        """Send bytes, and wait until the request is being handled."""
        self.line.sendall(data)
        wait_until(lambda: self.playground.log.events)

    def hear(self, until: bytes = b"") -> bytes:
        response = b""
        while (not until or until not in response) and (more := self.line.recv(65536)):
            response += more
        return response


def status_codes(response: bytes) -> list[bytes]:
    return [part[:3] for part in response.split(b"HTTP/1.1 ")[1:]]


@pytest.mark.parametrize(
    "garbage", [b"BREW /x HTTP/1.1\r\n\r\n", b"GET / NONSENSE\r\n\r\n", b"\x16\x03\x01\x02\x00\r\n\r\n"]
)
def test_requests_before_garbage_are_answered_first(site: EchoSite, garbage: bytes) -> None:
    requests = site.head("/a?n=1") + site.head("/b", "Content-Length: 5", method="POST") + b"hello"
    response = site.talk(requests + garbage)
    assert status_codes(response) in ([b"200", b"200", b"400"], [b"200", b"200", b"501"])
    assert [request.path for request in HEARD] == ["/a", "/b"]


def test_refusal_of_garbage_waits_for_earlier_replies(site: EchoSite) -> None:
    with SlowSite(site, "200ms") as slow:
        slow.ask(slow.head("/a") + slow.head("/b"))
        slow.line.sendall(b"GET / NONSENSE\r\n\r\n" + slow.head("/never"))
        response = slow.hear()
        assert status_codes(response) == [b"200", b"200", b"400"]
        assert [request.path for request in HEARD] == ["/a", "/b"]


def test_half_closed_client_still_gets_its_replies(site: EchoSite) -> None:
    with SlowSite(site, "200ms") as slow:
        slow.ask(slow.head("/a") + slow.head("/b"))
        slow.line.shutdown(socket.SHUT_WR)
        response = slow.hear()
        assert status_codes(response) == [b"200", b"200"]
        assert response.count(b"connection: close") == 1
    with SlowSite(site, "1ms") as slow:
        slow.line.sendall(slow.head("/a")[:-2])  # half a request is no request
        slow.line.shutdown(socket.SHUT_WR)
        assert slow.hear() == b""


def test_expect_continue_is_answered_in_order(site: EchoSite) -> None:
    with SlowSite(site, "200ms") as slow:
        slow.ask(slow.head("/a"))
        asks = ("Content-Length: 5", "Expect: 100-continue", "Connection: close")
        slow.line.sendall(slow.head("/b", *asks, method="POST"))
        response = slow.hear(b"100 Continue\r\n\r\n")
        assert status_codes(response) == [b"200", b"100"]
        slow.line.sendall(b"hello")
        assert b'"size":5' in slow.hear()


def test_expect_continue_refusal_is_sent_in_order(site: EchoSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_parser, "MAX_BODY", 1000)
    with SlowSite(site, "100ms") as slow:
        slow.ask(slow.head("/a"))
        slow.line.sendall(slow.head("/b", "Content-Length: 2000", "Expect: 100-continue", method="POST"))
        assert status_codes(slow.hear()) == [b"200", b"413"]


def test_http_1_0_client_never_gets_100_continue(site: EchoSite) -> None:
    old = site.head("/x", "Content-Length: 5", "Expect: 100-continue", method="POST").replace(b"/1.1", b"/1.0", 1)
    assert status_codes(site.talk(old + b"hello")) == [b"200"]


def test_trailers_are_not_headers(site: EchoSite) -> None:
    trailer = b'5\r\nhello\r\n0\r\nIf-Match: W/"9"\r\nAuthorization: Bearer other\r\nHost: y\r\n\r\n'
    requests = site.head("/a", "Transfer-Encoding: chunked", method="POST") + trailer
    assert status_codes(site.talk(requests + site.head("/b", "Connection: close"))) == [b"200", b"200"]
    assert [("if-match" in request.headers, len(request.body)) for request in HEARD] == [(False, 5), (False, 0)]


def test_request_has_exactly_one_host_header(site: EchoSite) -> None:
    close = "Connection: close"
    none, two = site.head("/x", close).replace(b"Host: x\r\n", b""), site.head("/x", "Host: y", close)
    assert site.talk(none).startswith(b"HTTP/1.1 400 ")
    assert site.talk(two).endswith(b"NAK bad_request")
    assert site.talk(none.replace(b"HTTP/1.1", b"HTTP/1.0")).startswith(b"HTTP/1.1 200 ")
    assert len(HEARD) == 1


def test_limit_of_a_head_counts_from_its_first_byte(site: EchoSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_parser, "MAX_HEAD", 20_000)
    assert status_codes(site.talk(site.head("/x", "X: " + "y" * 15_000, "Connection: close"))) == [b"200"]
    with socket.create_connection((site.place.hostname, site.place.port), timeout=10) as line:
        line.sendall(site.head("/x", "X: " + "y" * 25_000)[:-2])  # in one read, and without its end
        response = b""
        while more := line.recv(65536):
            response += more
    assert response.split(b" ")[1] == b"431"


def test_method_not_allowed_has_an_allow_header(site: EchoSite) -> None:
    status, _, headers = site.ask("/x", "DELETE")
    assert (status, headers["allow"], headers["x-nak"]) == (405, "GET, HEAD, POST", "yes")
