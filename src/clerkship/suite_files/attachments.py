"""Files that belong to a task: its solution, and the files that its steps refer to."""

import base64
import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

from clerkship.kit.registry import UnknownName
from clerkship.model.dataset import Dataset
from clerkship.model.errors import InputProblem
from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup
from clerkship.model.variables import escape_text
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.definition import Definition, as_list, as_map
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.source import SourceFolder, Unreadable, read_text
from clerkship.suite_files.template_filler import TemplateFiller
from clerkship.suite_files.yaml import KeyPath

MAX_STEP_FILE_BYTES = 5_000_000
"""Maximum size of a dataset's file in a step. Each run stores a copy of it with each task."""
_STEP_PLACES = (("scenario",), ("scenario", "steps"), ("setup", "steps"))
"""Paths of steps, in a task or in a scenario file."""


@lru_cache(maxsize=64)
def compile_python(source: str, name: str) -> CodeType:
    """Compile a Python file, once for all that name it."""
    return compile(source, name, "exec")


@dataclass(frozen=True)
class Attachments:
    """Reads the files that the definitions of one folder refer to."""

    folder: SourceFolder
    catalog: Catalog
    datasets: Mapping[str, Dataset]
    definitions: FolderDefinitions
    used_datasets: set[str] = dataclasses.field(default_factory=set)
    """Datasets from which steps use files."""

    def read_solution(self, definition: Definition) -> str | None:
        """Return the source of the solution for the agent `oracle`; None if there is none or it is invalid."""
        name = definition.fields.get("solution")
        return self.read_python(definition, name, ["solution"]) if isinstance(name, str) else None

    def read_python(self, definition: Definition, name: str, path: KeyPath) -> str | None:
        """Return the source of a Python file that a path of a definition names; None if it is invalid."""
        try:
            source = read_text(self.folder.resolve_beside(definition.file(*path), name))
            compile_python(source, name)
        except Unreadable as unreadable:
            definition.problem(path, f"{name}: {unreadable.message}", unreadable.hint)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            definition.problem(path, f"{name}: not Python: {error}")
        else:
            return source
        return None

    def inline_files(
        self, definition: Definition, data: dict[str, Any], filler: TemplateFiller | None = None
    ) -> dict[str, Any]:
        """Return the data with the content of files in place of the steps' references to them.

        Templates in the files are filled if a filler is given. A stored run then needs none of the files.
        """
        for place in _STEP_PLACES:
            if _list_steps(data, place):
                data = _replace_value(
                    data,
                    place,
                    [self._step(definition, step, [*place, n], filler) for n, step in _list_steps(data, place)],
                )
        return data

    def _step(self, definition: Definition, step: Any, path: KeyPath, filler: TemplateFiller | None) -> Any:
        args_by_name = {
            name: self._args(definition, args, [*path, name], filler)
            for name, args in as_map(step).items()
            if name != "at" and isinstance(args, dict)
        }
        return {**step, **args_by_name} if args_by_name else step

    def _args(
        self, definition: Definition, args: dict[str, Any], path: KeyPath, filler: TemplateFiller | None
    ) -> dict[str, Any]:
        try:
            model = self.catalog.step(str(path[-1]))
        except UnknownName:  # reported by CallCheck
            return args
        text_files: Mapping[str, str] = getattr(model, "text_files", {})
        dataset_files: Mapping[str, tuple[str, str]] = getattr(model, "dataset_files", {})
        for field, target in text_files.items():
            if isinstance(args.get(field), str) and args.get(target) is None:
                args = self._from_file(definition, args, (field, target), path, filler)
        for field, (dataset, target) in dataset_files.items():
            if all(isinstance(args.get(key), str) for key in (field, dataset)) and args.get(target) is None:
                args = self._from_dataset(definition, args, (field, dataset, target), path)
        return args

    def _from_file(
        self,
        definition: Definition,
        args: dict[str, Any],
        fields: tuple[str, str],
        path: KeyPath,
        filler: TemplateFiller | None,
    ) -> dict[str, Any]:
        field, target = fields
        name, here = args[field], [*definition.path, *path, field]
        try:
            file = self.folder.resolve_beside(definition.file(*path, field), name)
            text = read_text(file)
        except Unreadable as unreadable:
            definition.problem([*path, field], f"{name}: {unreadable.message}", unreadable.hint, silences=True)
            return args
        self.folder.included.add(self.folder.resolve(file))

        def report(offset: int, message: str, hint: str) -> None:
            lines = re.split(r"\r\n|\r|\n", text[:offset])  # the lines of some HL7 messages end in a carriage return
            line, column = len(lines), len(lines[-1]) + 1
            problem = InputProblem(file=str(file), line=line, column=column, message=message, hint=hint)
            self.folder.report.add_problem(problem)

        filled = escape_text(text) if filler is None else filler.fill_file(text, here, report)
        return {key: value for key, value in args.items() if key != field} | {target: filled}

    def _from_dataset(
        self, definition: Definition, args: dict[str, Any], fields: tuple[str, str, str], path: KeyPath
    ) -> dict[str, Any]:
        field, named, target = fields
        name = args[named]
        dataset = self.datasets.get(name)
        self.used_datasets.add(name)
        if dataset is None:
            if self.definitions.is_unknown("dataset", name):
                hint = did_you_mean(name, self.definitions.names("dataset")) or "this folder has no dataset"
                definition.problem([*path, named], f"unknown dataset `{name[:100]}`", hint)
            return args
        data = dataset.files.get(args[field])
        if not self.catalog.dataset_type(dataset.type).has_files:
            hint = "use a dataset of files"
            definition.problem(
                [*path, named], f"`{name}` is a dataset of type {dataset.type}, which has no files", hint
            )
        elif data is None:
            hint = did_you_mean(args[field], dataset.files)
            definition.problem([*path, field], f"no file `{args[field][:100]}` in the dataset `{name}`", hint)
        elif len(data) > MAX_STEP_FILE_BYTES:
            message = (
                f"`{args[field]}` has {len(data) / 1e6:.1f} MB; the limit is {MAX_STEP_FILE_BYTES // 1_000_000} MB"
            )
            definition.problem(
                [*path, field],
                message,
                "add the dataset to the environment instead, so that the file is there from the start",
            )
        else:
            others = {key: value for key, value in args.items() if key not in (field, named)}
            return others | {target: base64.b64encode(data).decode()}
        return args


def _list_steps(data: Mapping[str, Any], path: tuple[str, ...]) -> list[tuple[int, Any]]:
    """Return the steps at a path, numbered; an empty list if there is no list."""
    return list(enumerate(as_list(lookup(data, ".".join(path)))))


def _replace_value(data: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a copy of the data with another value at a path."""
    key, *rest = path
    return {**data, key: _replace_value(data[key], tuple(rest), value) if rest else value}
