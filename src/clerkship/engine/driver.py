"""Drive the conversations of a trial: pass the messages of people to the agent, and its replies to the people.

One message is handled at a time. People take turns in the order in which they were added to the playground. A person
without a new message is skipped.
"""

import math
from collections import deque
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar, cast

import orjson

from clerkship.actors.contract import Agent, AgentWithHistory, AgentWithStart, History, Say, SimulatedPerson, Start
from clerkship.by_name import load
from clerkship.engine.build import BuiltTask
from clerkship.engine.spec import Watchdog
from clerkship.events.agent import SlotSet
from clerkship.events.event import Event, Utterance, is_by_agent
from clerkship.events.lifecycle import RunStarted
from clerkship.model.conversation_key import parse_key
from clerkship.model.errors import InputError
from clerkship.model.run import Ending
from clerkship.playground.agent_clock import advance_to, skip_to_next_event
from clerkship.playground.conversation import Participant, build_message
from clerkship.playground.playground import Playground
from clerkship.sandbox.handle import Sandboxes
from clerkship.settings import DEFAULT_MAX_TURNS, DEFAULT_TURN_TIMEOUT

if TYPE_CHECKING:
    from clerkship.engine.fork_point import ForkPoint

T = TypeVar("T")
PAST = "chat.past"
"""The step that adds what was said before the trial."""


def set_up(playground: Playground, built: BuiltTask, people: Mapping[str, SimulatedPerson]) -> None:
    """Add the people, run the steps, and schedule the steps with a later time."""
    task, environment = built.snapshot.task, built.snapshot.environment
    playground.emit("run", RunStarted(task=task.name, environment=environment.name, seed=playground.seed), "run")
    for key, person in people.items():
        playground.people.add_person(person, key)
    for at, step in built.steps:
        if at is not None:
            playground.steps.schedule(at, step)
        elif not playground.steps.errors:
            playground.steps.run(step)


def open_conversations(playground: Playground, built: BuiltTask) -> None:
    """Set the slots, and have each person who begins send their first message.

    From then on, people are notified of events.
    """
    with playground.lock:
        for name, value in built.scenario.initial_slots.items():
            playground.emit("agent", SlotSet(name=name, value=value), "scenario")
        for key, participant in playground.people.participants.items():
            if not (participant.conversation.messages and _is_asked(participant)):
                playground.people.open(key)
        playground.people.listening = True


class TurnTimedOut(Exception):
    """Raised when an agent takes longer than the time limit of a reply."""


class AgentTime:
    """A clock for the time limits of an agent.

    It shows wall time without pauses of this process, and without the time of models that play people.
    """

    def __init__(self, watchdog: Watchdog, playground: Playground) -> None:
        self._watchdog, self._playground = watchdog, playground
        self.turn_deadline = math.inf
        """The deadline of the current reply."""
        self.started_at = self.now()

    def now(self) -> float:
        """Return the time in seconds. Only differences have a meaning."""
        people = self._playground.people
        return self._watchdog.time() - people.model_time.seconds if people.uses_model else self._watchdog.time()

    def start_turn(self, seconds: float) -> None:
        """Set the deadline of a reply. The worker interrupts an agent that misses it."""
        self.turn_deadline = self.now() + seconds

    def end_turn(self) -> None:
        """Remove the deadline; raise TurnTimedOut if it was missed."""
        if self.now() > self.turn_deadline:
            raise TurnTimedOut
        self.turn_deadline = math.inf


@dataclass(slots=True)
class TurnState:
    """The progress of the conversations of a trial."""

    turns: int = 0
    """The number of messages that the agent got."""
    replied: dict[str, bool] = field(default_factory=dict)
    """Whether the agent ever replied to a message, by the conversations from which it got messages."""
    handled: dict[str, int] = field(default_factory=dict)
    """The number of messages of each conversation that were handled, by conversation."""
    next: str = ""
    """The conversation of the first message that the agent gets; empty if it is that of the first person."""


