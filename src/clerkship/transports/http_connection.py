"""One HTTP connection: requests off it in their order, replies onto it, with all that may happen to them on the way.

httptools reads; what is here is when to answer, how to hang up, and how much of a request is kept.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

import httptools

from clerkship.sandbox.exchange import IMMEDIATE, MAX_BODY, Refusal, Reply
from clerkship.transports.executor import WorkerPool
from clerkship.transports.http_application import HttpApplication, IncomingRequest, PendingRequest
from clerkship.transports.http_wire import body_of, parse_place, parse_request, render_head
from clerkship.transports.limits import ConnectionLimits

URL_LIMIT = 1_000_000
"""Ten thousand values to search for fit, with forty bytes each to spare."""
HEAD_LIMIT = 2_000_000
PATIENCE = 10 * MAX_BODY
"""How much of a body that is too large is let go by, so that its sender comes to the answer."""
MOST_WAITING = 64
"""Requests sent before their forerunners were answered; further ones are not read yet."""
MAX_HEADERS = 200
LINGER = 2.0
"""Seconds for somebody who is still sending to find out that they were answered."""


class Asked(NamedTuple):
    """A request that is all here."""

    incoming: IncomingRequest
    stays: bool
    """Whether its sender wants to ask more on the same connection."""


class Last(NamedTuple):
    """What ends a connection: said in its turn, behind the answers to all that came before it."""

    playground: str
    sandbox: str
    refusal: Refusal


class OpenConnections(NamedTuple):
    """The connections of one listener, and how many there may be."""

    every: "set[HttpConnection]"
    limits: ConnectionLimits
    most: int

    def make_room(self) -> bool:
        """Return whether one more may be served; if all places are taken, close the one that is idle for longest."""
        if len(self.every) < self.most:
            return True
        idle = [connection for connection in self.every if connection.may_be_dropped]
        if idle:
            min(idle, key=lambda connection: connection.idle_since).drop()
        return bool(idle)


class HttpConnection(asyncio.Protocol):
    """Answers one request at a time, in the order they come."""

    def __init__(
        self, application: HttpApplication, workers: WorkerPool, open_ones: OpenConnections, now: Callable[[], float]
    ) -> None:
        self._application, self._workers, self._open_ones, self._now = application, workers, open_ones, now
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting: deque[Asked | Last] = deque()
        self._task: asyncio.Task[None] | None = None
        self._held = self._deaf = self._leaving = self._heard_out = False
        self._head_size = 0
        self._begin()
        self._began: float | None = None
        """When the first byte of the request came that is not all here yet."""
        self._served = False
        self.idle_since = self._last_byte = now()

    def _begin(self) -> None:
        """Nothing of a request is here yet."""
        self._url, self._headers, self._header_count = b"", dict[str, str](), 0
        self._body: list[bytes] = []
        self._size = 0
        self._in_head = True
        self._expecting = False
        """Whether they wait to be told to send the body."""
        self._objection: Refusal | None = None

    # What the loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve it, or, where there are too many connections, say so and close it."""
        self._transport = cast(asyncio.Transport, transport)
        if not self._open_ones.make_room():
            self._deaf = True
            busy = Refusal(503, "too_many_connections", f"{self._open_ones.most} connections are open; close some")
            reply = self._application.refuse("", "", busy)
            self._transport.write(render_head(reply, stays=False) + reply.body)
            self._transport.close()
        self._open_ones.every.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone; half a request is no request."""
        self._open_ones.every.discard(self)
        self._waiting.clear()
        if not self._gone.done():
            self._gone.set_result(None)

    def eof_received(self) -> bool:
        """They will ask nothing more, which does not mean that they do not listen: who is owed an answer gets it."""
        self._leaving = self._heard_out = True
        return not self.idle

    def data_received(self, data: bytes) -> None:
        """Some bytes of one request, or of several."""
        if self._deaf:
            return
        self._last_byte = self._now()
        if self._in_head:
            self._head_size += len(data)
        try:
            self._read(data)
        except httptools.HttpParserInvalidMethodError:
            self._hang_up(data, Refusal(501, "unknown_method", "HTTP has no such method"))
        except httptools.HttpParserError as error:
            self._hang_up(data, Refusal(400, "bad_request", f"that is not HTTP: {error}"))
        if self._head_size > HEAD_LIMIT:
            too_long = Refusal(431, "head_too_large", f"address and headers may have {HEAD_LIMIT} bytes")
            self._hang_up(b" " + self._url, self._objection or too_long)
        self._work()

    def _read(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # An offer, which may be ignored (RFC 9110 §7.8); the parser has not looked at the body, if there is one.
            head = self._head_without_offer()
            self._parser = httptools.HttpRequestParser(self)
            self._read(head + data[upgrade.args[0] :])

    def _head_without_offer(self) -> bytes:
        if self._parser.get_method() == b"CONNECT":
            raise httptools.HttpParserError("there is nothing to connect to here") from None
        kept = [f"{key}: {text}\r\n" for key, text in self._headers.items() if key not in ("connection", "upgrade")]
        return b"%s %s HTTP/1.1\r\n%s\r\n" % (self._parser.get_method(), self._url, "".join(kept).encode("latin-1"))

    def pause_writing(self) -> None:
        """They read slower than they ask: no more answers until they have caught up."""
        self._held = True

    def resume_writing(self) -> None:
        """They have caught up."""
        self._held = False
        self.idle_since = self._now()
        self._work()

    # What the parser tells.

    def on_message_begin(self) -> None:
        """A request."""
        self._begin()
        self._began = self._last_byte

    def on_url(self, url: bytes) -> None:
        """A piece of its address."""
        if len(self._url) + len(url) > URL_LIMIT:
            self._objection = Refusal(414, "uri_too_long", f"an address may have {URL_LIMIT} bytes; POST the query")
        else:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; what is said in two lines is one list (RFC 9110 §5.3). What comes behind a body is no header: it
        is left out of account (RFC 9110 §6.5.1)."""
        if not self._in_head:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self._header_count += 1
        if self._header_count > MAX_HEADERS:
            self._objection = self._objection or Refusal(431, "too_many_headers", f"at most {MAX_HEADERS} headers")
            return
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        """All but the body."""
        self._in_head, self._head_size = False, 0
        modern = self._parser.get_http_version() != "1.0"
        if modern and "," in self._headers.get("host", ","):  # none, or a list: said twice
            self._objection = self._objection or _no_host()
        if self._deaf or not modern or self._headers.get("expect", "").lower() != "100-continue":
            return
        if self._objection is None and int(self._headers.get("content-length", 0)) <= MAX_BODY:
            self._expecting = True
            self._encourage()
        else:  # they wait to hear whether to send it at all
            self._objection = self._objection or _too_large()
            self._complete(stays=False)
            self._deaf = True

    def _encourage(self) -> None:
        """Tell who waits for it to go on, once all before them are answered: else it would be taken for an answer."""
        if self._expecting and self.idle and not self._transport.is_closing():
            self._expecting = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """A piece of the body; of one that is too large, nothing is kept."""
        self._size += len(body)
        if self._size > MAX_BODY:
            self._objection = self._objection or _too_large()
            self._body.clear()
            if self._size > PATIENCE:
                self._hang_up(b" " + self._url, self._objection)
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """All of it is here."""
        if not self._deaf and not self._parser.should_upgrade():
            self._complete(stays=self._parser.should_keep_alive())

    def _complete(self, *, stays: bool) -> None:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        incoming = parse_request(self._parser.get_method().decode(), self._url, self._headers, body)
        incoming.objection = self._objection or incoming.objection
        self._waiting.append(Asked(incoming, stays))
        self._in_head, self._head_size, self._expecting, self._began = True, 0, False, None
        if len(self._waiting) == MOST_WAITING:
            self._transport.pause_reading()

    # Answering.

    def _work(self) -> None:
        while self._waiting and self._task is None and not self._held and not self._transport.is_closing():
            if len(self._waiting) == MOST_WAITING:
                self._transport.resume_reading()
            asked = self._waiting.popleft()
            if isinstance(asked, Last):
                self._end_with(asked)
            else:
                self._answer(asked)
        self._encourage()

    def _answer(self, asked: Asked) -> None:
        pending = self._application.receive(asked.incoming)
        reply = pending.try_answer()
        if reply is None:
            self._task = asyncio.get_running_loop().create_task(self._answer_in_worker(asked, pending))
        elif reply.delivery is IMMEDIATE and not reply.lost:
            self._write(asked, reply)
        else:
            self._task = asyncio.get_running_loop().create_task(self._carry(asked, reply))

    async def _answer_in_worker(self, asked: Asked, pending: PendingRequest) -> None:
        reply = await self._workers.run(asked.incoming.playground_id, pending.answer, waits=pending.waits)
        await self._carry(asked, reply)

    def _write(self, asked: Asked, reply: Reply) -> None:
        self._note_answered()
        stays = self._stays(asked)
        method = asked.incoming.request.method
        self._transport.write(render_head(reply, stays=stays, method=method) + body_of(method, reply))
        if not stays:
            self._transport.close()

    def _note_answered(self) -> None:
        """The times of the client begin anew: it was not the client that took them."""
        self._served, self.idle_since = True, self._now()
        if self._began is not None:
            self._began = self._last_byte = self.idle_since

    def _stays(self, asked: Asked) -> bool:
        """Whether the connection is still needed after this answer."""
        return asked.stays and not (self._leaving and not self._waiting)

    async def _carry(self, asked: Asked, reply: Reply) -> None:
        """Late, in pieces, in part or not at all, as its way has it; then the next."""
        delivery = reply.delivery
        if not delivery.delay or await self._still_there(delivery.delay):
            if reply.lost:
                self._transport.abort()
            elif delivery.pieces > 1 or delivery.promised is not None:
                await self._write_pieces(asked, reply)
            else:
                self._write(asked, reply)
        self._task = None
        self._work()

    async def _write_pieces(self, asked: Asked, reply: Reply) -> None:
        stays = self._stays(asked) and reply.delivery.promised is None
        self._transport.write(render_head(reply, stays=stays or reply.delivery.promised is not None))
        pieces = reply.delivery.divide(body_of(asked.incoming.request.method, reply))
        for piece in pieces:
            if len(pieces) > 1 and not await self._still_there(reply.delivery.over / len(pieces)):
                return
            self._transport.write(piece)
        self._note_answered()
        if not stays:
            self._transport.close()

    async def _still_there(self, seconds: float) -> bool:
        """Whether anybody still waits for it after so long."""
        await asyncio.wait([self._gone], timeout=seconds)
        return not self._gone.done()

    # Ending.

    def _hang_up(self, data: bytes, refusal: Refusal) -> None:
        """Read nothing more, and say why when it is their turn."""
        if self._deaf or self._transport.is_closing():
            return
        self._deaf, self._expecting = True, False
        first = data[:4000].split(b"\r\n", 1)[0].split(b" ")
        playground, sandbox, _ = parse_place(first[1].partition(b"?")[0] if len(first) > 1 else b"/")
        self._waiting.append(Last(playground, sandbox, refusal))

    def _end_with(self, last: Last) -> None:
        """Say why; but let them finish, or they would never see the answer."""
        reply = self._application.refuse_unreadable(last.playground, last.sandbox, last.refusal)
        self._transport.write(render_head(reply, stays=False) + reply.body)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER, self._transport.close)

    def leave(self) -> None:
        """Close it: at once if nobody waits for an answer, else after that. Whoever has closed their side may be gone
        altogether, which looks the same: the end of a run does not wait for them."""
        self._leaving = True
        if self.idle or self._heard_out:
            self._transport.close()

    def sweep(self) -> None:
        """Close it where it has taken longer than it may; a request that is half here is answered 408."""
        now, limits = self._now(), self._open_ones.limits
        if self._transport.is_closing() or self._deaf or not self.idle:
            if (self._held or self._transport.is_closing()) and now - self.idle_since > limits.idle:
                self._transport.abort()  # the client does not read
        elif self._began is None:
            if now - self.idle_since > (limits.idle if self._served else limits.first):
                self.leave()
        elif (late := self._lateness(now, self._began)) is not None:
            self._hang_up(b" " + self._url, Refusal(408, "request_timeout", late))
            self._work()

    def _lateness(self, now: float, began: float) -> str | None:
        limits = self._open_ones.limits
        if self._in_head and now - began > limits.head:
            return f"the headers did not arrive within {limits.head:g} s"
        if not self._in_head and now - self._last_byte > limits.body:
            return f"nothing of the body arrived for {limits.body:g} s"
        return f"the request did not arrive within {limits.request:g} s" if now - began > limits.request else None

    @property
    def may_be_dropped(self) -> bool:
        """Whether closing it interrupts nothing: no request is being answered, and no body is on its way."""
        return self.idle and (self._began is None or self._in_head) and not self._deaf

    def drop(self) -> None:
        """Close it now, to make room for another."""
        self._open_ones.every.discard(self)
        self._transport.abort()

    @property
    def idle(self) -> bool:
        """Whether nobody waits for an answer."""
        return self._task is None and not self._waiting

    async def end(self) -> None:
        """Close it, whoever waits."""
        self._transport.abort()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


def _no_host() -> Refusal:
    return Refusal(400, "bad_request", "a request says once for which host it is (RFC 9112 §3.2)")


def _too_large() -> Refusal:
    return Refusal(413, "too_large", f"a body may have {MAX_BODY} bytes")
