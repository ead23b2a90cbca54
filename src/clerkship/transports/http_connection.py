"""One HTTP connection: queue requests, answer them in order, and deliver replies as faults change them.

See docs/decisions/0004-operations-and-transports.md.
"""

import asyncio
import errno
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from clerkship.by_name import load
from clerkship.kit.descriptors import raise_limit
from clerkship.kit.wall import monotonic
from clerkship.model.errors import PlatformError
from clerkship.sandbox.request import IMMEDIATE, Delivery, Refusal, Reply
from clerkship.sandbox.websocket import WebSocketHandler
from clerkship.transports.http_parser import (
    HttpApplication,
    HttpParser,
    IncomingRequest,
    PendingRequest,
    get_sent_body,
    has_body,
    render_chunk,
    render_head,
    split_path,
)
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.loop_thread import ForeignHost, ListenerFailed, LoopThread, PortTaken, WorkerPool
from clerkship.transports.network import LOCAL_NETWORK, SandboxNetwork
from clerkship.transports.tcp import OpenPort, TcpConnection, TcpListener, describe_host
from clerkship.transports.worker_answer import WorkerAnswer

MAX_QUEUED = 64
"""Received requests that are not answered yet; more are read only after one is answered."""
MAX_FIRST_LINE = 4000
START_TIMEOUT = 10.0
GRACE_SECONDS = 1.0
"""Seconds that running requests have to finish when the listener closes."""


class QueuedRequest(NamedTuple):
    """A complete request that waits for its answer."""

    incoming: IncomingRequest
    keep_alive: bool
    chunked: bool = True
    """Whether the client understands a chunked body."""
    upgrade: bool = False
    """Whether it is a WebSocket handshake."""


class QueuedRefusal(NamedTuple):
    """A refusal that ends the connection, sent after the replies to all earlier requests."""

    playground: str
    sandbox: str
    refusal: Refusal


