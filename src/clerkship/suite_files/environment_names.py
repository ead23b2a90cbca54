"""The names that the sandboxes and domains of an environment define: mailboxes, lines, contacts, plans, and so on."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from clerkship.kit.registry import UnknownName
from clerkship.model.closed import HTTP_METHODS, REQUEST_METHOD
from clerkship.model.dataset import Dataset
from clerkship.model.environment import ComponentConfig, Environment
from clerkship.model.errors import InputError
from clerkship.suite_files.catalog import Catalog, ComponentEntry
from clerkship.suite_files.shape import read_as

MIN_DIGITS, LOCAL_DIGITS = 7, 10
SEPARATORS = r"[ ().-]*"
"""What may stand between the digits of a phone number."""
ListNames = Callable[[], Collection[str]]


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
        parts = (part for each in self.datasets for part in (*(each.lines or ()), *each.files.values()))
        return any(pattern.search(part) for part in parts)

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
        if config is None or any(each not in datasets for each in named):
            return EnvironmentNames(is_complete=False)
        matching = [datasets[each] for each in named if datasets[each].type == entry.dataset]
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
