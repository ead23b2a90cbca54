"""The interface of a playground for its own parts: conversations, fault injector and step runner."""

import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Protocol, cast
from weakref import proxy

from clerkship.events.event import Event, Payload
from clerkship.events.log import Log
from clerkship.kit.clock import Clock
from clerkship.kit.rng import Rng
from clerkship.playground.component import RunningComponent
from clerkship.sandbox.state import ActionContext
from clerkship.sandbox.steps.contract import StepHost


class PlaygroundHost(StepHost, Protocol):
    """What the parts of a playground need of it."""

    lock: threading.RLock  # type: ignore[valid-type, unused-ignore]
    started_at: datetime
    clock: Clock
    rng: Rng
    log: Log
    components: Mapping[str, RunningComponent]
    broken: str | None

    def emit(self, source: str, payload: Payload, actor: str, cause: int | None = None) -> Event:
        """Append an event to the log and apply it."""

    def context_for(self, sandbox: str, actor: str, cause: int | None = None) -> ActionContext:
        """Build the context in which an actor changes a sandbox or domain."""

    def build_copy(self, events: Iterable[Event]) -> StepHost:
        """Return a new playground whose states are rebuilt from the datasets and these events."""


def weak_host(host: PlaygroundHost) -> PlaygroundHost:
    """Return a weak reference to a playground, for the parts that it owns.

    This avoids a reference cycle, so that the memory of a playground is freed as soon as its trial is over.
    """
    return cast(PlaygroundHost, proxy(host))