class HttpConnection(TcpConnection):
    """A connection that answers one request at a time, in order of arrival."""

    def __init__(
        self, application: HttpApplication, workers: WorkerPool, port: OpenPort, network: SandboxNetwork = LOCAL_NETWORK
    ) -> None:
        super().__init__(port)
        self._application, self._workers = application, workers
        self._parser = HttpParser(self, network)
        self._queue: deque[QueuedRequest | QueuedRefusal] = deque()
        self._has_answered = False
        self._input_ended = False

    # Receiving.

    def refuse_connection(self) -> None:
        """Answer 503 and close the connection."""
        busy = Refusal(503, "too_many_connections", f"{self._table.max_connections} connections are open; close some")
        reply = self._application.refuse("", "", busy)
        self._transport.write(render_head(reply, keep_alive=False) + reply.body)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop the requests that are not answered."""
        super().connection_lost(exc)
        self._queue.clear()

    def eof_received(self) -> bool:
        """Keep the connection open while replies are pending: the client may still read."""
        self._is_leaving = self._input_ended = True
        return not self.is_idle

    def data_received(self, data: bytes) -> None:
        """Parse the bytes, and answer the requests that are complete."""
        if self._ignores_input or self._parser.stopped:
            return
        self._parser.feed(data)
        self._answer_queue()

    def resume_writing(self) -> None:
        """Continue to answer requests."""
        super().resume_writing()
        self._note_active()
        self._answer_queue()

    def request_received(self, incoming: IncomingRequest, *, keep_alive: bool, version: str, upgrade: bool) -> None:
        """Queue a complete request."""
        self._queue.append(QueuedRequest(incoming, keep_alive, version != "1.0", upgrade))
        if upgrade or len(self._queue) == MAX_QUEUED:
            self._transport.pause_reading()

    def request_broken(self, data: bytes, refusal: Refusal) -> None:
        """Queue the refusal of a malformed request. The first line, as far as it was received, gives the sandbox."""
        if self._transport.is_closing():
            return
        first = data[:MAX_FIRST_LINE].split(b"\r\n", 1)[0].split(b" ")
        playground, sandbox, _ = split_path(first[1].partition(b"?")[0] if len(first) > 1 else b"/")
        self._queue.append(QueuedRefusal(playground, sandbox, refusal))

    def body_expected(self) -> None:
        """Send `100 Continue` once all earlier requests are answered; sent earlier, it would look like a reply to one
        of them.
        """
        if self._parser.expecting and self.is_idle and not self._transport.is_closing():
            self._parser.expecting = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    # Answering.

    def _answer_queue(self) -> None:
        while self._queue and self._task is None and self._writable.is_set() and not self._transport.is_closing():
            if len(self._queue) == MAX_QUEUED and not self._parser.suspended:
                self._transport.resume_reading()
            queued = self._queue.popleft()
            if isinstance(queued, QueuedRefusal):
                reply = self._application.refuse_unreadable(*queued)
                self.close_with(render_head(reply, keep_alive=False) + reply.body)
            else:
                self._answer(queued)
        if self._parser.expecting:
            self.body_expected()

    def _answer(self, queued: QueuedRequest) -> None:
        pending = self._application.receive(queued.incoming)
        reply = pending.try_answer()
        if reply is None:
            self._task = asyncio.get_running_loop().create_task(self._deliver(queued, pending))
        elif reply.delivery is IMMEDIATE and reply.stream is None and not reply.lost:
            self._write(queued, reply)
            if queued.upgrade:
                self._end_handshake(pending, reply)
        else:
            self._task = asyncio.get_running_loop().create_task(self._deliver(queued, pending, reply))

    def _write(self, queued: QueuedRequest, reply: Reply) -> None:
        self._note_answered()
        keep_alive = self._keeps_alive(queued)
        method, base = queued.incoming.request.method, queued.incoming.base
        head = render_head(reply, keep_alive=keep_alive, method=method, base=base)
        self._transport.write(head + get_sent_body(method, reply))
        if not keep_alive:
            self._transport.close()

    def _end_handshake(self, pending: PendingRequest, reply: Reply) -> None:
        """Pass the transport to a WebSocket, or continue with HTTP if the handshake was refused."""
        if self._transport.is_closing():
            return
        if not isinstance(reply.upgrade, WebSocketHandler):
            self._transport.resume_reading()
            self._parser.resume()
            return
        self._ignores_input = True
        self._port.connections.discard(self)
        self._table.leave(self)
        open_websocket = load("clerkship.transports.websocket:WebSocketConnection")  # few connections become one
        websocket = open_websocket(self._port, pending.open_websocket(self._workers), reply.upgrade)
        websocket.adopt(self._transport, self._parser.take_rest())

    def _note_active(self) -> None:
        self._active_at = monotonic()
        self._table.touch(self)

    def _note_answered(self) -> None:
        self._has_answered = True
        self._note_active()
        if self._parser.began is not None:
            self._parser.restart_clock(self._active_at)

    def _keeps_alive(self, queued: QueuedRequest) -> bool:
        """Return whether the connection stays open after this reply."""
        return queued.keep_alive and not (self._is_leaving and not self._queue)

    async def _deliver(self, queued: QueuedRequest, pending: PendingRequest, reply: Reply | None = None) -> None:
        """Send a reply late, in pieces, in part or not at all, as its delivery says; then answer the next request.

        Without a reply, have the request answered by a worker thread.
        """
        answer = WorkerAnswer(self._workers, pending, self._gone, reply)
        reply = await answer.get_reply()
        delivery = reply.delivery
        if not delivery.delay or not await self.wait_gone(delivery.delay):
            if reply.lost:
                self._transport.abort()
            elif reply.stream is not None:
                await self._write_stream(queued, answer, reply)
            elif delivery.pieces > 1 or delivery.promised is not None:
                await self._write_pieces(queued, reply)
            else:
                self._write(queued, reply)
            if queued.upgrade:
                self._end_handshake(pending, reply)
        self._task = None
        self._answer_queue()

    async def _write_pieces(self, queued: QueuedRequest, reply: Reply) -> None:
        is_cut = reply.delivery.promised is not None
        keep_alive = self._keeps_alive(queued) and not is_cut
        self._transport.write(render_head(reply, keep_alive=keep_alive or is_cut, base=queued.incoming.base))
        pieces = reply.delivery.divide(get_sent_body(queued.incoming.request.method, reply))
        for piece in pieces:
            if len(pieces) > 1 and await self.wait_gone(reply.delivery.over / len(pieces)):
                return
            self._transport.write(piece)
        self._note_answered()
        if not keep_alive:
            self._transport.close()

    async def _write_stream(self, queued: QueuedRequest, answer: WorkerAnswer, reply: Reply) -> None:
        method, is_cut = queued.incoming.request.method, reply.delivery.promised is not None
        keep_alive = self._keeps_alive(queued) and queued.chunked
        base = queued.incoming.base
        self._transport.write(
            render_head(reply, keep_alive=keep_alive, method=method, chunked=queued.chunked, base=base)
        )
        if has_body(method, reply):
            render = render_chunk if queued.chunked else bytes
            if not await self._write_chunks(answer, reply.delivery, render):
                return
            if queued.chunked and not is_cut:
                self._transport.write(render_chunk(b""))
        self._note_answered()
        if is_cut or not keep_alive:
            self._transport.close()

    async def _write_chunks(self, answer: WorkerAnswer, delivery: Delivery, render: Callable[[bytes], bytes]) -> bool:
        """Send the chunks of a stream as fast as the client reads them; return whether all were sent."""
        number = 0
        while await self.can_write():
            try:
                chunk = await answer.read_chunk()
            except PlatformError:  # abort, so that the client does not take the part it has for the whole body
                self._transport.abort()
                return False
            if chunk is None:
                return not self._gone.done()
            number += 1
            if delivery.over and number <= delivery.pieces and await self.wait_gone(delivery.over / delivery.pieces):
                return False
            if chunk:
                self._transport.write(render(chunk))
        return False

    # Closing.

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for a reply."""
        return self._task is None and not self._queue

    @property
    def is_evictable(self) -> bool:
        """Whether no request is being answered, and no body is being received."""
        return self.is_idle and not self._parser.stopped and (self._parser.began is None or self._parser.in_head)

    def leave(self) -> None:
        """Close the connection after the last reply, or at once if there is none to send.

        A client that has closed its side may be gone: the two cases look the same, so the connection does not wait
        for it.
        """
        self._is_leaving = True
        if self.is_idle or self._input_ended:
            self._transport.close()

    def sweep_input(self, now: float) -> None:
        """Close a connection that was idle for too long; answer 408 to a request that takes too long."""
        if self._transport.is_closing() or self._ignores_input or self._parser.stopped or not self.is_idle:
            return
        if self._parser.began is None:
            if now - self._active_at > (self.limits.idle if self._has_answered else self.limits.first):
                self.leave()
        elif (reason := self._parser.lateness(now, self.limits)) is not None:
            self._parser.stop(Refusal(408, "request_timeout", reason))
            self._answer_queue()


