"""A folder of YAML to a Library. All that is wrong with it is found before anything is said."""

import contextlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from clerkship.kit.memory import uncollected
from clerkship.kit.registry import UnknownName
from clerkship.library.beside import Beside
from clerkship.library.bind import Filler
from clerkship.library.catalog import Catalog
from clerkship.library.check import Checker, Surroundings, surroundings
from clerkship.library.conftest import STEM, ConftestReader
from clerkship.library.dataset_cache import Cache
from clerkship.library.datasets import Datasets, named_in
from clerkship.library.definitions import FolderDefinitions
from clerkship.library.entities import FOR_EACH, Binder, Bound
from clerkship.library.finding import Finder
from clerkship.library.foreign import OWN_KEYS, load_test_reader, top_keys
from clerkship.library.known import Known
from clerkship.library.labelled import KEY
from clerkship.library.library import Library, LoadedTask
from clerkship.library.personas import Personas
from clerkship.library.piece import Piece
from clerkship.library.reporting import Reporter
from clerkship.library.sequence import shelves
from clerkship.library.source import SUFFIXES, Folder
from clerkship.library.unused import HINT, unused_datasets
from clerkship.library.yaml import Tree
from clerkship.model.benchmark import Benchmark
from clerkship.model.dataset import Dataset
from clerkship.model.domain import Abilities
from clerkship.model.environment import CONVERSATION, Environment
from clerkship.model.labelled import LabelledFile
from clerkship.model.names import did_you_mean
from clerkship.model.problem import InputError, Problem
from clerkship.model.scenario_file import ScenarioFile
from clerkship.model.task import LONGEST_NAME, Entity, Task
from clerkship.model.variables import UnknownVariable, expand_task

_TEMPLATED = ("task_item", "scenario", "criteria")


