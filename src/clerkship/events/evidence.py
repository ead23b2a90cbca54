"""The evidence of a finished run: everything that an assertion may look at."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, TypeVar, cast

from pydantic import BaseModel, JsonValue

from clerkship.events.event import Event, Utterance, UtteranceCut, find_conversations, is_by_agent
from clerkship.events.states import find_state
from clerkship.llm.contract import Model, ModelAnswer, NoModel, Question, is_instant
from clerkship.llm.prompts import BUILT_IN, Prompts
from clerkship.model.lazy import lazy_property
from clerkship.model.run import Ending
from clerkship.model.task import Task

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T", bound=BaseModel)
INDIRECT_ACTORS = ("reaction", "system")
"""Actors that act because of an earlier event, which is the cause of theirs."""


@dataclass(frozen=True)
class Evidence:
    """The task as it ran, the events in order, the final states, and the agent's answer."""

    task: Task
    events: Sequence[Event]
    states: Mapping[str, object]
    ending: Ending
    answer: Any = None
    answered: bool = False
    entities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model: Model | None = None
    """The judge model; most checks need none."""
    prompts: Prompts = BUILT_IN
    """The prompts for the judge model."""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """Parameters of the judge model, stored with each verdict."""
    votes: int = 1
    """How many votes the judge gives, if a criterion does not say."""
    observers: frozenset[str] = frozenset()
    """The sandboxes that log the agent's actions; not those that only carry a conversation."""
    call_times: Mapping[int, float] = field(default_factory=dict)
    """The milliseconds of wall time that each call of the agent took, by the number of its `outbound.attempted` event.
    They are not in the log; empty where they were not measured."""
    model_calls: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Tokens, cost and milliseconds of each model call of the agent, by the number of its event."""
    spans: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """Tokens and milliseconds of each span of the agent, by the number of its event. One with `is_call` is a model call
    that no other span has told."""
    activity_targets: Mapping[str, str] = field(default_factory=dict)
    """By sandbox, the `module:function` that lists what the agent did there in a form common to all kinds."""
    subject: str | None = None
    """The id of the entity that the current criterion is about."""

    def for_entity(self, entity: str | None) -> "Evidence":
        """Return the same evidence for a criterion about one entity, or about none; cached values are shared."""
        _ = self._cache  # made before the copy, so that both share it
        other = copy(self)
        object.__setattr__(other, "subject", entity)
        return other

    @property
    def record(self) -> Mapping[str, Any] | None:
        """The record of the entity that the criterion is about; None if it is about none."""
        return self.entities.get(self.subject) if self.subject is not None else None

    @property
    def now(self) -> datetime | None:
        """The simulated time at the end of the run, which is that of the last event; None if there are no events."""
        return self.events[-1].at if self.events else None

    @property
    def is_rasa_compatible(self) -> bool:
        """Whether assertions are read as Rasa reads them."""
        return self.task.compat == "rasa"

    @lazy_property
    def indexes_by_kind(self) -> dict[str, list[int]]:
        """The indexes of the events of each kind; most checks need only a few kinds."""
        indexes: defaultdict[str, list[int]] = defaultdict(list)
        for index, event in enumerate(self.events):
            indexes[event.kind].append(index)
        return dict(indexes)

    def of_kind(self, *kinds: str) -> list[Event]:
        """Return the events of some kinds, in order."""
        if len(kinds) == 1:
            return [self.events[index] for index in self.indexes_by_kind.get(kinds[0], ())]
        return [
            self.events[index] for index in sorted(chain.from_iterable(self.indexes_by_kind.get(k, ()) for k in kinds))
        ]

    @lazy_property
    def utterances(self) -> list[Event]:
        """All utterances, in order."""
        by_kind = [
            indexes
            for indexes in self.indexes_by_kind.values()
            if isinstance(self.events[indexes[0]].payload, Utterance)
        ]
        indexes = by_kind[0] if len(by_kind) == 1 else sorted(chain.from_iterable(by_kind))
        return [self.events[index] for index in indexes]

    @lazy_property
    def _heard(self) -> dict[tuple[str, str], str]:
        """What was heard of utterances that were cut, by sandbox and `cut_key`."""
        kinds = [kind for kind, indexes in self.indexes_by_kind.items() if _is_cut(self.events[indexes[0]])]
        cuts = [(event.source, cast(UtteranceCut, event.payload)) for kind in kinds for event in self.of_kind(kind)]
        return {(source, cut.cut_key): cut.heard for source, cut in cuts}

    def heard_text(self, event: Event) -> str:
        """Return the text of an utterance, or the part that was heard before it was cut."""
        utterance: Any = event.payload
        text: str = utterance.text
        return self._heard.get((event.source, utterance.cut_key), text) if self._heard else text

    def utterances_by(self, actor: str, sandbox: str | None = None) -> list[Event]:
        """Return the utterances of one actor, in one sandbox or in all. What a machine answers within a request of the
        agent is not the agent's.
        """
        return [
            event
            for event in self.utterances
            if event.actor == actor
            and sandbox in (None, event.source)
            and (actor != "agent" or not event.payload.is_by_sandbox)
        ]

    @lazy_property
    def _turn_starts(self) -> list[Event]:
        """The message that begins each turn, which is a message of a person."""
        return [event for event in self.utterances if not is_by_agent(event)]

    @lazy_property
    def _turns(self) -> list[tuple[datetime, int]]:
        """The time and number of the message that begins each turn."""
        return [(event.at, event.seq) for event in self._turn_starts]

    @lazy_property
    def _turn_conversations(self) -> list[str]:
        """The conversation of the message that begins each turn; empty if there is only one conversation."""
        keys = [find_conversations(event)[0] for event in self._turn_starts]
        return keys if len(set(keys)) > 1 else []

    def turn_of(self, event: Event) -> int:
        """Return the turn in which an event happened; 0 before the first message of a person.

        Turns are counted over all conversations. If there are several, an utterance belongs to the last turn of its
        own conversation.
        """
        turn = bisect_right(self._turns, (event.at, event.seq))
        if self._turn_conversations and isinstance(event.payload, Utterance):
            keys, turns = find_conversations(event), self._turn_conversations
            own = (number for number in range(turn, 0, -1) if turns[number - 1] in keys)
            return next(own, turn)
        return turn

    def place(self, event: Event) -> str:
        """Return the position of an event for a sentence: `turn 2 (#14)`, or `#14` if there is no conversation."""
        return f"turn {self.turn_of(event)} (#{event.seq})" if self._turns else f"#{event.seq}"

    def when(self, event: Event) -> str:
        """Return `in turn 2 (#14)` or `at #14`, for a sentence."""
        return f"{'in' if self._turns else 'at'} {self.place(event)}"

    @lazy_property
    def _by_seq(self) -> dict[int, Event]:
        return {event.seq: event for event in self.events}

    def find_originator(self, event: Event) -> str:
        """Return the actor of an event; for one caused by a reaction or by work that fell due, the actor behind it."""
        while event.actor in INDIRECT_ACTORS and event.cause in self._by_seq:
            event = self._by_seq[event.cause]
        return event.actor

    @lazy_property
    def _cache(self) -> dict[Callable[["Evidence"], Any], Any]:
        return {}

    def cached(self, compute: Callable[["Evidence"], R]) -> R:
        """Return the result of a function of the evidence, computed once for all assertions."""
        if compute not in self._cache:
            self._cache[compute] = compute(self)
        result: R = self._cache[compute]
        return result

    def ask(self, question: Question[T]) -> ModelAnswer[T]:
        """Ask the judge model a question."""
        return self._model.ask(question)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the embeddings of texts, from the judge model."""
        return self._model.embed(texts)

    @property
    def is_model_slow(self) -> bool:
        """Whether the judge model takes time to answer."""
        return not is_instant(self.model)

    @property
    def _model(self) -> Model:
        if self.model is None:
            raise NoModel(
                "a judge model is needed, and none is configured; add --judge, or --no-judge to skip the criterion"
            )
        return self.model

    def state(self, kind: type[S], sandbox: str | None = None) -> S:
        """Return the final state of a sandbox or domain; without a name, of the only one with this type of state."""
        return find_state(self.states, kind, sandbox)[1]


def _is_cut(event: Event) -> bool:
    return isinstance(event.payload, UtteranceCut)
