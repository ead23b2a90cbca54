"""Slow requests and idle connections of one client do not delay others."""

import http.client
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import (
    MAX_QUICK_SECONDS,
    MAX_SMALL_DATASET,
    PreparedSimulator,
    RequestTimings,
    build_cost_key,
)
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import QueryParams, Reply, Request
from clerkship.sandbox.route import HttpCall, Route
from clerkship.simulators import files
from clerkship.transports.http_parser import MAX_PARAMETERS
from clerkship.transports.limits import ConnectionLimits
from tests.raw_routes import RawCall, raw_route

LIMIT = 20
"""Seconds after which a test that waits has failed."""


class Site:
    """Two playgrounds behind one server. A slow request waits until it is released."""

    def __init__(self, limits: ConnectionLimits | None = None) -> None:
        self.begun, self.released = threading.Event(), threading.Event()
        routes = (
            raw_route("GET", "/slow", "slow", self._slow, is_heavy=lambda request: True),
            raw_route("GET", "/quick", "quick", lambda call: Reply(200, b"quick")),
            raw_route("POST", "/quick", "post", lambda call: Reply(200, b"posted")),
        )
        spec = replace(files.SPEC, kind="slow", routes=routes, handle=Handle)
        self.gateway = Gateway()
        self.listener = open_http(self.gateway, limits=limits)
        self.playgrounds = [self._play(name, PreparedSimulator(spec, spec.config())) for name in ("busy", "other")]
        self.handles = [open_sandboxes(self.gateway, each, self.listener.url)["box"] for each in self.playgrounds]
        self.clients = ThreadPoolExecutor(8)

    def _play(self, name: str, room: PreparedSimulator) -> Playground:
        return Playground(Environment(name=name, simulators={"box": Simulator(kind="files")}), {"box": room}, name)

    def _slow(self, call: RawCall) -> Reply:
        self.begun.set()
        assert self.released.wait(LIMIT)
        return Reply(200, b"slow")

    def get(self, playground: int, path: str) -> tuple[int, bytes]:
        handle = self.handles[playground]
        place = urlsplit(handle.url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
        try:
            connection.request("GET", place.path + path, headers={"Authorization": f"Bearer {handle.token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def later(self, playground: int, path: str) -> "Future[tuple[int, bytes]]":
        return self.clients.submit(self.get, playground, path)

    def connect(self) -> socket.socket:
        place = urlsplit(self.handles[0].url)
        return socket.create_connection((place.hostname or "", place.port or 0), timeout=LIMIT)

    def head(self, method: str = "GET", *more: str) -> bytes:
        handle = self.handles[0]
        lines = [f"{method} {urlsplit(handle.url).path}/quick HTTP/1.1", "Host: x"]
        return "\r\n".join([*lines, f"Authorization: Bearer {handle.token}", *more, "", ""]).encode()

    def close(self) -> None:
        self.released.set()
        self.clients.shutdown()
        self.listener.close()


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


def read_to_end(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def read_reply(connection: socket.socket) -> bytes:
    response = b""
    while not response.endswith((b"quick", b"posted")):
        more = connection.recv(65536)
        assert more, response
        response += more
    return response


# Slow requests.


def test_slow_request_does_not_delay_another_playground(site: Site) -> None:
    slow = site.later(0, "/slow")
    assert site.begun.wait(LIMIT)
    behind = site.later(0, "/quick")
    for _ in range(20):
        assert site.get(1, "/quick") == (200, b"quick")
    assert not slow.done()
    assert not behind.done()
    site.released.set()
    assert slow.result(LIMIT) == (200, b"slow")
    assert behind.result(LIMIT) == (200, b"quick")


def test_requests_on_one_connection_are_answered_in_order_though_one_of_them_is_slow(site: Site) -> None:
    slow = site.head().replace(b"/quick ", b"/slow ")
    with site.connect() as connection:
        connection.sendall(slow + site.head())
        assert site.begun.wait(LIMIT)
        site.released.set()
        assert [part[-5:] for part in read_reply(connection).split(b"HTTP/1.1 ")[1:]] == [b"\nslow", b"quick"]


def test_a_trial_that_ends_during_a_slow_request_writes_nothing_after_its_end(site: Site) -> None:
    playground = site.playgrounds[0]

    def end() -> None:
        with playground.lock:
            playground.end("agent_done")

    slow = site.later(0, "/slow")
    assert site.begun.wait(LIMIT)
    ending = site.clients.submit(end)
    site.released.set()
    ending.result(LIMIT)
    assert slow.result(LIMIT) == (200, b"slow")
    assert site.get(0, "/slow")[0] == 401
    assert playground.log.events[-1].kind == "run.ended"


def locate_call(route: Route, request: Request) -> HttpCall:
    call = HttpCall(request)
    call.locate(replace(files.SPEC, routes=(route,)))
    return call


def test_last_request_of_a_shape_decides_whether_it_is_quick() -> None:
    route = raw_route("GET", "/{type}", "search", lambda call: Reply(200))
    requests, other = (Request("GET", "/Patient", QueryParams(((name, "x"),))) for name in ("name", "family"))
    shape, unseen = build_cost_key(locate_call(route, requests)), build_cost_key(locate_call(route, other))
    assert shape is not None
    assert unseen is not None
    timings, small, large = RequestTimings(), range(MAX_SMALL_DATASET), range(MAX_SMALL_DATASET + 1)
    assert timings.is_quick(shape, small)
    assert not timings.is_quick(shape, large)
    timings.record(shape, MAX_QUICK_SECONDS / 2)
    assert timings.is_quick(shape, large)
    assert not timings.is_quick(unseen, large)
    timings.record(shape, MAX_QUICK_SECONDS * 2)
    assert not timings.is_quick(shape, small)


@pytest.mark.parametrize(
    "request_",
    [Request("POST", "/x", body=b"y" * 40_000), Request("POST", "/x", QueryParams((("a", "b"),) * 21))],
    ids=["large body", "many parameters"],
)
def test_a_large_request_is_never_answered_on_the_event_loop(request_: Request) -> None:
    route = raw_route("POST", "/x", "post", lambda call: Reply(200))
    assert build_cost_key(locate_call(route, request_)) is None


# Idle connections.


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET /x HTTP/1.1\r\nHost: x\r\n", b"the headers did not arrive within 0.05 s"),
        (b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", b"nothing of the body arrived for 0.05 s"),
    ],
    ids=["head", "body"],
)
def test_a_request_that_does_not_arrive_is_answered_408_and_its_connection_closed(sent: bytes, reason: bytes) -> None:
    site = Site(ConnectionLimits(head=0.05, body=0.05))
    with site.connect() as connection:
        connection.sendall(sent)
        response = read_to_end(connection)
    site.close()
    assert response.startswith(b"HTTP/1.1 408 ")
    assert reason in response
    assert b"connection: close" in response


def test_slowly_sent_request_is_answered_408() -> None:
    site = Site(ConnectionLimits(request=0.05))
    with site.connect() as connection:
        connection.sendall(site.head("POST", "Content-Length: 9") + b"half")
        response = read_to_end(connection)
    site.close()
    assert response.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 0.05 s" in response


def test_a_connection_without_a_request_is_closed() -> None:
    site = Site(ConnectionLimits(first=0.05))
    with site.connect() as connection:
        assert read_to_end(connection) == b""
    site.close()


def test_a_connection_is_closed_some_time_after_its_last_reply() -> None:
    site = Site(ConnectionLimits(idle=0.05))
    with site.connect() as connection:
        connection.sendall(site.head())
        assert read_reply(connection).startswith(b"HTTP/1.1 200 ")
        assert read_to_end(connection) == b""
    site.close()


def test_slow_reply_does_not_count_as_idle_time_of_the_client() -> None:
    site = Site(ConnectionLimits(head=0.05, idle=5))
    slow = site.head().replace(b"/quick ", b"/slow ")
    with site.connect() as connection, site.connect() as idle:
        connection.sendall(slow + site.head()[:-2])
        assert site.begun.wait(LIMIT)
        idle.sendall(b"GET /")
        assert read_to_end(idle).startswith(b"HTTP/1.1 408 ")  # so the time is over for the other one, too
        site.released.set()
        connection.sendall(b"\r\n")
        assert read_reply(connection).count(b"HTTP/1.1 200 ") == 2
    site.close()


def test_longest_idle_connection_is_closed_at_the_limit() -> None:
    site = Site(ConnectionLimits(connections=2))
    with site.connect() as oldest, site.connect() as second, site.connect() as third:
        for connection in (second, third):
            connection.sendall(site.head())
            assert read_reply(connection).startswith(b"HTTP/1.1 200 ")
        assert read_to_end(oldest) == b""
    site.close()


def test_connection_is_refused_503_when_all_are_busy() -> None:
    site = Site(ConnectionLimits(connections=1))
    slow = site.later(0, "/slow")
    assert site.begun.wait(LIMIT)
    with site.connect() as connection:
        response = read_to_end(connection)
    assert response.startswith(b"HTTP/1.1 503 ")
    assert b"1 connections are open" in response
    site.released.set()
    assert slow.result(LIMIT) == (200, b"slow")
    site.close()


# What one request may have.


def test_a_request_with_too_many_headers_is_refused(site: Site) -> None:
    with site.connect() as connection:
        connection.sendall(site.head("GET", "Connection: close", *(f"X-Same: {number}" for number in range(300))))
        response = read_to_end(connection)
    assert response.startswith(b"HTTP/1.1 431 ")
    assert b"at most 200 headers" in response


def test_a_query_with_too_many_parameters_is_refused(site: Site) -> None:
    status, body = site.get(0, "/quick?" + "&".join(["a=1"] * (MAX_PARAMETERS + 1)))
    assert status == 400
    assert f"more than {MAX_PARAMETERS} parameters".encode() in body
