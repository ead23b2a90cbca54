"""The store in PostgreSQL: errors in plain words, versions, locks, and what is left when programs are killed."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clerkship.actors.python import PythonSolver
from clerkship.cli.app import run
from clerkship.model.run import Attempt
from clerkship.model.store_place import PostgresAddress
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.resume import plan_resume, resume
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store import postgres_connection
from clerkship.store.contract import RunBusy, StoreFailed
from clerkship.store.migrating import migrate_store
from clerkship.store.opening import open_store
from clerkship.store.postgres import PostgresStore
from clerkship.store.postgres_connection import PostgresDatabase
from clerkship.store.schema import VERSION
from clerkship.store.seal import ChainEnd
from tests.postgres_server import PostgresServer, find_installations, serve_postgres
from tests.processes import start_process
from tests.store.test_copying import TASKS, read_run, write_body
from tests.waiting import wait_until
from tests.workbench import CATALOG, Workbench


@pytest.fixture
def place(postgres: PostgresServer) -> PostgresAddress:
    """The address of a store that does not exist yet."""
    return PostgresAddress(postgres.new_schema())


@pytest.fixture
def bench(place: PostgresAddress, tmp_path: Path) -> Iterator[Workbench]:
    workbench = Workbench(tmp_path, PostgresStore(place))
    workbench.write("a.yml", TASKS)
    yield workbench
    workbench.store.close()


def failure(place: str, **options: Any) -> str:
    """Return the error of opening a store."""
    with pytest.raises(StoreFailed) as failed:
        PostgresStore(PostgresAddress(place), **options)
    return str(failed.value)


def test_problems_are_named_with_advice_and_without_the_password(postgres: PostgresServer) -> None:
    url, secret = postgres.url, postgres.PASSWORD
    wrong = failure(url.replace(secret, "wrong-word"))
    assert "password authentication failed" in wrong
    assert "set it in the address, best in CLERKSHIP_STORE" in wrong
    assert "wrong-word" not in wrong
    assert "create the database with `createdb`" in failure(f"{url}_none")
    assert "is the server running" in failure(url.replace(str(postgres.port), "1"))
    assert "there is no store at" in failure(postgres.new_schema(), create=False)
    assert "has no schema to use" in failure(f"{url}?options=-csearch_path%3Dnone")
    for said in (wrong, failure(f"{url}_none"), str(PostgresAddress(url)), repr(PostgresAddress(url))):
        assert secret not in said
    assert str(PostgresAddress(f"{url}?password={secret}&sslmode=prefer")).endswith("?sslmode=prefer")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        connection.execute("CREATE ROLE reader LOGIN PASSWORD 'reader'")
    assert "`createdb --encoding UTF8`" in failure(f"{url.rpartition('/')[0]}/latin")
    assert "needs the right to create" in failure(url.replace(f"postgres:{secret}", "reader:reader"))


def test_missing_driver_is_named(place: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clerkship.kit.extras.is_installed", lambda extra: False)
    for work in (lambda: open_store(Settings(), place), lambda: migrate_store(place, VERSION)):
        with pytest.raises(StoreFailed, match="needs the extra `postgres`; install it with"):
            work()


def test_a_server_that_is_too_old_is_refused(place: PostgresAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_connection, "OLDEST_SERVER", 99)
    assert "99 or newer is needed" in failure(place.url)


def test_full_disk_says_what_to_do(place: PostgresAddress) -> None:
    said = postgres_connection.build_postgres_error(place, psycopg.errors.DiskFull("could not extend file"))
    assert "free some space and go on with `clerkship resume`" in str(said)


def test_store_of_an_older_version_is_only_upgraded_by_the_command(bench: Workbench, place: PostgresAddress) -> None:
    bench.run(write_body(b"1"))
    bench.store.close()
    assert migrate_store(place, 5) == (VERSION, 5)
    said = failure(place.url)
    assert "stop what uses it and run `clerkship store migrate`" in said
    assert migrate_store(place, VERSION) == (5, VERSION)
    PostgresStore(place).close()
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute("UPDATE store_version SET version = 99")
    assert "update Clerkship" in failure(place.url)
    with pytest.raises(StoreFailed, match="update Clerkship"):
        migrate_store(place, VERSION)


def test_triggers_and_views_are_named(bench: Workbench) -> None:
    bench.store._db.execute("CREATE VIEW shown AS SELECT 1 AS one")
    with pytest.raises(StoreFailed, match="has a view `shown`, which can change results"):
        bench.store.hold("run-1")


def test_several_processes_open_a_new_store_at_once(place: PostgresAddress) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            PostgresStore(place).close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []


HOLDER = """
import sys
from clerkship.model.run import Attempt
from clerkship.model.store_place import PostgresAddress
from clerkship.store.postgres import PostgresStore
from clerkship.store.postgres_connection import PostgresDatabase
hold = PostgresStore(PostgresAddress(sys.argv[1])).hold("run-1")
hold.begin(Attempt("Write", 2, 1))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_killed_process_frees_its_lock_and_leaves_its_attempts(bench: Workbench, place: PostgresAddress) -> None:
    store = bench.store
    command = [sys.executable, "-c", HOLDER, place.url]
    with start_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert store.held("run-1")
        assert not store.held("run-2")
        with pytest.raises(RunBusy):
            store.hold("run-1")
        holder.kill()
        holder.wait(30)
    wait_until(lambda: not store.held("run-1"))
    with store.hold("run-1") as hold:
        assert hold.begun == (Attempt("Write", 2, 1),)
        with pytest.raises(RunBusy):
            store.hold("run-1")
    assert not store.held("run-1")
    assert store.begun("run-1") == []


