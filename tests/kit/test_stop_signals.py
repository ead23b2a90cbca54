"""Signal handlers set flags, whatever they interrupt."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from clerkship.kit.stop_signals import StopFlag


@contextmanager
def alarm_after(seconds: float, flag: StopFlag) -> Iterator[None]:
    """Set the flag from a signal handler after some seconds."""
    previous = signal.signal(signal.SIGALRM, lambda number, frame: flag.set())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_signal_ends_a_wait_at_any_moment() -> None:
    for number in range(200):
        flag = StopFlag()
        with alarm_after(0.00001 * (number + 1), flag):
            while not flag.wait(0.0001):
                pass
        assert flag.is_set


def test_wait_returns_at_once_after_the_flag_was_set() -> None:
    flag = StopFlag()
    assert not flag.wait(0)
    flag.set()
    assert flag.wait(3600)
    assert flag.wait(3600)
