"""The beginning of a trial that goes on with a conversation had before: taken over line by line, up to one turn.

The log begins with the very bytes of the other; sandboxes are what those events make of them. What no event tells is
made anew: who is seated, which steps are still to come, which faults are in the way.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, cast

from pydantic import JsonValue

from clerkship.actors.contract import (
    Agent,
    Heard,
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
from clerkship.playground.conversation import to_heard
from clerkship.playground.faults import ON_TURN, ActiveFault
from clerkship.playground.playground import Before, Playground
from clerkship.sandbox.door import Sandboxes
from clerkship.steps.contract import Step
from clerkship.steps.fault_step import FaultStep

Steps = Sequence[tuple[timedelta | None, Step]]
Patiently = Callable[[Awaitable[Any]], Awaitable[None]]
"""Wait for something an agent does, as long as an answer may take."""


@dataclass(frozen=True)
class ForkPoint:
    """A conversation up to where its agent was handed one line of the person."""

    before: Before
    place: str
    """Where the conversation is."""
    fork: Fork
    handed: Sequence[int]
    """How many events there were when the agent was handed each line, the one it has not answered included."""
    touches: Sequence[tuple[int, str, str]] = ()
    """Requests there were: where the log stood, to which sandbox, which operation."""

    @cached_property
    def seed(self) -> str:
        """Of the playground it happened in: ids go on as they would have."""
        return next(event.payload.seed for event in self.before.events if isinstance(event.payload, RunStarted))

    @cached_property
    def _lines(self) -> list[int]:
        """Where the person's lines are among the events."""
        return said_at(self.before.events, self.place)

    def _upto(self, count: int) -> Before:
        before = self.before
        return Before(before.events[:count], before.lines[:count], before.blobs)

    # What happened, for those who were not there.

    def past(self) -> list[Past]:
        """As the person lived it: each line of theirs, and what came after it. The last of it is not answered yet."""
        events, lines = self.before.events, self._lines
        greeting = self._heard(events[: lines[0]])
        past = [Past(None, greeting)] if greeting is not None else []
        for start, end in zip(lines, [*lines[1:], len(events)], strict=True):
            after = events[start + 1 : end]
            seen = tuple(event for event in after if event.actor != "person")
            past.append(Past(cast(Utterance, events[start].payload).text, self._heard(after), seen))
        return past

    def history(self, task_item: Mapping[str, JsonValue] | None) -> History:
        """As an agent is told: each line it would have been handed, and what was made of it."""
        events = self.before.events
        first = [Turn(0, None, answer=self._answer(events[: self._lines[0]]))]
        later = [
            _turn(number, cast(Utterance, events[line].payload), self._answer(events[start:end], lost=True))
            for number, (line, start, end) in enumerate(self._had(), 1)
        ]
        slots = {
            event.payload.name: event.payload.value
            for event in events
            if event.source == "agent" and isinstance(event.payload, SlotSet)
        }
        turns = (*(first if first[0].answer else ()), *later)
        return History(deepcopy(turns), deepcopy(slots), self.place, task_item)

    def _had(self) -> Iterator[tuple[int, int, int]]:
        """Each turn that was answered: where its line is, and the events of its answer, from and to."""
        for number, (start, end) in enumerate(pairwise(self.handed)):
            yield self._lines[number], start, end

    def _heard(self, events: Sequence[Event]) -> Heard | None:
        replies = [part for part in self._answer(events) if isinstance(part, Say)]
        return to_heard(replies) if replies else None

    def _answer(self, events: Sequence[Event], *, lost: bool = False) -> tuple[Said, ...]:
        """What the agent said and did among these; what was lost on the way, where that is asked for too."""
        found: list[Said] = []
        for event in events:
            if lost and _is_lost(event):
                found += [Say(text) for text in cast(FaultInjected, event.payload).details["lost"]]
            if event.actor != "agent":
                continue
            if isinstance(event.payload, Utterance) and event.source == self.place:
                found.append(_say(event.payload))
            elif event.source == "agent":
                found.append(event.payload)
        return tuple(found)

    def _waits(self) -> tuple[int, list[Say]]:
        """Of a person who went on without waiting: how many answers they have to come before they go on, and those
        they have had since."""
        events, ahead, unheard, seen = self.before.events, 0, list[Say](), 0
        for number, count in enumerate(self.handed):
            ahead += sum(seen <= line < count for line in self._unwaited)
            seen = count
            answer = events[count : self.handed[number + 1]] if number + 1 < len(self.handed) else None
            if answer is None or any(_is_lost(event) for event in answer):
                continue
            said = [part for part in self._answer(answer) if isinstance(part, Say)]
            unheard = [*unheard, *said] if ahead else []
            ahead = max(ahead - 1, 0)
        return ahead, unheard

    @cached_property
    def _unwaited(self) -> list[int]:
        """Lines that the person said without waiting for an answer to the one before: said before the agent was
        handed that, and because of the same thing. A line that a step says is not."""
        events = self.before.events
        lines = [(line, number) for number, line in enumerate(self._lines) if not _is_steps(events, line)]
        return [
            line
            for (last, number), (line, _) in pairwise(lines)
            if events[line].cause == events[last].cause and (number >= len(self.handed) or line < self.handed[number])
        ]

    @property
    def silent(self) -> int:
        """Turns in which the agent said nothing, of those it has had; what was lost on the way was said."""
        events = self.before.events
        return sum(not self._spoke(events[start:end]) for _, start, end in self._had())

    def _spoke(self, events: Sequence[Event]) -> bool:
        return any(map(_is_lost, events)) or self._heard(events) is not None

    @property
    def heard(self) -> int:
        """How many messages there are before the line that is to be answered."""
        line = self._lines[self.fork.turn - 1]
        messages = [e for e in self.before.events[:line] if isinstance(e.payload, Utterance) and e.source == self.place]
        return len(messages)

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
        for line, handed, _ in self._had():
            playground.rewind(self._upto(handed))
            said = cast(Utterance, self.before.events[line].payload)
            message = Message(said.text, said.turn, self.place, start.task_item, deepcopy(said.metadata), start.slots)
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
            kept = (*self.before.lines, *self.before.blobs.values())
            playground.ids.recall(text.decode(errors="replace") for text in kept)
            self._set_steps(playground, steps)
            person.recall(self.past())
            playground.people.restore_person(person, self.place, *self._waits())
            playground.sidecar.handed = list(self.handed[:-1])
            told, fork = self.told(agent), self.fork
            playground.sidecar.facts["fork"] = {**fork.model_dump(mode="json"), "told": told}
            playground.emit("run", RunForked(run=fork.run, trial=fork.trial, turn=fork.turn, told=told), "run")
            playground.people.listening = True

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
        ran = [event for event in self.before.events if isinstance(event.payload, StepRan | StepFailed)]
        done = max(len(ran) - len(at_once), 0)
        times: Counter[str] = Counter()
        for step in (*at_once, *(step for _, _, step in later[:done])):
            times[step.name] += 1
            if isinstance(step, FaultStep):
                step.run(playground)
                self._count(playground.faults.active[-1], self._ran(step, times[step.name]))
        for at, _, step in later[done:]:
            playground.steps.schedule(at, step)
        self._count_strikes(playground)
        playground.steps.errors += [
            f"step {event.payload.step}: {event.payload.reason}"
            for event in ran
            if isinstance(event.payload, StepFailed) and not event.payload.by_agent
        ]

    def _ran(self, step: Step, time: int) -> int:
        """Where the log stood when a step was run, for the so many-th time one of its name was."""
        found = [e.seq for e in self.before.events if isinstance(e.payload, StepRan) and e.payload.step == step.name]
        return found[time - 1] if time <= len(found) else 0

    def _count(self, active: ActiveFault, since: int) -> None:
        """What a fault has let pass since it is there: requests, and turns in which something was said."""
        fault, events = active.fault, self.before.events
        seen = [touch[1:] for touch in self.touches if touch[0] >= since]
        if fault.strikes_turns:
            had = [start for _, start, end in self._had() if end > since and self._spoke(events[start:end])]
            seen += [(self.place, ON_TURN)] * len(had)
        fits = [
            (sandbox, operation)
            for sandbox, operation in seen
            if operation and fault.sandbox in (None, sandbox) and fault.operation in (None, operation)
        ]
        active.passed = min(fault.skip, len(fits))

    def _count_strikes(self, playground: Playground) -> None:
        """Each strike is the first fault's that it can be of; one that has struck has let pass what it lets pass."""
        for event in self.before.events:
            if not isinstance(event.payload, FaultInjected):
                continue
            for active in playground.faults.active:
                fault = active.fault
                fits = fault.name == event.payload.fault and fault.sandbox in (None, event.source)
                if fits and fault.operation in (None, event.payload.operation) and active.strikes != fault.times:
                    active.strikes, active.passed = active.strikes + 1, fault.skip
                    break


