"""State that changes only by events, so that replaying a log rebuilds it exactly.

See docs/decisions/0001-event-log-as-state.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from clerkship.events.event import Event, Payload
from clerkship.events.states import NoSuchState
from clerkship.kit.rng import Ids, Rng
from clerkship.model.frozen import Frozen
from clerkship.model.path import MISSING
from clerkship.sandbox.changes import RecordChange, initial_records, record_changes
from clerkship.sandbox.plain_data import dump_attributes, to_plain
from clerkship.sandbox.request import Refusal

R = TypeVar("R")
C = TypeVar("C", bound=Frozen)
P = TypeVar("P", bound=Payload)


class ReactionResult(NamedTuple):
    """What one reaction to an event returned, or why it refused."""

    target: str
    """The sandbox that reacted."""
    result: object = None
    refusal: Refusal | None = None


def no_reactions(event: Event) -> Sequence[ReactionResult]:
    """Return no results, where sandboxes do not react to each other."""
    return ()


def find_no_domain(kind: "type[State[Any]]", name: str | None) -> "tuple[State[Any], ActionContext]":
    """Raise NoSuchState: the environment has no domains."""
    raise NoSuchState.of(f"the environment has no domain with a {kind.__name__}")


def keep_event(payload: Payload) -> Payload:
    """Return an event unaltered, where there are no faults."""
    return payload


class ActionContext(NamedTuple):
    """The context in which an actor changes a sandbox: who, when, and how to emit events."""

    actor: str
    now: datetime
    ids: Ids
    rng: Rng
    emit: Callable[[Payload], Event]
    """Appends an event to the log and applies it to the state; other sandboxes react before it returns."""
    reactions_to: Callable[[Event], Sequence[ReactionResult]] = no_reactions
    """Returns the results of the reactions of other sandboxes to an emitted event, in order."""
    find_domain: "Callable[[type[State[Any]], str | None], tuple[State[Any], ActionContext]]" = find_no_domain
    reaction_source: "State[Any] | None" = None
    """In a reaction, the state of the sandbox or domain whose event is reacted to; see `source`."""
    alter_event: Callable[[Payload], Payload] = keep_event
    """Returns an event as the active faults of the sandbox alter it; see `apply_faults`."""

    def apply_faults(self, payload: P) -> P:
        """Return an event that is about to be emitted as active faults alter it, and log that they did."""
        return cast(P, self.alter_event(payload))

    def reaction_refusals(self, event: Event) -> list[Refusal]:
        """Return the refusals of the sandboxes that react to an event."""
        return [result.refusal for result in self.reactions_to(event) if result.refusal is not None]

    def results(self, event: Event, kind: type[R]) -> list[R]:
        """Return the results of one type that reactions to an event returned."""
        return [result.result for result in self.reactions_to(event) if isinstance(result.result, kind)]

    def domain(self, kind: "type[S]", name: str | None = None) -> "tuple[S, ActionContext]":
        """Return the state of a domain, and the context in which this action changes it.

        Without a name, it is the only domain with this type of state. The domain's events have the actor of this
        action; their cause is the last event that this action emitted, or else the cause of the action itself. Raises
        NoSuchState, the author's mistake, where the environment has no such domain.
        """
        state, context = self.find_domain(kind, name)
        return cast(S, state), context

    def source(self, kind: "type[S]") -> "S":
        """Return the state of the sandbox or domain whose event is reacted to, to read what the event refers to.

        A reaction changes only its target. Raises NoSuchState outside of a reaction, and where the source has another
        type of state.
        """
        if not isinstance(self.reaction_source, kind):
            raise NoSuchState.of(f"this is not a reaction to an event of a {kind.__name__}")
        return self.reaction_source


class DueWork(NamedTuple):
    """Work that a state has for later: a decision to make, a reply to send."""

    at: datetime
    """The simulated time at which it is due."""
    cause: int | None = None
    """The seq of the event that led to it."""


class State(ABC, Generic[C]):
    """The state of a sandbox or a domain. Its methods check and emit events; only `apply` changes anything.

    It is generic over its config: `class PagerState(State[PagerConfig])`.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            if isinstance(value, dict | list | set | bytearray) and not name.startswith("__"):
                kind = type(value).__name__
                raise TypeError(
                    f"{cls.__name__}.{name} is a {kind} that all playgrounds would share: set it in __init__, "
                    f"or, if it is a constant, make it immutable or move it out of the class"
                )

    def __init__(self, config: C, records: MutableMapping[str, Any]) -> None:
        self.config = config
        self.records = records
        """Records by key, layered over those of the dataset. They are frozen: to change one, store a changed copy."""

    @abstractmethod
    def apply(self, event: Event) -> None:
        """Apply one event of this sandbox or domain. The event has already happened, so this must not refuse it."""

    def dump(self) -> Any:
        """Return the whole state as plain data, for comparison: its public attributes, and the changed records.

        Attributes that begin with an underscore are indexes and caches, which follow from the others.
        """
        records = {
            key: None if change.after is MISSING else to_plain(change.after)
            for key, change in self.record_changes().items()
        }
        return {**dump_attributes(self, without=("config", "records")), "records": records}

    def next_due(self) -> DueWork | None:
        """Return the first work that the state has for later; None if it has none.

        It must follow from the state alone, so that a playground rebuilt from a log has the same work.
        """
        return None

    def run_due(self, action: ActionContext) -> None:
        """Do the work that `next_due` returned, now that it is due. The actor of its events is `system`.

        It must emit an event that changes what `next_due` returns.
        """

    @property
    def initial_records(self) -> Mapping[str, Any]:
        """The records at the start of the trial: what `prepare` built from the datasets."""
        return initial_records(self.records)

    def record_changes(self) -> dict[str, RecordChange]:
        """Return the records that were created, updated or deleted since the trial began, by key."""
        return record_changes(self.records)


