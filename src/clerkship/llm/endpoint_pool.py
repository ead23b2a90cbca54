"""The endpoints that the models of a run ask: one event loop for all, connections and a limit for each host.

See docs/decisions/0008-judges-and-models.md.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from clerkship.llm.http_client import open_client
from clerkship.llm.retry import ConcurrencyLimit

if TYPE_CHECKING:
    import httpx

R = TypeVar("R")
H = TypeVar("H")
DEFAULT_AT_ONCE = 8
"""Requests under way at one endpoint if nothing else is set."""
CLOSE_TIMEOUT = 5.0


class CallCancelled(Exception):
    """The model was closed while it was asked, or before."""


class HostConnections:
    """Connections to one host, and how many requests may be under way there."""

    def __init__(self, address: str, at_once: int | None) -> None:
        self._address = address
        self._at_once = at_once
        self._requested: list[int] = []
        self._limit: ConcurrencyLimit | None = None
        self._free: list[httpx.AsyncClient] = []
        """The one that was used last is at the end: it is the likeliest to be open still."""
        self._held: dict[Hashable, tuple[Any, Callable[[], Awaitable[None]]]] = {}

    def allow(self, at_once: int) -> None:
        """Make room for the requests that one model may have under way."""
        self._requested.append(at_once)

    @property
    def limit(self) -> ConcurrencyLimit:
        """The limit that all models share: as it is set, or no lower than the sum of their own."""
        if self._limit is None:
            self._limit = ConcurrencyLimit(self._at_once or max(DEFAULT_AT_ONCE, sum(self._requested)))
        return self._limit

    @contextmanager
    def lend(self) -> "Iterator[httpx.AsyncClient]":
        """Lend a connection for one request. The pool is here and not in httpx: that looks at every connection for
        every other one on each request, which at 32 took longer than everything else."""
        client = self._free.pop() if self._free else open_client(self._address, None, 1)
        try:
            yield client
        finally:
            self._free.append(client)

    def hold(self, name: Hashable, make: Callable[[], H], close: Callable[[H], Awaitable[None]]) -> H:
        """Return what is used to ask here, made once for all models."""
        if name not in self._held:
            made = make()
            self._held[name] = made, lambda: close(made)
        return cast(H, self._held[name][0])

    async def close(self) -> None:
        """Close the connections."""
        for client in self._free:
            await client.aclose()
        for _, close in self._held.values():
            await close()


class EndpointPool:
    """Runs requests of several models in one thread with an event loop. It starts with the first request, and is closed
    with the last model."""

    def __init__(self, at_once: int | None = None) -> None:
        self._at_once = at_once
        self._lock = threading.Lock()
        self._hosts: dict[str, HostConnections] = {}
        self._clients = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread()

    def host(self, address: str) -> HostConnections:
        """Return the connections to the host of an address; the same for all models."""
        parts = urlsplit(address)
        key = f"{parts.scheme}://{parts.netloc}".lower()
        with self._lock:
            return self._hosts.setdefault(key, HostConnections(address, self._at_once))

    def client(self) -> "EndpointClient":
        """Return what one model asks through."""
        with self._lock:
            self._clients += 1
        return EndpointClient(self)

    def begin(self, work: Callable[[], Coroutine[Any, Any, R]]) -> "concurrent.futures.Future[R]":
        """Start work in the loop; any thread may, those with a running loop too."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: a request that is never answered must not keep the process from ending.
                self._thread = threading.Thread(target=self._loop.run_forever, name="clerkship-models", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def release(self) -> None:
        """Let go of one client; with the last, close the connections and the loop."""
        with self._lock:
            self._clients -= 1
            if self._clients or self._loop is None:
                return
            loop, thread, self._loop = self._loop, self._thread, None
        closing = asyncio.run_coroutine_threadsafe(self._close(), loop)
        try:
            closing.result(CLOSE_TIMEOUT)
        except concurrent.futures.TimeoutError:
            return  # something does not end; the process will end without it
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
    """What one model asks through: to close it cancels that model's requests, and no others."""

    def __init__(self, pool: EndpointPool) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._closed = False
        self._under_way: set[concurrent.futures.Future[Any]] = set()

    def run(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Run work in the pool's loop and wait for the result; raise CallCancelled."""
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
        """Cancel what is under way; threads that wait for it continue at once."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            left = list(self._under_way)
        for begun in left:
            begun.cancel()
        self._pool.release()
