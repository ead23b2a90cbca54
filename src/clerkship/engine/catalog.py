"""The catalog in which the library and `build` look up everything that files may name."""

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from pydantic import ValidationError

from clerkship.engine.inaction import InactionChecks
from clerkship.engine.plugin_loading import NO_PLUGINS
from clerkship.events.agent import AgentEvents
from clerkship.events.event import Payload
from clerkship.events.lifecycle import LIFECYCLE_EVENTS
from clerkship.model.call import AssertionCall
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.component import ComponentSpec
from clerkship.sandbox.domain import DomainSpec
from clerkship.sandbox.faults.contract import ON_TURN
from clerkship.sandbox.steps.contract import Step
from clerkship.settings import get_template_variables
from clerkship.simulators.spec import Spec
from clerkship.suite_files.dataset_type import DatasetType
from clerkship.suite_files.template import Filter


class RegisteredCatalog(InactionChecks):
    """Implements the library's Catalog with everything that is registered in this process."""

    def simulator(self, kind: str) -> Spec:
        """Return the spec of a kind of simulator."""
        return self.simulators.get(kind)

    def domain(self, kind: str) -> DomainSpec:
        """Return the spec of a kind of domain."""
        return self.domains.get(kind)

    def component(self, kind: str) -> ComponentSpec:
        """Return the spec of a kind of simulator or domain."""
        return self.domains.get(kind) if kind in self.domains else self.simulators.get(kind)

    def components(self) -> Iterator[ComponentSpec]:
        """Yield the specs of all kinds of simulators and domains."""
        yield from (spec for _, spec in self.simulators.items())
        yield from (spec for _, spec in self.domains.items())

    def assertion(self, name: str) -> type[Assertion]:
        """Return the class of an assertion."""
        return self.assertions.get(name)

    def step(self, name: str) -> type[Step]:
        """Return the class of a scenario step."""
        return self.steps.get(name)

    def acts_on(self, sort: str, name: str) -> str | None:
        """Return the kind of sandbox or domain that a step or an assertion needs, or None."""
        return self.steps.get(name).simulator if sort == "step" else self.assertions.get(name).simulator

    def explain_unscoped(self, call: AssertionCall, record_type: str | None) -> str:
        """Return why a record of a type cannot limit what an assertion checks.

        Empty if it can, and if the assertion is unknown, which is reported anyway.
        """
        model = self.assertions.get(call.name) if call.name in self.assertions else None
        if model is None:
            return ""
        try:
            return model.model_validate(call.args).explain_unscoped(record_type)
        except ValidationError:  # reported anyway
            return "" if model.scoped else model.model_construct().explain_unscoped(record_type)

    def entity_fields(self, name: str) -> Collection[str]:
        """Return the fields of an assertion that name entities of the task."""
        return self.assertions.get(name).entity_fields

    def reads(self, name: str) -> frozenset[str]:
        """Return the kinds of reported events that an assertion looks for; none if the name is unknown."""
        return self.assertions.get(name).reads() if name in self.assertions else frozenset()

    def event_kinds(self, kind: str) -> Collection[str]:
        """Return the kinds of event that a kind of simulator or domain may emit."""
        return [event.kind for event in self.component(kind).events]

    def operations(self, kind: str) -> Collection[str]:
        """Return the operations of a kind of simulator, which faults may name."""
        spec = self.simulators.get(kind)
        return [
            *dict.fromkeys(operation.name for operation in spec.operations),
            *([ON_TURN] if spec.converses or spec.channels else []),
        ]

    def reactions(self, source: str, target: str) -> Collection[str]:
        """Return the events of one kind of simulator that another kind reacts to."""
        return self.reaction_pairs.between(source, target)

    def reacts_to(self, target: str) -> Collection[str]:
        """Return all events, of any kind of simulator, that one kind reacts to."""
        return self.reaction_pairs.events_for(target)

    @cached_property
    def events(self) -> dict[str, type[Payload]]:
        """Every kind of event, with the class of its payload."""
        component_events = [event for spec in self.components() for event in spec.events]
        return {event.kind: event for event in (*LIFECYCLE_EVENTS, *self.agent_events.values(), *component_events)}

    @cached_property
    def agent_events(self) -> AgentEvents:
        """The events that an agent may report, by kind, including those of plug-ins."""
        return dict(self.agent_event_kinds.items())

    @cached_property
    def _payloads(self) -> dict[str, Mapping[str, type[Payload]]]:
        return {}

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables that `${NAME}` in a file may refer to."""
        return get_template_variables()

    def payloads(self, name: str) -> Mapping[str, type[Payload]]:
        """Return the kinds of event that match a name or a pattern with `*`, with their payloads."""
        if name not in self._payloads:
            kinds = [kind for kind in (*self.simulators, *self.domains) if _may_match(name, kind)]
            # Only the kinds whose events can match are imported.
            component_events = [event for kind in kinds for event in self.component(kind).events]
            candidates = (*LIFECYCLE_EVENTS, *self.agent_events.values(), *component_events)
            matching = [event for event in candidates if _matches(name, event.kind)]
            self._payloads[name] = {event.kind: event for event in matching}
        return self._payloads[name]

    def event_names(self) -> Collection[str]:
        """Return every kind of event. This imports all simulators."""
        return self.events.keys()

    def dataset_type(self, name: str) -> DatasetType:
        """Return a type of dataset."""
        return self.dataset_types.get(name)

    def built_in_datasets(self) -> Mapping[str, str]:
        """Return the datasets that need no file, each with its type."""
        return self._built_in

    def filter(self, name: str) -> Filter:
        """Return a template filter."""
        return self.filters.get(name)


def _matches(name: str, event: str) -> bool:
    return event == name or ("*" in name and fnmatchcase(event, name))


def _may_match(name: str, kind: str) -> bool:
    """Return whether a name or pattern can match events of a kind, whose names start with the kind."""
    head, start = name.partition("*")[0], f"{kind}."
    return head.startswith(start) or ("*" in name and start.startswith(head))


def build_catalog_without_plugins() -> RegisteredCatalog:
    """Build a catalog without plug-ins, from which the reference documentation is generated."""
    return RegisteredCatalog(plugins=NO_PLUGINS)
