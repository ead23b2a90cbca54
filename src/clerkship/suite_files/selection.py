"""Find the files that selected tasks need, so that mistakes in other files do not prevent a run."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clerkship.model.errors import InputProblem
from clerkship.suite_files.conftest import CONFTEST_STEM
from clerkship.suite_files.datasets import find_dataset_names
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.library import LoadedTask, TaskName, find_tasks_by_name
from clerkship.suite_files.shape import as_list, as_map
from clerkship.suite_files.yaml import YamlTree

_TASK_KINDS = ("task", "scenario", "e2e")


@dataclass(frozen=True)
class TaskSelection:
    """The tasks that were asked for: those of one file, or those with certain names; all by default."""

    file: Path | None = None
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.file is not None or bool(self.names)


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
