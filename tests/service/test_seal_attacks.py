"""Attacks on sealed runs by an attacker who can write to the store but does not have the key."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.cli.run_output import RunPresenter
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.report_targets import ReportTargets
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import RunResult
from clerkship.settings import Settings
from clerkship.store.contract import SealBroken, StoreFailed
from clerkship.store.sqlite import SqliteStore
from tests.service.test_seals import FIRST, KEY, LAST, SUITE, TamperingAgent, check, cli, tamper
from tests.workbench import CATALOG

SOLVER = PythonSolver("python:desk", TamperingAgent().work)
DELETE_FIRST = (f"DELETE FROM trial_seals WHERE {FIRST}", f"DELETE FROM task_runs WHERE {FIRST}")
REOPEN = (
    "INSERT INTO run_marks (id, run_id, status, at)"
    f" SELECT id + 1, run_id, 'active', at FROM run_marks WHERE {LAST} LIMIT 1"
)
REMOVE_THE_END = (f"DELETE FROM run_marks WHERE {LAST}", f"DELETE FROM end_seals WHERE {LAST}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite, and a store with one run of it that is sealed with a key."""
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "suite").mkdir()
    (folder / "suite" / "tasks.yml").write_text(SUITE)
    with SqliteStore(folder / "keyed.db", seal_key=KEY) as store:
        assert TamperingAgent().run(folder / "suite", store).exit_code() == 1
        store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


@pytest.fixture
def keyed(made: Path, tmp_path: Path) -> Path:
    """A copy of the sealed store."""
    return Path(shutil.copy(made / "keyed.db", tmp_path / "keyed.db"))


def refuse_to_resume(path: Path, reason: str) -> None:
    """Assert that a run cannot be resumed, even with the key."""
    with SqliteStore(path, seal_key=KEY) as store, pytest.raises(SealBroken, match=reason):
        plan_resume(store, "latest", CATALOG, Settings(), agent=SOLVER)


# Delete failing trials, and have them done again


def test_unsealed_mark_does_not_reopen_a_run(keyed: Path) -> None:
    for attack in (*DELETE_FIRST, REOPEN):
        tamper(keyed, attack)
    assert check(keyed, KEY).sentences() == ["the run itself: status (was completed, is active)"]
    refuse_to_resume(keyed, "was completed, is active")


def test_unsealed_mark_is_a_change_if_the_end_was_removed(keyed: Path) -> None:
    tamper(keyed, REMOVE_THE_END[1])
    tamper(keyed, f"UPDATE run_marks SET status = 'active' WHERE {LAST}")
    assert check(keyed, KEY).sentences() == ["the run itself: status (active, without a seal)"]


def test_missing_trial_is_detected_even_if_the_end_was_removed(keyed: Path) -> None:
    for attack in (*DELETE_FIRST, *REMOVE_THE_END):
        tamper(keyed, attack)
    [sentence] = check(keyed, KEY).sentences()
    assert sentence.startswith("the run itself: seals of its trials (number 1 is missing")
    refuse_to_resume(keyed, "number 1 is missing")


def test_trials_cannot_be_renumbered_without_the_key(keyed: Path) -> None:
    for attack in (*DELETE_FIRST, *REMOVE_THE_END):
        tamper(keyed, attack)
    tamper(keyed, f"UPDATE trial_seals SET number = number - 1 WHERE {LAST}")
    assert check(keyed, KEY).sentences() == ["Second (trial 1): seal", "Third (trial 1): seal"]


def test_deleting_earlier_trials_during_a_resume_is_detected(keyed: Path) -> None:
    with SqliteStore(keyed, seal_key=KEY) as store:
        run = store.run("latest")
        store.mark(run.id, "active", "2026-01-01T00:00:00+00:00", store.ledger(run.id))
    assert check(keyed, KEY).data()["state"] == "intact"
    for table in ("trial_seals", "task_runs"):
        tamper(keyed, f"DELETE FROM {table} WHERE {LAST} AND task = 'Third'")
    assert check(keyed, KEY).sentences() == ["the run itself: seals of its trials"]


def test_resumed_run_is_intact_and_can_be_resumed_again(made: Path, tmp_path: Path) -> None:
    class Stopped(Exception):
        """Ends the first run early."""

    class Stopping(TamperingAgent):
        def heed(self, task_run: object) -> None:
            raise Stopped

    path = tmp_path / "keyed.db"
    with SqliteStore(path, seal_key=KEY) as store:
        with pytest.raises(Stopped):
            Stopping().run(made / "suite", store)
        run = store.run("latest")
        store.mark(run.id, "cancelled", run.started_at, store.ledger(run.id))
        result = resume(plan_resume(store, "latest", CATALOG, Settings(), agent=SOLVER), store, CATALOG)
        assert (result.counts.done, result.exit_code()) == (3, 1)
        assert [row[0] for row in store._db.execute("SELECT status FROM end_seals ORDER BY mark")] == [
            "cancelled",
            "active",
            "completed",
        ]
    assert check(path, KEY).data() == {"state": "intact", "changes": [], "notes": []}


