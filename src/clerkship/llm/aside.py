"""A loop of its own beside everybody else's: coroutines for callers that cannot wait for one."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
CLOSE_WITHIN = 5.0


class CalledOff(Exception):
    """Nothing is done here any more."""


class Aside:
    """One thread with one loop, begun with the first thing to do. Any thread may ask, those with a loop running too."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def begin(self, work: Callable[[], Coroutine[Any, Any, T]]) -> concurrent.futures.Future[T]:
        """Begin it; how long it may take is the work's own matter. Raises CalledOff."""
        return asyncio.run_coroutine_threadsafe(work(), self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._gate:
            if self._closed:
                raise CalledOff
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: a question that is never answered shall not keep the process from ending.
                self._thread = threading.Thread(target=self._loop.run_forever, name="clerkship-models", daemon=True)
                self._thread.start()
            return self._loop

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """End the thread, after one last thing; nothing where it never began."""
        with self._gate:
            self._closed = True
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        ending = asyncio.run_coroutine_threadsafe(_leave(last), loop)
        try:
            ending.result(CLOSE_WITHIN)
        except concurrent.futures.TimeoutError:
            return  # it holds on to something; the process will end without it
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_WITHIN)
        if not thread.is_alive():
            loop.close()


async def _leave(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Call off what is still asked, and do the last thing."""
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await last()
