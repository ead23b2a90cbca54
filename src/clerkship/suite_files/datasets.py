"""Load the datasets of one folder, each by its type."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from clerkship.kit.registry import UnknownName
from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.model.environment import CONVERSATION_ENVIRONMENT, Environment
from clerkship.model.errors import InputProblem
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.dataset_cache import DatasetCache
from clerkship.suite_files.dataset_type import ConflictingTimes, DatasetSource
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.entity_finder import EntityFinder
from clerkship.suite_files.reporting import Reporter
from clerkship.suite_files.shape import as_list, as_map
from clerkship.suite_files.source import SourceFolder
from clerkship.suite_files.yaml import KeyPath, SourceLocation


@dataclass(frozen=True)
class DatasetLoader:
    """Loads the datasets of one folder."""

    folder: SourceFolder
    catalog: Catalog
    cache: DatasetCache
    reporter: Reporter
    environments: Mapping[str, Environment]
    loaded: dict[str, Dataset]
    problem_files: dict[str, set[str]] = field(default_factory=dict)
    """The files in which mistakes were found, by dataset."""

    def load(self, definition: Definition) -> None:
        """Load a dataset that a file defines; report every mistake."""
        type = definition.fields.get("type")
        try:
            model = self.catalog.dataset_type(type).model if isinstance(type, str) else DatasetFile
        except UnknownName as unknown:
            definition.problem(["type"], f"unknown dataset type `{unknown.name[:60]}`", unknown.hint)
            return
        written = definition.read(model, definition.data)
        dataset = self._load(written, definition.locate) if written is not None else None
        if dataset is not None:
            self.loaded.setdefault(dataset.name, dataset)

    def load_built_in(self, names: Iterable[tuple[Definition, KeyPath, str]]) -> None:
        """Load built-in datasets, given by definition, path and name. Mistakes are reported at the first mention."""
        types, seen = self.catalog.built_in_datasets(), set[str]()
        for definition, path, name in names:
            if name in types and name not in seen:
                seen.add(name)
                written = self.catalog.dataset_type(types[name]).built_in[name]
                dataset = self._load(written, partial(_locate, definition, path))
                if dataset is not None:
                    self.loaded[name] = dataset

    def _load(self, written: DatasetFile, locate: Callable[..., SourceLocation]) -> Dataset | None:
        now = partial(self._now, written.name)
        files = self.problem_files.setdefault(written.name, set())

        def report(problem: InputProblem) -> None:
            files.add(problem.file)
            self.reporter.mistakes.add_problem(problem)

        source = DatasetSource(self.folder, locate, report, self.reporter.warnings.add_problem, now, self.cache)
        return self.catalog.dataset_type(written.type).load(written, source)

    def _now(self, name: str) -> datetime:
        """Return the current time of the environments that use a dataset. Raise ConflictingTimes if they differ."""
        users = [environment for environment in self.environments.values() if name in environment.datasets]
        if not users:
            users = list(self.environments.values()) if len(self.environments) == 1 else [CONVERSATION_ENVIRONMENT]
        if len({environment.now for environment in users}) > 1:
            times = ", ".join(f"{user.name} at {user.now.isoformat()}" for user in users[:5])
            raise ConflictingTimes(
                f"the dates of `{name}` depend on `now`, which differs between its environments: {times}"
            )
        return users[0].now

    def open_finder(self, dataset: Dataset) -> EntityFinder:
        """Return the finder for the records of a dataset."""
        return self.catalog.dataset_type(dataset.type).finder(dataset)


def _locate(definition: Definition, path: KeyPath, *keys: int | str) -> SourceLocation:
    return definition.locate(*path)


def find_dataset_names(definitions: Iterable[Definition]) -> Iterator[tuple[Definition, KeyPath, str]]:
    """Yield every mention of a dataset in environments and tasks: the definition, the path in it, and the name."""
    for definition in definitions:
        mentions: list[tuple[KeyPath, Any]] = [
            (["datasets", number], name) for number, name in enumerate(as_list(definition.fields.get("datasets")))
        ]
        for number, entity in enumerate(as_list(definition.fields.get("entities"))):
            mentions.append((["entities", number, "dataset"], as_map(entity).get("dataset")))
        mentions.append((["for_each", "dataset"], as_map(definition.fields.get("for_each")).get("dataset")))
        yield from ((definition, path, name) for path, name in mentions if isinstance(name, str))


def find_unused_datasets(
    environment: Environment, datasets: Mapping[str, Dataset], taken: Collection[str], catalog: Catalog
) -> Iterator[tuple[KeyPath, str]]:
    """Yield a path and a warning for each unused dataset. `taken` are those from which tasks use records or files."""
    types = _find_loaded_types(environment, catalog)
    for number, name in enumerate(environment.datasets):
        dataset = datasets.get(name)
        if dataset is None or dataset.type in types or name in taken:
            continue
        message = f"`{name}` is not used: no simulator of `{environment.name}` is loaded from a dataset of type "
        yield ["datasets", number], f"{message}{dataset.type}, and no task binds a record of it"


def _find_loaded_types(environment: Environment, catalog: Catalog) -> set[str | None]:
    """Return the types of dataset that the simulators of an environment are loaded from."""
    types: set[str | None] = set()
    for simulator in environment.simulators.values():
        try:
            types.add(catalog.simulator(simulator.kind).dataset)
        except UnknownName:  # reported with the simulator
            continue
    return types
