"""Keeps a paced playground's appointments: what is due happens then, though nobody touches anything."""

import threading

from clerkship.playground.playground import Playground

LONGEST_NAP = 0.05


class Pacer:
    """A thread that looks at the clock; only a paced playground has one."""

    def __init__(self, playground: Playground) -> None:
        self._playground = playground
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="clerkship-pacer", daemon=True)

    def __enter__(self) -> None:
        """Start, where the clock is paced."""
        if self._playground.environment.time == "paced":
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._over.set()

    def _keep(self) -> None:
        while not self._over.wait(self._nap()):
            with self._playground.lock:
                if not self._playground.closed:
                    self._playground.clock.settle()

    def _nap(self) -> float:
        due = self._playground.clock.next_due()
        if due is None:
            return LONGEST_NAP
        return min(max((due - self._playground.now).total_seconds(), 0.0), LONGEST_NAP)
