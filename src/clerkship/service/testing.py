"""Run tasks in pytest, one or a folder: the agent is a Python object, and a failed result explains itself."""

import inspect
import math
import os
import shlex
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from clerkship.actors.contract import Solver
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.kit.command_option import options_of
from clerkship.kit.statistics import wilson_interval
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.model.redaction import redact_task_run
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.run_options import RecordingMode
from clerkship.model.seals import SealCheck
from clerkship.model.store_place import StorePlace
from clerkship.report.labels import show_command
from clerkship.report.outcome import ResultClass, classify_result
from clerkship.report.plain_text import escape_ci_commands, explain_failure, headline, trial_name
from clerkship.service.attacking import AttackReport, AttackRequest, attack
from clerkship.service.checking import load_and_check
from clerkship.service.exporting import write_reports
from clerkship.service.planning.load import LoadedSuite, load_suite
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest, split_case
from clerkship.service.reading import show_run
from clerkship.service.redacting import build_run_redactor
from clerkship.service.report_targets import ReportTargets
from clerkship.service.running import execute
from clerkship.service.task_view import show_task
from clerkship.settings import Settings, get_command_prefix, load_settings, override_settings
from clerkship.store.opening import open_store
from clerkship.store.sql import SqlStore
from clerkship.suite_files.library import Library
from clerkship.suite_files.published.places import is_published_name

_NOT_KEYWORDS = frozenset({"path", "tasks", "tape", "outbound", "store"})
"""Fields of a request that the fixture sets itself, or gives under another name."""
MAX_FAILURES = 10
"""The maximum number of trials that one message explains."""


@dataclass(frozen=True)
class CollectedTask:
    """A task of a suite. As a path it is `FILE::NAME`, which `clerkship run` accepts too."""

    name: str
    suite: Path
    file: Path
    line: int = 0
    tags: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        return f"{self.file}::{self.name}"

    def __str__(self) -> str:
        return self.name


class SuiteCollection:
    """The suites that a session has loaded."""

    def __init__(self, catalog: RegisteredCatalog | None = None) -> None:
        self._catalog = catalog or RegisteredCatalog()
        self._libraries: dict[Path, Library] = {}
        self._last: tuple[tuple[object, ...], object, LoadedSuite] | None = None

    def tasks(
        self, path: Path, *, file: Path | None = None, names: Iterable[str] = (), tags: Iterable[str] = ()
    ) -> list[CollectedTask]:
        """Return the tasks of a suite in order, or those of one file, name or tag. Raise InputError."""
        suite, case = split_case(path)
        if suite not in self._libraries:
            self._libraries[suite], _ = load_and_check(suite, None, load_settings(), self._catalog)
        library = self._libraries[suite]
        if case is not None:
            names = [*names, library.find_case(suite, case).task.name]
        file = file or (suite if suite.is_file() else None)
        return [
            CollectedTask(loaded.task.name, suite, Path(loaded.file), loaded.line, loaded.task.tags)
            for loaded in library.select(names=names, tags=tags, file=file)
        ]

    def load(self, request: RunRequest, settings: Settings, agent: object) -> LoadedSuite:
        """Return the files and the agent of a request. They are loaded again if the path or the agent is another one
        than in the request before.
        """
        key = (request.path, request.isolate, request.agent_process, request.domain)
        last = self._last
        if last is None or last[0] != key or last[1] is not agent:
            last = self._last = (key, agent, load_suite(request, settings, self._catalog))
        loaded = last[2]
        return replace(loaded, request=request, settings=override_settings(loaded.settings, store=settings.store))


