"""WebSockets, used with third-party clients."""

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from time import monotonic
from typing import Any, ClassVar

import httpx
import orjson
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from clerkship.events.request_line import render_event_request
from clerkship.model.frozen import Frozen
from clerkship.sandbox.call_record import CallRecord
from clerkship.sandbox.faults.request_faults import DripFault, DropFault, ErrorFault, TruncatedFault
from clerkship.sandbox.operation import NoInput, OperationContext, operation
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.route import Route
from clerkship.sandbox.websocket import WebSocketCall, WebSocketHandler, WebSocketMessage, WebSocketSession
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.websocket_frames import WebSocketFrames
from clerkship.transports.websocket_handshake import websocket_route
from tests.transports.site import Site, open_site
from tests.waiting import wait_until

CLOSE_CODES: list[int] = []
RELEASE = threading.Event()


class Sentence(Frozen):
    """The input of `say`."""

    text: str


@operation()
def say(context: OperationContext[Any], sentence: Sentence) -> dict[str, str]:
    """Return the text, or refuse it."""
    if sentence.text == "nonsense":
        raise Refusal(422, "nonsense", "that is nonsense")
    if sentence.text == "slow":
        assert RELEASE.wait(10)
    return {"said": sentence.text}


def refuse(text: str) -> WebSocketCall[Any, Any]:
    raise Refusal(409, "not_now", f"not now: {text}")


PARSERS_BY_WORD: dict[str, Callable[[str], WebSocketCall[Any, Any]]] = {
    "refuse": refuse,
    "values": lambda text: WebSocketCall(say, orjson.loads(text), body=text.encode()),
    "model": lambda text: WebSocketCall(say, Sentence.model_validate(orjson.loads(text))),
    "key": lambda text: WebSocketCall(say, Sentence(text=orjson.loads(text)["text"])),
    "get": lambda text: WebSocketCall(say, Sentence(text=orjson.loads(text).get("text"))),
    "json": lambda text: WebSocketCall(say, json.loads(text)),
}
PARSERS = tuple(f"{word} " for word in PARSERS_BY_WORD)
"""How a message begins that the handler parses in another way."""


class EchoHandler(WebSocketHandler):
    """A handler that calls `say` with each message and pushes each event of the sandbox."""

    subprotocols: ClassVar[tuple[str, ...]] = ("talk.v1",)
    max_message: ClassVar[int] = 1000
    watches_events: ClassVar[bool] = True

    def on_open(self, session: WebSocketSession) -> None:
        """Send a greeting."""
        self.session = session
        session.send("welcome")

    def on_message(self, message: WebSocketMessage) -> WebSocketCall[Any, Any] | None:
        """Return a call of `say`; some messages make the handler itself do something."""
        if message == "break":
            raise ZeroDivisionError("in the handler")
        if message == "bye":
            self.session.close(4000, "as you wish")
            return None
        if message == "flood":
            for _ in range(300):
                self.session.send("x" * 100_000)
            return None
        text = message if isinstance(message, str) else message.decode()
        if text.startswith(PARSERS):
            return PARSERS_BY_WORD[text.partition(" ")[0]](text.partition(" ")[2])
        return WebSocketCall(say, Sentence(text=text), body=text.encode())

    def on_event(self, kind: str, state: Any) -> None:
        """Push the kind of an event and the type of the state."""
        self.session.send(f"event {kind} {type(state).__name__}")

    def on_close(self, code: int) -> None:
        """Store the close code."""
        CLOSE_CODES.append(code)


@operation(tool=False)
def open_talk(context: OperationContext[Any], input: NoInput) -> WebSocketHandler:
    """Open a WebSocket."""
    return EchoHandler()


ROUTES = (websocket_route("/talk", open_talk), Route("POST", "/say", say, body="text"))


@pytest.fixture
def site() -> Iterator[Site]:
    CLOSE_CODES.clear()
    RELEASE.clear()
    with open_site(*ROUTES) as site:
        yield site


def open_websocket(site: Site, path: str = "/talk", token: str | None = None, **options: Any) -> ClientConnection:
    headers = {"Authorization": f"Bearer {site.token if token is None else token}"}
    url = f"ws{site.url.removeprefix('http')}{path}"
    client: ClientConnection = connect(url, additional_headers=headers if token != "" else {}, proxy=None, **options)
    return client


