"""Waiting without fixed pauses: for a condition, and for work that must not take forever."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Never, TypeVar

import pytest

from clerkship.kit.wall import monotonic

T = TypeVar("T")
DEADLINE = 30.0
"""Seconds after which a condition counts as never fulfilled. Generous: a busy machine is slow."""
POLL_INTERVAL = 0.002


def wait_until(condition: Callable[[], T], reason: str = "", within: float = DEADLINE) -> T:
    """Return the first true value of a condition that another thread or process fulfils."""
    deadline = monotonic() + within
    while not (value := condition()):
        if monotonic() > deadline:
            raise AssertionError(f"not fulfilled within {within:g} s: {reason or condition}")
        threading.Event().wait(POLL_INTERVAL)
    return value


def wait_until_stable(value: Callable[[], T], rounds: int = 50) -> T:
    """Return a value once it has not changed for a number of polls."""
    last, unchanged = value(), 0
    while unchanged < rounds:
        threading.Event().wait(POLL_INTERVAL)
        current = value()
        unchanged = unchanged + 1 if current == last else 0
        last = current
    return last


@contextmanager
def processor_limit(seconds: float = 30.0) -> Iterator[None]:
    """Fail if the block takes this much processor time of this process.

    The limit tells work that grows with the square of its input from work that does not. Other processes of the machine
    do not count.
    """

    def fail(*_: object) -> Never:
        raise AssertionError(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Fail if the block is not over after some seconds of wall time, whatever it waits for.

    It is for what would wait for ever, so it must be far more than a busy machine needs. What catches the failure gets
    it again.
    """

    def fail(*_: object) -> Never:
        pytest.fail(f"not over within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds, DEADLINE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
