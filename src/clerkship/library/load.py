"""A folder of YAML to a Library. All that is wrong with it is found before anything is said."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from clerkship.kit.memory import uncollected
from clerkship.library import rasa
from clerkship.library.beside import Beside
from clerkship.library.bind import Filler
from clerkship.library.catalog import Catalog
from clerkship.library.check import Checker, Surroundings, surroundings
from clerkship.library.complaint import complain, dotted
from clerkship.library.conftest import STEM, TRIALS, above, check_template, is_conftest, read_template
from clerkship.library.datasets import BUILT_IN, Datasets, Disagreement, instead_of, named_built_in
from clerkship.library.e2e import KEYS, E2eFiles, is_e2e
from clerkship.library.entities import FOR_EACH, Binder, Bound
from clerkship.library.known import Known
from clerkship.library.labelled import KEY, is_labelled
from clerkship.library.library import Library, LoadedTask
from clerkship.library.piece import Piece
from clerkship.library.rasa import is_of_a_project
from clerkship.library.resources.cache import Cache
from clerkship.library.sequence import shelves
from clerkship.library.source import (
    SUFFIXES,
    Folder,
    Report,
    Unreadable,
    personas_above,
)
from clerkship.library.yaml import Tree
from clerkship.model.benchmark import Benchmark
from clerkship.model.conftest import Conftest
from clerkship.model.dataset import Dataset, DatasetFile
from clerkship.model.domain import Abilities
from clerkship.model.environment import CONVERSATION, Environment
from clerkship.model.labelled import LabelledFile
from clerkship.model.names import did_you_mean
from clerkship.model.persona import Persona
from clerkship.model.problem import InputError, Problem
from clerkship.model.scenario_file import ScenarioFile
from clerkship.model.task import LONGEST_NAME, Entity, Task
from clerkship.model.variables import UnknownVariable, expand_task

M = TypeVar("M", bound=BaseModel)
_TEMPLATED = ("task_item", "scenario", "criteria")
_SINGLE = ("scenario",)
"""What a file has one of, and which goes by the file's name."""
_OF_SCENARIOS = ("simulation_context", "setup", "goals")
_SORTS = ("task", "environment", "dataset", "benchmark", "persona")
_PLURALS = {f"{sort}s": sort for sort in _SORTS}


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
    passed_over: list[str] = field(default_factory=list)
    environments: dict[str, Environment] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    benchmarks: dict[str, Benchmark] = field(default_factory=dict)
    personas: dict[str, Persona] = field(default_factory=dict)
    tasks: dict[str, LoadedTask] = field(default_factory=dict)
    conftest: Conftest | None = None
    prompts: dict[str, str] = field(default_factory=dict)
    _defined: dict[str, dict[str, Piece]] = field(default_factory=dict)
    _looked_above: bool = False
    _scenarios: set[str] = field(default_factory=set)
    _labels: Counter[str] = field(default_factory=Counter)
    """How many scenarios have a name."""

    def __post_init__(self) -> None:
        self._warnings = Report(spoiled=self.folder.report.spoiled)
        self._variables = self.catalog.variables()

        def take(report: Report) -> Callable[[Problem], None]:
            return lambda problem: report.add(problem.file, lambda: problem)

        self._datasets = Datasets(
            self.folder,
            Cache(self.cache),
            take(self.folder.report),
            take(self._warnings),
            self.environments.values(),
        )
        self._binder = Binder(
            self.datasets,
            lambda: self._names("dataset"),
            lambda name: self._is_unknown("dataset", name),
            lambda piece, path, *words: self.problem(piece.tree, [*piece.path, *path], *words),
            self._filler,
        )

        self._beside = Beside(
            self.folder,
            self.catalog,
            self.datasets,
            lambda: self._names("dataset"),
            lambda name: self._is_unknown("dataset", name),
            self.problem,
        )

    def load(self) -> Library:
        """Everything, or every problem."""
        pieces = self._pieces()
        self._conftest(pieces)
        for piece in pieces:
            self._define(piece)
        self._each(pieces, "environment", self._environment)
        self._each(pieces, "dataset", self._dataset)
        self._built_in([piece for piece in pieces if piece.sort in ("environment", "task")])
        self._each(pieces, "benchmark", self._benchmark)
        self._each(pieces, "persona", self._persona)
        self._each(pieces, "task", self._task)
        self._each(pieces, "scenario", self._scenario)
        self._each(pieces, KEY, lambda piece: self._model(piece, LabelledFile, piece.data))
        e2e = E2eFiles(self.folder, self.catalog, self.known, self.problem, partial(self._note, self._warnings))
        for loaded in e2e.load([piece.tree for piece in pieces if piece.sort == "e2e"], self.tasks):
            self.tasks[loaded.task.name] = loaded
        problems = self._own(self.folder.report.sorted())
        if self.needs_task and not self.tasks and not problems:
            hint = "a task is a YAML file with the key `task`, `scenario` or `test_cases`"
            hint += f"; {passed_over(self.passed_over)}" if self.passed_over else ""
            problems = [Problem(file=str(self.folder.root), message="no task is here", hint=hint)]
        if problems:
            raise InputError(problems)
        domain = self.known.domain
        return Library(
            self.folder.root,
            self.tasks,
            self.environments,
            self.datasets,
            self.benchmarks,
            self.personas,
            conftest=self.conftest,
            prompts=self.prompts,
            warnings=(*self._warnings.sorted(), *self.known.left_unchecked()),
            domain=domain.source if domain is not None else None,
            passed_over=tuple(self.passed_over),
            files=frozenset(self.folder.used | self.folder.included),
        )

    def _own(self, problems: list[Problem]) -> list[Problem]:
        """All that is wrong; of a single file that could be read, what is wrong there: the rest is one warning."""
        if self.only is None or not any(loaded.file == str(self.only) for loaded in self.tasks.values()):
            return problems
        shared = {str(path) for path in self.folder.included}
        sorts = ("environment", "dataset", "persona")
        shared |= {p.tree.file for sort in sorts for p in self._defined.get(sort, {}).values()}
        own = [p for p in problems if p.file == str(self.only) or Path(p.file).stem == STEM or p.file in shared]
        if problems and not own:
            count = len(problems)
            message = f"{count} mistake{'s' * (count != 1)} in other files of this folder, passed over"
            warning = Problem(file=str(self.folder.root), message=message, hint="`clerkship validate` shows them")
            self._warnings.add(warning.file, lambda: warning)
        return own

    def problem(self, tree: Tree, path: list[int | str], message: str, hint: str = "", **how: bool) -> None:
        """Note what is wrong, where; `spoils` if nothing else should be said of that place."""
        self._note(self.folder.report, tree, path, message, hint, **how)

    def _note(
        self, report: Report, tree: Tree, path: list[int | str], message: str, hint: str = "", **how: bool
    ) -> None:
        def find() -> Problem:
            spot = tree.locate(path, key=how.get("key", False))
            return Problem(
                file=spot.file,
                line=spot.line,
                column=spot.column,
                key=dotted(spot.keys),
                message=message,
                hint=hint,
            )

        report.add(tree.file, find, spoils=how.get("spoils", False))

    def _pieces(self) -> list[Piece]:
        files = self.folder.files()
        self.passed_over += [str(path) for path in files if is_of_a_project(path)]
        others = set(self.passed_over)
        trees = [(path, self.folder.read(path)) for path in files if str(path) not in others]
        pieces: list[Piece] = []
        for path, tree in trees:
            if tree is None or self.folder.resolve(path) in self.folder.included:
                continue
            if not isinstance(tree.data, dict) or not tree.data:
                message = "expected a map with `task`, `scenario`, `test_cases`, `environment` or `dataset`"
                self.problem(tree, [], message, "text and lists are for other files to !include")
                continue
            sort = "conftest" if is_conftest(path, tree.data) else "e2e" if is_e2e(tree) else None
            sort = KEY if sort is None and is_labelled(tree.data) else sort
            if sort is not None:
                pieces.append(Piece(sort, tree, [], tree.data))
                continue
            pieces += self._pieces_of(tree)
        return pieces

    def _pieces_of(self, tree: Tree) -> list[Piece]:
        whole = tree.data.items() if isinstance(tree.data, dict) else ()
        return [piece for key, value in whole for piece in self._split(tree, key, value)]

    def _split(self, tree: Tree, key: str, value: Any) -> list[Piece]:
        if key in _PLURALS.values() or key in _SINGLE:
            return [Piece(key, tree, [key], value)]
        if key in _PLURALS and isinstance(value, list):
            return [Piece(_PLURALS[key], tree, [key, number], item) for number, item in enumerate(value)]
        if key in _PLURALS:
            self.problem(tree, [key], f"expected a list under `{key}`", f"write `{_PLURALS[key]}` for a single one")
        else:
            hint = did_you_mean(key, [*_PLURALS, *_PLURALS.values(), *_SINGLE, *KEYS])
            if key in _OF_SCENARIOS:
                hint = "put what a scenario says under `scenario:`, indented"
            self.problem(tree, [key], f"unknown key `{key[:60]}`", hint, key=True)
        return []

    def _conftest(self, pieces: list[Piece]) -> None:
        """The models an evaluation uses: named in the folder, or in the one above where this one has the scenarios."""
        found = [piece for piece in pieces if piece.sort == "conftest"]
        path = above(self.folder.root) if not found else None
        tree = self._outside(path.parent).read(path) if path is not None else None
        if path is not None and tree is not None and is_conftest(path, tree.data):
            found = [Piece("conftest", tree, [], tree.data)]
        for piece in found[1:]:
            self.problem(piece.tree, [], "a second conftest for one run", f"the other is {found[0].tree.file}")
        for piece in found[:1]:
            self.conftest = self._model(piece, Conftest, piece.data)
            for place, name in (self.conftest.prompts() if self.conftest is not None else {}).items():
                self._template(piece, place, name)

    def _outside(self, folder: Path) -> Folder:
        """Return another folder, whose mistakes and files count with those of this one."""
        return Folder(folder, self.folder.report, used=self.folder.used)

    def _template(self, piece: Piece, place: tuple[str, str], name: str) -> None:
        """A prompt of somebody's own: its text is kept with the run, its mistakes are found before there is one."""
        try:
            path, text = read_template(Path(piece.tree.file), name)
        except Unreadable as unreadable:
            self.problem(piece.tree, [*place], f"{name}: {unreadable.message}", unreadable.hint)
            return
        self.folder.included.add(path)
        wrong = check_template(place[1], path, text)
        if wrong is not None:
            self.folder.report.add(str(path), lambda: wrong)
        self.prompts[TRIALS[place[1]].name] = text

    def _define(self, piece: Piece) -> None:
        if piece.sort == "scenario":
            self._scenarios |= {piece.name, piece.slug}
            self._labels[piece.name] += 1
        if piece.sort in ("scenario", "e2e", "conftest", KEY):
            return  # its file's name tells it from others
        known = self._defined.setdefault(piece.sort, {})
        first = known.setdefault(piece.name, piece)
        if piece.name and first is not piece:
            other = first.spot(first.name_key)
            message = f"two {piece.sort}s are called {piece.name[:100]!r}"
            hint = f"the other is at {other.file}:{other.line}:{other.column}"
            self.problem(piece.tree, [*piece.path, piece.name_key], message, hint)

    def _names(self, sort: str) -> list[str]:
        """All that is defined, well or badly."""
        built_in = BUILT_IN if sort == "dataset" else ()
        return [name for name in dict.fromkeys((*self._defined.get(sort, {}), *built_in)) if name]

    def _is_unknown(self, sort: str, name: str) -> bool:
        """Whether nothing of this name is defined, nor is it in a file that could not be read."""
        return name not in self._names(sort) and not any(name in text for text in self.folder.unread)

    def _each(self, pieces: list[Piece], sort: str, take: Callable[[Piece], object]) -> None:
        for piece in pieces:
            if piece.sort == sort:
                take(piece)

    def _model(self, piece: Piece, model: type[M], data: Any) -> M | None:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            self._complain(piece, error, model, piece.path)
            return None

    def _complain(self, piece: Piece, error: ValidationError, model: type[BaseModel], path: list[int | str]) -> None:
        for find in complain(error, model, piece.tree, path):
            self.folder.report.add(piece.tree.file, find)

    def _dataset(self, piece: Piece) -> None:
        written = self._model(piece, DatasetFile, piece.data)
        if written is None:
            return
        dataset = self._datasets.load(piece, written)
        if dataset is not None:
            self.datasets.setdefault(written.name, dataset)

    def _built_in(self, pieces: list[Piece]) -> None:
        """Datasets that are known without a file, as far as something names them."""
        for name, (piece, path) in named_built_in(pieces).items():
            if name in self._defined.get("dataset", {}):
                continue
            try:
                made = self._datasets.built_in(name)
            except Disagreement as bad:
                self.problem(piece.tree, [*piece.path, *path], str(bad), instead_of(name))
            else:
                self.datasets |= {name: made} if made is not None else {}

    def _environment(self, piece: Piece) -> None:
        environment = self._model(piece, Environment, piece.data)
        if environment is not None:
            self.environments.setdefault(environment.name, environment)
        unread = [name for name in piece.fields.get("datasets") or () if not self._is_unknown("dataset", str(name))]
        self._checker(piece).check_environment(piece.fields, {*self._names("dataset"), *map(str, unread)})

    def _benchmark(self, piece: Piece) -> None:
        benchmark = self._model(piece, Benchmark, piece.data)
        if benchmark is not None:
            self.benchmarks.setdefault(benchmark.slug, benchmark)
        environment, tasks = piece.fields.get("environment"), piece.fields.get("tasks")
        if isinstance(environment, str):
            self._check_environment_name(piece, environment)
        names = [*self._names("task"), *filter(None, self._scenarios)]
        for number, pattern in enumerate(tasks if isinstance(tasks, list) and not self.folder.unread else ()):
            if not any(fnmatchcase(name, str(pattern)) for name in names):
                hint = did_you_mean(str(pattern), names)
                self.problem(piece.tree, [*piece.path, "tasks", number], f"no task `{pattern}`", hint)

    def _persona(self, piece: Piece) -> None:
        persona = self._model(piece, Persona, piece.data)
        if persona is not None:
            self.personas.setdefault(persona.name, persona)

    def _persona_above(self, name: str) -> bool:
        """Whether one of this name is kept for several folders: in a folder `personas` beside this one, or above."""
        if not self._looked_above:
            self._looked_above = True
            for folder in personas_above(self.folder.root):
                kept = self._outside(folder)
                trees = [tree for path in kept.files() if (tree := kept.read(path)) is not None]
                pieces = [piece for tree in trees for piece in self._pieces_of(tree) if piece.sort == "persona"]
                for piece in pieces:
                    self._define(piece)
                self._each(pieces, "persona", self._persona)
        return name in self.personas

    def _cast(self, piece: Piece, task: Task, *places: tuple[str, ...]) -> Task:
        """The task with the persona that its person names put in, from wherever it is named."""
        scenario = task.scenario
        name = scenario.person.persona if scenario is not None and scenario.person is not None else None
        if scenario is None or scenario.person is None or not isinstance(name, str):
            return task
        if self._is_unknown("persona", name) and not self._persona_above(name):
            path = next(place for place in places if _at(piece.data, place) == name)
            hint = did_you_mean(name, self._names("persona")) or "a persona is a YAML file with the key `persona`"
            self.problem(piece.tree, [*piece.path, *path], f"unknown persona `{name}`", hint)
        person = scenario.person.model_copy(update={"persona": self.personas.get(name)})
        return task.model_copy(update={"scenario": scenario.model_copy(update={"person": person})})

    def _task(self, piece: Piece) -> None:
        """One task, or with `for_each` one for each record, up to the first with a mistake: most are those of all."""
        name = self._environment_name(piece)
        environment = CONVERSATION if name is None else self.environments.get(name)
        solution = self._beside.solution(piece)
        self._checker(piece).check_scopes(piece.fields)
        before = len(self.folder.report.problems)
        for bound in self._binder.bound(piece, (environment or CONVERSATION).now):
            task = self._filled(piece, bound, self._surroundings(name))
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
        task = self._model(piece, Task, data)
        self._checker(piece).check_task(self._expanded(piece, data), place)
        if task is None:
            return None
        task = self._cast(piece, task, ("scenario", "person", "persona"))
        return self._filled_persona(piece, task, bound)

    def _one_of_many(self, piece: Piece, task: Task, name: str, subject: Entity) -> Task:
        """The task of one record, with a name of its own."""
        own = f"{task.name} [{name}]"
        if len(own) > LONGEST_NAME:
            message = f"with the id of its record the name has {len(own)} characters, and may have {LONGEST_NAME}"
            self.problem(piece.tree, [*piece.path, "name"], message, "make it shorter")
        elif own in self.tasks:
            self.problem(piece.tree, [*piece.path, FOR_EACH], f"two tasks would be called {own!r}")
        return task.model_copy(update={"name": own, "entities": (subject, *task.entities), "for_each": None})

    def _filled_persona(self, piece: Piece, task: Task, bound: Bound) -> Task:
        """Fill the templates of a persona in a file of its own; one that the task itself has is filled with it."""
        person = task.scenario.person if task.scenario is not None else None
        if task.scenario is None or person is None or not isinstance(person.persona, Persona):
            return task
        if not isinstance(_at(piece.data, ("scenario", "person", "persona")), str):
            return task
        written = person.persona.model_dump(mode="json", exclude_unset=True)
        path = [*piece.path, "scenario", "person", "persona"]
        filler = self._filler(piece, bound.values(), bound.unbound)
        filled = Persona.model_validate({key: filler.fill(value, path) for key, value in written.items()})
        person = person.model_copy(update={"persona": filled})
        return task.model_copy(update={"scenario": task.scenario.model_copy(update={"person": person})})

    def _scenario(self, piece: Piece) -> None:
        """A scenario file is a task; what it says is checked where it says it."""
        name = self._environment_name(piece)
        environment = CONVERSATION if name is None else self.environments.get(name)
        data = self._beside.take_in(piece, piece.data) if isinstance(piece.data, dict) else piece.data
        written = self._model(piece, ScenarioFile, data)
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
        task = self._cast(piece, task, ("setup", "person", "persona"), ("setup", "persona"))
        task = task.model_copy(update={"name": self._name_of_its_own(task.name, piece)})
        self.tasks[task.name] = LoadedTask(task, environment, {}, solution, piece.tree.file)

    def _name_of_its_own(self, name: str, piece: Piece) -> str:
        """A scenario's name is a label, and two may share it: then the file's name is added, or its place."""
        file = Path(piece.tree.file)
        place = file.relative_to(self.folder.root) if file.is_relative_to(self.folder.root) else file
        names = [name] if self._labels[name] < 2 else []
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
            self._complain(piece, error, model, [*piece.path, *path])

        def warn(path: list[int | str], message: str, hint: str = "", *, key: bool = False) -> None:
            self._note(self._warnings, piece.tree, [*piece.path, *path], message, hint, key=key)

        return Checker(self.catalog, note, note_all, warn, self.known)

    def _check_environment_name(self, piece: Piece, name: str) -> None:
        if self._is_unknown("environment", name):
            hint = did_you_mean(name, self._names("environment"))
            self.problem(piece.tree, [*piece.path, "environment"], f"unknown environment `{name}`", hint)

    def _environment_name(self, piece: Piece) -> str | None:
        """Where a task takes place: empty if that cannot be said, None if its folder has no environment."""
        name = piece.fields.get("environment")
        if isinstance(name, str):
            self._check_environment_name(piece, name)
            return name
        known = self._names("environment")
        candidates = sorted(
            {b.environment for b in self.benchmarks.values() if b.environment in known and b.environment}
        )
        candidates = candidates or sorted(known)
        if len(candidates) > 1:
            self.problem(piece.tree, piece.path, "name the task's `environment`", f"there are {', '.join(candidates)}")
            return ""
        if candidates:
            return candidates[0]
        return "" if self.folder.unread or self._defined.get("environment") else None

    def _surroundings(self, name: str | None) -> Surroundings | None:
        if name is None:
            return surroundings(CONVERSATION.model_dump())
        piece = self._defined.get("environment", {}).get(name) if name else None
        found = shelves(self.environments.get(name), self.datasets) if name else {}
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

        return Filler(values, unbound, note, pass_over)


def _call_at(path: list[int | str]) -> int:
    """How many steps of a path lead to the arguments of the assertion or step that a text is in; all, if to none."""
    for place, part in enumerate(path[:-1]):
        if part == "assertion" or (isinstance(part, int) and path[place - 1] in ("steps", "scenario")):
            return place + 2
    return len(path)


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


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
        if any(rasa.top_keys(other) & rasa.OURS for other in above.iterdir() if other.suffix in SUFFIXES):
            return above
    return folder
