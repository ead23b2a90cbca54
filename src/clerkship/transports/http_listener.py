"""The HTTP server: one listener for all playgrounds of this process, on loopback unless another address is given."""

import errno
import os
import threading

from clerkship.kit.descriptors import raise_limit
from clerkship.transports.executor import WorkerPool
from clerkship.transports.http_application import HttpApplication
from clerkship.transports.http_connection import HttpConnection
from clerkship.transports.limits import ConnectionLimits
from clerkship.transports.loop_thread import ForeignHost, ListenerFailed, LoopThread, PortTaken
from clerkship.transports.tcp import LOOPBACK, TcpListener, describe_host, to_reachable_host

START_TIMEOUT = 10.0
GRACE_SECONDS = 1.0
"""Seconds that running requests have to finish when the listener closes."""


class HttpListener:
    """An HTTP server in its own thread. It starts when its address is first used."""

    def __init__(
        self, application: HttpApplication, port: int = 0, limits: ConnectionLimits | None = None, host: str = LOOPBACK
    ) -> None:
        self._application = application
        self._host, self._port = host, port
        self._limits = limits or ConnectionLimits()
        self._lock = threading.Lock()
        self._thread: LoopThread | None = None
        self._workers = WorkerPool()
        self._url = ""
        self._closed = False

    def url(self) -> str:
        """Return the address for clients on this machine; open the listener if it is not open."""
        with self._lock:
            if self._closed:
                raise ListenerFailed("the run has ended; its HTTP listener is closed")
            if self._thread is None:
                self._open()
            return self._url

    def _open(self) -> None:
        tcp = TcpListener(self._limits, raise_limit() // 2)
        try:
            port = tcp.open_port(self._host, self._port)
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            failure = ForeignHost if error.errno == errno.EADDRNOTAVAIL else PortTaken
            raise failure(f"cannot listen on port {self._port}{describe_host(self._host)}: {reason}") from None

        async def serve() -> None:
            await port.serve(lambda port: HttpConnection(self._application, self._workers, port))
            tcp.start_sweeping()

        thread = LoopThread("http")
        try:
            thread.start(serve, lambda: tcp.close(GRACE_SECONDS), START_TIMEOUT)
        except TimeoutError:
            raise ListenerFailed("the HTTP listener did not start") from None
        self._thread, self._url = thread, f"http://{to_reachable_host(self._host)}:{port.number}"

    def close(self, within: float = START_TIMEOUT) -> None:
        """Stop listening, and wait up to `within` seconds for running requests."""
        with self._lock:
            self._closed = True
            if self._thread is not None:
                self._thread.stop(within)
                self._workers.close()
            self._thread = None
