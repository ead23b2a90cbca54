"""A playground: one running environment with its steps and reactions, whose state changes only through events."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property, partial
from typing import Any, TypeVar

from clerkship.events.agent import BUILT_IN_EVENTS, AgentEvents
from clerkship.events.event import Event, Payload
from clerkship.events.lifecycle import RequestRefused, RunEnded, StepFailed, StepRan
from clerkship.events.log import NO_NAMES, Subscriber, VariableNames, open_log, reopen_log
from clerkship.events.sidecar import Sidecar, UnloggedRequests
from clerkship.events.states import find_state
from clerkship.kit.clock import Clock, PacedClock, SteppedClock
from clerkship.kit.rng import Ids, Rng
from clerkship.kit.wall import monotonic
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError, PlatformError
from clerkship.model.run import Ending
from clerkship.playground.clock_hold import ClockHold
from clerkship.playground.component import PlaygroundHost, PreparedComponent, RunningComponent, weak_host
from clerkship.playground.conversation import People
from clerkship.playground.faults import FaultInjector
from clerkship.playground.request_record import NO_SECRETS, CredentialRedactor, build_redactor
from clerkship.playground.sandbox import PreparedSimulator, Sandbox
from clerkship.reactions.registry import SHIPPED, BoundReaction, BoundReactions, ReactionRegistry
from clerkship.sandbox.faults.contract import AnyFault
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import (
    ActionContext,
    DueWork,
    ReactionResult,
    State,
    find_no_domain,
    keep_event,
    no_reactions,
)
from clerkship.sandbox.steps.contract import Step

MAX_REACTION_DEPTH = 32
"""How deeply reactions may be nested. More is taken for a loop: two sandboxes that react to each other."""
ContextFactory = Callable[[str, str, int | None], ActionContext]
"""Returns the context in which an actor changes a sandbox, given the sandbox, the actor and the causing event."""
ACTOR = "system"
_new_context: Callable[[Iterable[Any]], ActionContext] = partial(tuple.__new__, ActionContext)
"""Makes a context from all its fields: half the time of a call of the class, which checks their names."""
S = TypeVar("S", bound=State[Any])


class ReactionLoop(PlatformError):
    """Raised when reactions cause each other without end."""


def bind_reactions(environment: Environment, registry: ReactionRegistry = SHIPPED) -> BoundReactions:
    """Resolve the reactions that an environment declares."""
    if not environment.reactions:
        return {}
    components = (*environment.simulators.items(), *environment.domains.items())
    kinds = {name: component.kind for name, component in components}
    return registry.bind(environment.reactions, kinds)


class ReactionRunner:
    """Runs the reactions to each event at once, in the order in which the environment lists them."""

    def __init__(self, bound: BoundReactions, components: Mapping[str, RunningComponent]) -> None:
        self._bound = bound
        self._components = components
        self._depth = 0
        self._results: dict[int, list[ReactionResult]] = {}

    def run(self, event: Event, context_for: ContextFactory) -> None:
        """Run the reactions to an event.

        Raises ReactionLoop if they are nested too deeply.
        """
        for reaction in self._bound.get((event.source, event.kind), ()):
            if self._depth >= MAX_REACTION_DEPTH:
                place = f"{event.source} -> {reaction.target}"
                raise ReactionLoop(f"reactions are nested more than {MAX_REACTION_DEPTH} deep: {place}")
            self._depth += 1
            try:
                result = self._run_one(reaction, event, context_for(reaction.target, "reaction", event.seq))
            finally:
                self._depth -= 1
            self._results.setdefault(event.seq, []).append(result)

    def _run_one(self, reaction: BoundReaction, event: Event, context: ActionContext) -> ReactionResult:
        context = context._replace(reaction_source=self._components[event.source].state)
        try:
            result = reaction.react(self._components[reaction.target].state, context, event)
        except Refusal as refusal:
            operation = f"react to {event.kind}"
            status, code, reason = refusal.status, refusal.code, refusal.reason
            context.emit(RequestRefused(operation=operation, status=status, code=code, reason=reason))
            return ReactionResult(reaction.target, refusal=refusal)
        return ReactionResult(reaction.target, result)

    def results(self, event: Event) -> Sequence[ReactionResult]:
        """Return the result of each reaction to an event, in the order in which they ran."""
        return self._results.get(event.seq, ())


class StepRunner:
    """Runs steps at once or at a simulated time, and collects the errors of the scenario's author."""

    def __init__(self, host: PlaygroundHost) -> None:
        self._host = host
        self.errors: list[str] = []

    def schedule(self, after: timedelta, step: Step) -> None:
        """Run a step at a simulated time, given as the duration after the start of the trial."""
        self._host.clock.schedule(self._host.started_at + after, partial(self.run, step))

    def run(self, step: Step) -> None:
        """Run a step and log the outcome.

        A failure is a mistake of the author, and the trial is errored. If the step would have succeeded without the
        agent's changes, the trial continues and is graded.
        """
        host = self._host
        with host.lock:
            try:
                step.run(host)
            except (Refusal, InputError) as error:
                by_agent = self._is_caused_by_agent(step)
                if not by_agent:
                    self.errors.append(f"step {step.name}: {error}")
                host.emit("scenario", StepFailed(step=step.name, reason=str(error), by_agent=by_agent), "scenario")
            except Exception as error:
                error.add_note(f"in the step {step.name}")
                raise
            else:
                host.emit("scenario", StepRan(step=step.name), "scenario")

    def _is_caused_by_agent(self, step: Step) -> bool:
        """Return whether a failed step succeeds in a playground without the agent's changes.

        After one such step, all later failures count as caused by the agent too: they may depend on that step.
        """
        host, events = self._host, self._host.log.events
        if any(isinstance(event.payload, StepFailed) and event.payload.by_agent for event in events):
            return True
        if not any(event.actor == "agent" and event.source in host.components for event in events):
            return False
        copy = host.build_copy(without_agent(events))
        copy.advance(host.now - copy.now)
        try:
            step.run(copy)
        except (Refusal, InputError):
            return False
        return True


