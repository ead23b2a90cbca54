"""Run the work that states have for later, when simulated time reaches it."""

from datetime import datetime
from functools import partial

from clerkship.model.errors import PlatformError
from clerkship.playground.component import RunningComponent
from clerkship.playground.host import PlaygroundHost

ACTOR = "system"


class EndlessWork(PlatformError):
    """Raised when a state still has the same work after it was done."""


class DueWorkRunner:
    """Schedules the first work of each sandbox and domain, and runs it when it is due.

    What is due follows from the states, so it is scheduled again in a playground that is rebuilt from a log.
    """

    def __init__(self, host: PlaygroundHost) -> None:
        self._host = host
        self._scheduled: dict[str, datetime] = {}

    def schedule(self, component: RunningComponent) -> None:
        """Schedule the first work of a component, unless it is scheduled already."""
        due = component.state.next_due() if component.has_due_work else None
        if due is None:
            return
        earlier = self._scheduled.get(component.name)
        if earlier is None or due.at < earlier:
            self._scheduled[component.name] = due.at
            self._host.clock.schedule(due.at, partial(self._run, component, due.at))

    def _run(self, component: RunningComponent, at: datetime) -> None:
        if self._scheduled.get(component.name) == at:
            del self._scheduled[component.name]
        with self._host.lock:
            while (due := component.state.next_due()) is not None and due.at <= self._host.clock.now:
                component.state.run_due(self._host.context_for(component.name, ACTOR, due.cause))
                if component.state.next_due() == due:
                    raise EndlessWork(f"{component.name}: the work due at {due.at} is not done by `run_due`")
        self.schedule(component)
