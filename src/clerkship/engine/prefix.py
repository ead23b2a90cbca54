"""The beginning of a trial that goes on with a conversation had before: taken over line by line, up to one turn.

The log begins with the very bytes of the other; sandboxes are what those events make of them. What no event tells is
made anew: who is seated, which steps are still to come, which faults are in the way.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Literal, cast

from pydantic import JsonValue

from clerkship.actors.contract import (
    Agent,
    History,
    Message,
    Past,
    Remembering,
    Said,
    Say,
    SimulatedPerson,
    Start,
    Starting,
    Turn,
)
from clerkship.events.agent import SlotSet
from clerkship.events.event import Event, Utterance
from clerkship.events.lifecycle import AgentStarted, FaultInjected, RunForked, RunStarted, StepFailed, StepRan
from clerkship.kit.rng import Rng, derive
from clerkship.model.problem import InputError
from clerkship.model.run import Fork
from clerkship.playground.playground import Before, Playground, heard
from clerkship.sandbox.door import Sandboxes
from clerkship.steps.contract import Step
from clerkship.steps.fault_step import FaultStep

Steps = Sequence[tuple[timedelta | None, Step]]
Patiently = Callable[[Awaitable[Any]], Awaitable[None]]
"""Wait for something an agent does, as long as an answer may take."""


class NoSuchTurn(Exception):
    """The person never said so many lines."""

    def __init__(self, turns: int) -> None:
        super().__init__(f"it has {turns} turn{'s' * (turns != 1)}")
        self.turns = turns


@dataclass(frozen=True)
class Prefix:
    """A conversation up to a line of the person that has not been answered yet."""

    before: Before
    place: str
    """Where the conversation is."""
    fork: Fork

    @cached_property
    def seed(self) -> str:
        """Of the playground it happened in: ids go on as they would have."""
        return next(event.payload.seed for event in self.before.events if isinstance(event.payload, RunStarted))

    @cached_property
    def _cuts(self) -> list[int]:
        """How many events there are up to each line of the person, that line included."""
        return cuts(self.before.events, self.place)

    def _upto(self, count: int) -> Before:
        before = self.before
        return Before(before.events[:count], before.lines[:count], before.blobs)

    # What happened, for those who were not there.

    def _turns(self) -> Iterator[tuple[int, Event | None, Sequence[Event]]]:
        """Each turn: its number, the person's line, and what came upon it."""
        events, starts = self.before.events, [cut - 1 for cut in self._cuts]
        yield 0, None, events[: starts[0]]
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(events)], strict=True), 1):
            yield number, events[start], events[start + 1 : end]

    def past(self) -> list[Past]:
        """As the person lived it; the last of it is not answered yet."""
        return [
            Past(
                cast(Utterance, line.payload).text if line is not None else None,
                heard(replies)
                if (replies := [part for part in self._answer(after) if isinstance(part, Say)])
                else None,
                tuple(event for event in after if event.actor != "person") if line is not None else (),
            )
            for _, line, after in self._turns()
            if line is not None or any(isinstance(part, Say) for part in self._answer(after))
        ]

    def history(self, task_item: Mapping[str, JsonValue] | None) -> History:
        """As an agent is told."""
        turns = [_turn(number, line, self._answer(after)) for number, line, after in self._turns()]
        slots = {
            event.payload.name: event.payload.value
            for event in self.before.events
            if event.source == "agent" and isinstance(event.payload, SlotSet)
        }
        had = tuple(turn for turn in turns[:-1] if turn.turn or turn.answer)
        return History(had, slots, self.place, task_item)

    def _answer(self, events: Sequence[Event]) -> list[Said]:
        """What the agent said and did among these."""
        found: list[Said] = []
        for event in events:
            if event.actor != "agent":
                continue
            if isinstance(event.payload, Utterance) and event.source == self.place:
                found.append(_say(event.payload))
            elif event.source == "agent":
                found.append(event.payload)
        return found

    @property
    def silent(self) -> int:
        """Turns in which the agent said nothing, of those it has had."""
        return sum(turn.heard is None for turn in self.past()[:-1] if turn.said is not None)

    # The agent.

    async def tell(
        self, agent: Agent, sandboxes: Sandboxes, playground: Playground, start: Start, patiently: Patiently
    ) -> None:
        """Have the agent know what happened: by telling it, or by what it once more makes of each line.

        It sees the sandboxes as they were at each time. What it does to them, and what it says, is thrown away.
        """
        began = next(
            number for number, event in enumerate(self.before.events, 1) if isinstance(event.payload, AgentStarted)
        )
        if start.stubs and "on_start" not in agent.entries:
            raise InputError.of("this agent has no on_start to be told which actions are stubbed")
        if "on_start" in agent.entries:
            playground.rewind(self._upto(began))
            await patiently(cast(Starting, agent).on_start(start, sandboxes))
        if self.told(agent) == "history":
            playground.rewind(self.before)
            await patiently(cast(Remembering, agent).on_history(self.history(start.task_item), sandboxes))
            return
        for cut in self._cuts[:-1]:
            playground.rewind(self._upto(cut))
            message = message_of(self.before.events[cut - 1], self.place, start)
            await patiently(agent.on_turn(message, sandboxes))

    def told(self, agent: Agent) -> Literal["history", "warm_up", "nothing"]:
        """Which of the two it is; neither, where there was nothing before."""
        if "on_history" in agent.entries and not self.fork.warm_up:
            return "history"
        return "warm_up" if self.fork.turn > 1 else "nothing"

    # The playground.

    def take_up(self, playground: Playground, agent: Agent, steps: Steps, person: SimulatedPerson, trial: int) -> None:
        """Be where the conversation was, everybody in their place, whatever is to come still to come."""
        with playground.lock:
            if playground.closed:
                return  # given up while the agent was told
            playground.rewind(self.before)
            playground.rng = Rng(derive(self.seed, "fork", self.fork.turn, trial))
            self._set_steps(playground, steps)
            person.recall(self.past())
            playground.seat_again(person, self.place)
            told, fork = self.told(agent), self.fork
            playground.sidecar.facts["fork"] = {**fork.model_dump(mode="json"), "told": told}
            playground.emit("run", RunForked(run=fork.run, trial=fork.trial, turn=fork.turn, told=told), "run")
            playground.listen()

    def settle(self, playground: Playground) -> None:
        """A trial that was given up while its agent was told ends where the conversation was, not somewhere in it."""
        with playground.lock:
            after = playground.log.events[len(self.before.events) :]
            if not after or not isinstance(after[0].payload, RunForked):
                playground.rewind(self.before)

    def _set_steps(self, playground: Playground, steps: Steps) -> None:
        """What has run is not run again, but the faults it put there are; the rest is scheduled."""
        at_once = [step for at, step in steps if at is None]
        later = sorted(((at, number, step) for number, (at, step) in enumerate(steps) if at is not None), key=_when)
        ran = sum(isinstance(event.payload, StepRan | StepFailed) for event in self.before.events)
        done = max(ran - len(at_once), 0)
        for step in (*at_once, *(step for _, _, step in later[:done])):
            if isinstance(step, FaultStep):
                step.run(playground)
        for at, _, step in later[done:]:
            playground.schedule(at, step)
        self._count_strikes(playground)
        for event in self.before.events:
            if isinstance(event.payload, StepFailed):
                playground.step_errors.append(f"step {event.payload.step}: {event.payload.reason}")

    def _count_strikes(self, playground: Playground) -> None:
        """Each strike is the first fault's that it can be of; one that has struck has let pass what it lets pass."""
        for event in self.before.events:
            if not isinstance(event.payload, FaultInjected):
                continue
            for active in playground.faults:
                fault = active.fault
                fits = fault.name == event.payload.fault and fault.sandbox in (None, event.source)
                if fits and fault.operation in (None, event.payload.operation) and active.strikes != fault.times:
                    active.strikes, active.passed = active.strikes + 1, fault.skip
                    break


