"""Hold a stepped clock while sandboxes call the agent, one at a time.

Without this, the simulated time of events that follow from a call would depend on how fast the agent answers. With
it they have the time of the call, and the same seed gives the same log.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from clerkship.kit.wall import monotonic

MAX_HOLD_SECONDS = 2.0
"""Wall time for which the clock is held while the agent is called. A later answer is still accepted, but simulated time
goes on."""
MAX_WORK_SECONDS = 60.0
"""Wall time for which the clock is held while the sandbox itself works: many times what it needs on a busy machine."""


@dataclass(eq=False)
class DeliveryHold:
    """How one delivery holds the clock. Guarded by the lock of the playground."""

    clock: "ClockHold"
    name: str
    order: tuple[int, str]
    """Deliveries take turns in this order: the position of the sandbox in the environment, then the protocol."""
    reset: Callable[[], None] | None = None
    """Restarts the delivery when the playground is rewound."""
    begun: int = 0
    """How often `begin` was called. A count, because more work may begin while earlier work is being done."""
    finished: int = 0
    """How many of these calls are done with."""
    deadline: float = 0.0
    waiting: Callable[[], None] | None = None
    """Called when the delivery gets its turn; None if it does not wait for one."""
    has_turn: bool = False

    @property
    def is_joined(self) -> bool:
        """Whether this delivery can hold the clock."""
        return self.clock.deliveries.get(self.name) is self

    def is_busy(self, now: float) -> bool:
        """Return whether the delivery has work to do and is within its deadline."""
        return self.deadline > now and (self.has_turn or self.finished < self.begun)

    def join(self) -> None:
        """Add this delivery to the ones that hold the clock."""
        self.clock.deliveries[self.name] = self
        self.begin()

    def leave(self) -> None:
        """Stop holding the clock."""
        with self.clock.changed:
            if self.is_joined:
                del self.clock.deliveries[self.name]
            self.clock.next_turn()

    def begin(self) -> None:
        """Hold the clock because there may be work to do."""
        is_idle = self.finished == self.begun
        self.begun += 1
        self.deadline = max(self.deadline, monotonic() + (MAX_WORK_SECONDS if is_idle else MAX_HOLD_SECONDS))

    def work(self, seconds: float = 0.0) -> None:
        """Hold the clock while the sandbox itself works, and for that much longer."""
        self.deadline = monotonic() + seconds + MAX_WORK_SECONDS

    def await_agent(self) -> None:
        """Hold the clock while the agent is called, for at most MAX_HOLD_SECONDS."""
        self.deadline = monotonic() + MAX_HOLD_SECONDS

    def finish(self, begun: int) -> None:
        """Mark the work as done that was begun up to the given count of `begin` calls."""
        with self.clock.changed:
            self.finished = begun
            self.clock.next_turn()

    def request_turn(self, granted: Callable[[], None]) -> None:
        """Call `granted` when this delivery may make an attempt.

        That is when no other delivery makes an attempt, and none that comes earlier in the order has work to do. A
        delivery that exceeds its deadline is not waited for: call this again after MAX_HOLD_SECONDS to check that.
        """
        if not self.is_joined:
            granted()
        elif not self.has_turn:
            self.waiting = granted
            self.clock.next_turn()

    def end_turn(self) -> None:
        """End the attempt, or stop waiting for a turn."""
        self.waiting, self.has_turn = None, False
        self.clock.next_turn()


class ClockHold:
    """The deliveries of one playground, by name."""

    def __init__(self, lock: threading.RLock) -> None:  # type: ignore[valid-type, unused-ignore]
        self.changed = threading.Condition(lock)
        self.deliveries: dict[str, DeliveryHold] = {}

    @property
    def is_used(self) -> bool:
        """Whether there is any delivery."""
        return bool(self.deliveries)

    def join(self, name: str, order: tuple[int, str]) -> DeliveryHold:
        """Return the hold of a delivery, creating it if needed, and hold the clock until its work is done."""
        hold = self.deliveries.get(name) or DeliveryHold(self, name, order)
        hold.join()
        return hold

    def next_turn(self) -> None:
        """Give the turn to the first delivery that waits for it, and wake up the threads that wait for the clock."""
        self.changed.notify_all()
        now = monotonic()
        active = [each for each in self.deliveries.values() if each.waiting is not None or each.is_busy(now)]
        first = min(active, key=lambda each: each.order, default=None)
        if first is None or first.waiting is None or any(each.has_turn and each.is_busy(now) for each in active):
            return
        granted, first.waiting, first.has_turn = first.waiting, None, True
        first.work()
        granted()

    def reset(self) -> None:
        """Have every delivery start over."""
        for each in list(self.deliveries.values()):
            if each.reset is not None:
                each.reset()

    def wait(self) -> None:
        """Wait until every delivery is idle or past its deadline.

        Releases the lock meanwhile, however often the caller has acquired it: agents send requests before they
        answer.
        """
        with self.changed:
            while (seconds := self._seconds_left()) > 0:
                self.changed.wait(seconds)

    def _seconds_left(self) -> float:
        now, busy = monotonic(), [each for each in self.deliveries.values() if each.finished < each.begun]
        return max((each.deadline - now for each in busy), default=0.0)
