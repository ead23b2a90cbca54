"""What every domain must do: run it on your spec with `check_domain`."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy

from clerkship.conformance.failure import NotConforming
from clerkship.conformance.rig import continue_from, to_bytes
from clerkship.domains.contract import DomainCall, DomainSpec
from clerkship.events.event import Event, parse_event
from clerkship.events.lifecycle import LIFECYCLE
from clerkship.model.environment import Environment
from clerkship.playground.component import PreparedComponent
from clerkship.playground.playground import Playground, PlaygroundOptions, replay
from clerkship.sandbox.exchange import Refusal

DomainCheck = Callable[[DomainSpec], None]
NAME = "domain"


class DomainRig:
    """A playground with one domain, loaded from the exercise datasets of its spec, and nothing else."""

    def __init__(self, spec: DomainSpec, prepared: PreparedComponent | None = None) -> None:
        self.prepared = prepared or PreparedComponent(spec, spec.config(), spec.prepare(spec.exercise_datasets))
        environment = Environment(name="conformance")
        self.playground = Playground(environment, {}, "conformance", PlaygroundOptions(domains={NAME: self.prepared}))
        self._spec = spec

    def run(self) -> None:
        """Make every call of the exercise, as the agent."""
        for _ in self.calls():
            pass

    def calls(self) -> Iterator[Refusal | None]:
        """Make the calls of the exercise one by one; yields how the domain refused each, or None."""
        return map(self.call, self._spec.exercise)

    def call(self, call: DomainCall) -> Refusal | None:
        """Make one call, as the agent; return how the domain refused it, or None."""
        try:
            call(self.playground.components[NAME].state, self.playground.act(NAME, "agent"))
        except Refusal as refusal:
            return refusal
        return None

    def dump(self) -> bytes:
        """Return the bytes of the state, in which the order of keys counts."""
        return to_bytes(self.playground.components[NAME].state.dump())

    def logged_events(self) -> list[Event]:
        """Return the events as they are read back from the log's bytes."""
        kinds = {event.kind: event for event in (*LIFECYCLE, *self._spec.events)}
        log = self.playground.log
        return [parse_event(line, kinds, log.blobs.__getitem__) for line in log.lines]

    def fork(self) -> "DomainRig":
        """Open another playground that continues from the bytes of this one's log."""
        other = DomainRig(self._spec, self.prepared)
        continue_from(other.playground, self.playground, self.logged_events())
        return other

    @property
    def events(self) -> Sequence[Event]:
        """The events so far."""
        return self.playground.log.events


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise NotConforming(otherwise)


def same_calls_give_the_same_log(spec: DomainSpec) -> None:
    """The same seed and the same calls lead to the same log, byte by byte."""
    one, other = DomainRig(spec), DomainRig(spec)
    one.run()
    other.run()
    _must(one.playground.log.lines == other.playground.log.lines, "the same seed and calls gave two different logs")


def a_replay_rebuilds_the_domain(spec: DomainSpec) -> None:
    """The dataset and the bytes of the log give the state, byte for byte."""
    rig = DomainRig(spec)
    rig.run()
    rebuilt = replay({NAME: rig.prepared}, rig.logged_events())[NAME].dump()
    _must(to_bytes(rebuilt) == rig.dump(), "the log, replayed, gave another state")


def a_fork_of_a_domain_continues_like_the_original(spec: DomainSpec) -> None:
    """A playground that is rebuilt from a log after any call, and given the rest, ends with the same log and state."""
    straight = DomainRig(spec)
    straight.run()
    rig = DomainRig(spec, straight.prepared)
    for number, call in enumerate(spec.exercise, 1):
        rig.call(call)
        fork = rig.fork()
        for later in spec.exercise[number:]:
            fork.call(later)
        where = f"a fork after call {number} of its exercise"
        _must(fork.playground.log.lines == straight.playground.log.lines, f"{where} ended with another log")
        _must(fork.dump() == straight.dump(), f"{where} ended with another state")


def domains_share_nothing(spec: DomainSpec) -> None:
    """What happens in one playground is not seen in another, though both have the same base."""
    busy = DomainRig(spec)
    idle = DomainRig(spec, busy.prepared)
    before = idle.dump()
    busy.run()
    _must(idle.dump() == before, "a domain changed because of calls in another playground")


def the_base_stays_as_it_was(spec: DomainSpec) -> None:
    """The dataset that all playgrounds share is not changed by any call."""
    rig = DomainRig(spec)
    before = deepcopy(dict(rig.prepared.base))
    rig.run()
    _must(dict(rig.prepared.base) == before, "a call changed the dataset that all playgrounds share")


def every_domain_event_validates(spec: DomainSpec) -> None:
    """Each line of the log reads back as the event it was, of a kind that the spec declares."""
    kinds = {event.kind for event in (*LIFECYCLE, *spec.events)}
    rig = DomainRig(spec)
    rig.run()
    for event in rig.events:
        _must(event.kind in kinds, f"it emits {event.kind}, which its spec does not declare")
    for event, again in zip(rig.events, rig.logged_events(), strict=True):
        _must(again == event, f"#{event.seq} {event.kind} does not survive its own bytes")


def every_event_is_exercised(spec: DomainSpec) -> None:
    """The exercise leads to every kind of event that the spec declares."""
    rig = DomainRig(spec)
    rig.run()
    left_out = {event.kind for event in spec.events} - {event.kind for event in rig.events}
    _must(not left_out, f"its exercise never leads to {', '.join(sorted(left_out))}")


def a_refused_call_changes_nothing(spec: DomainSpec) -> None:
    """A call that is refused leaves no event and no change."""
    rig = DomainRig(spec)
    before, events = rig.dump(), len(rig.events)
    for number, refusal in enumerate(rig.calls(), 1):
        if refusal is not None:
            unchanged = rig.dump() == before and len(rig.events) == events
            _must(unchanged, f"call {number} of its exercise was refused ({refusal.code}) and still did something")
        before, events = rig.dump(), len(rig.events)


DOMAIN_CHECKS: tuple[DomainCheck, ...] = (
    same_calls_give_the_same_log,
    a_replay_rebuilds_the_domain,
    a_fork_of_a_domain_continues_like_the_original,
    domains_share_nothing,
    the_base_stays_as_it_was,
    every_domain_event_validates,
    every_event_is_exercised,
    a_refused_call_changes_nothing,
)


def check_domain(spec: DomainSpec, checks: Sequence[DomainCheck] = DOMAIN_CHECKS) -> None:
    """Run all checks on a domain; raises NotConforming at the first that does not hold."""
    for check in checks:
        check(spec)