def read_replies(client: ClientConnection, count: int) -> list[Any]:
    """Return the next replies, without pushed events."""
    found: list[Any] = []
    while len(found) < count:
        message = client.recv(timeout=10)
        if isinstance(message, str) and message.startswith("{"):
            found.append(orjson.loads(message))
    return found


def wait_until_closed(client: ClientConnection) -> ConnectionClosed:
    while True:
        try:
            client.recv(timeout=10)
        except ConnectionClosed as closed:
            return closed


def list_event_kinds(site: Site) -> list[str]:
    return [event.kind for event in site.playground.log.events]


def test_messages_are_requests_through_the_gateway_answered_in_order(site: Site) -> None:
    with open_websocket(site) as client:
        assert client.recv(timeout=10) == "welcome"
        for number in range(20):
            client.send(f"message {number}")
        assert [reply["said"] for reply in read_replies(client, 20)] == [f"message {number}" for number in range(20)]
        client.send(b"bytes")
        assert read_replies(client, 1) == [{"said": "bytes"}]
    answered = [event for event in site.playground.log.events if event.kind == "sandbox.answered"]
    assert [event.payload.operation for event in answered] == ["open_talk", *["say"] * 21]  # type: ignore[attr-defined]
    assert {event.actor for event in answered} == {"agent"}


def test_refused_message_is_answered_and_logged(site: Site) -> None:
    with open_websocket(site) as client:
        client.send("nonsense")
        assert read_replies(client, 1) == [{"error": {"code": "nonsense", "message": "that is nonsense"}}]
    refused = site.playground.log.events[-1]
    assert refused.request is not None
    assert (refused.kind, refused.request.over) == ("sandbox.refused", "websocket")
    assert render_event_request(refused) == "WebSocket say → 422 that is nonsense"


def test_gateway_validates_the_plain_values_of_a_call(site: Site) -> None:
    with open_websocket(site) as client:
        client.send('values {"text": "hello"}')
        assert read_replies(client, 1) == [{"said": "hello"}]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ("{}", "text: Field required"),
        ('{"text": 5}', "text: Input should be a valid string"),
        ('{"text": "x", "more": 1}', "more: unknown; expected: text"),
        ("[]", "the message must be an object"),
        ("null", "the message must be an object"),
    ],
)
def test_invalid_plain_values_are_refused_and_logged(site: Site, values: str, reason: str) -> None:
    with open_websocket(site) as client:
        client.send(f"values {values}")
        assert read_replies(client, 1) == [{"error": {"code": "invalid_input", "message": reason}}]
        client.send("still open")
        assert read_replies(client, 1) == [{"said": "still open"}]
    refused = next(event for event in site.playground.log.events if event.kind == "sandbox.refused")
    assert render_event_request(refused) == f"WebSocket say → 422 {reason}"
    assert site.playground.broken is None


def test_connection_stays_open_after_a_handler_refuses_a_message(site: Site) -> None:
    with open_websocket(site) as client:
        client.send("refuse please")
        assert read_replies(client, 1) == [{"error": {"code": "not_now", "message": "not now: please"}}]
        client.send("still open")
        assert read_replies(client, 1) == [{"said": "still open"}]
    [refused] = [event for event in site.playground.log.events if event.kind == "sandbox.refused"]
    assert render_event_request(refused) == "WebSocket message → 409 not now: please"
    assert refused.request is not None
    assert refused.request.body == b"refuse please"
    assert site.playground.broken is None


@pytest.mark.parametrize(
    "message",
    [
        *("values {", "model {", 'model {"text": 5}', "key {}", "key []", "key 5", "get []", "get 5"),
        *("json " + "[" * 900, b"\xff\xfe"),
    ],
)
def test_unparsable_message_is_refused_without_erroring_the_run(site: Site, message: WebSocketMessage) -> None:
    with open_websocket(site) as client:
        client.send(message)
        [reply] = read_replies(client, 1)
        assert reply["error"]["code"] == "bad_message"
        client.send("still open")
        assert read_replies(client, 1) == [{"said": "still open"}]
    [refused] = [event for event in site.playground.log.events if event.kind == "sandbox.refused"]
    assert (refused.payload.status, refused.payload.code) == (400, "bad_message")  # type: ignore[attr-defined]
    assert site.playground.broken is None


