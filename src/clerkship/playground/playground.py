"""A playground: forked from an environment, changed only through events, sealed into evidence."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property, partial
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)
from typing import Any, TypeVar, cast

from clerkship.actors.contract import Heard, OutOfRole, Said, Say, SimulatedPerson, Speech, Unplayed
from clerkship.actors.reply import check_room
from clerkship.events.agent import BUILT_IN_EVENTS, AgentEvents
from clerkship.events.event import Event, Payload, Utterance
from clerkship.events.lifecycle import (
    FaultInjected,
    PersonBrokeContract,
    RunEnded,
    StepFailed,
    StepRan,
)
from clerkship.events.log import Subscriber, open_log, reopen_log
from clerkship.events.named import NO_NAMES, VariableNames
from clerkship.events.request import AgentRequest
from clerkship.events.sidecar import Sidecar
from clerkship.events.states import find_state
from clerkship.faults.contract import Fault
from clerkship.kit.clock import Clock, Paced, Stepped
from clerkship.kit.ids import Ids
from clerkship.kit.rng import Rng
from clerkship.kit.stopwatch import Stopwatch
from clerkship.kit.wall import monotonic
from clerkship.model.environment import Environment
from clerkship.model.problem import InputError
from clerkship.model.run import Ending
from clerkship.playground.clock_hold import ClockHold
from clerkship.playground.component import PreparedComponent, RunningComponent
from clerkship.playground.domains import with_domains
from clerkship.playground.reactions import ReactionRunner, bind_reactions
from clerkship.playground.recording import CredentialRedactor, ports_of, secrets_of
from clerkship.playground.rehearsal import AGENT, Rehearsal
from clerkship.playground.sandbox import PreparedSimulator, Sandbox
from clerkship.reactions.registry import BoundReactions
from clerkship.sandbox.exchange import Refusal
from clerkship.sandbox.state import ActionContext, Conversation, ReactionResult, State
from clerkship.steps.contract import Step

ON_TURN = "on_turn"
"""What an agent's answer in a conversation is called where a request has its operation."""
PATIENCE = timedelta(minutes=1)
"""How long a person waits for an answer before they say it again."""
INVALID: Ending = "invalid_person"
S = TypeVar("S", bound=State)
D = TypeVar("D")


@dataclass(frozen=True)
class Before:
    """What happened before: events, the lines they are kept as, and the bodies too large for those."""

    events: Sequence[Event] = ()
    lines: Sequence[bytes] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)


@dataclass
class ActiveFault:
    """A fault that is in the way: what it has let pass, and how often it has struck."""

    fault: Fault
    passed: int = 0
    strikes: int = 0

    def aims_at(self, sandbox: str, operation: str, rng: Random) -> bool:
        """Whether it is meant for this, has strikes left, and luck is with it."""
        fault = self.fault
        if fault.sandbox not in (None, sandbox) or fault.operation not in (None, operation):
            return False
        if self.passed < fault.skip:
            self.passed += 1
            return False
        if fault.times is not None and self.strikes >= fault.times:
            return False
        return fault.probability >= 1 or rng.random() < fault.probability


@dataclass(frozen=True)
class PlaygroundOptions:
    """What a playground may have beside its sandboxes."""

    names: VariableNames = NO_NAMES
    """Environment variables whose values the log replaces by their names."""
    reactions: BoundReactions | None = None
    """By source and kind of event; those that ship, if not given."""
    domains: Mapping[str, PreparedComponent] = field(default_factory=dict)
    agent_events: AgentEvents = field(default_factory=lambda: BUILT_IN_EVENTS)


