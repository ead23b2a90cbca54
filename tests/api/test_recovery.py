"""What a server finds after its process was killed at any moment: nothing acknowledged is lost, nothing is stuck."""

import errno
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.events.lifecycle import AgentAnswered
from clerkship.events.log import compute_head
from clerkship.kit.wall import now
from clerkship.model.errors import InputError
from clerkship.service.serving import live_runs, trial_journal
from clerkship.service.serving.benchmark_cache import RunSelection
from clerkship.service.serving.live_runs import NewRun
from clerkship.service.serving.live_trial import LiveTrial
from clerkship.service.serving.refusals import RequestConflict
from clerkship.service.serving.run_table import ServedTask
from clerkship.service.serving.server import Server, open_server
from clerkship.settings import Settings
from clerkship.store.contract import StoreFailed
from clerkship.store.database import WriteTransaction
from tests.api.test_benchmark_runs import Hosted
from tests.waiting import wait_until


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[Hosted]:
    hosted = Hosted(tmp_path)
    yield hosted
    hosted.server.close()


@dataclass
class Acknowledged:
    """What a server has answered."""

    writes: list[tuple[str, int, str]] = field(default_factory=list)
    """Task, attempt and path of each file that was written."""
    completed: list[str] = field(default_factory=list)
    """Names of the tasks whose verdict was given."""


class Worker:
    """An agent that works on a run, below the REST interface."""

    def __init__(self, server: Server, run_id: str, acknowledged: Acknowledged) -> None:
        self.server, self.run_id, self.acknowledged = server, run_id, acknowledged

    def work(self, names: tuple[str, ...] = ("Copy", "Say done"), files: int = 2) -> None:
        """Start, write and complete the task runs that have not ended."""
        for task in self.server.live.table.tasks(self.run_id):
            if task.phase == "completed" or task.task not in names:
                continue
            self.start(task, files)
            self.server.live.answer(task.id, {"answer": "done"})
            self.acknowledged.completed.append(task.task)

    def start(self, task: ServedTask, files: int) -> None:
        """Start a task run, and write files."""
        self.server.live.start(task.id)
        trial = self.server.live.get_trial(task)
        assert trial is not None
        assert trial.question is not None
        drop = trial.question["sandboxes"]["drop"]
        attempt = self.server.live.table.task(task.id).attempt
        for number in range(files):
            path = "out.txt" if number == 0 else f"{number}.txt"
            assert put_file(drop, path, "NAME: Ada") in (200, 201)
            self.acknowledged.writes.append((task.task, attempt, path))


def put_file(drop: dict[str, Any], path: str, text: str) -> int:
    """Write a file to a sandbox, and return the status. `httpx.put` would load all certificates for each request."""
    url = urlsplit(f"{drop['url']}/files/{path}")
    connection = HTTPConnection(url.netloc, timeout=30)
    try:
        connection.request("PUT", url.path, text.encode(), {"authorization": f"Bearer {drop['token']}"})
        return connection.getresponse().status
    finally:
        connection.close()


def create_run(hosted: Hosted) -> str:
    archive = hosted.server.published.get("forms@1").archive.path
    run, _ = hosted.server.live.create(NewRun(RunSelection(archive), "robin"))
    return run.id


class DataCopy(NamedTuple):
    """The data of a server as a kill would leave it, and what was acknowledged until then."""

    folder: Path
    acknowledged: Acknowledged


@contextmanager
def copy_at_each_write(
    folder: Path, to: Path, acknowledged: Acknowledged, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[DataCopy]]:
    """Copy the data of a server before and after each of its transactions."""
    begin, end = WriteTransaction.__enter__, WriteTransaction.__exit__
    copies: list[DataCopy] = []

    def copy() -> None:
        until_now = Acknowledged(list(acknowledged.writes), list(acknowledged.completed))
        copies.append(DataCopy(to / str(len(copies)), until_now))
        shutil.copytree(folder, copies[-1].folder, ignore=shutil.ignore_patterns("*-shm", "published", "serve.lock"))

    def enter(transaction: WriteTransaction) -> None:
        copy()
        begin(transaction)

    def leave(transaction: WriteTransaction, *error: Any) -> None:
        end(transaction, *error)
        copy()

    with monkeypatch.context() as patch:
        patch.setattr(WriteTransaction, "__enter__", enter)
        patch.setattr(WriteTransaction, "__exit__", leave)
        yield copies


