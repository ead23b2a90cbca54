"""Runs on a real Temporal server equal local runs, also if workers and the server are killed."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from clerkship.model.errors import InputError
from clerkship.model.run import TaskRun
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import RunResult, execute
from clerkship.service.task_view import load_task_view
from clerkship.service.temporal.address import TemporalAddress
from clerkship.service.temporal.connection import TemporalFailed
from clerkship.service.temporal.executor import TemporalExecutor
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from tests.clients.temporal.processes import AGENT, WORKER_TIMEOUT, Fleet, open_fleet
from tests.processes import start_process
from tests.waiting import time_limit
from tests.workbench import CATALOG

pytestmark = pytest.mark.long
KILLS = 30
SUITE = """
environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
tasks:
""" + "".join(
    f"""
  - name: File {n}
    task_item: {{name: File {n}}}
    criteria: [{{label: filed, assertion: {{file_present: second.txt}}}}]
"""
    for n in range(3)
)


FAILING = """
class Clerk:
    def on_task(self, task_item, sandboxes):
        if task_item["name"] == "File 1":
            raise RuntimeError("out of ideas")
        if task_item["name"] == "File 2":
            sandboxes["drop"].write("second.txt", "x")
        return "done"
"""
LARGE = """
import random


class Clerk:
    def on_task(self, task_item, sandboxes):
        sandboxes["drop"].write("second.txt", random.Random(1).randbytes(3_000_000))
        return "done"
