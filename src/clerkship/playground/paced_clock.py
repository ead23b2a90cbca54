"""Run the scheduled work of a playground with a paced clock when it is due, even if there is no request."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from clerkship.playground.failure import record_failure
from clerkship.playground.playground import Playground

MAX_SLEEP_SECONDS = 0.05


@contextmanager
def _paced_clock(playground: Playground) -> Iterator[None]:
    stopped = threading.Event()
    threading.Thread(target=_run_due_work, args=(playground, stopped), name="clerkship-pacer", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()


def run_paced_clock(playground: Playground) -> AbstractContextManager[None]:
    """Return a context manager that runs due work in a thread. A stepped playground needs no thread."""
    return _paced_clock(playground) if playground.environment.time == "paced" else nullcontext()


def _run_due_work(playground: Playground, stopped: threading.Event) -> None:
    while not stopped.wait(_seconds_to_next(playground)):
        with playground.lock:
            if playground.closed or playground.broken is not None:
                return
            try:
                playground.clock.settle()
            except Exception as error:  # no caller could handle it in this thread: the trial is errored
                record_failure(playground, error, "advancing the clock")


def _seconds_to_next(playground: Playground) -> float:
    with playground.lock:
        due = playground.clock.next_due()
        if due is None:
            return MAX_SLEEP_SECONDS
        return min(max((due - playground.now).total_seconds(), 0.0), MAX_SLEEP_SECONDS)
