"""A step once more, as if the agent had done nothing: whose doing it is that it could not be done."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TypeVar

from clerkship.events.event import Event, Payload
from clerkship.events.log import open_log
from clerkship.faults.contract import Fault
from clerkship.kit.ids import Ids
from clerkship.kit.rng import Rng
from clerkship.model.problem import InputError
from clerkship.sandbox.exchange import Refusal
from clerkship.sandbox.state import ActionContext, State
from clerkship.steps.contract import Step

AGENT = "agent"
S = TypeVar("S", bound=State)


class Rehearsal:
    """Sandboxes as they would be without the agent, for a step to be tried on. Nothing that happens here happens."""

    def __init__(self, states: Mapping[str, State], events: Iterable[Event], now: datetime, seed: str) -> None:
        self.now = now
        self._states = states
        self._ids, self._rng = Ids(seed), Rng(seed)
        _, self._writer = open_log()
        for event in without_agent(events):
            if event.source in states:
                states[event.source].apply(event)

    def state(self, kind: type[S], sandbox: str | None) -> tuple[S, ActionContext]:
        """A sandbox's state, and a hand on it that leaves no trace."""
        found = {name: state for name, state in self._states.items() if isinstance(state, kind)}
        name = sandbox if sandbox is not None or len(found) != 1 else next(iter(found))
        if name is None or name not in found:
            raise InputError.of("there is no such sandbox")
        return found[name], ActionContext("scenario", self.now, self._ids, self._rng, partial(self._take_down, name))

    def _take_down(self, name: str, payload: Payload) -> Event:
        event = self._writer.append(name, payload, actor="scenario", at=self.now)
        self._states[name].apply(event)
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