S = TypeVar("S", bound=State[Any])


class Conversation(Protocol):
    """A conversation with a simulated person: the state of a sandbox that holds only one, or a part of a state."""

    @property
    def open(self) -> bool:
        """Whether a person is in it."""

    @property
    def turns(self) -> int:
        """How many messages of the person it has."""

    @property
    def messages(self) -> Sequence[Event]:
        """Its messages in order; grows during the trial."""

    def start(self, action: ActionContext, person: str) -> Event:
        """Start the conversation with a person."""

    def say(self, action: ActionContext, text: str, **extra: Any) -> Event:
        """Add a message."""

    def end(self, action: ActionContext, reason: str, **extra: Any) -> Event:
        """End the conversation."""


@dataclass(slots=True, kw_only=True)
class ConversationRecord:
    """What a state has of the conversation with a person at an address since it was started."""

    person: str
    is_open: bool = True
    """Whether the person can be reached. False after they have left."""
    turns: int = 0
    messages: list[Event] = field(default_factory=list)

    def add(self, event: Event, turn: int) -> None:
        """Add a message, unless the person has left."""
        if self.is_open:
            self.messages.append(event)
            self.turns = max(self.turns, turn)


class RecordedConversation(Conversation, ABC):
    """A conversation at an address, of which the state has a record once it is started."""

    @property
    @abstractmethod
    def _record(self) -> ConversationRecord | None: ...

    @property
    def open(self) -> bool:
        return self._record is not None and self._record.is_open

    @property
    def turns(self) -> int:
        return self._record.turns if self._record is not None else 0

    @property
    def messages(self) -> Sequence[Event]:
        return self._record.messages if self._record is not None else ()


class CallConversation(Conversation, ABC):
    """A conversation by phone: it has calls, which begin and end while the person can be reached."""

    @abstractmethod
    def start(self, action: ActionContext, person: str, greeting: str | None = None) -> Event:
        """Start the conversation; `greeting` is what the person says when they first answer a call."""

    @abstractmethod
    def connect(self, action: ActionContext) -> None:
        """Have the person call, and answer for an agent that gets their words as messages; nothing if in a call."""

    @abstractmethod
    def can_answer(self, message: Event) -> bool:
        """Return whether the call in which the agent said something still goes on."""

    @abstractmethod
    def pause(self, action: ActionContext, length: timedelta) -> int:
        """Let the person be silent for a while; return the number of the pause. PauseEnded follows it."""

    @property
    @abstractmethod
    def pauses(self) -> Sequence[Event]:
        """The PauseStarted events of the conversation in order."""

    @property
    @abstractmethod
    def hangs_up_at(self) -> datetime | None:
        """When the person, who has said goodbye, hangs up; None if they do not."""


class ConversationHost(Protocol):
    """A state that holds a conversation with each person who has an address on one of its channels."""

    def conversation(self, channel: str, address: str) -> Conversation:
        """Return the conversation with the person at an address, before and after it is started."""
