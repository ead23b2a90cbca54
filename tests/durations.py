"""Record the processor time of every test and the memory of every process, and fail if it is too much.

Each run of pytest writes a file to `.cache/durations`, with a line for each phase of a test and one for each process
that ran tests. `python -m tests.durations` shows the slowest tests and files of the newest one, or of the file that is
named.

Processor time is that of the process that runs the test, of the programs that it started, and of the commands that
`tests.command_server` ran for it. Unlike wall time it hardly depends on what else the machine does.
"""

import argparse
import gc
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TextIO

import pytest

from tests.command_server import get_command_server, get_commands_processor_time
from tests.memory import get_memory, return_free_memory

CPU_LIMIT = 15.0 if "CI" in os.environ else 5.0
"""Seconds of processor time of a phase of a test, unless it is marked. The machine of CI may be slow at times."""
LOOP_SECONDS, SLOWDOWN_MARGIN = 0.009, 1.3
"""What the loop of `measure_slowdown` takes on an idle machine, and how much more than in the loop a test may lose."""
MEMORY_LIMIT = 2000.0
"""Megabytes of memory of a process that runs tests, at its end."""
UNLIMITED = ("long", "slow", "live", "model", "fhir")
"""Markers of tests without this limit."""
FOLDER = Path(".cache", "durations")
MAX_FILES = 30
TICKS = os.sysconf("SC_CLK_TCK")

_cpu = pytest.StashKey[float]()
_recorder = pytest.StashKey["Recorder"]()


class Phase(NamedTuple):
    """What one phase of a test, or one process, took."""

    cpu: float
    wall: float
    phase: str
    outcome: str
    name: str

    def to_line(self) -> str:
        return f"{self.cpu:.3f}\t{self.wall:.3f}\t{self.phase}\t{self.outcome}\t{self.name}\n"

    @classmethod
    def from_line(cls, line: str) -> "Phase":
        cpu, wall, phase, outcome, name = line.rstrip("\n").split("\t", 4)
        return cls(float(cpu), float(wall), phase, outcome, name)


