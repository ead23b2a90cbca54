"""Changes to saved trials are detected at the end of the run, and by every later reader."""

import json
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from clerkship.actors.python import PythonSolver
from clerkship.cli.app import run
from clerkship.model.errors import InputError
from clerkship.model.run import Counts, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.service.fork import plan_fork
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import ForkRequest, RunRequest
from clerkship.service.rerun import plan_rerun
from clerkship.service.rescore import rescore
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import RunResult, execute
from clerkship.service.testing import ClerkshipFixture
from clerkship.settings import Settings, find_secrets, get_inherited_environment, load_settings
from clerkship.store.connection import open_read_only
from clerkship.store.contract import SealBroken
from clerkship.store.seal import ChainEnd, SealKey
from clerkship.store.seal_table import SealTable
from clerkship.store.sqlite import SqliteStore
from clerkship.store.verification import SealVerification
from tests.workbench import CATALOG, LATER_TABLES, NOT_SEALED, SEAL_TABLES

KEY, OTHER_KEY = "0123456789abcdef", "fedcba9876543210"
NO_SEALS = "has no seals: it was saved by an older version, or its seals were removed; nothing was checked"
NAMES = ("First", "Second", "Third")
SUITE = "environment: {name: desk, simulators: {box: {kind: files}}}\ntasks:\n" + "".join(
    f"  - {{name: {name}, task_item: {{n: {n}}}, criteria: [{{label: right, assertion: {{answer_matches: 42}}}}]}}\n"
    for n, name in enumerate(NAMES, 1)
)
Tampering = Callable[[sqlite3.Connection], object]


def one(database: sqlite3.Connection, query: str) -> Any:
    """Return the first value of a query."""
    return database.execute(query).fetchone()[0]


LAST = "run_id = (SELECT id FROM runs ORDER BY rowid DESC LIMIT 1)"
FIRST = f"{LAST} AND task = 'First'"


def swap_logs(database: sqlite3.Connection) -> None:
    """Exchange the logs of the first two trials."""
    ids = [row[0] for row in database.execute(f"SELECT id << 32 FROM task_runs WHERE {LAST} ORDER BY task LIMIT 2")]
    for old, new in ((ids[0], 1 << 60), (ids[1], ids[0]), (1 << 60, ids[1])):
        place = (new, old, old, old + (1 << 32))
        database.execute("UPDATE log_segments SET id = id + ? - ? WHERE id >= ? AND id < ?", place)


def rewrite_body(database: sqlite3.Connection) -> None:
    """Change the body that the first trial wrote to a file."""
    blobs = one(database, f"SELECT blobs FROM trial_seals WHERE {FIRST}")
    database.execute("UPDATE blobs SET data = x'00' WHERE sha256 = ?", (blobs.split()[0],))


def rewrite_everything(database: sqlite3.Connection) -> None:
    """Change a verdict and remove its seal."""
    database.execute(f"UPDATE task_runs SET verdict = 'pass' WHERE {FIRST}")
    database.execute(f"DELETE FROM trial_seals WHERE {FIRST}")


ADD = (
    "INSERT INTO task_runs (run_id, task, trial, attempt, status, verdict, agent_error, record, sidecar)"
    f" SELECT run_id, task, 9, 1, status, 'pass', 0, record, sidecar FROM task_runs WHERE {FIRST}"
)
SNAPSHOT = f"(SELECT snapshot FROM trial_seals WHERE {FIRST})"
ATTACKS: dict[str, tuple[str | Tampering, str]] = {
    "verdict": (f"UPDATE task_runs SET verdict = 'pass' WHERE {FIRST}", "First (trial 1): verdict (was fail, is pass)"),
    "record": (
        f"UPDATE task_runs SET record = replace(record, '\"fail\"', '\"pass\"') WHERE {FIRST}",
        "First (trial 1): record",
    ),
    "sidecar": (f"UPDATE task_runs SET sidecar = x'7b7d' WHERE {FIRST}", "First (trial 1): sidecar"),
    "log": (
        "UPDATE log_segments SET data = replace(data, 'agent', 'friend')"
        f" WHERE id >> 32 = (SELECT id FROM task_runs WHERE {FIRST})",
        "First (trial 1): log",
    ),
    "deleted trial": (f"DELETE FROM task_runs WHERE {FIRST}", "First (trial 1): deleted"),
    "added trial": (ADD, "First (trial 9): added"),
    "body": (rewrite_body, "First (trial 1): blob "),
    "snapshot": (f"UPDATE blobs SET data = x'7b7d' WHERE sha256 = {SNAPSHOT}", "First (trial 1): snapshot (changed)"),
    "deleted snapshot": (f"DELETE FROM blobs WHERE sha256 = {SNAPSHOT}", "First (trial 1): snapshot (missing)"),
    "swapped logs": (swap_logs, "Second (trial 1): log"),
    "verdict and its seal": (rewrite_everything, "First (trial 1): "),
    "run": (
        "UPDATE runs SET record = replace(record, '\"criteria\":', '\"criteria\":1') WHERE id ="
        " (SELECT id FROM runs ORDER BY rowid DESC LIMIT 1)",
        "the run itself: record",
    ),
}
BY_ATTACK = pytest.mark.parametrize("attack", ATTACKS)


