"""A loaded folder: tasks with everything that they refer to, ready to be frozen into snapshots."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from clerkship.model.conftest import Conftest
from clerkship.model.dataset import Dataset, Record
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean, find_matching_names
from clerkship.model.persona import Persona
from clerkship.model.published import PublishedVersion
from clerkship.model.snapshot import Snapshot
from clerkship.model.task import Benchmark, Task


@dataclass(frozen=True)
class LoadedTask:
    """A task with its templates filled, and the environment, records and solution that it refers to."""

    task: Task
    environment: Environment
    entities: Mapping[str, Record]
    solution: str | None
    file: str
    line: int = 0
    column: int = 0
    """The position in the file, if it has several tasks."""
    template: str = ""
    """Name of the task in the file, if `for_each` made this one from it."""


class TaskName(NamedTuple):
    """The name of a task, and where it comes from."""

    name: str
    file: str
    template: str = ""
    """Name of the task in the file, if `for_each` made this one from it."""


def find_tasks_by_name(pattern: str, tasks: Collection[TaskName]) -> list[TaskName]:
    """Return the tasks that match a name or pattern.

    Tasks and templates of that name come first, then files of that name, then tasks whose names contain it, then files
    whose names contain it.
    """
    return (
        find_tasks_of_name(pattern, tasks)
        or [task for task in tasks if pattern.lower() in task.name.lower()]
        or [task for task in tasks if pattern.lower() in Path(task.file).stem.lower()]
    )


def find_tasks_of_name(pattern: str, tasks: Collection[TaskName]) -> list[TaskName]:
    """Return the tasks and templates that a pattern names as a whole, else the tasks of the files that it names."""
    return [task for task in tasks if _matches_name(task.name, pattern) or _matches_name(task.template, pattern)] or [
        task for task in tasks if _matches_name(Path(task.file).stem, pattern)
    ]


@dataclass(frozen=True)
class Library:
    """Everything in one folder."""

    root: Path
    tasks: Mapping[str, LoadedTask] = field(default_factory=dict)
    environments: Mapping[str, Environment] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    benchmarks: Mapping[str, Benchmark] = field(default_factory=dict)
    personas: Mapping[str, Persona] = field(default_factory=dict)
    conftest: Conftest | None = None
    """The models of the evaluation, if there is a conftest."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Custom prompts, by the name of the built-in prompt that each replaces."""
    warnings: tuple[InputProblem, ...] = ()
    """Warnings, which do not prevent a run."""
    domain: str | None = None
    """The domain against which names of slots, actions, responses and flows were checked, if any."""
    skipped_files: Mapping[str, str] = field(default_factory=dict)
    """Files that define nothing for the library, each with the reason; empty if it has none of the library's keys."""
    files: frozenset[Path] = frozenset()
    """Every file that was loaded, and the folders of datasets; absolute, with links resolved."""
    is_partial: bool = False
    """Whether only the selected tasks were loaded and checked."""
    published: PublishedVersion | None = None
    """The published version that it was loaded from; None if it was loaded from a folder."""

    def warnings_for(self, tasks: Iterable[LoadedTask]) -> tuple[InputProblem, ...]:
        """Return the warnings about these tasks, and those that are not about any task."""
        others = {loaded.file for loaded in self.tasks.values()} - {loaded.file for loaded in tasks}
        return tuple(warning for warning in self.warnings if warning.file not in others)

    def select(
        self, *, names: Iterable[str] = (), tags: Iterable[str] = (), file: Path | None = None
    ) -> list[LoadedTask]:
        """Return tasks by name or a part of it (`*` allowed), by any of the tags, or of one file; all without
        arguments. The file of a published version contains all of its tasks.
        """
        file = file if self.published is None else None
        selected_tags = set(tags)
        selected_names = [name for pattern in names for name in self._find_names(pattern)]
        return [
            loaded
            for name, loaded in self.tasks.items()
            if (not selected_names or name in selected_names)
            and (not selected_tags or selected_tags & set(loaded.task.tags))
            and (file is None or Path(loaded.file).resolve() == file.resolve())
        ]

    def find_case(self, file: Path, name: str) -> LoadedTask:
        """Return the task of a file by its name, or by a part of the name that only one has. Raise InputError
        otherwise.
        """
        tasks = {loaded.task.name.removesuffix(f" ({file.stem})"): loaded for loaded in self.select(file=file)}
        matches = find_matching_names(name, tasks)
        if len(matches) == 1:
            return tasks[matches[0]]
        hint = f"use one of: {'; '.join(matches[:5])}" if matches else did_you_mean(name, tasks)
        raise InputError.of(
            f"no task `{name}`" if not matches else f"{len(matches)} tasks match `{name}`", file=str(file), hint=hint
        )

    def _find_names(self, pattern: str) -> list[str]:
        """Return the names of the tasks that match a name or pattern. Raise InputError if there is none."""
        tasks = [TaskName(name, loaded.file, loaded.template) for name, loaded in self.tasks.items()]
        matches = find_tasks_by_name(pattern, tasks)
        if not matches:
            raise InputError.of(f"no task `{pattern}`", hint=did_you_mean(pattern, self.tasks))
        return [match.name for match in matches]

    def snapshot(self, loaded: LoadedTask, timeout: float, gate_axes: tuple[str, ...] | None = None) -> Snapshot:
        """Freeze one task with everything that it refers to. `gate_axes` of a benchmark replace those of the
        environment.
        """
        axes = loaded.environment.gate_axes if gate_axes is None else gate_axes
        return Snapshot(
            task=loaded.task.gated_by(axes),
            gate_axes=axes,
            environment=loaded.environment,
            datasets={name: self.datasets[name].hash for name in loaded.environment.datasets},
            entities=dict(loaded.entities),
            solution=loaded.solution,
            timeout=loaded.task.timeout or timeout,
            source=self._relative_path(loaded.file),
            template=loaded.template,
        )

    def _relative_path(self, file: str) -> str:
        """Return the path of a file in the folder, which is the same on every machine."""
        path = Path(file)
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name


def _matches_name(name: str, pattern: str) -> bool:
    """Return whether a name equals or matches a pattern.

    Brackets are never special in patterns, because the tasks that `for_each` makes have them in their names.
    """
    return bool(name) and (name == pattern or fnmatchcase(name, pattern.replace("[", "[[]")))
