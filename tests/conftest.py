"""Fixtures for all tests, and the rule that CI skips no test because a program is missing."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest import pytester

from tests.command_server import stop_command_server
from tests.examples import register_profiles
from tests.memory import get_memory, return_free_memory, share_pool_of_memory
from tests.waiting import time_limit
from tests.workbench import Workbench

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

pytest_plugins = ["tests.durations", "tests.chromium"]
os.environ.pop("UV_RUN_RECURSION_DEPTH", None)  # whoever starts the tests, messages name the command alike

ROOT = Path(__file__).parent.parent
SLOWEST = {
    "test_budgets.py",
    "test_docs.py",
    "test_examples.py",
    "test_chart.py",
    "test_attacks.py",
    "test_new_simulator.py",
    "test_installed.py",
}
register_profiles()
share_pool_of_memory()
gc.disable()  # until the tests are collected, which leaves no garbage

MAX_GROWTH = 32_000_000
"""Bytes of memory by which the process grows before garbage is collected."""
MAX_FROZEN_GROWTH = 128_000_000
"""Bytes of memory by which the process grows before garbage is collected among what earlier collections kept too."""
_memory_after_collection = {"all": 0, "new": 0}
TIME_LIMIT = 600.0
"""Seconds that setup, call and teardown of a test may take each: many times what they need on a busy machine."""
LONG_TIME_LIMIT = 3000.0
"""Seconds for tests that install and start the programs of others."""


def pytest_configure() -> None:
    """Let Ctrl-C interrupt, for tests that send it: a shell script ignores it for programs in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def _limit_time(item: pytest.Item) -> Generator[None]:
    """End a test that hangs, or whose fixtures do."""
    is_long = item.get_closest_marker("live") or item.get_closest_marker("model")
    with time_limit(LONG_TIME_LIMIT if is_long else TIME_LIMIT):
        return (yield)


pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = _limit_time


def pytest_enter_pdb() -> None:
    """Set no limit to debugging."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the slowest tests first, so that no process runs them alone at the end."""
    items.sort(key=lambda item: item.path.name not in SLOWEST)


def pytest_collection_finish() -> None:
    """Collect garbage rarely, and never among the objects of collected tests: it took a tenth of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_logfinish() -> None:
    """Collect garbage whenever the process has grown.

    A playground is a cycle of objects. The collector counts objects, not the megabytes of a body in one of them, so a
    process that runs tests would keep gigabytes for a long time. What a collection keeps is mostly kept for ever, so
    the next ones leave it out.
    """
    if get_memory() <= _memory_after_collection["new"] + MAX_GROWTH:
        return
    _collect_garbage("new")
    if _memory_after_collection["new"] > _memory_after_collection["all"] + MAX_FROZEN_GROWTH:
        gc.unfreeze()
        _collect_garbage("new", "all")
    gc.freeze()


def _collect_garbage(*kinds: str) -> None:
    gc.collect()
    return_free_memory()
    _memory_after_collection.update(dict.fromkeys(kinds, get_memory()))


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import a share of the test files first in each worker process, so that only one of them compiles a file."""
    worker: dict[str, Any] = getattr(session.config, "workerinput", {})
    if worker:
        paths = sorted(path for name in session.config.args for path in Path(name).rglob("test_*.py"))
        for path in paths[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
            with suppress(Exception, pytest.skip.Exception):  # raised again when the file is collected
                import_module(".".join(path.resolve().relative_to(ROOT).with_suffix("").parts))


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the dataset cache in a temporary folder instead of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("CLERKSHIP_CACHE", str(folder))
        yield folder


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests that are marked for both databases with a store in each."""
    marker = metafunc.definition.get_closest_marker("databases")
    if marker is not None and "sqlite" not in marker.args and "bench" in metafunc.fixturenames:
        slow = [pytest.mark.slow] if marker.kwargs.get("slow") else []
        metafunc.parametrize("bench", ["sqlite", pytest.param("postgresql", marks=slow)], indirect=True)


@pytest.fixture(autouse=True, scope="session")
def commands() -> Iterator[None]:
    """Stop the process that runs commands after the last test."""
    yield
    stop_command_server()


@pytest.fixture(scope="session")
def postgres() -> Iterator["PostgresServer"]:
    """A PostgreSQL server."""
    with import_module("tests.postgres_server").serve_postgres() as server:
        yield server


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workbench]:
    """A folder in which files are written and run, with a store in SQLite unless the test is for both databases."""
    store = None
    if getattr(request, "param", "sqlite") == "postgresql":
        store = request.getfixturevalue("postgres").new_store()
    workbench = Workbench(tmp_path, store)
    yield workbench
    workbench.store.close()


@pytest.fixture
def keep_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what sessions of `pytester` in this process import, except their own files.

    It removes all modules that a session was the first to import. The next import of one would be a second copy, with
    classes that are not those that the first copy's users have. Must come before `pytester`.
    """

    def is_installed(name: str) -> bool:
        file = getattr(sys.modules[name], "__file__", None) or ""
        return file.startswith((sys.prefix, sys.base_prefix, str(ROOT / "src")))

    take = pytester.SysModulesSnapshot
    monkeypatch.setattr(pytester, "SysModulesSnapshot", lambda preserve: take(preserve=is_installed))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Fail in CI if a test is skipped because a program is missing."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
