"""A folder of YAML to a Library. All that is wrong with it is found before anything is said."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from clerkship.library.bind import BadBinding, bind, render_at
from clerkship.library.catalog import Catalog
from clerkship.library.check import Checker
from clerkship.library.complaint import complain
from clerkship.library.library import Library, LoadedTask
from clerkship.library.source import Folder, Unreadable, read_text
from clerkship.library.yaml import Tree
from clerkship.model.benchmark import Benchmark
from clerkship.model.dataset import Dataset, DatasetFile, Record
from clerkship.model.environment import CONVERSATION, Environment
from clerkship.model.names import did_you_mean
from clerkship.model.problem import InputError, Problem
from clerkship.model.task import Entity, Task

M = TypeVar("M", bound=BaseModel)
_ENTITIES = TypeAdapter(tuple[Entity, ...])
_TEMPLATED = ("task_item", "scenario", "criteria")
_PLURALS = {"tasks": "task", "environments": "environment", "datasets": "dataset", "benchmarks": "benchmark"}
MOST_DATASET_BYTES = 200_000_000


@dataclass(frozen=True)
class Piece:
    """One thing a file defines, and where."""

    sort: str
    tree: Tree
    path: list[int | str]
    data: Any


@dataclass
class Loader:
    """One pass over a folder."""

    folder: Folder
    catalog: Catalog
    environments: dict[str, Environment] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    benchmarks: dict[str, Benchmark] = field(default_factory=dict)
    tasks: dict[str, LoadedTask] = field(default_factory=dict)
    _places: dict[tuple[str, str], str] = field(default_factory=dict)

    def load(self) -> Library:
        """Everything, or every problem."""
        pieces = self._pieces()
        self._each(pieces, "dataset", self._dataset)
        self._each(pieces, "environment", self._environment)
        self._each(pieces, "benchmark", self._benchmark)
        self._each(pieces, "task", self._task)
        if not self.tasks and not self.folder.problems:
            self.problem(None, [], f"no task in {self.folder.root}", "a task is a YAML file with the key `task`")
        if self.folder.problems:
            raise InputError(sorted(self.folder.problems, key=lambda p: (p.file, p.line, p.column)))
        return Library(self.folder.root, self.tasks, self.environments, self.datasets, self.benchmarks)

    def problem(
        self, tree: Tree | None, path: list[int | str], message: str, hint: str = "", *, key: bool = False
    ) -> None:
        """Note what is wrong, where."""
        file, line, column = tree.locate(path, key=key) if tree is not None else ("", 0, 0)
        dotted = ".".join(map(str, path))
        self.folder.problems.append(
            Problem(file=file, line=line, column=column, key=dotted, message=message, hint=hint)
        )

    def _pieces(self) -> list[Piece]:
        trees = [(path, self.folder.read(path)) for path in self.folder.files()]
        pieces: list[Piece] = []
        for path, tree in trees:
            if tree is None or str(path.resolve()) in self.folder.included:
                continue
            if not isinstance(tree.data, dict) or not tree.data:
                self.problem(tree, [], "expected a map with `task`, `environment`, `dataset` or `benchmark`")
                continue
            for key, value in tree.data.items():
                pieces += self._split(tree, key, value)
        return pieces

    def _split(self, tree: Tree, key: str, value: Any) -> list[Piece]:
        if key in _PLURALS.values():
            return [Piece(key, tree, [key], value)]
        if key in _PLURALS and isinstance(value, list):
            return [Piece(_PLURALS[key], tree, [key, number], item) for number, item in enumerate(value)]
        hint = did_you_mean(key, [*_PLURALS, *_PLURALS.values()])
        message = f"expected a list under `{key}`" if key in _PLURALS else f"unknown key `{key}`"
        self.problem(tree, [key], message, hint, key=True)
        return []

    def _each(self, pieces: list[Piece], sort: str, take: Callable[[Piece], None]) -> None:
        for piece in pieces:
            if piece.sort == sort:
                take(piece)

    def _model(self, piece: Piece, model: type[M], data: Any) -> M | None:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            self.folder.problems += complain(error, model, piece.tree, piece.path)
            return None

    def _is_new(self, piece: Piece, name: str) -> bool:
        first = self._places.get((piece.sort, name))
        if first is None:
            file, line, _ = piece.tree.locate(piece.path)
            self._places[piece.sort, name] = f"{file}:{line}"
            return True
        self.problem(
            piece.tree, [*piece.path, "name"], f"two {piece.sort}s are called {name!r}", f"the other is at {first}"
        )
        return False

    def _dataset(self, piece: Piece) -> None:
        written = self._model(piece, DatasetFile, piece.data)
        if written is None or not self._is_new(piece, written.name):
            return
        files = {path: text.encode() for path, text in written.files.items()}
        if written.folder is not None:
            try:
                files = _read_folder(self.folder.beside(Path(piece.tree.file), written.folder)) | files
            except Unreadable as unreadable:
                self.problem(piece.tree, [*piece.path, "folder"], unreadable.message, unreadable.hint)
        self.datasets[written.name] = Dataset(
            name=written.name, type=written.type, records=written.records, files=files
        )

    def _environment(self, piece: Piece) -> None:
        environment = self._model(piece, Environment, piece.data)
        if environment is None or not self._is_new(piece, environment.name):
            return
        self.environments[environment.name] = environment
        self._checker(piece).check_environment(environment, self.datasets)

    def _benchmark(self, piece: Piece) -> None:
        benchmark = self._model(piece, Benchmark, piece.data)
        if benchmark is not None and self._is_new(piece, benchmark.slug):
            self.benchmarks[benchmark.slug] = benchmark

    def _task(self, piece: Piece) -> None:
        entities = self._bind(piece)
        environment = self._environment_of(piece)
        data = piece.data
        if isinstance(data, dict) and entities is not None:
            now = environment.now.isoformat() if environment is not None else ""
            data = self._render(piece, data, {**entities, "now": now})
        task = self._model(piece, Task, data)
        if task is None or not self._is_new(piece, task.name) or environment is None:
            return
        checker = self._checker(piece)
        checker.check_task(task, environment)
        solution = self._solution(piece, task)
        self.tasks[task.name] = LoadedTask(task, environment, entities or {}, solution, piece.tree.file)

    def _checker(self, piece: Piece) -> Checker:
        def note(path: list[int | str], message: str, hint: str = "", *, key: bool = False) -> None:
            self.problem(piece.tree, [*piece.path, *path], message, hint, key=key)

        def note_all(error: ValidationError, model: type[BaseModel], path: list[int | str]) -> None:
            self.folder.problems += complain(error, model, piece.tree, [*piece.path, *path])

        return Checker(self.catalog, note, note_all)

    def _bind(self, piece: Piece) -> dict[str, Record] | None:
        """The records of a task's entities; None if they could not all be had."""
        raw = piece.data.get("entities", []) if isinstance(piece.data, dict) else []
        try:
            entities = _ENTITIES.validate_python(raw)
        except ValidationError:
            return None  # said when the task itself is read
        bound: dict[str, Record] = {}
        before = len(self.folder.problems)
        for number, entity in enumerate(entities):
            path = [*piece.path, "entities", number]
            if entity.id in bound or entity.id == "now":
                self.problem(piece.tree, [*path, "id"], f"the id `{entity.id}` is taken")
            elif entity.dataset not in self.datasets:
                hint = did_you_mean(entity.dataset, self.datasets)
                self.problem(piece.tree, [*path, "dataset"], f"unknown dataset `{entity.dataset}`", hint)
            else:
                try:
                    bound[entity.id] = bind(entity, self.datasets[entity.dataset])
                except BadBinding as bad:
                    self.problem(piece.tree, path, str(bad))
        return bound if len(self.folder.problems) == before else None

    def _environment_of(self, piece: Piece) -> Environment | None:
        name = piece.data.get("environment") if isinstance(piece.data, dict) else None
        if isinstance(name, str):
            if name not in self.environments:
                hint = did_you_mean(name, self.environments)
                self.problem(piece.tree, [*piece.path, "environment"], f"unknown environment `{name}`", hint)
            return self.environments.get(name)
        named = {b.environment for b in self.benchmarks.values() if b.environment in self.environments}
        candidates = sorted(name for name in named if name) or sorted(self.environments)
        if len(candidates) > 1:
            self.problem(piece.tree, piece.path, "name the task's `environment`", f"there are {', '.join(candidates)}")
            return None
        return self.environments[candidates[0]] if candidates else CONVERSATION

    def _render(self, piece: Piece, data: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
        def note(path: list[int | str], message: str, hint: str) -> None:
            self.problem(piece.tree, path, message, hint)

        return {
            key: render_at(value, [*piece.path, key], values, note) if key in _TEMPLATED else value
            for key, value in data.items()
        }

    def _solution(self, piece: Piece, task: Task) -> str | None:
        if task.solution is None:
            return None
        try:
            source = read_text(self.folder.beside(Path(piece.tree.file), task.solution))
            compile(source, task.solution, "exec")
        except Unreadable as unreadable:
            self.problem(
                piece.tree, [*piece.path, "solution"], f"{task.solution}: {unreadable.message}", unreadable.hint
            )
        except (SyntaxError, ValueError) as error:
            self.problem(piece.tree, [*piece.path, "solution"], f"{task.solution}: not Python: {error}")
        else:
            return source
        return None


def _read_folder(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise Unreadable("it is not a folder")
    root = folder.resolve()
    files: dict[str, bytes] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        if not path.resolve().is_relative_to(root):
            raise Unreadable(f"{path.name} is a link that leads outside the folder")
        size += path.stat().st_size
        if size > MOST_DATASET_BYTES:
            raise Unreadable(f"more than {MOST_DATASET_BYTES // 1_000_000} MB")
        files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def load(path: Path, catalog: Catalog) -> Library:
    """The library in a folder, or around a file."""
    if not path.exists():
        raise InputError.of("there is no such file or folder", file=str(path))
    root = path if path.is_dir() else path.parent
    return Loader(Folder(root), catalog).load()
