"""The fork point of a trial: the log of the original trial up to one turn, and how to continue from there.

The new log begins with the same bytes as the log of the original trial, and the sandboxes are rebuilt from those
events. People, scheduled steps and active faults are not in the events, so they are restored separately.

See docs/decisions/0010-planning-resume-and-fork.md.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, NamedTuple, cast

from clerkship.actors.contract import Agent, AgentWithHistory, AgentWithStart, History, SimulatedPerson, Start
from clerkship.engine.past_conversation import AnsweredTurn, PastConversation, find_messages_to_agent
from clerkship.events.agent import SlotSet
from clerkship.events.event import Utterance
from clerkship.events.lifecycle import (
    AgentStarted,
    FaultInjected,
    ModelCalled,
    RunForked,
    RunStarted,
    StepFailed,
    StepRan,
)
from clerkship.kit.rng import Rng, derive_seed
from clerkship.model.conversation_key import parse_key
from clerkship.model.run import ForkOrigin
from clerkship.playground.conversation import build_message
from clerkship.playground.faults import ActiveFault
from clerkship.playground.person_tools import list_uses
from clerkship.playground.playground import Playground, SavedLog
from clerkship.sandbox.faults.contract import ON_TURN, EventFault, Fault, ModelFault
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.steps.contract import Step
from clerkship.sandbox.steps.fault_step import FaultStep

Steps = Sequence[tuple[timedelta | None, Step]]
WithTurnTimeout = Callable[[Awaitable[Any]], Awaitable[Any]]
"""Awaits a reply of an agent, within the time limit of a turn."""


class HandedMessage(NamedTuple):
    """A message that was passed to the agent: the number of events at that time, and the key of its conversation."""

    events: int
    conversation: str


@dataclass(frozen=True)
class ForkPoint:
    """A trial up to the point where its agent got one message of a person."""

    log: SavedLog
    fork: ForkOrigin
    handed: Sequence[HandedMessage]
    """The messages that the agent got, including the one that is to be answered."""
    requests: Sequence[tuple[int, str, str]] = ()
    """The requests of the agent: the number of events at that time, the sandbox, the operation."""

    @cached_property
    def seed(self) -> str:
        """The seed of the forked playground."""
        return next(event.payload.seed for event in self.log.events if isinstance(event.payload, RunStarted))

    @cached_property
    def turns(self) -> list[AnsweredTurn]:
        """The turns that were answered."""
        messages = {name: iter(find_messages_to_agent(self.log.events, name)) for _, name in self.handed}
        return [
            AnsweredTurn(name, next(messages[name]), start, end) for (start, name), (end, _) in pairwise(self.handed)
        ]

    def conversation(self, key: str) -> PastConversation:
        """Return a conversation so far."""
        return PastConversation(self.log.events, key, self.turns)

    @property
    def replied(self) -> dict[str, bool]:
        """Whether the agent ever replied to a message, by the conversations from which it got messages."""
        replied: dict[str, bool] = {}
        for turn in self.turns:
            key = turn.conversation
            replied[key] = replied.get(key) or self.conversation(key).was_answered(turn)
        return replied

    def history(self, start: Start) -> History:
        """Return a conversation so far, in the form that an agent gets."""
        slots = {
            event.payload.name: event.payload.value
            for event in self.log.events
            if event.source == "agent" and isinstance(event.payload, SlotSet)
        }
        turns = deepcopy(tuple(self.conversation(start.conversation).history()))
        return History(turns, deepcopy(slots), start.sandbox, start.task_item, start.channel, start.address)

    async def inform(
        self,
        agent: Agent,
        sandboxes: Sandboxes,
        playground: Playground,
        starts: Sequence[Start],
        with_timeout: WithTurnTimeout,
    ) -> None:
        """Pass the history to the agent, or have it answer each earlier message again (a warm-up).

        Before each call of the agent the playground is rewound, so that the sandboxes are as they were at that time.
        The agent's changes to them and its replies are discarded.
        """
        events = self.log.events
        if "on_start" in agent.entries:
            agent_start = next(
                number for number, event in enumerate(events, 1) if isinstance(event.payload, AgentStarted)
            )
            for start in starts:
                playground.rewind(self._log_until(agent_start))
                await with_timeout(cast(AgentWithStart, agent).on_start(start, sandboxes))
        if self.choose_briefing(agent) == "history":
            for start in starts:
                playground.rewind(self.log)
                await with_timeout(cast(AgentWithHistory, agent).on_history(self.history(start), sandboxes))
            return
        task_item, slots = starts[0].task_item, starts[0].slots
        for turn in self.turns:
            playground.rewind(self._log_until(turn.start))
            utterance = cast(Utterance, events[turn.message].payload)
            message = build_message(utterance, turn.conversation, task_item, slots)
            await with_timeout(agent.on_turn(message, sandboxes))

    def _log_until(self, count: int) -> SavedLog:
        return replace(self.log, events=self.log.events[:count], lines=self.log.lines[:count])

    def choose_briefing(self, agent: Agent) -> Literal["history", "warm_up", "nothing"]:
        """Return how the agent learns what happened; `nothing` if there was no turn before the fork."""
        if "on_history" in agent.entries and not self.fork.warm_up:
            return "history"
        return "warm_up" if self.fork.turn > 1 else "nothing"

    def restore(
        self, playground: Playground, agent: Agent, steps: Steps, people: Mapping[str, SimulatedPerson], trial: int
    ) -> None:
        """Restore the playground to the fork point, with its people, steps and faults."""
        with playground.lock:
            if playground.closed:
                return  # the trial was abandoned while the agent was being informed
            playground.rewind(self.log)
            playground.rng = Rng(derive_seed(self.seed, "fork", self.fork.turn, trial))
            texts = (*self.log.lines, *self.log.blobs.values())  # no new id may equal one that occurs in the log
            playground.ids.skip_used(text.decode(errors="replace") for text in texts)
            self._restore_steps(playground, steps)
            for key, person in people.items():
                past = self.conversation(key)
                pauses = person.recall(past.person_history(), list_uses(self.log.events, key) if person.tools else ())
                playground.people.restore_person(person, key, *past.pending_turns(), pauses)
                playground.people.participants[key].leave_reason = past.leave_reason
            for events, key in self.handed[:-1]:
                playground.sidecar.record_message(events, key if len(people) > 1 else None)
            briefing, fork = self.choose_briefing(agent), self.fork
            playground.sidecar.facts["fork"] = {**fork.model_dump(mode="json"), "told": briefing}
            playground.emit("run", RunForked(run=fork.run, trial=fork.trial, turn=fork.turn, told=briefing), "run")
            playground.people.listening = True

    def rewind_unfinished(self, playground: Playground) -> None:
        """Rewind to the fork point if the trial was stopped while its agent was being informed.

        Else the log would contain what the agent did while it was informed.
        """
        with playground.lock:
            after = playground.log.events[len(self.log.events) :]
            if not after or not isinstance(after[0].payload, RunForked):
                playground.rewind(self.log)

    def _restore_steps(self, playground: Playground, steps: Steps) -> None:
        """Inject the faults of steps that have run, and schedule the steps that have not.

        Other steps that have run are not repeated: their changes are in the events.
        """
        at_once = [step for at, step in steps if at is None]
        later = sorted(
            ((at, number, step) for number, (at, step) in enumerate(steps) if at is not None), key=_schedule_order
        )
        ran = [event for event in self.log.events if isinstance(event.payload, StepRan | StepFailed)]
        done = max(len(ran) - len(at_once), 0)
        occurrences: Counter[str] = Counter()
        for step in (*at_once, *(step for _, _, step in later[:done])):
            occurrences[step.name] += 1
            if isinstance(step, FaultStep):
                active = playground.faults.inject(step.build_fault())
                self._count_skipped(active, self._ran_at(step, occurrences[step.name]))
        for at, _, step in later[done:]:
            playground.steps.schedule(at, step)
        self._count_triggers(playground)
        playground.steps.errors += [
            f"step {event.payload.step}: {event.payload.reason}"
            for event in ran
            if isinstance(event.payload, StepFailed) and not event.payload.by_agent
        ]

    def _ran_at(self, step: Step, occurrence: int) -> int:
        """Return the position in the log of the given occurrence, from 1, of a step with the same name."""
        positions = [
            event.seq
            for event in self.log.events
            if isinstance(event.payload, StepRan) and event.payload.step == step.name
        ]
        return positions[occurrence - 1] if occurrence <= len(positions) else 0

    def _count_skipped(self, active: ActiveFault[Any], since: int) -> None:
        """Count what a fault has skipped since it was injected: requests and turns, events, or model calls."""
        fault = active.fault
        if isinstance(fault, ModelFault):
            called = (event for event in self.log.events if event.seq >= since)
            seen = [(each.source, each.payload.operation) for each in called if isinstance(each.payload, ModelCalled)]
        elif isinstance(fault, EventFault):
            seen = self._list_events(fault, since)
        else:
            seen = self._list_requests(fault, since)
        matches = [operation for sandbox, operation in seen if operation and fault.covers(sandbox, operation)]
        active.times_skipped = min(fault.skip, len(matches))

    def _list_events(self, fault: EventFault, since: int) -> list[tuple[str, str]]:
        """Return the source and kind of each event since a position that a fault may alter."""
        events = (event for event in self.log.events if event.seq >= since and isinstance(event.payload, fault.event))
        return [(event.source, event.kind) for event in events if fault.affects(event.payload)]

    def _list_requests(self, fault: Fault, since: int) -> list[tuple[str, str]]:
        """Return the sandbox and operation of each request and answered turn since a position in the log."""
        seen = [(sandbox, operation) for events, sandbox, operation in self.requests if events >= since]
        if fault.affects_turns:
            turns = [turn for turn in self.turns if turn.end > since]
            seen += [
                (parse_key(turn.conversation).sandbox, ON_TURN)
                for turn in turns
                if self.conversation(turn.conversation).was_answered(turn)
            ]
        return seen

    def _count_triggers(self, playground: Playground) -> None:
        """Count each logged effect of a fault for the first active fault that may have caused it."""
        for event in self.log.events:
            if not isinstance(event.payload, FaultInjected):
                continue
            for active in playground.faults.list_all():
                fault = active.fault
                is_match = fault.name == event.payload.fault and fault.covers(event.source, event.payload.operation)
                if is_match and active.times_triggered != fault.times:
                    active.times_triggered, active.times_skipped = active.times_triggered + 1, fault.skip
                    break


def _schedule_order(item: tuple[timedelta, int, Step]) -> tuple[timedelta, int]:
    return item[:2]