def test_of_two_that_save_the_next_trial_one_is_refused(bench: Workbench) -> None:
    """A process that lost its lock without noticing cannot add to the chain of the one that has it now."""
    task_runs = bench.run(write_body(b"1"))
    last = bench.store.ledger(task_runs[0].run).last

    class Late:
        log = sidecar = b"{}"
        blobs: dict[str, bytes] = {}

        def __init__(self, trial: int) -> None:
            self.task_run = task_runs[0].model_copy(update={"trial": trial})

    bench.store.save([Late(8)], last)
    with pytest.raises(StoreFailed, match="trial_seals_by_number"):
        bench.store.save([Late(9)], last)
    with pytest.raises(StoreFailed, match="unique"):
        bench.store.save([Late(8)], ChainEnd(last.number + 1, b"x"))
    assert len(bench.store.task_runs(task_runs[0].run)) == len(task_runs) + 1


def test_run_goes_on_after_the_server_was_killed(bench: Workbench, postgres: PostgresServer) -> None:
    """With PostgreSQL killed twice, the run ends as one that was not disturbed: nothing is lost, nothing doubled."""
    calls = 0

    def works(task_item: Any, sandboxes: Any) -> None:
        nonlocal calls
        calls += 1
        if calls in (7, 21):
            postgres.kill()
            postgres.start()
        sandboxes["drop"].write("big.bin", b"1" * 9000)

    bench.run(works, trials=15, concurrency=1)
    disturbed = bench.store.run("latest").id
    assert bench.result is not None
    assert bench.result.seals is not None
    assert not bench.result.seals.is_changed
    assert calls == 30
    bench.run(write_body(b"1"), trials=15, concurrency=1)
    assert read_run(bench.store, disturbed) == read_run(bench.store, bench.store.run("latest").id)
    assert not bench.store.check_seals(disturbed).is_changed
    assert not bench.store.held(disturbed)