def without_agent(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events that neither the agent nor one of its events caused."""
    excluded: set[int] = set()
    for event in events:
        if event.actor == "agent" or event.cause in excluded:
            excluded.add(event.seq)
        else:
            yield event


class EndlessWork(PlatformError):
    """Raised when a state still has the same work after it was done."""


class DueWorkRunner:
    """Schedules the first work of each sandbox and domain, and runs it when it is due.

    What is due follows from the states, so it is scheduled again in a playground that is rebuilt from a log.
    """

    def __init__(self, host: PlaygroundHost) -> None:
        self._host = host
        self._scheduled: dict[str, datetime] = {}
        self._running: RunningComponent | None = None

    def schedule(self, component: RunningComponent) -> None:
        """Schedule the first work of a component that may have some, unless it is scheduled already.

        While its work runs, this waits for the end of it: each event may change what is due.
        """
        if component is not self._running:
            due = component.state.next_due()
            if due is not None:
                self._schedule_first(component, due)

    def _schedule_first(self, component: RunningComponent, due: DueWork) -> None:
        name, at = component.name, due.at
        if name not in self._scheduled or at < self._scheduled[name]:
            self._scheduled[name] = at
            self._host.clock.schedule(at, partial(self._run, component, at))

    def _run(self, component: RunningComponent, at: datetime) -> None:
        if self._scheduled.get(component.name) == at:
            del self._scheduled[component.name]
        with self._host.lock:
            outer, self._running = self._running, component
            try:
                due = self._run_all(component)
            finally:
                self._running = outer
        if due is not None:
            self._schedule_first(component, due)

    def _run_all(self, component: RunningComponent) -> DueWork | None:
        """Run the work of a component that is due; return the first that is due later."""
        host = self._host
        due = component.state.next_due()
        while due is not None and due.at <= host.clock.now:
            component.state.run_due(host.context_for(component.name, ACTOR, due.cause))
            following = component.state.next_due()
            if following == due:
                raise EndlessWork(f"{component.name}: the work due at {due.at} is not done by `run_due`")
            due = following
        return due


class DomainCaller:
    """Emits the events of one action, and gives the action access to domains.

    Events of a domain that the action calls have the last event of the action as their cause.
    """

    __slots__ = ("_actor", "_cause", "_domains", "_host", "_last", "_source")

    def __init__(
        self, host: PlaygroundHost, domains: Mapping[str, State[Any]], source: str, actor: str, cause: int | None
    ) -> None:
        self._host, self._domains = host, domains
        self._source, self._actor, self._cause, self._last = source, actor, cause, cause

    def record(self, payload: Payload) -> Event:
        """Emit an event of the action."""
        event = self._host.emit(self._source, payload, self._actor, self._cause)
        self._last = event.seq
        return event

    def find_domain(self, kind: type[State[Any]], name: str | None) -> tuple[State[Any], ActionContext]:
        """Find a domain by the type of its state, and build the context in which the same actor changes it."""
        chosen, state = find_state(self._domains, kind, name)
        return state, self._host.context_for(chosen, self._actor, self._last)


def add_domains(
    context: ActionContext,
    host: PlaygroundHost,
    domains: Mapping[str, RunningComponent],
    source: str,
    cause: int | None,
) -> ActionContext:
    """Return an action context with access to the domains of its playground."""
    states = {name: domain.state for name, domain in domains.items()}
    caller = DomainCaller(host, states, source, context.actor, cause)
    return context._replace(emit=caller.record, find_domain=caller.find_domain)


@dataclass(frozen=True)
class SavedLog:
    """The log that a playground starts from: its events, their lines, and the bodies that are too large for a line."""

    events: Sequence[Event] = ()
    lines: Sequence[bytes] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)


EMPTY_LOG = SavedLog()


@dataclass(frozen=True)
class PlaygroundOptions:
    """Options of a playground besides its simulators."""

    names: VariableNames = NO_NAMES
    """Environment variables whose values the log replaces by their names."""
    reactions: BoundReactions | None = None
    """By source and kind of event; the built-in ones if None."""
    domains: Mapping[str, PreparedComponent] = field(default_factory=dict)
    agent_events: AgentEvents = field(default_factory=lambda: BUILT_IN_EVENTS)


class Playground:
    """One running environment. Only the thread that holds its lock may use it.

    Attributes set in `__init__` survive a rewind: the id, the credentials and addresses of the sandboxes, the
    subscribers. Attributes set in `_start` are built again.
    """

    def __init__(
        self,
        environment: Environment,
        simulators: Mapping[str, PreparedSimulator],
        seed: str,
        options: PlaygroundOptions = PlaygroundOptions(),  # noqa: B008  (it is frozen)
    ) -> None:
        self.environment = environment
        self.agent_events = options.agent_events
        """The events that an agent may report, by kind."""
        self.id = ""
        """The id at the gateway; empty until it is added there."""
        self.base_url = ""
        """The URL of the HTTP server; empty until an agent reads that of a sandbox."""
        self.hidden: dict[str, str] = {}
        """Further texts that the log replaces: what the agent was given besides the credentials of the sandboxes."""
        self.seed = seed
        self.lock = threading.RLock()
        self.started_at = environment.now.astimezone(UTC)  # all times in the log are in UTC
        self.sandboxes = {name: Sandbox(name, prepared) for name, prepared in simulators.items()}
        self.domains = {name: RunningComponent(name, prepared) for name, prepared in options.domains.items()}
        components = {**self.sandboxes, **self.domains} if self.domains else self.sandboxes
        self.components: Mapping[str, RunningComponent] = components
        self.broken: str | None = None
        """The first failure of the platform, because of which the trial is errored. It survives a rewind."""
        self.closed = False
        self._options = options
        self._bound_reactions = bind_reactions(environment) if options.reactions is None else options.reactions
        self._subscribers: list[Subscriber] = []
        self._facts: dict[str, Any] = {}
        self._unauthenticated = UnloggedRequests()
        self._redactor = NO_SECRETS
        self._redactor_inputs: list[object] = []
        self._start(EMPTY_LOG)

    def _start(self, saved: SavedLog) -> None:
        """Build the state after the events of a saved log."""
        events, now = saved.events, self.started_at
        if events:
            self.log, self.writer = reopen_log(events, saved.lines, saved.blobs, self._options.names)
            now = max(event.at for event in events).astimezone(UTC)
        else:
            self.log, self.writer = open_log(self._options.names)
        for subscriber in self._subscribers:
            self.log.subscribe(subscriber)
        self.sidecar = Sidecar(self._facts, unauthenticated=self._unauthenticated)
        is_stepped = self.environment.time == "stepped"
        self.clock: Clock = SteppedClock(now, self.environment.tick) if is_stepped else PacedClock(now, monotonic)
        self.ids, self.rng = Ids(self.seed), Rng(self.seed)
        for component in self.components.values():
            component.state = component.prepared.new_state()
        host = weak_host(self)
        self.due_work = DueWorkRunner(host)
        self._apply(events)
        self._reactions = ReactionRunner(self._bound_reactions, self.components) if self._bound_reactions else None
        self.faults = FaultInjector(host)
        self.steps = StepRunner(host)
        self.people = People(host, self.faults)

    def _apply(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.source in self.components:
                self.components[event.source].state.apply(event)
        for component in self.components.values():
            if component.has_due_work:
                self.due_work.schedule(component)

    def build_copy(self, events: Iterable[Event]) -> "Playground":
        """Return a new playground whose states are rebuilt from the datasets and these events. Its log is empty."""
        simulators = {name: sandbox.prepared for name, sandbox in self.sandboxes.items()}
        copy = Playground(self.environment, simulators, self.seed, self._options)
        copy._apply(events)
        return copy

    def rewind(self, saved: SavedLog) -> None:
        """Start over from a saved log, without people, faults and scheduled steps.

        The id, credentials and addresses stay the same, so that clients keep working.
        """
        with self.lock:
            if not self.closed:
                self._start(saved)
                self.clock_hold.reset()

    @cached_property
    def clock_hold(self) -> ClockHold:
        """Holds a stepped clock while a sandbox calls the agent."""
        return ClockHold(self.lock)

    @cached_property
    def zone(self) -> timezone:
        """The time zone of the environment's `now`, in which agents see the time."""
        return timezone(self.environment.now.utcoffset() or timedelta(0))

    @property
    def now(self) -> datetime:
        """The simulated time, in UTC."""
        return self.clock.now

    def emit(self, source: str, payload: Payload, actor: str, cause: int | None = None) -> Event:
        """Append an event to the log, apply it to its sandbox or domain, run the reactions, and notify people."""
        event = self.writer.append(source, payload, actor, self.clock.now, cause)
        component = self.components.get(source)
        if component is not None:
            component.state.apply(event)
            if component.has_due_work:
                self.due_work.schedule(component)
            if self._reactions is not None:
                self._reactions.run(event, self.context_for)
        if self.people.listening:
            self.people.notify(event)
        return event

    def context_for(self, sandbox: str, actor: str, cause: int | None = None) -> ActionContext:
        """Build the context in which an actor changes a sandbox or domain."""
        record = partial(self.emit, sandbox, actor=actor, cause=cause)
        alter = partial(self.faults.alter, sandbox) if self.faults.altering else keep_event
        results = self._reactions.results if self._reactions is not None else no_reactions
        fields = (actor, self.clock.now, self.ids, self.rng, record, results, find_no_domain, None, alter)
        context = _new_context(fields)
        return add_domains(context, self, self.domains, sandbox, cause) if self.domains else context

    def state(self, kind: type[S], sandbox: str | None, actor: str | None = None) -> tuple[S, ActionContext]:
        """Return the state of a sandbox or domain, and the context in which the scenario changes it."""
        states = {name: component.state for name, component in self.components.items()}
        name, state = find_state(states, kind, sandbox)
        converses = name in self.sandboxes and self.sandboxes[name].spec.converses
        return state, self.context_for(name, actor or ("person" if converses else "scenario"))

    def inject(self, fault: AnyFault) -> None:
        """Add a fault that affects later requests, events of a sandbox, or model calls."""
        self.faults.inject(fault)

    def advance(self, by: timedelta) -> None:
        """Let simulated time pass."""
        with self.lock:
            self.clock.advance(by)

    def subscribe(self, subscriber: Subscriber) -> None:
        """Call a function with every later event, also with those after a rewind."""
        with self.lock:
            self._subscribers.append(subscriber)
            self.log.subscribe(subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Stop calling a function that was passed to `subscribe`."""
        with self.lock:
            self._subscribers.remove(subscriber)
            self.log.unsubscribe(subscriber)

    def redact(self, text: str) -> str:
        """Replace credentials, and text that differs between machines: neither may get into the log."""
        return self.redactor()(text)

    def restore(self, text: str) -> str:
        """Put back what `redact` replaced, with the values of this run."""
        return self.redactor().restore(text)

    def redactor(self) -> CredentialRedactor:
        """Return the redactor for all credentials and addresses that exist so far."""
        sandboxes = [
            (sandbox.address, sandbox.has_credentials, sandbox.connection_info) for sandbox in self.sandboxes.values()
        ]
        inputs: list[object] = [self.id, self.base_url, dict(self.hidden), *sandboxes]
        if inputs != self._redactor_inputs:
            scheme, _, address = self.base_url.partition("//")
            hidden = {**self.hidden, self.id: "[playground]", address: "[address]"}
            if scheme == "https:":
                hidden[self.base_url] = "http://[address]"
            self._redactor, self._redactor_inputs = build_redactor(hidden, self.sandboxes), inputs
        return self._redactor

    def end(self, ending: Ending) -> None:
        """Log the last event, without notifying people, and close the playground."""
        self.people.listening = False
        self.emit("run", RunEnded(ending=ending), "run")
        self.close()

    def close(self) -> None:
        """Accept no more requests and events. The log stays readable."""
        self.closed = True
        self.writer.close()


def replay(prepared: Mapping[str, PreparedComponent], events: Iterable[Event]) -> dict[str, State[Any]]:
    """Rebuild the states of sandboxes and domains from their datasets and the events of a log."""
    states = {name: component.new_state() for name, component in prepared.items()}
    for event in events:
        if event.source in states:
            states[event.source].apply(event)
    return states
