"""Holds a stepped clock while sandboxes call their agent, one at a time, so that what follows from a call has the time
of the call and the same seed gives the same log."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from clerkship.kit.wall import monotonic

MAX_HOLD_SECONDS = 2.0
"""Wall time that the clock is held for one attempt. An agent that answers later is not cut off: time goes on, as it
does for one that waits and answers in the same thread, or that lets time pass before it answers."""


@dataclass
class _Calls:
    """What one delivery has to do."""

    order: tuple[int, str]
    """Deliveries take turns in this order: the place of the sandbox in the environment, then the protocol."""
    reset: Callable[[], None] | None = None
    begun: int = 0
    finished: int = 0
    deadline: float = 0.0
    waiting: Callable[[], None] | None = None
    """Called when it gets its turn; None if it does not wait for one."""
    has_turn: bool = False

    def is_busy(self, now: float) -> bool:
        """Whether it has something to do, and has not taken too long."""
        return self.deadline > now and (self.has_turn or self.finished < self.begun)


class ClockHold:
    """The deliveries of one playground, by name. Guarded by the lock of the playground."""

    def __init__(self, lock: threading.RLock) -> None:  # type: ignore[valid-type, unused-ignore]
        self._changed = threading.Condition(lock)
        self._calls: dict[str, _Calls] = {}

    @property
    def is_used(self) -> bool:
        """Whether there is any delivery."""
        return bool(self._calls)

    def join(self, name: str, order: tuple[int, str]) -> None:
        """Add a delivery, unless it is there, and hold the clock until it is done."""
        self._calls.setdefault(name, _Calls(order))
        self.begin(name)

    def on_reset(self, name: str, reset: Callable[[], None]) -> None:
        """Have a delivery start over when the playground is rewound."""
        if name in self._calls:
            self._calls[name].reset = reset

    def leave(self, name: str) -> None:
        """Remove a delivery."""
        with self._changed:
            self._calls.pop(name, None)
            self._next_turn()
            self._changed.notify_all()

    def begun(self, name: str) -> int:
        """Return how often `begin` was called."""
        calls = self._calls.get(name)
        return 0 if calls is None else calls.begun

    def begin(self, name: str) -> None:
        """Note that a delivery may have something to do."""
        calls = self._calls.get(name)
        if calls is not None:
            calls.begun += 1
            calls.deadline = monotonic() + MAX_HOLD_SECONDS

    def extend(self, name: str) -> None:
        """Hold the clock for another attempt."""
        calls = self._calls.get(name)
        if calls is not None:
            calls.deadline = monotonic() + MAX_HOLD_SECONDS

    def finish(self, name: str, begun: int) -> None:
        """Note that a delivery has done what it had to do when `begin` had been called so often."""
        with self._changed:
            if name in self._calls:
                self._calls[name].finished = begun
                self._next_turn()
                self._changed.notify_all()

    def request_turn(self, name: str, granted: Callable[[], None]) -> None:
        """Have a function called when a delivery may make an attempt: no other one makes an attempt, and none before it
        in the order has something to do. Those that take longer than the clock is held are not waited for; call this
        again after MAX_HOLD_SECONDS to have that checked."""
        calls = self._calls.get(name)
        if calls is None:
            granted()
        elif not calls.has_turn:
            calls.waiting = granted
            self._next_turn()

    def end_turn(self, name: str) -> None:
        """Note that a delivery has made its attempt, or does not wait for its turn any more."""
        calls = self._calls.get(name)
        if calls is not None:
            calls.waiting, calls.has_turn = None, False
            self._next_turn()

    def _next_turn(self) -> None:
        now = monotonic()
        active = [calls for calls in self._calls.values() if calls.waiting is not None or calls.is_busy(now)]
        first = min(active, key=lambda calls: calls.order, default=None)
        if first is None or first.waiting is None or any(calls.has_turn and calls.is_busy(now) for calls in active):
            return
        granted, first.waiting, first.has_turn = first.waiting, None, True
        first.deadline = now + MAX_HOLD_SECONDS
        granted()

    def reset(self) -> None:
        """Have every delivery start over."""
        for calls in list(self._calls.values()):
            if calls.reset is not None:
                calls.reset()

    def wait(self) -> None:
        """Wait until no delivery is at work, or has been for too long.

        Releases the lock meanwhile, however often the caller has acquired it: agents send requests before they answer.
        """
        with self._changed:
            while (seconds := self._seconds_left()) > 0:
                self._changed.wait(seconds)

    def _seconds_left(self) -> float:
        now, busy = monotonic(), [calls for calls in self._calls.values() if calls.finished < calls.begun]
        return max((calls.deadline - now for calls in busy), default=0.0)
