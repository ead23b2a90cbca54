"""Everything that is registered, in one place: what files may name and what build turns into objects."""

from collections.abc import Collection, Mapping
from functools import cached_property

from clerkship.actors.registry import AGENTS, Load
from clerkship.assertions.contract import Assertion
from clerkship.assertions.registry import ASSERTIONS
from clerkship.events.agent import AGENT
from clerkship.events.event import Payload
from clerkship.events.lifecycle import LIFECYCLE
from clerkship.kit.registry import Registry
from clerkship.playground.playground import ON_TURN
from clerkship.simulators.registry import load_simulators
from clerkship.simulators.spec import Spec
from clerkship.steps.contract import Step
from clerkship.steps.registry import STEPS


class Registered:
    """The catalog of what this process knows. Made once, then only read."""

    def __init__(self, simulators: Registry[Spec] | None = None) -> None:
        self.simulators = simulators or load_simulators()
        self.assertions: Registry[type[Assertion]] = Registry("assertion")
        self.steps: Registry[type[Step]] = Registry("step")
        self.agents: Registry[Load] = Registry("agent")
        for sort, load in AGENTS.items():
            self.agents.add(sort, load)
        for assertion in ASSERTIONS:
            self.assertions.add(assertion.name, assertion, assertion.aliases)
        for step in STEPS:
            self.steps.add(step.name, step, step.aliases)
        for _, spec in self.simulators.items():
            for assertion in spec.assertions:
                self.assertions.add(assertion.name, assertion, assertion.aliases)
            for step in spec.steps:
                self.steps.add(step.name, step, step.aliases)

    def simulator(self, kind: str) -> Spec:
        """A kind of simulator."""
        return self.simulators.get(kind)

    def assertion(self, name: str) -> type[Assertion]:
        """An assertion."""
        return self.assertions.get(name)

    def step(self, name: str) -> type[Step]:
        """A scenario step."""
        return self.steps.get(name)

    def acts_on(self, sort: str, name: str) -> str | None:
        """The kind of sandbox a step acts on, or an assertion reads; it must be named, or be the only one."""
        return self.steps.get(name).simulator if sort == "step" else self.assertions.get(name).simulator

    def event_kinds(self, kind: str) -> Collection[str]:
        """What a kind of simulator may emit."""
        return [event.kind for event in self.simulators.get(kind).events]

    def operations(self, kind: str) -> Collection[str]:
        """What a kind of simulator can be asked to do, and a fault can strike."""
        spec = self.simulators.get(kind)
        return [*dict.fromkeys(route.operation for route in spec.routes), *([ON_TURN] if spec.converses else [])]

    def reactions(self, kind: str) -> Mapping[str, object]:
        """The events of others that a kind of simulator takes in."""
        return self.simulators.get(kind).reactions

    @cached_property
    def events(self) -> dict[str, type[Payload]]:
        """Every kind of event there is, with its payload."""
        own = [event for _, spec in self.simulators.items() for event in spec.events]
        return {event.kind: event for event in (*LIFECYCLE, *AGENT, *own)}

    def payloads(self) -> Mapping[str, Collection[str]]:
        """Every kind of event there is, with the fields of its payload."""
        return {kind: model.model_fields.keys() for kind, model in self.events.items()}
