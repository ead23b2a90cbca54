"""A running playground has the same setup, ids and log as a run."""

import http.client
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from clerkship.cli.up import EventPrinter
from clerkship.model.errors import InputError
from clerkship.sandbox.request import Request
from clerkship.service.live_check import check_now
from clerkship.service.up import PlaygroundRequest, choose_environment, open_playground
from clerkship.service.up_registry import RemotePlayground
from clerkship.settings import Settings
from clerkship.suite_files.load import load_library
from tests.workbench import CATALOG, Workbench

TASK = """
    environment:
      name: desk
      simulators: {drop: {kind: files}, archive: {kind: files}, chat: {kind: chat}}
      reactions: [drop.file.written -> archive]
    task:
      name: A
      task_item: {instruction: Do it.}
      scenario:
        person: {name: Ada, fallback: I see.}
        steps:
          - files.drop: {sandbox: drop, path: inbox/a.txt, text: first}
          - {at: +5m, files.drop: {sandbox: drop, path: inbox/b.txt, text: second}}
          - {at: +6m, chat.say: {text: Are you there?}}
"""
REQUESTS = (
    ("drop", Request("GET", "/files")),
    ("drop", Request("PUT", "/files/out.bin", body=bytes(range(256)) * 100)),
    ("drop", Request("GET", "/files/nothing.txt")),
    ("clock", Request("POST", "/advance", {"by": "10m"})),
    ("chat", Request("POST", "/messages", body=b'{"text": "Hello"}')),
    ("archive", Request("GET", "/files/out.bin")),
)


def test_same_requests_give_the_same_log_as_a_run(bench: Workbench) -> None:
    bench.write("a.yml", TASK)

    def agent(task_item: Any, sandboxes: Any) -> None:
        for name, request in REQUESTS:
            if name == "clock":
                sandboxes.wait("10m")
            else:
                sandboxes[name]._transport.send(request)

    task_run = bench.run_one(agent, seed=7)
    kept = list(bench.store.log(task_run))
    request = PlaygroundRequest(path=bench.folder, task="A", seed=7)
    with open_playground(request, Settings(store=bench.folder / "store.db"), CATALOG) as play:
        for name, asked in REQUESTS:
            token = play.clock.token if name == "clock" else play.sandboxes[name].token
            send(play.url, name, asked, token)
        with RemotePlayground(play.where.url, play.where.token) as remote:
            lines = list(remote.lines())
    assert lines == kept[: len(lines)]
    assert len(kept) - len(lines) == 2, "the run also says that the agent answered, and that it ended"


def send(url: str, sandbox: str, request: Request, token: str) -> None:
    """Send a request to the listener."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    path = f"{parts.path}/{sandbox}{request.path}?{urlencode(request.query)}"
    connection.request(request.method, path, request.body or None, {"Authorization": f"Bearer {token}"})
    connection.getresponse().read()
    connection.close()


def test_check_reports_a_broken_simulator(bench: Workbench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench.write("a.yml", TASK)
    tail = EventPrinter()
    request = PlaygroundRequest(path=bench.folder, environment="desk")
    with (
        tail.stop_on_signal(),
        open_playground(request, Settings(store=tmp_path / "s.db"), CATALOG, tail.add) as play,
    ):
        play.playground.broken = "drop: KeyError: x"
        signal.raise_signal(signal.SIGINT)
        tail.follow(play.playground, None, play.redactor)
    assert "platform error: drop: KeyError: x" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_up_with_a_file_uses_the_environment_of_its_tasks(bench: Workbench) -> None:
    bench.write("places.yml", "environments: [{name: a}, {name: b}]")
    file = bench.write("task.yml", "task: {name: B, environment: b}")
    library = load_library(bench.folder, CATALOG)
    assert choose_environment(library, PlaygroundRequest(path=file))[1].name == "b"
    with pytest.raises(InputError, match="expected one of a, b"):
        choose_environment(library, PlaygroundRequest(path=bench.folder))


def test_up_opens_a_model_played_person_if_a_model_is_set(bench: Workbench) -> None:
    bench.write("a.yml", TASK.replace("{name: Ada, fallback: I see.}", "{simulation_context: You want tea.}"))
    script = bench.folder.parent / "person.json"
    script.write_text('[{"contains": "Sugar?", "answer": {"message": "No, thanks.", "done": false}}]')
    request = PlaygroundRequest(path=bench.folder, task="A")
    with pytest.raises(InputError, match="set CLERKSHIP_PERSON"), open_playground(request, Settings(), CATALOG):
        pass
    with open_playground(request, Settings(person=f"scripted:{script}"), CATALOG) as play:
        way = play.sandboxes["chat"]
        at = urlsplit(way.url)
        door = http.client.HTTPConnection(at.hostname or "", at.port or 0, timeout=10)
        headers = {"authorization": f"Bearer {way.token}"}
        door.request("POST", f"{at.path}/messages", b'{"text": "Sugar?"}', headers)
        assert door.getresponse().read()
        door.request("GET", f"{at.path}/messages", headers=headers)
        assert b"No, thanks." in door.getresponse().read()
        door.close()


def test_access_has_an_example_command(bench: Workbench) -> None:
    bench.write("a.yml", "environment: {name: desk, simulators: {ehr: {kind: fhir}, drop: {kind: files}}}")
    with open_playground(
        PlaygroundRequest(path=bench.folder), Settings(store=bench.folder / "store.db"), CATALOG
    ) as play:
        assert "/ehr/Patient?_count=1" in play.sandboxes["ehr"].curl
        assert play.sandboxes["drop"].curl.endswith("/drop/files")


def test_up_and_check_need_only_the_files_of_their_task(bench: Workbench, tmp_path: Path) -> None:
    bench.write("a.yml", TASK)
    bench.write("broken.yml", "task: {name: Broken, criteria: [{label: x, assertion: {nevr: x}}]}")
    settings = Settings(store=tmp_path / "s.db")
    with open_playground(PlaygroundRequest(path=bench.folder, task="A"), settings, CATALOG) as play:
        assert check_now(play.where, settings, CATALOG).task == "A"
    with (
        pytest.raises(InputError, match="unknown assertion `nevr`"),
        open_playground(PlaygroundRequest(path=bench.folder), settings, CATALOG),
    ):
        pass