def _when(item: tuple[timedelta, int, Step]) -> tuple[timedelta, int]:
    return item[:2]


def _is_lost(event: Event) -> bool:
    """Whether it is what the agent said that never arrived."""
    return isinstance(event.payload, FaultInjected) and "lost" in event.payload.details


def _is_steps(events: Sequence[Event], line: int) -> bool:
    """Whether a line was said by a step, which is over with it."""
    after = events[line + 1].payload if line + 1 < len(events) else None
    return isinstance(after, StepRan) and after.step.endswith(".say")


def _say(said: Utterance) -> Say:
    return Say(said.text, said.utter_name, said.buttons, said.metadata, said.custom)


def _turn(number: int, said: Utterance, answer: tuple[Said, ...]) -> Turn:
    return Turn(number, said.text, said.metadata, answer)


def said_at(events: Sequence[Event], place: str) -> list[int]:
    """Where among some events there is a line said to the agent."""
    return [
        number
        for number, event in enumerate(events)
        if event.source == place and event.actor != "agent" and isinstance(event.payload, Utterance)
    ]


def handed_at(events: Sequence[Event], place: str) -> list[int]:
    """How many events there were when the agent was handed each line, where nobody took that down: with the line."""
    found: list[int] = []
    for line in said_at(events, place):
        end = line + 1
        while end < len(events) and isinstance(events[end].payload, StepRan | StepFailed):
            end += 1  # it was said in a step, which is done with it
        found.append(end)
    return found
