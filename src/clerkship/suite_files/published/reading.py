"""Load a library from an archive. Tasks and datasets that a selection does not need are not read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from clerkship.by_name import load
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError
from clerkship.model.task import Task
from clerkship.model.variant import Variant, WrongSolution
from clerkship.suite_files.datasets import ALL_TASKS, TaskSelection
from clerkship.suite_files.library import Library, LoadedTask, TaskName, find_tasks_by_name
from clerkship.suite_files.published.archive import Archive, open_archive
from clerkship.suite_files.published.manifest import DatasetInfo, Manifest, TaskInfo

M = TypeVar("M", bound=BaseModel)
V = TypeVar("V", bound=Variant)


def load_archive(path: Path, tasks: TaskSelection = ALL_TASKS) -> Library:
    """Return the library of an archive. Raise InputError for a damaged archive or a missing plug-in."""
    return ArchiveLoader(open_archive(path)).load(tasks)


def _is_installed(package: str) -> bool:
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
        selected = self._select(selection)
        environments = {
            name: self._read_model(Environment, entry, "environment")
            for name, entry in manifest.environments.items()
            if not selection.is_exclusive or name in {info.environment for info in selected}
        }
        needed = {name for environment in environments.values() for name in environment.datasets}
        path = self.archive.path
        return Library(
            path,
            {info.name: self._read_task(info, environments, selection.has_variants) for info in selected},
            environments,
            {info.name: self._read_dataset(info) for info in manifest.datasets if info.name in needed},
            {manifest.slug: manifest.benchmark},
            conftest=self._read_conftest(),
            prompts={name: self.archive.read(entry).decode() for name, entry in manifest.prompts.items()},
            files=frozenset({path.resolve()}),
            is_partial=len(selected) < len(manifest.tasks),
            published=self.archive.version,
        )

    def _check_plugins(self) -> None:
        lost = [name for name in self.manifest.plugins if not _is_installed(name)]
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
        data = self._read_json(info.entry)
        task = self._validate(Task, data["task"], info.entry)
        if has_variants and info.variants:
            written = self._read_json(info.variants)
            update = {
                "wrong": self._read_variants(WrongSolution, written.get("wrong", ()), info.variants),
                "ways": self._read_variants(Variant, written.get("ways", ()), info.variants),
            }
            task = task.model_copy(update=update)
        solution = self.archive.read(data["solution"]).decode() if data["solution"] else None
        file = str(self.archive.path / info.file)
        return LoadedTask(
            task, environments[info.environment], data["entities"], solution, file, template=info.template
        )

    def _read_variants(self, model: type[V], written: Iterable[dict[str, Any]], entry: str) -> tuple[V, ...]:
        variants = []
        for each in written:
            fields = {key: value for key, value in each.items() if key != "source"}
            variant = self._validate(model, fields, entry)
            source = each["source"]
            variants.append(variant.with_source(self.archive.read(source).decode()) if source else variant)
        return tuple(variants)

    def _read_dataset(self, info: DatasetInfo) -> Dataset:
        dataset = Dataset.parse(info.name, self.archive.read(info.entry))
        dataset.__dict__["hash"] = self.manifest.entries[info.entry].sha256  # just compared
        return dataset

    def _read_conftest(self) -> Any:
        entry = self.manifest.conftest
        return self._read_model(load("clerkship.model.conftest:Conftest"), entry, "conftest") if entry else None

    def _read_model(self, model: type[M], entry: str, key: str) -> M:
        return self._validate(model, self._read_json(entry)[key], entry)

    def _read_json(self, entry: str) -> dict[str, Any]:
        try:
            data: dict[str, Any] = orjson.loads(self.archive.read(entry))
        except orjson.JSONDecodeError as error:
            raise InputError.of(f"the entry `{entry}` is not JSON: {error}", file=str(self.archive.path)) from None
        return data

    def _validate(self, model: type[M], data: Any, entry: str) -> M:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            message = f"the entry `{entry}` is invalid: {'.'.join(map(str, first['loc']))}: {first['msg']}"
            hint = "use the version of Clerkship that published it"
            raise InputError.of(message, file=str(self.archive.path), hint=hint) from None
