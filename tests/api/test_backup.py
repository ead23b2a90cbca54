"""A backup of a server that runs, and what is restored from it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection

import pytest

from clerkship.cli.app import run
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.service.serving import backup as backups
from clerkship.service.serving.backup import MANIFEST, CopiedFile, back_up, restore
from clerkship.service.serving.server import open_server
from clerkship.settings import Settings
from tests.api.test_benchmark_runs import Hosted
from tests.api.test_recovery import Acknowledged, Worker, check_run, create_run


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    hosted = Hosted(tmp_path)
    yield hosted
    hosted.server.close()


def test_backup_has_one_moment_of_a_server_that_goes_on(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(hosted.server, create_run(hosted), Acknowledged())
    worker.work(("Say done",))
    task = hosted.server.live.table.tasks(worker.run_id)[0]
    worker.start(task, files=2)
    until_then = Acknowledged(list(worker.acknowledged.writes), list(worker.acknowledged.completed))
    copy = backups._copy_database

    def go_on_meanwhile(snapshot: Connection, path: Path) -> CopiedFile:
        if hosted.server.live.table.task(task.id).phase != "completed":
            hosted.server.live.answer(task.id, {"answer": "done"})
        create_run(hosted)
        return copy(snapshot, path)

    monkeypatch.setattr(backups, "_copy_database", go_on_meanwhile)
    made = back_up(hosted.server.folder, tmp_path / "backup")
    assert {"server.db", "store.db", "published/forms@1.clerkship"} <= made.files.keys()
    assert restore(tmp_path / "backup", tmp_path / "again") == made
    server = open_server(tmp_path / "again", Settings(), build_catalog_without_plugins())
    try:
        [unfinished] = server.live.table.unfinished()
        assert unfinished.id == worker.run_id
        again = {task.task: (task.phase, task.attempt) for task in server.live.table.tasks(worker.run_id)}
        assert again == {"Say done": ("completed", 1), "Copy": ("created", 2)}
        Worker(server, worker.run_id, until_then).work()
        check_run(server, worker.run_id, until_then)
        assert server.keys.find(hosted.person) is not None
    finally:
        server.close()


def test_damaged_backup_and_used_folder_are_refused(hosted: Hosted, tmp_path: Path) -> None:
    made = tmp_path / "backup"
    back_up(hosted.server.folder, made)
    for message, folder in (("another server uses", hosted.server.folder), ("is not empty", made)):
        with pytest.raises(InputError, match=message):
            restore(made, folder)
    with pytest.raises(InputError, match="exists"):
        back_up(hosted.server.folder, made)
    with pytest.raises(InputError, match="there is no server"):
        back_up(tmp_path, tmp_path / "another")
    damages = {
        "store.db was changed": ("store.db", b"SQLite"),
        "server.db cannot be read": ("server.db", None),
        "backup.json is damaged": (MANIFEST, (made / MANIFEST).read_bytes().replace(b'"server.db"', b'"../server.db"')),
        "is not a backup": (MANIFEST, None),
    }
    for message, (name, content) in damages.items():
        shutil.copytree(made, tmp_path / "damaged")
        (tmp_path / "damaged" / name).unlink()
        if content is not None:
            (tmp_path / "damaged" / name).write_bytes(content)
        with pytest.raises(InputError, match=message):
            restore(tmp_path / "damaged", tmp_path / "new")
        shutil.rmtree(tmp_path / "damaged")
    assert not (tmp_path / "new").exists()


def test_commands_back_up_and_restore(hosted: Hosted, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, folder = tmp_path / "backup", tmp_path / "again"
    assert run(["backup", str(hosted.server.folder), str(made)]) == 0
    assert run(["restore", str(made), str(folder), "--json"]) == 0
    assert '"server.db"' in capsys.readouterr().out
    assert run(["restore", str(made), str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
