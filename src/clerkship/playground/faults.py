"""The active faults of a playground."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any

from clerkship.events.event import Event
from clerkship.events.lifecycle import FaultInjected
from clerkship.faults.contract import ON_TURN, Fault
from clerkship.playground.host import PlaygroundHost


@dataclass
class ActiveFault:
    """An injected fault, and how often it was skipped and triggered."""

    fault: Fault
    times_skipped: int = 0
    times_triggered: int = 0

    def matches(self, sandbox: str, operation: str, rng: Random) -> bool:
        """Return whether the fault affects a request, and count the request if the fault skips it."""
        fault = self.fault
        if fault.sandbox not in (None, sandbox) or fault.operation not in (None, operation):
            return False
        if self.times_skipped < fault.skip:
            self.times_skipped += 1
            return False
        if fault.times is not None and self.times_triggered >= fault.times:
            return False
        return fault.probability >= 1 or rng.random() < fault.probability


class FaultInjector:
    """The active faults of a playground, in the order in which they were injected."""

    def __init__(self, host: PlaygroundHost) -> None:
        self._host = host
        self.active: list[ActiveFault] = []

    def inject(self, fault: Fault) -> None:
        """Add a fault that affects later requests."""
        self.active.append(ActiveFault(fault))

    def matching(self, sandbox: str, operation: str) -> Iterator[tuple[ActiveFault, Random]]:
        """Yield the faults that affect a request or a turn, each with its random generator.

        Each kind of fault has its own generator, so that adding one does not change the random choices of others.
        """
        for active in self.active:
            if operation == ON_TURN and not active.fault.affects_turns:
                continue
            rng = self._host.rng.stream(f"fault/{active.fault.name}")
            if active.matches(sandbox, operation, rng):
                yield active, rng

    def trigger(self, active: ActiveFault, sandbox: str, operation: str, details: Mapping[str, Any]) -> Event:
        """Count and log that a fault took effect."""
        active.times_triggered += 1
        injected = FaultInjected(fault=active.fault.name, operation=operation, details=dict(details))
        return self._host.emit(sandbox, injected, "scenario")
