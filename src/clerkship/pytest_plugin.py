"""The pytest plug-in: tasks of suites as tests, a fixture that runs tasks, and explanations of failed assertions.

Pytest loads this module in every session where the package is installed. So it imports nothing of ours: the first
use of the fixture, or the first file of a suite, imports the rest by name.
"""

import importlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

import pytest

if TYPE_CHECKING:
    from clerkship.service.attacking import AttackReport
    from clerkship.service.testing import ClerkshipFixture, CollectedTask, Result, SuiteCollection

T = TypeVar("T")
_FIXTURE = pytest.StashKey["Clerkship"]()
_WARNINGS = pytest.StashKey[dict[str, None]]()
_SUITES = pytest.StashKey["SuiteCollection"]()
_INVALID_SUITES = pytest.StashKey[set[Path]]()
_SUFFIXES = (".yml", ".yaml")
_MARKER = "clerkship(*paths, task=(), tags=()): run the test once for each task of these suites, as `clerkship_task`"
_NO_AGENT = (
    "no agent for the tasks of the suites: give --clerkship-agent, set clerkship_agent in the ini file, or define the "
    "fixture `clerkship_agent`"
)


class FixtureRunOptions(TypedDict, total=False):
    """Options of a run."""

    benchmark: str | None
    trials: int
    seed: int | None
    timeout: float | None
    concurrency: int | None
    shuffle: bool
    until_sure: float | None
    chaos: str | None
    isolate: Literal["auto", "always", "never"] | None
    judge: str | None
    votes: int
    metrics: bool
    person: str | None
    checks_person: bool
    person_facts: Literal["strict", "free"] | None
    max_tokens: int | None
    model_timeout: float | None
    max_cost: float | None
    max_calls: int | None
    max_total_tokens: int | None
    max_cost_per_trial: float | None
    max_calls_per_trial: int | None
    max_total_tokens_per_trial: int | None
    record: bool
    replay: bool
    refresh: bool
    agent_process: bool
    agent_request: str | Mapping[str, Any] | None
    agent_reply: str | None
    agent_buttons: str | None
    agent_session: str | None
    agent_headers: tuple[str, ...]
    agent_start: str | None
    agent_start_request: str | Mapping[str, Any] | None
    agent_greeting: str | None


class FixtureAttackOptions(TypedDict, total=False):
    """Options of an attack."""

    concurrency: int | None
    seed: int | None
    judge: str | None
    person: str | None


class Clerkship:
    """The object that the fixture `clerkship` gives to a test."""

    def __init__(self, practice: "ClerkshipFixture", mistakes: type[Exception]) -> None:
        self._practice = practice
        self._mistakes = mistakes

    def run(
        self,
        path: str | os.PathLike[str],
        *,
        agent: object = None,
        task: str | Iterable[str] = (),
        tags: str | Iterable[str] = (),
        **limits: Unpack[FixtureRunOptions],
    ) -> "Result":
        """Run the tasks at a path with an agent, store everything, and return the result.

        The agent is a class, an object, a function, or a reference such as `oracle` or `python:module:name`. `task`
        and `tags` select tasks. The other options are as on the command line; `judge="none"` skips criteria that
        need a model, and `replay=True` sends no request to a model.
        """
        __tracebackhide__ = True
        self._do(lambda: self._practice.check_keywords("run", limits))
        if agent is None:  # not a required argument: Python would not name a misspelt `agent`
            pytest.fail("clerkship.run: no agent; give agent= with a class, an object, a function or a reference")
        result = self._do(
            lambda: self._practice.run(path, agent, tasks=_to_tuple(task), tags=_to_tuple(tags), **limits)
        )
        if result.run.status == "cancelled":
            raise KeyboardInterrupt  # pytest must stop too
        return result

    def attack(
        self,
        path: str | os.PathLike[str],
        *,
        only: str | Iterable[str] = (),
        task: str | Iterable[str] = (),
        tags: str | Iterable[str] = (),
        **limits: Unpack[FixtureAttackOptions],
    ) -> "AttackReport":
        """Run agents that must not pass over the tasks at a path, as `clerkship suite attack` does.

        `problems()` of the report lists each task that a strategy passes; it is empty for a good suite. `only` names
        strategies.
        """
        __tracebackhide__ = True
        self._do(lambda: self._practice.check_keywords("attack", limits))
        chosen = {"only": _to_tuple(only), "tasks": _to_tuple(task), "tags": _to_tuple(tags)}
        report = self._do(lambda: self._practice.attack(path, **chosen, **limits))
        if report.cancelled:
            raise KeyboardInterrupt
        return report

    def _do(self, work: Callable[[], T]) -> T:
        """Call a function; a mistake in the files fails the test with only its message."""
        __tracebackhide__ = True
        mistake = ""
        try:
            return work()
        except self._mistakes as error:
            mistake = str(error)
        pytest.fail(mistake)  # outside `except`, or pytest would show our own lines as its cause

    def __repr__(self) -> str:
        return "<clerkship>"

    def explain_failure(self, error: AssertionError) -> None:
        """Add to a failed assertion why the run that it is about did not pass."""
        message = str(error)
        for result in self._practice.results:
            if not result.passed and (not message or result.run.id in message):
                error.args = ("\n".join((message or repr(result), *result.explain())),)
                return


