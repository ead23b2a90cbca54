"""Stop work cleanly on Ctrl-C and on the signals that end a job."""

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

STOP_SIGNALS = [
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
]
"""Sent by Ctrl-C, a cancelled job, a stopped container and a closed terminal."""


class StopFlag:
    """A flag that signal handlers can set.

    They cannot set a `threading.Event`: if the signal interrupts code that waits for it, its lock is never released.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._wakes: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        """Set the flag, and end a wait."""
        self.is_set = True
        self._wakes.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait until the flag is set, or some seconds have passed. Return whether it is set."""
        if not self.is_set:
            with suppress(queue.Empty):
                self._wakes.get(timeout=seconds)
        return self.is_set


@contextmanager
def handle_stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call a function on the first Ctrl-C, SIGTERM or SIGHUP, instead of raising an exception.

    An exception could interrupt saving. A second signal raises KeyboardInterrupt. Outside the main thread, which gets
    all signals, nothing changes.
    """

    def on_signal(number: int, frame: object) -> None:
        stop()
        signal.signal(number, signal.default_int_handler)

    with replace_stop_handlers(on_signal):
        yield


@contextmanager
def replace_stop_handlers(on_signal: Callable[[int, object], None]) -> Iterator[None]:
    """Handle Ctrl-C, SIGTERM and SIGHUP by a function inside this context.

    Signals that are ignored stay ignored: `nohup` ignores SIGHUP, and a shell script ignores Ctrl-C for a command in
    the background, which SIGTERM stops. Outside the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, on_signal) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler or signal.SIG_DFL)
