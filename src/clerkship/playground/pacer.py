"""Keeps a paced playground's appointments: what is due happens then, though nobody touches anything."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from clerkship.playground.failure import record_failure
from clerkship.playground.playground import Playground

MAX_SLEEP = 0.05


@contextmanager
def _pacing(playground: Playground) -> Iterator[None]:
    over = threading.Event()
    threading.Thread(target=_keep, args=(playground, over), name="clerkship-pacer", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def paced(playground: Playground) -> AbstractContextManager[None]:
    """Keep its appointments for as long as this is open; a stepped playground needs nobody for that."""
    return _pacing(playground) if playground.environment.time == "paced" else nullcontext()


def _keep(playground: Playground, over: threading.Event) -> None:
    while not over.wait(_nap(playground)):
        with playground.lock:
            if playground.closed or playground.broken is not None:
                return
            try:
                playground.clock.settle()
            except Exception as error:  # no caller to raise to: the run is errored
                record_failure(playground, error, "advancing the clock")


def _nap(playground: Playground) -> float:
    with playground.lock:
        due = playground.clock.next_due()
        if due is None:
            return MAX_SLEEP
        return min(max((due - playground.now).total_seconds(), 0.0), MAX_SLEEP)
