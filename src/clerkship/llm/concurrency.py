"""Ask several questions at once and wait for all answers."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")
MAX_THREADS = 8
"""Threads for one lot, the caller's own among them; an endpoint has a limit of its own besides."""
MAX_PROCESS_THREADS = 48
"""Threads in the process from which on no more are begun: so many trials keep an endpoint busy by themselves."""


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
            except BaseException as error:  # raised again, in the thread that asked
                wrong[number] = error

    # Not kept from ending by one of them: the process may, while a model that does not answer is waited for.
    others = [threading.Thread(target=work, daemon=True) for _ in range(min(len(items), MAX_THREADS) - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()
    if wrong:
        raise wrong[min(wrong)]
    return [found[number] for number in range(len(items))]