@dataclass
class Loader:
    """One pass over a folder."""

    folder: Folder
    catalog: Catalog
    needs_task: bool
    known: Known
    only: Path | None = None
    """The one file that is asked for, if it is one: mistakes elsewhere are not its own."""
    cache: Path | None = None
    """Where what was made of datasets is kept, if it is."""
    environments: dict[str, Environment] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    benchmarks: dict[str, Benchmark] = field(default_factory=dict)
    tasks: dict[str, LoadedTask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._variables = self.catalog.variables()
        self._reporter = Reporter(self.folder.report)
        self.problem = self._reporter.problem
        self._definitions = FolderDefinitions(self.folder, self._reporter, self.catalog.built_in_datasets())
        self._personas = Personas(self.folder, self._definitions, self._reporter)
        self._conftest = ConftestReader(self.folder, self._reporter)
        self._datasets = Datasets(
            self.folder,
            self.catalog,
            Cache(self.cache),
            self._reporter.add_problem,
            self._reporter.add_warning,
            self.environments,
        )
        self._binder = Binder(
            self.datasets,
            lambda: self._definitions.names("dataset"),
            lambda name: self._definitions.is_unknown("dataset", name),
            lambda piece, path, *words: self.problem(piece.tree, [*piece.path, *path], *words),
            self._filler,
            Finder(self._datasets.open_finder),
        )
        self._beside = Beside(
            self.folder,
            self.catalog,
            self.datasets,
            lambda: self._definitions.names("dataset"),
            lambda name: self._definitions.is_unknown("dataset", name),
            self.problem,
        )

    def load(self) -> Library:
        """Everything, or every problem."""
        pieces = self._definitions.read()
        self._conftest.load(pieces)
        self._each(pieces, "environment", self._environment)
        self._each(pieces, "dataset", self._dataset)
        self._built_in([piece for piece in pieces if piece.sort in ("environment", "task")])
        self._each(pieces, "benchmark", self._benchmark)
        self._each(pieces, "persona", self._personas.load)
        self._each(pieces, "task", self._task)
        self._each(pieces, "scenario", self._scenario)
        self._each(pieces, KEY, lambda piece: self._reporter.model(piece, LabelledFile, piece.data))
        self._foreign_tests([piece.tree for piece in pieces if piece.sort == "e2e"])
        self._warn_of_unused(pieces)
        problems = self._own(self.folder.report.sorted())
        passed = self._definitions.passed_over
        if self.needs_task and not self.tasks and not problems:
            hint = "a task is a YAML file with the key `task`, `scenario` or `test_cases`"
            hint += f"; {passed_over(passed)}" if passed else ""
            problems = [Problem(file=str(self.folder.root), message="no task is here", hint=hint)]
        if problems:
            raise InputError(problems)
        return self._library()

    def _library(self) -> Library:
        domain = self.known.domain
        return Library(
            self.folder.root,
            self.tasks,
            self.environments,
            self.datasets,
            self.benchmarks,
            self._personas.found,
            conftest=self._conftest.conftest,
            prompts=self._conftest.prompts,
            warnings=(*self._reporter.warnings.sorted(), *self.known.left_unchecked()),
            domain=domain.source if domain is not None else None,
            passed_over=tuple(self._definitions.passed_over),
            files=frozenset(self.folder.used | self.folder.included),
        )

    def _foreign_tests(self, trees: list[Tree]) -> None:
        if trees:
            reader = load_test_reader()(self.folder, self.catalog, self.known, self._reporter)
            for loaded in reader.load(trees, self.tasks):
                self.tasks[loaded.task.name] = loaded

    def _own(self, problems: list[Problem]) -> list[Problem]:
        """All that is wrong; of a single file that could be read, what is wrong there: the rest is one warning."""
        if self.only is None or not any(loaded.file == str(self.only) for loaded in self.tasks.values()):
            return problems
        shared = {str(path) for path in self.folder.included}
        shared |= self._definitions.files_of("environment", "dataset", "persona")
        own = [p for p in problems if p.file == str(self.only) or Path(p.file).stem == STEM or p.file in shared]
        if problems and not own:
            count = len(problems)
            message = f"{count} mistake{'s' * (count != 1)} in other files of this folder, passed over"
            hint = "`clerkship validate` shows them"
            self._reporter.add_warning(Problem(file=str(self.folder.root), message=message, hint=hint))
        return own

    def _each(self, pieces: list[Piece], sort: str, take: Callable[[Piece], object]) -> None:
        for piece in pieces:
            if piece.sort == sort:
                take(piece)

    def _dataset(self, piece: Piece) -> None:
        try:
            model = self._datasets.model(piece)
        except UnknownName as unknown:
            message = f"unknown type of dataset `{unknown.name[:60]}`"
            self.problem(piece.tree, [*piece.path, "type"], message, unknown.hint)
            return
        written = self._reporter.model(piece, model, piece.data)
        dataset = self._datasets.load(piece, written) if written is not None else None
        if dataset is not None:
            self.datasets.setdefault(dataset.name, dataset)

    def _built_in(self, pieces: list[Piece]) -> None:
        """Load the datasets that need no file, as far as something names them."""
        built_in, seen = self.catalog.built_in_datasets(), set[str]()
        for piece, path, name in named_in(pieces):
            if name not in built_in or name in seen or self._definitions.get("dataset", name) is not None:
                continue
            seen.add(name)
            dataset = self._datasets.load_built_in(name, piece, path)
            self.datasets |= {name: dataset} if dataset is not None else {}

    def _environment(self, piece: Piece) -> None:
        environment = self._reporter.model(piece, Environment, piece.data)
        if environment is not None:
            self.environments.setdefault(environment.name, environment)
        named = [str(name) for name in piece.fields.get("datasets") or ()]
        unread = [name for name in named if not self._definitions.is_unknown("dataset", name)]
        self._checker(piece).check_environment(piece.fields, {*self._definitions.names("dataset"), *unread})

    def _warn_of_unused(self, pieces: list[Piece]) -> None:
        tasks = [piece for piece in pieces if piece.sort == "task"]
        taken = {name for _, _, name in named_in(tasks)} | self._beside.taken
        for name, environment in self.environments.items():
            piece = self._definitions.get("environment", name)
            assert piece is not None  # every environment was read from one
            for path, message in unused_datasets(environment, self.datasets, taken, self.catalog):
                self._reporter.warning(piece.tree, [*piece.path, *path], message, HINT)

    def _benchmark(self, piece: Piece) -> None:
        benchmark = self._reporter.model(piece, Benchmark, piece.data)
        if benchmark is not None:
            self.benchmarks.setdefault(benchmark.slug, benchmark)
        environment, tasks = piece.fields.get("environment"), piece.fields.get("tasks")
        if isinstance(environment, str):
            self._check_environment_name(piece, environment)
        names = [*self._definitions.names("task"), *filter(None, self._definitions.scenarios)]
        for number, pattern in enumerate(tasks if isinstance(tasks, list) and not self.folder.unread else ()):
            if not any(fnmatchcase(name, str(pattern)) for name in names):
                hint = did_you_mean(str(pattern), names)
                self.problem(piece.tree, [*piece.path, "tasks", number], f"no task `{pattern}`", hint)

    def _task(self, piece: Piece) -> None:
        """One task, or with `for_each` one for each record, up to the first with a mistake: most are those of all."""
        name = self._environment_name(piece)
        environment = CONVERSATION if name is None else self.environments.get(name)
        solution = self._beside.solution(piece)
        self._checker(piece).check_scopes(piece.fields)
        place = self._surroundings(name)
        before = len(self.folder.report.problems)
        for bound in self._binder.bound(piece, (environment or CONVERSATION).now):
            task = self._filled(piece, bound, place)
            if len(self.folder.report.problems) > before:
                break
            if task is None or environment is None:
                continue
            written = task.name
            if bound.subject is not None:
                task = self._one_of_many(piece, task, bound.name, bound.subject)
            template = written if bound.subject is not None else ""
            loaded = LoadedTask(task, environment, bound.kept(), solution, piece.tree.file, template=template)
            self.tasks.setdefault(task.name, loaded)

    def _filled(self, piece: Piece, bound: Bound, place: Surroundings | None) -> Task | None:
        """The task with its templates filled in, checked."""
        data = self._render(piece, bound)
        task = self._reporter.model(piece, Task, data)
        self._checker(piece).check_task(self._expanded(piece, data), place)
        if task is None:
            return None
        return self._personas.cast_filled(piece, task, self._filler(piece, bound.values(), bound.unbound))

    def _one_of_many(self, piece: Piece, task: Task, name: str, subject: Entity) -> Task:
        """The task of one record, with a name of its own."""
        own = f"{task.name} [{name}]"
        if len(own) > LONGEST_NAME:
            message = f"with the id of its record the name has {len(own)} characters, and may have {LONGEST_NAME}"
            self.problem(piece.tree, [*piece.path, "name"], message, "make it shorter")
        elif own in self.tasks:
            self.problem(piece.tree, [*piece.path, FOR_EACH], f"two tasks would be called {own!r}")
        return task.model_copy(update={"name": own, "entities": (subject, *task.entities), "for_each": None})

    def _scenario(self, piece: Piece) -> None:
        """A scenario file is a task; what it says is checked where it says it."""
        name = self._environment_name(piece)
        environment = CONVERSATION if name is None else self.environments.get(name)
        data = self._beside.take_in(piece, piece.data) if isinstance(piece.data, dict) else piece.data
        written = self._reporter.model(piece, ScenarioFile, data)
        self._checker(piece).check_scenario(self._expanded(piece, data), self._surroundings(name))
        solution = self._beside.solution(piece)
        if written is None or environment is None:
            return
        try:
            task = written.task(piece.slug)
        except ValidationError as error:  # the parts are right, and do not go together
            self.problem(
                piece.tree, [*piece.path, "setup", "person"], _words(error), "give them an `opening` or `lines`"
            )
            return
        task = self._personas.cast(piece, task, ("setup", "person", "persona"), ("setup", "persona"))
        task = task.model_copy(update={"name": self._name_of_its_own(task.name, piece)})
        self.tasks[task.name] = LoadedTask(task, environment, {}, solution, piece.tree.file)

    def _name_of_its_own(self, name: str, piece: Piece) -> str:
        """A scenario's name is a label, and two may share it: then the file's name is added, or its place."""
        file = Path(piece.tree.file)
        place = file.relative_to(self.folder.root) if file.is_relative_to(self.folder.root) else file
        names = [name] if self._definitions.labels[name] < 2 else []
        names += [f"{name} ({piece.slug})"] if name != piece.slug else []
        names.append(f"{name} ({place.with_suffix('').as_posix()})")
        return next((free for free in names if free not in self.tasks), f"{name} ({place.as_posix()})")

    def _expanded(self, piece: Piece, data: Any) -> dict[str, Any]:
        """With environment variables put in, as it will be run; what is kept has them as they are written."""

        def told(path: list[int | str], unknown: UnknownVariable) -> None:
            self.problem(piece.tree, [*piece.path, *path], str(unknown), unknown.hint, spoils=True)

        found = expand_task(data, self._variables, told)
        return found if isinstance(found, dict) else {}

    def _checker(self, piece: Piece) -> Checker:
        def note(path: list[int | str], message: str, hint: str = "", *, key: bool = False) -> None:
            self.problem(piece.tree, [*piece.path, *path], message, hint, key=key)

        def note_all(error: ValidationError, model: type[BaseModel], path: list[int | str]) -> None:
            self._reporter.invalid(piece, error, model, [*piece.path, *path])

        def warn(path: list[int | str], message: str, hint: str = "", *, key: bool = False) -> None:
            self._reporter.warning(piece.tree, [*piece.path, *path], message, hint, key=key)

        return Checker(self.catalog, note, note_all, warn, self.known)

    def _check_environment_name(self, piece: Piece, name: str) -> None:
        if self._definitions.is_unknown("environment", name):
            hint = did_you_mean(name, self._definitions.names("environment"))
            self.problem(piece.tree, [*piece.path, "environment"], f"unknown environment `{name}`", hint)

    def _environment_name(self, piece: Piece) -> str | None:
        """Where a task takes place: empty if that cannot be said, None if its folder has no environment."""
        name = piece.fields.get("environment")
        if isinstance(name, str):
            self._check_environment_name(piece, name)
            return name
        known = self._definitions.names("environment")
        candidates = sorted(
            {b.environment for b in self.benchmarks.values() if b.environment in known and b.environment}
        )
        candidates = candidates or sorted(known)
        if len(candidates) > 1:
            self.problem(piece.tree, piece.path, "name the task's `environment`", f"there are {', '.join(candidates)}")
            return ""
        if candidates:
            return candidates[0]
        return "" if self.folder.unread or self._definitions.has_any("environment") else None

    def _surroundings(self, name: str | None) -> Surroundings | None:
        if name is None:
            return surroundings(CONVERSATION.model_dump())
        piece = self._definitions.get("environment", name) if name else None
        found = shelves(self.environments.get(name), self.datasets, self.catalog) if name else {}
        return surroundings(piece.fields, found) if piece is not None else None

    def _render(self, piece: Piece, bound: Bound) -> Any:
        if not isinstance(piece.data, dict):
            return piece.data
        filler = self._filler(piece, bound.values(), bound.unbound)
        filled = {
            key: filler.fill(value, [*piece.path, key]) if key in _TEMPLATED else value
            for key, value in piece.data.items()
        }
        filled = self._beside.take_in(piece, filled, filler)
        return filled | ({"entities": bound.entities} if bound.entities else {})

    def _filler(self, piece: Piece, values: Mapping[str, Any], unbound: set[str]) -> Filler:
        def note(path: list[int | str], message: str, hint: str) -> None:
            self.problem(piece.tree, path, message, hint, spoils=True)
            pass_over(path)

        def pass_over(path: list[int | str]) -> None:
            """Nor is anything said of what it is a part of: that cannot be right while this is missing."""
            for end in range(_call_at(path), len(path) + 1):
                spot = piece.tree.locate(path[:end])
                self.folder.report.spoiled.add((spot.file, spot.line, spot.column))

        return Filler(values, unbound, note, pass_over, find=self.catalog.filter)


def _call_at(path: list[int | str]) -> int:
    """How many steps of a path lead to the arguments of the assertion or step that a text is in; all, if to none."""
    for place, part in enumerate(path[:-1]):
        if part == "assertion" or (isinstance(part, int) and path[place - 1] in ("steps", "scenario")):
            return place + 2
    return len(path)


def passed_over(files: Collection[str]) -> str:
    """How many files were left alone, in words."""
    return f"{len(files)} file{'s' * (len(files) != 1)} of a Rasa project passed over"


def _words(error: ValidationError) -> str:
    said = error.errors()[0]["msg"].removeprefix("Value error, ")
    return "the person has nothing to begin with" if said.startswith("`starts: person`") else said


def load(
    path: Path,
    catalog: Catalog,
    *,
    needs_task: bool = True,
    abilities: Abilities | None = None,
    cache: Path | None = None,
) -> Library:
    """The library in a folder, or around a file; a folder without a task is a mistake where tasks are wanted.

    What the files say of the agent (its slots, actions, responses and flows) is checked against its abilities. What
    large datasets come to is kept in the cache, if there is one, and taken from there the next time.
    """
    try:
        if not path.exists():
            raise InputError.of("there is no such file or folder", file=str(path))
        is_folder = path.is_dir()
    except OSError as error:
        raise InputError.of(f"it cannot be read: {error.strerror}", file=str(path)) from None
    if not is_folder and path.suffix not in SUFFIXES:
        raise InputError.of("it is not a YAML file", file=str(path), hint=f"its name should end in {SUFFIXES[0]}")
    folder = Folder(root_of(path))
    only = None if is_folder else path
    with uncollected():
        return Loader(folder, catalog, needs_task, Known(abilities, catalog.reads), only, cache).load()


def root_of(path: Path) -> Path:
    """The folder that is read for a path: itself, or the one around a file."""
    return path if path.is_dir() else _around(path)


def _around(file: Path) -> Path:
    """The folder that a file belongs to: its own, or the one above if that is where the rest is kept."""
    folder = file.parent
    if folder.resolve().name not in ("scenarios", "tasks"):
        return folder
    above = Path(os.path.normpath(folder / ".."))
    with contextlib.suppress(OSError):
        if any(top_keys(other) & OWN_KEYS for other in above.iterdir() if other.suffix in SUFFIXES):
            return above
    return folder