class ConversationDriver:
    """Drives all conversations of one trial."""

    def __init__(
        self, built: BuiltTask, playground: Playground, agent: Agent, sandboxes: Sandboxes, time: AgentTime
    ) -> None:
        self._built, self._playground = built, playground
        self._agent, self._sandboxes, self._time = agent, sandboxes, time
        self._max_turns = built.scenario.max_turns or DEFAULT_MAX_TURNS
        self._turn_timeout = built.scenario.turn_timeout or DEFAULT_TURN_TIMEOUT

    async def begin(self) -> Ending:
        """Let the agent prepare each conversation, open them, and drive them to their end."""
        people = self._playground.people
        people.agent_takes_turns = True
        if "on_start" in self._agent.entries:
            for start in self._build_starts(people.participants):
                starting = cast(AgentWithStart, self._agent).on_start(start, self._sandboxes)
                people.record_greeting(start.conversation, await self._with_timeout(starting))
        if any(step.name == PAST for _, step in self._built.steps):
            await self._tell_past()
        open_conversations(self._playground, self._built)
        return await self._drive(TurnState())

    async def _tell_past(self) -> None:
        """Give the agent what was said before the trial; raise InputError if it cannot take it."""
        events, agent = self._playground.log.events, self._agent
        for start in self._build_starts(self._playground.people.participants):
            turns = load("clerkship.engine.past_conversation:list_turns_before")(events, start.conversation)
            if turns and "on_history" not in agent.entries:
                raise InputError.of(
                    "the agent has no on_history, and the conversation of this task has begun before it"
                )
            if turns:
                history = History(
                    tuple(turns), start.slots, start.sandbox, start.task_item, start.channel, start.address
                )
                telling = cast(AgentWithHistory, agent).on_history(history, self._sandboxes)
                await self._with_timeout(telling)

    async def resume(self, fork_point: "ForkPoint", people: Mapping[str, SimulatedPerson], trial: int) -> Ending:
        """Continue the conversations of a forked trial, after informing the agent about them."""
        playground, agent = self._playground, self._agent
        try:
            starts = list(self._build_starts(people))
            await fork_point.inform(agent, self._sandboxes, playground, starts, self._with_timeout)
        finally:  # even if the agent fails, the trial ends at the fork point
            fork_point.restore(playground, agent, self._built.steps, people, trial)
            playground.people.agent_takes_turns = True
        handled = {key: fork_point.conversation(key).messages_handled for key in people}
        # Another person may have spoken after the agent got this message, so the order does not follow from the last.
        following = fork_point.handed[-1].conversation
        return await self._drive(TurnState(len(fork_point.turns), fork_point.replied, handled, following))

    def _build_starts(self, conversations: Iterable[str]) -> Iterable[Start]:
        """Yield the initial data of each conversation, as copies that the agent may change."""
        built = self._built
        for sandbox, channel, address in map(parse_key, conversations):
            slots, task_item, stubs = map(orjson.loads, (built.slots, built.task_item, built.stubs))
            yield Start(slots, task_item, stubs, sandbox, channel, address)

    async def _with_timeout(self, reply: Awaitable[T]) -> T:
        self._time.start_turn(self._turn_timeout)
        result = await reply
        self._time.end_turn()
        return result

    async def _drive(self, state: TurnState) -> Ending:
        """Pass messages to the agent until every conversation has ended or a limit is reached."""
        playground, people, max_turns = self._playground, self._playground.people, self._max_turns
        queue = deque(people.participants.values())
        if state.next:
            queue.rotate(-list(people.participants).index(state.next))
        is_only, sidecar = len(queue) == 1, playground.sidecar
        slots, task_item = orjson.loads(self._built.slots), orjson.loads(self._built.task_item)
        while people.contract_breach is None:
            message = _next_message(queue, state)
            if message is None:
                if not any(each.conversation.open for each in queue):
                    break
                if skip_to_next_event(playground):
                    continue
                # After the last turn, a model that plays a person is not asked whether it would have gone on.
                is_limit_reached = state.turns >= max_turns and people.uses_model
                return "turn_limit" if is_limit_reached else "nothing_left"
            if state.turns >= max_turns:
                return "turn_limit"
            utterance: Utterance = message.payload  # type: ignore[assignment]  # the message of a person
            if message.at + utterance.duration > playground.clock.now:
                _hear_out(playground, message.at + utterance.duration)
            state.turns += 1
            participant, key = queue[-1], queue[-1].key
            sidecar.record_message(len(playground.log.events), None if is_only else key)
            to_agent = build_message(utterance, key, task_item, slots)
            before = len(participant.conversation.messages) if participant.has_address else 0
            self._time.start_turn(self._turn_timeout)
            turn = await self._agent.on_turn(to_agent, self._sandboxes)
            self._time.end_turn()
            has_sent = participant.has_address and any(map(is_by_agent, participant.conversation.messages[before:]))
            state.replied[key] = state.replied.get(key) or has_sent or any(isinstance(part, Say) for part in turn)
            if has_sent and not any(isinstance(part, Say) for part in turn):
                people.record_greeting(key, turn)  # it replied through the sandbox, and the person has heard that
                continue
            if participant.conversation.open and not people.deliver(key, turn, last=state.turns >= max_turns):
                if sum(each.conversation.open for each in queue) == 1:
                    return "agent_silent"
                people.leave(key, "agent_silent")  # the other conversations go on
        _finish_calls(playground)
        return _ending(state, people.participants.values())


def _is_asked(participant: Participant) -> bool:
    """Return whether the conversation began before the trial, and the agent is to answer its last message."""
    *before, last = participant.conversation.messages
    return bool(before) and before[-1].payload.is_past and not last.payload.is_past  # type: ignore[attr-defined]  # of Utterances


def _hear_out(playground: Playground, until: datetime) -> None:
    """Let the time pass that a person needs to say a message."""
    with playground.lock:
        advance_to(playground, until)


def _finish_calls(playground: Playground) -> None:
    """Let the people who have left finish speaking and hang up."""
    with playground.lock:
        for participant in playground.people.participants.values():
            if participant.call is not None and participant.call.hangs_up_at is not None:
                advance_to(playground, participant.call.hangs_up_at)


def _next_message(queue: deque[Participant], state: TurnState) -> Event | None:
    """Return the next message for the agent, and move its sender to the end of the queue; None if there is none."""
    for index, participant in enumerate(queue):
        messages, handled = participant.conversation.messages, state.handled.get(participant.key, 0)
        while participant.conversation.open and handled < len(messages):
            message = messages[handled]
            handled = state.handled[participant.key] = handled + 1
            if not is_by_agent(message) and not message.payload.is_past:  # type: ignore[attr-defined]  # of an Utterance
                queue.rotate(-1 - index)
                return message
    return None


def _ending(state: TurnState, people: Iterable[Participant]) -> Ending:
    """Return the ending of a trial after all people have left.

    If one of them left for another reason than `person_done`, that reason is the ending.
    """
    if not all(state.replied.values()):
        return "agent_silent"  # in some conversation the agent never replied
    reasons = [each.leave_reason for each in people if each.leave_reason not in (None, "person_done")]
    return cast(Ending, reasons[0]) if reasons else "person_done"