def check_run(server: Server, run_id: str, acknowledged: Acknowledged) -> None:
    """Check that a run which has ended has everything that was acknowledged, once and in order."""
    store = server.store
    assert not store.check_seals(run_id).is_changed
    attempts: dict[tuple[str, int], list[int]] = {}
    for each in store.task_runs(run_id, attempts=True):
        attempts.setdefault((each.task, each.trial), []).append(each.attempt)
        lines = list(store.log(each))
        events = [orjson.loads(line) for line in lines]
        assert [event["seq"] for event in events] == list(range(1, len(lines) + 1))
        assert (compute_head(lines), len(lines)) == (each.head, each.events)
        written = [event["payload"]["path"] for event in events if event["kind"] == "files.file.written"]
        expected = [path for task, attempt, path in acknowledged.writes if (task, attempt) == (each.task, each.attempt)]
        assert written[: len(expected)] == expected
        assert len(set(written)) == len(written)
    for numbers in attempts.values():
        assert numbers == list(range(1, len(numbers) + 1))
    stored = {each.task: each for each in store.task_runs(run_id)}
    assert all(stored[name].verdict == "pass" for name in acknowledged.completed)
    found = {(name, number) for (name, _), numbers in attempts.items() for number in numbers}
    assert {(task, attempt) for task, attempt, _ in acknowledged.writes} <= found
    assert {task.phase for task in server.live.table.tasks(run_id)} == {"completed"}
    assert store.run(run_id).status == server.live.table.run(run_id).status
    assert list((server.folder / "live").iterdir()) == []


def finish(copy: DataCopy) -> None:
    """Start a server on a copy, finish its runs, and check them."""
    server = open_server(copy.folder, Settings(), build_catalog_without_plugins())
    try:
        for run in server.live.table.unfinished():
            Worker(server, run.id, copy.acknowledged).work(files=1)
            check_run(server, run.id, copy.acknowledged)
    finally:
        server.close()


