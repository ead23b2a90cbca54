"""Load a folder of YAML files into a Library. All mistakes are collected before they are raised."""

import contextlib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from clerkship.by_name import load
from clerkship.kit.descriptors import pause_garbage_collection
from clerkship.model.agent_domain import AgentCapabilities, AgentDomain
from clerkship.model.calibration import LabelledFile
from clerkship.model.dataset import Dataset
from clerkship.model.environment import CONVERSATION_ENVIRONMENT, Environment
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.model.task import MAX_NAME_LENGTH, Benchmark, Entity, Task
from clerkship.model.variables import UnknownVariable, expand_task
from clerkship.suite_files.agent_check import AgentCheck
from clerkship.suite_files.attachments import Attachments
from clerkship.suite_files.calibration import LABELLED_KEY
from clerkship.suite_files.call_check import CallCheck
from clerkship.suite_files.catalog import Catalog
from clerkship.suite_files.conftest import ConftestReader
from clerkship.suite_files.dataset_type import DatasetCache
from clerkship.suite_files.datasets import (
    ALL_TASKS,
    DatasetLoader,
    RequiredFiles,
    TaskSelection,
    find_dataset_names,
    find_unused_datasets,
)
from clerkship.suite_files.definition import Definition
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.entities import FOR_EACH_KEY, DatasetFinder, EntityBinder, TaskBindings
from clerkship.suite_files.environment_check import (
    EnvironmentCheck,
    EnvironmentInfo,
    build_environment_info,
    collect_environment_names,
    has_known_components,
)
from clerkship.suite_files.file_keys import OWN_KEYS, top_keys
from clerkship.suite_files.folder_files import FolderFiles
from clerkship.suite_files.foreign import load_test_reader
from clerkship.suite_files.library import Library, LoadedTask
from clerkship.suite_files.published.places import find_suite, is_archive
from clerkship.suite_files.record_check import collect_initial_records
from clerkship.suite_files.source import SUFFIXES, Reporter, SourceFolder, is_existing_folder
from clerkship.suite_files.task_check import AxisCheck, CriteriaCheck, TaskCheck
from clerkship.suite_files.template_filler import PersonaLoader, TemplateFiller
from clerkship.suite_files.variant_check import VariantCheck
from clerkship.suite_files.yaml import YamlTree

if TYPE_CHECKING:
    from clerkship.model.scenario_file import ScenarioFile

_VARIANT_KEYS = ("wrong", "ways")
_TEMPLATE_KEYS = ("task_item", "scenario", "criteria", *_VARIANT_KEYS)