class HttpListener:
    """An HTTP server in its own thread. It starts when its address is first used."""

    def __init__(
        self,
        application: HttpApplication,
        network: SandboxNetwork = LOCAL_NETWORK,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._application = application
        self._network = network
        self._limits = limits or ConnectionLimits()
        self._port: OpenPort | None = None
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._workers = WorkerPool()
        self._url = ""
        self._closed = False

    def url(self) -> str:
        """Return the address for clients; open the listener if it is not open."""
        with self._lock:
            if self._closed:
                raise ListenerFailed("the run has ended; its HTTP listener is closed")
            if self._thread is None:
                self._open()
            return self._url

    def ports(self) -> tuple[int, ...]:
        """Return the port that it listens on, if it is open."""
        return () if self._port is None else (self._port.number,)

    def _open(self) -> None:
        network = self._network
        tls = None if network.tls is None else network.tls.build_context()
        tcp = TcpListener(self._limits, raise_limit() // 2)
        try:
            port = tcp.open_port(network.host, network.port)
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            failure = ForeignHost if error.errno == errno.EADDRNOTAVAIL else PortTaken
            raise failure(f"cannot listen on port {network.port}{describe_host(network.host)}: {reason}") from None

        async def serve() -> None:
            await port.serve(lambda port: HttpConnection(self._application, self._workers, port, network), tls)
            tcp.start_sweeping()

        thread = LoopThread("http")
        try:
            thread.start(serve, lambda: tcp.close(GRACE_SECONDS), START_TIMEOUT)
        except TimeoutError:
            raise ListenerFailed("the HTTP listener did not start") from None
        self._thread, self._port = thread, port
        self._url = network.build_url(f"{network.client_host}:{port.number}")

    def close(self, within: float = START_TIMEOUT) -> None:
        """Stop listening, and wait up to `within` seconds for running requests."""
        with self._lock:
            self._closed = True
            if self._thread is not None:
                self._thread.stop(within)
                self._workers.close()
            self._thread = None