"""


def comparable_fields(task_run: TaskRun) -> tuple[object, ...]:
    """Return everything of a trial that must not depend on where it was run."""
    return task_run.head, task_run.verdict, task_run.score, task_run.criteria, task_run.answer, task_run.snapshot


class Desk:
    """A suite and a store, in which runs are executed here or on Temporal."""

    def __init__(self, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fleet = fleet
        (fleet.folder / "suite").mkdir()
        (fleet.folder / "suite" / "tasks.yml").write_text(SUITE)
        monkeypatch.syspath_prepend(str(fleet.folder))
        for name, value in fleet.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if k != "clerk_agent"})
        self.path = fleet.folder / "store.db"

    def run(self, trials: int, *, remote: bool, **options: Any) -> RunResult:
        """Run the suite to its end."""
        request = RunRequest(path=self.fleet.folder / "suite", agent=AGENT, trials=trials, **options)
        settings = Settings(worker_timeout=WORKER_TIMEOUT)
        plan = plan_run(request, settings, CATALOG)
        address = TemporalAddress.parse(self.fleet.server.address, "--on")
        with SqliteStore(self.path) as store:
            if remote:
                return execute(plan, store, CATALOG, executor=TemporalExecutor(address, CATALOG))
            return execute(plan, store, CATALOG)

    @contextmanager
    def command(self, *arguments: str) -> "Iterator[subprocess.Popen[str]]":
        """Start a command, and kill it at the end of the block if it still runs."""
        words = [sys.executable, "-m", "clerkship", *arguments, "--store", str(self.path)]
        environ = os.environ | self.fleet.environ
        with start_process(words, cwd=self.fleet.folder, env=environ, stdout=subprocess.PIPE) as process:
            yield process

    def attempts(self, run_id: str) -> list[TaskRun]:
        with SqliteStore(self.path) as store:
            return store.task_runs(run_id, attempts=True)

    def compare(self, expected: str, found: str) -> list[TaskRun]:
        """Check that two runs have the same trials, each once, with logs of the same bytes; return all attempts."""
        with SqliteStore(self.path) as store:
            wanted, runs = store.task_runs(expected), store.task_runs(found, attempts=True)
            finished = [each for each in runs if each.status != "cancelled"]
            assert [(t.task, t.trial) for t in finished] == [(t.task, t.trial) for t in wanted]
            assert list(map(comparable_fields, finished)) == list(map(comparable_fields, wanted))
            logs = [[b"".join(store.log(each)) for each in each_run] for each_run in (wanted, finished)]
            assert logs[0] == logs[1]
            assert all(load_task_view(store, each).intact for each in finished[:20])
            assert store.check_seals(found).state() == "intact (without a key)"
        numbers: dict[tuple[str, int], list[int]] = {}
        for each in runs:
            numbers.setdefault((each.task, each.trial), []).append(each.attempt)
        assert all(each == list(range(1, len(each) + 1)) for each in numbers.values())
        return runs


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with open_fleet(tmp_path / "fleet") as fleet, time_limit(300):
        yield fleet


@pytest.fixture
def desk(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(fleet, monkeypatch)


@pytest.mark.slow  # kills are timed, and a busy machine may be too slow for them
def test_run_on_temporal_equals_a_local_run_although_a_worker_and_the_server_are_killed(desk: Desk) -> None:
    fleet, trials = desk.fleet, 3
    fleet.environ["PAUSE"] = "0.5"  # so that the kill comes while agents are at work
    fleet.add_workers(1, 2)
    local = desk.run(trials, remote=False)
    begun = fleet.count_started()

    def disturb() -> None:
        fleet.wait_started(begun + 2)
        fleet.workers[0].kill()
        fleet.workers[0].start().wait_ready()
        fleet.wait_started(begun + 5)
        fleet.server.kill()
        fleet.server.start().wait_ready()

    killer = threading.Thread(target=disturb)
    killer.start()
    remote = desk.run(trials, remote=True)
    killer.join(60)
    attempts = desk.compare(local.run.id, remote.run.id)
    interrupted = [each for each in attempts if each.status == "cancelled"]
    assert 1 <= len(interrupted) <= 4
    assert {each.error for each in interrupted} == {"its process ended during the trial; its log is lost"}
    assert remote.exit_code() == local.exit_code() == 0


def test_runs_that_need_this_machine_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tasks.yml").write_text(SUITE)
    executor = TemporalExecutor(TemporalAddress.parse("temporal://127.0.0.1:1/other", "--on"), CATALOG)
    for options in ({"tape": "record"}, {"port": 18_720}):
        plan = plan_run(RunRequest(path=tmp_path, agent="nop", **options), Settings(), CATALOG)
        with SqliteStore(tmp_path / "store.db") as store:
            with pytest.raises(InputError, match="cannot be on Temporal"):
                execute(plan, store, CATALOG, executor=executor)
            assert store.runs() == []


def test_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    (tmp_path / "tasks.yml").write_text(SUITE)
    executor = TemporalExecutor(TemporalAddress.parse("127.0.0.1:1", "--on"), CATALOG)
    plan = plan_run(RunRequest(path=tmp_path, agent="nop"), Settings(), CATALOG)
    with SqliteStore(tmp_path / "store.db") as store, pytest.raises(TemporalFailed, match=r"127\.0\.0\.1:1"):
        execute(plan, store, CATALOG, executor=executor)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("temporal://host", ("host:7233", "default")),
        ("temporal://host:70/tests", ("host:70", "tests")),
        ("host:70", ("host:70", "default")),
        ("temporal://[::1]:70", ("[::1]:70", "default")),
    ],
)
def test_address_names_server_and_namespace(text: str, expected: tuple[str, str]) -> None:
    assert tuple(TemporalAddress.parse(text, "--on")) == expected


@pytest.mark.parametrize("text", ["temporal://", "http://host", "temporal://host/a/b", "temporal://me@host", "host:x"])
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="invalid --on"):
        TemporalAddress.parse(text, "--on")


def test_stopped_run_keeps_what_is_finished_and_is_resumed(desk: Desk) -> None:
    fleet = desk.fleet
    local = desk.run(10, remote=False)
    fleet.add_workers(2, 2)
    begun = fleet.count_started()
    on = ["--on", f"temporal://{fleet.server.address}"]
    with desk.command("run", "suite", "-a", AGENT, "-k", "10", *on) as process:
        fleet.wait_started(begun + 8)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    with SqliteStore(desk.path) as store:
        run = store.run("latest")
    stopped = desk.attempts(run.id)
    assert 4 <= len([each for each in stopped if each.status == "completed"]) < 30
    assert all(each.ending == "cancelled" and each.events for each in stopped if each.status == "cancelled")
    assert run.status == "cancelled"
    with desk.command("resume", run.id, *on) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    attempts = desk.compare(local.run.id, run.id)
    assert attempts[: len(stopped)] != attempts
    assert {each.head for each in stopped if each.status == "completed"} <= {each.head for each in attempts}


def test_killed_client_gets_the_results_of_trials_that_went_on(desk: Desk) -> None:
    fleet = desk.fleet
    local = desk.run(10, remote=False)
    fleet.add_workers(1, 4)
    begun = fleet.count_started()
    on = ["--on", f"temporal://{fleet.server.address}"]
    with desk.command("run", "suite", "-a", AGENT, "-k", "10", *on) as process:
        fleet.wait_started(begun + 8)
        process.kill()
    with SqliteStore(desk.path) as store:
        run = store.run("latest")
    fleet.wait_started(begun + 30)
    with desk.command("resume", run.id, *on) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    attempts = desk.compare(local.run.id, run.id)
    assert (len(attempts), fleet.count_started() - begun) == (30, 30)  # none was begun again


def test_worker_that_is_stopped_lets_trials_finish(desk: Desk) -> None:
    fleet = desk.fleet
    local = desk.run(4, remote=False)
    fleet.add_workers(2, 2)
    begun = fleet.count_started()

    def stop() -> None:
        fleet.wait_started(begun + 3)
        assert fleet.workers[0].send(signal.SIGTERM) == 0

    stopper = threading.Thread(target=stop)
    stopper.start()
    remote = desk.run(4, remote=True)
    stopper.join(60)
    assert len(desk.compare(local.run.id, remote.run.id)) == 12


def test_agent_that_fails_and_tasks_that_fail_are_as_locally(desk: Desk) -> None:
    (desk.fleet.folder / "clerk_agent.py").write_text(FAILING)
    desk.fleet.add_workers(1, 2)
    local, remote = desk.run(2, remote=False), desk.run(2, remote=True)
    desk.compare(local.run.id, remote.run.id)
    assert remote.counts == local.counts
    assert remote.counts.agent_errors == 2


def test_rounds_until_sure_are_as_locally(desk: Desk) -> None:
    desk.fleet.add_workers(1, 4)
    options = {"until_sure": 0.8}
    local, remote = desk.run(20, remote=False, **options), desk.run(20, remote=True, **options)
    assert len(desk.compare(local.run.id, remote.run.id)) == 60


def test_large_result_travels_by_digest(desk: Desk) -> None:
    (desk.fleet.folder / "clerk_agent.py").write_text(LARGE)
    desk.fleet.add_workers(1, 2)
    local, remote = desk.run(1, remote=False), desk.run(1, remote=True)
    [first, *_] = desk.compare(local.run.id, remote.run.id)
    with SqliteStore(desk.path) as store:
        assert sum(map(len, store.log(first))) > 100
        assert store.check_seals(remote.run.id).state() == "intact (without a key)"


def test_trials_of_agents_that_a_worker_does_not_name_wait_for_another(desk: Desk) -> None:
    desk.fleet.add_workers(1, 2)
    on = ["--on", f"temporal://{desk.fleet.server.address}"]
    with desk.command("run", "suite", "-a", "nop", *on) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=4)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    with SqliteStore(desk.path) as store:
        assert store.task_runs(store.run("latest").id, attempts=True) == []


def test_thirty_kills_lose_and_double_nothing(desk: Desk) -> None:
    fleet, moments = desk.fleet, random.Random(46)
    local = desk.run(60, remote=False)
    fleet.add_workers(3, 2)
    kills = runs = 0
    while kills < KILLS:
        runs += 1
        before = fleet.count_started()
        result: list[RunResult] = []
        worker = threading.Thread(target=lambda: result.append(desk.run(60, remote=True)))  # noqa: B023
        worker.start()
        fleet.wait_started(before + 4)
        while worker.is_alive() and kills < KILLS:
            kills += 1
            victim = fleet.server if moments.random() < 0.25 else moments.choice(fleet.workers)
            victim.kill()
            threading.Event().wait(moments.uniform(0, 1))  # the next kill must come at any moment
            victim.start()
            if victim is fleet.server:
                victim.wait_ready()
            threading.Event().wait(moments.uniform(0, 3))
        worker.join(600)
        attempts = desk.compare(local.run.id, result[0].run.id)
        lost = len([each for each in attempts if each.status == "cancelled"])
        print(f"run {runs}: {kills} kills so far, {len(attempts)} attempts, {lost} lost")  # noqa: T201
    assert runs <= KILLS
