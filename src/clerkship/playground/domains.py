"""How an action in one component calls a domain, with its actor and cause kept."""

from collections.abc import Mapping

from clerkship.events.event import Event, Payload
from clerkship.events.states import find_state
from clerkship.playground.component import RunningComponent
from clerkship.playground.host import Host
from clerkship.sandbox.state import ActionContext, State


class DomainCaller:
    """Records the events of one action, and names the last of them as the cause of what a domain does for it."""

    __slots__ = ("_actor", "_cause", "_domains", "_host", "_last", "_source")

    def __init__(self, host: Host, domains: Mapping[str, State], source: str, actor: str, cause: int | None) -> None:
        self._host, self._domains = host, domains
        self._source, self._actor, self._cause, self._last = source, actor, cause, cause

    def record(self, payload: Payload) -> Event:
        """Emit an event of the action itself."""
        event = self._host.emit(self._source, payload, self._actor, self._cause)
        self._last = event.seq
        return event

    def find_domain(self, kind: type[State], name: str | None) -> tuple[State, ActionContext]:
        """Find a domain by the type of its state, and build the context in which the same actor changes it."""
        chosen, state = find_state(self._domains, kind, name)
        return state, self._host.act(chosen, self._actor, self._last)


def with_domains(
    context: ActionContext, host: Host, domains: Mapping[str, RunningComponent], source: str, cause: int | None
) -> ActionContext:
    """Give an action access to the domains of its playground."""
    states = {name: domain.state for name, domain in domains.items()}
    caller = DomainCaller(host, states, source, context.actor, cause)
    return context._replace(emit=caller.record, find_domain=caller.find_domain)
