"""A real server on loopback, in a thread, with published versions and keys."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from clerkship.api.app import build_app
from clerkship.api.serving import StoppableServer, build_config
from clerkship.client import Client
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.service.publishing import PublishRequest, publish
from clerkship.service.serving.server import open_server
from clerkship.settings import Settings

FORMS = """
environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
benchmark: {name: Forms, slug: forms, version: 1, environment: desk, tasks: ["*"]}
tasks:
  - name: Copy
    timeout: 60
    tags: [files]
    task_item: {from: form.txt, to: out.txt}
    solution: copy.py
    criteria:
      - {label: there, gate: true, assertion: {file_present: {path: out.txt, text: {contains: Ada}}}}
  - name: Say done
    task_item: {say: done}
    solution: say.py
    criteria: [{label: answered, gate: true, assertion: {answer_matches: done}}]
"""
SOLUTIONS = {
    "copy.py": """
        from datetime import timedelta

        def on_task(task_item, sandboxes):
            drop = sandboxes["drop"]
            drop.write(task_item["to"], drop.read(task_item["from"]))
            sandboxes.wait(timedelta(minutes=5))
        """,
    "say.py": """
        def on_task(task_item):
            return task_item["say"]
        """,
}
QUICK = """
environment: {name: empty, simulators: {drop: {kind: files}}}
benchmark: {name: Quick, slug: quick, version: 1, environment: empty, tasks: ["*"]}
task:
  name: Quick
  timeout: 0.5
  criteria: [{label: answered, gate: true, assertion: {answer_matches: done}}]
"""
TALK = """
benchmark: {name: Talk, slug: talk, version: 1, tasks: ["*"]}
scenario:
  name: Two questions
  simulation_context: You ask twice.
  setup: {person: {lines: ["Where is my order?", "And when?"]}}
  goals: {assertions: [bot_uttered: {text_matches: tomorrow}]}
"""


class RunningServer:
    """A server with its address and keys."""

    def __init__(self, folder: Path) -> None:
        self.server = open_server(folder / "data", Settings(), build_catalog_without_plugins())
        for name, text, files in (("forms", FORMS, SOLUTIONS), ("talk", TALK, {}), ("quick", QUICK, {})):
            self._publish(folder / name, name, {"suite.yml": text, **files})
        self.person = self.server.keys.create_person("Ada").key
        solver = self.server.solvers.create("robin", "", "", "")
        self.solver = self.server.keys.create_solver_key(solver.id).key
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._running = StoppableServer(build_config(build_app(self.server)))
        self._thread = threading.Thread(target=self._running.run, args=([self._listening],), daemon=True)
        self._thread.start()

    def _publish(self, suite: Path, name: str, files: dict[str, str]) -> None:
        suite.mkdir()
        for file, text in files.items():
            (suite / file).write_text(dedent(text), encoding="utf-8")
        request = PublishRequest(path=suite, name=f"{name}@1", to=self.server.published.folder)
        publish(request, Settings(), build_catalog_without_plugins())

    def close(self) -> None:
        """Stop answering, and close the files."""
        self._running.should_exit = True
        self._thread.join(30)
        self._listening.close()
        self.server.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Return one server for the tests of a module: each uses runs of its own."""
    running = RunningServer(tmp_path_factory.mktemp("server"))
    yield running
    running.close()


@pytest.fixture
def connect(running: RunningServer) -> Iterator[Callable[[str], Client]]:
    """Return a function that opens clients, which are closed at the end."""
    opened: list[Client] = []

    def open_client(key: str) -> Client:
        opened.append(Client(running.url, key, timeout=30))
        return opened[-1]

    yield open_client
    for client in opened:
        client.close()
