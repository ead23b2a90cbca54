"""Tables of everything that files may name: built in, and from plug-ins."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from clerkship.actors.registry import AGENTS, LoadSolver
from clerkship.assertions.registry import ASSERTIONS
from clerkship.engine.plugin_contract import ExtensionKind, NameClaim
from clerkship.engine.plugin_loading import BrokenPlugin, InstalledPlugins, LoadedPlugin, discover_plugins
from clerkship.events.agent import AGENT_EVENTS
from clerkship.events.event import Payload
from clerkship.events.lifecycle import LIFECYCLE_EVENTS
from clerkship.kit.registry import Deferred, NameTaken, Registry
from clerkship.model.names import canonical_name, find_similar_name
from clerkship.monitors.registry import MONITORS
from clerkship.reactions.registry import ReactionRegistry
from clerkship.sandbox.assertion import Assertion
from clerkship.sandbox.monitor import Monitor
from clerkship.sandbox.steps.contract import Step
from clerkship.sandbox.steps.registry import STEPS
from clerkship.settings import load_settings
from clerkship.simulators.registry import DomainEntry, KindEntry, build_spec_registry, load_domains, load_simulators
from clerkship.suite_files.dataset_type import DatasetType
from clerkship.suite_files.records import RECORDS_DATASET
from clerkship.suite_files.template import Filter, build_filter_registry

PLUGINS_OFF = InstalledPlugins(is_disabled=True)
_OTHER_KINDS: Mapping[ExtensionKind, ExtensionKind] = {"simulator": "domain", "domain": "simulator"}
"""Simulators and domains share one set of kinds, because files name a kind without saying which of the two it is."""


class Registrations:
    """The tables of everything that has a name. They are built once, then only read."""

    def __init__(
        self,
        kinds: Iterable[KindEntry] | None = None,
        plugins: InstalledPlugins | None = None,
        domains: Iterable[DomainEntry] | None = None,
    ) -> None:
        kinds = tuple(kinds) if kinds is not None else load_simulators()
        self.simulators = build_spec_registry("simulator", kinds)
        domains = tuple(domains) if domains is not None else load_domains()
        self.domains = build_spec_registry("domain", domains)
        for kind in {*self.simulators} & {*self.domains}:
            raise NameTaken(f"`{kind}` is the kind of a simulator and of a domain")
        self.assertions: Registry[type[Assertion]] = Registry("assertion")
        self.monitors: Registry[type[Monitor]] = Registry("monitor")
        self.steps: Registry[type[Step]] = Registry("step")
        self.agents: Registry[LoadSolver] = Registry("agent")
        self.reaction_pairs = ReactionRegistry()
        self.dataset_types: Registry[DatasetType] = Registry("type of dataset")
        self.filters = build_filter_registry()
        self.agent_event_kinds: Registry[type[Payload]] = Registry("event")
        self.plugins: list[LoadedPlugin] = []
        self.broken: list[BrokenPlugin] = []
        self._owners: dict[tuple[ExtensionKind, str], LoadedPlugin] = {}
        self._built_in: dict[str, str] = {}
        """The datasets that need no file, each with its type."""
        self._add_own()
        for domain in domains:
            self._add_kind(domain)
        for simulator in kinds:
            self._add_kind(simulator)
        self._add_plugins(plugins if plugins is not None else _find_installed())

    def _add_own(self) -> None:
        """Add the built-in names that belong to no kind of simulator."""
        for agent_kind, load in AGENTS.items():
            self.agents.add(agent_kind, load)
        for event in AGENT_EVENTS:
            self.agent_event_kinds.add(event.kind, event)
        for name, entry in ASSERTIONS.items():
            self.assertions.add(name, Deferred(entry.load), entry.aliases)
        for name, monitor in MONITORS.items():
            self.monitors.add(name, Deferred(monitor.load))
        for name, load_step in STEPS.items():
            self.steps.add(name, Deferred(load_step))
        self.dataset_types.add(RECORDS_DATASET.name, RECORDS_DATASET)

    def _add_kind(self, kind: KindEntry | DomainEntry) -> None:
        """Add the names that a kind defines. To start quickly, the kind is imported when one of them is used."""
        for name, aliases in kind.assertions.items():
            self.assertions.add(name, Deferred(partial(_find_by_name, kind, "assertions", name)), aliases)
        for name, aliases in kind.steps.items():
            self.steps.add(name, Deferred(partial(_find_by_name, kind, "steps", name)), aliases)
        for name, built_in in kind.dataset_types.items():
            self.dataset_types.add(name, Deferred(partial(_find_by_name, kind, "dataset_types", name)))
            self._built_in |= dict.fromkeys(built_in, name)
        for name in kind.filters:
            self.filters.add(name, Deferred(partial(_find_filter, kind, name)))

    def _add_plugins(self, installed: InstalledPlugins) -> None:
        self._plugins_disabled = installed.is_disabled
        reserved = self._reserved_prefixes() if installed.plugins else set()
        for plugin in installed.plugins:
            reason = plugin.reason if isinstance(plugin, BrokenPlugin) else self._find_conflict(plugin, reserved)
            if reason:
                self.broken.append(BrokenPlugin(plugin.prefix, plugin.package, plugin.version, reason))
            elif isinstance(plugin, LoadedPlugin):
                self._add(plugin)
        for table in self._tables.values():
            table.missing = self.missing
        self.assertions.missing = partial(_explain_assertion, self)

    def _reserved_prefixes(self) -> set[str]:
        """Return the first parts of built-in names, which no plug-in may use as its prefix."""
        events = [event.kind for event in (*LIFECYCLE_EVENTS, *AGENT_EVENTS)]
        tables: list[Iterable[str]] = [self.simulators, self.domains, self.steps, self.agents]
        tables += [self.dataset_types, events]
        return {name.partition(".")[0] for table in tables for name in table} | {"clerkship"}

    @property
    def _tables(self) -> Mapping[ExtensionKind, Registry[Any]]:
        return {
            "simulator": self.simulators,
            "domain": self.domains,
            "assertion": self.assertions,
            "monitor": self.monitors,
            "step": self.steps,
            "agent": self.agents,
            "reaction": self.reaction_pairs,
            "dataset type": self.dataset_types,
            "filter": self.filters,
            "event": self.agent_event_kinds,
        }

    def _find_conflict(self, loaded: LoadedPlugin, reserved: Collection[str]) -> str:
        """Return why the names of a plug-in cannot be added; empty if they can.

        All names are checked before the first one is added: a plug-in is added completely or not at all.
        """
        if loaded.prefix in reserved:
            return f"the prefix `{loaded.prefix}` is reserved for Clerkship"
        seen: set[tuple[ExtensionKind, str]] = set()
        for sort, name in _claimed_names(loaded.claims):
            owner = self._owners.get((sort, name))
            if (sort, name) in seen or name in self._tables[sort]:
                return f"the {sort} `{name}` exists already" + (f", from {owner}" if owner else "")
            if (other := _OTHER_KINDS.get(sort)) and ((other, name) in seen or name in self._tables[other]):
                return f"the {sort} `{name}` cannot be added: there is a {other} of that kind"
            seen.add((sort, name))
        return ""

    def _add(self, loaded: LoadedPlugin) -> None:
        for claim in loaded.claims:
            self._tables[claim.kind].add(claim.name, claim.extension, claim.aliases)
            if isinstance(claim.extension, DatasetType):
                self._built_in |= dict.fromkeys(claim.extension.built_in, claim.name)
        self._owners |= dict.fromkeys(_claimed_names(loaded.claims), loaded)
        self.plugins.append(loaded)

    def missing(self, name: str) -> str:
        """Return why a name is unknown: its plug-in is broken, turned off, or not installed. Empty if none of these."""
        name = canonical_name(name)
        prefix, dot, _ = name.removeprefix("fault.").partition(".")
        broken = [str(plugin) for plugin in self.broken if plugin.prefix == prefix]
        if broken:
            return "; ".join(broken)
        if not dot or find_similar_name(prefix, self._reserved_prefixes() - set(self.agents)):
            return ""  # more likely a misspelt built-in name than the name of a plug-in
        if self._plugins_disabled:
            return "plug-ins are turned off by CLERKSHIP_PLUGINS"
        return f"no plug-in `{prefix}` is installed"

    def owner(self, sort: ExtensionKind, name: str) -> LoadedPlugin | None:
        """Return the plug-in that defines a name, or None."""
        return self._owners.get((sort, canonical_name(name)))

    def warnings(self) -> list[str]:
        """Return a warning for each plug-in that could not be loaded."""
        return [str(plugin) for plugin in self.broken]


def _explain_assertion(known: Registrations, name: str) -> str:
    """Return why an assertion is unknown: it is an event, or as for any other name."""
    kind = name.partition(".")[0]
    tables = [table for table in (known.simulators, known.domains) if kind in table]
    events = [event.kind for table in tables for event in table.get(kind).events]
    if name in events or name in known.agent_event_kinds:
        return f"this is an event: write `event_occurred: {{event: {name}}}`, or make it a step of `sequencing`"
    return known.missing(name)


def _find_by_name(kind: KindEntry | DomainEntry, table: str, name: str) -> Any:
    """Return what a kind defines under a name, importing the kind."""
    return next(item for item in getattr(kind.spec, table) if item.name == name)


def _find_filter(kind: KindEntry | DomainEntry, name: str) -> Filter:
    return kind.spec.filters[name]


def _find_installed() -> InstalledPlugins:
    return discover_plugins() if load_settings().plugins == "on" else PLUGINS_OFF


def _claimed_names(claims: Iterable[NameClaim]) -> Iterator[tuple[ExtensionKind, str]]:
    """Yield every name and alias in canonical spelling, with the kind of extension."""
    for claim in claims:
        yield from ((claim.kind, canonical_name(name)) for name in (claim.name, *claim.aliases))