def _to_tuple(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini settings for suites, their agent and the store."""
    group = parser.getgroup("clerkship")
    about = "file in which runs are stored; default: a file in the tmp_path of each test"
    group.addoption("--clerkship-store", metavar="FILE", help=about)
    parser.addini("clerkship_store", about, default="")
    about = "folder or file of tasks to collect as tests; may be repeated"
    group.addoption("--clerkship", metavar="PATH", action="append", default=[], help=about)
    parser.addini("clerkship_suites", "folders or files of tasks to collect as tests", type="args", default=[])
    about = "agent for the collected tasks, such as python:module:name"
    group.addoption("--clerkship-agent", metavar="AGENT", help=about)
    parser.addini("clerkship_agent", about, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and add the suites to the paths that pytest collects.

    Suites of the option are collected in addition to the paths on the command line, or alone if there are none.
    Suites of the ini file are collected if there are no paths on the command line.
    """
    config.addinivalue_line("markers", _MARKER)
    has_paths = config.args_source is pytest.Config.ArgsSource.ARGS
    given: list[str] = config.getoption("--clerkship")
    for path in given:
        if not (config.invocation_params.dir / path).exists():
            raise pytest.UsageError(f"--clerkship {path}: there is no such file or folder")
    if given:
        config.args[:] = list(dict.fromkeys([*(config.args if has_paths else ()), *given]))
    elif not has_paths:
        config.args += [str(path) for path in _suite_paths(config) if path.exists()]


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return the agent and the suites, if any."""
    suites, agent = _suite_paths(config), _find_agent(config)
    if not suites and not agent:
        return None
    names = ", ".join(os.path.relpath(path, config.rootpath) for path in suites)
    return f"clerkship: agent {agent or 'of the fixture'}, suites {names or '(none: name them with --clerkship PATH)'}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SuiteFile | None":
    """Collect the YAML files of the suites, and YAML files on the command line if there is an agent."""
    if file_path.suffix not in _SUFFIXES:
        return None
    suite = next((path for path in _suite_paths(parent.config) if file_path.is_relative_to(path)), None)
    if suite is None and parent.session.isinitpath(file_path) and _find_agent(parent.config):
        suite = file_path
    if suite is None:
        return None
    collected: SuiteFile = SuiteFile.from_parent(parent, path=file_path)
    collected.suite = suite
    return collected


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the marker `clerkship` once for each task of its suites."""
    marker = metafunc.definition.get_closest_marker("clerkship")
    if marker is None or "clerkship_task" not in metafunc.fixturenames:
        return
    config, selection = metafunc.config, dict(marker.kwargs)
    names, tags = _to_tuple(selection.pop("task", ())), _to_tuple(selection.pop("tags", ()))
    if selection or not marker.args:
        pytest.fail(f"the marker clerkship takes paths, task and tags: {_MARKER}", pytrace=False)
    places = (config.rootpath, metafunc.definition.path.parent)
    tasks: list[CollectedTask] = []
    for path in map(str, marker.args):
        existing = [place / path for place in places if (place / path.partition("::")[0]).exists()]
        collected = _collect_tasks(config, (existing or [Path(path)])[0], names=names, tags=tags)
        tasks += collected if isinstance(collected, list) else pytest.fail(collected, pytrace=False)
    metafunc.parametrize("clerkship_task", tasks, ids=str)


class SuiteFile(pytest.Module):
    """A YAML file of a suite. It is a module to pytest, so that fixtures of the scope `module` work."""

    obj = None
    suite: Path

    def collect(self) -> Iterable[pytest.Item]:
        """Return one test for each task of the file. The first file of a suite with mistakes reports all of them."""
        invalid = self.config.stash.setdefault(_INVALID_SUITES, set())
        if self.suite in invalid:
            return
        tasks = _collect_tasks(self.config, self.suite, file=self.path)
        if isinstance(tasks, str):
            invalid.add(self.suite)
            raise self.CollectError(tasks)
        for task in tasks:
            yield SuiteTaskItem.from_parent(self, name=task.name, callobj=_fail_unless_passed, task=task)


class SuiteTaskItem(pytest.Function):
    """A task of a suite as a test."""

    def __init__(self, *, task: "CollectedTask", **options: Any) -> None:
        super().__init__(**options)
        self.task = task
        self.extra_keyword_matches.update(task.tags)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the place of the task in its file."""
        return self.path, max(self.task.line - 1, 0), self.name


def _fail_unless_passed(clerkship_result: "Result") -> None:
    """Fail if the task failed. A task without a verdict has no result: its setup fails."""
    if clerkship_result.result_class == "failed":
        pytest.fail(_explain(clerkship_result), pytrace=False)


def _explain(result: "Result") -> str:
    """Return why a task did not pass. The name is left out for a single trial, because pytest shows it above."""
    lines = list(result.explain())
    if len(result.task_runs) == 1 and lines[:2] == ["", result.task_runs[0].task]:
        lines = [line.removeprefix("  ") for line in lines[2:]]
    return "\n".join(lines).strip("\n")


def _suite_paths(config: pytest.Config) -> list[Path]:
    """Return the suites of the option, else those of the ini file."""
    given: list[str] = config.getoption("--clerkship")
    if given:
        return [Path(os.path.normpath(config.invocation_params.dir / path)) for path in given]
    return [Path(os.path.normpath(config.rootpath / path)) for path in config.getini("clerkship_suites")]


def _find_agent(config: pytest.Config) -> str:
    agent: str = config.getoption("--clerkship-agent") or config.getini("clerkship_agent")
    return agent


def _collect_tasks(config: pytest.Config, path: Path, **selection: Any) -> "list[CollectedTask] | str":
    """Return the tasks of a suite, or the message about mistakes in its files."""
    try:
        path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        return _open_suites(config).tasks(path, **selection)
    except _input_error() as error:
        return str(error)


def _open_suites(config: pytest.Config) -> "SuiteCollection":
    if _SUITES not in config.stash:
        config.stash[_SUITES] = importlib.import_module("clerkship.service.testing").SuiteCollection()
    return config.stash[_SUITES]


def _input_error() -> type[Exception]:
    mistakes: type[Exception] = importlib.import_module("clerkship.model.errors").ClerkshipError
    return mistakes


@pytest.fixture(scope="session")
def clerkship_agent(request: pytest.FixtureRequest) -> object:
    """Return the agent for the tasks of suites.

    Define it in `conftest.py` to return a class, an object or a function.
    """
    return _find_agent(request.config) or pytest.fail(_NO_AGENT, pytrace=False)


@pytest.fixture(scope="session")
def clerkship_options() -> FixtureRunOptions:
    """Return the options of runs for the tasks of suites.

    Define it in `conftest.py` to return others, such as `{"trials": 3, "judge": "none"}`.
    """
    return {}


@pytest.fixture
def clerkship_task(request: pytest.FixtureRequest) -> "CollectedTask":
    """Return the task of this test; for tests with the marker `clerkship`, which `clerkship.run` accepts as a path."""
    if isinstance(request.node, SuiteTaskItem):
        return request.node.task
    pytest.fail('the fixture `clerkship_task` needs the marker: @pytest.mark.clerkship("path/of/the/suite")')


@pytest.fixture
def clerkship_result(
    clerkship: Clerkship,
    clerkship_task: "CollectedTask",
    clerkship_agent: object,
    clerkship_options: FixtureRunOptions,
) -> "Result":
    """Run the task of this test and return the result.

    Without a verdict, the setup of the test fails. If no criterion was judged, the test is skipped.
    """
    result = clerkship.run(clerkship_task, agent=clerkship_agent, **clerkship_options)
    if result.result_class == "errored":
        pytest.fail(_explain(result), pytrace=False)
    if result.result_class == "skipped":
        pytest.skip("no criterion was judged")
    return result


def _find_store(config: pytest.Config, given: str) -> Any:
    """Return the place of the store that an option names."""
    place = importlib.import_module("clerkship.model.store_place").parse_store_place(given)
    return config.rootpath / place if isinstance(place, Path) else place


@pytest.fixture
def clerkship(request: pytest.FixtureRequest) -> Iterator[Clerkship]:
    """Run tasks with an agent: `assert clerkship.run("suites/clinic", agent=MyAgent).passed`."""
    config = request.config
    given = config.getoption("--clerkship-store") or config.getini("clerkship_store")
    folder = None if given else request.getfixturevalue("tmp_path") / ".clerkship"
    store = _find_store(config, given) if folder is None else folder / "store.db"
    testing = importlib.import_module("clerkship.service.testing")
    places = (config.rootpath, Path(request.path).parent)
    practice = testing.ClerkshipFixture(store, places, _open_suites(config))
    used = Clerkship(practice, _input_error())
    request.node.stash[_FIXTURE] = used
    yield used
    practice.close()
    config.stash.setdefault(_WARNINGS, {}).update(dict.fromkeys(practice.warnings))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the reasons to a failed assertion before it is reported."""
    used = item.stash.get(_FIXTURE, None)
    if used is not None and call.excinfo is not None and isinstance(call.excinfo.value, AssertionError):
        used.explain_failure(call.excinfo.value)
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print warnings about broken plug-ins once for the session; they fail no test."""
    for warning in config.stash.get(_WARNINGS, {}):
        terminalreporter.write_line(f"clerkship: {warning}", yellow=True)
