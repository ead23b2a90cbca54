"""The HTTP door: one listener on loopback for every playground of this process."""

import asyncio
import os
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import parse_qsl, unquote

from clerkship.model.problem import PlatformError
from clerkship.playground.apart import Apart
from clerkship.playground.gateway import BODY_LIMIT, Exchange, SimulatorBroken
from clerkship.sandbox.exchange import Query, Refusal, Reply, Request, refuse_as_json

if TYPE_CHECKING:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
START_LIMIT = 10.0
CONNECTION = "clerkship.connection"
_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(?::\d{1,5})?|\[[0-9a-fA-F:.]{2,45}\](?::\d{1,5})?")


class ListenerFailed(PlatformError):
    """The HTTP door did not open."""


class ClientGone(Exception):
    """Whoever was sending has gone before the end."""


class PortTaken(ListenerFailed):
    """Somebody else listens where the HTTP door was to be."""


class Answers(Protocol):
    """The gateway, or what stands before it."""

    def handle(self, exchange: Exchange) -> Reply:
        """One request."""
        ...

    def takes_time(self, exchange: Exchange) -> bool:
        """Whether others should not wait for it."""
        ...


class Listener:
    """Runs in a thread of its own, from the first time somebody asks for its address."""

    def __init__(self, gateway: Answers, port: int = 0) -> None:
        self._gateway = gateway
        self._port = port
        self._lock = threading.Lock()
        self._server: uvicorn.Server | None = None
        self._app: GatewayApp | None = None
        self._thread: threading.Thread | None = None
        self._url = ""
        self._closed = False

    def url(self) -> str:
        """Its address; opens it if it is not open."""
        with self._lock:
            if self._closed:
                raise ListenerFailed("the run is over; there is no address any more")
            if self._server is None:
                self._open()
            return self._url

    def _open(self) -> None:
        import uvicorn  # noqa: PLC0415  (most runs never listen, and it takes a fifth of a second)

        listening = _bind(self._port)
        # asyncio does not set it on connections of a socket it did not make; without it each reply waits 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._app = GatewayApp(self._gateway)
        config = uvicorn.Config(
            self._app,
            http=_breakable(),
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        started = threading.Event()
        self._thread = threading.Thread(
            target=_serve, args=(server, listening, started), name="clerkship-listener", daemon=True
        )
        self._thread.start()
        if not started.wait(START_LIMIT):
            raise ListenerFailed("the HTTP listener did not start")
        self._server = server
        self._url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    def close(self, within: float = START_LIMIT) -> None:
        """Stop listening; whoever is in the middle of a request is waited for, but not longer than this."""
        with self._lock:
            self._closed = True
            if self._server is not None and self._thread is not None:
                self._server.should_exit = True
                self._thread.join(within)
            if self._app is not None:
                self._app.close()
            self._server = None


def _bind(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port), backlog=1024)
    except OSError as error:
        raise PortTaken(f"nothing can listen on port {port}: {os.strerror(error.errno or 0).lower()}") from None


def _serve(server: "uvicorn.Server", listening: socket.socket, started: threading.Event) -> None:
    async def serve() -> None:
        task = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started and not task.done():  # noqa: ASYNC110  (uvicorn has no event for it)
            await asyncio.sleep(0.002)
        started.set()
        await task

    asyncio.run(serve())


def _breakable() -> "type[H11Protocol]":
    """Uvicorn's HTTP, with the connection within the application's reach: ASGI has no word for breaking it."""
    from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: PLC0415  (as above)

    class Breakable(H11Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(cast(asyncio.Transport, transport))
            self.app_state = {**self.app_state, CONNECTION: transport}

    return Breakable


class GatewayApp:
    """HTTP to an exchange and back (ASGI)."""

    def __init__(self, gateway: Answers) -> None:
        self._gateway = gateway
        self._apart = Apart()

    def close(self) -> None:
        """No more requests."""
        self._apart.close()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        try:
            exchange = parse_exchange(scope, await _read_body(receive))
        except ClientGone:
            return  # half a request is no request
        except Refusal as refusal:
            await Answer(scope, receive, send).write(refuse_as_json(refusal))
            return
        try:
            if self._gateway.takes_time(exchange):
                reply = await self._apart.do(exchange.playground_id, partial(self._gateway.handle, exchange))
            else:
                reply = self._gateway.handle(exchange)
        except SimulatorBroken:
            reply = refuse_as_json(Refusal(500, "internal_error", "the simulator failed; the run will be errored"))
        try:
            await Answer(scope, receive, send).write(reply)
        except ClientGone:
            return  # it did not wait for the end


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_LIMIT:
            raise Refusal(413, "too_large", f"a body may have {BODY_LIMIT} bytes")
        more = message.get("more_body", False)
    return b"".join(parts)


def parse_exchange(scope: MutableMapping[str, Any], body: bytes) -> Exchange:
    """`/{playground}/{sandbox}/…` with a bearer token."""
    raw = scope.get("raw_path") or scope["path"].encode()
    playground, _, rest = raw.decode("latin-1").lstrip("/").partition("/")
    sandbox, _, path = rest.partition("/")
    headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
    query = Query(tuple(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)))
    scheme, _, token = headers.get("authorization", "").partition(" ")
    request = Request(scope["method"], "/" + _decoded(path), query, headers, body)
    given = token.strip() if scheme.lower() == "bearer" else ""
    return Exchange(playground, sandbox, request, given, base=f"http://{_host(headers)}/{playground}/{sandbox}")


def _host(headers: Mapping[str, str]) -> str:
    """Where the client believes to be; links lead it there again."""
    host = headers.get("host", "")
    return host if _HOST.fullmatch(host) else "localhost"


def _decoded(path: str) -> str:
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        raise Refusal(400, "bad_path", "the path is not UTF-8") from None


class Answer:
    """One reply on its way out, with all that may happen to it there."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send

    async def write(self, reply: Reply) -> None:
        """Late, in pieces, in part or not at all, as its way has it."""
        if reply.way.delay:
            await self._wait(reply.way.delay)
        if reply.lost:
            self._scope["state"][CONNECTION].abort()
            await self._until_gone()
            return
        await self._send({"type": "http.response.start", "status": reply.status, "headers": _head(reply)})
        pieces = reply.way.divide(b"" if self._scope["method"] == "HEAD" else reply.body)
        for number, piece in enumerate(pieces, 1):
            if len(pieces) > 1:
                await self._wait(reply.way.over / len(pieces))
            more = number < len(pieces) or reply.way.promised is not None
            await self._send({"type": "http.response.body", "body": piece, "more_body": more})
        if reply.way.promised is not None:
            self._scope["state"][CONNECTION].close()
            await self._until_gone()

    async def _wait(self, seconds: float) -> None:
        """So long, or until nobody waits for it any more."""
        try:
            async with asyncio.timeout(seconds):
                await self._until_gone()
        except TimeoutError:
            return
        raise ClientGone

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _head(reply: Reply) -> list[tuple[bytes, bytes]]:
    length = len(reply.body) if reply.way.promised is None else reply.way.promised
    headers = {"content-length": str(length)} if reply.status != 204 else {}
    if length:
        headers["content-type"] = reply.media
    if reply.status == 401:
        headers["www-authenticate"] = 'Bearer realm="clerkship"'
    headers |= {key.lower(): value for key, value in reply.headers.items()}
    return [(key.encode(), value.encode()) for key, value in headers.items()]
