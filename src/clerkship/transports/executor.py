"""Run slow requests in worker threads, so that the event loop stays free."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MAX_WAITING_THREADS = 256
"""Threads for requests that wait for a model and need no processor meanwhile. Further requests wait for a thread."""
MAX_WORKERS = 4
"""Threads for requests that need the processor. More threads would not be faster, and each competes with the loop."""
T = TypeVar("T")


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
        queue, waiting = self._queues.get(playground, (asyncio.Lock(), 0))
        self._queues[playground] = queue, waiting + 1
        try:
            async with queue:
                return await asyncio.get_running_loop().run_in_executor(self._pool(waits), work)
        finally:
            waiting = self._queues[playground][1] - 1
            if waiting:
                self._queues[playground] = queue, waiting
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