def test_recorder_receives_each_message_as_an_operation_call(site: Site) -> None:
    heard: list[object] = []
    site.gateway.subscribe_requests(site.playground, lambda _, asked: heard.append(asked))
    with open_websocket(site) as client:
        client.send("refuse please")
        client.send('values {"text": "hello"}')
        client.send("values {}")
        read_replies(client, 3)
    calls = [asked for asked in heard if isinstance(asked, CallRecord)]
    assert [call.transport for call in calls] == ["websocket"] * 3
    assert calls[1].input == {"text": "hello"}
    assert site.playground.broken is None


def test_fragments_are_joined_to_one_message(site: Site) -> None:
    with open_websocket(site) as client:
        client.send(["one ", "message ", "in parts"])
        assert read_replies(client, 1) == [{"said": "one message in parts"}]


def test_sandbox_events_are_pushed_until_the_websocket_closes(site: Site) -> None:
    with open_websocket(site) as client:
        assert client.recv(timeout=10) == "welcome"
        client.send("first")  # when it is answered, the sandbox is watched
        read_replies(client, 1)
        site.box.request("POST", "/say", body=b"from elsewhere")
        pushed = [client.recv(timeout=10) for _ in range(2)]
        assert set(pushed) == {"event sandbox.answered FilesState"}
    wait_until(lambda: CLOSE_CODES == [1000])
    wait_until(lambda: not site.playground._subscribers)


