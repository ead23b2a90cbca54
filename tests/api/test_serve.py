"""`clerkship serve` as a process, and connections that slow clients want to keep."""

import json
import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from clerkship.api import connections, routing
from clerkship.api.app import build_app
from clerkship.api.serving import StoppableServer, build_config
from clerkship.cli.app import run
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.model.errors import InputError
from clerkship.service.serving.server import Server, open_server
from clerkship.settings import Settings
from tests.command_server import get_command
from tests.waiting import wait_until

CLIENT: dict[str, Any] = {"trust_env": False, "timeout": 60}


class ServeProcess:
    """`clerkship serve` on a free port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.log = folder / "log.jsonl"
        command = [get_command(), "serve", "--json", "--port", "0", *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.facts: dict[str, Any] = json.loads(line) if line.startswith('{"') else {}

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[ServeProcess]:
    started = ServeProcess(folder, *options)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.communicate(timeout=30)


def test_server_prints_its_first_key_once_keeps_its_data_and_stops_on_signals(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        url, key = first.facts["url"], first.facts["key"]
        with httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=60
        ) as client:
            solver = client.post("/v1/solvers", json={"alias": "robin"}).json()["id"]
            assert first.stop() == 0
    lines = [json.loads(line) for line in first.log.read_text().splitlines() if line.startswith("{")]
    assert [line["route"] for line in lines if line["event"] == "request"] == ["/v1/solvers"]
    assert lines[0].items() >= {"status": 201, "method": "POST", "level": "info"}.items()
    assert key not in first.log.read_text()
    with serving(tmp_path) as again:
        assert again.facts["key"] is None
        headers = {"authorization": f"Bearer {key}"}
        found = httpx.get(f"{again.facts['url']}/v1/solvers/{solver}", headers=headers, **CLIENT)
        assert found.json()["alias"] == "robin"
        assert again.stop(signal.SIGINT) == 0


def test_second_server_in_the_same_folder_is_refused_with_the_first_ones_process(server: Server) -> None:
    with pytest.raises(InputError, match=f"another server uses the folder .*: process {os.getpid()}; stop it"):
        open_server(server.folder, Settings(), build_catalog_without_plugins())


def test_serve_without_its_extra_names_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("clerkship.cli.serve.is_installed", lambda extra: False)
    assert run(["serve"]) == 2
    assert "pip install 'clerkship[server]'" in capsys.readouterr().err


def test_serve_on_a_used_port_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        assert run(["serve", "--data", str(tmp_path), "--port", str(used.getsockname()[1])]) == 2
    assert "address already in use; choose another one with --port" in capsys.readouterr().err


def test_keys_are_managed_without_the_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(tmp_path / "data"), "--json"]
    assert run(["keys", "list", *data]) == 2
    assert "there is no server in" in capsys.readouterr().err
    server = open_server(tmp_path / "data", Settings(), build_catalog_without_plugins())
    try:  # while it runs
        assert run(["keys", "create", "Ada", *data]) == 0
        created = json.loads(capsys.readouterr().out)
        owner = server.keys.find(created["key"])
        assert owner is not None
        assert owner.name == "Ada"
        assert run(["keys", "list", *data]) == 0
        (listed,) = json.loads(capsys.readouterr().out)
        assert listed["id"] == created["id"]
        assert "key" not in listed
        assert run(["keys", "revoke", created["id"], *data]) == 0
        assert server.keys.find(created["key"]) is None
        assert run(["keys", "create", "Bo", "--expires", "2001-01-01T00:00:00Z", *data]) == 2
        assert "the time is over" in capsys.readouterr().err
    finally:
        server.close()


@pytest.fixture
def address(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A server on loopback with short limits."""
    for name in ("MAX_HEAD_SECONDS", "MAX_STALL_SECONDS"):
        monkeypatch.setattr(connections, name, 0.3)
    for name in ("MAX_BODY_SECONDS", "MAX_CHUNK_SECONDS"):
        monkeypatch.setattr(routing, name, 0.3)
    listening = socket.create_server(("127.0.0.1", 0))
    running = StoppableServer(build_config(build_app(server)))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    wait_until(lambda: running.started, "the server listens")
    yield listening.getsockname()
    running.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def exchange(address: tuple[str, int], *parts: bytes) -> bytes:
    """Send parts, and return everything until the server closes the connection."""
    with socket.create_connection(address, timeout=20) as client:
        for part in parts:
            client.sendall(part)
        received = b""
        try:
            while data := client.recv(65_536):
                received += data
        except ConnectionResetError:
            pass
        return received


def send_endlessly(client: socket.socket) -> None:
    """Send data until the connection is closed."""
    while True:
        client.sendall(b"x" * 100_000)


def test_slow_and_endless_requests_end(address: tuple[str, int], server: Server) -> None:
    key = server.keys.create_person("Ada").key
    head = f"POST /v1/keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\nconnection: close\r\n"
    json_head = f"{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n".encode()
    assert exchange(address) == b""  # nothing is sent
    assert exchange(address, b"GET /healthz HTTP/1.1\r\nhost:") == b""
    assert b" 408 " in exchange(address, json_head, b'{"name"')
    endless = exchange(address, b"GET /healthz HTTP/1.1\r\n", *[b"x: " + b"a" * 8000 + b"\r\n"] * 9)
    assert endless.startswith(b"HTTP/1.1 431 ")
    upload = head.replace("POST /v1/keys", "PUT /v1/published/note@1/archive")
    assert b" 408 " in exchange(address, f"{upload}content-length: 100\r\n\r\n".encode(), b"PK")
    assert list(server.published.folder.iterdir()) == []
    with socket.create_connection(address, timeout=20) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        wait_until(lambda: client.recv(65_536, socket.MSG_PEEK).endswith(b"}"), "the whole answer")
        assert b" 200 OK" in client.recv(65_536)
        client.sendall(b"GET /hea")
        assert client.recv(65_536) == b""


def test_client_that_does_not_read_its_answer_is_disconnected(address: tuple[str, int], server: Server) -> None:
    key = server.keys.create_person("Ada").key
    request = f"GET /v1/openapi.json HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n".encode()
    with socket.create_connection(address, timeout=20) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(request * 2000)  # the answers fill all buffers
        poll = select.poll()
        poll.register(client, 0)
        assert poll.poll(20_000) == [(client.fileno(), select.POLLERR | select.POLLHUP)]


def test_client_that_goes_on_sending_a_refused_body_is_disconnected(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=20) as client:
        client.sendall(b"PUT /v1/published/note@1/archive HTTP/1.1\r\nhost: x\r\ncontent-length: 999999999\r\n\r\n")
        received = client.recv(65_536)
        assert b" 401 " in received
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            send_endlessly(client)
        assert b" 431 " not in received
