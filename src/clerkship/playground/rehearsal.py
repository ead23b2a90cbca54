"""A step once more, as if the agent had done nothing: whose doing it is that it could not be done."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from clerkship.events.event import Event, Payload
from clerkship.events.log import open_log
from clerkship.events.states import find_state
from clerkship.faults.contract import Fault
from clerkship.kit.ids import Ids
from clerkship.kit.rng import Rng
from clerkship.model.problem import InputError
from clerkship.playground.domains import DomainCaller
from clerkship.sandbox.exchange import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.steps.contract import Step

AGENT = "agent"
S = TypeVar("S", bound=State)


class Rehearsal:
    """A dry run of a step, on states as they would be without the agent."""

    def __init__(
        self, states: Mapping[str, State], domains: Collection[str], events: Iterable[Event], now: datetime, seed: str
    ) -> None:
        self.now = now
        self._states = states
        self._domains = {name: states[name] for name in domains}
        self._ids, self._rng = Ids(seed), Rng(seed)
        _, self._writer = open_log()
        for event in without_agent(events):
            if event.source in states:
                states[event.source].apply(event)

    def state(self, kind: type[S], sandbox: str | None) -> tuple[S, ActionContext]:
        """Return a state, and the context in which the step changes it here."""
        name, state = find_state(self._states, kind, sandbox)
        return state, self.act(name, "scenario")

    def act(self, sandbox: str, actor: str, cause: int | None = None) -> ActionContext:
        """Build the context in which an actor changes a component here."""
        caller = DomainCaller(self, self._domains, sandbox, actor, cause)
        return ActionContext(actor, self.now, self._ids, self._rng, caller.record, find_domain=caller.find_domain)

    def emit(self, source: str, payload: Payload, actor: str, cause: int | None = None) -> Event:
        """Apply an event here; the log of the run does not get it."""
        event = self._writer.append(source, payload, actor=actor, at=self.now, cause=cause)
        self._states[source].apply(event)
        return event

    def advance(self, by: timedelta) -> None:
        """No time passes."""

    def inject(self, fault: Fault) -> None:
        """Nobody is here to be struck."""

    def goes_well(self, step: Step) -> bool:
        """Whether a step can be done here."""
        try:
            step.run(self)
        except (Refusal, InputError):
            return False
        return True


def without_agent(events: Iterable[Event]) -> Iterator[Event]:
    """What would have happened without the agent: nothing that it did, nor what came of that."""
    left_out: set[int] = set()
    for event in events:
        if event.actor == AGENT or event.cause in left_out:
            left_out.add(event.seq)
        else:
            yield event
