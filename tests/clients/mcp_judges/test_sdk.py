"""The official Python clients use the endpoint of a trial, over HTTP and through `clerkship mcp`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.mcp.versions import HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from clerkship.service.mcp_clients import describe_clients
from tests.clients.installs import CannotInstall, python_environment
from tests.mcp.desk import SORTING, ToolDesk

PROGRAMS = Path(__file__).parent / "programs"
FORWARDER = [sys.executable, "-m", "clerkship", "mcp"]


def drive(desk: ToolDesk, name: str, *arguments: str, **variables: str) -> dict[str, Any]:
    """Run a program with an official client; return what it saw. Skip the test if the client cannot be installed."""
    try:
        python = python_environment(name.replace("_", "-"), PROGRAMS / f"{name}.txt")
    except CannotInstall as problem:
        pytest.skip(str(problem))
    addresses = {"CLERKSHIP_MCP_URL": desk.address.url, "CLERKSHIP_MCP_TOKEN": desk.address.token}
    done = subprocess.run(
        [str(python), str(PROGRAMS / f"drive_{name}.py"), *arguments],
        env=os.environ | addresses | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def check(desk: ToolDesk, seen: dict[str, Any], version: str) -> None:
    """Check what a client saw, and what its calls left in the log."""
    assert seen == {
        "version": version,
        "tools": desk.list_tools(),
        "written": False,
        "text": "hello",
        "wrong": True,
        "unknown": -32602,
        "resources": ["clerkship://task"],
        "task": SORTING.task_item,
    }
    kinds = [event.kind for event in desk.events()]
    assert kinds == [
        "agent.action.executed",
        "files.file.written",
        "agent.action.executed",
        "files.file.read",
        "agent.tool.rejected",
        "agent.tool.rejected",
    ]


def test_client_of_versions_with_a_handshake() -> None:
    with ToolDesk() as desk:
        check(desk, drive(desk, "mcp_1", "http"), HANDSHAKE_VERSIONS[-1])


def test_client_of_versions_with_a_handshake_over_standard_input() -> None:
    with ToolDesk() as desk:
        check(desk, drive(desk, "mcp_1", "stdio", *FORWARDER), HANDSHAKE_VERSIONS[-1])


@pytest.mark.parametrize(("mode", "version"), [("auto", STATELESS_VERSIONS[-1]), ("legacy", HANDSHAKE_VERSIONS[-1])])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_client_of_all_versions(transport: str, mode: str, version: str) -> None:
    words = FORWARDER if transport == "stdio" else []
    with ToolDesk() as desk:
        check(desk, drive(desk, "mcp_2", transport, mode, *words), version)


@pytest.mark.slow
def test_langchain_with_the_configuration_that_is_printed() -> None:
    with ToolDesk() as desk:
        seen = drive(desk, "langchain_mcp", PRINTED=describe_clients(desk.address)["LangChain"])
        assert seen["tools"] == sorted(desk.list_tools())
        assert "hello" in json.dumps(seen["read"])
        assert "404" in seen["wrong"]
        kinds = [event.kind for event in desk.events()]
        assert kinds[:4] == ["agent.action.executed", "files.file.written", "agent.action.executed", "files.file.read"]
