"""An installed program at work on a task, with tools over MCP and models through the proxy, without a run."""

import asyncio
from typing import Any, NamedTuple

from clerkship.actors.installed.agent import load_installed
from clerkship.actors.isolation.contract import NOT_ISOLATED, Isolation
from clerkship.events.lifecycle import ModelCalled
from clerkship.mcp.task import McpTask
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.playground.traces import open_traces
from clerkship.sandbox.handle import AgentServices, Sandboxes
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.sandbox.trace_access import TraceAddress
from clerkship.settings import Settings
from clerkship.simulators import files
from clerkship.simulators.files.handle import Files
from tests.model_proxy.desk import ModelDesk
from tests.model_proxy.provider import ModelProvider

ITEM = {"instruction": "How many orders are there?", "unit": "orders"}
WEBSOCKET_REFUSED = 426


class WorkDesk(ModelDesk):
    """A trial with a folder of files, whose agent may call models, and tools over MCP."""

    def open_playground(self) -> Playground:
        environment = Environment(name="desk", simulators={"drop": Simulator(kind="files")})
        return Playground(environment, {"drop": PreparedSimulator(files.SPEC, files.SPEC.config())}, "desk")

    def open_sandboxes(self) -> Sandboxes:
        """Return the sandboxes with a file in them."""
        services = AgentServices(models=self.models, open_mcp=self.open_mcp, open_traces=self.open_traces)
        base = self.listener.url()
        sandboxes = open_sandboxes(self.gateway, self.playground, lambda: base, services=services)
        sandboxes.get_as(Files).write("inbox/a.txt", "one order")
        return sandboxes

    def open_mcp(self, sandboxes: Sandboxes) -> McpAddress:
        return self.gateway.tools.open(self.playground, self.listener.url, McpTask(ITEM), sandboxes)

    def open_traces(self) -> TraceAddress:
        return open_traces(self.gateway, self.playground, self.listener.url, ("run", "desk", 1, 1))


class Worked(NamedTuple):
    """What is known after a program has worked on a task."""

    answer: Any
    facts: dict[str, Any]
    desk: WorkDesk
    token: str
    """The token of its tools."""

    @property
    def kinds(self) -> list[str]:
        """The kinds of the events from the first model call on, without the WebSocket that Codex tries first."""
        kinds = [event.kind for event in self.desk.events if not _is_refused_websocket(event.payload)]
        return kinds[kinds.index(ModelCalled.kind) :]


def _is_refused_websocket(payload: object) -> bool:
    return isinstance(payload, ModelCalled) and payload.status == WEBSOCKET_REFUSED


def work(kind: str, options: str, provider: ModelProvider, isolation: Isolation = NOT_ISOLATED) -> Worked:
    """Let a program of this kind work on a task with a folder of files."""
    with WorkDesk(provider) as desk:
        sandboxes = desk.open_sandboxes()
        solver = load_installed(kind, options, Settings())
        solver.isolate(isolation)
        agent = solver.open(None)
        try:
            answer = asyncio.run(agent.on_task(ITEM, sandboxes))
        finally:
            facts = dict(agent.close())
            if desk.gateway.traces is not None:
                desk.gateway.traces.end_trial(desk.playground)
        mcp = sandboxes.mcp
        assert mcp is not None
        return Worked(answer, facts, desk, mcp.token)