def _when(item: tuple[timedelta, int, Step]) -> tuple[timedelta, int]:
    return item[:2]


def _say(said: Utterance) -> Say:
    return Say(said.text, said.utter_name, said.buttons, said.metadata, said.custom)


def _turn(number: int, line: Event | None, answer: Sequence[Said]) -> Turn:
    said = cast(Utterance, line.payload) if line is not None else None
    return Turn(number, said.text if said else None, said.metadata if said else None, tuple(answer))


def message_of(line: Event, place: str, start: Start) -> Message:
    """A line of the person as an agent is handed it."""
    said = cast(Utterance, line.payload)
    return Message(said.text, said.turn, place, start.task_item, said.metadata, start.slots)


def cuts(events: Sequence[Event], place: str) -> list[int]:
    """How many events there are up to each line said to the agent, that line included."""
    return [
        number
        for number, event in enumerate(events, 1)
        if event.source == place and event.actor != "agent" and isinstance(event.payload, Utterance)
    ]


def cut(events: Sequence[Event], place: str, turn: int) -> int:
    """How many events there are before anybody answers the line that begins this turn."""
    places = cuts(events, place)
    if not 1 <= turn <= len(places):
        raise NoSuchTurn(len(places))
    end = places[turn - 1]
    while end < len(events) and isinstance(events[end].payload, StepRan | StepFailed):
        end += 1  # it was said in a step, which is done with it
    return end
