"""Requests that may take their time, in threads of their own: somebody who thinks must not hold up those who do not."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

AT_ONCE = 256
"""Threads at most: as many people may think at a time. Further requests wait for one of them."""
T = TypeVar("T")


class Apart:
    """Used by one loop. What is for one playground is done one by one, in the order it came: so nobody who waits for a
    person takes a thread from others, however often they knock."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._queues: dict[str, tuple[asyncio.Lock, int]] = {}

    async def do(self, playground: str, work: Callable[[], T]) -> T:
        """Do it in a thread, after what came before it for the same playground."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="clerkship-apart")
        queue, waiting = self._queues.get(playground, (asyncio.Lock(), 0))
        self._queues[playground] = queue, waiting + 1
        try:
            async with queue:
                return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            waiting = self._queues[playground][1] - 1
            if waiting:
                self._queues[playground] = queue, waiting
            else:
                del self._queues[playground]

    def close(self) -> None:
        """No more of it; what is being done ends when it ends."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