def test_killed_connections_between_any_two_statements_lose_and_double_nothing(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End the connection before or after each statement that saves a trial, one after the other."""
    [first, *_] = bench.run(write_body(b"1"))
    database, number = bench.store._db, 100
    plain = PostgresDatabase._execute

    class Late:
        log = sidecar = b"{}"
        blobs = {"b" * 64: b"body"}

        def __init__(self, trial: int) -> None:
            self.task_run = first.model_copy(update={"trial": trial})

    def fails_at(place: int, *, is_after: bool) -> Any:
        count = 0

        def execute(connection: Any, query: str, values: Any) -> Any:
            nonlocal count
            count += 1
            if count == place and not is_after:
                connection._connection.close()
            done = plain(connection, query, values)
            if count == place and is_after:
                connection._connection.close()
                raise psycopg.OperationalError("the connection was closed by the test")
            return done

        return execute

    for place in (1, 2, 3):
        for is_after in (False, True):
            last = bench.store.ledger(first.run).last
            with monkeypatch.context() as patch:
                patch.setattr(PostgresDatabase, "_execute", fails_at(place, is_after=is_after))
                number += 1
                [seal] = bench.store.save([Late(number)], last)
            assert bench.store.ledger(first.run).last == ChainEnd(seal.number, seal.seal)
    query = "SELECT count(*), count(DISTINCT trial) FROM task_runs WHERE trial > 100"
    assert database.execute(query).fetchone() == (6, 6)
    assert database.execute("SELECT count(*) FROM blobs WHERE sha256 = ?", ("b" * 64,)).fetchone() == (1,)


def test_run_that_failed_with_its_server_is_resumed(
    bench: Workbench, place: PostgresAddress, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "RECONNECT_SECONDS", 0.1)
    calls = 0

    def works(task_item: Any, sandboxes: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            postgres.kill()
        sandboxes["drop"].write("big.bin", b"1" * 9000)

    solver = PythonSolver("agent", works)
    request = RunRequest(path=bench.folder, agent=solver, trials=5, concurrency=1)
    plan = plan_run(request, Settings(), CATALOG)
    try:
        with pytest.raises(StoreFailed, match=r"is the server running|was lost"):
            execute(plan, bench.store, CATALOG)
    finally:
        postgres.start()
    monkeypatch.undo()
    with PostgresStore(place) as store:
        wait_until(lambda: not store.held(plan.run.id))
        resume(plan_resume(store, plan.run.id, CATALOG, Settings(), agent=solver), store, CATALOG)
        outcomes = [outcome[:2] for outcome in store.outcomes(plan.run.id)]
        assert sorted(outcomes) == sorted({(name, trial) for name in ("Good", "Bad") for trial in range(1, 6)})
        assert not store.check_seals(plan.run.id).is_changed


def test_commands_take_the_address(
    bench: Workbench, place: PostgresAddress, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.folder.parent)
    bench.store.close()
    store = ["--store", place.url]
    assert run(["run", str(bench.folder), "--agent", "nop", *store]) == 1
    assert run(["run", str(bench.folder), "--agent", "nop", "--last-failed", *store]) == 1
    for command in (["list"], ["show"], ["compare", "latest~1"], ["label", "latest", "kept"], ["coverage"]):
        assert run([*command, *store]) in (0, 1), command
    assert run(["rescore", "latest", *store]) == 1
    assert run(["rerun", "latest", "--agent", "nop", *store]) == 1
    assert run(["export", "latest", "--csv", "out.csv", *store]) == 0
    assert run(["prune", "--older-than", "0s", "--dry-run", *store]) == 0
    assert run(["delete", "latest", "--yes", *store]) == 0
    said = capsys.readouterr()
    assert "not-a-secret" not in said.out + said.err
    assert "bug" not in said.err
    monkeypatch.setenv("CLERKSHIP_STORE", place.url)
    assert run(["list"]) == 0
    assert "kept" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("version", list(find_installations()))
def test_dump_is_restored_with_intact_seals(version: int, tmp_path: Path) -> None:
    """A backup by `pg_dump` while a run goes on, restored into another database, on each version that is installed."""
    with serve_postgres(version) as server:
        first, second = server.new_database(), server.new_database()
        dump = tmp_path / "runs.dump"
        store = PostgresStore(PostgresAddress(first))
        bench = Workbench(tmp_path, store)
        bench.write("a.yml", TASKS)
        bench.run(write_body(b"1"), trials=5)
        before = bench.store.run("latest").id

        def dumps(task_item: Any, sandboxes: Any) -> None:
            if not dump.exists():
                made = server.run("pg_dump", "--format=custom", f"--file={dump}", first)
                assert made.returncode == 0, made.stderr

        bench.run(dumps, trials=3, concurrency=1)
        unfinished = bench.store.run("latest").id
        restored = server.run("pg_restore", "--no-owner", f"--dbname={second}", str(dump))
        assert restored.returncode == 0, restored.stderr
        with PostgresStore(PostgresAddress(second)) as copy:
            assert read_run(copy, before) == read_run(store, before)
            assert not copy.check_seals(before).is_changed
            solver = PythonSolver("agent", dumps)
            resume(plan_resume(copy, unfinished, CATALOG, Settings(), agent=solver), copy, CATALOG)
            assert copy.run(unfinished).status == "completed"
            assert len(copy.task_runs(unfinished)) == 6
            assert not copy.check_seals(unfinished).is_changed
        store.close()
