"""One open WebSocket: its messages are calls of operations, answered in order."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from clerkship.kit.wall import monotonic
from clerkship.model.errors import PlatformError
from clerkship.sandbox.listener import SandboxClient
from clerkship.sandbox.operation import NO_INPUT, NoInput
from clerkship.sandbox.request import Delivery, Reply
from clerkship.sandbox.websocket import WebSocketCall, WebSocketHandler, WebSocketMessage, no_operation, parse_message
from clerkship.transports.tcp import OpenPort, TcpConnection
from clerkship.transports.websocket_frames import GOING_AWAY, INTERNAL_ERROR, NORMAL, TRY_LATER, WebSocketFrames

MAX_QUEUED = 64
"""Received messages that are not answered yet; more are read only after one is answered."""


class QueuedEvent(NamedTuple):
    """An event of the sandbox, queued with the messages of the client."""

    kind: str


class WebSocketConnection(TcpConnection):
    """A connection that handles messages and events one at a time, in order. It replaces an HTTP connection."""

    def __init__(self, port: OpenPort, client: SandboxClient, handler: WebSocketHandler) -> None:
        super().__init__(port)
        self._client, self._handler = client, handler
        self._frames: WebSocketFrames
        self._queue: deque[WebSocketMessage | QueuedEvent] = deque()
        self._queued_kinds: set[str] = set()
        """Kinds of queued events; a search through the queue would take long if the client sends many messages."""
        self._failing: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._unsubscribe: Callable[[], None] | None = None
        self._pinged_at = 0.0

    def adopt(self, transport: asyncio.Transport, received: bytes) -> None:
        """Take over a transport after its handshake, with the bytes that followed the handshake."""
        self._frames = WebSocketFrames(transport, self._handler.max_message)
        transport.set_protocol(self)
        self.connection_made(transport)
        transport.resume_reading()
        if self._ignores_input:
            return
        if not self._table.claim(self, self._client.address):
            self.close(TRY_LATER, f"this sandbox has {self.limits.per_sandbox} connections already")
            return
        self._task = self._loop.create_task(self._work(self._open))
        if received:
            self.data_received(received)

    # The session that the handler uses, from any thread.

    def send(self, message: WebSocketMessage) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._push, message)

    def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Close the WebSocket."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._frames.close, code, reason)

    def _push(self, message: WebSocketMessage) -> None:
        try:
            self._frames.push(message)
        except Exception as error:  # such as text that is not UTF-8
            self._failing = self._loop.create_task(self._fail(error))

    # Receiving.

    def refuse_connection(self) -> None:
        """Close the WebSocket because the listener is full."""
        self._frames.close(TRY_LATER, f"{self._table.max_connections} connections are open")

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the handler, and drop the messages that are not answered."""
        super().connection_lost(exc)
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()
        try:
            self._handler.on_close(self._frames.close_code)
        except Exception as error:
            self._failing = self._loop.create_task(self._fail(error))
        if self._handler.watches_events:
            self._task = self._loop.create_task(self._client.read_state(self._stop_watching))

    def eof_received(self) -> bool:
        """Close the connection: a WebSocket cannot be half-closed."""
        self._frames.receive_eof()
        return False

    def pause_writing(self) -> None:
        """Stop reading while the client does not read: each ping would add an unsent pong."""
        super().pause_writing()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Continue to read."""
        super().resume_writing()
        self._active_at = monotonic()
        if len(self._queue) <= MAX_QUEUED:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Queue complete messages, answer pings, and handle close frames."""
        self._active_at = monotonic()
        self._queue.extend(self._frames.receive(data))
        if len(self._queue) > MAX_QUEUED:
            self._transport.pause_reading()
        self._start()

    # Answering.

    def _start(self) -> None:
        if self._task is None and self._queue and self._frames.is_open:
            self._task = self._loop.create_task(self._work(self._answer_queue))

    async def _work(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await run()
        except Exception as error:
            await self._fail(error)
        finally:
            if self._task is asyncio.current_task():  # after connection_lost, another task may be running
                self._task = None
        self._start()

    async def _fail(self, error: Exception) -> None:
        """Record a bug of the simulator, and close the WebSocket."""
        try:
            if not isinstance(error, PlatformError):  # a PlatformError is recorded already
                await self._client.fail(error)
        finally:
            self._frames.close(INTERNAL_ERROR, "the simulator failed; the trial will be errored")

    async def _open(self) -> None:
        self._handler.on_open(self)
        if self._handler.watches_events:
            await self._client.read_state(self._start_watching)

    def _start_watching(self, _: Any) -> None:
        """Subscribe to the events. Called with the playground locked, so perhaps after the connection was lost."""
        if not self._gone.done():
            self._unsubscribe = self._client.subscribe(self._on_event)

    def _stop_watching(self, _: Any) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _on_event(self, kind: str) -> None:
        """Queue an event. Called in the thread that logs it."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._queue_event, kind)

    def _queue_event(self, kind: str) -> None:
        """Queue an event; if the queue is full, such as of a client that does not read, one of each kind."""
        if len(self._queue) < MAX_QUEUED or kind not in self._queued_kinds:
            self._queue.append(QueuedEvent(kind))
            self._queued_kinds.add(kind)
        self._start()

    async def _answer_queue(self) -> None:
        while self._queue and self._frames.is_open and await self.can_write():
            queued = self._queue.popleft()
            if len(self._queue) == MAX_QUEUED:
                self._transport.resume_reading()
            if isinstance(queued, QueuedEvent):
                self._queued_kinds.discard(queued.kind)
                await self._client.read_state(partial(self._handler.on_event, queued.kind))
                continue
            call = parse_message(self._handler, queued)
            reply = await self._client.call(call or _build_record_call(queued))
            if call is not None or reply.lost or reply.refusal is not None:
                await self._deliver(reply)
            self._active_at = monotonic()

    async def _deliver(self, reply: Reply) -> None:
        """Send the message that the handler returns for a reply: in pieces, in part or not at all, as its delivery
        says.
        """
        if reply.lost:
            self._transport.abort()
            return
        message, delivery = self._handler.on_reply(reply), reply.delivery
        if message is None:
            return
        is_cut = delivery.promised is not None
        pieces = _divide_message(message, delivery)
        for number, piece in enumerate(pieces):
            if delivery.over and await self.wait_gone(delivery.over / len(pieces)):
                return
            self._frames.send(piece, fin=number == len(pieces) - 1 and not is_cut, first=not number)
        if is_cut:
            self._transport.close()

    # Closing.

    @property
    def is_evictable(self) -> bool:
        """Always False: an open WebSocket is in use."""
        return False

    def leave(self) -> None:
        """Close the WebSocket because the listener closes."""
        self._frames.close(GOING_AWAY, "the server is closed")

    def sweep_input(self, now: float) -> None:
        """Close the WebSocket if its run is over, or if the client sends nothing, not even a pong."""
        silent = now - self._active_at
        if not self._client.open:
            self._frames.close(GOING_AWAY, "the run is over")
        elif silent > self.limits.idle:
            self._transport.abort()
        elif silent > self.limits.idle / 2 > self._pinged_at - self._active_at:
            self._pinged_at = now
            self._frames.ping()


def _build_record_call(message: WebSocketMessage) -> WebSocketCall[NoInput, None]:
    return WebSocketCall(no_operation, NO_INPUT, body=message.encode() if isinstance(message, str) else message)


def _divide_message(message: WebSocketMessage, delivery: Delivery) -> list[WebSocketMessage]:
    data = message.encode() if isinstance(message, str) else message
    pieces = delivery.divide(data)
    if isinstance(message, bytes) or len(pieces) == 1:
        return [message] if len(pieces) == 1 else list(pieces)
    size = -(-len(message) // len(pieces))
    return [message[start : start + size] for start in range(0, len(message), size)]