def test_kill_at_any_write_loses_nothing_that_was_acknowledged(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledged = Acknowledged()
    with copy_at_each_write(hosted.server.folder, tmp_path / "copies", acknowledged, monkeypatch) as copies:
        worker = Worker(hosted.server, create_run(hosted), acknowledged)
        worker.work()
    check_run(hosted.server, worker.run_id, acknowledged)
    assert len(copies) > 16
    for copy in copies:
        finish(copy)


def test_kill_during_recovery_loses_nothing_either(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledged = Acknowledged()
    worker = Worker(hosted.server, create_run(hosted), acknowledged)
    worker.start(hosted.server.live.table.tasks(worker.run_id)[0], files=2)
    hosted.server.close()
    with copy_at_each_write(hosted.server.folder, tmp_path / "copies", acknowledged, monkeypatch) as copies:
        hosted.restart()
    assert len(copies) >= 4
    for copy in copies:
        finish(copy)


def test_write_that_cannot_be_kept_is_refused_and_the_next_one_keeps_both(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledged = Acknowledged()
    worker = Worker(hosted.server, create_run(hosted), acknowledged)
    task = hosted.server.live.table.tasks(worker.run_id)[0]
    worker.start(task, files=1)
    trial = hosted.server.live.get_trial(task)
    assert trial is not None
    assert trial.question is not None
    drop, write = trial.question["sandboxes"]["drop"], os.write

    def fill_disk(file: int, data: memoryview) -> int:
        if len(data) < 50:  # what is left of it
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data[:-49])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fill_disk)
        with pytest.raises(RemoteDisconnected):
            put_file(drop, "refused.txt", "x")
    [journal] = (hosted.server.folder / "live").iterdir()
    [(_, content)] = trial_journal.read_journals(journal.parent)
    assert content.lines == trial.lines[: len(content.lines)]
    assert b"refused.txt" not in content.log
    put_file(drop, "later.txt", "x")
    [(_, content)] = trial_journal.read_journals(journal.parent)
    assert content.lines == trial.lines
    hosted.restart()
    Worker(hosted.server, worker.run_id, acknowledged).work()
    check_run(hosted.server, worker.run_id, acknowledged)


def test_result_that_could_not_be_saved_is_saved_later(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    live = hosted.server.live
    run_id = create_run(hosted)
    task = next(each for each in live.table.tasks(run_id) if each.task == "Say done")
    live.start(task.id)

    def fail(*_: object) -> None:
        raise StoreFailed("the disk is full")

    for broken in (hosted.server.store, live.table):  # the store cannot be written, then the table
        with monkeypatch.context() as patch:
            patch.setattr(broken, "save" if broken is hosted.server.store else "set_tasks", fail)
            with pytest.raises(StoreFailed):
                live.answer(task.id, {"answer": "done"})
    assert live.table.task(task.id).phase == "started"
    with pytest.raises(RequestConflict, match="has ended"):
        live.answer(task.id, {"answer": "another"})
    result = live.find_result(live.table.task(task.id))
    assert result is not None
    assert (result.answer, result.verdict) == ("done", "pass")
    live.cancel_run(run_id)
    check_run(hosted.server, run_id, Acknowledged(completed=["Say done"]))


def test_nothing_is_started_in_a_run_that_is_being_cancelled(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    live, run_id = hosted.server.live, create_run(hosted)
    task = live.table.tasks(run_id)[0]
    is_saving, runs = threading.Event(), live._runs
    refused: list[Exception] = []
    save = runs.save

    def start() -> None:
        is_saving.wait(30)
        try:
            live.start(task.id)
        except RequestConflict as error:
            refused.append(error)

    def save_slowly(*arguments: Any) -> None:
        is_saving.set()
        starter.join(0.1)  # it waits for the end of this
        save(*arguments)

    starter = threading.Thread(target=start)
    starter.start()
    monkeypatch.setattr(runs, "save", save_slowly)
    live.cancel_run(run_id)
    starter.join(30)
    assert len(refused) == 1
    check_run(hosted.server, run_id, Acknowledged())


def test_second_start_waits_until_the_scenario_ran(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    live, run_id = hosted.server.live, create_run(hosted)
    task = live.table.tasks(run_id)[0]
    advance, is_running = LiveTrial._advance, threading.Event()

    def advance_slowly(trial: LiveTrial, answer: Any) -> None:
        is_running.set()
        threading.Event().wait(0.05)
        advance(trial, answer)

    monkeypatch.setattr(LiveTrial, "_advance", advance_slowly)
    first = threading.Thread(target=live.start, args=(task.id,))
    first.start()
    is_running.wait(30)
    live.start(task.id)
    trial = live.get_trial(task)
    assert trial is not None
    assert trial.question is not None
    first.join(30)


def test_run_that_cannot_be_continued_fails_when_it_expires_and_its_journal_is_kept(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker(hosted.server, create_run(hosted), Acknowledged())
    worker.start(hosted.server.live.table.tasks(worker.run_id)[0], files=1)
    monkeypatch.setattr("clerkship.service.resume.GRADING_VERSION", "another")
    hosted.restart()
    live = hosted.server.live
    assert len(list((hosted.server.folder / "live").iterdir())) == 1
    with pytest.raises(InputError, match="grading version"):
        live.start(live.table.tasks(worker.run_id)[0].id)
    later = now() + timedelta(days=2)
    monkeypatch.setattr(live_runs, "get_timestamp", later.isoformat)
    live._end_expired()
    assert (live.table.run(worker.run_id).phase, live.table.run(worker.run_id).status) == ("completed", "failed")


def test_time_limits_are_kept_after_a_failure_to_end_a_trial(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    live, run_id = hosted.server.live, create_run(hosted)
    task = live.table.tasks(run_id)[0]
    live.start(task.id)
    save, failures = hosted.server.store.save, iter((True, False))

    def fail_once(*arguments: Any) -> Any:
        if next(failures, False):
            raise StoreFailed("the disk is full")
        return save(*arguments)

    monkeypatch.setattr(hosted.server.store, "save", fail_once)
    live.hear(task.id, 0.01)
    wait_until(lambda: live.table.task(task.id).phase == "completed")


def test_parked_journal_takes_no_more_events(hosted: Hosted) -> None:
    live, run_id = hosted.server.live, create_run(hosted)
    task = live.table.tasks(run_id)[0]
    live.start(task.id)
    trial = live.get_trial(task)
    assert trial is not None
    hosted.restart()
    with pytest.raises(StoreFailed, match="the server stops"):
        trial.playground.emit("run", AgentAnswered(answer=None), "agent")


def test_journal_that_is_damaged_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    records = [b'H11\n["run-1","Copy",1,2]\n', b"L2\n{}\n", b"\0\0\0\0\n\0"]
    records[0] = b"H%d\n%b\n" % (len(records[0][4:-1]), records[0][4:-1])
    (tmp_path / "a.journal").write_bytes(b"".join(records))
    (tmp_path / "b.journal").write_bytes(b"H99\n[")
    [(path, content)] = trial_journal.read_journals(tmp_path)
    assert (path.name, content.run, content.attempt.attempt, content.lines) == ("a.journal", "run-1", 2, [b"{}"])
    assert not (tmp_path / "b.journal").exists()
