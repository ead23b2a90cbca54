"""`clerkship view` as a process: the address that it prints, Ctrl-C, and what it refuses."""

import json
import signal
import socket
from pathlib import Path

import httpx
import pytest

from clerkship.cli.app import run
from clerkship.store.sqlite import SqliteStore
from tests.cli.terminal import Process, clerkship


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    SqliteStore(tmp_path / ".clerkship" / "store.db").close()
    return tmp_path


def test_printed_address_opens_the_runs_and_ctrl_c_stops(folder: Path) -> None:
    with Process(folder, "view", "--json") as process:
        line = json.loads(process.line())
        page = httpx.get(line["url"], follow_redirects=True, trust_env=False)
        assert (page.status_code, 'data-page="runs"' in page.text) == (200, True)
        assert httpx.get(line["url"].partition("?")[0], trust_env=False).status_code == 401
        stopped = process.stop(signal.SIGINT)
    assert (stopped.code, stopped.out, stopped.err) == (0, "", "")


def test_token_is_printed_once_and_no_browser_is_opened_away_from_a_terminal(folder: Path) -> None:
    with Process(folder, "view", ".clerkship/store.db", "--port", "0") as process:
        said = [process.line() for _ in range(3)]
        stopped = process.stop(signal.SIGTERM)
    assert "shows .clerkship/store.db" in said[0]
    assert said[1].split()[0] == "open"
    token = said[1].partition("token=")[2].strip()
    assert len(token) > 40
    assert token not in said[0] + said[2] + stopped.out + stopped.err


def test_taken_port_and_missing_store_are_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = clerkship(folder, "view", "--port", str(taken.getsockname()[1]))
    assert (result.returncode, "cannot listen on port" in result.stderr) == (2, True)
    assert run(["view", str(folder / "none.db")]) == 2
    assert "there is no store at" in capsys.readouterr().err
    assert run(["view", "http://127.0.0.1:9"]) == 2
    assert "a key of the server is needed" in capsys.readouterr().err