@dataclass(frozen=True, repr=False)
class Result:
    """The result of a run. It is true if the run passed, so that `assert clerkship.run(…)` works."""

    run: BenchmarkRun
    counts: Counts
    task_runs: list[TaskRun]
    store: SqlStore
    seals: SealCheck
    """Whether the store was unchanged at the end of the run."""

    @property
    def passed(self) -> bool:
        """Whether the command line would exit with 0: no trial failed or was errored, and the run was not interrupted
        or changed.
        """
        return self.run.exit_code(self.counts) == 0 and not self.seals.is_changed

    @property
    def failed(self) -> list[TaskRun]:
        """The trials that keep the run from passing: partial, fail, errored and inconclusive."""
        return [task_run for task_run in self.task_runs if classify_result(task_run) in ("failed", "errored")]

    @property
    def result_class(self) -> ResultClass:
        """The result of the whole run as one test: errored if a trial has no verdict or was changed, else failed if
        one failed, else passed if one passed.
        """
        classes = {classify_result(task_run) for task_run in self.task_runs}
        if "errored" in classes or self.seals.is_changed:
            return "errored"
        return "failed" if "failed" in classes else "passed" if "passed" in classes else "skipped"

    @property
    def pass_rate(self) -> float:
        """The share of graded trials that passed; NaN, which fails every comparison, if none was graded."""
        rate = wilson_interval(self.counts.passed, self.counts.graded)
        return math.nan if rate is None else rate.rate

    def events(self, task: str, trial: int = 1) -> list[dict[str, Any]]:
        """Return the log of a trial in order of arrival, by the name of its task or a unique part of it."""
        return show_task(self.store, self.run.id, task, trial).events

    def report(self, path: str | Path) -> Path:
        """Write the HTML report to this path, and return it."""
        return write_reports(self.store, self.run.id, ReportTargets(html=Path(path)), self.seals)["html"]

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        """Return a short text for assertion messages; `explain` has the details."""
        return f"<{self.run.id}: {self.counts.passed} of {self.run.total} passed>"

    def explain(self) -> Iterator[str]:
        """Yield each trial that did not pass with its reasons, and the command that shows it."""
        return map(escape_ci_commands, self._explain())

    def _explain(self) -> Iterator[str]:
        by = build_run_redactor(self.store, self.run)
        failed = [redact_task_run(task_run, by) for task_run in self.failed]
        store = f" --store {shlex.quote(str(self.store.place))}"
        if self.seals.is_changed:
            yield ""
            yield f"{self.seals.headline()}:"
            yield from (f"  {sentence}" for sentence in self.seals.sentences())
        for task_run in failed[:MAX_FAILURES]:
            yield ""
            yield trial_name(task_run)
            yield f"  {headline(task_run)}"
            yield from (f"  {line}" for line in explain_failure(task_run))
            yield f"  details: {show_command(task_run)}{store}"
        if len(failed) > MAX_FAILURES:
            yield ""
            yield f"… and {len(failed) - MAX_FAILURES} more: {get_command_prefix()} show {self.run.id} --failed{store}"
        if self.run.status == "cancelled":
            yield f"the run was interrupted after {self.counts.done} of {self.run.total} trials"


def check_keywords(method: str, given: Iterable[str], request: type) -> None:
    """Raise InputError for keywords of the fixture's method that a request does not have, each with the nearest one.

    The names that the command line uses for an option, such as `no_judge`, are answered with the keyword.
    """
    names = {item.name for item in fields(request)} - _NOT_KEYWORDS
    names |= {"task", "agent", *get_args(RecordingMode)} if request is RunRequest else {"task"}
    meant = _find_meant_keywords(request, names)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(
            [
                InputProblem(
                    message=f"clerkship.{method}: unknown keyword `{name}`",
                    hint=f"write `{meant[name]}`" if name in meant else did_you_mean(name, names),
                )
                for name in unknown
            ]
        )


def _find_meant_keywords(request: type, names: Collection[str]) -> dict[str, str]:
    """Return the keyword for each name that the command line has for an option and the fixture does not."""
    meant = {"tasks": "task"}
    for name, (_, option) in options_of(request).items():
        keyword = "task" if name == "tasks" else name
        for typed in (*option.names, option.switch[0]):
            meant.setdefault(typed.strip("-").replace("-", "_"), keyword)
        for typed, (value, _) in option.flags.items():
            meant.setdefault(typed.strip("-").replace("-", "_"), f"{keyword}={value!r}")
    return {typed: keyword for typed, keyword in meant.items() if typed and typed not in names}


