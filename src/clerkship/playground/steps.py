"""Run the steps of a scenario, and distinguish mistakes of its author from failures that the agent caused."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial

from clerkship.events.event import Event
from clerkship.events.lifecycle import StepFailed, StepRan
from clerkship.model.errors import InputError
from clerkship.playground.host import PlaygroundHost
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.steps.contract import Step


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
