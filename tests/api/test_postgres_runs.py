"""A server whose runs are in PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.model.store_place import PostgresAddress
from clerkship.service.serving.backup import back_up, restore
from clerkship.service.serving.server import open_server
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from tests.api.test_benchmark_runs import Hosted
from tests.api.test_recovery import Acknowledged, Worker, check_run, create_run
from tests.postgres_server import PostgresServer


@pytest.fixture
def settings(postgres: PostgresServer) -> Settings:
    return Settings(store=PostgresAddress(postgres.new_schema()))


@pytest.fixture
def hosted(tmp_path: Path, settings: Settings) -> Iterator[Hosted]:
    hosted = Hosted(tmp_path, settings)
    yield hosted
    hosted.server.close()


def test_run_goes_on_after_a_restart_of_the_server(hosted: Hosted) -> None:
    worker = Worker(hosted.server, create_run(hosted), Acknowledged())
    worker.work(("Say done",))
    assert hosted.server.store.held(worker.run_id)
    task = next(task for task in hosted.server.live.table.tasks(worker.run_id) if task.task == "Copy")
    worker.start(task, files=1)
    hosted.restart()
    worker.server = hosted.server
    worker.work()
    check_run(hosted.server, worker.run_id, worker.acknowledged)
    assert not hosted.server.store.held(worker.run_id)
    assert not (hosted.folder / "data" / "store.db").exists()
    listed = hosted.client(hosted.person).get("/v1/benchmark-runs").json()["data"]
    assert [run["id"] for run in listed] == [worker.run_id]
    assert hosted.client(hosted.person).get(f"/v1/benchmark-runs/{worker.run_id}/report").status_code == 200


def test_postgres_that_is_killed_while_agents_work_loses_nothing(hosted: Hosted, postgres: PostgresServer) -> None:
    worker = Worker(hosted.server, create_run(hosted), Acknowledged())
    worker.work(("Say done",))
    postgres.kill()
    postgres.start()
    worker.work()
    check_run(hosted.server, worker.run_id, worker.acknowledged)


def test_runs_in_a_file_are_not_left_behind(hosted: Hosted, settings: Settings) -> None:
    hosted.server.close()
    SqliteStore(hosted.folder / "data" / "store.db").close()
    with pytest.raises(InputError, match="has stored runs in") as refused:
        open_server(hosted.folder / "data", settings, build_catalog_without_plugins())
    assert "clerkship store copy" in str(refused.value)
    (hosted.folder / "data" / "store.db").unlink()
    hosted.server = open_server(hosted.folder / "data", settings, build_catalog_without_plugins())


def test_backup_before_the_dump_is_restored_with_it(hosted: Hosted, postgres: PostgresServer, tmp_path: Path) -> None:
    """The folder first, then the database: it has every result before the folder has."""
    worker = Worker(hosted.server, create_run(hosted), Acknowledged())
    worker.work(("Say done",))
    made = back_up(hosted.server.folder, tmp_path / "backup")
    assert "store.db" not in made.files
    worker.work()
    place = hosted.settings.store
    assert isinstance(place, PostgresAddress)
    schema, dump = place.url.rpartition("%3D")[2], tmp_path / "runs.dump"
    dumped = postgres.run("pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", postgres.url)
    assert dumped.returncode == 0, dumped.stderr
    database = postgres.new_database()
    restored = postgres.run("pg_restore", "--no-owner", f"--dbname={database}", str(dump))
    assert restored.returncode == 0, restored.stderr
    assert restore(tmp_path / "backup", tmp_path / "again") == made
    copy = Settings(store=PostgresAddress(f"{database}?options=-csearch_path%3D{schema}"))
    server = open_server(tmp_path / "again", copy, build_catalog_without_plugins())
    try:
        check_run(server, worker.run_id, worker.acknowledged)
    finally:
        server.close()
