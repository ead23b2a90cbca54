"""The pytest plug-in: a fixture that runs tasks, and explanations of failed assertions.

Pytest loads this module in every session where the package is installed. So it imports nothing of ours: the first
use of the fixture imports the rest by name.
"""

import importlib
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar, Unpack

import pytest

if TYPE_CHECKING:
    from clerkship.service.attacking import AttackReport
    from clerkship.service.testing import ClerkshipFixture, Result

T = TypeVar("T")
_FIXTURE = pytest.StashKey["Clerkship"]()
_WARNINGS = pytest.StashKey[dict[str, None]]()


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
    record: bool
    replay: bool
    refresh: bool
    agent_process: bool


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
        agent: object,
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
    """Add the option and the ini setting for the store."""
    about = "file in which the `clerkship` fixture stores runs; default: a file in the tmp_path of each test"
    parser.getgroup("clerkship").addoption("--clerkship-store", metavar="FILE", help=about)
    parser.addini("clerkship_store", about, default="")


@pytest.fixture
def clerkship(request: pytest.FixtureRequest) -> Iterator[Clerkship]:
    """Run tasks with an agent: `assert clerkship.run("suites/clinic", agent=MyAgent).passed`."""
    config = request.config
    given = config.getoption("--clerkship-store") or config.getini("clerkship_store")
    folder = None if given else request.getfixturevalue("tmp_path") / ".clerkship"
    store = config.rootpath / given if folder is None else folder / "store.db"
    testing = importlib.import_module("clerkship.service.testing")
    mistakes: type[Exception] = importlib.import_module("clerkship.model.errors").ClerkshipError
    practice = testing.ClerkshipFixture(store, (config.rootpath, Path(request.path).parent))
    used = Clerkship(practice, mistakes)
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
