"""Stores: saving, loading and errors."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.snapshot import Snapshot
from clerkship.store.contract import StoreFailed, UnknownRun
from clerkship.store.seal import ChainEnd
from clerkship.store.sqlite import SqliteStore
from tests.workbench import Workbench

pytestmark = pytest.mark.databases

TASK = """
    environment: {{name: desk, simulators: {{drop: {{kind: files}}}}}}
    tasks:
      - {{name: Good {n}, criteria: [{{label: a, assertion: {{file_present: big.bin}}}}]}}
      - {{name: Bad {n}, criteria: [{{label: b, assertion: {{file_present: other.bin}}}}]}}
"""


def writes_much(task_item: Any, sandboxes: Any) -> dict[str, Any]:
    """Create a body that is too large for a log line."""
    sandboxes["drop"].write("big.bin", bytes(range(256)) * 100)
    return {"ü": [1, 2.5, None, True]}


def test_saved_run_is_loaded_unchanged(bench: Workbench) -> None:
    bench.write("a.yml", TASK.format(n=1))
    task_runs = bench.run(writes_much)
    assert [t.task for t in task_runs] == ["Bad 1", "Good 1"]
    good = task_runs[1]
    assert good.answer == {"ü": [1, 2.5, None, True]}
    assert good.criteria[0].evidence[0].passed
    written = next(e for e in bench.events(good) if e["kind"] == "files.file.written")
    assert bench.store.blob(written["blobs"]["data"]["sha256"]) == bytes(range(256)) * 100
    snapshot = Snapshot.model_validate_json(bench.store.blob(good.snapshot))
    assert snapshot.task.name == "Good 1"
    assert snapshot.hash == good.snapshot


@pytest.mark.databases("sqlite")
def test_failures_are_found_and_counts_come_from_the_index_alone(bench: Workbench) -> None:
    bench.write("a.yml", TASK.format(n=1))
    bench.run(writes_much, trials=3)
    run = bench.store.run("latest")
    assert {t.task for t in bench.store.task_runs(run.id, failed=True)} == {"Bad 1"}
    counts = bench.store.counts(run.id)
    assert (counts.done, counts.graded, counts.passed) == (6, 6, 3)
    database = sqlite3.connect(bench.store.path)
    query = "SELECT verdict, count(*) FROM task_runs WHERE run_id = ? GROUP BY verdict, status, agent_error"
    plan = database.execute(f"EXPLAIN QUERY PLAN {query}", ("x",)).fetchall()
    database.close()
    assert "COVERING INDEX task_runs_by_outcome" in plan[0][3]


def test_snapshot_is_stored_once(bench: Workbench) -> None:
    bench.write("a.yml", TASK.format(n=1))
    bench.run("nop", trials=5)
    bench.run("nop", trials=5)
    assert bench.store._db.execute("SELECT count(*) FROM blobs").fetchone() == (3,)  # and the plan


def test_runs_are_found_by_the_start_of_their_id(bench: Workbench) -> None:
    bench.write("a.yml", TASK.format(n=1))
    bench.run("nop")
    bench.run("nop")
    newest = bench.store.run("latest")
    assert bench.store.run(newest.id).id == newest.id
    assert [run.id for run, _ in bench.store.runs()] == [newest.id, bench.store.run("latest~1").id]
    with pytest.raises(UnknownRun, match="there is no run 'latest~2'"):
        bench.store.run("latest~2")
    assert next(run.id for run, _ in bench.store.runs()) == newest.id
    with pytest.raises(UnknownRun, match="several runs start with 'run-'"):
        bench.store.run("run-")
    with pytest.raises(UnknownRun, match="there is no run 'nothing'"):
        bench.store.run("nothing")


def test_trial_is_stored_once(bench: Workbench) -> None:
    bench.write("a.yml", TASK.format(n=1))
    task_run = bench.run("nop")[0]

    class Again:
        log = sidecar = b"{}"
        blobs: dict[str, bytes] = {}

        def __init__(self) -> None:
            self.task_run = task_run

    with pytest.raises(StoreFailed, match=r"UNIQUE|unique"):
        bench.store.save([Again()], ChainEnd())


def test_missing_or_invalid_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="there is no store"):
        SqliteStore(tmp_path / "none.db", create=False)
    (tmp_path / "text.db").write_text("hello, this is not a database at all\n" * 100)
    with pytest.raises(StoreFailed, match="name another file with --store"):
        SqliteStore(tmp_path / "text.db")
    database = sqlite3.connect(tmp_path / "newer.db")
    database.execute("PRAGMA user_version=99")
    database.close()
    with pytest.raises(StoreFailed, match="version 99"):
        SqliteStore(tmp_path / "newer.db")


def test_unwritable_path_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreFailed, match="failed"):
        SqliteStore(tmp_path / "file" / "store.db")
    if os.geteuid() != 0:
        (tmp_path / "locked").mkdir(mode=0o500)
        with pytest.raises(StoreFailed, match="choose a writable place"):
            SqliteStore(tmp_path / "locked" / "store.db")


def test_failed_filter_includes_every_outcome_but_pass(bench: Workbench) -> None:
    def crashes(task_item: Any) -> None:
        raise RuntimeError("no")

    bench.write("a.yml", "tasks: [{name: Crash}, {name: Fine}]")
    bench.run(crashes)
    assert [t.verdict for t in bench.store.task_runs(bench.store.run("latest").id, failed=True)] == ["fail"] * 2
    bench.run("oracle")
    assert {t.status for t in bench.store.task_runs(bench.store.run("latest").id, failed=True)} == {"errored"}
    bench.run(lambda task_item: "done")
    assert bench.store.task_runs(bench.store.run("latest").id, failed=True) == []


def test_each_yields_the_same_trials_as_task_runs(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.store.reader.PAGE_SIZE", 3)
    bench.write("a.yml", TASK.format(n=1))
    for trials in (1, 3, 4):
        task_runs = bench.run("nop", trials=trials)
        assert list(bench.store.each(bench.store.run("latest").id)) == task_runs
    assert list(bench.store.each("no such run")) == []
