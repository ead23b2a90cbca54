"""Load a library from an archive. Tasks and datasets that a selection does not need are not read."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from clerkship.by_name import load
from clerkship.model.dataset import Dataset, Record
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen
from clerkship.model.task import Task
from clerkship.model.variant import Variant, WrongSolution
from clerkship.suite_files.datasets import ALL_TASKS, TaskSelection
from clerkship.suite_files.library import Library, LoadedTask, TaskName, find_tasks_by_name
from clerkship.suite_files.published.archive import Archive, open_archive
from clerkship.suite_files.published.manifest import DatasetInfo, Manifest, TaskInfo, describe_invalid
from clerkship.suite_files.published.signing import require_signature

M = TypeVar("M", bound=BaseModel)
V = TypeVar("V", bound=Variant)


class TaskEntry(Frozen):
    """What the entry of a task contains."""

    canary: str
    task: Task
    entities: dict[str, Record]
    solution: str
    """The entry of its solution, if it has one."""


class VariantsEntry(Frozen):
    """What the entry of a task's variants contains. Each has `source`, the entry of its Python file."""

    canary: str
    wrong: tuple[dict[str, Any], ...] = ()
    ways: tuple[dict[str, Any], ...] = ()


def load_archive(path: Path, tasks: TaskSelection = ALL_TASKS) -> Library:
    """Return the library of an archive. Raise InputError for a damaged archive, a bad signature, a missing plug-in."""
    return ArchiveLoader(open_archive(path)).load(tasks)


def is_package_installed(package: str) -> bool:
    """Return whether a plug-in's package is installed."""
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


@dataclass(frozen=True)
class ArchiveLoader:
    """Loads the library of one archive."""

    archive: Archive

    @property
    def manifest(self) -> Manifest:
        """The manifest of the archive."""
        return self.archive.manifest

    def load(self, selection: TaskSelection) -> Library:
        """Return the library with the selected tasks, if only these are needed; else with all."""
        self._check_plugins()
        manifest = self.manifest
        self._check_unique("task", [info.name for info in manifest.tasks])
        self._check_unique("dataset", [info.name for info in manifest.datasets])
        selected = self._select(selection)
        environments = {
            name: self._read_model(Environment, entry, "environment")
            for name, entry in manifest.environments.items()
            if not selection.is_exclusive or name in {info.environment for info in selected}
        }
        needed = {name for environment in environments.values() for name in environment.datasets}
        lost = sorted(needed - {info.name for info in manifest.datasets})
        if lost:
            raise self._problem(f"its manifest has no dataset `{lost[0]}`, which an environment needs")
        path = self.archive.path
        return Library(
            path,
            {info.name: self._read_task(info, environments, selection.has_variants) for info in selected},
            environments,
            {info.name: self._read_dataset(info) for info in manifest.datasets if info.name in needed},
            {manifest.slug: manifest.benchmark},
            conftest=self._read_conftest(),
            prompts={name: self._read_text(entry) for name, entry in manifest.prompts.items()},
            files=frozenset({path.resolve()}),
            is_partial=len(selected) < len(manifest.tasks),
            published=self.archive.version.model_copy(update={"signed_by": require_signature(self.archive)}),
        )

    def _check_unique(self, kind: str, names: Iterable[str]) -> None:
        name, count = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
        if count > 1:
            raise self._problem(f"its manifest has two {kind}s `{name}`")

    def _check_plugins(self) -> None:
        lost = [name for name in self.manifest.plugins if not is_package_installed(name)]
        if lost:
            named = ", ".join(f"{name} {self.manifest.plugins[name]}" for name in lost)
            message = f"{self.manifest.name} needs a plug-in that is not installed: {named}"
            raise InputError.of(message, file=str(self.archive.path), hint=f"install it: pip install {lost[0]}")

    def _select(self, selection: TaskSelection) -> list[TaskInfo]:
        tasks = list(self.manifest.tasks)
        if not (selection.names and selection.is_exclusive):
            return tasks
        known = [TaskName(info.name, info.file, info.template) for info in tasks]
        chosen = {match.name for name in selection.names for match in find_tasks_by_name(name, known)}
        return [info for info in tasks if info.name in chosen] or tasks

    def _read_task(self, info: TaskInfo, environments: Mapping[str, Environment], has_variants: bool) -> LoadedTask:
        entry = self._validate(TaskEntry, self._read_json(info.entry), info.entry)
        task, environment = entry.task, environments.get(info.environment)
        if environment is None or task.name != info.name:
            lost = f"no environment `{info.environment}`" if environment is None else f"another task: `{task.name}`"
            raise self._problem(f"the task `{info.name}` has {lost}")
        if has_variants and info.variants:
            written = self._validate(VariantsEntry, self._read_json(info.variants), info.variants)
            update = {
                "wrong": self._read_variants(WrongSolution, written.wrong, info.variants),
                "ways": self._read_variants(Variant, written.ways, info.variants),
            }
            task = task.model_copy(update=update)
        solution = self._read_text(entry.solution) if entry.solution else None
        file = str(self.archive.path / info.file)
        return LoadedTask(task, environment, entry.entities, solution, file, template=info.template)

    def _read_variants(self, model: type[V], written: Iterable[dict[str, Any]], entry: str) -> tuple[V, ...]:
        variants = []
        for each in written:
            fields = {key: value for key, value in each.items() if key != "source"}
            variant = self._validate(model, fields, entry)
            source = each.get("source")
            variants.append(variant.with_source(self._read_text(str(source))) if source else variant)
        return tuple(variants)

    def _read_dataset(self, info: DatasetInfo) -> Dataset:
        data = self.archive.read(info.entry)
        try:
            dataset = Dataset.parse(info.name, data)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise self._problem(f"the entry `{info.entry}` is not a dataset: {str(error)[:200]!a}") from None
        dataset.__dict__["hash"] = self.manifest.entries[info.entry].sha256  # just compared
        return dataset

    def _read_conftest(self) -> Any:
        entry = self.manifest.conftest
        return self._read_model(load("clerkship.model.conftest:Conftest"), entry, "conftest") if entry else None

    def _read_model(self, model: type[M], entry: str, key: str) -> M:
        data = self._read_json(entry)
        if key not in data:
            raise self._problem(f"the entry `{entry}` has no `{key}`")
        return self._validate(model, data[key], entry)

    def _read_json(self, entry: str) -> dict[str, Any]:
        try:
            data = orjson.loads(self.archive.read(entry))
        except orjson.JSONDecodeError as error:
            raise self._problem(f"the entry `{entry}` is not JSON: {error}") from None
        if not isinstance(data, dict):
            raise self._problem(f"the entry `{entry}` is not a JSON object")
        return data

    def _read_text(self, entry: str) -> str:
        try:
            return self.archive.read(entry).decode()
        except UnicodeDecodeError as error:
            raise self._problem(f"the entry `{entry}` is not text in UTF-8: {error.reason}") from None

    def _validate(self, model: type[M], data: Any, entry: str) -> M:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            reason = describe_invalid(error)
        except RecursionError:
            reason = "it is nested too deeply"
        raise self._problem(f"the entry `{entry}` is invalid: {reason}")

    def _problem(self, message: str) -> InputError:
        hint = "use the version of Clerkship that published it, or get it again from where it was published"
        return InputError.of(message, file=str(self.archive.path), hint=hint)
