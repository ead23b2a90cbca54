"""The checks of domains. The first line of each docstring states what must hold."""

from collections.abc import Callable, Sequence
from copy import deepcopy

from clerkship.checks.conformance.rig import ComponentRig, require
from clerkship.events.event import Event
from clerkship.model.environment import Environment
from clerkship.playground.component import PreparedComponent
from clerkship.sandbox.component import DomainCall, DomainSpec
from clerkship.sandbox.request import Refusal

DomainCheck = Callable[[DomainSpec], None]
NAME = "domain"


class DomainRig(ComponentRig):
    """A playground with one domain, loaded from the exercise datasets of its spec, and nothing else."""

    def __init__(self, spec: DomainSpec, prepared: PreparedComponent | None = None) -> None:
        self.prepared = prepared or PreparedComponent(spec, spec.config(), spec.prepare(spec.exercise_datasets))
        super().__init__(Environment(name="conformance"), "conformance", {}, {NAME: self.prepared})
        self._spec = spec

    def run(self) -> None:
        """Make every call of the exercise, as the agent."""
        for call in self._spec.exercise:
            self.call(call)
        self.finish()

    def finish(self) -> None:
        """Let time pass until the domain has no work for later."""
        while (due := self.playground.clock.next_due()) is not None:
            self.playground.advance(due - self.playground.now)

    def call(self, call: DomainCall) -> Refusal | None:
        """Make one call, as the agent; return its refusal, or None."""
        try:
            call(self.playground.components[NAME].state, self.playground.context_for(NAME, "agent"))
        except Refusal as refusal:
            return refusal
        return None

    def fork(self) -> "DomainRig":
        """Open another playground that continues from the bytes of this one's log."""
        other = DomainRig(self._spec, self.prepared)
        other.continue_from(self)
        return other

    @property
    def events(self) -> Sequence[Event]:
        """The events so far."""
        return self.playground.log.events


def run_domain_exercise(spec: DomainSpec) -> DomainRig:
    """Open a playground, and make every call of the exercise in it."""
    rig = DomainRig(spec)
    rig.run()
    return rig


def same_calls_give_the_same_log(spec: DomainSpec) -> None:
    """The same seed and the same calls give the same log, byte for byte."""
    require(
        run_domain_exercise(spec).lines == run_domain_exercise(spec).lines,
        "the same seed and calls gave two different logs",
    )


def a_replay_rebuilds_the_domain(spec: DomainSpec) -> None:
    """The dataset and the bytes of the log rebuild the state, byte for byte."""
    rig = run_domain_exercise(spec)
    require(rig.rebuilt() == rig.dumped(), "a replay of the log gave another state")


def a_fork_of_a_domain_continues_like_the_original(spec: DomainSpec) -> None:
    """A playground that is rebuilt from a log after any call of the exercise ends with the same log and state."""
    original = run_domain_exercise(spec)
    rig = DomainRig(spec, original.prepared)
    for number, call in enumerate(spec.exercise, 1):
        rig.call(call)
        fork = rig.fork()
        for later in spec.exercise[number:]:
            fork.call(later)
        fork.finish()
        where = f"a fork after call {number} of its exercise"
        require(fork.lines == original.lines, f"{where} ended with another log")
        require(fork.dumped() == original.dumped(), f"{where} ended with another state")


def domains_share_nothing(spec: DomainSpec) -> None:
    """Calls in one playground do not affect another one over the same base."""
    busy = DomainRig(spec)
    idle = DomainRig(spec, busy.prepared)
    before = idle.dumped()
    busy.run()
    require(idle.dumped() == before, "a domain changed because of calls in another playground")


def the_domain_dataset_does_not_change(spec: DomainSpec) -> None:
    """No call changes the dataset that all playgrounds share."""
    rig = DomainRig(spec)
    before = deepcopy(dict(rig.prepared.base))
    rig.run()
    require(dict(rig.prepared.base) == before, "a call changed the dataset that all playgrounds share")


def every_domain_event_validates(spec: DomainSpec) -> None:
    """Each line of the log can be parsed to an equal event, of a kind that the spec declares."""
    run_domain_exercise(spec).check_events()


def every_event_is_exercised(spec: DomainSpec) -> None:
    """The exercise causes every kind of event that the spec declares."""
    missing = {event.kind for event in spec.events} - {event.kind for event in run_domain_exercise(spec).events}
    require(not missing, f"its exercise never leads to {', '.join(sorted(missing))}")


def a_refused_call_changes_nothing(spec: DomainSpec) -> None:
    """A refused call causes no event and no change."""
    rig = DomainRig(spec)
    before, events = rig.dumped(), len(rig.events)
    for number, call in enumerate(spec.exercise, 1):
        refusal = rig.call(call)
        if refusal is not None:
            unchanged = rig.dumped() == before and len(rig.events) == events
            require(unchanged, f"call {number} of its exercise was refused ({refusal.code}) but changed something")
        before, events = rig.dumped(), len(rig.events)


DOMAIN_CHECKS: tuple[DomainCheck, ...] = (
    same_calls_give_the_same_log,
    a_replay_rebuilds_the_domain,
    a_fork_of_a_domain_continues_like_the_original,
    domains_share_nothing,
    the_domain_dataset_does_not_change,
    every_domain_event_validates,
    every_event_is_exercised,
    a_refused_call_changes_nothing,
)


def check_domain(spec: DomainSpec, checks: Sequence[DomainCheck] = DOMAIN_CHECKS) -> None:
    """Run all checks on a domain; raise NotConforming at the first check that fails."""
    for check in checks:
        check(spec)
