"""Event loops in separate threads, for servers beside synchronous code, and the worker threads of their requests."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from clerkship.kit.descriptors import ThrottledErrorHandler
from clerkship.model.errors import PlatformError

MAX_WAITING_THREADS = 256
"""Threads for requests that wait for a model and need no processor meanwhile. Further requests wait for a thread."""
MAX_WORKERS = 4
"""Threads for requests that need the processor. More threads would not be faster, and each competes with the loop."""
T = TypeVar("T")
GRACE_SECONDS = 1.0
"""Seconds that submitted work has to end when the loop stops."""

Work = Callable[[], Coroutine[Any, Any, None]]


class WorkerPool:
    """The worker threads of one event loop.

    The requests of one playground run one at a time, in order of arrival, so that a playground uses at most one
    thread.
    """

    def __init__(self) -> None:
        self._pools: dict[bool, ThreadPoolExecutor] = {}
        self._queues: dict[str, tuple[asyncio.Lock, int]] = {}

    async def run(self, playground: str, work: Callable[[], T], *, waits: bool = False) -> T:
        """Run `work` in a thread, after the earlier work of the same playground.

        Set `waits` for work that mostly waits for something other than the processor, such as a model.
        """
        return await (await self.start(playground, work, waits=waits))

    async def start(self, playground: str, work: Callable[[], T], *, waits: bool = False) -> "asyncio.Future[T]":
        """Start `work` in a thread once the earlier work of the same playground has ended."""
        queue, waiting = self._queues.get(playground, (asyncio.Lock(), 0))
        self._queues[playground] = queue, waiting + 1
        try:
            await queue.acquire()
        except BaseException:
            self._leave(playground)
            raise
        try:
            started = asyncio.get_running_loop().run_in_executor(self._pool(waits), work)
        except BaseException:
            queue.release()
            self._leave(playground)
            raise

        def ended(_: "asyncio.Future[T]") -> None:
            queue.release()
            self._leave(playground)

        started.add_done_callback(ended)
        return started

    def _leave(self, playground: str) -> None:
        queue, waiting = self._queues[playground]
        if waiting > 1:
            self._queues[playground] = queue, waiting - 1
        else:
            del self._queues[playground]

    def _pool(self, waits: bool) -> ThreadPoolExecutor:
        if waits not in self._pools:
            size = MAX_WAITING_THREADS if waits else MAX_WORKERS
            self._pools[waits] = ThreadPoolExecutor(size, thread_name_prefix="clerkship-worker")
        return self._pools[waits]

    def close(self) -> None:
        """Cancel the work that has not started; running work ends by itself."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)


class ListenerFailed(PlatformError):
    """A listener did not start."""


class PortTaken(ListenerFailed):
    """The port of a listener is in use."""


class ForeignHost(PortTaken):
    """The address of a listener is not one of this machine."""


class LoopThread:
    """A thread that opens a server, runs its event loop until `stop`, and closes the server."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, open_server: Work, close_server: Work, within: float) -> None:
        """Start the thread and wait until the server is open. Raise what `open_server` raises, or TimeoutError."""
        opened: Future[None] = Future()

        def run() -> None:
            asyncio.run(self._serve(opened, lambda: asyncio.wait_for(open_server(), within), close_server))

        self._thread = threading.Thread(target=run, name=f"clerkship-{self._name}", daemon=True)
        self._thread.start()
        opened.result(within + GRACE_SECONDS)

    async def _serve(self, opened: "Future[None]", open_server: Work, close_server: Work) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_exception_handler(ThrottledErrorHandler(self._name))
        try:
            await open_server()
        except Exception as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        await self._stopping.wait()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE_SECONDS)
        await close_server()

    def submit(self, work: Work) -> None:
        """Run work in the loop; does nothing if the loop is closed. Can be called from any thread."""

        def begin() -> None:
            self._tasks.add(task := asyncio.ensure_future(work()))
            task.add_done_callback(self._tasks.discard)

        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(begin)

    def stop(self, within: float) -> None:
        """Close the server and wait up to `within` seconds for it. Can be called from any thread."""
        if self._loop is not None and self._stopping is not None and self._thread is not None:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(within)
