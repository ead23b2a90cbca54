"""Deleting runs: everything of the run goes, and nothing of the others."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clerkship.service.rescore import rescore
from clerkship.settings import Settings
from clerkship.store import deletion
from clerkship.store.connection import connect
from clerkship.store.contract import RunBusy, StoreFailed, UnknownRun
from clerkship.store.database import Database
from clerkship.store.opening import open_store
from clerkship.store.sql import SqlStore
from clerkship.store.sqlite import SqliteStore
from tests.workbench import CATALOG, Workbench, unseal

pytestmark = pytest.mark.databases

TASK = """
    environment: {{name: desk, simulators: {{drop: {{kind: files}}}}}}
    tasks:
      - {{name: "{name}", criteria: [{{label: a, assertion: {{file_present: big.bin}}}}]}}
"""


def write_body(filled: bytes) -> Any:
    """Return an agent that writes a body too large for a log line, and one that all such agents write."""

    def work(task_item: Any, sandboxes: Any) -> None:
        sandboxes["drop"].write("big.bin", filled * 9000)
        sandboxes["drop"].write("same.bin", b"=" * 9000)

    return work


@pytest.fixture
def two(bench: Workbench) -> Workbench:
    """A store with two runs of one task by different agents."""
    bench.write("a.yml", TASK.format(name="Write"))
    for filled in (b"1", b"2"):
        bench.run(write_body(filled))
    return bench


def read_tables(store: SqlStore) -> dict[str, list[Any]]:
    """Return all rows of a store."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    if not isinstance(store, SqliteStore):
        query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'store_version'"
    tables = [row[0] for row in store._db.execute(query).fetchall()]
    return {table: sorted(store._db.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in tables}


def find_body(store: SqlStore, filled: bytes) -> bool:
    """Return whether the store has the body that only one agent wrote."""
    return any(row[0] == filled * 9000 for row in store._db.execute("SELECT data FROM blobs"))


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("is_sealed", [True, False])
def test_deletion_leaves_the_store_as_if_the_run_had_never_been(bench: Workbench, *, is_sealed: bool) -> None:
    bench.write("a.yml", TASK.format(name="Write"))
    bench.run(write_body(b"1"))
    before = read_tables(bench.store)
    bench.write("a.yml", TASK.format(name="Write another"))
    bench.run(write_body(b"2"))
    run_id = bench.store.run("latest").id
    bench.store.save_label(run_id, "a label")
    if not is_sealed:
        with closing(sqlite3.connect(bench.store.path)) as database, database:
            unseal(database)
    assert find_body(bench.store, b"2")
    bench.store.delete(run_id)
    after = read_tables(bench.store)
    if not is_sealed:
        before |= {table: [] for table in ("run_seals", "trial_seals", "end_seals")} | {"runs": after["runs"]}
    assert after == before


@pytest.mark.parametrize("reference", ["latest", "latest~1"])
def test_other_runs_stay_intact(two: Workbench, reference: str) -> None:
    deleted = two.store.run(reference)
    [kept] = [run for run, _ in two.store.runs() if run.id != deleted.id]
    two.store.delete(deleted.id)
    assert [run.id for run, _ in two.store.runs()] == [kept.id]
    check = two.store.check_seals(kept.id)
    assert not check.is_changed
    assert not check.unsealed
    with pytest.raises(UnknownRun):
        two.store.run(deleted.id)
    two.run(write_body(b"3"))  # row numbers are used again
    assert not two.store.check_seals(kept.id).is_changed
    assert not two.store.check_seals(two.store.run("latest").id).is_changed


def test_log_stays_while_a_rescored_run_needs_it(bench: Workbench) -> None:
    bench.write("a.yml", TASK.format(name="Write"))
    bench.run(write_body(b"1"))
    first = bench.store.run("latest").id
    again = rescore(bench.store, first, CATALOG).run.id
    bench.store.delete(first)
    assert not bench.store.check_seals(again).is_changed
    [task_run] = bench.store.task_runs(again)
    assert len(list(bench.store.log(task_run))) == task_run.events
    assert find_body(bench.store, b"1")
    bench.store.delete(again)
    rows = read_tables(bench.store)
    assert not any(rows.values()), {name: found for name, found in rows.items() if found}


def test_run_that_a_process_works_on_is_not_deleted(two: Workbench) -> None:
    run_id = two.store.run("latest").id
    before = read_tables(two.store)
    with open_store(Settings(), two.store.place) as other, other.hold(run_id), pytest.raises(RunBusy):
        two.store.delete(run_id)
    assert read_tables(two.store) == before
    two.store.delete(run_id)


def test_unknown_run_and_start_of_an_id_are_not_deleted(two: Workbench) -> None:
    for reference in ("latest", "run-", "", two.store.run("latest").id[:-1]):
        with pytest.raises(UnknownRun):
            two.store.delete(reference)
    assert len(two.store.runs()) == 2


@pytest.mark.databases("sqlite")
def test_failed_deletion_changes_nothing(two: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure after most rows are gone rolls all of them back, as the end of the process does."""
    before = read_tables(two.store)
    execute_many = deletion.delete_runs

    def fails(database: Database, run_ids: Sequence[str]) -> None:
        execute_many(database, run_ids)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(deletion, "delete_runs", fails)
    with pytest.raises(StoreFailed):
        two.store.delete(two.store.run("latest").id)
    assert read_tables(two.store) == before


@pytest.fixture
def killed(two: Workbench) -> Iterator[Path]:
    """A copy of the store's files in the middle of a deletion, as a killed process leaves them."""
    with closing(connect(two.store.path)) as database:
        database.execute("BEGIN IMMEDIATE")
        deletion.delete_runs(database, [two.store.run("latest").id])
        copy = two.store.path.with_name("copy.db")
        for suffix in ("", "-wal"):
            copy.with_name(f"{copy.name}{suffix}").write_bytes(
                two.store.path.with_name(f"{two.store.path.name}{suffix}").read_bytes()
            )
        yield copy
        database.execute("ROLLBACK")


@pytest.mark.databases("sqlite")
def test_killed_deletion_changes_nothing(killed: Path) -> None:
    with SqliteStore(killed) as store:
        assert len(store.runs()) == 2
        assert not any(store.check_seals(run.id).is_changed for run, _ in store.runs())


def test_label_is_kept_changed_and_removed(two: Workbench) -> None:
    run_id = two.store.run("latest").id
    two.store.save_label(run_id, "before the rewrite")
    assert two.store.labels() == {run_id: "before the rewrite"}
    two.store.save_label(run_id, "baseline")
    two.store.save_label("run-unknown", "nothing")
    assert two.store.labels() == {run_id: "baseline"}
    assert not two.store.check_seals(run_id).is_changed
    two.store.save_label(run_id, "")
    assert two.store.labels() == {}
