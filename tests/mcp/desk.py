"""A trial whose agent may call tools over MCP, without a run: a playground and its HTTP server."""

import http.client
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import orjson

from clerkship.events.agent import ActionExecuted, ToolCallRejected
from clerkship.events.event import Event
from clerkship.mcp.task import McpTask
from clerkship.model.environment import Environment, Simulator, Toolset
from clerkship.playground.component import PreparedComponent
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.simulators import files, messages
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.transports.network import SandboxNetwork
from tests.mcp.tool_servers import request

SORTING = McpTask({"instruction": "Sort."}, takes_answer=True)
NO_DOMAINS: Mapping[str, PreparedComponent] = MappingProxyType({})


class PostReply(NamedTuple):
    """The response to a POST."""

    status: int
    data: Any
    headers: dict[str, str]


class ToolDesk:
    """A running trial with a folder of files and a line for messages, and a client of its MCP endpoint."""

    def __init__(self, served: McpTask = SORTING, toolset: Toolset = "all") -> None:
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.toolset: Toolset = toolset
        self.playground = self.open_playground()
        self.sandboxes = self.open_sandboxes(self.playground)
        self.address = self.open_endpoint(self.playground, self.sandboxes, served)

    def open_playground(self, domains: Mapping[str, PreparedComponent] = NO_DOMAINS) -> Playground:
        simulators = {
            "drop": PreparedSimulator(files.SPEC, files.SPEC.config()),
            "texts": PreparedSimulator(messages.SPEC, MessagesConfig()),
        }
        chosen = {name: Simulator(kind=each.spec.kind, toolset=self.toolset) for name, each in simulators.items()}
        return Playground(
            Environment(name="desk", simulators=chosen), simulators, "desk", PlaygroundOptions(domains=domains)
        )

    def open_sandboxes(self, playground: Playground) -> Sandboxes:
        return open_sandboxes(self.gateway, playground, self.listener.url)

    def open_endpoint(self, playground: Playground, sandboxes: Sandboxes, served: McpTask) -> McpAddress:
        return self.gateway.tools.open(playground, self.listener.url, served, sandboxes)

    def serve_at(self, network: SandboxNetwork) -> str:
        """Serve the same trial in another network; return the address of its endpoint on this machine."""
        self.listener = open_http(self.gateway, network)
        self.listener.url()
        return f"http://127.0.0.1:{self.listener.ports()[0]}{urlsplit(self.address.url).path}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.gateway.remove_playground(self.playground)
        self.listener.close()

    def post(
        self, body: bytes, token: str | None = None, method: str = "POST", url: str = "", **headers: str
    ) -> PostReply:
        """Send a request to the endpoint, by default with its token."""
        parts = urlsplit(url or self.address.url)
        given = {"authorization": f"Bearer {self.address.token if token is None else token}"}
        given |= {"content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        connection = http.client.HTTPConnection(parts.netloc, timeout=20)
        try:
            connection.request(method, parts.path, body, given)
            response = connection.getresponse()
            data = response.read()
            return PostReply(response.status, orjson.loads(data) if data else None, dict(response.getheaders()))
        finally:
            connection.close()

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """Call a tool; return the text of its result, and whether it is an error."""
        reply = self.post(request("tools/call", {"name": tool, "arguments": arguments}))
        assert reply.status == 200
        result = reply.data["result"]
        return result["content"][0]["text"], result["isError"]

    def list_tools(self) -> list[str]:
        """Return the names of the tools."""
        return [tool["name"] for tool in self.post(request("tools/list")).data["result"]["tools"]]

    def events(self) -> list[Event]:
        """Return all events of the log."""
        return list(self.playground.log.events)

    def actions(self) -> list[ActionExecuted]:
        """Return the actions in the log."""
        return [event.payload for event in self.events() if isinstance(event.payload, ActionExecuted)]

    def rejected(self) -> list[ToolCallRejected]:
        """Return the tool calls in the log that were not executed."""
        return [event.payload for event in self.events() if isinstance(event.payload, ToolCallRejected)]

    def logged(self) -> bytes:
        """Return the lines of the log."""
        return b"\n".join(self.playground.log.lines)
