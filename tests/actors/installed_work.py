"""An installed program at work on a task, with tools over MCP and models through the proxy, without a run."""

import asyncio
from typing import Any, NamedTuple

from clerkship.actors.installed.agent import load_installed
from clerkship.actors.isolation.contract import NOT_ISOLATED, Isolation
from clerkship.events.lifecycle import ModelCalled
from clerkship.playground.in_process import open_sandboxes
from clerkship.sandbox.handle import Sandboxes
from clerkship.settings import Settings
from tests.actors.tool_server import TOKEN, ToolServer
from tests.model_proxy.desk import ModelDesk
from tests.model_proxy.provider import ModelProvider

ITEM = {"instruction": "How many orders are there?", "unit": "orders"}
WEBSOCKET_REFUSED = 426


class OfferedTools(NamedTuple):
    """Where the sandboxes of a trial are offered over MCP."""

    url: str
    token: str


class SandboxesWithTools(Sandboxes):
    """Sandboxes that are offered over MCP."""

    offered: OfferedTools

    @property
    def mcp(self) -> OfferedTools:
        """Where they are offered."""
        return self.offered


class Worked(NamedTuple):
    """What is known after a program has worked on a task."""

    answer: Any
    facts: dict[str, Any]
    desk: ModelDesk
    tools: ToolServer

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events, without the WebSocket that Codex tries first."""
        refused = {event.seq for event in self.desk.events if _is_refused_websocket(event.payload)}
        return [event.kind for event in self.desk.events if event.seq not in refused]


def _is_refused_websocket(payload: object) -> bool:
    return isinstance(payload, ModelCalled) and payload.status == WEBSOCKET_REFUSED


def work(kind: str, options: str, provider: ModelProvider, isolation: Isolation = NOT_ISOLATED) -> Worked:
    """Let a program of this kind work on a task with one tool."""
    with ToolServer("one order") as tools, ModelDesk(provider) as desk:
        base = desk.listener.url()
        sandboxes = open_sandboxes(desk.gateway, desk.playground, lambda: base, models=desk.models)
        offered = SandboxesWithTools({}, sandboxes._clock, sandboxes.report, sandboxes.agent_events, sandboxes.services)
        offered.offered = OfferedTools(tools.url, TOKEN)
        solver = load_installed(kind, options, Settings())
        solver.isolate(isolation)
        agent = solver.open(None)
        try:
            answer = asyncio.run(agent.on_task(ITEM, offered))
        finally:
            facts = dict(agent.close())
        return Worked(answer, facts, desk, tools)
