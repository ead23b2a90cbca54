"""State that only events change: so a log, read again, rebuilds it exactly."""

from abc import ABC, abstractmethod
from collections.abc import Callable, MutableMapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from clerkship.events.event import Event, Payload
from clerkship.kit.ids import Ids
from clerkship.kit.rng import Rng
from clerkship.model.frozen import Frozen
from clerkship.sandbox.exchange import Refusal


def _nobody_objects(event: Event) -> Sequence[Refusal]:
    """Where there is no other sandbox."""
    return ()


class ActionContext(NamedTuple):
    """Somebody doing something, once: who, because of what, when, and the means to take it down."""

    actor: str
    now: datetime
    ids: Ids
    rng: Rng
    record: Callable[[Payload], Event]
    objections: Callable[[Event], Sequence[Refusal]] = _nobody_objects
    """What other sandboxes that should have followed an event of this act had against it."""

    def emit(self, payload: Payload) -> Event:
        """Make it so: append the event, and let it change the state."""
        return self.record(payload)


class State(ABC):
    """What a sandbox holds. Its verbs decide and emit; only `apply` changes anything."""

    def __init__(self, config: Frozen, records: MutableMapping[str, Any]) -> None:
        self.config = config
        self.records = records

    @abstractmethod
    def apply(self, event: Event) -> None:
        """Take in one event of this sandbox. It has happened: this may not refuse it."""

    @abstractmethod
    def dump(self) -> Any:
        """All of it as plain data, for comparison and for reports."""


class Conversation(Protocol):
    """A state that people talk through."""

    open: bool
    turns: int
    messages: list[Event]

    def start(self, act: ActionContext, person: str) -> Event:
        """Somebody comes."""
        ...

    def say(self, act: ActionContext, text: str, **extra: Any) -> Event:
        """Somebody says something."""
        ...

    def end(self, act: ActionContext, reason: str, **extra: Any) -> Event:
        """Somebody ends it."""
        ...
