"""Load the datasets of one folder, each by its type, and select from them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from clerkship.kit.registry import UnknownName
from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.model.environment import CONVERSATION_ENVIRONMENT, Environment
from clerkship.model.errors import InputProblem
from clerkship.model.names import find_nearest_name
from clerkship.suite_files.catalog import Catalog, ComponentEntry
from clerkship.suite_files.conftest import CONFTEST_STEM
from clerkship.suite_files.dataset_type import CachedFinder, ConflictingTimes, DatasetCache, DatasetSource, SearchCache
from clerkship.suite_files.definition import Definition, as_list, as_map
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.entities import FOR_EACH_KEY, EntityFinder
from clerkship.suite_files.library import LoadedTask, TaskName, find_tasks_by_name, find_tasks_of_name
from clerkship.suite_files.source import Reporter, SourceFolder
from clerkship.suite_files.yaml import KeyPath, SourceLocation, YamlTree

_TASK_KINDS = ("task", "scenario", "e2e")


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
    searches: list[SearchCache] = field(default_factory=list)

    def load(self, definition: Definition) -> None:
        """Load a dataset that a file defines; report every mistake."""
        type = definition.fields.get("type")
        others = () if type is not None else definition.fields.keys() - DatasetFile.model_fields
        misspelled = next((key for key in sorted(others) if find_nearest_name(key, ["type"])), None)
        if misspelled is not None:
            definition.problem([misspelled], f"unknown key `{misspelled[:60]}`", "did you mean `type`?", key=True)
            return
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
        finder = self.catalog.dataset_type(dataset.type).finder(dataset)
        if isinstance(finder, CachedFinder):
            finder.searches = self.cache.open_searches(finder.cache_key())
            self.searches.append(finder.searches)
        return finder

    def save_searches(self) -> None:
        """Keep what was searched for in the cache."""
        for searches in self.searches:
            searches.save()


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
    components = list(_list_components(environment, catalog))
    for number, name in enumerate(environment.datasets):
        dataset = datasets.get(name)
        if dataset is None or name in taken or any(each.is_loaded_from(dataset.type) for each in components):
            continue
        message = f"`{name}` is not used: no simulator of `{environment.name}` is loaded from a dataset of type "
        yield ["datasets", number], f"{message}{dataset.type}, and no task binds a record of it"


def _list_components(environment: Environment, catalog: Catalog) -> Iterator[ComponentEntry]:
    """Yield the kinds of simulators and domains of an environment."""
    for simulator in environment.simulators.values():
        with suppress(UnknownName):  # reported with the simulator
            yield catalog.simulator(simulator.kind)
    for domain in environment.domains.values():
        with suppress(UnknownName):
            yield catalog.domain(domain.kind)


@dataclass(frozen=True)
class TaskSelection:
    """The tasks that were asked for: those of one file, or those with certain names; all by default."""

    names: tuple[str, ...] = ()
    file: Path | None = None
    is_exclusive: bool = False
    """Whether other tasks are neither loaded nor checked."""
    has_variants: bool = True
    """Whether `wrong` and `ways` of tasks are loaded and checked."""

    def __bool__(self) -> bool:
        return self.file is not None or bool(self.names)

    def select(self, definitions: list[Definition], folder: SourceFolder) -> list[Definition]:
        """Return the definitions to load: all, or without the tasks that an exclusive selection does not name.

        All are loaded if a mistake was already found, so that its warning has the number of all mistakes, and if the
        folder has scenarios or tests, whose names depend on each other. See
        docs/decisions/0027-loop-of-an-author.md.
        """
        tasks = [each for each in definitions if each.kind == "task"]
        others = any(each.kind in _TASK_KINDS[1:] for each in definitions)
        if not (self and self.is_exclusive) or others or folder.report.problems:
            return definitions
        selected = {id(each) for each in self._select_tasks(tasks, folder)}
        return [each for each in definitions if each.kind != "task" or id(each) in selected]

    def _select_tasks(self, tasks: Sequence[Definition], folder: SourceFolder) -> Sequence[Definition]:
        """Return the definitions of tasks that the selection may name; all if it names none of them.

        What `for_each` makes of a definition has a name that is known only when it is loaded. Such a definition is
        left out only if the name or the file of another task is given as a whole.
        """
        if self.file is not None and not self.names:
            own = folder.resolve(self.file)
            return [each for each in tasks if folder.resolve(Path(each.tree.file)) == own] or tasks
        names = [TaskName(each.name, each.tree.file, _find_template(each)) for each in tasks]
        selected: set[TaskName] = set()
        for pattern in self.names:
            matches = find_tasks_of_name(pattern, names) if not set("[*?") & set(pattern) else []
            if not matches:
                matches = find_tasks_by_name(pattern, names)
                selected.update(name for name in names if name.template)
            if not matches:
                return tasks
            selected.update(matches)
        return [each for each, name in zip(tasks, names, strict=True) if name in selected]


ALL_TASKS = TaskSelection()


def _find_template(definition: Definition) -> str:
    return definition.name if definition.fields.get(FOR_EACH_KEY) is not None else ""


@dataclass(frozen=True)
class RequiredFiles:
    """Decides which mistakes of a folder concern the selected tasks."""

    selection: TaskSelection
    definitions: FolderDefinitions
    read: Sequence[Definition]
    """Every definition of the folder."""
    tasks: Iterable[LoadedTask]
    """Every task that could be loaded."""
    dataset_problem_files: Mapping[str, Collection[str]]
    """The files in which mistakes were found while a dataset was loaded, by its name."""

    def select(self, problems: Sequence[InputProblem]) -> list[InputProblem]:
        """Return the problems to raise: those of the files that the tasks need, or all if a task is not found."""
        if not self.selection or not problems:
            return list(problems)
        files = self.definitions.folder.files()
        own = self._find_task_files(files)
        required = own | {self._resolve(file) for file in self._find_needed_files(own)}
        others = {self._resolve(str(path)) for path in files if path.stem != CONFTEST_STEM}
        others |= {self._resolve(file) for each in self.dataset_problem_files.values() for file in each}
        others -= required
        needed = [problem for problem in problems if self._resolve(problem.file) not in others]
        loaded = {self._resolve(task.file) for task in self.tasks}
        return needed if needed or (own and own <= loaded) else list(problems)

    def _resolve(self, file: str) -> Path:
        return self.definitions.folder.resolve(Path(file))

    def _find_task_files(self, files: Iterable[Path]) -> set[Path]:
        """Return the files of the selected tasks, valid or not. A file that was not parsed only has its own name."""
        if self.selection.file is not None:
            return {self._resolve(str(self.selection.file))}
        tasks = [TaskName(loaded.task.name, loaded.file, loaded.template) for loaded in self.tasks]
        tasks += [TaskName(name, each.tree.file) for each in self.read for name in _find_names(each)]
        parsed = {each.tree.file for each in self.read} | self.definitions.files.skipped_files().keys()
        tasks += [TaskName("", str(path)) for path in files if str(path) not in parsed]
        return {
            self._resolve(task.file) for pattern in self.selection.names for task in find_tasks_by_name(pattern, tasks)
        }

    def _find_needed_files(self, own: set[Path]) -> Iterator[str]:
        """Yield the files of everything that the tasks use."""
        tasks = [each for each in self.read if each.kind in _TASK_KINDS and self._resolve(each.tree.file) in own]
        used = [*tasks, *self._find_environments(tasks)]
        dataset_names = {name for _, _, name in find_dataset_names(used)}
        for name in dataset_names:
            yield from self.dataset_problem_files.get(name, ())
        datasets = [self.definitions.get("dataset", name) for name in dataset_names]
        personas = [self.definitions.get("persona", name) for task in tasks for name in _find_personas(task.data)]
        for definition in (*used, *datasets, *personas):
            if definition is not None:
                yield from _list_files(definition.tree)

    def _find_environments(self, tasks: Iterable[Definition]) -> Iterator[Definition]:
        """Yield the environments that tasks name, and all of them for a task that names none."""
        for task in tasks:
            name = task.fields.get("environment")
            names = [name] if isinstance(name, str) else self.definitions.names("environment")
            yield from filter(None, (self.definitions.get("environment", each) for each in names))


def _find_names(definition: Definition) -> Iterator[str]:
    """Yield the names of the tasks in a definition as the file has them."""
    if definition.kind in ("task", "scenario"):
        yield definition.name
    elif definition.kind == "e2e":
        for case in as_list(definition.fields.get("test_cases")):
            name = as_map(case).get("test_case")
            yield name if isinstance(name, str) else ""


def _find_personas(data: Any) -> Iterator[str]:
    """Yield the names of personas in a task."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(as_list(data)):
        if key == "persona" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _find_personas(value)


def _list_files(tree: YamlTree) -> Iterator[str]:
    """Yield the file of a tree and the files that it includes."""
    yield tree.file
    for included in tree.included.values():
        yield from _list_files(included)
