"""Stores under system failures: a clear error, and no damage."""

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.model.calibration import Agreement, Calibration, JudgeIdentity
from clerkship.service import running
from clerkship.service.planning import plan as planning
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.service.task_view import EventFilter, load_task_view
from clerkship.settings import Settings
from clerkship.store.contract import StoreFailed
from clerkship.store.sqlite import SqliteStore
from tests.command_server import get_command
from tests.workbench import CATALOG, LATER_TABLES, Workbench

ROOT = Path(__file__).parents[2]
TASK = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    task: {name: Write, task_item: {}, criteria: [{label: a, assertion: {file_present: big.txt}}]}
"""


CALIBRATION = Calibration(
    judge=JudgeIdentity(model="openai:a", parameters={"temperature": 0}, prompt="criterion-1", votes=3),
    file="labelled.yml",
    labels="abc",
    at="2026-11-15T09:00:00+00:00",
    overall=Agreement(both_passed=12, both_failed=10, false_passes=1, false_fails=1),
    criteria={"It says why": Agreement(both_passed=12, errors=1)},
)


def writes(task_item: Any, sandboxes: Any) -> None:
    """Create data that takes space and differs each time."""
    sandboxes["drop"].write("big.txt", str(sandboxes.now).encode() * 200)


def whole(store: SqliteStore) -> list[tuple[str, int, str | None]]:
    """Verify the log of every trial of the last run against its head."""
    found = store.task_runs(store.run("latest").id)
    assert all(load_task_view(store, task_run).intact for task_run in found)
    return [(task_run.task, task_run.trial, task_run.verdict) for task_run in found]


def test_full_disk_ends_the_run_and_resume_continues_it(bench: Workbench) -> None:
    bench.write("a.yml", TASK)
    solver = PythonSolver("agent", writes)
    plan = plan_run(RunRequest(path=bench.folder, agent=solver, trials=300), Settings(), CATALOG)
    pages = bench.store._db.execute("PRAGMA page_count").fetchone()[0]
    bench.store._db.execute(f"PRAGMA max_page_count={pages + 100}")  # more than one save of 64
    with pytest.raises(StoreFailed, match="full; free some space and go on with `clerkship resume`"):
        execute(plan, bench.store, CATALOG)
    kept = whole(bench.store)
    assert 0 < len(kept) < 300
    bench.store._db.execute("PRAGMA max_page_count=1000000")
    resume(plan_resume(bench.store, plan.run.id, CATALOG, Settings(), agent=solver), bench.store, CATALOG)
    assert whole(bench.store) == [("Write", trial, "pass") for trial in range(1, 301)]
    assert bench.store.run("latest").status == "completed"


@pytest.mark.slow
def test_file_size_limit_ends_the_command_with_an_error(bench: Workbench) -> None:
    bench.write("a.yml", TASK.replace("file_present: big.txt", "never: {event: files.file.written}"))
    path = bench.store.path.with_name("small.db")
    command = [sys.executable, "-m", "clerkship", "run", str(bench.folder), "--agent", "nop", "-k", "1000"]
    ended = subprocess.run(
        [*command, "--store", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)),
        timeout=120,
    )
    assert ended.returncode == 2
    assert "goes on" in ended.stderr or "go on with `clerkship resume`" in ended.stderr
    assert "Traceback" not in ended.stderr
    again = subprocess.run(
        [*command[:3], "resume", "latest", "--store", str(path), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert again.returncode == 1, again.stderr  # an agent that does nothing fails
    with SqliteStore(path) as store:
        assert len(whole(store)) == 1000


def test_clock_going_backwards_keeps_order_and_duration_of_runs(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("a.yml", TASK)
    bench.run(writes)
    first = bench.store.run("latest").id
    times = iter(datetime(2020, 1, 1, tzinfo=UTC) - timedelta(days=days) for days in range(100))
    for module in (planning, running):
        monkeypatch.setattr(module, "now", lambda: next(times))
    bench.run(writes)
    second = bench.store.run("latest")
    assert second.id != first
    assert [run.id for run, _ in bench.store.runs()] == [second.id, first]
    assert second.completed_at is not None
    assert second.completed_at >= second.started_at


def test_two_processes_write_to_one_store_at_once(bench: Workbench) -> None:
    bench.write("a.yml", TASK)
    command = [get_command(), "run", str(bench.folder), "--agent", "nop", "-k", "40", "--json"]
    path = bench.store.path.with_name("shared.db")
    started = [
        subprocess.Popen([*command, "--store", str(path)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in started:
        _, complaint = process.communicate(timeout=120)
        assert process.returncode == 1, complaint  # nop does not pass
    with SqliteStore(path) as store:
        assert [counts.done for _, counts in store.runs()] == [40, 40, 40]
        assert len(whole(store)) == 40


def test_store_of_version_1_is_upgraded(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", TASK)
    bench.run(writes)
    run = bench.store.run("latest")
    old = sqlite3.connect(bench.store.path, isolation_level=None)
    old.execute("CREATE TABLE run_ends (run_id TEXT PRIMARY KEY, status TEXT NOT NULL, completed_at TEXT NOT NULL)")
    old.execute("INSERT INTO run_ends SELECT run_id, status, at FROM run_marks")
    for table in ("run_marks", "regraded", "calibrations", *LATER_TABLES):
        old.execute(f"DROP TABLE {table}")
    old.execute("DROP INDEX task_runs_again")
    old.execute("CREATE INDEX runs_by_start ON runs (started_at)")
    old.execute("UPDATE log_segments SET id = id >> 32 << 20")
    old.execute("PRAGMA user_version=1")
    old.close()
    bench.store.close()
    with SqliteStore(bench.store.path) as store:
        assert store.run("latest") == run
        assert whole(store) == [("Write", 1, "pass")]
    with SqliteStore(bench.store.path) as store:
        assert store.run("latest") == run


def test_store_of_version_2_is_upgraded(bench: Workbench) -> None:
    bench.write("a.yml", TASK)
    bench.run(writes)
    run = bench.store.run("latest")
    bench.store.close()
    as_before(bench.store.path)
    with SqliteStore(bench.store.path) as store:
        assert (store.run("latest"), whole(store)) == (run, [("Write", 1, "pass")])
        assert store.calibrations("openai:a") == ()
        store.save_calibration(CALIBRATION)
    with SqliteStore(bench.store.path) as store:
        assert store.calibrations("openai:a") == (CALIBRATION,)
        assert store.calibrations("openai:b") == ()


def as_before(path: Path) -> None:
    """Return a store of version 2."""
    old = sqlite3.connect(path, isolation_level=None)
    for table in ("calibrations", *LATER_TABLES):
        old.execute(f"DROP TABLE {table}")
    old.execute("PRAGMA user_version=2")
    old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    old.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can read. Those of pytest are closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_older_read_only_store_is_read_without_upgrade(open_folder: Path) -> None:
    bench = Workbench(open_folder)
    bench.write("a.yml", TASK)
    bench.run(writes)
    bench.store.close()
    as_before(bench.store.path)
    bench.store.path.chmod(0o444)
    open_folder.chmod(0o555)

    def look() -> object:
        with SqliteStore(bench.store.path, create=False) as store:
            return whole(store), store.calibrations("openai:a")

    assert as_nobody(look) == "([('Write', 1, 'pass')], ())"
    open_folder.chmod(0o755)


def test_log_is_read_in_segments(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.store.sql.SEGMENT", 300)
    bench.write("a.yml", TASK)

    def busy(task_item: Any, sandboxes: Any) -> None:
        for number in range(50):
            sandboxes["drop"].write(f"{number}.txt", b"x")

    task_run = bench.run_one(busy)
    lines = list(bench.store.log(task_run))
    assert len(lines) == task_run.events > 50
    assert bench.store._db.execute("SELECT count(*) FROM log_segments").fetchone()[0] > 10
    assert load_task_view(bench.store, task_run).intact
    for after in (0, 1, 2, 3, 17, len(lines) - 1, len(lines), len(lines) + 5):
        assert list(bench.store.log(task_run, after)) == lines[after:]
    found = load_task_view(bench.store, task_run, EventFilter(kind="files.*", after=20, limit=3)).events
    assert [event["seq"] for event in found] == [21, 22, 23]


def as_nobody(work: Callable[[], object]) -> str:
    """Run a function in a process without root privileges."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pytest may have threads; the child needs none of them
        child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(writing, repr(work()).encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as said:
        return said.read().decode()


def test_read_only_store_can_be_read_and_refuses_writes(open_folder: Path) -> None:
    bench = Workbench(open_folder)
    bench.write("a.yml", TASK)
    bench.run(writes)
    path = bench.store.path
    bench.store.close()
    assert not path.with_name(f"{path.name}-wal").exists()
    path.chmod(0o444)
    open_folder.chmod(0o555)

    def look() -> object:
        with SqliteStore(path, create=False) as store:
            return whole(store)

    def write() -> object:
        with SqliteStore(path, create=False) as store:
            store.mark("x", "completed", "now")
        return "written"

    assert as_nobody(look) == "[('Write', 1, 'pass')]"
    assert "choose a writable place with --store" in as_nobody(write)
    assert "choose a writable place with --store" in as_nobody(lambda: SqliteStore(path))
    assert "choose a writable place with --store" in as_nobody(lambda: SqliteStore(open_folder / "new.db"))
    open_folder.chmod(0o755)


def test_concurrent_creators_of_a_store_wait_for_each_other(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from clerkship.store.sqlite import SqliteStore as S; S(pathlib.Path(sys.argv[1])).close()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "new.db")]
    makers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [maker.communicate(timeout=60)[1] for maker in makers] == [""] * 3
