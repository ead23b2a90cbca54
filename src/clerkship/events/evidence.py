"""A sealed run: all that a check may look at, and nothing else."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue

from clerkship.events.event import Event, Utterance
from clerkship.events.states import find_state
from clerkship.llm.contract import Model, ModelAnswer, NoModel, Question, is_instant
from clerkship.llm.prompts import BUILT_IN, Prompts
from clerkship.model.lazy import lazy_property
from clerkship.model.run import Ending
from clerkship.model.task import Task

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Evidence:
    """The task as it ran, the log in order, the final states, the answer."""

    task: Task
    events: Sequence[Event]
    states: Mapping[str, object]
    ending: Ending
    answer: Any = None
    answered: bool = False
    entities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model: Model | None = None
    """Who can be asked what no rule decides; most checks have no need of one."""
    prompts: Prompts = BUILT_IN
    """What it is told."""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """What goes into each question to it besides; for the record."""
    votes: int = 1
    """How often it is asked what must be judged, where a criterion does not say."""
    observers: frozenset[str] = frozenset()
    """The names of the sandboxes that record what is done to them; not of those that only carry a conversation."""
    subject: str | None = None
    """The entity that the criterion at hand is about, by its id in the task."""

    def about(self, entity: str) -> "Evidence":
        """The same evidence, looked at for one entity's sake; what has been read out of it is kept."""
        other = copy(self)
        object.__setattr__(other, "subject", entity)
        return other

    @property
    def record(self) -> Mapping[str, Any] | None:
        """The record that the criterion at hand is about, if it is about one."""
        return self.entities.get(self.subject) if self.subject is not None else None

    @property
    def now(self) -> datetime | None:
        """The playground's time at the end of the run: that of the last event; None if there are no events."""
        return self.events[-1].at if self.events else None

    @property
    def is_rasa_compatible(self) -> bool:
        """Whether assertions are to be read as the system reads them that scenario files come from."""
        return self.task.compat == "rasa"

    @lazy_property
    def places(self) -> dict[str, list[int]]:
        """By kind, where in the log its events stand: most checks are about a few kinds of many."""
        found: dict[str, list[int]] = {}
        for place, event in enumerate(self.events):
            known = found.get(event.kind)
            if known is None:
                found[event.kind] = [place]
            else:
                known.append(place)
        return found

    def of_kind(self, *kinds: str) -> list[Event]:
        """Every event of some kinds, in order."""
        if len(kinds) == 1:
            return [self.events[place] for place in self.places.get(kinds[0], ())]
        return [self.events[place] for place in sorted(chain.from_iterable(self.places.get(k, ()) for k in kinds))]

    @lazy_property
    def utterances(self) -> list[Event]:
        """Everything anyone said, in order."""
        spoken = [places for places in self.places.values() if isinstance(self.events[places[0]].payload, Utterance)]
        every = spoken[0] if len(spoken) == 1 else sorted(chain.from_iterable(spoken))
        return [self.events[place] for place in every]

    def utterances_by(self, actor: str, sandbox: str | None = None) -> list[Event]:
        """What one side said, on one sandbox or on any."""
        return [event for event in self.utterances if event.actor == actor and sandbox in (None, event.source)]

    @lazy_property
    def _turns(self) -> list[tuple[datetime, int]]:
        """Where each turn begins: with a line of the person."""
        return [(event.at, event.seq) for event in self.utterances if event.actor != "agent"]

    @lazy_property
    def _turn_sandboxes(self) -> list[str]:
        """The sandbox of the message that begins each turn, where people talk in several; else nothing."""
        sandboxes = [event.source for event in self.utterances if event.actor != "agent"]
        return sandboxes if len(set(sandboxes)) > 1 else []

    def turn_of(self, event: Event) -> int:
        """Return the turn something happened in; 0 before the first message of a person.

        Turns are counted over all conversations. Where there are several, what is said belongs to the last turn of its
        own conversation.
        """
        turn = bisect_right(self._turns, (event.at, event.seq))
        if self._turn_sandboxes and isinstance(event.payload, Utterance):
            own = (number for number in range(turn, 0, -1) if self._turn_sandboxes[number - 1] == event.source)
            return next(own, turn)
        return turn

    def place(self, event: Event) -> str:
        """Where something stands, for a sentence of detail: its turn, if anybody talked, and its number."""
        return f"turn {self.turn_of(event)} (#{event.seq})" if self._turns else f"#{event.seq}"

    def when(self, event: Event) -> str:
        """When something happened, for a sentence of detail."""
        return f"{'in' if self._turns else 'at'} {self.place(event)}"

    @lazy_property
    def _by_seq(self) -> dict[int, Event]:
        return {event.seq: event for event in self.events}

    def find_originator(self, event: Event) -> str:
        """Who did something; of what one sandbox did about another's event, who did that."""
        while event.actor == "reaction" and event.cause in self._by_seq:
            event = self._by_seq[event.cause]
        return event.actor

    @lazy_property
    def _read(self) -> dict[Callable[["Evidence"], Any], Any]:
        return {}

    def once(self, read: Callable[["Evidence"], R]) -> R:
        """What somebody reads out of all this, for everybody who wants the same of it."""
        if read not in self._read:
            self._read[read] = read(self)
        found: R = self._read[read]
        return found

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Put a question to the model that judges."""
        return self._model.ask(question)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Texts as vectors, by the model that judges."""
        return self._model.embed(texts)

    @property
    def waits(self) -> bool:
        """Whether the model that judges takes time to answer."""
        return not is_instant(self.model)

    @property
    def _model(self) -> Model:
        if self.model is None:
            raise NoModel("a model must judge it, and none is configured: give --judge, or --no-judge to skip it")
        return self.model

    def state(self, kind: type[S], sandbox: str | None = None) -> S:
        """Return the final state of a sandbox or domain; without a name, of the only one with this type of state."""
        return find_state(self.states, kind, sandbox)[1]
