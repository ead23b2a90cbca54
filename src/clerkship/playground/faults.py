"""The active faults of a playground."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any, Generic, TypeVar

from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import FaultInjected
from clerkship.playground.component import PlaygroundHost
from clerkship.sandbox.faults.contract import ON_TURN, AnyFault, EventFault, Fault, FaultRule, ModelFault

FaultT = TypeVar("FaultT", bound=FaultRule)


@dataclass
class ActiveFault(Generic[FaultT]):
    """An injected fault, and how often it was skipped and triggered."""

    fault: FaultT
    times_skipped: int = 0
    times_triggered: int = 0

    def matches(self, sandbox: str, operation: str, rng: Random) -> bool:
        """Return whether the fault affects a request or event, and count it if the fault skips it."""
        fault = self.fault
        if not fault.covers(sandbox, operation):
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
        self.active: list[ActiveFault[Fault]] = []
        """Faults of requests and turns."""
        self.altering: list[ActiveFault[EventFault]] = []
        """Faults of events."""
        self.calling: list[ActiveFault[ModelFault]] = []
        """Faults of model calls."""

    def inject(self, fault: AnyFault) -> ActiveFault[Any]:
        """Add a fault that affects later requests, events of a sandbox, or model calls."""
        added: ActiveFault[Any] = ActiveFault(fault)
        others: list[ActiveFault[Any]] = self.calling if isinstance(fault, ModelFault) else self.active
        (self.altering if isinstance(fault, EventFault) else others).append(added)
        return added

    def list_all(self) -> list[ActiveFault[Any]]:
        return [*self.active, *self.altering, *self.calling]

    def matching(self, sandbox: str, operation: str) -> Iterator[tuple[ActiveFault[Fault], Random]]:
        """Yield the faults that affect a request or a turn, each with its random generator.

        Each kind of fault has its own generator, so that adding one does not change the random choices of others.
        """
        for active in self.active:
            if operation == ON_TURN and not active.fault.affects_turns:
                continue
            rng = self._host.rng.stream(f"fault/{active.fault.name}")
            if active.matches(sandbox, operation, rng):
                yield active, rng

    def matching_calls(self, source: str, operation: str) -> Iterator[tuple[ActiveFault[ModelFault], Random]]:
        """Yield the faults that affect a model call, each with its random generator."""
        for active in self.calling:
            rng = self._host.rng.stream(f"fault/{active.fault.name}")
            if active.matches(source, operation, rng):
                yield active, rng

    def alter(self, sandbox: str, event: Payload) -> Payload:
        """Return an event of a sandbox as active faults alter it, in the order in which they were injected."""
        for active in self.altering:
            fault = active.fault
            if not isinstance(event, fault.event) or not fault.affects(event):
                continue
            rng = self._host.rng.stream(f"fault/{fault.name}")
            if active.matches(sandbox, event.kind, rng):
                altered = fault.alter(event, rng)
                self.trigger(active, sandbox, event.kind, fault.describe(event, altered))
                event = altered
        return event

    def trigger(self, active: ActiveFault[Any], sandbox: str, operation: str, details: Mapping[str, Any]) -> Event:
        """Count and log that a fault took effect."""
        active.times_triggered += 1
        injected = FaultInjected(fault=active.fault.name, operation=operation, details=dict(details))
        return self._host.emit(sandbox, injected, "scenario")
