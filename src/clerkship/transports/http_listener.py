"""The HTTP server: one listener on loopback for every playground of this process."""

import asyncio
import os
import socket
import sys
import threading
from dataclasses import dataclass, field

from clerkship.kit.descriptors import Hush, raise_limit
from clerkship.kit.wall import monotonic
from clerkship.model.problem import PlatformError
from clerkship.transports.executor import WorkerPool
from clerkship.transports.http_application import HttpApplication
from clerkship.transports.http_connection import HttpConnection, OpenConnections
from clerkship.transports.limits import ConnectionLimits

START_LIMIT = 10.0
GRACE = 1.0
"""Seconds that whoever is being answered has when the door closes."""
SWEEPS = 8
"""Looks at each connection within the shortest time that one may take."""
SWITCH_INTERVAL = 0.001
"""Seconds after which a worker thread lets the event loop run; Python's own 5 ms would add up with each system call."""


class ListenerFailed(PlatformError):
    """The HTTP listener could not be opened."""


class PortTaken(ListenerFailed):
    """The port of the HTTP listener is in use."""


class HttpListener:
    """Runs in a thread of its own, from the first time somebody asks for its address."""

    def __init__(self, application: HttpApplication, port: int = 0, limits: ConnectionLimits | None = None) -> None:
        self._application = application
        self._port = port
        self._limits = limits or ConnectionLimits()
        self._lock = threading.Lock()
        self._serving: _Serving | None = None
        self._thread: threading.Thread | None = None
        self._url = ""
        self._closed = False

    def url(self) -> str:
        """Its address; opens it if it is not open."""
        with self._lock:
            if self._closed:
                raise ListenerFailed("the run is over; there is no address any more")
            if self._serving is None:
                self._open()
            return self._url

    def _open(self) -> None:
        raise_limit()
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL))
        listening = _bind(self._port)
        # asyncio does not set it on connections of a socket it did not make; without it each reply waits 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serving = _Serving(self._application, listening, self._limits)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(serving.serve()), name="clerkship-listener", daemon=True
        )
        self._thread.start()
        if not serving.started.wait(START_LIMIT):
            raise ListenerFailed("the HTTP listener did not start")
        self._serving = serving
        self._url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    def close(self, within: float = START_LIMIT) -> None:
        """Stop listening; whoever is in the middle of a request is waited for, but not longer than this."""
        with self._lock:
            self._closed = True
            if self._serving is not None and self._thread is not None:
                self._serving.stop()
                self._thread.join(within)
                self._serving.workers.close()
            self._serving = None


def _bind(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port), backlog=1024)
    except OSError as error:
        raise PortTaken(f"nothing can listen on port {port}: {os.strerror(error.errno or 0).lower()}") from None


@dataclass
class _Serving:
    """One loop, and the connections on it."""

    application: HttpApplication
    listening: socket.socket
    limits: ConnectionLimits
    workers: WorkerPool = field(default_factory=WorkerPool)
    started: threading.Event = field(default_factory=threading.Event)
    connections: set[HttpConnection] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None
    _over: asyncio.Event | None = None

    async def serve(self) -> None:
        """Until somebody says stop."""
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_exception_handler(Hush("http"))
        open_ones = OpenConnections(self.connections, self.limits, min(self.limits.connections, raise_limit() // 2))
        server = await self._loop.create_server(
            lambda: HttpConnection(self.application, self.workers, open_ones, monotonic), sock=self.listening
        )
        sweeping = self._loop.create_task(self._sweep())
        self.started.set()
        await self._over.wait()
        server.close()
        sweeping.cancel()
        await self._take_leave()

    def stop(self) -> None:
        """From any thread."""
        if self._loop is not None and self._over is not None:
            self._loop.call_soon_threadsafe(self._over.set)

    async def _sweep(self) -> None:
        """Close connections that have taken longer than they may."""
        while True:
            await asyncio.sleep(self.limits.shortest / SWEEPS)
            for connection in list(self.connections):
                connection.sweep()

    async def _take_leave(self) -> None:
        for connection in list(self.connections):
            connection.leave()
        until = monotonic() + GRACE
        while self.connections and monotonic() < until:  # noqa: ASYNC110  (each goes when its answer has gone)
            await asyncio.sleep(0.005)
        for connection in list(self.connections):
            await connection.end()
