"""WebSockets with clients that send or read more, or less, than they should, and with handlers that fail."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, ClassVar, cast

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from clerkship.events.request_line import render_event_request
from clerkship.sandbox.faults.request_faults import DripFault, DropFault, ErrorFault
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Reply
from clerkship.sandbox.route import Route
from clerkship.sandbox.websocket import WebSocketCall, WebSocketHandler, WebSocketMessage, WebSocketSession
from clerkship.transports.limits import ConnectionLimits, ConnectionTable
from clerkship.transports.tcp import OpenPort
from clerkship.transports.websocket import WebSocketConnection
from clerkship.transports.websocket_frames import MAX_FRAGMENTS
from clerkship.transports.websocket_handshake import websocket_route
from tests.transports.site import Site, open_site
from tests.transports.test_websocket import (
    ROUTES,
    EchoHandler,
    credential,
    open_websocket,
    read_replies,
    say,
    wait_until_closed,
)
from tests.waiting import wait_until

PING = b"\x89\xfd\x00\x00\x00\x00" + b"p" * 125  # masked with zeros
PONG_SIZE = 127
MAX_FLOOD = 20_000_000


@pytest.fixture
def site() -> Iterator[Site]:
    with open_site(*ROUTES) as site:
        yield site


@contextlib.contextmanager
def open_raw_websocket(site: Site) -> Iterator[socket.socket]:
    """Open a WebSocket whose client has a small buffer, and reads nothing by itself."""
    lines = [
        f"GET {site.place.path}/talk HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *credential(site), "", "",
    ]  # fmt: skip
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.settimeout(10)
        client.connect((site.place.hostname, site.place.port))
        client.sendall("\r\n".join(lines).encode())
        head = b""
        while b"welcome" not in head:
            head += client.recv(65_536)
        yield client


def test_pings_are_not_read_while_the_client_does_not_read(site: Site) -> None:
    with open_raw_websocket(site) as client:
        client.settimeout(0.3)
        sent, blob = 0, PING * 1000
        with contextlib.suppress(TimeoutError):
            while sent < MAX_FLOOD:
                sent += client.send(blob[sent % len(PING) :])
        assert sent < MAX_FLOOD
        client.settimeout(10)
        received = 0
        while received < sent // len(PING) * PONG_SIZE:
            received += len(client.recv(1_000_000))


def test_message_in_too_many_fragments_closes_with_1009(site: Site) -> None:
    with open_websocket(site) as client:
        client.send(["x"] + [""] * (MAX_FRAGMENTS - 2))
        assert read_replies(client, 1) == [{"said": "x"}]
        with contextlib.suppress(OSError, ConnectionClosed):
            client.send(["x"] + [""] * MAX_FRAGMENTS)
        closed = wait_until_closed(client)
    assert closed.rcvd is not None
    assert closed.rcvd.code == 1009


class PushingHandler(EchoHandler):
    """A handler that pushes while its reply is sent in pieces."""

    watches_events: ClassVar[bool] = False

    def on_reply(self, reply: Reply) -> WebSocketMessage | None:
        """Push now, and once the first piece of the reply is sent."""
        for after in (0.0, 0.15):
            asyncio.get_running_loop().call_later(after, self.session.send, "pushed")
        return super().on_reply(reply)


@contextlib.contextmanager
def serve_handler(handler: type[WebSocketHandler], **changes: Any) -> Iterator[Site]:
    """Serve `/talk` with this handler."""

    @operation(tool=False)
    def open_handler(context: OperationContext[Any], input: NoInput) -> WebSocketHandler:
        """Open a WebSocket."""
        return handler()

    routes = websocket_route("/talk", open_handler), Route("POST", "/say", say, body="text")
    with open_site(*routes, **changes) as site:
        yield site


def test_push_waits_while_a_message_is_sent_in_pieces() -> None:
    with serve_handler(PushingHandler, time="paced") as site, open_websocket(site) as client:
        site.playground.inject(DripFault(operation="say", over=timedelta(seconds=0.3), pieces=3))
        client.send("hello there")
        received = [client.recv(timeout=10) for _ in range(4)]
    assert sorted(received) == ["pushed", "pushed", "welcome", '{"said":"hello there"}']


class UnencodableReplyHandler(EchoHandler):
    """A handler that replies with text that is not UTF-8."""

    watches_events: ClassVar[bool] = False

    def on_reply(self, reply: Reply) -> WebSocketMessage | None:
        """Return a lone surrogate."""
        return "\ud800"


class UnencodablePushHandler(UnencodableReplyHandler):
    """A handler that also pushes text that is not UTF-8."""

    def on_open(self, session: WebSocketSession) -> None:
        session.send("\ud800")


@pytest.mark.parametrize("handler", [UnencodableReplyHandler, UnencodablePushHandler])
def test_unencodable_message_closes_with_1011_and_errors_the_run(handler: type[WebSocketHandler]) -> None:
    with serve_handler(handler) as site:
        with open_websocket(site) as client:
            with contextlib.suppress(ConnectionClosed):
                client.send("hello")
            closed = wait_until_closed(client)
        assert closed.rcvd is not None
        assert closed.rcvd.code == 1011
        assert "UnicodeEncodeError" in (site.playground.broken or "")


FAILED = threading.Event()


class FailingHandler(EchoHandler):
    """A handler that fails at each message and when it is closed."""

    watches_events: ClassVar[bool] = False

    def on_message(self, message: WebSocketMessage) -> WebSocketCall[Any, Any] | None:
        FAILED.set()
        raise ZeroDivisionError("in the handler")

    def on_close(self, code: int) -> None:
        FAILED.set()
        raise ZeroDivisionError("when closed")


@pytest.mark.parametrize(
    "fail", [lambda client: client.send("hello"), lambda client: client.close()], ids=["message", "close"]
)
def test_failing_handler_does_not_block_the_loop_while_the_playground_is_locked(
    fail: Callable[[ClientConnection], None],
) -> None:
    FAILED.clear()
    with serve_handler(FailingHandler) as site, open_websocket(site) as other, open_websocket(site) as client:
        assert other.recv(timeout=10) == client.recv(timeout=10) == "welcome"
        with site.playground.lock:
            fail(client)
            assert FAILED.wait(10)
            assert other.ping().wait(5)
            assert site.playground.broken is None
        wait_until(lambda: "ZeroDivisionError" in (site.playground.broken or ""))


class RecordingHandler(WebSocketHandler):
    """A handler that calls no operation."""

    def on_reply(self, reply: Reply) -> WebSocketMessage | None:
        """Return the refusal; there is nothing else to answer."""
        assert reply.refusal is not None
        return reply.refusal.code


def test_message_without_a_call_is_logged_as_an_agent_request() -> None:
    with serve_handler(RecordingHandler) as site:
        with open_websocket(site) as client:
            client.send("hello")
            client.send(b"\xff")
            wait_until(lambda: len(site.playground.log.events) == 3)
        events = site.playground.log.events[1:]
        assert [render_event_request(event) for event in events] == ["WebSocket message → 200"] * 2
        assert {(event.kind, event.actor) for event in events} == {("sandbox.answered", "agent")}
        assert [event.request.body for event in events if event.request is not None] == [b"hello", b"\xff"]
        assert site.playground.broken is None


def test_faults_apply_to_a_message_without_a_call() -> None:
    with serve_handler(RecordingHandler) as site, open_websocket(site) as client:
        site.playground.inject(ErrorFault(status=503, times=1))
        client.send("hello")
        assert client.recv(timeout=10) == "injected_fault"
        site.playground.inject(DropFault(when="reply", times=1))
        client.send("hello")
        assert wait_until_closed(client).rcvd is None


PUSHED: list[str] = []


class LoudHandler(EchoHandler):
    """A handler that pushes a long text after each event."""

    def on_event(self, kind: str, state: Any) -> None:
        """Push much more than an event is worth."""
        PUSHED.append(kind)
        self.session.send("x" * 500_000)


def test_events_are_joined_while_a_client_does_not_read() -> None:
    PUSHED.clear()
    said = 400
    with serve_handler(LoudHandler) as site, open_raw_websocket(site) as client:
        for _ in range(said):
            with site.ask("POST", "/say", b"hello") as response:
                assert response.status == 200
        client.sendall(b"\x81\x83\x00\x00\x00\x00bye")  # it is answered after all queued events
        while client.recv(1_000_000):
            pass
    assert 0 < len(PUSHED) < said / 2


class WaitingClient:
    """A sandbox whose state is read only when the test says so, as while its playground is locked."""

    def __init__(self) -> None:
        self.address = "sandbox"
        self.waiting: asyncio.Queue[Callable[[Any], Any]] = asyncio.Queue()
        self.subscribed = 0

    async def read_state(self, read: Callable[[Any], Any]) -> Any:
        """Keep what is to be read."""
        self.waiting.put_nowait(read)
        await asyncio.Event().wait()

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Count subscribers."""
        self.subscribed += 1
        return self._unsubscribe

    def _unsubscribe(self) -> None:
        self.subscribed -= 1


@pytest.mark.parametrize("last_first", [False, True])
def test_websocket_that_closes_while_it_opens_does_not_stay_subscribed(last_first: bool) -> None:
    async def open_and_close() -> int:
        client = WaitingClient()
        port = OpenPort(ConnectionTable(ConnectionLimits(), 10), socket.socket())
        connection = WebSocketConnection(port, cast(SandboxClient, client), EchoHandler())
        ours, theirs = socket.socketpair()
        with theirs, port.socket:
            transport, _ = await asyncio.get_running_loop().create_connection(asyncio.Protocol, sock=ours)
            connection.adopt(transport, b"")
            start = await client.waiting.get()
            transport.abort()
            stop = await asyncio.wait_for(client.waiting.get(), 10)
            for read in (stop, start) if last_first else (start, stop):
                read(None)
            return client.subscribed

    assert asyncio.run(open_and_close()) == 0
