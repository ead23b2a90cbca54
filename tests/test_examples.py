"""The examples, run with the project that `clerkship init` creates."""

import base64
import hashlib
import hmac
import os
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clerkship.service.scaffold import create_project
from examples.order_support.rasa_server import serve
from tests.command_server import get_command_path
from tests.processes import start_process

EXAMPLES = Path(__file__).parent.parent / "examples"
PYTHON = shlex.quote(sys.executable)


@pytest.fixture
def practice(tmp_path: Path) -> Path:
    """A new project."""
    create_project(tmp_path / "mine")
    return tmp_path / "mine"


def clerkship(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    given = {name: value for name, value in os.environ.items() if "OPENAI" not in name} | environ
    given["PATH"] = get_command_path()
    command = ["clerkship", *arguments]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False, timeout=60)


def assert_passes(done: "subprocess.CompletedProcess[str]") -> None:
    """Check that both tasks of the project passed."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("✓ pass") == 3, done.stdout  # two tasks, and their sum


@contextmanager
def run_server(script: Path, **environ: str) -> Iterator[str]:
    """Start a server of the examples on a free port, and yield the address that it prints."""
    command = [sys.executable, str(script), "--port", "0"]
    with start_process(command, env=os.environ | environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()


def test_python_program_example_passes(practice: Path) -> None:
    agent = f"command:{PYTHON} {shlex.quote(str(EXAMPLES / 'command_python' / 'agent.py'))}"
    assert_passes(clerkship(practice, "run", "practice", "--agent", agent))
    shown = clerkship(practice, "show", "latest", "Book a visit", "--events").stdout
    assert "standard error of the agent\n    got a turn\n" in shown
    assert "agent.action.executed" in shown


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_program_example_passes(practice: Path) -> None:
    agent = f"command:node {shlex.quote(str(EXAMPLES / 'node_agent' / 'agent.mjs'))}"
    assert_passes(clerkship(practice, "run", "practice", "--agent", agent))
    shown = clerkship(practice, "show", "latest", "Add up the orders").stdout
    assert "got a task" in shown


def test_webhook_example_with_signatures_passes(practice: Path) -> None:
    with run_server(EXAMPLES / "webhook" / "agent.py", WEBHOOK_SECRET="a secret of ours") as address:
        good = clerkship(practice, "run", "practice", "--agent", address, CLERKSHIP_WEBHOOK_SECRET="a secret of ours")
        other = clerkship(practice, "run", "practice", "--agent", address, CLERKSHIP_WEBHOOK_SECRET="another")
        none = clerkship(practice, "run", "practice", "--agent", address)
        assert _send_signed(address, "a secret of ours", age=0) == 400
        assert _send_signed(address, "a secret of ours", age=1000) == 401
    assert_passes(good)
    for refused in (other, none):
        assert refused.returncode == 1
        assert "it replied with status 401" in refused.stdout
    stored = b"".join(path.read_bytes() for path in practice.rglob("*") if path.is_file())
    assert b"a secret of ours" not in stored


def _send_signed(address: str, secret: str, age: int) -> int:
    """Return the status of a signed request of some age; without a `type`, a request is rejected with 400."""
    moment, body = int(time.time()) - age, b'{"type": null}'
    digest = hmac.new(secret.encode(), f"id.{moment}.".encode() + body, hashlib.sha256).digest()
    headers = {"webhook-id": "id", "webhook-timestamp": str(moment)}
    headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=10) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_scripted_model_example_passes(practice: Path) -> None:
    with run_server(EXAMPLES / "openai_chat" / "server.py") as address:
        agent = f"openai:scripted@{address}"
        assert_passes(clerkship(practice, "run", "practice", "--agent", agent, CLERKSHIP_OPENAI_API_KEY="sk-of-ours"))
    shown = clerkship(practice, "show", "latest", "Book a visit", "--events").stdout
    assert "write_file" in shown
    stored = b"".join(path.read_bytes() for path in practice.rglob("*") if path.is_file())
    assert b"completion_tokens" in stored
    assert b"sk-of-ours" not in stored


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The project of the order support example."""
    leave = shutil.ignore_patterns("__pycache__", ".clerkship")
    return Path(shutil.copytree(EXAMPLES / "order_support", tmp_path / "desk", ignore=leave))


def test_order_support_example_passes_in_process_and_over_rasa(desk: Path) -> None:
    with run_server(desk / "rasa_server.py") as address:
        through = clerkship(desk, "run", "eval", "--agent", f"rasa:{address}")
    for done in (through, clerkship(desk, "run", "eval", "--agent", "python:bot:OrderBot")):
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("✓ pass") == 8, done.stdout  # seven scenarios, and their sum


@pytest.mark.slow
def test_rasa_server_that_requires_a_token(desk: Path) -> None:
    with serve(token="sesame of ours", jwt_secret="a secret of ours, long enough") as server:
        run = ("run", "eval/scenarios/beyond_it.yml", "--agent", f"rasa:{server.url}")
        assert clerkship(desk, *run, CLERKSHIP_RASA_TOKEN="sesame of ours").returncode == 0
        assert clerkship(desk, *run, CLERKSHIP_RASA_JWT_SECRET="a secret of ours, long enough").returncode == 0
        refused = clerkship(desk, *run, CLERKSHIP_RASA_TOKEN="another")
    assert refused.returncode == 2
    assert "set CLERKSHIP_RASA_TOKEN" in refused.stderr + refused.stdout
    stored = b"".join(path.read_bytes() for path in desk.rglob("*") if path.is_file())
    assert b"sesame" not in stored
    assert b"long enough" not in stored


def test_every_example_has_a_readme_and_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    folders = [path for path in EXAMPLES.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert len(folders) >= 5
    assert [folder.name for folder in folders if f"({folder.name}/README.md)" not in listed] == []
    assert all((folder / "README.md").exists() for folder in folders)
