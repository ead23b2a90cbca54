"""The playground as its parts use it: the conversations, the fault injector and the step runner."""

import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Protocol, cast
from weakref import proxy

from clerkship.events.log import Log
from clerkship.kit.clock import Clock
from clerkship.kit.rng import Rng
from clerkship.playground.component import RunningComponent
from clerkship.playground.domains import Acting
from clerkship.steps.contract import Stage


class Host(Stage, Acting, Protocol):
    """What the parts of a playground need of it."""

    lock: threading.RLock  # type: ignore[valid-type, unused-ignore]
    seed: str
    started_at: datetime
    clock: Clock
    rng: Rng
    log: Log
    components: Mapping[str, RunningComponent]
    domains: Mapping[str, RunningComponent]
    broken: str | None


def weak_host(host: Host) -> Host:
    """Return a weak reference to a playground for the parts that it owns: without a reference cycle, the memory of a
    playground is freed as soon as its run is over."""
    return cast(Host, proxy(host))
