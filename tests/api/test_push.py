"""`clerkship push` and `clerkship pull` with a server on loopback."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.api.app import build_app
from clerkship.api.serving import StoppableServer, build_config
from clerkship.cli.app import run
from clerkship.service.serving.server import Server
from tests.service.serving.drafts.small_suite import FILES
from tests.waiting import wait_until

Output = pytest.CaptureFixture[str]


@pytest.fixture
def url(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of a server; the key of a person is set, and the current folder is empty."""
    monkeypatch.setenv("CLERKSHIP_SERVER_KEY", server.keys.create_person("Ada").key)
    monkeypatch.setenv("CLERKSHIP_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    listening = socket.create_server(("127.0.0.1", 0))
    running = StoppableServer(build_config(build_app(server)))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    wait_until(lambda: running.started, "the server listens")
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    running.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def write_files(folder: Path) -> Path:
    for path, data in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_goes_to_the_server_and_back_without_loss(url: str, tmp_path: Path, capsys: Output) -> None:
    folder = write_files(tmp_path / "suite")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret")
    assert run(["push", "suite", "--to", f"{url}/", "--json"]) == 0
    pushed = json.loads(capsys.readouterr().out)
    assert pushed | {"id": ""} == {"id": "", "slug": "office", "files": len(FILES), "new": True, "warnings": []}
    assert run(["pull", "office", "--from", url]) == 0
    assert read_files(tmp_path / "office") == FILES
    assert run(["push", "suite", "--to", url]) == 0
    assert "office  11 files, replaced" in capsys.readouterr().out


def test_pull_overwrites_nothing_that_differs_without_force(url: str, tmp_path: Path, capsys: Output) -> None:
    folder = write_files(tmp_path / "office")
    assert run(["push", "office", "--to", url]) == 0
    (folder / "README.md").write_text("mine")
    (folder / "own.txt").write_text("mine")
    assert run(["pull", "office", "--from", url]) == 2
    assert "files differ from those of the server: README.md" in capsys.readouterr().err
    assert run(["pull", "office", "--from", url, "--force"]) == 0
    assert "not on the server: own.txt" in capsys.readouterr().out
    assert read_files(folder) == FILES | {"own.txt": b"mine"}


def test_mistakes_that_the_server_finds_are_shown_as_validate_shows_them(
    url: str, tmp_path: Path, capsys: Output
) -> None:
    folder = write_files(tmp_path / "suite")
    (folder / "tasks" / "new.yml").write_text("task:\n  name: New\n  tag: [x]\n")
    assert run(["push", "suite", "--to", url]) == 2
    of_push = capsys.readouterr().err
    assert run(["validate", "suite"]) == 2
    of_validate = capsys.readouterr()
    shown = "suite/tasks/new.yml:3:3: task.tag: unknown key `tag`; did you mean `tags`?"
    assert shown in of_push.replace("\n", " ")
    assert shown in (of_validate.err + of_validate.out).replace("\n", " ")


def test_what_cannot_be_sent_is_said(url: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "suite")
    assert run(["pull", "unknown", "--from", url]) == 2
    assert "there is no benchmark `unknown` (NOT_FOUND)" in capsys.readouterr().err
    (tmp_path / "key").write_text("clk_wrong\n")
    assert run(["push", "suite", "--to", url, "--key-file", "key"]) == 2
    assert "the key is not valid (UNAUTHORIZED)" in capsys.readouterr().err
    monkeypatch.delenv("CLERKSHIP_SERVER_KEY")
    assert run(["push", "suite", "--to", url]) == 2
    assert "a key of the server is needed" in capsys.readouterr().err
    assert run(["push", "suite", "--to", "http://127.0.0.1:9", "--key-file", "key"]) == 2
    assert "no answer from http://127.0.0.1:9" in capsys.readouterr().err
    (tmp_path / "suite" / "link.yml").symlink_to("/etc/passwd")
    assert run(["push", "suite", "--to", url, "--key-file", "key"]) == 2
    assert "it is a link to a file outside the folder" in capsys.readouterr().err
