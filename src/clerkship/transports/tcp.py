"""TCP listeners with one or more ports, and the base class of their connections."""

import asyncio
import socket
import ssl
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from clerkship.kit.wall import monotonic
from clerkship.transports.limits import ConnectionLimits, ConnectionTable
from clerkship.transports.network import LOOPBACK

BACKLOG = 1024
MAX_ACCEPTED = 64
"""Connections accepted in one turn of the loop: each is an open file before a limit is checked."""
LINGER_SECONDS = 2.0
"""Seconds in which a client that is still sending can read the last reply."""
POLL_SECONDS = 0.005
SWITCH_INTERVAL = 0.001
"""Seconds after which a worker thread lets the event loop run. Python's default of 5 ms would slow each system call."""


def is_own_address(ip: str) -> bool:
    """Return whether an IP address is one of this machine."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((ip, 0))
    except OSError:
        return False
    return True


def describe_host(host: str) -> str:
    """Return ` of ADDRESS` for messages about an address other than loopback."""
    return "" if host == LOOPBACK else f" of {host}"


def bind(host: str, port: int) -> socket.socket:
    """Bind a port, or any free port if it is 0. Raise OSError if that fails."""
    listening = socket.create_server((host, port), backlog=BACKLOG)
    # asyncio does not set this for a socket that it did not create; without it, each reply is delayed by 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


@dataclass(eq=False)
class OpenPort:
    """One port of a listener, with its connections."""

    table: ConnectionTable
    socket: socket.socket
    connections: "set[TcpConnection]" = field(default_factory=set)
    is_served: bool = False
    _server: asyncio.Server | None = None

    @property
    def number(self) -> int:
        number: int = self.socket.getsockname()[1]
        return number

    async def serve(
        self, make: "Callable[[OpenPort], TcpConnection]", tls_context: ssl.SSLContext | None = None
    ) -> None:
        """Accept connections; with a TLS context, each begins with TLS."""
        self.is_served = True
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: make(self), sock=self.socket, backlog=MAX_ACCEPTED, ssl=tls_context
        )
        self.socket.listen(BACKLOG)  # create_server has set the backlog to MAX_ACCEPTED

    def stop(self) -> None:
        """Stop accepting connections."""
        if self._server is not None:
            self._server.close()
        self.socket.close()


class TcpListener:
    """The ports of one protocol, which share limits, connection table and sweep."""

    def __init__(self, limits: ConnectionLimits, max_connections: int) -> None:
        self.table = ConnectionTable(limits, max_connections)
        self.ports: dict[str, OpenPort] = {}
        """By name; the main port has the name ``""``."""
        self._lock = threading.Lock()
        self._sweeping: asyncio.Task[None] | None = None

    def open_port(self, host: str, number: int = 0, name: str = "") -> OpenPort:
        """Return the port of this name, and bind it if necessary. Can be called from any thread."""
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))
        with self._lock:
            if name not in self.ports:
                self.ports[name] = OpenPort(self.table, bind(host, number))
            return self.ports[name]

    def numbers(self) -> list[int]:
        """List the numbers of all ports. Can be called from any thread."""
        with self._lock:
            return [port.number for port in self.ports.values()]

    async def close_port(self, name: str) -> None:
        """Close one port and its connections."""
        with self._lock:
            port = self.ports.pop(name, None)
        if port is not None:
            port.stop()
            for connection in list(port.connections):
                await connection.end()

    def start_sweeping(self, also: Callable[[], None] | None = None) -> None:
        """Start to close connections that exceed their timeouts; call `also` with each sweep."""
        self._sweeping = asyncio.get_running_loop().create_task(self._sweep(also))

    async def _sweep(self, also: Callable[[], None] | None) -> None:
        while True:
            await asyncio.sleep(self.table.limits.sweep_interval)
            now = monotonic()
            for connection in self.table:
                with suppress(OSError):
                    connection.sweep(now)
            if also is not None:
                also()

    async def close(self, grace: float = 0.0) -> None:
        """Stop accepting connections, and close the open ones. Pending replies get `grace` seconds."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for port in self.ports.values():
            port.stop()
        if grace:
            await self._leave(grace)
        for connection in self.table:
            await connection.end()

    async def _leave(self, grace: float) -> None:
        for connection in self.table:
            connection.leave()
        until = monotonic() + grace
        while any(True for _ in self.table) and monotonic() < until:  # noqa: ASYNC110  (each connection closes by itself)
            await asyncio.sleep(POLL_SECONDS)


class TcpConnection(ABC, asyncio.Protocol):
    """A connection that answers requests one at a time, in order of arrival."""

    def __init__(self, port: OpenPort) -> None:
        self._port, self._table = port, port.table
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writable = asyncio.Event()
        """Cleared while the client does not read."""
        self._writable.set()
        self._task: asyncio.Task[None] | None = None
        self._ignores_input = False
        self._is_leaving = False
        self._opened_at = self._active_at = monotonic()

    @property
    def limits(self) -> ConnectionLimits:
        """The limits of its listener."""
        return self._table.limits

    @property
    @abstractmethod
    def is_evictable(self) -> bool:
        """Whether it can be closed without interrupting a request."""

    @property
    def progress(self) -> int:
        """How far it has got; equal for all connections unless overridden."""
        return 0

    @abstractmethod
    def refuse_connection(self) -> None:
        """Tell the client that the listener is full, and close the connection."""

    @abstractmethod
    def sweep_input(self, now: float) -> None:
        """Close the connection if the client exceeds a timeout while sending."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Add the connection to the table, or refuse it if the table is full."""
        self._transport = cast(asyncio.Transport, transport)
        self._port.connections.add(self)
        if self._table.enter(self):
            return
        self._ignores_input = True
        if self._table.refuse(self):
            self.refuse_connection()
        else:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the table."""
        self._port.connections.discard(self)
        self._table.leave(self)
        self._writable.set()
        if not self._gone.done():
            self._gone.set_result(None)

    def pause_writing(self) -> None:
        """Stop answering until the client has read the earlier replies."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Continue to answer requests."""
        self._writable.set()

    def close_with(self, data: bytes) -> None:
        """Send the last bytes, ignore further input, and close after LINGER_SECONDS.

        A connection that is closed while the client is still sending is reset, and the client would not see the last
        bytes.
        """
        self._ignores_input = True
        if data:
            self._transport.write(data)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.close)

    def sweep(self, now: float) -> None:
        """Close the connection if the client exceeds a timeout while sending or reading."""
        is_stuck = not self._writable.is_set() or self._transport.is_closing()
        if is_stuck and now - self._active_at > self.limits.idle:
            self._transport.abort()
        else:
            self.sweep_input(now)

    async def wait_gone(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether the client has closed the connection."""
        await asyncio.wait([self._gone], timeout=seconds)
        return self._gone.done()

    async def can_write(self) -> bool:
        """Wait until the client has read the earlier replies; return False if the connection is closed."""
        await self._writable.wait()
        return not self._gone.done()

    def drop(self) -> None:
        """Close the connection at once."""
        self._transport.abort()

    def leave(self) -> None:
        """Close the connection once its pending replies are sent."""
        self.drop()

    async def end(self) -> None:
        """Close the connection at once, and wait for its running task."""
        task = self._task
        self._transport.abort()
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