def test_run_without_a_seal_is_changed_if_its_trials_or_end_are_sealed(keyed: Path) -> None:
    tamper(keyed, f"DELETE FROM run_seals WHERE {LAST}")
    tamper(keyed, "UPDATE runs SET record = replace(record, '\"sealed\":true', '\"sealed\":false')")
    with SqliteStore(keyed, seal_key=KEY) as store:
        run_id = store.run("latest").id
        for found in (store.check_seals(run_id), store.check_head(run_id), store.check_plan(run_id)):
            assert "the run itself: seal (removed)" in found.sentences()


# Replace the store, or add code to it


def swap(path: Path) -> None:
    """Replace the store with a copy of it."""
    copy = path.with_name("copy.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    copy.replace(path)


def delete(path: Path) -> None:
    """Delete the store and the files beside it."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def delete_log(path: Path) -> None:
    """Delete the write-ahead log: later readers would not see what is only in there."""
    path.with_name(f"{path.name}-wal").unlink()


@pytest.mark.parametrize("attack", [swap, delete, delete_log])
def test_replacing_the_store_during_a_run_is_detected(
    attack: Callable[[Path], None], made: Path, tmp_path: Path
) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        result = TamperingAgent(lambda: attack(store.path)).run(made / "suite", store)
    assert result.seals is not None
    assert "the run itself: the store was replaced or deleted during the run" in result.seals.sentences()
    assert result.exit_code() == 2


CHANGE = "UPDATE task_runs SET verdict = 'pass', record = replace(record, '\"fail\"', '\"pass\"')"


def add_trigger(table: str) -> Callable[[sqlite3.Connection], object]:
    """Return an attack that changes verdicts as soon as the run marks or seals its end."""
    statement = f"CREATE TRIGGER x AFTER INSERT ON {table} BEGIN {CHANGE}; END"
    return lambda database: database.execute(statement)


@pytest.mark.parametrize("table", ["run_marks", "end_seals"])
def test_change_by_a_trigger_at_the_end_of_a_run_is_detected(table: str, made: Path, tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        result = TamperingAgent(lambda: tamper(store.path, add_trigger(table))).run(made / "suite", store)
        assert result.seals is not None
        assert result.seals.sentences() == [
            "the run itself: the store has a trigger `x`",
            "First (trial 1): verdict (was fail, is pass), record",
        ]
        assert result.exit_code() == 2


def test_store_with_triggers_or_views_is_refused(made: Path, keyed: Path) -> None:
    tamper(keyed, lambda database: database.execute("CREATE VIEW mine AS SELECT 1"))
    assert check(keyed, KEY).sentences() == ["the run itself: the store has a view `mine`"]
    with SqliteStore(keyed, seal_key=KEY) as store, pytest.raises(StoreFailed, match="has a view `mine`"):
        TamperingAgent().run(made / "suite", store)


def test_change_between_the_end_of_a_run_and_the_summary_is_detected(made: Path, tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        result = TamperingAgent().run(made / "suite", store)
        assert result.checked_again(store) == result
        tamper(store.path, CHANGE)
        found = result.checked_again(store)
        assert found.seals is not None
        assert found.seals.sentences() == ["First (trial 1): verdict (was fail, is pass), record"]
        assert found.exit_code() == 2


def test_change_before_the_summary_is_in_summary_and_reports(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, junit = tmp_path / "store.db", tmp_path / "a.xml"

    def run_and_change(_: object) -> RunResult:
        done = TamperingAgent().run(made / "suite", store)
        tamper(path, CHANGE)
        return done

    plan = plan_run(RunRequest(path=made / "suite", agent=SOLVER), Settings(), CATALOG)
    with SqliteStore(path) as store:
        result, view = RunPresenter(store, path, ReportTargets(junit=junit), CATALOG).follow(plan, 3, run_and_change)
    assert (result.exit_code(), view.seals.is_changed) == (2, True)
    assert "pass rate" not in capsys.readouterr().out
    assert 'type="changed"' in junit.read_text()


def test_command_reports_a_trigger_and_does_not_claim_success(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trickster.py").write_text(TRICKSTER)
    code, out, _ = cli(
        capsys, "run", str(made / "suite"), "-a", "python:trickster:agent", "-c", "1", "--junit", "a.xml"
    )
    assert (code, "CHANGED run-" in out, "pass rate" in out) == (2, True, False)
    assert 'type="changed"' in Path("a.xml").read_text()


TRICKSTER = f"""
import sqlite3

def agent(task_item):
    if task_item["n"] == 3:
        database = sqlite3.connect(".clerkship/store.db", isolation_level=None)
        database.execute('''CREATE TRIGGER x AFTER INSERT ON end_seals BEGIN {CHANGE}; END''')
        database.close()
    return 41
"""
