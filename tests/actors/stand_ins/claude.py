"""Takes the place of Claude Code: the same options, the same output, the same calls of MCP tools and of the model."""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from subprocess import Popen
from typing import Any, NoReturn
from urllib.request import Request, urlopen

PREFIX = "mcp__clerkship__"


class Parser(argparse.ArgumentParser):
    """Refuses unknown options, as the real one does."""

    def error(self, message: str) -> NoReturn:
        sys.exit(f"error: {message}")


def call(url: str, headers: dict[str, str], data: Any) -> Any:
    """Post JSON, and return the JSON of the response."""
    request = Request(url, json.dumps(data).encode(), {"Content-Type": "application/json", **headers})
    with urlopen(request) as response:
        return json.loads(response.read() or b"null")


class Tools:
    """The tools of the configured MCP servers that may be used."""

    def __init__(self, config: str, allowed: str) -> None:
        self.servers = json.loads(Path(config).read_text(encoding="utf-8"))["mcpServers"]
        self.allowed = allowed

    def request(self, method: str, **params: Any) -> Any:
        server = self.servers["clerkship"]
        assert server["type"] == "http"
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return call(server["url"], server["headers"], message)["result"]

    def list_tools(self) -> list[Any]:
        """Return the tools in the form of the model's API."""
        if not self.servers:
            return []
        info = {"clientInfo": {"name": "stand-in", "version": "1"}, "capabilities": {}}
        self.request("initialize", protocolVersion="2025-06-18", **info)
        tools = self.request("tools/list")["tools"]
        return [{"name": PREFIX + tool["name"], "input_schema": tool["inputSchema"]} for tool in tools]

    def use(self, name: str, arguments: Any) -> str:
        if not name.startswith(f"{self.allowed}__"):
            return "permission denied"
        result = self.request("tools/call", name=name.removeprefix(PREFIX), arguments=arguments)
        return str(result["content"][0]["text"])


def work(prompt: str, tools: Tools) -> str:
    """Ask the model until it answers with text."""
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    messages: list[Any] = [{"role": "user", "content": prompt}]
    while True:
        body = {"model": "claude-sonnet-4-6", "max_tokens": 100, "messages": messages, "tools": tools.list_tools()}
        content = call(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages", headers, body)["content"]
        uses = [block for block in content if block["type"] == "tool_use"]
        if not uses:
            return "".join(block["text"] for block in content)
        results = [
            {"type": "tool_result", "tool_use_id": use["id"], "content": tools.use(use["name"], use["input"])}
            for use in uses
        ]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]


def main() -> int:
    mode = os.environ.get("STAND_IN", "")
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(os.environ.get("STAND_IN_VERSION", "2.1.197 (Claude Code)") + "\n")
        return 0
    if sys.argv[1:] == ["auth", "status"]:
        return 0 if mode == "logged in" else 1
    parser = Parser(allow_abbrev=False)
    parser.add_argument("-p", "--print", action="store_true", required=True)
    parser.add_argument("--output-format", choices=["text", "json", "stream-json"], required=True)
    parser.add_argument("--mcp-config", required=True)
    parser.add_argument("--allowedTools", required=True)
    parser.add_argument("--model")
    for flag in ("--no-session-persistence", "--strict-mcp-config"):
        parser.add_argument(flag, action="store_true", required=True)
    options = parser.parse_args()
    prompt = sys.stdin.read()
    Path(os.environ["STAND_IN_SEEN"]).write_text(
        json.dumps({"argv": sys.argv, "prompt": prompt, "folder": os.getcwd(), "environ": dict(os.environ)})  # noqa: PTH109
    )
    if mode == "hang":
        child = Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"])
        Path(os.environ["STAND_IN_CHILD"]).write_text(str(child.pid), encoding="utf-8")
        time.sleep(600)
    if mode == "garbage":
        sys.stdout.write("Segmentation fault\n")
        return 0
    head = {"type": "result", "session_id": "s", "num_turns": 2, "total_cost_usd": 0.5}
    head |= {"usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3}}
    if mode == "fails":
        sys.stderr.write("Error: no such model\n")
        sys.stdout.write(json.dumps({**head, "is_error": True, "result": "There is an issue with the model"}) + "\n")
        return 1
    is_alone = mode == "logged in" or mode.startswith("says ")
    result = mode.removeprefix("says ") if is_alone else work(prompt, Tools(options.mcp_config, options.allowedTools))
    sys.stdout.write(json.dumps({**head, "subtype": "success", "is_error": False, "result": result}) + "\n")
    return 0


sys.exit(main())
