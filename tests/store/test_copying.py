"""Copies of runs in other stores, and versions forward and back: nothing of a run changes."""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run
from clerkship.model.calibration import Agreement, Calibration, JudgeIdentity
from clerkship.model.errors import InputError
from clerkship.model.run import Attempt
from clerkship.model.store_place import PostgresAddress, StorePlace
from clerkship.service.copying_runs import copy_runs
from clerkship.service.rescore import rescore
from clerkship.settings import Settings
from clerkship.store.contract import StoreFailed
from clerkship.store.migrating import migrate_store
from clerkship.store.opening import open_store
from clerkship.store.schema import OLDEST_BACK, VERSION
from clerkship.store.sql import SqlStore
from tests.workbench import CATALOG, Workbench

TASKS = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    tasks:
      - {name: Good, criteria: [{label: a, assertion: {file_present: big.bin}}]}
      - {name: Bad, criteria: [{label: b, assertion: {file_present: other.bin}}]}
"""
KINDS = ["sqlite", "postgresql"]
CALIBRATION = Calibration(
    judge=JudgeIdentity(model="openai:a", parameters={}, prompt="criterion-1", votes=1),
    file="labelled.yml",
    labels="abc",
    at="2026-11-15T09:00:00+00:00",
    overall=Agreement(both_passed=1),
    criteria={},
)


def write_body(filled: bytes) -> Any:
    """Return an agent that writes a body too large for a log line."""

    def work(task_item: Any, sandboxes: Any) -> None:
        sandboxes["drop"].write("big.bin", filled * 9000)

    return work


def read_run(store: SqlStore, run_id: str) -> list[Any]:
    """Return what two runs of the same tasks have in common: verdicts, logs and bodies."""
    return [
        (each.task, each.trial, each.attempt, each.verdict, each.head, list(store.log(each)))
        for each in store.each(run_id, attempts=True)
    ]


def read_all(store: SqlStore, run_id: str) -> list[Any]:
    """Return everything of a run."""
    trials = list(store.each(run_id, attempts=True))
    return [
        store.run(run_id),
        store.ledger(run_id),
        store.check_seals(run_id),
        store.labels().get(run_id),
        [(each, store.sidecar(each), store.blob(each.snapshot)) for each in trials],
        read_run(store, run_id),
    ]


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], StorePlace]:
    """Return where a new store of a kind may be."""

    def find(kind: str) -> StorePlace:
        if kind == "sqlite":
            return tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        return PostgresAddress(request.getfixturevalue("postgres").new_schema())

    return find


def open_place(place: StorePlace, **options: Any) -> SqlStore:
    return open_store(Settings(), place, create=True)


def fill(folder: Path, store: SqlStore) -> list[str]:
    """Save two runs, the second of which is a regraded first; return their ids."""
    bench = Workbench(folder, store)
    bench.write("a.yml", TASKS)
    bench.run(write_body(b"1"), trials=2)
    first = store.run("latest").id
    store.save_label(first, "kept")
    store.save_calibration(CALIBRATION)
    return [first, rescore(store, first, CATALOG).run.id]


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_copied_runs_are_the_same_with_intact_seals(
    tmp_path: Path, new_place: Callable[[str], StorePlace], source: str, target: str
) -> None:
    with open_place(new_place(source)) as ours, open_place(new_place(target)) as theirs:
        others = fill(tmp_path / "others", theirs)
        runs = fill(tmp_path / "ours", ours)
        report = copy_runs(ours, theirs, (), lambda run: None)
        assert (report.copied, report.present, report.changed, report.calibrations) == (runs, [], [], 0)
        for run_id in runs:
            assert read_all(theirs, run_id) == read_all(ours, run_id)
            assert not theirs.check_seals(run_id).is_changed
        assert not any(theirs.check_seals(run_id).is_changed for run_id in others)
        again = copy_runs(ours, theirs, (), lambda run: None)
        assert (again.copied, again.present) == ([], runs)
        assert [run.id for run, _ in theirs.runs()] == [*reversed(runs), *reversed(others)]
        segments = "SELECT count(*) FROM log_segments"
        assert theirs._db.execute(segments).fetchone() == (8,)  # a regraded trial has the log of the first
        ours.delete(runs[0])
        theirs.delete(runs[0])
        assert read_run(theirs, runs[1]) == read_run(ours, runs[1])


def test_regraded_run_is_copied_without_its_original(tmp_path: Path, new_place: Callable[[str], StorePlace]) -> None:
    with open_place(new_place("sqlite")) as ours, open_place(new_place("sqlite")) as theirs:
        first, second = fill(tmp_path / "ours", ours)
        third = rescore(ours, first, CATALOG).run.id
        ours.delete(first)
        copy_runs(ours, theirs, [second, third], lambda run: None)
        for run_id in (second, third):
            assert read_all(theirs, run_id) == read_all(ours, run_id)
        assert theirs._db.execute("SELECT count(*) FROM log_segments").fetchone() == (4,)
        for run_id in (second, third):
            theirs.delete(run_id)
        assert theirs._db.execute("SELECT count(*) FROM log_segments").fetchone() == (0,)
        assert theirs._db.execute("SELECT count(*) FROM blobs").fetchone() == (0,)


@pytest.mark.parametrize("target", KINDS)
def test_interrupted_copy_leaves_nothing_and_is_finished_later(
    tmp_path: Path, new_place: Callable[[str], StorePlace], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_place(new_place("sqlite")) as ours, open_place(new_place(target)) as theirs:
        runs = fill(tmp_path / "ours", ours)

        def fails(*_: Any) -> None:
            raise StoreFailed("no space left")

        with monkeypatch.context() as patch:
            patch.setattr("clerkship.store.copying._copy_log", fails)
            with pytest.raises(StoreFailed):
                copy_runs(ours, theirs, (), lambda run: None)
        assert theirs.runs() == []
        assert theirs._db.execute("SELECT count(*) FROM blobs").fetchone() == (0,)
        assert not theirs.held(runs[0])
        copy_runs(ours, theirs, [runs[0]], lambda run: None)
        assert copy_runs(ours, theirs, (), lambda run: None).copied == [runs[1]]


def test_changed_run_is_copied_and_named(
    tmp_path: Path, new_place: Callable[[str], StorePlace], capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = new_place("sqlite"), tmp_path / "other.db"
    with open_place(source) as ours:
        runs = fill(tmp_path / "ours", ours)
        ours._db.execute("UPDATE task_runs SET verdict = 'pass' WHERE run_id = ?", (runs[0],))
        expected = ours.check_seals(runs[0])
    assert expected.is_changed
    assert run(["store", "copy", str(source), str(target)]) == 2
    assert f"{runs[0]} is not as it was sealed" in capsys.readouterr().err
    with open_place(target) as theirs:
        assert theirs.check_seals(runs[0]) == expected
    assert run(["store", "copy", str(source), str(target), "--json"]) == 0


def test_run_that_a_process_works_on_is_left_out_and_attempts_are_copied(
    tmp_path: Path, new_place: Callable[[str], StorePlace]
) -> None:
    with ExitStack() as stack:
        ours, theirs = (stack.enter_context(open_place(new_place("sqlite"))) for _ in range(2))
        [first, _] = fill(tmp_path / "ours", ours)
        begun = Attempt("Good", 3, 1)
        with suppress(KeyboardInterrupt), ours.hold(first) as hold:
            hold.begin(begun)
            assert copy_runs(ours, theirs, [first], lambda run: None).busy == [first]
            raise KeyboardInterrupt
        assert copy_runs(ours, theirs, [first], lambda run: None).copied == [first]
        assert list(theirs.begun(first)) == [begun]


def test_another_run_of_the_same_id_and_the_same_store_are_refused(
    tmp_path: Path, new_place: Callable[[str], StorePlace]
) -> None:
    with open_place(new_place("sqlite")) as ours, open_place(new_place("sqlite")) as theirs:
        [first, _] = fill(tmp_path / "ours", ours)
        copy_runs(ours, theirs, [first], lambda run: None)
        theirs._db.execute("UPDATE trial_seals SET seal = x'00' WHERE trial = 1")
        with pytest.raises(InputError, match="has another run-"):
            copy_runs(ours, theirs, (), lambda run: None)
        with pytest.raises(InputError, match="cannot be copied to itself"):
            copy_runs(ours, ours, (), lambda run: None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", range(OLDEST_BACK, VERSION))
def test_store_is_taken_back_and_forward_with_its_runs(
    tmp_path: Path, new_place: Callable[[str], StorePlace], kind: str, version: int
) -> None:
    place = new_place(kind)
    with open_place(place) as store:
        runs = fill(tmp_path / "ours", store)
        before = {run_id: read_all(store, run_id) for run_id in runs}
    assert migrate_store(place, version) == (VERSION, version)
    assert migrate_store(place, version) == (version, version)
    assert migrate_store(place, VERSION) == (version, VERSION)
    with open_place(place) as store:
        for run_id in runs:
            record, ledger, check, label, trials, logs = read_all(store, run_id)
            assert (record, logs, trials) == (before[run_id][0], before[run_id][5], before[run_id][4])
            if version >= 4:
                assert (ledger, check) == tuple(before[run_id][1:3])
            assert label == (before[run_id][3] if version >= 5 else None)
        assert len(store.calibrations("openai:a")) == (1 if version >= 3 else 0)
        assert fill(tmp_path / "more", store)


@pytest.mark.parametrize("kind", KINDS)
def test_copied_runs_that_share_numbers_are_not_taken_back(
    tmp_path: Path, new_place: Callable[[str], StorePlace], kind: str
) -> None:
    place = new_place(kind)
    with open_place(place) as store, open_place(new_place("sqlite")) as other:
        fill(tmp_path / "ours", store)
        fill(tmp_path / "others", other)
        copy_runs(other, store, (), lambda run: None)
        before = [read_all(store, run.id) for run, _ in store.runs()]
    with pytest.raises(StoreFailed, match="delete the copies first"):
        migrate_store(place, 5)
    with open_place(place) as store:
        assert [read_all(store, run.id) for run, _ in store.runs()] == before


def test_migrate_command_asks_before_it_deletes(
    tmp_path: Path, new_place: Callable[[str], StorePlace], capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(new_place("sqlite"))
    with open_place(Path(place)) as store:
        fill(tmp_path / "ours", store)
    assert run(["store", "migrate", place, "--to", "3"]) == 2
    assert "unless that is confirmed" in capsys.readouterr().err
    assert run(["store", "migrate", place, "--to", "5"]) == 0
    assert "is of version 5, and was of 6" in capsys.readouterr().out
    assert run(["store", "migrate", place, "--to", "3", "--yes"]) == 0
    assert run(["store", "migrate", place, "--json"]) == 0
    assert '"before": 3' in capsys.readouterr().out
    assert run(["store", "migrate", f"{place}-none"]) == 2