def tamper(path: Path, attack: str | Tampering) -> None:
    """Change a store without updating its seals."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        if isinstance(attack, str):
            assert database.execute(attack).rowcount >= 1
        else:
            attack(database)


class TamperingAgent:
    """Fails the first task; in the third task it can attack the store, once the first two are saved."""

    def __init__(self, attack: Callable[[], None] | None = None) -> None:
        self.attack = attack
        self.saved = {name: Event() for name in NAMES}

    def heed(self, task_run: TaskRun) -> None:
        """Count the saved trials."""
        self.saved[task_run.task].set()

    def work(self, task_item: Any, sandboxes: Any) -> int:
        number = int(task_item["n"])
        sandboxes["box"].write("a.txt", b"x" * 9000 + bytes([48 + number]))
        if number == 3 and self.attack is not None:
            assert self.saved["First"].wait(10)
            assert self.saved["Second"].wait(10)
            self.attack()
        return 42 if number > 1 else 41

    def run(self, folder: Path, store: SqliteStore) -> RunResult:
        """Run the suite in a folder."""
        request = RunRequest(path=folder, agent=PythonSolver("python:desk", self.work), concurrency=1)
        return execute(plan_run(request, Settings(timeout=20), CATALOG), store, CATALOG, [self.heed])


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite, and a store with two runs of it."""
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "suite").mkdir()
    (folder / "suite" / "tasks.yml").write_text(SUITE)
    for name, key in (("store.db", ""), ("keyed.db", KEY)):
        with SqliteStore(folder / name, seal_key=key) as store:
            for _ in range(2):
                assert TamperingAgent().run(folder / "suite", store).exit_code() == 1
            store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


@pytest.fixture
def path(suite: Path, tmp_path: Path) -> Path:
    """A separate copy of the store with two runs."""
    return Path(shutil.copy(suite / "store.db", tmp_path / "store.db"))


@pytest.fixture
def keyed(suite: Path, tmp_path: Path) -> Path:
    """A store whose two runs are sealed with a key."""
    return Path(shutil.copy(suite / "keyed.db", tmp_path / "keyed.db"))


def check(path: Path, key: str = "", reference: str = "latest") -> SealCheck:
    """Check a run of a store."""
    with SqliteStore(path, seal_key=key) as store:
        return store.check_seals(store.run(reference).id)