class Playground:
    """Everything one trial can touch. One thread at a time, by its lock."""

    def __init__(
        self,
        environment: Environment,
        rooms: Mapping[str, PreparedSimulator],
        seed: str,
        options: PlaygroundOptions = PlaygroundOptions(),  # noqa: B008  (it is frozen)
    ) -> None:
        self.environment = environment
        self.agent_events = options.agent_events
        """The events that an agent may report, by kind."""
        self._names = options.names
        self.id = ""
        """Its name at the gateway, once it is admitted."""
        self.address = ""
        """Host and port of the HTTP door, once anybody has asked."""
        self.seed = seed
        self.lock = threading.RLock()
        now = environment.now.astimezone(UTC)  # the log knows one zone
        self.clock: Clock = Stepped(now, environment.tick) if environment.time == "stepped" else Paced(now, monotonic)
        self.started_at = now
        self.ids = Ids(seed)
        self.rng = Rng(seed)
        self.log, self._writer = open_log(self._names)
        self._followers: list[Subscriber] = []
        self.sidecar = Sidecar()
        self._redactor, self._redacts = CredentialRedactor({}, {}), list[object]()
        self.sandboxes = {name: Sandbox(name, room) for name, room in rooms.items()}
        self.domains = {name: RunningComponent(name, room) for name, room in options.domains.items()}
        every = {**self.sandboxes, **self.domains} if self.domains else self.sandboxes
        self.components: Mapping[str, RunningComponent] = every
        self.faults: list[ActiveFault] = []
        self.step_errors: list[str] = []
        self.people: dict[str, SimulatedPerson] = {}
        self.left: dict[str, str] = {}
        self.thinks = False
        """Whether there is somebody here who takes time to find words."""
        self.thought = Stopwatch(monotonic)
        """How long they have taken for it so far: no time of the agent's."""
        self.unplayed = False  # True if a person could not be played
        self.out_of_role: OutOfRole | None = None  # how a person broke the contract
        self._ahead: dict[str, int] = {}  # lines that were said before the one before them was answered
        self._unheard: list[Say] = []
        bound = bind_reactions(environment) if options.reactions is None else options.reactions
        self._reactions = ReactionRunner(bound, self.components) if bound else None
        self._held: list[Event] | None = None
        self._watched = self._listening = False
        self.broken: str | None = None
        self.closed = False

    @cached_property
    def clock_hold(self) -> ClockHold:
        """What keeps a stepped clock still while a sandbox calls the agent."""
        return ClockHold(self.lock)

    @cached_property
    def zone(self) -> timezone:
        """The zone of the environment's `now`: what agents are told the time in."""
        return timezone(self.environment.now.utcoffset() or timedelta(0))

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self.clock.now

    def emit(
        self, source: str, payload: Payload, actor: str, cause: int | None = None, at: datetime | None = None
    ) -> Event:
        """Append an event to the log, apply it to its sandbox or domain, run the reactions, and notify people."""
        event = self._writer.append(source, payload, actor=actor, at=at or self.clock.now, cause=cause)
        component = self.components.get(source)
        if component is not None:
            component.state.apply(event)
            if self._reactions is not None:
                self._reactions.run(event, self.act)
        if self.people:
            self._tell_people(event)
        return event

    def hold(self) -> bool:
        """Write no lines of the log until `release`; false if they are held already."""
        return self._writer.hold()

    def attach(self, event: Event, request: AgentRequest) -> None:
        """Make an event, whose line is held, the record of a request."""
        self._writer.attach(event, request)

    def release(self) -> None:
        """Write the lines of the log that were held."""
        self._writer.release()

    def follow(self, follower: Subscriber) -> None:
        """Have somebody told of every event from here on, whatever becomes of the log: rewound, it is another."""
        with self.lock:
            self._followers.append(follower)
            self.log.subscribe(follower)

    def unfollow(self, follower: Subscriber) -> None:
        """Tell a follower no more."""
        with self.lock:
            self._followers.remove(follower)
            self.log.unsubscribe(follower)

    def act(self, sandbox: str, actor: str, cause: int | None = None) -> ActionContext:
        """Build the context in which an actor changes a sandbox or domain."""
        record = partial(self.emit, sandbox, actor=actor, cause=cause)
        context = ActionContext(actor, self.clock.now, self.ids, self.rng, record, self.reactions_to)
        return with_domains(context, self, self.domains, sandbox, cause) if self.domains else context

    def act_unlogged(self, sandbox: str) -> ActionContext:
        """Return a context whose events are discarded, for clients without a credential: they change nothing."""

        def discard(payload: Payload) -> Event:
            return Event(0, self.clock.now, sandbox, payload.kind, "agent", None, payload)

        return ActionContext("agent", self.clock.now, Ids(self.seed), Rng(self.seed), discard)

    def reactions_to(self, event: Event) -> Sequence[ReactionResult]:
        """Return what came of the reactions to an event."""
        return self._reactions.results(event) if self._reactions is not None else ()

    # People.

    def seat(self, person: SimulatedPerson, sandbox: str) -> None:
        """Put a person on a sandbox that carries a conversation."""
        self._conversation(sandbox).start(self.act(sandbox, "person"), person.name)
        self.seat_again(person, sandbox)

    def seat_again(self, person: SimulatedPerson, sandbox: str, ahead: int = 0, unheard: Sequence[Say] = ()) -> None:
        """Put them where they were: their conversation has begun already. One who went on without waiting has so many
        answers to come before they go on, and these already."""
        self._unheard = list(unheard)
        if ahead:
            self._ahead[sandbox] = ahead
        person.join(self._conversation(sandbox).messages)
        self.people[sandbox] = person
        self._watched = self._watched or person.watches
        self.thinks = self.thinks or person.thinks

    def open(self, sandbox: str) -> None:
        """The person who begins says their first line."""
        self.speak(sandbox, self._decided(self.people[sandbox].open))

    def _decided(self, decide: Callable[[], D]) -> D:
        """What somebody makes up their mind to do; the time it takes is theirs."""
        if not self.thinks:
            return decide()
        with self.thought:
            try:
                return decide()
            except Unplayed as error:
                self.unplayed, self.broken = True, str(error)
                raise

    def speak(self, sandbox: str, speech: Speech | None, cause: int | None = None) -> None:
        """Have the person do what they decided."""
        if speech is None:
            return
        if not speech.text and not speech.leaves:
            self._do_else(sandbox, speech, cause)
            return
        conversation = self._conversation(sandbox)
        self.clock.touch()  # what falls due may end the conversation
        if speech.text and conversation.open:
            along = {"metadata": dict(speech.metadata)} if speech.metadata else {}
            conversation.say(self.act(sandbox, "person", cause), speech.text, **along)
        if speech.leaves and conversation.open:
            self.left[sandbox] = speech.reason
            told = {"detail": speech.detail} if speech.detail else {}
            conversation.end(self.act(sandbox, "person", cause), speech.reason, **told)
        if speech.more is not None and conversation.open:
            self._ahead[sandbox] = self._ahead.get(sandbox, 0) + 1
            self.speak(sandbox, self._decided(speech.more), cause)

    def _do_else(self, sandbox: str, speech: Speech, cause: int | None) -> None:
        """What a person does who does not speak: they wait; or they are not themselves."""
        conversation = self._conversation(sandbox)
        if speech.out_of_role is not None and conversation.open:
            broken = speech.out_of_role
            self.out_of_role = broken
            self.deafen()  # or they would hear of it, and be asked again
            fields = {"rule": broken.rule, "reason": broken.reason, "would_have_said": broken.would_have_said}
            event = self.emit(sandbox, PersonBrokeContract(**fields), "run", cause)
            self.left[sandbox] = INVALID
            conversation.end(self.act(sandbox, "run", event.seq), INVALID)
        if speech.after is not None:
            self.clock.advance(speech.after)
            if speech.more is not None and conversation.open:
                self.speak(sandbox, self._decided(speech.more), cause)

    def _conversation(self, sandbox: str) -> Conversation:
        return cast(Conversation, self.sandboxes[sandbox].state)

    def deliver(self, sandbox: str, turn: Sequence[Said], *, last: bool = False) -> bool:
        """Take down what the agent did and said in one turn; the person hears it out before answering. After the last
        that there may be, nobody has to think of what can no longer be said.

        False if the agent said nothing, and the person did not care to go on.
        """
        with self.lock:
            replies = [part for part in turn if isinstance(part, Say)]
            if self.faults and replies and not self._arrives(sandbox, replies):
                self._take_down(sandbox, [part for part in turn if not isinstance(part, Say)])
                return True
            said, held = self._take_down(sandbox, turn)
            if self._ahead or self._unheard:
                if self._waits_for_more(sandbox, replies):
                    return True
                replies, self._unheard = [*self._unheard, *replies], []
                said = said or _last_of(self._conversation(sandbox), agents=True)
            answered = False
            for event in held if self._watched else ():
                answered = self._notice(event) or answered
            if answered:
                return True
            if not replies:
                speech = self._decided(self.people[sandbox].wait)
                self.speak(sandbox, speech)
                return speech is not None
            person = self.people[sandbox]
            if said is not None and not person.thinks:
                self.speak(sandbox, person.hear(heard(replies)), said.seq)
            elif said is not None and not (last and not person.leaving):
                self._answer(sandbox, heard(replies), said)
            return True

    def _answer(self, sandbox: str, this: Heard, said: Event) -> None:
        person = self.people[sandbox]
        speech = person.hear(this) if not person.thinks else self._decided(partial(person.hear, this))
        self.speak(sandbox, speech, said.seq)

    def _waits_for_more(self, sandbox: str, replies: Sequence[Say]) -> bool:
        """Whether a person who went on without waiting has another answer coming; they hear all of them together."""
        ahead = self._ahead.pop(sandbox, 0)
        if not ahead:
            return False
        if ahead > 1:
            self._ahead[sandbox] = ahead - 1
        self._unheard += replies
        return True

    def greet(self, sandbox: str, start: Sequence[Said]) -> None:
        """Take down what the agent did and said before the person's first line."""
        with self.lock:
            self._take_down(sandbox, start)

    def _take_down(self, sandbox: str, turn: Sequence[Said]) -> tuple[Event | None, list[Event]]:
        """In the order it happened: the last thing said, and what there is to be noticed."""
        conversation = self._conversation(sandbox)
        self._held = []
        said: Event | None = None
        for part in turn:
            check_room(self.log)
            if not isinstance(part, Say):
                self.emit("agent", part, "agent")
                continue
            self.clock.touch()  # what falls due may end the conversation
            if conversation.open:
                said = conversation.say(self.act(sandbox, "agent"), **part.fields())
        held, self._held = self._held, None
        return said, held

    def _arrives(self, sandbox: str, replies: Sequence[Say]) -> bool:
        """Whether a turn gets through what is in its way; if not, the person waits, and says their last line again."""
        for active, rng in self.aiming(sandbox, ON_TURN):
            spoiled = active.fault.on_turn(rng)
            if spoiled.reply is None:
                self.strike(active, sandbox, ON_TURN, spoiled.details)
                self.clock.advance(spoiled.delay)
                continue
            lost = self.strike(active, sandbox, ON_TURN, {**spoiled.details, "lost": [reply.text for reply in replies]})
            self._say_again(sandbox, lost)
            return False
        return True

    def _say_again(self, sandbox: str, lost: Event) -> None:
        conversation = self._conversation(sandbox)
        last = _last_of(conversation, agents=False)
        self.clock.advance(PATIENCE)
        if last is not None and _last_of(conversation, agents=False) is last:  # or they said something else
            self.speak(sandbox, Speech(cast(Utterance, last.payload).text), lost.seq)

    def listen(self) -> None:
        """From here on people hear and see; what the scenario set up is how they found things."""
        self._listening = True

    def deafen(self) -> None:
        """From here on nobody hears or sees anything: the conversation is over."""
        self._listening = False

    def _tell_people(self, event: Event) -> None:
        if not self._listening or event.actor == "person":
            return
        if self._held is not None:
            self._held.append(event)  # nobody speaks between the lines of one turn
            return
        person = self.people.get(event.source)
        if not self._notice(event) and person is not None and isinstance(event.payload, Utterance):
            said = event.payload
            this = Heard(said.text, said.buttons, (said.custom,) if said.custom is not None else ())
            self._ahead.pop(event.source, None)
            self._answer(event.source, this, event)

    def _notice(self, event: Event) -> bool:
        """Tell those who watch for events; whether the one it was said to has answered."""
        answered = False
        for sandbox, person in self.people.items():
            speech = self._decided(partial(person.notice, event)) if person.watches else None
            if speech is not None:
                self.speak(sandbox, speech, event.seq)
                answered = answered or sandbox == event.source
        return answered

    # The scenario's steps.

    def run_step(self, step: Step) -> None:
        """Do one step; what it could not do is the author's mistake, kept for the end of the run, unless it could have
        been done but for the agent: then the run goes on, and is graded."""
        with self.lock:
            try:
                step.run(self)
            except (Refusal, InputError) as error:
                agents = self._is_agents_doing(step)
                if not agents:
                    self.step_errors.append(f"step {step.name}: {error}")
                failed = StepFailed(step=step.name, reason=str(error), by_agent=agents)
                self.emit("scenario", failed, "scenario")
            except Exception as error:
                error.add_note(f"in the step {step.name}")
                raise
            else:
                self.emit("scenario", StepRan(step=step.name), "scenario")

    def _is_agents_doing(self, step: Step) -> bool:
        """Whether a step that failed would have gone well, had the agent left everything as it was. One that comes
        after such a step may have needed it."""
        events = self.log.events
        if any(isinstance(event.payload, StepFailed) and event.payload.by_agent for event in events):
            return True
        if not any(event.actor == AGENT and event.source in self.components for event in events):
            return False
        states = {name: component.room.new_state() for name, component in self.components.items()}
        return Rehearsal(states, self.domains, events, self.now, self.seed).goes_well(step)

    def schedule(self, after: timedelta, step: Step) -> None:
        """Have a step run at a time."""
        self.clock.schedule(self.started_at + after, partial(self.run_step, step))

    def state(self, kind: type[S], sandbox: str | None) -> tuple[S, ActionContext]:
        """Return the state of a sandbox or domain, and the context in which the scenario changes it."""
        states = {name: component.state for name, component in self.components.items()}
        name, state = find_state(states, kind, sandbox)
        converses = name in self.sandboxes and self.sandboxes[name].spec.converses
        return state, self.act(name, "person" if converses else "scenario")

    # Faults.

    def inject(self, fault: Fault) -> None:
        """Put a fault in the way of requests to come."""
        self.faults.append(ActiveFault(fault))

    def aiming(self, sandbox: str, operation: str) -> Iterator[tuple[ActiveFault, Random]]:
        """Those that are to strike this, in the order they were put there, each with its randomness."""
        for active in self.faults:
            if operation == ON_TURN and not active.fault.strikes_turns:
                continue
            rng = self.rng.stream(f"fault/{active.fault.name}")
            if active.aims_at(sandbox, operation, rng):
                yield active, rng

    def strike(self, active: ActiveFault, sandbox: str, operation: str, details: Mapping[str, Any]) -> Event:
        """A fault takes effect: counted, and taken down."""
        active.strikes += 1
        injected = FaultInjected(fault=active.fault.name, operation=operation, details=dict(details))
        return self.emit(sandbox, injected, "scenario")

    def rewind(self, before: "Before") -> None:
        """Be as it was when these events had happened and nothing else: nobody seated, nothing scheduled, no faults.

        Its name, credentials and doors stay what they are, so that whoever holds one need not be told.
        """
        with self.lock:
            if self.closed:
                return
            self.log, self._writer = reopen_log(before.events, before.lines, before.blobs, self._names)
            for follower in self._followers:
                self.log.subscribe(follower)
            self.sidecar = Sidecar(self.sidecar.facts, unauthenticated=self.sidecar.unauthenticated)
            for component in self.components.values():
                component.empty()
            for event in before.events:
                if event.source in self.components:
                    self.components[event.source].state.apply(event)
            latest = max((event.at for event in before.events), default=self.started_at)
            self.clock.rewind(latest.astimezone(self.started_at.tzinfo))
            self.ids, self.rng = Ids(self.seed), Rng(self.seed)
            self.faults, self.step_errors, self.people, self.left = [], [], {}, {}
            self._watched = self._listening = self.thinks = False
            self._held, self.out_of_role = None, None
            self._ahead, self._unheard = {}, []
            if self._reactions is not None:
                self._reactions.reset()
            self.clock_hold.reset()

    def redacted(self, text: str) -> str:
        """Replace what opens this playground, or differs between machines: neither may get into the log."""
        return self.redactor()(text)

    def redactor(self) -> CredentialRedactor:
        """Return what replaces it, built anew when there is more to hide."""
        sandboxes = [(box.address, box.opened, box.connection_info) for box in self.sandboxes.values()]
        known: list[object] = [self.id, self.address, *sandboxes]
        if known != self._redacts:
            self._redactor, self._redacts = self._build_redactor(), known
        return self._redactor

    def _build_redactor(self) -> CredentialRedactor:
        hidden = {self.id: "[playground]", self.address: "[address]"}
        ports: dict[int, str] = {}
        for name, sandbox in self.sandboxes.items():
            hidden |= secrets_of(name, sandbox.connection_info)
            ports |= ports_of(name, sandbox.connection_info)
            hidden[sandbox.address] = f"[address of {name}]"
            hidden |= dict.fromkeys(sandbox.secrets(), f"[token of {name}]")
        hidden.pop("", None)
        return CredentialRedactor(hidden, ports)

    def advance(self, by: timedelta) -> None:
        """Let simulated time pass."""
        with self.lock:
            self.clock.advance(by)

    def wait(self, by: timedelta) -> None:
        """Let simulated time pass; a stepped clock stops at each thing due until calls to the agent have been made."""
        with self.lock:
            self._make_calls()
            end = self.clock.now + by
            while (due := self.clock.next_due()) is not None and due <= end and self.clock_hold.is_used:
                self._advance_to(due)
            self._advance_to(end)

    def skip(self) -> bool:
        """Jump to the next thing due; false if there is none."""
        with self.lock:
            self._make_calls()
            due = self.clock.next_due()
            if due is None:
                return False
            self._advance_to(due)
            return True

    def _advance_to(self, time: datetime) -> None:
        self.clock.advance(max(time - self.clock.now, timedelta(0)))
        self._make_calls()

    def _make_calls(self) -> None:
        """Wait until sandboxes have called the agent. Deliveries learn of events by lines of the log: write them."""
        if not self.clock_hold.is_used or self.environment.time != "stepped":
            return
        holds = not self._writer.hold()
        self._writer.release()
        self.clock_hold.wait()
        if holds:
            self._writer.hold()

    def end(self, ending: Ending) -> None:
        """The last event: nobody says anything to it, and nothing comes after."""
        self.deafen()
        self.emit("run", RunEnded(ending=ending), "run")
        self.close()

    def close(self) -> None:
        """Tear it down: no traffic and no events from here on; the log stays."""
        self.closed = True
        self._writer.close()


def heard(replies: Sequence[Say]) -> Heard:
    """All of a turn's replies as the person has them before them."""
    if len(replies) == 1 and replies[0].custom is None:
        return Heard(replies[0].text, replies[0].buttons)
    return Heard(
        "\n".join(reply.text for reply in replies if reply.text),
        tuple(button for reply in replies for button in reply.buttons),
        tuple(reply.custom for reply in replies if reply.custom is not None),
    )


def _last_of(conversation: Conversation, *, agents: bool) -> Event | None:
    """What the agent said last, or anybody else did."""
    return next((event for event in reversed(conversation.messages) if (event.actor == "agent") == agents), None)


def replay(rooms: Mapping[str, PreparedComponent], events: Iterable[Event]) -> dict[str, State]:
    """Rebuild the states of sandboxes and domains from their datasets and the events of a log."""
    states = {name: room.new_state() for name, room in rooms.items()}
    for event in events:
        if event.source in states:
            states[event.source].apply(event)
    return states
