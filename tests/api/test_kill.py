"""A server that is killed under load, at random moments, again and again."""

import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.kit.secrets import new_name
from clerkship.model.errors import InputError
from clerkship.service.serving.server import open_server
from clerkship.settings import Settings
from tests.api.server_process import ServerProcess, open_launcher
from tests.api.test_benchmark_runs import Hosted
from tests.api.test_recovery import Acknowledged, check_run
from tests.waiting import wait_until

AGENTS = 4
NO_ANSWER = (OSError, HTTPException)


class Site:
    """Where the server is now."""

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.starts = 0
        self.acknowledged = 0
        self.is_closing = False
        self._changed = threading.Condition()
        self.start()

    def start(self) -> None:
        """Start the server, and let the agents go on."""
        self.server.start(self.folder)
        with self._changed:
            self.starts += 1
            self._changed.notify_all()

    def wait_for_start(self, after: int) -> None:
        """Wait until the server was started once more."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.starts > after, 60)


class LoadAgent(threading.Thread):
    """Starts runs, and works on their tasks, whatever happens to the server."""

    def __init__(self, site: Site, key: str, number: int) -> None:
        super().__init__(name=f"agent-{number}", daemon=True)
        self.site, self.key = site, key
        self.random = random.Random(number)
        self.runs: dict[str, Acknowledged] = {}
        self.problem: BaseException | None = None
        self._token = key

    def run(self) -> None:
        """Work until the site closes; finish the run that is under way."""
        try:
            while not self.site.is_closing:
                self.work_on(self.begin())
        except BaseException as error:
            self.problem = error
            raise

    def begin(self) -> Any:
        """Start a run, with a request that may be sent again."""
        self._token, idempotency_key = self.key, new_name("key")
        while True:
            status, run = self.call("POST", "/v1/benchmark-runs", {"benchmark": "forms@1"}, idempotency_key)
            if status == 409:  # it was carried out, but the answer is lost
                idempotency_key = new_name("key")
                continue
            assert status == 201, run
            self.runs[run["id"]] = Acknowledged()
            self._token = run["bearer_token"]
            return run

    def work_on(self, run: dict[str, Any]) -> None:
        """Work on all tasks of a run, as often as it takes."""
        for task in run["task_runs"]:
            path, least = f"/v1/task-runs/{task['id']}", 1
            while (state := self.call("GET", path)[1])["phase"] != "completed":
                assert state["attempt"] >= least
                least = self.try_task(path, task["name"], self.runs[run["id"]]) + 1
            assert state["verdict"] == "pass", state

    def try_task(self, path: str, name: str, acknowledged: Acknowledged) -> int:
        """Try a task once; return the number of the attempt, 0 if it did not even start."""
        starts = self.site.starts
        status, started = self.call("POST", f"{path}/start", {}, new_name("key"))
        if status == 409:
            return 0
        assert status == 200, started
        drop, attempt = started["sandboxes"]["drop"], int(started["attempt"])
        headers = {"authorization": f"Bearer {drop['token']}"}
        try:
            for file in ("out.txt", *(f"{number}.txt" for number in range(self.random.randrange(6)))):
                status, _ = send("PUT", f"{drop['url']}/files/{file}", b"NAME: Ada", headers)
                assert status in (200, 201)
                acknowledged.writes.append((name, attempt, file))
                self.site.acknowledged += 1
        except NO_ANSWER:
            self.site.wait_for_start(starts)
            return attempt
        status, result = self.call("POST", f"{path}/complete", {"answer": "done"}, new_name("key"))
        if status == 200:
            assert (result["phase"], result["verdict"]) == ("completed", "pass"), result
            acknowledged.completed.append(name)
            return attempt
        assert status == 409, result
        return attempt if self.site.starts > starts else 0

    def call(self, method: str, path: str, body: Any = None, idempotency_key: str = "") -> tuple[int, Any]:
        """Send a request to the API, again after each start of the server until it is answered."""
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        headers |= {"idempotency-key": idempotency_key} if idempotency_key else {}
        while True:
            starts = self.site.starts
            try:
                status, answer = send(method, self.site.server.url + path, orjson.dumps(body or {}), headers)
            except NO_ANSWER:
                self.site.wait_for_start(starts)
            else:
                assert status < 500, answer
                self.site.acknowledged += 1
                return status, orjson.loads(answer)


def send(method: str, url: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Send one request, and return status and body."""
    place = urlsplit(url)
    connection = HTTPConnection(place.netloc, timeout=60)
    try:
        connection.request(method, place.path, body if method != "GET" else None, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with open_launcher(tmp_path_factory.mktemp("servers") / "log") as process:
        yield process


@contextmanager
def put_under_load(site: Site, key: str) -> Iterator[list[LoadAgent]]:
    """Let several agents work, and let them finish at the end of the block."""
    agents = [LoadAgent(site, key, number) for number in range(AGENTS)]
    for agent in agents:
        agent.start()
    yield agents
    site.is_closing = True
    for agent in agents:
        agent.join(120)
        assert not agent.is_alive()
        assert agent.problem is None


@pytest.mark.long
@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_server_killed_under_load_keeps_what_it_acknowledged(
    process: ServerProcess, tmp_path: Path, kills: int
) -> None:
    hosted = Hosted(tmp_path)
    hosted.server.close()
    moments, site = random.Random(kills), Site(process, hosted.server.folder)
    with put_under_load(site, hosted.solver) as agents:
        for _ in range(kills):
            enough = site.acknowledged + moments.randint(5, 60)
            wait_until(lambda: site.acknowledged > enough or any(agent.problem for agent in agents))  # noqa: B023
            threading.Event().wait(moments.random() / 100)
            assert process.end(signal.SIGKILL) == -signal.SIGKILL
            site.start()
    with pytest.raises(InputError, match="another server uses the folder"):
        open_server(site.folder, Settings(), build_catalog_without_plugins())
    assert process.end(signal.SIGTERM) == 0
    runs = {run: acknowledged for agent in agents for run, acknowledged in agent.runs.items()}
    server = open_server(site.folder, Settings(), build_catalog_without_plugins())
    try:
        assert len({attempt for each in runs.values() for _, attempt, _ in each.writes}) > 1, "no trial was cut off"
        for run, acknowledged in runs.items():
            check_run(server, run, acknowledged)
        for other in server.live.table.unfinished():  # its creation was not acknowledged, but it is complete
            assert (other.phase, server.store.run(other.id).status) == ("created", "active")
    finally:
        server.close()


def test_graceful_stop_parks_what_is_under_way(process: ServerProcess, tmp_path: Path) -> None:
    hosted = Hosted(tmp_path)
    hosted.server.close()
    site = Site(process, hosted.server.folder)
    agent = LoadAgent(site, hosted.solver, 1)
    run = agent.begin()
    [path] = [f"/v1/task-runs/{task['id']}" for task in run["task_runs"] if task["name"] == "Copy"]
    drop = agent.call("POST", f"{path}/start")[1]["sandboxes"]["drop"]
    headers = {"authorization": f"Bearer {drop['token']}"}
    assert send("PUT", f"{drop['url']}/files/out.txt", b"NAME: Ada", headers)[0] == 201
    agent.runs[run["id"]].writes.append(("Copy", 1, "out.txt"))
    assert process.end(signal.SIGTERM) == 0
    assert len(list((site.folder / "live").iterdir())) == 1
    site.start()
    state = agent.call("GET", path)[1]
    assert (state["phase"], state["attempt"]) == ("created", 2)
    agent.work_on(run)
    assert process.end(signal.SIGTERM) == 0
    server = open_server(site.folder, Settings(), build_catalog_without_plugins())
    check_run(server, run["id"], agent.runs[run["id"]])
    server.close()