def cli(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, standard output and standard error."""
    capsys.readouterr()
    code = run(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


# Within the run


@BY_ATTACK
def test_changes_by_an_agent_are_reported_at_the_end_of_a_run(attack: str, suite: Path, tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "store.db") as store:
        change, named = ATTACKS[attack]
        result = TamperingAgent(lambda: tamper(store.path, change)).run(suite / "suite", store)
        assert result.seals is not None
        assert any(sentence.startswith(named) for sentence in result.seals.sentences()), result.seals.sentences()
        assert result.exit_code() == 2
        assert result.counts.verdicts == {"fail": 1, "pass": 2}


def test_untouched_run_is_intact(path: Path) -> None:
    assert check(path) == SealCheck(run=check(path).run)
    assert check(path, reference="latest~1").data()["state"] == "intact"


def test_forged_seal_is_detected_by_the_running_process(suite: Path, tmp_path: Path) -> None:
    """An agent that can write the store can also create new seals, but cannot reach the digests in memory."""

    def forge() -> None:
        tamper(tmp_path / "store.db", f"UPDATE task_runs SET verdict = 'pass' WHERE {FIRST}")
        with SqliteStore(tmp_path / "store.db") as theirs:
            reseal(theirs, "First")

    with SqliteStore(tmp_path / "store.db") as store:
        result = TamperingAgent(forge).run(suite / "suite", store)
    assert result.seals is not None
    assert result.seals.sentences() == ["First (trial 1): verdict (was fail, is pass), seal"]
    found = check(tmp_path / "store.db")  # the end was sealed over what was in memory
    assert found.sentences() == ["the run itself: counts (were 1 fail, 2 pass; are 3 pass)"]


def reseal(store: SqliteStore, task: str) -> None:
    """Make new seals for the trials of a task as they are now."""
    run_id = store.run("latest").id
    rows = [(row, sealed) for row, sealed in store._seals.trials(run_id, task) if sealed is not None]
    with store._writing():
        store._seals.add_trials(
            (store._seals.digests(row)._replace(snapshot=sealed.snapshot, blobs=sealed.blobs) for row, sealed in rows),
            ChainEnd(rows[0][1].number - 1, rows[0][1].before),
        )


def test_run_added_by_another_process_is_not_a_change(suite: Path, tmp_path: Path) -> None:
    def add_a_run() -> None:
        with SqliteStore(tmp_path / "store.db") as theirs:
            TamperingAgent().run(suite / "suite", theirs)

    with SqliteStore(tmp_path / "store.db") as store:
        result = TamperingAgent(add_a_run).run(suite / "suite", store)
        assert result.exit_code() == 1
        assert [store.check_seals(kept.id).is_changed for kept, _ in store.runs()] == [False, False]


def test_command_reports_the_change_and_does_not_claim_success(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cheat.py").write_text(CHEAT)
    monkeypatch.syspath_prepend(str(tmp_path))
    reports = ["--markdown", "a.md", "--junit", "a.xml", "--jsonl", "a.jsonl", "--report", "a.html"]
    command = ["run", str(suite / "suite"), "-a", "python:cheat:agent", "-c", "1", *reports]
    code, out, _ = cli(capsys, *command)
    assert code == 2
    assert "CHANGED run-" in out
    assert "First (trial 1): verdict (was fail, is pass), record" in out
    assert "pass rate" not in out
    for report in ("a.md", "a.xml", "a.jsonl", "a.html"):
        assert "was changed in the store after it was saved" in Path(report).read_text() or report == "a.jsonl"
        assert "First (trial 1)" in Path(report).read_text() or report == "a.jsonl"
    lines = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    assert lines[0]["seals"]["state"] == lines[-1]["seals"]["state"] == "changed"
    assert lines[-1]["exit_code"] == 2
    code, out, _ = cli(capsys, *command[:6], "--json")
    document = json.loads(out)
    assert (code, document["exit_code"]) == (2, 2)
    assert document["seals"]["changes"][0]["task"] == "First"


CHEAT = """
import sqlite3

def agent(task_item):
    database = sqlite3.connect(".clerkship/store.db", isolation_level=None)
    where = "run_id = (SELECT id FROM runs ORDER BY rowid DESC LIMIT 1) AND task = 'First'"
    while task_item["n"] == 3 and not database.execute(f"SELECT 1 FROM task_runs WHERE {where}").fetchone():
        pass
    if task_item["n"] == 3:
        change = "verdict = 'pass', record = replace(record, ?, ?)"
        values = ('"verdict":"fail"', '"verdict":"pass"')
        database.execute(f"UPDATE task_runs SET {change} WHERE {where}", values)
    database.close()
    return 42 if task_item["n"] > 1 else 41
"""


def test_pytest_fails_for_a_tampering_agent_with_the_reason(suite: Path, tmp_path: Path) -> None:
    practice = ClerkshipFixture(tmp_path / "store.db", [suite])
    path, change = tmp_path / "store.db", "UPDATE task_runs SET record = replace(record, 'right', 'wrong')"

    def agent(task_item: dict[str, int]) -> int:
        if task_item["n"] == 3:
            with closing(sqlite3.connect(path, isolation_level=None)) as database:
                while not database.execute("SELECT 1 FROM task_runs").fetchone():
                    pass
            tamper(path, f"{change} WHERE task = 'First'")
        return 42

    result = practice.run("suite", agent, concurrency=1)
    practice.close()
    assert result.counts.passed == 3
    assert not result.passed
    assert "  First (trial 1): record" in result.explain()


# After the run


@BY_ATTACK
def test_show_reports_later_changes(attack: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change, named = ATTACKS[attack]
    tamper(path, change)
    code, out, _ = cli(capsys, "show", "--store", str(path))
    assert (code, named in out) == (2, True), out
    code, out, error = cli(capsys, "compare", "latest~1", "latest", "--store", str(path))
    assert (code, out, named in error) == (2, "", True), error
    assert not check(path, reference="latest~1").is_changed or "snapshot" in attack or attack == "body"


@pytest.mark.parametrize("attack", ["verdict", "deleted trial", "added trial", "run"])
def test_list_reports_changed_heads(attack: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(capsys, "list", "--store", str(path))[0] == 0
    tamper(path, ATTACKS[attack][0])
    code, out, error = cli(capsys, "list", "--store", str(path))
    assert (code, out.count("CHANGED"), "the run itself: " in error) == (2, 1, True)
    _, changed, intact, status = out.splitlines()
    run_id = changed.split()[0]
    assert changed.split() == [run_id, "?", "python:desk", "suite"]
    assert intact.split()[1:] == ["2/3", "python:desk", "suite"]
    assert status == f"{run_id} CHANGED: clerkship show {run_id} --store {shlex.quote(str(path))}"
    code, out, _ = cli(capsys, "list", "--store", str(path), "--json")
    assert (code, [one["seals"]["state"] for one in json.loads(out)]) == (2, ["changed", "intact"])


def test_changed_end_is_detected(path: Path) -> None:
    tamper(path, "UPDATE run_marks SET status = 'cancelled' WHERE id = (SELECT max(id) FROM run_marks)")
    assert check(path).sentences() == ["the run itself: status (was completed, is cancelled)"]
    tamper(path, "DELETE FROM run_marks WHERE id = (SELECT max(id) FROM run_marks)")
    assert check(path).sentences() == ["the run itself: status (was completed, is active)"]


def test_trial_deleted_with_its_seal_is_detected(path: Path) -> None:
    for table in ("task_runs", "trial_seals"):
        tamper(path, f"DELETE FROM {table} WHERE {FIRST}")
    assert check(path).sentences() == ["the run itself: counts (were 1 fail, 2 pass; are 2 pass)"]


def test_exchanged_parts_of_a_long_log_are_detected(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clerkship.store.sql.SEGMENT", 300)
    with SqliteStore(tmp_path / "store.db") as store:
        TamperingAgent().run(suite / "suite", store)
    assert not check(tmp_path / "store.db").is_changed
    tamper(
        tmp_path / "store.db",
        "UPDATE log_segments SET id = id + 1 WHERE id = (SELECT max(id) FROM log_segments WHERE id >> 32 = 1)",
    )
    assert check(tmp_path / "store.db").sentences() == ["First (trial 1): log"]


def test_changed_run_cannot_be_rerun_rescored_or_forked(path: Path) -> None:
    tamper(path, ATTACKS["log"][0])
    fork = ForkRequest(run="latest", task="First", turn=1)
    with SqliteStore(path) as store:
        for build in (
            lambda: rescore(store, "latest", CATALOG),
            lambda: plan_resume(
                store, "latest", CATALOG, Settings(), agent=PythonSolver("python:desk", TamperingAgent().work)
            ),
            lambda: plan_fork(store, fork, CATALOG, Settings()),
        ):
            with pytest.raises(SealBroken, match=r"was changed .*First \(trial 1\): log"):
                build()
        assert len(store.runs()) == 2
        plan_rerun(store, "latest", CATALOG, Settings(), PythonSolver("python:desk", TamperingAgent().work))
    tamper(path, ATTACKS["run"][0])
    with SqliteStore(path) as store, pytest.raises(SealBroken, match="the run itself: record"):
        plan_rerun(store, "latest", CATALOG, Settings(), PythonSolver("python:desk", TamperingAgent().work))


def test_refusal_names_a_command_that_runs_the_tasks_again(path: Path) -> None:
    tamper(path, ATTACKS["verdict"][0])
    with SqliteStore(path) as store:
        run_id = store.run("latest").id
        with pytest.raises(SealBroken, match=f"; run the tasks again with `clerkship rerun {run_id}`$"):
            rescore(store, "latest", CATALOG)
        again = plan_rerun(store, run_id, CATALOG, Settings(), PythonSolver("python:desk", TamperingAgent().work))
        assert execute(again, store, CATALOG).exit_code() == 1


@pytest.mark.parametrize("attack", ["run", "snapshot", "body"])
def test_refusal_suggests_another_store_if_this_one_is_unusable(attack: str, path: Path) -> None:
    tamper(path, ATTACKS[attack][0])
    with (
        SqliteStore(path) as store,
        pytest.raises(
            SealBroken, match=r"; run the tasks again in another store with `clerkship run PATH --store FILE`$"
        ),
    ):
        rescore(store, "latest", CATALOG)


def test_show_task_checks_the_seals_of_that_task(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tamper(path, ATTACKS["log"][0])
    assert cli(capsys, "show", "latest", "Second", "--store", str(path))[0] == 0
    code, out, _ = cli(capsys, "show", "latest", "First", "--events", "--store", str(path))
    assert code == 2
    assert "First (trial 1): log" in out.splitlines()[1]
    assert "run.started" in out


def test_show_task_reports_a_verdict_that_differs_from_the_index(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tamper(path, ATTACKS["verdict"][0])
    _, out, _ = cli(capsys, "show", "latest", "First", "--store", str(path))
    assert out.splitlines()[1:3] == [
        "  ✗ First (trial 1): verdict (was fail, is pass)",
        "  the index says pass; the record, shown below, says fail",
    ]
    _, out, _ = cli(capsys, "show", "latest", "Second", "--store", str(path))
    assert "the index says" not in out
    tamper(path, ATTACKS["record"][0])
    _, out, _ = cli(capsys, "show", "latest", "First", "--store", str(path))
    assert "the index says" not in out


def test_report_of_a_changed_run_names_the_change_and_exits_2(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tamper(path, ATTACKS["verdict"][0])
    store = ["--store", str(path)]
    code, out, error = cli(capsys, "show", "--markdown", "-", *store)
    assert (code, "Changed in the store" in out, "verdict (was fail, is pass)" in error) == (2, True, True)
    code, out, _ = cli(capsys, "show", "--junit", "-", *store)
    assert (code, 'errors="1"' in out, 'type="changed"' in out) == (2, True, True)
    code, _, error = cli(capsys, "show", "--results", f"rasa:{tmp_path / 'results'}", *store)
    assert (code, "results were not written" in error) == (2, True)
    assert not (tmp_path / "results").exists()


# Runs made from runs, and older stores


def test_rescored_run_is_sealed_with_the_original_logs(path: Path) -> None:
    with SqliteStore(path) as store:
        result = rescore(store, "latest", CATALOG)
        assert result.seals == SealCheck(run=result.run.id)
    tamper(path, "UPDATE log_segments SET data = data || ' ' WHERE id >> 32 = (SELECT graded FROM regraded LIMIT 1)")
    assert check(path).sentences() == ["First (trial 1): log"]
    assert check(path, reference="latest~1").sentences() == ["First (trial 1): log"]


def test_resumed_run_is_sealed_again_at_its_end(suite: Path, tmp_path: Path) -> None:
    class Broken(Exception):
        """The process ends."""

    with SqliteStore(tmp_path / "store.db") as store:
        desk = TamperingAgent()
        solver = PythonSolver("python:desk", desk.work)
        request = RunRequest(path=suite / "suite", agent=solver, concurrency=1)

        def stops(task_run: TaskRun) -> None:
            raise Broken

        with pytest.raises(Broken):
            execute(plan_run(request, Settings(), CATALOG), store, CATALOG, [stops])
        assert not store.check_seals(store.run("latest").id).is_changed
        resumed = plan_resume(store, "latest", CATALOG, Settings(), agent=solver)
        result = resume(resumed, store, CATALOG)
        assert (result.seals, result.run.status) == (SealCheck(run=result.run.id), "completed")
        assert result.counts == store.counts(result.run.id)
        assert result.run == store.run(result.run.id)
        assert not store.check_seals(result.run.id).is_changed


def unseal(path: Path, version: int = 3) -> None:
    """Make a store as version 3 wrote it: without seals."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for table in LATER_TABLES:
            database.execute(f"DROP TABLE {table}")
        database.execute(NOT_SEALED)
        database.execute(f"PRAGMA user_version={version}")


def test_old_run_without_seals_is_unsealed_without_error(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unseal(path)
    code, _, error = cli(capsys, "show", "--store", str(path))
    assert (code, error.count(NO_SEALS)) == (0, 1)
    assert cli(capsys, "compare", "latest~1", "--store", str(path))[0] == 0
    code, out, _ = cli(capsys, "list", "--store", str(path))
    run_ids = ", ".join(line.split()[0] for line in out.splitlines()[1:3])
    assert (code, out.splitlines()[3:]) == (0, [f"seals: none ({run_ids})"])
    with SqliteStore(path) as store:
        result = rescore(store, "latest", CATALOG)
        assert not store.check_seals(result.run.id).unsealed


@pytest.mark.parametrize("tables", [SEAL_TABLES, (*SEAL_TABLES, "task_runs")], ids=["seals", "seals and a trial"])
def test_run_with_deleted_seals_is_changed(
    tables: tuple[str, ...], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in tables:
        tamper(path, f"DELETE FROM {table} WHERE {FIRST if table == 'task_runs' else LAST}")
    code, out, error = cli(capsys, "show", "--store", str(path))
    assert (code, "the run itself: seal (removed)" in out, "older version" in error) == (2, True, False)
    assert cli(capsys, "show", "latest", "Second", "--store", str(path))[0] == 2
    assert cli(capsys, "compare", "latest~1", "--store", str(path))[0] == 2
    assert cli(capsys, "list", "--store", str(path))[0] == 2
    assert not check(path, reference="latest~1").is_changed


def test_trial_with_a_deleted_seal_is_named_even_without_the_run_seal(path: Path) -> None:
    tamper(path, f"DELETE FROM run_seals WHERE {LAST}")
    tamper(path, f"DELETE FROM trial_seals WHERE {FIRST}")
    first = "First (trial 1): added, or its seal was removed"
    assert check(path).sentences() == ["the run itself: seal (removed)", first]


def test_read_only_old_store_is_read_without_seals(path: Path) -> None:
    unseal(path)
    with closing(open_read_only(path)) as database:
        check = SealVerification(SealTable(database, SealKey()), str(one(database, "SELECT id FROM runs")))
        check.check_trials(None)
        check.check_end(Counts(verdicts={}, statuses={}), with_trials=True)
        assert check.result().unsealed == 4


# In reports


def report(path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return a report of the last run."""
    return cli(capsys, "show", f"--{kind}", "-", "--store", str(path))[1]


def test_reports_of_a_changed_run_have_no_pass_rate(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kind, rate in (("report", ">67%<"), ("markdown", "**67%**"), ("junit", '"pass_rate" value="0.6667"')):
        assert rate in report(path, kind, capsys)
    tamper(path, ATTACKS["verdict"][0])
    header = report(path, "report", capsys).partition("</header>")[0].partition("<header>")[2]
    assert "No rate: the run was changed" in header
    assert not any(text in header for text in ("%", "in the rate", "is-pass", "fill-pass"))
    page = report(path, "markdown", capsys)
    assert "No rate: the run was changed" in page
    assert "%" not in page
    assert "✅" not in page
    xml = report(path, "junit", capsys)
    assert '"pass_rate" value="none"' in xml
    assert '"pass_rate_interval" value="none"' in xml
    summary = json.loads(report(path, "jsonl", capsys).splitlines()[-1])
    assert (summary["pass_rate"], summary["templates"]) == (None, None)


def test_html_report_marks_each_changed_trial(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tamper(path, ATTACKS["verdict"][0])
    tamper(path, f"DELETE FROM task_runs WHERE {LAST} AND task = 'Second'")
    page = report(path, "report", capsys)
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    trials = [(trial["task"], trial["outcome"], trial.get("changed", "")) for trial in data["trials"]]
    assert trials == [("First", "changed", "verdict (was fail, is pass)"), ("Third", "pass", "")]
    assert data["outcomes"]["changed"][0] == "Changed"
    table = page.partition('<table class="plain">')[2].partition("</table>")[0]
    assert table.count('class="is-changed"') == 1
    assert 'id="icon-changed"' in page


SEALS = {
    "intact (with a key)": ("keyed.db", KEY, None),
    "intact (without a key)": ("store.db", "", None),
    "not checked: sealed with another key": ("keyed.db", OTHER_KEY, None),
    "not checked: CLERKSHIP_SEAL_KEY is not set": ("keyed.db", "", None),
    "none": ("store.db", "", unseal),
    "CHANGED": ("store.db", "", lambda path: tamper(path, ATTACKS["log"][0])),
}


@pytest.mark.parametrize("words", SEALS)
def test_reports_contain_the_result_of_the_seal_check(
    words: str, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, key, change = SEALS[words]
    path = Path(shutil.copy(suite / name, tmp_path / name))
    monkeypatch.setenv("CLERKSHIP_SEAL_KEY", key)
    if change is not None:
        change(path)
    is_usual = words == "intact (without a key)"
    assert (f"<dt>Seals</dt><dd>{words}</dd>" in report(path, "report", capsys)) != is_usual
    assert (f"\nSeals: {words}\n" in report(path, "markdown", capsys)) != is_usual
    assert f'<property name="seals" value="{words}"/>' in report(path, "junit", capsys)


# With a key


def test_keyed_seal_is_checked_with_its_key(keyed: Path) -> None:
    assert check(keyed, KEY).data() == {"state": "intact", "changes": [], "notes": []}
    tamper(keyed, ATTACKS["verdict"][0])
    assert check(keyed, KEY).sentences() == ["First (trial 1): verdict (was fail, is pass)"]


def test_keyed_seal_cannot_be_checked_without_its_key(keyed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = cli(capsys, "compare", "latest~1", "--store", str(keyed))
    assert code == 0
    assert error.count("is sealed with a key; set CLERKSHIP_SEAL_KEY to check it") == 2
    tamper(keyed, ATTACKS["log"][0])
    assert check(keyed).sentences() == ["First (trial 1): log"]  # the digests tell without a key


def test_seal_with_another_key_is_a_warning_not_a_change(
    keyed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLERKSHIP_SEAL_KEY", OTHER_KEY)
    code, out, _ = cli(capsys, "list", "--store", str(keyed))
    assert (code, out.count("seals: not checked: sealed with another key (run-")) == (0, 1)
    found = check(keyed, OTHER_KEY)
    assert (found.changes, found.data()["state"]) == ((), "unchecked")
    assert "sealed with another key" in found.refusal()


def test_keyed_seal_cannot_be_replaced_by_an_unkeyed_one(keyed: Path) -> None:
    tamper(keyed, ATTACKS["verdict"][0])
    with SqliteStore(keyed) as theirs:
        reseal(theirs, "First")
    for key in (KEY, ""):
        [sentence] = check(keyed, key).sentences()
        assert sentence == "First (trial 1): seal (not made with the key of the run)"


def test_unkeyed_run_is_refused_if_a_key_is_set(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLERKSHIP_SEAL_KEY", KEY)
    code, _, error = cli(capsys, "compare", "latest~1", "--store", str(path))
    unkeyed = "was sealed without a key, so anyone who can write the store could have made the seal"
    assert (code, unkeyed in error, "unset" in error) == (2, True, True)
    code, _, error = cli(capsys, "show", "--store", str(path))
    assert (code, unkeyed in error) == (0, True)
    unseal(path)
    code, _, error = cli(capsys, "compare", "latest~1", "--store", str(path))
    assert (code, NO_SEALS in error, unkeyed in error) == (2, True, False)


def test_keyed_run_is_not_resumed_without_its_key(keyed: Path) -> None:
    with SqliteStore(keyed) as store, pytest.raises(SealBroken, match="set CLERKSHIP_SEAL_KEY to resume it"):
        plan_resume(store, "latest", CATALOG, Settings(), agent=PythonSolver("python:desk", TamperingAgent().work))


def test_seal_key_is_a_secret_and_is_not_stored(keyed: Path) -> None:
    settings = load_settings({"CLERKSHIP_SEAL_KEY": KEY})
    assert KEY not in repr(settings)
    assert KEY in find_secrets(settings, {}).values()
    assert get_inherited_environment({"CLERKSHIP_SEAL_KEY": KEY}) == {}
    assert KEY.encode() not in keyed.read_bytes()
    with pytest.raises(InputError, match="shorter than 16 characters") as refused:
        load_settings({"CLERKSHIP_SEAL_KEY": "hunter2"})
    assert "hunter2" not in str(refused.value)
