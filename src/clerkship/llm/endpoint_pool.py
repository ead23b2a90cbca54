"""Connections to model endpoints, shared by all models of a run: one event loop, and a limit for each host.

See docs/decisions/0008-judges-and-models.md.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from clerkship.kit.http_client import open_client
from clerkship.llm.retry import ConcurrencyLimit

if TYPE_CHECKING:
    import httpx

R = TypeVar("R")
H = TypeVar("H")
DEFAULT_AT_ONCE = 8
"""Concurrent requests to one endpoint, by default."""
CLOSE_TIMEOUT = 5.0


class CallCancelled(Exception):
    """The model was closed before or during a call."""


class HostConnections:
    """Connections to one host, and a limit on concurrent requests."""

    def __init__(self, address: str, at_once: int | None) -> None:
        self._address = address
        self._at_once = at_once
        self._requested: list[int] = []
        self._limit: ConcurrencyLimit | None = None
        self._free: list[httpx.AsyncClient] = []
        """The last used one is at the end: it is the most likely to be still open."""
        self._held: dict[Hashable, tuple[Any, Callable[[], Awaitable[None]]]] = {}

    def allow(self, at_once: int) -> None:
        """Reserve capacity for the concurrent requests of one model."""
        self._requested.append(at_once)

    @property
    def limit(self) -> ConcurrencyLimit:
        """The limit that all models share: as configured, or at least the sum of their own limits."""
        if self._limit is None:
            self._limit = ConcurrencyLimit(self._at_once or max(DEFAULT_AT_ONCE, sum(self._requested)))
        return self._limit

    @contextmanager
    def lend(self) -> "Iterator[httpx.AsyncClient]":
        """Lend a connection for one request.

        Connections are pooled here because the pool of httpx scans all connections for each request; with 32 of them
        this took longer than everything else.
        """
        client = self._free.pop() if self._free else open_client(self._address, None, 1)
        try:
            yield client
        finally:
            self._free.append(client)

    def hold(self, name: Hashable, make: Callable[[], H], close: Callable[[H], Awaitable[None]]) -> H:
        """Return a client object that all models share, created on first use."""
        if name not in self._held:
            made = make()
            self._held[name] = made, lambda: close(made)
        return cast(H, self._held[name][0])

    async def close(self) -> None:
        for client in self._free:
            await client.aclose()
        for _, close in self._held.values():
            await close()


class EndpointPool:
    """Runs the requests of several models in one thread with an event loop.

    The thread starts with the first request, and is stopped when the last model is closed.
    """

    def __init__(self, at_once: int | None = None) -> None:
        self._at_once = at_once
        self._lock = threading.Lock()
        self._hosts: dict[str, HostConnections] = {}
        self._clients = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread()

    def host(self, address: str) -> HostConnections:
        """Return the connections to the host of an address; all models share them."""
        parts = urlsplit(address)
        key = f"{parts.scheme}://{parts.netloc}".lower()
        with self._lock:
            return self._hosts.setdefault(key, HostConnections(address, self._at_once))

    def client(self) -> "EndpointClient":
        """Return a client for one model."""
        with self._lock:
            self._clients += 1
        return EndpointClient(self)

    def begin(self, work: Callable[[], Coroutine[Any, Any, R]]) -> "concurrent.futures.Future[R]":
        """Start a coroutine in the loop, from any thread."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: a request without an answer must not keep the process from exiting.
                self._thread = threading.Thread(target=self._loop.run_forever, name="clerkship-models", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def release(self) -> None:
        """Release one client; after the last one, close the connections and the loop."""
        with self._lock:
            self._clients -= 1
            if self._clients or self._loop is None:
                return
            loop, thread, self._loop = self._loop, self._thread, None
        closing = asyncio.run_coroutine_threadsafe(self._close(), loop)
        try:
            closing.result(CLOSE_TIMEOUT)
        except concurrent.futures.TimeoutError:
            return  # a request does not end; the process can exit without it
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_TIMEOUT)
        if not thread.is_alive():
            loop.close()

    async def _close(self) -> None:
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for host in self._hosts.values():
            await host.close()


class EndpointClient:
    """The access of one model to the pool: closing it cancels that model's requests only."""

    def __init__(self, pool: EndpointPool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._closed = False
        self._under_way: set[concurrent.futures.Future[Any]] = set()

    def run(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Run a coroutine in the pool's loop and wait for its result; raise CallCancelled."""
        with self._lock:
            if self._closed:
                raise CallCancelled
            begun = self._pool.begin(work)
            self._under_way.add(begun)
        try:
            return begun.result()
        except concurrent.futures.CancelledError:
            raise CallCancelled from None
        finally:
            with self._lock:
                self._under_way.discard(begun)

    def close(self) -> None:
        """Cancel the requests under way, and release the pool."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            left = list(self._under_way)
        for begun in left:
            begun.cancel()
        self._pool.release()
