"""What files may name, as the library asks for it and as `build` turns it into objects."""

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from pydantic import ValidationError

from clerkship.assertions.contract import Assertion
from clerkship.assertions.evaluation import evaluate
from clerkship.domains.component import ComponentSpec
from clerkship.domains.contract import DomainSpec
from clerkship.engine.registration import Registrations
from clerkship.events.agent import AgentEvents
from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import LIFECYCLE_EVENTS
from clerkship.kit.registry import UnknownName
from clerkship.library.dataset_type import DatasetType
from clerkship.library.template import Filter
from clerkship.model.call import AssertionCall
from clerkship.model.task import Task
from clerkship.playground.faults import ON_TURN
from clerkship.plugin.load import NONE
from clerkship.settings import variables
from clerkship.simulators.spec import Spec
from clerkship.steps.contract import Step

_EMPTY_RUN = Evidence(Task(name="inaction"), (), {}, "agent_done")


class RegisteredCatalog(Registrations):
    """The catalog of what this process knows."""

    def simulator(self, kind: str) -> Spec:
        """A kind of simulator."""
        return self.simulators.get(kind)

    def domain(self, kind: str) -> DomainSpec:
        """A kind of domain."""
        return self.domains.get(kind)

    def component(self, kind: str) -> ComponentSpec:
        """A kind of simulator or domain."""
        return self.domains.get(kind) if kind in self.domains else self.simulators.get(kind)

    def components(self) -> Iterator[ComponentSpec]:
        """Every kind of simulator and domain."""
        yield from (spec for _, spec in self.simulators.items())
        yield from (spec for _, spec in self.domains.items())

    def assertion(self, name: str) -> type[Assertion]:
        """An assertion."""
        return self.assertions.get(name)

    def step(self, name: str) -> type[Step]:
        """A scenario step."""
        return self.steps.get(name)

    def acts_on(self, sort: str, name: str) -> str | None:
        """The kind of sandbox or domain that a step or an assertion needs; it must be named, or be the only one."""
        return self.steps.get(name).simulator if sort == "step" else self.assertions.get(name).simulator

    def is_scoped(self, name: str) -> bool:
        """Whether a criterion's `input_entity_id` narrows what an assertion looks at."""
        return self.assertions.get(name).scoped

    def entity_fields(self, name: str) -> Collection[str]:
        """The fields of an assertion that name entities of the task."""
        return self.assertions.get(name).entity_fields

    def passes_on_inaction(self, call: AssertionCall) -> bool:
        """Whether an assertion can pass when the agent does nothing: it says so, or passes on an empty run. False if it
        is not valid or asks a model."""
        try:
            assertion = self.assertions.get(call.name).model_validate(call.args)
        except (UnknownName, ValidationError):
            return False
        if assertion.asks_model:
            return False
        return assertion.passes_on_inaction or evaluate(assertion, _EMPTY_RUN).check.passed

    def reads(self, name: str) -> frozenset[str]:
        """The agent's own events that an assertion of this name looks for; none if there is no such assertion."""
        return self.assertions.get(name).reads() if name in self.assertions else frozenset()

    def event_kinds(self, kind: str) -> Collection[str]:
        """The events that a kind of simulator or domain may emit."""
        return [event.kind for event in self.component(kind).events]

    def operations(self, kind: str) -> Collection[str]:
        """What a kind of simulator can be asked to do, and a fault can strike."""
        spec = self.simulators.get(kind)
        return [*dict.fromkeys(operation.name for operation in spec.operations), *([ON_TURN] if spec.converses else [])]

    def reactions(self, source: str, target: str) -> Collection[str]:
        """Return the events of one kind of simulator that another kind reacts to."""
        return self.reaction_pairs.between(source, target)

    def reacts_to(self, target: str) -> Collection[str]:
        """Return all events, of whatever kind of simulator, that one kind reacts to."""
        return self.reaction_pairs.events_for(target)

    @cached_property
    def events(self) -> dict[str, type[Payload]]:
        """Every kind of event there is, with its payload."""
        own = [event for spec in self.components() for event in spec.events]
        return {event.kind: event for event in (*LIFECYCLE_EVENTS, *self.agent_events.values(), *own)}

    @cached_property
    def agent_events(self) -> AgentEvents:
        """The events that an agent may report, by kind: ours, and those of plug-ins."""
        return dict(self.agent_event_kinds.items())

    @cached_property
    def _payloads(self) -> dict[str, Mapping[str, Collection[str]]]:
        return {}

    def variables(self) -> Mapping[str, str]:
        """What `${NAME}` in a file may stand for."""
        return variables()

    def payloads(self, name: str) -> Mapping[str, Collection[str]]:
        """The kinds of event that a name means, or a pattern with `*`, with the fields of their payloads."""
        if name not in self._payloads:
            kinds = [kind for kind in (*self.simulators, *self.domains) if _may_match(name, kind)]
            own = [event for kind in kinds for event in self.component(kind).events]
            meant = [
                event for event in (*LIFECYCLE_EVENTS, *self.agent_events.values(), *own) if _matches(name, event.kind)
            ]
            self._payloads[name] = {event.kind: event.model_fields.keys() for event in meant}
        return self._payloads[name]

    def event_names(self) -> Collection[str]:
        """Every kind of event there is; all simulators are imported for that."""
        return self.events.keys()

    def dataset_type(self, name: str) -> DatasetType:
        """A type of dataset."""
        return self.dataset_types.get(name)

    def built_in_datasets(self) -> Mapping[str, str]:
        """The datasets that need no file, each with its type."""
        return self._built_in

    def filter(self, name: str) -> Filter:
        """A filter of templates."""
        return self.filters.get(name)


def _matches(name: str, event: str) -> bool:
    return event == name or ("*" in name and fnmatchcase(event, name))


def _may_match(name: str, kind: str) -> bool:
    """Whether a name, or a pattern, can mean an event of a kind: their names start with the kind's."""
    head, start = name.partition("*")[0], f"{kind}."
    return head.startswith(start) or ("*" in name and start.startswith(head))


def build_catalog_without_plugins() -> RegisteredCatalog:
    """Without plug-ins: what the reference is written from."""
    return RegisteredCatalog(plugins=NONE)
