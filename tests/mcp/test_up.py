"""`clerkship up` offers the tools of a playground, and prints how clients connect."""

import io
import json
import shlex
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from clerkship.cli.up import print_playground
from clerkship.mcp.forwarder import Forwarder
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.service.live_check import check_now
from clerkship.service.mcp_clients import describe_clients
from clerkship.service.mcp_lookup import find_running_address
from clerkship.service.up import PlaygroundRequest, open_playground
from clerkship.settings import Settings
from tests.mcp.tool_servers import request
from tests.workbench import CATALOG, Workbench

TASK = """
    environment: {name: desk, simulators: {drop: {kind: files}}}
    task:
      name: Count
      task_item: {instruction: What is six times seven?}
      criteria:
        - {label: answers, assertion: {answer_matches: 42}}
"""
ADDRESS = McpAddress("http://127.0.0.1:8080/pg-1/mcp", "clk_mcp_x")


def call(address: McpAddress, tool: str, **arguments: object) -> str:
    """Return the text of a result."""
    reply = Forwarder(*address).answer(request("tools/call", {"name": tool, "arguments": arguments}))
    return str(orjson.loads(reply)["result"]["content"][0]["text"])


def test_answer_given_with_finish_is_graded(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a.yml", TASK)
    monkeypatch.setenv("CLERKSHIP_STORE", str(bench.folder / "store.db"))
    settings = Settings(store=bench.folder / "store.db")
    with open_playground(PlaygroundRequest(path=bench.folder, task="Count"), settings, CATALOG) as play:
        assert find_running_address(None) == play.mcp
        assert call(play.mcp, "read_file", path="none").startswith("refused with status 404")
        assert call(play.mcp, "finish", answer=42) == "The task is finished."
        live = check_now(play.where, settings, CATALOG)
    assert (live.outcome, live.notes) == ("pass", ())


def test_output_has_the_address_and_a_configuration_for_each_client(bench: Workbench) -> None:
    bench.write("a.yml", TASK)
    written = io.StringIO()
    request = PlaygroundRequest(path=bench.folder)
    with open_playground(request, Settings(store=bench.folder / "store.db"), CATALOG) as play:
        print_playground(Console(file=written, width=80), play)
        lines = written.getvalue().splitlines()
        assert f"mcp  {play.mcp.url}" in lines
        assert f"export CLERKSHIP_MCP_TOKEN={play.mcp.token}" in lines
        printed = [line for line in lines if line.startswith("  Claude Code")]
        assert printed == [f"  Claude Code  {describe_clients(play.mcp)['Claude Code']}"]


def test_configurations_are_what_clients_read(tmp_path: Path) -> None:
    clients = describe_clients(ADDRESS, "clerkship")
    claude = shlex.split(clients["Claude Code"])
    assert claude[:6] == ["claude", "mcp", "add", "--transport", "http", "clerkship"]
    assert claude[6:] == [ADDRESS.url, "--header", "Authorization: Bearer clk_mcp_x"]
    assert shlex.split(clients["Codex"])[1:3] == ["-c", f'mcp_servers.clerkship.url="{ADDRESS.url}"']
    server = json.loads(clients["LangChain"].removeprefix("MultiServerMCPClient(").removesuffix(")"))["clerkship"]
    assert server["transport"] == "streamable_http"
    other = json.loads(clients["other clients"])["mcpServers"]["clerkship"]
    assert other == {"type": "http", "url": ADDRESS.url, "headers": {"Authorization": "Bearer clk_mcp_x"}}
    assert clients["stdio"] == "clerkship mcp"
