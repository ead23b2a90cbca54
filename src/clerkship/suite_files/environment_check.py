"""Check an environment: the kinds, configs and datasets of its sandboxes and domains, and its reactions."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from clerkship.kit.registry import UnknownName
from clerkship.model.closed import HTTP_METHODS, REQUEST_METHOD
from clerkship.model.dataset import Dataset
from clerkship.model.environment import (
    RESERVED_NAMES,
    RESERVED_SOURCES,
    ComponentConfig,
    Environment,
    Reaction,
    SharedDomain,
    Simulator,
)
from clerkship.model.errors import InputError, PlatformError
from clerkship.model.frozen import Frozen
from clerkship.model.located_error import CheckedModel
from clerkship.model.monitor_settings import ALL
from clerkship.model.names import did_you_mean, find_nearest_name
from clerkship.suite_files.catalog import Catalog, ComponentEntry
from clerkship.suite_files.definition import Definition, as_list, as_map, read_as
from clerkship.suite_files.record_check import InitialRecords
from clerkship.suite_files.yaml import KeyPath

MIN_DIGITS, LOCAL_DIGITS = 7, 10
SEPARATORS = r"[ ().-]*"
"""What may stand between the digits of a phone number."""
ListNames = Callable[[], Collection[str]]
_COMPONENTS: Mapping[str, type[ComponentConfig]] = {"simulators": Simulator, "domains": SharedDomain}
"""Keys of an environment that define sandboxes and domains."""


@dataclass(frozen=True)
class EnvironmentNames:
    """The names that an environment defines, by sort. They are listed when they are first needed."""

    by_component: Mapping[str, Mapping[str, ListNames]] = field(default_factory=dict)
    """Sandbox or domain -> sort -> names."""
    is_complete: bool = True
    """False if there is a component of which a config or a dataset could not be read."""
    datasets: tuple[Dataset, ...] = ()
    _found: dict[tuple[str, str | None], frozenset[str] | None] = field(default_factory=dict)

    def find(self, sort: str, component: str | None) -> frozenset[str] | None:
        """Return the names of a sort in a component, or in all if it has none of that sort; None if they are unknown.

        They are also unknown if no component defines names of the sort: a missing sandbox is reported elsewhere.
        """
        if (sort, component) not in self._found:
            self._found[sort, component] = self._list(sort, component)
        return self._found[sort, component]

    def mention(self, name: str) -> bool:
        """Return whether a record or text of a dataset has a name. A phone number may be in any notation."""
        digits = [sign for sign in name if sign.isdigit()]
        is_number = len(digits) >= MIN_DIGITS and not any(map(str.isalpha, name))
        number = SEPARATORS.join(digits[-LOCAL_DIGITS:]) + r"(?!\d)"
        pattern = re.compile((number if is_number else rf"(?<![\w-]){re.escape(name)}(?![\w-])").encode())
        text = b"" if is_number else name.encode()  # found faster than the pattern
        parts = (part for each in self.datasets for part in (*(each.lines or ()), *each.files.values()))
        return any(text in part and pattern.search(part) for part in parts)

    def _list(self, sort: str, component: str | None) -> frozenset[str] | None:
        if not self.is_complete:
            return None
        try:
            return self._read(sort, component)
        except InputError:  # of a dataset or config, which is reported elsewhere
            return None

    def _read(self, sort: str, component: str | None) -> frozenset[str] | None:
        if component is not None and sort in self.by_component.get(component, {}):
            return frozenset(self.by_component[component][sort]())
        lists = [names[sort] for names in self.by_component.values() if sort in names]
        return frozenset(name for names in lists for name in names()) if lists else None


def collect_environment_names(
    environment: Environment | None, datasets: Mapping[str, Dataset], catalog: Catalog
) -> EnvironmentNames:
    """Return the names that an environment defines. Nothing is read before a name is looked up."""
    if environment is None:
        return EnvironmentNames(is_complete=False)
    parts: list[tuple[str, ComponentConfig, Callable[[str], ComponentEntry]]] = [
        *((name, choice, catalog.simulator) for name, choice in environment.simulators.items()),
        *((name, choice, catalog.domain) for name, choice in environment.domains.items()),
    ]
    by_component: dict[str, Mapping[str, ListNames]] = {}
    targets = {reaction.target for reaction in environment.reactions}
    for name, choice, find in parts:
        named = choice.datasets if choice.datasets is not None else environment.datasets
        try:
            entry = find(choice.kind)
        except UnknownName:
            return EnvironmentNames(is_complete=False)
        config = read_as(entry.config, choice.config)
        kinds = [domain.kind for domain in environment.domains.values()]
        is_wrong = config is None or (isinstance(config, CheckedModel) and any(config.find_mistakes(kinds)))
        if is_wrong or any(each not in datasets for each in named):
            return EnvironmentNames(is_complete=False)
        matching = [datasets[each] for each in named if entry.is_loaded_from(datasets[each].type)]
        base = cache(partial(entry.prepare, matching))
        if name not in targets:  # what a reaction may add is not known before the run
            by_component[name] = {sort: _defer(names, config, base) for sort, names in entry.names.items()}
    by_component[""] = {REQUEST_METHOD.sort: lambda: [*HTTP_METHODS, *_list_operations(environment, catalog)]}
    return EnvironmentNames(by_component, datasets=tuple(datasets[name] for name in environment.datasets))


def _list_operations(environment: Environment, catalog: Catalog) -> Iterator[str]:
    for simulator in environment.simulators.values():
        yield from catalog.operations(simulator.kind)


def _defer(names: Callable[[Any, Any], Collection[str]], config: Any, base: Callable[[], Any]) -> ListNames:
    return cache(lambda: names(config, base()))


@dataclass(frozen=True)
class EnvironmentInfo:
    """The sandboxes and domains of an environment that tasks can use, with their kinds. An invalid kind is empty."""

    name: str
    sandboxes: Mapping[str, str]
    domains: Mapping[str, str]
    initial_records: Mapping[str, InitialRecords]
    """The initial records of its sandboxes, as far as they could be loaded."""
    names: EnvironmentNames = field(default_factory=EnvironmentNames)
    """The names that its sandboxes and domains define."""
    is_of_folder: bool = True
    """False for that of tasks whose folder defines none."""
    missing_kinds: set[str] = field(default_factory=set)
    """Kinds of sandboxes that tasks need and it does not have: each is reported once."""

    @property
    def components(self) -> Mapping[str, str]:
        """Sandboxes and domains, which `sandbox` can name. In a fault it can only name sandboxes."""
        return {**self.sandboxes, **self.domains} if self.domains else self.sandboxes


def build_environment_info(
    data: Mapping[str, object],
    initial_records: Mapping[str, InitialRecords] | None = None,
    names: EnvironmentNames | None = None,
) -> EnvironmentInfo:
    """Return the names in an environment as the file has them, valid or not."""
    sandboxes, domains = _read_kinds(data, "simulators"), _read_kinds(data, "domains")
    return EnvironmentInfo(
        str(data.get("name")), sandboxes, domains, initial_records or {}, names or EnvironmentNames()
    )


def _read_kinds(data: Mapping[str, object], key: str) -> dict[str, str]:
    choices = {name: read_as(_COMPONENTS[key], written) for name, written in as_map(data.get(key)).items()}
    return {name: choice.kind if choice is not None else "" for name, choice in choices.items()}


def has_known_components(data: Mapping[str, object]) -> bool:
    """Return whether the sandboxes and domains of an environment are known, valid or not.

    They are not if their key is misspelled, or is no map: what names them cannot be checked until that is mended.
    """
    unknown = data.keys() - Environment.model_fields
    if unknown and "simulators" not in data:
        return False
    meant = {find_nearest_name(key, Environment.model_fields) for key in unknown}
    return all(isinstance(data.get(key, {}), dict) for key in _COMPONENTS) and not _COMPONENTS.keys() & meant


def is_known(lookup: Callable[[str], object], name: str) -> bool:
    """Return whether a lookup in the catalog finds a name."""
    try:
        lookup(name)
    except UnknownName:
        return False
    return True


def check_monitors(catalog: Catalog, definition: Definition, written: Any, path: KeyPath) -> None:
    """Report unknown monitors and invalid options under `monitors` of an environment, a task or a scenario file."""
    for name, options in as_map(written).items():
        if name == ALL:
            continue
        try:
            model = catalog.monitor(name)
        except UnknownName as unknown:
            definition.problem([*path, name], f"unknown monitor `{name[:60]}`", unknown.hint, key=True)
            continue
        if isinstance(options, dict):
            definition.read(model, options, [*path, name])


@dataclass(frozen=True)
class EnvironmentCheck:
    """Checks one environment against the catalog."""

    catalog: Catalog
    definition: Definition

    def check(self, datasets: Collection[str]) -> None:
        """Report every mistake; `datasets` are the names of existing datasets."""
        data = self.definition.fields
        named = [(n, name) for n, name in enumerate(as_list(data.get("datasets"))) if isinstance(name, str)]
        for number, name in named:
            if name not in datasets:
                hint = did_you_mean(name, datasets)
                self.definition.problem(["datasets", number], f"unknown dataset `{name}`", hint)
        check_monitors(self.catalog, self.definition, data.get("monitors"), ["monitors"])
        if not has_known_components(data):
            return
        info = build_environment_info(data)
        self._check_names(info)
        for key, model in _COMPONENTS.items():
            for name, written in as_map(data.get(key)).items():
                choice = read_as(model, written)
                if choice is not None:
                    self._check_component(choice, [key, name], [name for _, name in named], info)
        for name, kind in info.sandboxes.items():
            self._check_called_domains(kind, ["simulators", name], info)
        for number, written in enumerate(as_list(data.get("reactions"))):
            reaction = read_as(Reaction, written)
            if reaction is not None:
                self._check_reaction(reaction, ["reactions", number], info.components)

    def _check_names(self, info: EnvironmentInfo) -> None:
        """Check that no sandbox or domain has a reserved name, or the name of another one."""
        of_domains = RESERVED_NAMES | RESERVED_SOURCES | dict.fromkeys(info.sandboxes, "a sandbox")
        for key, what, names, taken in (
            ("simulators", "sandbox", info.sandboxes, RESERVED_NAMES),
            ("domains", "domain", info.domains, of_domains),
        ):
            for name in names.keys() & taken.keys():
                message = f"the name `{name}` is reserved: it is {taken[name]}"
                self.definition.problem([key, name], message, f"give the {what} another name", key=True)

    def _check_component(
        self, choice: ComponentConfig, path: KeyPath, datasets: Collection[str], info: EnvironmentInfo
    ) -> None:
        is_domain = isinstance(choice, SharedDomain)
        try:
            entry = self.catalog.domain(choice.kind) if is_domain else self.catalog.simulator(choice.kind)
        except UnknownName as unknown:
            self.definition.problem([*path, "kind"], f"unknown {unknown.what} `{choice.kind}`", unknown.hint)
        else:
            config = self.definition.read(entry.config, choice.config, [*path, "config"])
            self.definition.report_mistakes(config, [*path, "config"], info.domains.values())
            environment = read_as(Environment, self.definition.fields)
            if config is not None and environment is not None:
                self._check_in_environment(entry, config, environment, [*path, "config"])
        for number, name in enumerate(choice.datasets or ()):
            if name not in datasets:
                hint = did_you_mean(name, datasets) or "the environment lists none under `datasets`"
                message = f"`{name}` is not a dataset of this environment"
                self.definition.problem([*path, "datasets", number], message, hint)

    def _check_in_environment(
        self, entry: ComponentEntry, config: Frozen, environment: Environment, path: KeyPath
    ) -> None:
        """Check that a config fits the rest of the environment."""
        try:
            entry.configure(config, environment)
        except InputError as error:
            for problem in error.problems:
                self.definition.problem(path, problem.message, problem.hint)

    def _check_called_domains(self, kind: str, path: KeyPath, info: EnvironmentInfo) -> None:
        """Check that the domains that a simulator's operations call are defined.

        A domain of unknown kind is not reported here: its kind may be a misspelling of the right one.
        """
        kinds = info.domains.values()
        for domain in self.catalog.simulator(kind).domains if is_known(self.catalog.simulator, kind) else ():
            if domain.kind not in kinds and all(is_known(self.catalog.event_kinds, other) for other in kinds):
                hint = f"add `{domain.kind.rpartition('.')[2]}: {{kind: {domain.kind}}}` under `domains`"
                self.definition.problem(path, f"{kind} needs a domain of kind {domain.kind}", hint)

    def _check_reaction(self, reaction: Reaction, path: KeyPath, components: Mapping[str, str]) -> None:
        names = dict.fromkeys((reaction.source, reaction.target))
        for name in names:
            if name not in components:
                self.definition.problem(path, f"unknown sandbox `{name}`", did_you_mean(name, components))
        if all(name in components and is_known(self.catalog.event_kinds, components[name]) for name in names):
            try:
                self._check_pair(reaction, path, components[reaction.source], components[reaction.target])
            except PlatformError as error:
                self.definition.problem(path, str(error))

    def _check_pair(self, reaction: Reaction, path: KeyPath, source: str, target: str) -> None:
        kinds = [kind.removeprefix(f"{source}.") for kind in self.catalog.event_kinds(source)]
        matching = [kind for kind in kinds if reaction.matches(kind)]
        if not matching:
            hint = did_you_mean(reaction.event, kinds)
            self.definition.problem(path, f"{source} has no event `{reaction.event}`", hint)
            return
        taken = self.catalog.reactions(source, target)
        if not any(f"{source}.{kind}" in taken for kind in matching):
            hint = f"it reacts to {', '.join(self.catalog.reacts_to(target)) or 'no event'}"
            self.definition.problem(path, f"{target} does not react to {source}.{reaction.event}", hint)
