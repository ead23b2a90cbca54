"""One definition in a file: a task, an environment, a dataset, and so on."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from clerkship.model.located_error import CheckedModel
from clerkship.suite_files.source import Reporter
from clerkship.suite_files.validation_message import describe_validation_error
from clerkship.suite_files.yaml import KeyPath, SourceLocation, YamlTree

M = TypeVar("M", bound=BaseModel)
_SCENARIO_KEYS = ("simulation_context", "setup", "goals")


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, and an empty list for anything else."""
    return value if isinstance(value, list) else []


def as_map(value: Any) -> dict[str, Any]:
    """Return a map as it is, and an empty map for anything else."""
    return value if isinstance(value, dict) else {}


def read_as(model: type[M], data: Any) -> M | None:
    """Return the data as a model; None if it is invalid."""
    try:
        return model.model_validate(data) if data is not None else None
    except ValidationError:
        return None


@dataclass(frozen=True)
class Definition:
    """One definition in a file: its data, its path in the file, and the reporter for mistakes in it."""

    kind: str
    tree: YamlTree
    path: KeyPath
    data: Any
    reporter: Reporter

    @property
    def fields(self) -> dict[str, Any]:
        """Its keys and values; empty if it is not a map."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def name_key(self) -> str:
        """The key that holds its name."""
        return "slug" if self.kind == "benchmark" else "name"

    @property
    def name(self) -> str:
        """Its name; empty if it is missing or not text."""
        name = self.fields.get(self.name_key)
        return name if isinstance(name, str) else ""

    @property
    def slug(self) -> str:
        """The name of its file, without folder and suffix."""
        return FilePath(self.tree.file).stem

    def without(self, *keys: str) -> "Definition":
        """Return a copy without some of its keys."""
        data = {key: value for key, value in self.fields.items() if key not in keys}
        return replace(self, data=data if isinstance(self.data, dict) else self.data)

    def locate(self, *path: int | str) -> SourceLocation:
        """Return the location of a path in it."""
        return self.tree.locate([*self.path, *path])

    def file(self, *path: int | str) -> FilePath:
        """Return the file that contains a path in it; paths of other files are relative to that one."""
        return FilePath(self.locate(*path).file)

    def problem(self, path: KeyPath, message: str, hint: str = "", **how: bool) -> None:
        """Report a mistake at a path in it."""
        self.reporter.mistakes.note(self.tree, [*self.path, *path], message, hint, **how)

    def warning(self, path: KeyPath, message: str, hint: str = "", **how: bool) -> None:
        """Report a warning at a path in it."""
        self.reporter.warnings.note(self.tree, [*self.path, *path], message, hint, **how)

    def silence(self, path: KeyPath) -> None:
        """Drop further problems at a path in it."""
        location = self.locate(*path)
        self.reporter.mistakes.silenced.add((location.file, location.line, location.column))

    def report_mistakes(self, model: BaseModel | None, path: KeyPath, domains: Collection[str]) -> None:
        """Report the mistakes of a model at a path in it that depend on the environment's domains."""
        if isinstance(model, CheckedModel):
            for mistake in model.find_mistakes(domains):
                self.problem([*path, *mistake.path], mistake.message, mistake.hint)

    def read(self, model: type[M], data: Any, path: KeyPath | None = None) -> M | None:
        """Return data at a path in it as a model. If it is invalid, report every mistake and return None."""
        foreign = [key for key in _SCENARIO_KEYS if key in self.fields] if self.kind == "task" and not path else []
        if foreign:
            listing = ", ".join(f"`{key}`" for key in foreign)
            self.problem([], f"{listing}: no keys of a task, but of a scenario", "write `scenario:` instead of `task:`")
            return None
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for find in describe_validation_error(error, model, self.tree, [*self.path, *(path or ())]):
                self.reporter.mistakes.add(self.tree.file, find)
            return None
