"""The faults of a playground: which are active, which requests and turns they match, how often each took effect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any

from clerkship.events.event import Event
from clerkship.events.lifecycle import FaultInjected
from clerkship.faults.contract import Fault
from clerkship.playground.host import PlaygroundHost

ON_TURN = "on_turn"
"""The name of an agent's reply in a conversation, where a request has the name of its operation."""


@dataclass
class ActiveFault:
    """An injected fault: how many requests it let pass, and how often it took effect."""

    fault: Fault
    passed: int = 0
    strikes: int = 0

    def matches(self, sandbox: str, operation: str, rng: Random) -> bool:
        """Return whether it takes effect on a request; counts those that it lets pass."""
        fault = self.fault
        if fault.sandbox not in (None, sandbox) or fault.operation not in (None, operation):
            return False
        if self.passed < fault.skip:
            self.passed += 1
            return False
        if fault.times is not None and self.strikes >= fault.times:
            return False
        return fault.probability >= 1 or rng.random() < fault.probability


class FaultInjector:
    """The active faults of a playground, in the order in which they were injected."""

    def __init__(self, host: PlaygroundHost) -> None:
        self._host = host
        self.active: list[ActiveFault] = []

    def inject(self, fault: Fault) -> None:
        """Have a fault take effect on later requests."""
        self.active.append(ActiveFault(fault))

    def matching(self, sandbox: str, operation: str) -> Iterator[tuple[ActiveFault, Random]]:
        """Yield the faults that take effect on a request or a turn, each with its random generator."""
        for active in self.active:
            if operation == ON_TURN and not active.fault.strikes_turns:
                continue
            rng = self._host.rng.stream(f"fault/{active.fault.name}")
            if active.matches(sandbox, operation, rng):
                yield active, rng

    def trigger(self, active: ActiveFault, sandbox: str, operation: str, details: Mapping[str, Any]) -> Event:
        """Count and log that a fault took effect."""
        active.strikes += 1
        injected = FaultInjected(fault=active.fault.name, operation=operation, details=dict(details))
        return self._host.emit(sandbox, injected, "scenario")
