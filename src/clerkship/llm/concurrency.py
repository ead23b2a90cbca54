"""Ask several questions at once and wait for all answers."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")
MAX_THREADS = 8
"""Threads for one call, including the caller's own; endpoints have their own limit."""
MAX_PROCESS_THREADS = 48
"""With so many threads in the process no more are started: that many trials keep an endpoint busy."""


def map_concurrently(ask: Callable[[A], R], items: Sequence[A], *, waits: bool = True) -> list[R]:
    """Call a function for each item in several threads, and return the results in order.

    When all are done, the first error is raised. Items are processed one by one if there is nothing to wait for.
    """
    if len(items) < 2 or not waits or threading.active_count() >= MAX_PROCESS_THREADS:
        return [ask(item) for item in items]
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(items)):
        waiting.put(number)
    found: dict[int, R] = {}
    wrong: dict[int, BaseException] = {}

    def work() -> None:
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                found[number] = ask(items[number])
            except BaseException as error:  # re-raised in the calling thread
                wrong[number] = error

    # Daemons: waiting for a model that does not answer must not keep the process from exiting.
    others = [threading.Thread(target=work, daemon=True) for _ in range(min(len(items), MAX_THREADS) - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()
    if wrong:
        raise wrong[min(wrong)]
    return [found[number] for number in range(len(items))]
