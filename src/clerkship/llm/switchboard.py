"""The lines of a run to the endpoints of its models: one loop for all, one pool and one limit for each address."""

import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from clerkship.llm.aside import Aside, CalledOff
from clerkship.llm.patience import Limit
from clerkship.llm.wire import open_client

if TYPE_CHECKING:
    import httpx

R = TypeVar("R")
H = TypeVar("H")
AT_ONCE = 8
"""Questions under way at one endpoint, where nobody says."""


class Line:
    """The way to one endpoint: its connections, and how many questions may be under way there."""

    def __init__(self, address: str, at_once: int | None) -> None:
        self._address = address
        self._at_once = at_once
        self._wanted: list[int] = []
        self._limit: Limit | None = None
        self._free: list[httpx.AsyncClient] = []
        """The one that was used last at the end: it is the likeliest to be open still."""
        self._held: dict[str, tuple[Any, Callable[[], Awaitable[None]]]] = {}

    def want(self, at_once: int) -> None:
        """One of those who ask here was told how many questions it may have under way."""
        self._wanted.append(at_once)

    @property
    def limit(self) -> Limit:
        """For everybody who asks here together: what was set, or else no fewer than they were told."""
        if self._limit is None:
            self._limit = Limit(self._at_once or max(AT_ONCE, sum(self._wanted)))
        return self._limit

    @contextmanager
    def lend(self) -> "Iterator[httpx.AsyncClient]":
        """A connection for plain HTTP, one's own until one is done with it. The pool is here and not in httpx: its own
        looks at every connection for every other one on each request, which at 32 took longer than all else."""
        client = self._free.pop() if self._free else open_client(self._address, None, 1)
        try:
            yield client
        finally:
            self._free.append(client)

    def hold(self, name: str, make: Callable[[], H], close: Callable[[H], Awaitable[None]]) -> H:
        """What is used to ask here, made once for all who do."""
        if name not in self._held:
            made = make()
            self._held[name] = made, lambda: close(made)
        return cast(H, self._held[name][0])

    async def hang_up(self) -> None:
        """Let go of what is held."""
        for client in self._free:
            await client.aclose()
        for _, close in self._held.values():
            await close()


class Switchboard:
    """Where the models of a run ask. It is closed with the last of them."""

    def __init__(self, at_once: int | None = None) -> None:
        self._at_once = at_once
        self._aside = Aside()
        self._gate = threading.Lock()
        self._lines: dict[str, Line] = {}
        self._extensions = 0

    def line(self, address: str) -> Line:
        """To the host of an address, for everybody the same."""
        parts = urlsplit(address)
        with self._gate:
            return self._lines.setdefault(f"{parts.scheme}://{parts.netloc}".lower(), Line(address, self._at_once))

    def extension(self) -> "Extension":
        """A model's own part of it."""
        with self._gate:
            self._extensions += 1
        return Extension(self._aside, self._left)

    def _left(self) -> None:
        with self._gate:
            self._extensions -= 1
            last = self._extensions == 0
        if last:
            self._aside.close(self._hang_up)

    async def _hang_up(self) -> None:
        for line in self._lines.values():
            await line.hang_up()


class Extension:
    """Where one model asks: closing it calls off what that model is asked, and nobody else's."""

    def __init__(self, aside: Aside, left: Callable[[], None]) -> None:
        self._aside, self._left = aside, left
        self._gate = threading.Lock()
        self._closed = False
        self._under_way: set[concurrent.futures.Future[Any]] = set()

    def do(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Do it and wait for what comes of it. Raises CalledOff."""
        with self._gate:
            if self._closed:
                raise CalledOff
            begun = self._aside.begin(work)
            self._under_way.add(begun)
        try:
            return begun.result()
        except concurrent.futures.CancelledError:
            raise CalledOff from None
        finally:
            with self._gate:
                self._under_way.discard(begun)

    def close(self) -> None:
        """Call off what is under way; whoever waits for it goes on at once."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            left = list(self._under_way)
        for begun in left:
            begun.cancel()
        self._left()
