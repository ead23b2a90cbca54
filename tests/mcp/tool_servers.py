"""A small MCP server, and messages of clients of both kinds of versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.mcp.server import McpAnswer, McpResource, McpTool, ToolOutcome, UnknownTool, answer_message

STATELESS = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass
class GreetingServer:
    """Greets, and has as many other tools as it is given."""

    name = "greetings"
    version = "1"
    instructions = "Greet politely."
    further: int = 0

    def list_tools(self) -> Sequence[McpTool]:
        schema = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
        greet = McpTool(name="greet", description="Greet.", parameters=schema, annotations={"readOnlyHint": True})
        others = [
            McpTool(name=f"tool_{number}", description="None.", parameters={"type": "object"})
            for number in range(self.further)
        ]
        return [greet, *others]

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolOutcome:
        if name != "greet":
            raise UnknownTool(f"no tool `{name}`")
        return ToolOutcome(f"Hello {arguments['to']}") if "to" in arguments else ToolOutcome("`to` is missing", True)

    def list_resources(self) -> Sequence[McpResource]:
        return [McpResource(uri="greetings://all", name="All", media="text/markdown")]

    def read_resource(self, uri: str) -> str | None:
        return "Hello, goodbye" if uri == "greetings://all" else None


def request(method: str, params: Mapping[str, Any] | None = None, id: Any = 1) -> bytes:
    """Return a request of a version with a handshake."""
    return orjson.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})


def stateless(method: str, params: Mapping[str, Any] | None = None, meta: Any = META) -> bytes:
    """Return a request of a version without a handshake."""
    return request(method, {**(params or {}), "_meta": meta})


def headers_for(method: str, name: str | None = None, version: str = STATELESS) -> dict[str, str]:
    """Return the headers that go with a request of a version without a handshake."""
    named = {} if name is None else {"mcp-name": name}
    return {"mcp-protocol-version": version, "mcp-method": method, **named}


def ask(data: bytes, headers: Mapping[str, str] | None = None, *, further: int = 0) -> tuple[McpAnswer, dict[str, Any]]:
    """Return the answer of the small server to a message, and its body."""
    answer = answer_message(GreetingServer(further), data, headers)
    return answer, orjson.loads(answer.body) if answer.body else {}