@dataclass
class LibraryLoader:
    """Loads one folder."""

    folder: SourceFolder
    catalog: Catalog
    needs_task: bool
    agent: AgentCheck
    selection: TaskSelection = ALL_TASKS
    """The tasks that were asked for. Mistakes in files that they do not need do not prevent their use."""
    cache: Path | None = None
    """The folder of the dataset cache, if any."""
    environments: dict[str, Environment] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    benchmarks: dict[str, Benchmark] = field(default_factory=dict)
    tasks: dict[str, LoadedTask] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._is_partial = False
        self._variables = self.catalog.variables()
        self._reporter = Reporter(self.folder.report)
        self._infos: dict[str | None, EnvironmentInfo | None] = {}
        self._definitions = FolderDefinitions(self.folder, self._reporter, self.catalog.built_in_datasets())
        self._personas = PersonaLoader(self.folder, self._definitions)
        self._conftest = ConftestReader(self.folder, self._reporter)
        self._datasets = DatasetLoader(
            self.folder, self.catalog, DatasetCache(self.cache), self._reporter, self.environments, self.datasets
        )
        finder = DatasetFinder(self._datasets.open_finder)
        self._binder = EntityBinder(self.datasets, self._definitions, self._build_filler, finder)
        self._attachments = Attachments(self.folder, self.catalog, self.datasets, self._definitions)

    def load(self) -> Library:
        """Return the library. Raise InputError with every problem."""
        definitions = self._definitions.read()
        self._conftest.load(definitions)
        self._for_each(definitions, "environment", self._load_environment)
        self._for_each(definitions, "dataset", self._datasets.load)
        self._datasets.load_built_in(
            (definition, path, name)
            for definition, path, name in find_dataset_names(
                each for each in definitions if each.kind in ("environment", "task")
            )
            if self._definitions.get("dataset", name) is None
        )
        self._for_each(definitions, "benchmark", self._load_benchmark)
        self._for_each(definitions, "persona", self._personas.load)
        self._axes = AxisCheck.of(each.fields for each in definitions if each.kind in ("environment", "benchmark"))
        selected = self.selection.select(definitions, self.folder)
        self._is_partial = len(selected) < len(definitions)
        self._for_each(selected, "task", self._load_task)
        self._for_each(definitions, "scenario", self._load_scenario)
        self._for_each(definitions, LABELLED_KEY, lambda definition: definition.read(LabelledFile, definition.data))
        self._load_foreign_tests([definition.tree for definition in definitions if definition.kind == "e2e"])
        self._datasets.save_searches()
        if not self._is_partial:
            self._warn_of_unused(definitions)
        problems = self._select_problems(definitions)
        if self.needs_task and not self.tasks and not problems:
            problems = self._describe_missing_tasks()
        if problems:
            raise self._build_error(problems)
        return self._build_library()

    def _build_error(self, problems: list[InputProblem]) -> InputError:
        """Return the error for mistakes, with the files that were skipped besides."""
        reported = {problem.file for problem in problems}
        files = _list_skipped(self._definitions.files, self.agent.domain)
        skipped = {file: reason for file, reason in files.items() if file not in reported}
        return InputError(
            problems, skipped, (each for each in self._reporter.warnings.sorted() if each.file in skipped)
        )

    def _describe_missing_tasks(self) -> list[InputProblem]:
        """Return the problem of a folder without tasks: the misspelt keys of skipped files, if there are any."""
        skipped = _list_skipped(self._definitions.files, self.agent.domain)
        misspelt = [warning for warning in self._reporter.warnings.sorted() if warning.file in skipped]
        if misspelt:
            return misspelt
        hint = "add a YAML file with the key `task`, `scenario` or `test_cases`"
        hint += f"; {describe_skipped_files(skipped)}" if skipped else ""
        return [InputProblem(file=str(self.folder.root), message="there is no task in this folder", hint=hint)]

    def _build_library(self) -> Library:
        domain = self.agent.domain
        return Library(
            self.folder.root,
            self.tasks,
            self.environments,
            self.datasets,
            self.benchmarks,
            self._personas.personas,
            conftest=self._conftest.conftest,
            prompts=self._conftest.prompts,
            warnings=(*self._reporter.warnings.sorted(), *self.agent.find_unchecked()),
            domain=domain.source if domain is not None else None,
            skipped_files=_list_skipped(self._definitions.files, self.agent.domain),
            files=frozenset(self.folder.used | self.folder.included),
            is_partial=self._is_partial,
        )

    def _load_foreign_tests(self, trees: list[YamlTree]) -> None:
        if trees:
            reader = load_test_reader()(self.folder, self.catalog, self.agent, self._reporter)
            for loaded in reader.load(trees, self.tasks):
                self.tasks[loaded.task.name] = loaded

    def _select_problems(self, definitions: list[Definition]) -> list[InputProblem]:
        """Return the problems to raise. If the selected tasks are valid, the other problems become one warning."""
        file = self.selection.file
        reason = self._definitions.files.find_reason(file) if file is not None else None
        if reason is not None:
            return [reason]
        problems = self.folder.report.sorted()
        files = RequiredFiles(
            self.selection, self._definitions, definitions, self.tasks.values(), self._datasets.problem_files
        )
        needed = files.select(problems)
        if problems and not needed:
            count = len(problems)
            message = f"{count} mistake{'s' * (count != 1)} in other files of this folder, which are skipped"
            hint = "run `clerkship validate` to see them"
            self._reporter.warnings.add_problem(InputProblem(file=str(self.folder.root), message=message, hint=hint))
        return needed

    def _for_each(self, definitions: list[Definition], kind: str, load: Callable[[Definition], object]) -> None:
        for definition in definitions:
            if definition.kind == kind:
                load(definition)

    def _load_environment(self, definition: Definition) -> None:
        environment = definition.read(Environment, definition.data)
        if environment is not None:
            self.environments.setdefault(environment.name, environment)
        named = [str(name) for name in definition.fields.get("datasets") or ()]
        unread = [name for name in named if not self._definitions.is_unknown("dataset", name)]
        EnvironmentCheck(self.catalog, definition).check({*self._definitions.names("dataset"), *unread})

    def _warn_of_unused(self, definitions: list[Definition]) -> None:
        tasks = [definition for definition in definitions if definition.kind == "task"]
        taken = {name for _, _, name in find_dataset_names(tasks)} | self._attachments.used_datasets
        for name, environment in self.environments.items():
            definition = self._definitions.get("environment", name)
            assert definition is not None  # every environment was read from one
            for path, message in find_unused_datasets(environment, self.datasets, taken, self.catalog):
                definition.warning(path, message, "remove it, or add a simulator that is loaded from it")

    def _load_benchmark(self, definition: Definition) -> None:
        benchmark = definition.read(Benchmark, definition.data)
        if benchmark is not None:
            self.benchmarks.setdefault(benchmark.slug, benchmark)
        environment, tasks = definition.fields.get("environment"), definition.fields.get("tasks")
        if isinstance(environment, str):
            self._check_environment_name(definition, environment)
        names = [*self._definitions.names("task"), *filter(None, self._definitions.scenarios)]
        for number, pattern in enumerate(tasks if isinstance(tasks, list) and not self.folder.unreadable_texts else ()):
            if not any(fnmatchcase(name, str(pattern)) for name in names):
                hint = did_you_mean(str(pattern), names)
                definition.problem(["tasks", number], f"no task `{pattern}`", hint)

    def _load_task(self, definition: Definition) -> None:
        """Load one task, or with `for_each` one for each record.

        Stop at the first record with a mistake, because most mistakes are the same for all records.
        """
        definition = definition if self.selection.has_variants else definition.without(*_VARIANT_KEYS)
        name = self._environment_name(definition)
        environment = CONVERSATION_ENVIRONMENT if name is None else self.environments.get(name)
        solution = self._attachments.read_solution(definition)
        check = self._build_check(definition, self._get_info(name))
        self._axes.check(definition)
        before = len(self.folder.report.problems)
        is_first = True
        for bound in self._binder.bind(definition, (environment or CONVERSATION_ENVIRONMENT).now):
            task = self._build_task(definition, bound, check)
            if len(self.folder.report.problems) > before:
                break
            if task is None or environment is None:
                continue
            if is_first:
                self._warn_of_criteria(definition, task, environment)
                is_first = False
            written = task.name
            if bound.subject is not None:
                task = self._rename_for_record(definition, task, bound.name, bound.subject)
            template = written if bound.subject is not None else ""
            loaded = LoadedTask(
                task, environment, bound.to_snapshot_records(), solution, definition.tree.file, template=template
            )
            self.tasks.setdefault(task.name, loaded)

    def _build_task(self, definition: Definition, bound: TaskBindings, check: TaskCheck) -> Task | None:
        """Return the checked task with its templates filled."""
        data = self._render(definition, bound)
        check.check_form(definition.fields)
        task = definition.read(Task, data)
        check.check_task(self._expand(definition, data))
        if task is None:
            return None
        task = VariantCheck(task, check.calls, self._attachments).check()
        return self._personas.resolve_and_fill(
            definition, task, self._build_filler(definition, bound.values(), bound.unbound)
        )

    def _warn_of_criteria(self, definition: Definition, task: Task, environment: Environment) -> None:
        check = CriteriaCheck(self.catalog, definition, ["criteria"])
        check.warn_of_idle_pass(task.gated_by(environment.gate_axes))
        check.warn_of_single_turns(task, [["criteria", number, "assertion"] for number in range(len(task.criteria))])

    def _rename_for_record(self, definition: Definition, task: Task, name: str, subject: Entity) -> Task:
        """Return the task for one record of `for_each`, with the record's name in its own."""
        own = f"{task.name} [{name}]"
        if len(own) > MAX_NAME_LENGTH:
            message = f"with the id of its record, the name has {len(own)} characters; the limit is {MAX_NAME_LENGTH}"
            definition.problem(["name"], message, "shorten it")
        elif own in self.tasks:
            definition.problem([FOR_EACH_KEY], f"two tasks would have the name {own!r}")
        return task.model_copy(update={"name": own, "entities": (subject, *task.entities), "for_each": None})

    def _load_scenario(self, definition: Definition) -> None:
        """Load a scenario file as a task. Its mistakes are reported at their place in the scenario."""
        definition = definition if self.selection.has_variants else definition.without(*_VARIANT_KEYS)
        name = self._environment_name(definition)
        environment = CONVERSATION_ENVIRONMENT if name is None else self.environments.get(name)
        is_map = isinstance(definition.data, dict)
        data = self._attachments.inline_files(definition, definition.data) if is_map else definition.data
        model: type[ScenarioFile] = load("clerkship.model.scenario_file:ScenarioFile")
        written = definition.read(model, data)
        check = self._build_check(definition, self._get_info(name))
        check.check_scenario(self._expand(definition, data))
        solution = self._attachments.read_solution(definition)
        if written is None or environment is None:
            return
        try:
            task = written.to_task(definition.slug)
        except ValidationError as error:  # the parts are valid, but not their combination
            definition.problem(["setup", "person"], _describe_error(error), "add an `opening` or `lines`")
            return
        task = self._personas.resolve(definition, task, ("setup", "person", "persona"), ("setup", "persona"))
        criteria = CriteriaCheck(self.catalog, definition, ["goals"], "setup: {allow_inaction: true}")
        criteria.warn_of_idle_pass(task)
        criteria.warn_of_single_turns(task, [["goals", "assertions", n] for n in range(len(written.goals.assertions))])
        task = VariantCheck(task, check.calls, self._attachments).check()
        task = task.model_copy(update={"name": self._choose_unique_name(task.name, definition)})
        self.tasks[task.name] = LoadedTask(task, environment, {}, solution, definition.tree.file)

    def _choose_unique_name(self, name: str, definition: Definition) -> str:
        """Return a unique name. Scenarios may share a name; then the file's name is added, or its path."""
        file = Path(definition.tree.file)
        place = file.relative_to(self.folder.root) if file.is_relative_to(self.folder.root) else file
        names = [name] if self._definitions.labels[name] < 2 else []
        names += [f"{name} ({definition.slug})"] if name != definition.slug else []
        names.append(f"{name} ({place.with_suffix('').as_posix()})")
        return next((free for free in names if free not in self.tasks), f"{name} ({place.as_posix()})")

    def _expand(self, definition: Definition, data: Any) -> dict[str, Any]:
        """Return the data with environment variables replaced, for checks. The stored task keeps the variables."""

        def report(path: list[int | str], unknown: UnknownVariable) -> None:
            definition.problem([*path], str(unknown), unknown.hint, silences=True)

        expanded = expand_task(data, self._variables, report)
        return expanded if isinstance(expanded, dict) else {}

    def _build_check(self, definition: Definition, info: EnvironmentInfo | None) -> TaskCheck:
        return TaskCheck(CallCheck(self.catalog, definition, self.agent, info))

    def _check_environment_name(self, definition: Definition, name: str) -> None:
        if self._definitions.is_unknown("environment", name):
            hint = did_you_mean(name, self._definitions.names("environment"))
            definition.problem(["environment"], f"unknown environment `{name}`", hint)

    def _environment_name(self, definition: Definition) -> str | None:
        """Return the name of a task's environment: empty if it cannot be determined, None if the folder has none."""
        name = definition.fields.get("environment")
        if isinstance(name, str):
            self._check_environment_name(definition, name)
            return name
        known = self._definitions.names("environment")
        candidates = sorted(
            {b.environment for b in self.benchmarks.values() if b.environment in known and b.environment}
        )
        candidates = candidates or sorted(known)
        if len(candidates) > 1:
            definition.problem([], "`environment` is missing", f"use one of {', '.join(candidates)}")
            return ""
        if candidates:
            return candidates[0]
        return "" if self._definitions.has_any("environment") else None

    def _get_info(self, name: str | None) -> EnvironmentInfo | None:
        """Return what is known of an environment; the datasets must be loaded before."""
        if name not in self._infos:
            self._infos[name] = self._build_info(name)
        return self._infos[name]

    def _build_info(self, name: str | None) -> EnvironmentInfo | None:
        if name is None:
            return replace(build_environment_info(CONVERSATION_ENVIRONMENT.model_dump()), is_of_folder=False)
        definition = self._definitions.get("environment", name) if name else None
        if definition is None or not has_known_components(definition.fields):
            return None
        environment = self.environments.get(name)
        records = collect_initial_records(environment, self.datasets, self.catalog)
        names = collect_environment_names(environment, self.datasets, self.catalog)
        return build_environment_info(definition.fields, records, names)

    def _render(self, definition: Definition, bound: TaskBindings) -> Any:
        if not isinstance(definition.data, dict):
            return definition.data
        filler = self._build_filler(definition, bound.values(), bound.unbound)
        filled = {
            key: filler.fill(value, [*definition.path, key]) if key in _TEMPLATE_KEYS else value
            for key, value in definition.data.items()
        }
        filled = self._attachments.inline_files(definition, filled, filler)
        return filled | ({"entities": bound.entities} if bound.entities else {})

    def _build_filler(self, definition: Definition, values: Mapping[str, Any], unbound: set[str]) -> TemplateFiller:
        def report(path: list[int | str], message: str, hint: str) -> None:
            self._reporter.mistakes.note(definition.tree, path, message, hint)

        def silence(path: list[int | str]) -> None:
            """Silence problems of the values that contain this one: they cannot be valid without it."""
            for end in range(_find_call_depth(path), len(path) + 1):
                location = definition.tree.locate(path[:end])
                self.folder.report.silenced.add((location.file, location.line, location.column))

        return TemplateFiller(values, unbound, report, silence, find=self.catalog.filter)


