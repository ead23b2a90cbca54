"""`clerkship play` as a program: the address, the verdict, the exit code, and Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from clerkship.cli.app import run as cli
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from tests.processes import start_process
from tests.viewer.test_play_session import write_suite
from tests.waiting import wait_until

LIMIT = 60
CHANGE = {"x-clerkship-view": "1"}


class Player:
    """A person at the page, without a browser."""

    def __init__(self, client: httpx.Client, url: str) -> None:
        self._client = client
        self._data = str(client.get(url, follow_redirects=True).url).replace("/view/play", "/view/data/play")

    def state(self) -> dict[str, Any]:
        """Return the state of the task."""
        state: dict[str, Any] = self._client.get(self._data).raise_for_status().json()
        return state

    def send(self, path: str, data: object) -> dict[str, Any]:
        """Send a change, and return the reply."""
        reply: dict[str, Any] = self._client.post(f"{self._data}/{path}", json=data, headers=CHANGE).json()
        return reply


@contextmanager
def open_player(lines: IO[str]) -> Iterator[Player]:
    """Open the address that the command prints."""
    url = next(match[0] for line in lines if (match := re.search(r"http://\S+", line)))
    with httpx.Client(trust_env=False, timeout=LIMIT) as client:
        player = Player(client, url)
        wait_until(lambda: player.state()["state"] == "task")
        yield player


@contextmanager
def start_play(folder: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "clerkship", "play", "--no-open", "--store", "store.db", *options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start_process(command, cwd=folder, env={**os.environ, "COLUMNS": "200"}, **pipes) as process:
        yield process


def find_solver(folder: Path) -> str:
    with open_store(Settings(store=folder / "store.db")) as store:
        return store.run("latest").solver


def test_verdict_and_exit_code_are_those_of_a_run(tmp_path: Path) -> None:
    write_suite(tmp_path)
    with start_play(tmp_path, "--from", "suite", "potassium") as process:
        assert process.stdout is not None
        with open_player(process.stdout) as player:
            player.send("call", {"tool": "ehr__read", "arguments": {"type": "Observation", "id": "potassium"}})
            player.send("answer", {"answer": 2.8})
            result = wait_until(lambda: player.state()["result"])
        printed, _ = process.communicate(timeout=LIMIT)
    assert (process.returncode, result["outcome"]) == (0, "pass")
    assert re.search(r"✓ pass +1\.00 +Check the potassium", printed)
    assert f"show {result['run']}" in printed
    assert find_solver(tmp_path) == "human"


def test_json_has_one_document_and_the_address_is_on_stderr(tmp_path: Path) -> None:
    write_suite(tmp_path)
    with start_play(tmp_path, "--from", "suite", "--json") as process:
        assert process.stderr is not None
        with open_player(process.stderr) as player:
            assert player.send("give-up", {}) == {}
            wait_until(lambda: player.state()["result"])
        printed, _ = process.communicate(timeout=LIMIT)
    data = json.loads(printed)
    assert (process.returncode, data["exit_code"], data["run"]["solver"]) == (1, 1, "human")
    assert data["tasks"][0]["agent_error"] == "The person gave up"


def test_ctrl_c_cancels_the_run(tmp_path: Path) -> None:
    write_suite(tmp_path)
    with start_play(tmp_path, "--from", "suite") as process:
        assert process.stdout is not None
        with open_player(process.stdout):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    with open_store(Settings(store=tmp_path / "store.db")) as store:
        assert store.run("latest").status == "cancelled"


def test_mistakes_are_said_before_a_page_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_suite(tmp_path)
    monkeypatch.chdir(tmp_path)
    for options, reason in (
        (["play", "--from", "suite", "sodium"], "sodium"),
        (["play", "--from", "nowhere"], "nowhere"),
        (["play", "--from", "suite", "--timeout", "25h"], "at most 24h"),
        (["run", "suite", "--agent", "human"], "clerkship play TASK"),
    ):
        assert cli(options) == 2
        printed = "".join(capsys.readouterr())
        assert reason in printed
        assert "http://" not in printed