@pytest.mark.parametrize("token", ["", "wrong"])
def test_handshake_without_the_token_is_refused_with_401(site: Site, token: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        open_websocket(site, token=token)
    assert refused.value.response.status_code == 401
    assert list_event_kinds(site) == []


def test_token_is_accepted_as_subprotocol_or_in_the_query(site: Site) -> None:
    with open_websocket(site, token="", subprotocols=[f"bearer.{site.token}", "talk.v1"]) as client:
        assert client.subprotocol == "talk.v1"
        assert client.recv(timeout=10) == "welcome"
    with open_websocket(site, path=f"/talk?access_token={site.token}", token="") as client:
        assert client.recv(timeout=10) == "welcome"
    assert site.token not in site.playground.log.data().decode()


def test_token_in_the_query_does_not_authenticate_other_requests(site: Site) -> None:
    assert httpx.post(f"{site.url}/say?access_token={site.token}", content=b"x").status_code == 401


def test_request_without_a_handshake_is_refused_with_426(site: Site) -> None:
    with site.ask("GET", "/talk") as reply:
        assert (reply.status, reply.headers["upgrade"]) == (426, "websocket")
    offer = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": "short"}
    with site.ask("GET", "/talk", b"", **offer, Sec_WebSocket_Version="12") as reply:
        assert (reply.status, reply.headers["sec-websocket-version"]) == (426, "13")
    with site.ask("GET", "/talk", b"", **offer, Sec_WebSocket_Version="13") as reply:
        assert reply.status == 400


def test_handshake_without_the_package_installed_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.transports.websocket_handshake.find_spec", lambda _: None)
    with pytest.raises(InvalidStatus) as refused:
        open_websocket(site)
    assert refused.value.response.status_code == 501
    assert b"clerkship[websocket]" in refused.value.response.body


def test_pipelined_requests_handshake_and_messages_are_answered_in_order(site: Site) -> None:
    say_it = [f"POST {site.place.path}/say HTTP/1.1", "Host: x", *credential(site), "Content-Length: 3", "", "one"]
    handshake = [
        f"GET {site.place.path}/talk HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", *credential(site), "", "",
    ]  # fmt: skip
    message = b"\x81\x83\x00\x00\x00\x00two"  # masked with zeros
    with socket.create_connection((site.place.hostname, site.place.port), timeout=10) as connection:
        connection.sendall("\r\n".join(say_it).encode() * 63 + "\r\n".join(handshake).encode() + message)
        got = b""
        while b'{"said":"two"}' not in got:
            got += connection.recv(65536)
    assert got.count(b'{"said":"one"}') == 63
    assert got.index(b"HTTP/1.1 101") > got.rindex(b'{"said":"one"}')


def credential(site: Site) -> list[str]:
    return [f"Authorization: Bearer {site.token}"]


def test_connection_continues_with_http_after_a_refused_handshake(site: Site) -> None:
    offer = ("Host: x", "Connection: Upgrade", "Upgrade: websocket")
    second = f"POST {site.place.path}/say HTTP/1.1"
    got = site.talk(
        f"GET {site.place.path}/say HTTP/1.1", *offer, f"Authorization: Bearer {site.token}", "",
        second, "Host: x", "Content-Length: 0", "Connection: close",
    )  # fmt: skip
    assert got.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 405" in got
    assert b"HTTP/1.1 200" in got


def test_pings_are_answered(site: Site) -> None:
    with open_websocket(site) as client:
        assert client.ping().wait(10)


def test_too_long_message_closes_with_1009(site: Site) -> None:
    with open_websocket(site) as client:
        client.send("x" * 1001)
        closed = wait_until_closed(client)
    assert closed.rcvd is not None
    assert closed.rcvd.code == 1009
    assert list_event_kinds(site) == ["sandbox.answered"]


def test_text_that_is_not_utf_8_closes_with_1007(site: Site) -> None:
    with open_websocket(site) as client:
        with client.send_context():
            client.protocol.send_text(b"\xff")
        closed = wait_until_closed(client)
    assert closed.rcvd is not None
    assert closed.rcvd.code == 1007


def test_handler_can_close_with_its_own_code(site: Site) -> None:
    with open_websocket(site) as client:
        client.send("bye")
        closed = wait_until_closed(client)
    assert closed.rcvd is not None
    assert (closed.rcvd.code, closed.rcvd.reason) == (4000, "as you wish")


def test_failing_handler_closes_with_1011_and_errors_the_run(site: Site) -> None:
    with open_websocket(site) as client:
        client.send("break")
        closed = wait_until_closed(client)
    assert closed.rcvd is not None
    assert closed.rcvd.code == 1011
    assert "ZeroDivisionError" in (site.playground.broken or "")


def test_end_of_a_run_closes_with_1001() -> None:
    with open_site(*ROUTES, limits=ConnectionLimits(first=0.2)) as site, open_websocket(site) as client:
        client.send("x")
        read_replies(client, 1)
        site.playground.close()
        site.gateway.remove_playground(site.playground)
        closed = wait_until_closed(client)
    assert closed.rcvd is not None
    assert (closed.rcvd.code, closed.rcvd.reason) == (1001, "the run is over")


def test_closing_the_listener_closes_with_1001(site: Site) -> None:
    with open_websocket(site) as client:
        client.send("x")
        read_replies(client, 1)
        closing = threading.Thread(target=site.listener.close)
        closing.start()
        closed = wait_until_closed(client)
        closing.join(10)
    assert closed.rcvd is not None
    assert closed.rcvd.code == 1001


class SweepClock:
    """The time by which a listener sweeps. It stands still until the test moves it, however busy the machine is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = monotonic()
        self.pings: list[float] = []
        self.received: list[float] = []
        ping, receive = WebSocketFrames.ping, WebSocketFrames.receive

        def count_and_ping(frames: WebSocketFrames) -> None:
            ping(frames)
            self.pings.append(self.now)

        def receive_and_count(frames: WebSocketFrames, data: bytes) -> list[Any]:
            messages = list(receive(frames, data))
            self.received.append(self.now)
            return messages

        monkeypatch.setattr(WebSocketFrames, "ping", count_and_ping)
        monkeypatch.setattr(WebSocketFrames, "receive", receive_and_count)
        for module in ("tcp", "websocket"):
            monkeypatch.setattr(f"clerkship.transports.{module}.monotonic", lambda: self.now)

    def move(self, seconds: float) -> None:
        """Move the clock, and wait for the ping that is due then."""
        self.now += seconds
        wait_until(lambda: self.pings and self.pings[-1] == self.now)


def test_client_that_answers_pings_stays_and_a_dead_one_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SweepClock(monkeypatch)
    with open_site(*ROUTES, limits=ConnectionLimits(idle=0.5)) as site:
        with open_websocket(site, ping_interval=None) as client:
            assert client.recv(timeout=10) == "welcome"
            for _ in range(4):  # twice the idle limit; the client answers by itself
                clock.move(0.3)
                wait_until(lambda: clock.received and clock.received[-1] == clock.now)
            client.send("still here")
            assert read_replies(client, 1) == [{"said": "still here"}]
        with socket.create_connection((site.place.hostname, site.place.port), timeout=10) as dead:
            lines = [
                f"GET {site.place.path}/talk HTTP/1.1", "Host: x", "Connection: Upgrade", "Upgrade: websocket",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
                f"Authorization: Bearer {site.token}", "", "",
            ]  # fmt: skip
            dead.sendall("\r\n".join(lines).encode())
            got = b""
            while b"welcome" not in got:
                got += dead.recv(65536)
            clock.move(0.3)
            clock.now += 0.3
            with contextlib.suppress(ConnectionResetError):
                while more := dead.recv(65536):
                    got += more
        assert b"sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in got  # the example of RFC 6455 §1.3
        assert b"\x89\x00" in got, "a ping"


def test_client_that_does_not_read_pushed_messages_is_closed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.transports.websocket_frames.LINGER_SECONDS", 0.1)
    with open_websocket(site, max_queue=1, close_timeout=0.1) as client:
        client.send("flood")
        wait_until(lambda: CLOSE_CODES)
    assert list_event_kinds(site) == ["sandbox.answered"] * 2


def test_messages_wait_for_a_slow_one_without_blocking_other_sandboxes(site: Site) -> None:
    with open_websocket(site) as client, open_site(*ROUTES) as other, open_websocket(other) as second:
        client.send("slow")
        client.send("after")
        second.send("quick")
        assert read_replies(second, 1) == [{"said": "quick"}]
        RELEASE.set()
        assert read_replies(client, 2) == [{"said": "slow"}, {"said": "after"}]


def test_faults_apply_to_messages(site: Site) -> None:
    with open_websocket(site) as client:
        client.send("one")
        assert read_replies(client, 1) == [{"said": "one"}]
        site.playground.inject(ErrorFault(status=503, times=1))
        client.send("two")
        assert "error" in read_replies(client, 1)[0]
        site.playground.inject(DripFault(over=timedelta(seconds=1), pieces=3, times=1))
        client.send("three")
        assert read_replies(client, 1) == [{"said": "three"}]
        site.playground.inject(TruncatedFault(keep=4, times=1))
        client.send("four")
        assert wait_until_closed(client).rcvd is None
    site.playground.inject(DropFault(when="reply", operation="say", times=1))
    with open_websocket(site) as client:
        client.send("five")
        assert wait_until_closed(client).rcvd is None


def test_fault_applies_to_a_handshake(site: Site) -> None:
    site.playground.inject(ErrorFault(status=503, times=1))
    with pytest.raises(InvalidStatus) as refused:
        open_websocket(site)
    assert refused.value.response.status_code == 503
    with open_websocket(site) as client:
        assert client.recv(timeout=10) == "welcome"


def test_websockets_per_sandbox_are_limited() -> None:
    with open_site(*ROUTES, limits=ConnectionLimits(per_sandbox=1)) as site, open_websocket(site) as first:
        assert first.recv(timeout=10) == "welcome"
        with open_websocket(site) as second:
            closed = wait_until_closed(second)
        assert closed.rcvd is not None
        assert closed.rcvd.code == 1013
        first.send("still here")
        assert read_replies(first, 1) == [{"said": "still here"}]


def test_many_websockets_can_be_open_at_once(site: Site) -> None:
    from websockets.asyncio.client import connect as dial_async  # noqa: PLC0415  (this test alone)

    async def talk(number: int) -> str:
        url = f"ws{site.url.removeprefix('http')}/talk"
        async with dial_async(url, additional_headers=site.headers, proxy=None, max_queue=None) as client:
            await client.send(str(number))
            while True:
                message = await asyncio.wait_for(client.recv(), 20)
                if isinstance(message, str) and message.startswith("{"):
                    said: str = orjson.loads(message)["said"]
                    return said

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(talk(number) for number in range(20)))

    assert asyncio.run(all_of_them()) == [str(number) for number in range(20)]