def _find_call_depth(path: list[int | str]) -> int:
    """Return how many keys of a path lead to the arguments of the assertion or step around a text; all if there is
    none.
    """
    for place, part in enumerate(path[:-1]):
        if part == "assertion" or (isinstance(part, int) and path[place - 1] in ("steps", "scenario")):
            return place + 2
    return len(path)


def _list_skipped(files: FolderFiles, domain: AgentDomain | None) -> dict[str, str]:
    """Return the reason by skipped file. The domain is not one: it was read to check names."""
    source = Path(domain.source).resolve() if domain is not None else None
    return {file: reason for file, reason in files.skipped_files().items() if Path(file).resolve() != source}


def describe_skipped_files(files: Collection[str]) -> str:
    """Return the number of skipped files in words."""
    return f"{len(files)} other file{'s' * (len(files) != 1)} skipped"


def _describe_error(error: ValidationError) -> str:
    message = error.errors()[0]["msg"].removeprefix("Value error, ")
    return "the person has no first line" if message.startswith("`starts: person`") else message


def load_library(
    path: Path,
    catalog: Catalog,
    *,
    needs_task: bool = True,
    tasks: TaskSelection = ALL_TASKS,
    capabilities: AgentCapabilities | None = None,
    cache: Path | None = None,
) -> Library:
    """Load the library in a folder, or around a file. With `needs_task`, a folder without tasks is an error.

    With the names of tasks, or with a file, mistakes in files that these tasks do not need are one warning.

    Names of the agent's slots, actions, responses and flows are checked against its capabilities. Large datasets are
    loaded from the cache, if there is one.

    The path may be an archive, or name a published version. It was checked when it was published.
    """
    path = find_suite(path)
    if is_archive(path):
        with pause_garbage_collection():
            library: Library = load("clerkship.suite_files.published.reading:load_archive")(path, tasks)
        return library
    is_folder = is_existing_folder(path, "there is no such file or folder")
    if not is_folder and path.suffix not in SUFFIXES:
        raise InputError.of("it is not a YAML file", file=str(path), hint=f"expected a name that ends in {SUFFIXES[0]}")
    folder = SourceFolder(find_root(path))
    selection = replace(tasks, file=None if is_folder else path)
    agent = AgentCheck(capabilities, catalog.reads)
    with pause_garbage_collection():
        return LibraryLoader(folder, catalog, needs_task, agent, selection, cache).load()


def find_root(path: Path) -> Path:
    """Return what to load for a path: the folder itself, the folder of a file, or a published version's archive."""
    path = find_suite(path)
    return path if path.is_dir() or is_archive(path) else _find_root_of_file(path)


def _find_root_of_file(file: Path) -> Path:
    """Return the folder of a file, or the folder above if that is where the other definitions are."""
    folder = file.parent
    if folder.resolve().name not in ("scenarios", "tasks"):
        return folder
    above = Path(os.path.normpath(folder / ".."))
    with contextlib.suppress(OSError):
        if any(top_keys(other) & OWN_KEYS for other in above.iterdir() if other.suffix in SUFFIXES):
            return above
    return folder
