"""The forwarder of `clerkship mcp`: the same messages over standard input and output."""

import io
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from clerkship.mcp.forwarder import BadEndpoint, Forwarder
from clerkship.mcp.stdio import serve_lines
from tests.actors.servers import Answered, Asked, Served
from tests.mcp.desk import ToolDesk
from tests.mcp.tool_servers import request, stateless

COMMAND = "import sys; from clerkship.__main__ import main; sys.argv = ['clerkship', 'mcp']; sys.exit(main())"
HEAVY = {"asyncio", "httptools", "pydantic", "rich", "yaml", "clerkship.playground", "clerkship.engine"}


def test_messages_of_both_kinds_of_clients_are_forwarded() -> None:
    notification = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    lines = [
        request("initialize", {"protocolVersion": "2025-06-18"}),
        notification,
        stateless("tools/call", {"name": "drop__write_file", "arguments": {"path": "ü.txt", "data": "x"}}),
        stateless("resources/read", {"uri": "clerkship://task"}),
        b"{",
    ]
    target = io.BytesIO()
    with ToolDesk() as desk:
        serve_lines(io.BytesIO(b"\n".join(lines)), target, Forwarder(*desk.address).answer)
        assert [event.kind for event in desk.events()][:2] == ["agent.action.executed", "files.file.written"]
        assert [each.tool_name for each in desk.rejected()] == [""]
    initialized, written, task, broken = [orjson.loads(line) for line in target.getvalue().splitlines()]
    assert initialized["result"]["protocolVersion"] == "2025-06-18"
    assert written["result"]["isError"] is False
    assert "Sort." in task["result"]["contents"][0]["text"]
    assert broken["error"]["code"] == -32700


def test_name_that_is_no_header_value_is_encoded() -> None:
    with ToolDesk() as desk:
        reply = orjson.loads(Forwarder(*desk.address).answer(stateless("tools/call", {"name": "drop__lösche ☂"})))
    assert reply["error"]["code"] == -32602
    assert "no tool" in reply["error"]["message"]


def test_refused_token_is_an_error_with_the_id_of_the_request() -> None:
    with ToolDesk() as desk:
        reply = orjson.loads(Forwarder(desk.address.url, "clk_mcp_wrong").answer(request("ping", id="a")))
    assert reply["id"] == "a"
    assert "CLERKSHIP_MCP_TOKEN" in reply["error"]["message"]


def test_endpoint_that_is_gone_is_an_error_with_the_id_of_the_request() -> None:
    with ToolDesk() as desk:
        address = desk.address
    reply = orjson.loads(Forwarder(*address).answer(request("ping", id=7)))
    assert (reply["id"], reply["error"]["code"]) == (7, -32603)
    assert "is the playground still up?" in reply["error"]["message"]


def test_answer_that_is_no_message_is_an_error() -> None:
    def answer(asked: Asked) -> Answered:
        return 502, {}, b"<html>"

    with Served(answer) as served:
        reply = orjson.loads(Forwarder(served.url, "x").answer(request("ping")))
    assert "status 502 and no MCP message" in reply["error"]["message"]


@pytest.mark.parametrize("url", ["", "ftp://x/y", "localhost:1/x", "http://", "http://[::1"])
def test_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadEndpoint, match="is not an address"):
        Forwarder(url, "x")


def test_command_forwards_and_imports_little(tmp_path: Path) -> None:
    code = f"{COMMAND.rpartition(';')[0]}; main(); print(*sys.modules, file=open('modules', 'w'))"
    with ToolDesk() as desk:
        variables = {"CLERKSHIP_MCP_URL": desk.address.url, "CLERKSHIP_MCP_TOKEN": desk.address.token}
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=request("ping") + b"\n",
            env=variables,
            cwd=tmp_path,
            capture_output=True,
            check=True,
            timeout=60,
        )
    assert orjson.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    modules = (tmp_path / "modules").read_text(encoding="utf-8").split()
    assert [name for name in modules if any(f"{name}.".startswith(f"{heavy}.") for heavy in HEAVY)] == []


def test_command_without_an_address_or_playground_says_what_to_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND], env={}, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "clerkship up" in done.stderr
    assert "Traceback" not in done.stderr