class Recorder:
    """Writes what the tests of all processes took, as soon as each has ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{datetime.now():%Y-%m-%d-%H%M%S}-{os.getpid()}.tsv"
        self._file: TextIO | None = None
        self._memory: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cpu = getattr(report, "cpu", 0.0)
        self._write([Phase(cpu, report.duration, report.when or "", report.outcome, report.nodeid)])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Write what a worker process of pytest-xdist says of itself."""
        self._write(Phase(*phase) for phase in getattr(node, "workeroutput", {}).get("processes", ()))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write what this process took, remove old files, and fail if a process keeps too much memory."""
        if self._file is not None:
            self._write(_describe_process(session.config))
            self._file.close()
            self._file = None
        for path in _list_files(self._folder)[MAX_FILES:]:
            path.unlink(missing_ok=True)
        limit = session.config.getoption("--memory-limit")
        if any(float(memory.partition(" ")[0]) > limit for memory in self._memory.values()):
            self._memory["error"] = f"a process may keep {limit:g} MB; find what it keeps, and let it go"
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name, memory in self._memory.items():
            terminalreporter.write_line(f"{name}: {memory}")

    def _write(self, phases: Iterable[Phase]) -> None:
        phases = list(phases)
        self._memory.update((phase.name, phase.outcome) for phase in phases if phase.phase == "session")
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a", encoding="utf-8", buffering=1)
        self._file.writelines(phase.to_line() for phase in phases)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-limit", type=float, default=CPU_LIMIT, help="seconds of processor time for a test without a marker"
    )
    parser.addoption(
        "--memory-limit", type=float, default=MEMORY_LIMIT, help="megabytes that a process may keep at its end"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config.rootpath / FOLDER), "durations")


def pytest_collection_finish(session: pytest.Session) -> None:
    session.config.stash[_cpu] = get_cpu()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["processes"] = [tuple(phase) for phase in _describe_process(session.config)]


@pytest.hookimpl(wrapper=True)
def _measure(item: pytest.Item) -> Generator[None]:
    before = get_cpu()
    try:
        result = yield
    finally:
        cpu = item.stash[_cpu] = get_cpu() - before
    limit = item.config.getoption("--cpu-limit")
    is_limited = not any(item.get_closest_marker(name) for name in UNLIMITED)
    if is_limited and cpu > limit and cpu > limit * measure_slowdown():
        pytest.fail(f"{cpu:.1f} s of processor time, more than {limit:g} s: make it cheaper, or mark it `long`", False)
    return result


pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = _measure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    report.cpu = item.stash.get(_cpu, 0.0)  # type: ignore[attr-defined]
    return report


def measure_slowdown() -> float:
    """Return how many times as long this machine takes now as an idle one, with a margin; measured by a short loop."""
    taken = []
    for _ in range(5):
        before = time.thread_time()
        sum(number * number for number in range(100_000))
        taken.append(time.thread_time() - before)
    return SLOWDOWN_MARGIN * median(taken) / LOOP_SECONDS


def get_cpu() -> float:
    """Return the processor time of this process, of those that it started, and of commands, in seconds."""
    times = os.times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + _get_cpu_of_children("/proc/self") + get_commands_processor_time()


def _get_cpu_of_children(process: str) -> float:
    """Return the processor time of running processes that a process started, and of those that they started.

    The server of commands is not one of them: all tests share the time that it takes to start.
    """
    seconds = 0.0
    for number in _list_children(process):
        fields = _read(f"/proc/{number}/stat").rpartition(b")")[2].split()
        if fields and int(number) != get_command_server():
            seconds += sum(map(int, fields[11:15])) / TICKS + _get_cpu_of_children(f"/proc/{number}")
    return seconds


def _list_children(process: str) -> list[str]:
    try:
        threads = os.listdir(f"{process}/task")  # noqa: PTH208  (it takes a fifth of the time, twice for each test)
    except OSError:  # it has ended
        return []
    return [number.decode() for thread in threads for number in _read(f"{process}/task/{thread}/children").split()]


def _read(file: str) -> bytes:
    """Return the content of a file in /proc; empty if its process has ended."""
    try:
        with open(file, "rb", buffering=0) as opened:  # noqa: PTH123
            return opened.read()
    except OSError:
        return b""


def _describe_process(config: pytest.Config) -> Iterator[Phase]:
    name = os.environ.get("PYTEST_XDIST_WORKER", "main")
    gc.collect()
    return_free_memory()
    now, most = get_memory() / 10**6, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 10**6
    yield Phase(config.stash.get(_cpu, 0.0), 0.0, "collection", "process", name)
    yield Phase(get_cpu(), 0.0, "session", f"{now:.0f} MB at its end, {most:.0f} MB at most", name)


def _list_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tsv"), key=lambda path: path.stat().st_mtime, reverse=True)


def main(arguments: list[str] | None = None) -> None:
    """Print the slowest tests and files of a run."""
    parser = argparse.ArgumentParser(prog="python -m tests.durations", description="Show the slowest tests of a run.")
    parser.add_argument("file", nargs="?", type=Path, help="a file of .cache/durations; the newest if none is named")
    parser.add_argument("--count", type=int, default=25, help="how many tests and files to show")
    options = parser.parse_args(arguments)
    path = options.file or next(iter(_list_files(FOLDER)), None)
    if path is None:
        parser.error(f"no run is recorded in {FOLDER}: run some tests first")
    sys.stdout.writelines(_describe_run(path, options.count))


def _describe_run(path: Path, count: int) -> Iterator[str]:
    phases = [Phase.from_line(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tests, files = Counter[str](), Counter[str]()
    for phase in phases:
        if phase.phase in {"setup", "call", "teardown"}:
            tests[phase.name] += phase.cpu  # type: ignore[assignment]
            files[phase.name.partition("::")[0]] += phase.cpu  # type: ignore[assignment]
    yield f"{path}: {sum(files.values()):.0f} s of processor time in {len(tests)} tests of {len(files)} files\n"
    for phase in phases:
        if phase.phase in {"collection", "session"}:
            yield f"{phase.name} {phase.phase}: {phase.cpu:.1f} s, {phase.outcome}\n"
    for title, counts in (("tests", tests), ("files", files)):
        yield f"\nslowest {title}, seconds of processor time\n"
        for name, seconds in islice(counts.most_common(), count):
            yield f"{seconds:8.1f}  {name}\n"


if __name__ == "__main__":
    main()
