"""Everything that is registered, in one place: what files may name and what build turns into objects."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Any

from pydantic import ValidationError

from clerkship.actors.registry import AGENTS, Load
from clerkship.assertions.contract import Assertion
from clerkship.assertions.evaluation import evaluate
from clerkship.assertions.registry import ASSERTIONS
from clerkship.domains.component import ComponentSpec
from clerkship.domains.contract import DomainSpec
from clerkship.domains.registry import load_domains
from clerkship.events.agent import AGENT, AgentEvents
from clerkship.events.event import Payload
from clerkship.events.evidence import Evidence
from clerkship.events.lifecycle import LIFECYCLE
from clerkship.kit.registry import Deferred, NameTaken, Registry, UnknownName
from clerkship.library.dataset_type import DatasetType
from clerkship.library.records import RECORDS_DATASET
from clerkship.library.template import Filter, filter_table
from clerkship.model.call import AssertionCall
from clerkship.model.names import canonical, nearest
from clerkship.model.task import Task
from clerkship.playground.faults import ON_TURN
from clerkship.plugin.contract import Claim, Sort
from clerkship.plugin.load import NONE, Broken, Installed, Loaded, discover
from clerkship.reactions.registry import ReactionRegistry
from clerkship.settings import load_settings, variables
from clerkship.simulators.registry import KindEntry, load_simulators, spec_table
from clerkship.simulators.spec import Spec
from clerkship.steps.contract import Step
from clerkship.steps.registry import STEPS

OFF = Installed(off=True)
_OTHER_KINDS: Mapping[Sort, Sort] = {"simulator": "domain", "domain": "simulator"}
"""Sorts whose names are kinds of one table: files name the kind of a simulator or domain without saying which."""
_NOTHING_HAPPENED = Evidence(Task(name="inaction"), (), {}, "agent_done")


class Registered:
    """The catalog of what this process knows: ours, and what plug-ins bring. Made once, then only read."""

    def __init__(
        self,
        kinds: Iterable[KindEntry] | None = None,
        plugins: Installed | None = None,
        domains: Registry[DomainSpec] | None = None,
    ) -> None:
        kinds = tuple(kinds) if kinds is not None else load_simulators()
        self.simulators = spec_table(kinds)
        self.domains = domains or load_domains()
        for kind in {*self.simulators} & {*self.domains}:
            raise NameTaken(f"`{kind}` is the kind of a simulator and of a domain")
        self.assertions: Registry[type[Assertion]] = Registry("assertion")
        self.steps: Registry[type[Step]] = Registry("step")
        self.agents: Registry[Load] = Registry("agent")
        self.reaction_pairs = ReactionRegistry()
        self.dataset_types: Registry[DatasetType] = Registry("type of dataset")
        self.filters = filter_table()
        self.agent_event_kinds: Registry[type[Payload]] = Registry("event")
        self.plugins: list[Loaded] = []
        self.broken: list[Broken] = []
        self._owners: dict[tuple[Sort, str], Loaded] = {}
        self._built_in: dict[str, str] = {}
        self._payloads: dict[str, Mapping[str, Collection[str]]] = {}
        self._add_own()
        for kind in kinds:
            self._add_kind(kind)
        self._take_in(plugins if plugins is not None else _installed())

    def _add_own(self) -> None:
        """Add what belongs to no kind of simulator."""
        for sort, load in AGENTS.items():
            self.agents.add(sort, load)
        for event in AGENT:
            self.agent_event_kinds.add(event.kind, event)
        for assertion in ASSERTIONS:
            self.assertions.add(assertion.name, assertion, assertion.aliases)
        for step in STEPS:
            self.steps.add(step.name, step, step.aliases)
        self.dataset_types.add(RECORDS_DATASET.name, RECORDS_DATASET)
        for _, domain in self.domains.items():
            for assertion in domain.assertions:
                self.assertions.add(assertion.name, assertion, assertion.aliases)
            for step in domain.steps:
                self.steps.add(step.name, step, step.aliases)
            for type in domain.dataset_types:
                self.dataset_types.add(type.name, type)
                self._built_in |= dict.fromkeys(type.built_in, type.name)
            for name, apply in domain.filters.items():
                self.filters.add(name, apply)

    def _add_kind(self, kind: KindEntry) -> None:
        """Add the names of what a kind brings; it is imported when one of them is used."""
        for name, aliases in kind.assertions.items():
            self.assertions.add(name, Deferred(partial(_named, kind, "assertions", name)), aliases)
        for name, aliases in kind.steps.items():
            self.steps.add(name, Deferred(partial(_named, kind, "steps", name)), aliases)
        for name, built_in in kind.dataset_types.items():
            self.dataset_types.add(name, Deferred(partial(_named, kind, "dataset_types", name)))
            self._built_in |= dict.fromkeys(built_in, name)
        for name in kind.filters:
            self.filters.add(name, Deferred(partial(_filter, kind, name)))

    # Plug-ins.

    def _take_in(self, installed: Installed) -> None:
        self._off = installed.off
        ours = self._first_words() if installed.found else set()
        for found in installed.found:
            reason = found.reason if isinstance(found, Broken) else self._refusal(found, ours)
            if reason:
                self.broken.append(Broken(found.prefix, found.package, found.version, reason))
            elif isinstance(found, Loaded):
                self._add(found)
        for table in self._tables.values():
            table.missing = self.missing

    def _first_words(self) -> set[str]:
        """What names start with: of ours, what no plug-in may have as its prefix. Events start with their kind."""
        events = [event.kind for event in (*LIFECYCLE, *AGENT)]
        tables: list[Iterable[str]] = [self.simulators, self.domains, self.steps, self.agents]
        tables += [self.dataset_types, events]
        return {name.partition(".")[0] for table in tables for name in table} | {"clerkship"}

    @property
    def _tables(self) -> Mapping[Sort, Registry[Any]]:
        return {
            "simulator": self.simulators,
            "domain": self.domains,
            "assertion": self.assertions,
            "step": self.steps,
            "agent": self.agents,
            "reaction": self.reaction_pairs,
            "dataset type": self.dataset_types,
            "filter": self.filters,
            "event": self.agent_event_kinds,
        }

    def _refusal(self, loaded: Loaded, ours: Collection[str]) -> str:
        """Why it cannot be taken in beside what there is, if it cannot: all of it is, or none."""
        if loaded.prefix in ours:
            return f"the prefix `{loaded.prefix}` is Clerkship's own"
        seen: set[tuple[Sort, str]] = set()
        for sort, name in _names(loaded.claims):
            owner = self._owners.get((sort, name))
            if (sort, name) in seen or name in self._tables[sort]:
                return f"the {sort} `{name}` is there already" + (f", from {owner}" if owner else "")
            if (other := _OTHER_KINDS.get(sort)) and ((other, name) in seen or name in self._tables[other]):
                return f"the {sort} `{name}` has the kind of a {other}"
            seen.add((sort, name))
        return ""

    def _add(self, loaded: Loaded) -> None:
        for claim in loaded.claims:
            self._tables[claim.sort].add(claim.name, claim.thing, claim.aliases)
            if isinstance(claim.thing, DatasetType):
                self._built_in |= dict.fromkeys(claim.thing.built_in, claim.name)
        self._owners |= dict.fromkeys(_names(loaded.claims), loaded)
        self.plugins.append(loaded)

    def missing(self, name: str) -> str:
        """Why something of this name is not here, where that is known: its plug-in is broken, off, or not installed."""
        name = canonical(name)
        prefix, dot, _ = name.removeprefix("fault.").partition(".")
        broken = [str(plugin) for plugin in self.broken if plugin.prefix == prefix]
        if broken:
            return "; ".join(broken)
        if not dot or nearest(prefix, self._first_words() - set(self.agents)):
            return ""
        return "plug-ins are turned off, by CLERKSHIP_PLUGINS" if self._off else f"no plug-in `{prefix}` is installed"

    def owner(self, sort: Sort, name: str) -> Loaded | None:
        """The plug-in that something comes from, if it comes from one."""
        return self._owners.get((sort, canonical(name)))

    def warnings(self) -> list[str]:
        """What is wrong with this installation, and breaks nothing else."""
        return [str(plugin) for plugin in self.broken]

    # Names.

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
        return assertion.passes_on_inaction or evaluate(assertion, _NOTHING_HAPPENED).check.passed

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
        return {event.kind: event for event in (*LIFECYCLE, *self.agent_events.values(), *own)}

    @property
    def agent_events(self) -> AgentEvents:
        """The events that an agent may report, by kind: ours, and those of plug-ins."""
        return dict(self.agent_event_kinds.items())

    def variables(self) -> Mapping[str, str]:
        """What `${NAME}` in a file may stand for."""
        return variables()

    def payloads(self, name: str) -> Mapping[str, Collection[str]]:
        """The kinds of event that a name means, or a pattern with `*`, with the fields of their payloads."""
        if name not in self._payloads:
            kinds = [kind for kind in (*self.simulators, *self.domains) if _may_mean(name, kind)]
            own = [event for kind in kinds for event in self.component(kind).events]
            meant = [event for event in (*LIFECYCLE, *self.agent_events.values(), *own) if _means(name, event.kind)]
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


def _named(kind: KindEntry, table: str, name: str) -> Any:
    """Return what a kind brings under a name, importing the kind."""
    return next(thing for thing in getattr(kind.spec, table) if thing.name == name)


def _filter(kind: KindEntry, name: str) -> Filter:
    return kind.spec.filters[name]


def _means(name: str, event: str) -> bool:
    return event == name or ("*" in name and fnmatchcase(event, name))


def _may_mean(name: str, kind: str) -> bool:
    """Whether a name, or a pattern, can mean an event of a kind: their names start with the kind's."""
    head, start = name.partition("*")[0], f"{kind}."
    return head.startswith(start) or ("*" in name and start.startswith(head))


def _installed() -> Installed:
    return discover() if load_settings().plugins == "on" else OFF


def only_ours() -> Registered:
    """Without plug-ins: what the reference is written from."""
    return Registered(plugins=NONE)


def _names(claims: Iterable[Claim]) -> Iterator[tuple[Sort, str]]:
    """Every name in one spelling, with its sort."""
    for claim in claims:
        yield from ((claim.sort, canonical(name)) for name in (claim.name, *claim.aliases))