class ClerkshipFixture:
    """A store, and the folders in which suites are looked up."""

    def __init__(self, store: StorePlace, places: Iterable[Path], suites: SuiteCollection | None = None) -> None:
        self._path = store
        self._suites = suites or SuiteCollection()
        self._places = list(dict.fromkeys(places))
        self._store: SqlStore | None = None
        self.results: list[Result] = []
        self.warnings: list[str] = []
        """Problems of this installation that do not fail a test."""

    def run(self, path: str | os.PathLike[str], agent: object, **options: Any) -> Result:
        """Run the tasks at a path with an agent. Options are those of `RunRequest`, and `record`, `replay` and
        `refresh`.
        """
        modes: list[RecordingMode] = [name for name in get_args(RecordingMode) if options.pop(name, False)]
        if len(modes) > 1:
            raise InputError.of(f"{' and '.join(modes)} cannot be combined", hint="give only one")
        options |= {"tape": modes[0]} if modes else {}
        catalog = RegisteredCatalog()
        self.warnings = catalog.warnings()
        settings = override_settings(load_settings(), store=self._path)
        reference = to_agent_reference(agent)
        if isinstance(path, CollectedTask):
            request = RunRequest(path=path.suite, agent=reference, only=frozenset({path.name}), **options)
            plan = plan_run(request, settings, catalog, self._suites.load(request, settings, agent))
        else:
            plan = plan_run(RunRequest(path=self._find(Path(path)), agent=reference, **options), settings, catalog)
        self.warnings += map(str, plan.warnings)
        if self._store is None:
            self._store = open_store(settings, self._path, create=True)
        done = execute(plan, self._store, catalog)
        view = show_run(self._store, done.run.id, seals=done.seals)
        seals = done.checked_again(self._store).seals or view.seals
        result = Result(view.run, view.counts, view.task_runs, self._store, seals)
        self.results.append(result)
        return result

    def check_keywords(self, method: Literal["run", "attack"], given: Iterable[str]) -> None:
        """Raise InputError for an unknown keyword of one of the fixture's methods."""
        check_keywords(method, given, RunRequest if method == "run" else AttackRequest)

    def attack(self, path: str | os.PathLike[str], **options: Any) -> AttackReport:
        """Run the strategies of `clerkship suite attack` over the tasks at a path. Options are those of
        `AttackRequest`.
        """
        catalog = RegisteredCatalog()
        self.warnings = catalog.warnings()
        return attack(AttackRequest(path=self._find(Path(path)), **options), load_settings(), catalog)

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()

    def _find(self, path: Path) -> Path:
        """Return the path below the first folder that has it, relative to the working folder if it is inside."""
        if is_published_name(split_case(path)[0]):
            return path
        existing = next((place / path for place in self._places if split_case(place / path)[0].exists()), None)
        if existing is None:
            folders = " or ".join(str(folder) for folder in self._places)
            raise InputError.of("there is no such file or folder", file=str(path), hint=f"looked in {folders}")
        return existing.relative_to(Path.cwd()) if existing.is_relative_to(Path.cwd()) else existing


def to_agent_reference(agent: object) -> str | Solver:
    """Return a reference unchanged; wrap a class, an object or a function under its qualified name."""
    if isinstance(agent, str):
        return agent
    target = agent if inspect.isclass(agent) or inspect.isroutine(agent) else type(agent)
    if inspect.ismodule(agent):
        return PythonSolver(f"python:{agent.__name__}", agent)
    name = f"python:{getattr(target, '__module__', '?')}:{getattr(target, '__qualname__', repr(target))}"
    return PythonSolver(name, agent)
